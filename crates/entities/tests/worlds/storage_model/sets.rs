//! Sets of components, each made from one number.

use ancho_entities::{Buffer, CloneSet, ComponentSet, PerChunk};

use crate::storage_model::components::{
    Follow, ITEMS, Item, Kind, Name, PER_FOLLOW, PER_NAME, REMAINS, Remain, list_of, number_of,
};

/// An element of a set: the kind, its number, and its list.
pub(crate) type Part = (usize, u64, Vec<u64>);

/// A set of components, made from a number.
pub(crate) trait Set: ComponentSet {
    fn kinds(into: &mut Vec<usize>);

    fn make(number: u64) -> Self;

    /// Appends the contents. Chunk components have no value here.
    fn read(self, into: &mut Vec<Part>);
}

impl<T: Kind> Set for T {
    fn kinds(into: &mut Vec<usize>) {
        into.push(T::KIND);
    }

    fn make(number: u64) -> Self {
        <T as Kind>::make(number_of(T::KIND, number))
    }

    fn read(self, into: &mut Vec<Part>) {
        into.push((T::KIND, self.number(), Vec::new()));
    }
}

macro_rules! buffers {
    ($($kind:ident $element:ident, $value:ident => $read:expr;)*) => {$(
        impl Set for Buffer<$element> {
            fn kinds(into: &mut Vec<usize>) {
                into.push($kind);
            }

            fn make(number: u64) -> Self {
                list_of($kind, number_of($kind, number)).into_iter().map($element::new).collect()
            }

            fn read(self, into: &mut Vec<Part>) {
                into.push(($kind, 0, self.iter().map(|$value| $read).collect()));
            }
        }
    )*};
}

buffers! {
    ITEMS Item, item => item.0.to_bits();
    REMAINS Remain, remain => remain.0.into();
}

macro_rules! per_chunk {
    ($($kind:ident $ty:ident;)*) => {$(
        impl Set for PerChunk<$ty> {
            fn kinds(into: &mut Vec<usize>) {
                into.push($kind);
            }

            fn make(_: u64) -> Self {
                Self::new()
            }

            fn read(self, _: &mut Vec<Part>) {}
        }
    )*};
}

per_chunk! {
    PER_NAME Name;
    PER_FOLLOW Follow;
}

macro_rules! sets {
    ($(($($name:ident),*))*) => {$(
        #[expect(clippy::allow_attributes, reason = "all tuples but the empty one use everything")]
        #[allow(unused_variables, clippy::unused_unit, non_snake_case, reason = "generated for tuples of all lengths")]
        impl<$($name: Set),*> Set for ($($name,)*) {
            fn kinds(into: &mut Vec<usize>) {
                $($name::kinds(into);)*
            }

            fn make(number: u64) -> Self {
                ($($name::make(number),)*)
            }

            fn read(self, into: &mut Vec<Part>) {
                let ($($name,)*) = self;
                $($name.read(into);)*
            }
        }
    )*};
}

sets! { () (A) (A, B) (A, B, C) (A, B, C, D) (A, B, C, D, E) }

/// Returns the kinds of a set, in its order.
pub(crate) fn kinds_of<S: Set>() -> Vec<usize> {
    let mut kinds = Vec::new();
    S::kinds(&mut kinds);
    kinds
}

/// Bounds of cloneable sets.
pub(crate) trait Cloned: Set + CloneSet {}

impl<S: Set + CloneSet> Cloned for S {}

/// The number of sets.
pub(crate) const SETS: usize = 38;

/// Calls a method with one of the sets: `any_set!(which, S => self.method::<S>())`.
macro_rules! any_set {
    ($which:expr, $set:ident => $call:expr) => {{
        use ancho_entities::Shared;
        use $crate::storage_model::components::{Name, Only, Small, Tag};
        use $crate::storage_model::shared::{Mesh, Team};
        match $which % $crate::storage_model::sets::SETS {
            32 => { type $set = Only; $call }
            33 => { type $set = (Only, (Small, Name)); $call }
            34 => { type $set = (Small, (Tag, Small)); $call }
            35 => { type $set = ((Name,), Tag, Name); $call }
            36 => { type $set = (Shared<Team>, Small, Shared<Team>); $call }
            37 => { type $set = (Only, Shared<Mesh>); $call }
            which => $crate::storage_model::sets::clone_set!(which, $set => $call),
        }
    }};
}

