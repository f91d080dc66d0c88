//! The requirements on state: values that decide how a simulation goes on, such as resources and messages.

use super::{Field, FieldShape};

/// A value that is state: it is forked, hashed and rolled back.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is state, but is not `Clone`, `Send` and `Sync`",
    label = "forks on other threads share and copy it",
    note = "write `#[derive(Clone)]` on the type, or opt out with `#[resource(local)]` or `#[message(local)]`: then it is neither \
            forked, hashed nor rolled back"
)]
pub trait StateValue: Field + Clone + Send + Sync {}

// The compiler reports `StateValue`, whose notes name the remedy.
#[diagnostic::do_not_recommend]
impl<T: Field + Clone + Send + Sync> StateValue for T {}

/// A field of a value that is state.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a field of state, because it is not `Field`, `Send` and `Sync`",
    label = "this field cannot be forked or hashed",
    note = "derive `Field` for `{Self}`, or mark the field `#[field(opaque)]`: then it is forked, but not hashed",
    note = "or opt out for the whole type with `#[resource(local)]` or `#[message(local)]`: then it is neither forked, hashed nor \
            rolled back"
)]
pub trait StateField: Field + Send + Sync {}

#[diagnostic::do_not_recommend]
impl<T: Field + Send + Sync> StateField for T {}

/// An opaque field of a value that is state.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a field of state, because it is not `Send` and `Sync`",
    label = "forks on other threads cannot share this field",
    note = "opt out for the whole type with `#[resource(local)]` or `#[message(local)]`: then it is neither forked, hashed nor \
            rolled back"
)]
pub trait OpaqueStateField: Send + Sync {}

#[diagnostic::do_not_recommend]
impl<T: Send + Sync> OpaqueStateField for T {}

/// Describes the field that the function returns. The function is not called: it only determines the type of the field.
pub const fn state_field<S, F: StateField>(
    name: &'static str,
    offset: usize,
    _: fn(&S) -> &F,
) -> FieldShape {
    FieldShape::new::<F>(name, offset)
}

/// Describes the field that the function returns, as opaque. The function is not called: it only determines the type of the field.
pub const fn opaque_state_field<S, F: OpaqueStateField>(
    name: &'static str,
    offset: usize,
    _: fn(&S) -> &F,
) -> FieldShape {
    FieldShape::opaque::<F>(name, offset)
}

/// Describes a field of a variant.
pub const fn state_variant_field<F: StateField>(name: &'static str) -> FieldShape {
    FieldShape::new::<F>(name, 0)
}

/// Describes an opaque field of a variant.
pub const fn opaque_state_variant_field<F: OpaqueStateField>(name: &'static str) -> FieldShape {
    FieldShape::opaque::<F>(name, 0)
}
