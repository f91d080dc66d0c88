//! Several parameters.

#![expect(unsafe_code, reason = "implements the trait of parameters")]
#![expect(non_snake_case, reason = "values are named as their types are")]

use super::{ParamConflict, ParamSetup, SystemParam, SystemUses, WorldOfParams};
use crate::all_tuples::all_tuples;
use crate::manager::EntityManager;
use crate::system::error::SystemFault;
use crate::world::World;

// SAFETY: nothing is used.
unsafe impl SystemParam for () {
    type State = ();
    type Item<'w, 's> = ();

    fn declare(_: &mut ParamSetup<'_>) -> Result<(), ParamConflict> {
        Ok(())
    }

    #[inline(always)]
    unsafe fn fetch(_: &mut (), _: WorldOfParams<'_>) {}
}

/// Implements the trait for a tuple, of parameters with their indices.
macro_rules! implement {
    ($($name:ident $index:tt,)+) => {
        // SAFETY: each parameter declares what it uses.
        unsafe impl<$($name: SystemParam),+> SystemParam for ($($name,)+) {
            type State = ($($name::State,)+);
            type Item<'w, 's> = ($($name::Item<'w, 's>,)+);

            const REACHES_SYSTEMS: bool = $($name::REACHES_SYSTEMS)||+;

            fn declare(setup: &mut ParamSetup<'_>) -> Result<Self::State, ParamConflict> {
                $(let $name = $name::declare(setup)?;)+
                Ok(($($name,)+))
            }

            fn settle(state: &mut Self::State, uses: &SystemUses) {
                $($name::settle(&mut state.$index, uses);)+
            }

            #[inline]
            fn prepare(state: &mut Self::State, world: &mut World) -> Result<(), SystemFault> {
                $($name::prepare(&mut state.$index, world)?;)+
                Ok(())
            }

            #[inline]
            unsafe fn fetch<'w, 's>(
                state: &'s mut Self::State,
                world: WorldOfParams<'w>,
            ) -> Self::Item<'w, 's> {
                // SAFETY: the caller promises it for all of them.
                unsafe { ($($name::fetch(&mut state.$index, world),)+) }
            }

            #[inline]
            fn finish(state: &mut Self::State, world: &mut World) -> Result<(), SystemFault> {
                // One that fails does not keep the others from it, and all are told.
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
    };
}

all_tuples!(implement);
