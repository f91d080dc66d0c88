//! What is remembered of a world from one update to the next.

use std::sync::Arc;

use ancho_entities::{Entity, Version, World};

use crate::hierarchy::{Hierarchy, Lost, Places};
use crate::links::Links;
use crate::propagate::Buffers;

/// What is remembered of a world: a cache of its entities, so that all systems that update its transforms know what the others have
/// done. It goes where the entities go: to forks, and to other worlds that are given these entities.
///
/// A fork shares it. The first update after a fork copies it, without the placement, which is copied when it is written.
#[derive(Clone, Debug)]
pub(crate) struct State {
    /// When parents were last looked at.
    pub(crate) linked: Version,
    /// When matrices were last made.
    pub(crate) placed: Version,
    pub(crate) links: Links,
    pub(crate) placement: Arc<Placement>,
    pub(crate) buffers: Buffers,
}

/// What is known of all nodes and their places.
#[derive(Clone, Debug, Default)]
pub(crate) struct Placement {
    pub(crate) hierarchy: Hierarchy,
    pub(crate) places: Places,
}

impl Placement {
    /// Forgets what is known of nodes that have lost their matrices. They get others, which are nowhere yet, so that they have to be
    /// placed as if they had just come.
    pub(crate) fn forget_lost(placement: &mut Arc<Self>, world: &World) {
        let mut lost = world.query_filtered::<Entity, Lost>();
        lost.for_each(|entity| Self::forget(placement, entity));
    }

    /// Forgets what is known of an entity, so that it has to be placed as if it had just come.
    pub(crate) fn forget(placement: &mut Arc<Self>, entity: Entity) {
        Arc::make_mut(placement).hierarchy.forget(entity);
    }
}

impl Default for State {
    fn default() -> Self {
        Self {
            linked: Version::NEVER,
            placed: Version::NEVER,
            links: Links::default(),
            placement: Arc::default(),
            buffers: Buffers::default(),
        }
    }
}

impl State {
    /// Has all matrices be made again the next time.
    pub(crate) fn forget_places(&mut self) {
        self.placed = Version::NEVER;
        self.placement = Arc::default();
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
pub(crate) fn end_moment(world: &mut World) -> Version {
    let version = world.version();
    world.advance_version();
    version
}
