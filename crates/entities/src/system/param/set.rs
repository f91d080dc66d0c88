//! Parameters that exclude each other.

#![expect(unsafe_code, reason = "one world that several parameters borrow")]
#![expect(non_snake_case, reason = "values are named as their types are")]

use std::any::type_name;
use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;

use super::{ParamConflict, ParamSetup, SystemParam, SystemUses, WorldOfParams};
use crate::manager::EntityManager;
use crate::system::error::SystemFault;
use crate::world::World;

/// Parameters of a system that exclude each other: they are used one at a time.
///
/// It has up to eight, which are called `p0` to `p7`.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, ParamSet, Query, World};
///
/// #[derive(Component, Clone, Copy)]
/// struct Health(u32);
///
/// #[derive(Component, Clone, Copy)]
/// struct Healer(u32);
///
/// fn heal(mut both: ParamSet<(Query<(&Health, &Healer)>, Query<&mut Health>)>) {
///     let heals: u32 = both.p0().iter().map(|(_, healer)| healer.0).sum();
///     both.p1().for_each(|health| health.0 += heals);
/// }
///
/// let mut world = World::new("Simulation");
/// let orc = world.spawn(Health(20));
/// world.spawn((Health(1), Healer(5)));
/// world.add_system(heal);
/// world.update(0.1);
/// assert_eq!(world.get::<Health>(orc).unwrap().0, 25);
/// ```
pub struct ParamSet<'w, 's, T> {
    /// What the system keeps for the members, as a tuple. (Its type is not written here: then each function that has a set would have
    /// to say that what its queries give lives for ever.)
    states: NonNull<()>,
    world: WorldOfParams<'w>,
    state: PhantomData<&'s mut ()>,
    /// It may not become a subtype, of which another state is kept.
    of: PhantomData<fn(T) -> T>,
}

impl<T> fmt::Debug for ParamSet<'_, '_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ParamSet<{}>", type_name::<T>())
    }
}

/// Implements everything for a tuple: of all members, with what a method is called that gives them and the word for which.
macro_rules! implement {
    ($($name:ident $index:tt $method:ident $which:literal,)+) => {
        // SAFETY: each member declares what it uses, and only one is there at a time.
        unsafe impl<$($name: SystemParam),+> SystemParam for ParamSet<'_, '_, ($($name,)+)> {
            type State = ($($name::State,)+);
            type Item<'w, 's> = ParamSet<'w, 's, ($($name,)+)>;

            const REACHES_SYSTEMS: bool = $($name::REACHES_SYSTEMS)||+;

            fn declare(setup: &mut ParamSetup<'_>) -> Result<Self::State, ParamConflict> {
                setup.uses.0.begin_set();
                $(
                    let $name = $name::declare(setup)?;
                    setup.uses.0.next_member();
                )+
                setup.uses.0.end_set();
                Ok(($($name,)+))
            }

            fn settle(state: &mut Self::State, uses: &SystemUses) {
                $($name::settle(&mut state.$index, uses);)+
            }

            fn prepare(state: &mut Self::State, world: &mut World) -> Result<(), SystemFault> {
                $($name::prepare(&mut state.$index, world)?;)+
                Ok(())
            }

            unsafe fn fetch<'w, 's>(
                state: &'s mut Self::State,
                world: WorldOfParams<'w>,
            ) -> Self::Item<'w, 's> {
                let states = NonNull::from(state).cast();
                ParamSet { states, world, state: PhantomData, of: PhantomData }
            }

            fn finish(state: &mut Self::State, world: &mut World) -> Result<(), SystemFault> {
                // All are told, as those that are in no set.
                let mut result = Ok(());
                $(
                    if let Err(fault) = $name::finish(&mut state.$index, world) {
                        result = world.systems.failed_too(result, fault);
                    }
                )+
                result
            }

            fn add_entities(state: &mut Self::State, entities: &EntityManager, count: &mut usize) {
                $($name::add_entities(&mut state.$index, entities, count);)+
            }

            fn has_entities(state: &mut Self::State, entities: &EntityManager) -> Option<bool> {
                let mut found = None;
                $(
                    if let Some(has) = $name::has_entities(&mut state.$index, entities) {
                        found = Some(found.unwrap_or(false) || has);
                    }
                )+
                found
            }
        }

        impl<$($name: SystemParam),+> ParamSet<'_, '_, ($($name,)+)> {
            fn states(&mut self) -> &mut ($($name::State,)+) {
                // SAFETY: this is the state that the set was made of, and borrowed mutably as long as the set.
                unsafe { self.states.cast().as_mut() }
            }

            $(
                #[doc = concat!("The ", $which, " parameter.")]
                pub fn $method(&mut self) -> $name::Item<'_, '_> {
                    let world = self.world;
                    // SAFETY: it was prepared with the set. What other members gave is gone, since this is borrowed mutably,
                    // and parameters outside of the set were found not to exclude this one.
                    unsafe { $name::fetch(&mut self.states().$index, world) }
                }
            )+
        }
    };
}

implement!(A 0 p0 "first",);
implement!(A 0 p0 "first", B 1 p1 "second",);
implement!(A 0 p0 "first", B 1 p1 "second", C 2 p2 "third",);
implement!(A 0 p0 "first", B 1 p1 "second", C 2 p2 "third", D 3 p3 "fourth",);
implement!(A 0 p0 "first", B 1 p1 "second", C 2 p2 "third", D 3 p3 "fourth", E 4 p4 "fifth",);
implement!(
    A 0 p0 "first", B 1 p1 "second", C 2 p2 "third", D 3 p3 "fourth", E 4 p4 "fifth", F 5 p5 "sixth",
);
implement!(
    A 0 p0 "first", B 1 p1 "second", C 2 p2 "third", D 3 p3 "fourth", E 4 p4 "fifth", F 5 p5 "sixth",
    G 6 p6 "seventh",
);
implement!(
    A 0 p0 "first", B 1 p1 "second", C 2 p2 "third", D 3 p3 "fourth", E 4 p4 "fifth", F 5 p5 "sixth",
    G 6 p6 "seventh", H 7 p7 "eighth",
);