/// Calls a method with one of the sets that are cloneable and have no duplicate type.
macro_rules! clone_set {
    ($which:expr, $set:ident => $call:expr) => {{
        use ancho_entities::{Buffer, Managed, PerChunk, Shared};
        use $crate::storage_model::components::{
            Follow, Ghost, Item, Large, Name, Remain, Small, Stays, Tag, Wide,
        };
        use $crate::storage_model::managed::{Memo, Page};
        use $crate::storage_model::shared::{Banner, Mesh, Registry, Team};
        match $which % 32 {
            0 => {
                type $set = Small;
                $call
            }
            1 => {
                type $set = (Tag, Small);
                $call
            }
            2 => {
                type $set = (Name, Small);
                $call
            }
            3 => {
                type $set = (Wide, Ghost);
                $call
            }
            4 => {
                type $set = (Follow, Name, Tag);
                $call
            }
            5 => {
                type $set = ((Small, Follow), (Ghost, Name));
                $call
            }
            6 => {
                type $set = ();
                $call
            }
            7 => {
                type $set = Large;
                $call
            }
            8 => {
                type $set = (Wide, Small, Name, (Ghost, Follow), Tag);
                $call
            }
            9 => {
                type $set = Name;
                $call
            }
            10 => {
                type $set = (Follow, Small);
                $call
            }
            11 => {
                type $set = Stays;
                $call
            }
            12 => {
                type $set = (Name, Stays, Small);
                $call
            }
            13 => {
                type $set = (Ghost, (), Tag);
                $call
            }
            14 => {
                type $set = Shared<Team>;
                $call
            }
            15 => {
                type $set = (Follow, Shared<Team>);
                $call
            }
            16 => {
                type $set = (Shared<Team>, Name, Shared<Mesh>);
                $call
            }
            17 => {
                type $set = (Shared<Registry>, Follow);
                $call
            }
            18 => {
                type $set = Managed<Page>;
                $call
            }
            19 => {
                type $set = (Managed<Page>, Shared<Team>, Ghost);
                $call
            }
            20 => {
                type $set = PerChunk<Name>;
                $call
            }
            21 => {
                type $set = (Name, PerChunk<Name>, Small);
                $call
            }
            22 => {
                type $set = (PerChunk<Follow>, Shared<Team>, Follow);
                $call
            }
            23 => {
                type $set = (Managed<Memo>, Stays);
                $call
            }
            24 => {
                type $set = Buffer<Remain>;
                $call
            }
            25 => {
                type $set = (Buffer<Remain>, Shared<Registry>, PerChunk<Name>);
                $call
            }
            26 => {
                type $set = (Buffer<Item>, Managed<Page>);
                $call
            }
            27 => {
                type $set = (Shared<Mesh>, (PerChunk<Follow>, PerChunk<Name>), Buffer<Item>);
                $call
            }
            28 => {
                type $set = Shared<Registry>;
                $call
            }
            29 => {
                type $set = Shared<Banner>;
                $call
            }
            30 => {
                type $set = (Follow, Shared<Banner>, PerChunk<Follow>);
                $call
            }
            _ => {
                type $set = (Shared<Team>, Shared<Registry>, Tag, Managed<Memo>);
                $call
            }
        }
    }};
}

/// Calls a method with one of the typed kinds.
macro_rules! any_kind {
    ($which:expr, $kind:ident => $call:expr) => {{
        use $crate::storage_model::components::{
            Follow, Ghost, Large, Name, Only, Small, Stays, Tag, Wide,
        };
        match $which % 9 {
            0 => {
                type $kind = Small;
                $call
            }
            1 => {
                type $kind = Wide;
                $call
            }
            2 => {
                type $kind = Tag;
                $call
            }
            3 => {
                type $kind = Name;
                $call
            }
            4 => {
                type $kind = Ghost;
                $call
            }
            5 => {
                type $kind = Follow;
                $call
            }
            6 => {
                type $kind = Large;
                $call
            }
            7 => {
                type $kind = Only;
                $call
            }
            _ => {
                type $kind = Stays;
                $call
            }
        }
    }};
}

pub(crate) use {any_kind, any_set, clone_set};
