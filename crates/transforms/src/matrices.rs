//! Makes matrices of what has changed.

use std::sync::Arc;

use ancho_entities::{Any, Buffer, Entity, EntityError, QueryDescriptor, With, Without, World};

use crate::compose::Placing;
use crate::error::{TransformError, TransformErrors};
use crate::freezing::{freeze, leave_unfrozen};
use crate::not_finite::NotFinite;
use crate::outputs::{CustomLocalToWorld, LocalToWorld};
use crate::parent::{Child, Parent};
use crate::state::{Placement, State, end_moment};
use crate::{flat, propagate};

/// Makes matrices of what has changed since the last time.
pub(crate) fn update(world: &mut World, state: &mut State) -> Result<(), TransformErrors> {
    let bad = NotFinite::new();
    let done = update_all(world, state, &bad);
    let bad = bad.into_list();
    let now = end_moment(world);
    let done = if done.is_ok() {
        state.placed = now;
        // The next update has to see whose rows move by that.
        leave_unfrozen(world, &bad)
    } else {
        // What has been done cannot be told any more.
        state.forget_places();
        done
    };
    let mut errors = TransformErrors::default();
    let not_finite = |&entity| TransformError::NotFinite { entity, count: bad.len() };
    errors.extend(bad.first().map(not_finite));
    errors.extend(done.err().map(TransformError::Entities));
    errors.into_result()
}

fn update_all(world: &mut World, state: &mut State, bad: &NotFinite) -> Result<(), EntityError> {
    Placement::forget_lost(&mut state.placement, world);
    add_matrices(world)?;
    let State { placed, links, placement, buffers, .. } = state;
    freeze(world, links, placement)?;
    if links.changed || placement.hierarchy.is_outdated(world, *placed) {
        let Placement { hierarchy, places } = Arc::make_mut(placement);
        hierarchy.refresh(world, places, *placed);
        links.changed = false;
    }
    propagate::update(world, placement, buffers, *placed, bad)?;
    flat::update(world, *placed, bad)
}

/// Gives a matrix to all that should have one.
pub(crate) fn add_matrices(world: &mut World) -> Result<(), EntityError> {
    type Lacking = (Any<Placing>, Without<(LocalToWorld, CustomLocalToWorld)>);
    type Below = (With<Parent>, Without<(LocalToWorld, CustomLocalToWorld)>);
    let lacking = world.batch(QueryDescriptor::of::<(), Lacking>());
    lacking.add(LocalToWorld::IDENTITY).map_err(|rejected| rejected.error)?;
    let below = world.batch(QueryDescriptor::of::<(), Below>());
    below.add(LocalToWorld::IDENTITY).map_err(|rejected| rejected.error)?;
    // What is left of parents that were despawned has none, either.
    type Bare = (With<Buffer<Child>>, Without<(LocalToWorld, CustomLocalToWorld)>);
    let bare = world.query_filtered::<Entity, Bare>();
    let lost: Vec<Entity> = bare.iter().filter(|&parent| !world.is_cleanup_only(parent)).collect();
    for parent in lost {
        world.add(parent, LocalToWorld::IDENTITY).map_err(|rejected| rejected.error)?;
    }
    Ok(())
}
