//! `Field` for numbers and other values without parts.
#![expect(unsafe_code, reason = "says what scalars consist of")]

use std::marker::PhantomData;
use std::num::{NonZero, Saturating, Wrapping};
use std::sync::atomic::{
    AtomicBool, AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicU8, AtomicU16,
    AtomicU32, AtomicU64, AtomicUsize, Ordering,
};
use std::time::Duration;

use super::{EntityRemap, Field, FieldKind, Shape, StateHasher};
use crate::Entity;

/// Implements `Field` for a number, its `NonZero`, and its atomic if there is one.
///
/// `$wide` is the type that is written, with the method that writes it.
macro_rules! integers {
    ($($number:ident $kind:ident $write:ident($wide:ident) $($atomic:ident)?;)*) => {$(
        // SAFETY: the kind is that of the number.
        unsafe impl Field for $number {
            const SHAPE: &'static Shape = &Shape::new::<Self>(stringify!($number), FieldKind::$kind);

            #[inline]
            fn hash_state(&self, state: &mut StateHasher) {
                state.$write(*self as $wide);
            }

            #[inline]
            fn remap(&mut self, _: &mut EntityRemap<'_>) {}
        }

        // SAFETY: it has the layout of the number, and zero bits are invalid, so it does not accept any bits.
        unsafe impl Field for NonZero<$number> {
            const SHAPE: &'static Shape =
                &Shape::new::<Self>(concat!("NonZero<", stringify!($number), ">"), FieldKind::$kind)
                    .checked();

            #[inline]
            fn hash_state(&self, state: &mut StateHasher) {
                self.get().hash_state(state);
            }

            #[inline]
            fn remap(&mut self, _: &mut EntityRemap<'_>) {}
        }

        $(
            // SAFETY: it has the layout of the number, and is declared to change through shared references.
            unsafe impl Field for $atomic {
                const SHAPE: &'static Shape =
                    &Shape::new::<Self>(stringify!($atomic), FieldKind::$kind).shared();

                #[inline]
                fn hash_state(&self, state: &mut StateHasher) {
                    self.load(Ordering::Relaxed).hash_state(state);
                }

                #[inline]
                fn remap(&mut self, _: &mut EntityRemap<'_>) {}
            }
        )?
    )*};
}

integers! {
    u8 U8 write_u8(u8) AtomicU8;
    u16 U16 write_u16(u16) AtomicU16;
    u32 U32 write_u32(u32) AtomicU32;
    u64 U64 write_u64(u64) AtomicU64;
    u128 U128 write_u128(u128);
    usize Usize write_u64(u64) AtomicUsize;
    i8 I8 write_u8(u8) AtomicI8;
    i16 I16 write_u16(u16) AtomicI16;
    i32 I32 write_u32(u32) AtomicI32;
    i64 I64 write_u64(u64) AtomicI64;
    i128 I128 write_u128(u128);
    isize Isize write_u64(u64) AtomicIsize;
}

// SAFETY: the kind is that of the number.
unsafe impl Field for f32 {
    const SHAPE: &'static Shape = &Shape::new::<Self>("f32", FieldKind::F32);

    #[inline]
    fn hash_state(&self, state: &mut StateHasher) {
        state.write_f32(*self);
    }

    #[inline]
    fn remap(&mut self, _: &mut EntityRemap<'_>) {}
}

// SAFETY: the kind is that of the number.
unsafe impl Field for f64 {
    const SHAPE: &'static Shape = &Shape::new::<Self>("f64", FieldKind::F64);

    #[inline]
    fn hash_state(&self, state: &mut StateHasher) {
        state.write_f64(*self);
    }

    #[inline]
    fn remap(&mut self, _: &mut EntityRemap<'_>) {}
}

// SAFETY: one byte, declared to have invalid bit patterns.
unsafe impl Field for bool {
    const SHAPE: &'static Shape = &Shape::new::<Self>("bool", FieldKind::Bool);

    #[inline]
    fn hash_state(&self, state: &mut StateHasher) {
        state.write_u8(u8::from(*self));
    }

    #[inline]
    fn remap(&mut self, _: &mut EntityRemap<'_>) {}
}

// SAFETY: one byte, declared to have invalid bit patterns and to change through shared references.
unsafe impl Field for AtomicBool {
    const SHAPE: &'static Shape = &Shape::new::<Self>("AtomicBool", FieldKind::Bool).shared();

    #[inline]
    fn hash_state(&self, state: &mut StateHasher) {
        self.load(Ordering::Relaxed).hash_state(state);
    }

    #[inline]
    fn remap(&mut self, _: &mut EntityRemap<'_>) {}
}

// SAFETY: four bytes, declared to have invalid bit patterns.
unsafe impl Field for char {
    const SHAPE: &'static Shape = &Shape::new::<Self>("char", FieldKind::Char);

    #[inline]
    fn hash_state(&self, state: &mut StateHasher) {
        state.write_u32(u32::from(*self));
    }

    #[inline]
    fn remap(&mut self, _: &mut EntityRemap<'_>) {}
}

// SAFETY: the type has no bytes.
unsafe impl Field for () {
    const SHAPE: &'static Shape = &Shape::new::<Self>("()", FieldKind::Unit);

    #[inline]
    fn hash_state(&self, _: &mut StateHasher) {}

    #[inline]
    fn remap(&mut self, _: &mut EntityRemap<'_>) {}
}

// SAFETY: the type has no bytes.
unsafe impl<T: ?Sized + 'static> Field for PhantomData<T> {
    const SHAPE: &'static Shape = &Shape::new::<Self>("PhantomData", FieldKind::Unit);

    #[inline]
    fn hash_state(&self, _: &mut StateHasher) {}

    #[inline]
    fn remap(&mut self, _: &mut EntityRemap<'_>) {}
}

// SAFETY: the shape promises nothing about the bytes.
unsafe impl Field for Duration {
    const SHAPE: &'static Shape = &Shape::new::<Self>("Duration", FieldKind::Duration);

    #[inline]
    fn hash_state(&self, state: &mut StateHasher) {
        state.write_u64(self.as_secs());
        state.write_u32(self.subsec_nanos());
    }

    #[inline]
    fn remap(&mut self, _: &mut EntityRemap<'_>) {}
}

// SAFETY: two contiguous numbers, eight bytes without padding. Any numbers are a valid entity value; worlds check whether it
// exists.
unsafe impl Field for Entity {
    const SHAPE: &'static Shape = &Shape::new::<Self>("Entity", FieldKind::Entity);

    #[inline]
    fn hash_state(&self, state: &mut StateHasher) {
        state.write_u64(self.to_bits());
    }

    #[inline]
    fn remap(&mut self, map: &mut EntityRemap<'_>) {
        *self = map.apply(*self);
    }
}

/// Implements `Field` for a transparent wrapper with the shape of its inner value.
macro_rules! transparent {
    ($($wrapper:ident)*) => {$(
        // SAFETY: it is `repr(transparent)`, and all values of the inner type are valid.
        unsafe impl<T: Field> Field for $wrapper<T> {
            const SHAPE: &'static Shape = T::SHAPE;

            #[inline]
            fn hash_state(&self, state: &mut StateHasher) {
                self.0.hash_state(state);
            }

            #[inline]
            fn remap(&mut self, map: &mut EntityRemap<'_>) {
                self.0.remap(map);
            }
        }
    )*};
}

transparent!(Wrapping Saturating);
