//! State kept between updates, and the update of matrices.

use std::sync::Arc;

use ancho_entities::{Any, Buffer, Entity, EntityError, Version, With, Without, World};

use crate::components::{Child, CustomLocalToWorld, LocalToWorld, Parent};
use crate::compose::{LocalInputs, NonFiniteEntities};
use crate::error::{TransformError, TransformErrors};
use crate::freeze::{cancel_freeze, freeze};
use crate::hierarchy::{Hierarchy, LostMatrix, NodeMatrices};
use crate::links::Links;
use crate::propagate::{self, PropagateScratch};

/// What is remembered of a world: a cache of its entities, so that all systems that update its transforms know what the others have
/// done. It goes where the entities go: to forks, and to other worlds that are given these entities.
///
/// A fork shares it. The first update after a fork copies it, without the placement, which is copied when it is written.
#[derive(Clone, Debug)]
pub(crate) struct State {
    /// When parents were last looked at.
    pub(crate) links_version: Version,
    /// When matrices were last made.
    pub(crate) matrices_version: Version,
    pub(crate) links: Links,
    pub(crate) cache: Arc<NodeCache>,
    pub(crate) scratch: PropagateScratch,
}

/// What is known of all nodes and their places.
#[derive(Clone, Debug, Default)]
pub(crate) struct NodeCache {
    pub(crate) hierarchy: Hierarchy,
    pub(crate) matrices: NodeMatrices,
}

impl NodeCache {
    /// Forgets what is known of nodes that have lost their matrices. They get others, which are nowhere yet, so that they have to be
    /// placed as if they had just come.
    pub(crate) fn forget_lost(cache: &mut Arc<Self>, world: &World) {
        let lost = world.query::<Entity>().filter::<LostMatrix>();
        lost.for_each(|entity| Self::forget(cache, entity));
    }

    /// Forgets what is known of an entity, so that it has to be placed as if it had just come.
    pub(crate) fn forget(cache: &mut Arc<Self>, entity: Entity) {
        Arc::make_mut(cache).hierarchy.forget(entity);
    }
}

impl Default for State {
    fn default() -> Self {
        Self {
            links_version: Version::NEVER,
            matrices_version: Version::NEVER,
            links: Links::default(),
            cache: Arc::default(),
            scratch: PropagateScratch::default(),
        }
    }
}

impl State {
    /// Has all matrices be made again the next time.
    pub(crate) fn forget_matrices(&mut self) {
        self.matrices_version = Version::NEVER;
        self.cache = Arc::default();
    }
}

/// Lends the state of a world while something is done to the world. If that panics, nothing is known of the world any more.
pub(crate) fn with_state<R>(
    world: &mut World,
    work: impl FnOnce(&mut World, &mut State) -> R,
) -> R {
    let mut state: Arc<State> = world.take_cache().unwrap_or_default();
    // A state that a fork has, too, is copied: what is known of the fork's entities stays true.
    let result = work(world, Arc::make_mut(&mut state));
    world.put_cache(state);
    result
}

/// Ends a moment: what is written from now on is newer than what is returned.
pub(crate) fn advance_version(world: &mut World) -> Version {
    let version = world.version();
    world.advance_version();
    version
}

/// Makes matrices of what has changed since the last time.
pub(crate) fn update_matrices(world: &mut World, state: &mut State) -> Result<(), TransformErrors> {
    let non_finite = NonFiniteEntities::new();
    let done = update_all(world, state, &non_finite);
    let non_finite = non_finite.into_list();
    let now = advance_version(world);
    let done = if done.is_ok() {
        state.matrices_version = now;
        // The next update has to see whose rows move by that.
        cancel_freeze(world, &non_finite)
    } else {
        // What has been done cannot be told any more.
        state.forget_matrices();
        done
    };
    let mut errors = TransformErrors::default();
    let not_finite = |&entity| TransformError::NotFinite { entity, count: non_finite.len() };
    errors.extend(non_finite.first().map(not_finite));
    errors.extend(done.err().map(TransformError::Entities));
    errors.into_result()
}

fn update_all(
    world: &mut World,
    state: &mut State,
    non_finite: &NonFiniteEntities,
) -> Result<(), EntityError> {
    NodeCache::forget_lost(&mut state.cache, world);
    add_matrices(world)?;
    let State { matrices_version, links, cache, scratch, .. } = state;
    freeze(world, links, cache)?;
    if links.changed || cache.hierarchy.is_outdated(world, *matrices_version) {
        let is_rewritten = links.is_rewritten || !links.changed;
        let NodeCache { hierarchy, matrices } = Arc::make_mut(cache);
        hierarchy.refresh(world, matrices, *matrices_version, is_rewritten);
        links.changed = false;
        links.is_rewritten = false;
    }
    propagate::update(world, cache, scratch, *matrices_version, non_finite)?;
    propagate::update_flat(world, *matrices_version, non_finite)
}

/// Gives a matrix to all that should have one.
pub(crate) fn add_matrices(world: &mut World) -> Result<(), EntityError> {
    type Lacking = (Any<LocalInputs>, Without<(LocalToWorld, CustomLocalToWorld)>);
    type Below = (With<Parent>, Without<(LocalToWorld, CustomLocalToWorld)>);
    let lacking = world.query_mut::<()>().filter::<Lacking>();
    lacking.add(LocalToWorld::IDENTITY).map_err(|rejected| rejected.error)?;
    let below = world.query_mut::<()>().filter::<Below>();
    below.add(LocalToWorld::IDENTITY).map_err(|rejected| rejected.error)?;
    // What is left of parents that were despawned has none, either.
    type Bare = (With<Buffer<Child>>, Without<(LocalToWorld, CustomLocalToWorld)>);
    let bare = world.query::<Entity>().filter::<Bare>();
    let lost: Vec<Entity> = bare.iter().filter(|&parent| !world.is_cleanup_only(parent)).collect();
    for parent in lost {
        world.add(parent, LocalToWorld::IDENTITY).map_err(|rejected| rejected.error)?;
    }
    Ok(())
}
