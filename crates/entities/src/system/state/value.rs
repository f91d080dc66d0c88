//! The value and the request of a state, as state resources.

#![expect(unsafe_code, reason = "describes the fields of resources")]

use std::mem::offset_of;

use super::States;
use crate::component::generic_name;
use crate::field::{
    EntityRemap, Field, FieldKind, FieldShape, Shape, StateHasher, ValueError, ValuePart,
    ValueReader, ValueWriter, read_newtype, write_newtype,
};
use crate::world::{Resource, ResourceKind};

/// The resource with the value of a state. It is absent while a sub-state or a computed state does not exist.
#[derive(Clone, Debug)]
#[repr(transparent)]
pub struct CurrentState<S: States>(pub(super) S);

/// The resource with the request of a state.
#[derive(Clone, Debug)]
pub struct StateRequest<S: States> {
    /// The requested value.
    value: Option<S>,
    /// One of the constants below.
    kind: u32,
}

/// A requested change of a state.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Request<S> {
    /// The initial value is entered.
    Initial,
    Set(S),
    Reenter,
}

const NONE: u32 = 0;
const INITIAL: u32 = 1;
const SET: u32 = 2;
const REENTER: u32 = 3;

impl<S: States> StateRequest<S> {
    pub(super) const fn none() -> Self {
        Self { value: None, kind: NONE }
    }

    pub(super) const fn initial() -> Self {
        Self { value: None, kind: INITIAL }
    }

    #[inline]
    pub(super) fn is_some(&self) -> bool {
        self.kind != NONE
    }

    /// Tests whether the initial value was not entered yet.
    pub(super) fn is_initial(&self) -> bool {
        self.kind == INITIAL || self.kind >= WAITING
    }

    /// Puts a request back that was taken.
    pub(super) fn put_back(&mut self, request: Request<S>) {
        match request {
            Request::Initial => self.kind = INITIAL,
            Request::Set(value) => self.set(value),
            Request::Reenter => self.reenter(),
        }
    }

    pub(super) fn get(&self) -> Option<&S> {
        self.value.as_ref()
    }

    pub(super) fn set(&mut self, value: S) {
        (self.value, self.kind) = (Some(value), self.with_initial(SET));
    }

    pub(super) fn reenter(&mut self) {
        (self.value, self.kind) = (None, self.with_initial(REENTER));
    }

    pub(super) fn clear(&mut self) {
        (self.value, self.kind) = (None, if self.kind >= WAITING { INITIAL } else { NONE });
    }

    /// A request that is made before the initial value was entered waits until it was.
    fn with_initial(&self, kind: u32) -> u32 {
        let waits = self.kind == INITIAL || self.kind >= WAITING;
        if waits { WAITING + kind } else { kind }
    }

    /// Takes the next request.
    pub(super) fn take(&mut self) -> Option<Request<S>> {
        match self.kind {
            NONE => None,
            INITIAL => {
                self.kind = NONE;
                Some(Request::Initial)
            }
            SET => {
                self.kind = NONE;
                self.value.take().map(Request::Set)
            }
            REENTER => {
                self.kind = NONE;
                Some(Request::Reenter)
            }
            waiting => {
                self.kind = waiting - WAITING;
                Some(Request::Initial)
            }
        }
    }
}

/// Added to the kind of a request that waits until the initial value was entered.
const WAITING: u32 = 4;

// SAFETY: the only field is at offset 0, and the type has no other bytes.
unsafe impl<S: States> Field for CurrentState<S> {
    const SHAPE: &'static Shape =
        &Shape::new::<Self>("CurrentState", FieldKind::Struct(&[FieldShape::new::<S>("0", 0)]));

    fn hash_state(&self, state: &mut StateHasher) {
        self.0.hash_state(state);
    }

    fn remap(&mut self, map: &mut EntityRemap<'_>) {
        self.0.remap(map);
    }

    fn write_value(&self, out: &mut dyn ValueWriter) {
        write_newtype(&self.0, out);
    }

    fn read_value(from: &mut dyn ValueReader) -> Result<Self, ValueError> {
        read_newtype(Self::SHAPE.fields(), from).map(Self)
    }
}

// SAFETY: both fields are listed, with the offsets that the compiler has found.
unsafe impl<S: States> Field for StateRequest<S> {
    const SHAPE: &'static Shape = &Shape::new::<Self>(
        "StateRequest",
        FieldKind::Struct(&[
            FieldShape::new::<Option<S>>("value", offset_of!(Self, value)),
            FieldShape::new::<u32>("kind", offset_of!(Self, kind)),
        ]),
    );

    fn hash_state(&self, state: &mut StateHasher) {
        self.value.hash_state(state);
        self.kind.hash_state(state);
    }

    fn remap(&mut self, map: &mut EntityRemap<'_>) {
        self.value.remap(map);
    }

    fn write_value(&self, out: &mut dyn ValueWriter) {
        out.begin(ValuePart::Struct);
        out.field("value");
        self.value.write_value(out);
        out.field("kind");
        self.kind.write_value(out);
        out.end();
    }

    fn read_value(from: &mut dyn ValueReader) -> Result<Self, ValueError> {
        from.begin_struct(Self::SHAPE.fields())?;
        let mut request = Self::none();
        while let Some(index) = from.next_field()? {
            match index {
                0 => request.value = Field::read_value(from)?,
                _ => request.kind = Field::read_value(from)?,
            }
        }
        from.end()?;
        if request.kind > WAITING + REENTER {
            return Err(from.error("the request of the state is invalid"));
        }
        Ok(request)
    }
}

impl<S: States> Resource for CurrentState<S> {
    const KIND: ResourceKind<Self> = ResourceKind::state();

    fn name() -> &'static str {
        generic_name::<Self>("ancho::State")
    }
}

impl<S: States> Resource for StateRequest<S> {
    const KIND: ResourceKind<Self> = ResourceKind::state();

    fn name() -> &'static str {
        generic_name::<Self>("ancho::NextState")
    }
}
