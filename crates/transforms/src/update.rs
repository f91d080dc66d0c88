//! State kept between updates, the update of matrices, and the freezing of static entities.

use std::sync::Arc;

use ancho_entities::{
    Any, Buffer, Child, Entity, EntityError, Parent, QueryDescriptor, QueryFilter, Version, With,
    Without, World,
};

use crate::components::{CustomLocalToWorld, Frozen, FrozenPending, LocalToWorld, Static};
use crate::compose::{LocalInputs, NonFiniteEntities};
use crate::error::{TransformError, TransformErrors};
use crate::hierarchy::{Hierarchy, LostMatrix, NodeMatrices};
use crate::links::{Links, is_inactive};
use crate::propagate::{self, PropagateScratch};
use crate::scratch::EntityMarks;

/// State of a world between updates, shared by all systems that update its transforms. It is stored as a cache of the entities, and
/// moves with them to forks and other worlds.
///
/// A fork shares the state. The first update after a fork copies the state, except for the node cache, which is copied when it is
/// written.
#[derive(Clone, Debug)]
pub(crate) struct State {
    /// The version at the end of the last update of links.
    pub(crate) links_version: Version,
    /// The version at the end of the last update of matrices.
    pub(crate) matrices_version: Version,
    pub(crate) links: Links,
    pub(crate) cache: Arc<NodeCache>,
    pub(crate) scratch: PropagateScratch,
}

/// The cached hierarchy and the matrices of its nodes.
#[derive(Clone, Debug, Default)]
pub(crate) struct NodeCache {
    pub(crate) hierarchy: Hierarchy,
    pub(crate) matrices: NodeMatrices,
}

impl NodeCache {
    /// Removes the records of nodes that have lost their matrices. They get new matrices, which are computed as for new nodes.
    pub(crate) fn forget_lost(cache: &mut Arc<Self>, world: &World) {
        let mut lost = world.query_filtered::<Entity, LostMatrix>();
        lost.for_each(|entity| Self::forget(cache, entity));
    }

    /// Removes the record of an entity, so that its matrix is computed as for a new entity.
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
    /// Forces the next update to compute all matrices.
    pub(crate) fn forget_matrices(&mut self) {
        self.matrices_version = Version::NEVER;
        self.cache = Arc::default();
    }
}

/// Calls a function with the state of a world. If the function panics, the state is lost, and the next update computes everything.
pub(crate) fn with_state<R>(
    world: &mut World,
    work: impl FnOnce(&mut World, &mut State) -> R,
) -> R {
    let mut state: Arc<State> = world.take_cache().unwrap_or_default();
    // A state that is shared with a fork is copied, so that it stays valid for the fork.
    let result = work(world, Arc::make_mut(&mut state));
    world.put_cache(state);
    result
}

/// Advances the version of the world. Returns a version that is older than all later writes.
pub(crate) fn advance_version(world: &mut World) -> Version {
    let version = world.version();
    world.advance_version();
    version
}

