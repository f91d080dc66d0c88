//! Parameters that change nothing, for run conditions.

use super::{Res, ResourceRemoved, Single, SystemData, SystemParam, UpdateAllocator};
use crate::all_tuples::all_tuples;
use crate::manager::EntityManager;
use crate::query::{Lookup, Query, QueryFilter, ReadOnlyData};
use crate::time::Time;
use crate::world::{NonSend, Resource};

/// A parameter of a run condition: a [`SystemParam`] that changes nothing.
///
/// These are [`Res<T>`](crate::Res), [`Query<&T>`](crate::Query), [`Lookup<&T>`](crate::Lookup), [`Single<&T>`](crate::Single),
/// [`NonSend<T>`](crate::NonSend), [`State<S>`](crate::State), [`Time`](crate::Time), `&EntityManager`,
/// [`SystemData<S>`](crate::SystemData), tuples of these, and structs of these that derive [`SystemParam`](crate::SystemParam).
/// A [`Local<T>`](crate::Local) is not one of them: conditions have no memory.
#[doc(alias = "ReadOnlySystemParam")]
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a parameter of a run condition",
    label = "a condition reads the world, and changes nothing",
    note = "parameters of conditions are `Res`, `Query<&T>`, `Lookup<&T>`, `Single<&T>`, `NonSend`, `State`, `Time`, `&EntityManager`, \
            `SystemData`, an `Option` of some of these, and tuples",
    note = "conditions have no memory: store a value in a resource, and change it in a system"
)]
pub trait ReadOnlyParam: SystemParam {}

impl ReadOnlyParam for () {}
impl ReadOnlyParam for &EntityManager {}
impl ReadOnlyParam for Time {}
impl ReadOnlyParam for UpdateAllocator {}
impl<M: crate::messages::Message> ReadOnlyParam for super::UnreadMessages<M> {}
impl<D: ReadOnlyData, F: QueryFilter> ReadOnlyParam for Query<'_, D, F> {}
impl<D: ReadOnlyData, F: QueryFilter> ReadOnlyParam for Lookup<'_, D, F> {}
impl<D: ReadOnlyData, F: QueryFilter> ReadOnlyParam for Single<'_, D, F> {}
impl<D: ReadOnlyData, F: QueryFilter> ReadOnlyParam for Option<Single<'_, D, F>> {}
impl<T: Resource> ReadOnlyParam for Res<'_, T> {}
impl<T: Resource> ReadOnlyParam for Option<Res<'_, T>> {}
impl<T: Resource> ReadOnlyParam for ResourceRemoved<T> {}
impl<T: 'static> ReadOnlyParam for NonSend<'_, T> {}
impl<T: 'static> ReadOnlyParam for Option<NonSend<'_, T>> {}
impl<S: crate::system::System> ReadOnlyParam for SystemData<'_, S> {}

/// A field of a struct that derives [`SystemParam`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a system parameter",
    label = "this field is not a parameter of systems",
    note = "each field of a struct that derives `SystemParam` is a parameter, such as `Query<'w, &'static T>`, `Res<'w, T>`, \
            `Local<'s, T>` or `Commands<'s>`"
)]
pub trait ParamField {}

#[diagnostic::do_not_recommend]
impl<T: SystemParam> ParamField for T {}

/// Requires that the type of a field is a parameter.
pub fn require_param_field<T: ParamField>() {}

/// Implements [`ReadOnlyParam`] for a tuple of parameters.
macro_rules! implement {
    ($($name:ident $index:tt,)+) => {
        impl<$($name: ReadOnlyParam),+> ReadOnlyParam for ($($name,)+) {}
    };
}

all_tuples!(implement);