/// Updates the matrices of entities that have changed since the last update.
pub(crate) fn update_matrices(world: &mut World, state: &mut State) -> Result<(), TransformErrors> {
    let non_finite = NonFiniteEntities::new();
    let done = update_all(world, state, &non_finite);
    let non_finite = non_finite.into_list();
    let now = advance_version(world);
    let done = if done.is_ok() {
        state.matrices_version = now;
        // Runs after the version was advanced, because the next update has to find the rows that move here.
        cancel_freeze(world, &non_finite)
    } else {
        // A failed update may have computed any part of the matrices.
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
    if cache.hierarchy.is_outdated(world, *matrices_version) {
        let NodeCache { hierarchy, matrices } = Arc::make_mut(cache);
        hierarchy.refresh(world, matrices, *matrices_version);
    }
    propagate::update(world, cache, scratch, *matrices_version, non_finite)?;
    propagate::update_flat(world, *matrices_version, non_finite)
}

/// Adds a matrix to all entities that need one.
pub(crate) fn add_matrices(world: &mut World) -> Result<(), EntityError> {
    type Lacking = (Any<LocalInputs>, Without<(LocalToWorld, CustomLocalToWorld)>);
    type Below = (With<Parent>, Without<(LocalToWorld, CustomLocalToWorld)>);
    type Above = (With<Buffer<Child>>, Without<(LocalToWorld, CustomLocalToWorld)>);
    let lacking = world.batch(QueryDescriptor::of::<(), Lacking>());
    lacking.add(LocalToWorld::IDENTITY).map_err(|rejected| rejected.error)?;
    let below = world.batch(QueryDescriptor::of::<(), Below>());
    below.add(LocalToWorld::IDENTITY).map_err(|rejected| rejected.error)?;
    let above = world.batch(QueryDescriptor::of::<(), Above>());
    above.add(LocalToWorld::IDENTITY).map_err(|rejected| rejected.error)?;
    Ok(())
}

/// Freezes the pending entities, and marks new static entities as pending.
///
/// Inactive entities are skipped: their matrices are not computed.
fn freeze(
    world: &mut World,
    links: &mut Links,
    cache: &mut Arc<NodeCache>,
) -> Result<(), EntityError> {
    type Pending = (With<(FrozenPending, LocalToWorld)>, Without<CustomLocalToWorld>);
    type Found =
        (With<(Static, LocalToWorld)>, Without<(FrozenPending, Frozen, CustomLocalToWorld)>);
    let are_all = links.list_active::<Pending>(world);
    if are_all && !links.active.is_empty() {
        // Whole chunks are changed at a time.
        world
            .batch(QueryDescriptor::of::<(), Pending>())
            .add(Frozen)
            .map_err(|rejected| rejected.error)?;
        world.batch(QueryDescriptor::of::<(), Pending>()).remove::<FrozenPending>()?;
    } else {
        for &entity in &*links.active {
            if !world.has::<Frozen>(entity) {
                world.add(entity, Frozen).map_err(|rejected| rejected.error)?;
            }
            world.remove::<FrozenPending>(entity)?;
        }
    }
    let are_all = links.list_active::<Found>(world);
    // Forces a last computation, which reports matrices that are not finite.
    links.active.iter().for_each(|&entity| NodeCache::forget(cache, entity));
    if are_all {
        let found = world.batch(QueryDescriptor::of::<(), Found>());
        found.add(FrozenPending).map_err(|rejected| rejected.error)?;
    } else {
        for &entity in &*links.active {
            world.add(entity, FrozenPending).map_err(|rejected| rejected.error)?;
        }
    }
    Ok(())
}

/// Undoes the freezing of entities without a finite matrix. The next update finds these entities again.
fn cancel_freeze(world: &mut World, non_finite: &[Entity]) -> Result<(), EntityError> {
    for &entity in non_finite {
        if world.has::<FrozenPending>(entity) {
            world.remove::<FrozenPending>(entity)?;
        }
    }
    Ok(())
}

impl Links {
    /// Lists the active entities that match a filter. Returns whether all matching entities are active.
    fn list_active<F: QueryFilter>(&mut self, world: &World) -> bool {
        let Self { active, marks, .. } = self;
        active.clear();
        let mut above =
            ActivityCache { active: marks.new_mark(), inactive: marks.new_mark(), marks };
        let mut are_all = true;
        let mut found = world.query_filtered::<(Entity, Option<&Parent>), F>();
        found.for_each(|(entity, parent)| {
            if parent.is_some() && above.is_inactive_branch(world, entity) {
                are_all = false;
            } else {
                active.push(entity);
            }
        });
        are_all
    }
}

/// Finds descendants of inactive entities. Visits each entity once.
struct ActivityCache<'a> {
    marks: &'a mut EntityMarks,
    /// The mark of active entities.
    active: u64,
    /// The mark of inactive entities.
    inactive: u64,
}

impl ActivityCache<'_> {
    /// Tests whether an entity or one of its ancestors is inactive.
    fn is_inactive_branch(&mut self, world: &World, entity: Entity) -> bool {
        let mut at = entity;
        let (is_inactive_branch, end) = loop {
            if self.marks.has_mark(at, self.inactive) || is_inactive(world, at) {
                break (true, at);
            }
            if self.marks.has_mark(at, self.active) {
                break (false, at);
            }
            match world.target::<Parent>(at) {
                Some(parent) => at = parent,
                None => break (false, at),
            }
        };
        let mark = if is_inactive_branch { self.inactive } else { self.active };
        self.marks.mark(end, mark);
        let mut at = entity;
        while at != end {
            self.marks.mark(at, mark);
            let Some(parent) = world.target::<Parent>(at) else { break };
            at = parent;
        }
        is_inactive_branch
    }
}
