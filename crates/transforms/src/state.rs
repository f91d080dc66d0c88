//! What is remembered of a world from one update to the next.

use ancho_entities::{Version, World};

use crate::hierarchy::{Hierarchy, Places};
use crate::links::Links;
use crate::propagate::Buffers;

/// What is remembered of a world: a resource, so that all systems that update its transforms know what the others have done.
///
/// A world without it, as a copy of another is, is one that nothing is known of: everything is made again.
#[derive(Debug)]
pub(crate) struct State {
    /// When parents were last looked at.
    pub(crate) linked: Version,
    /// When matrices were last made.
    pub(crate) placed: Version,
    pub(crate) links: Links,
    pub(crate) hierarchy: Hierarchy,
    pub(crate) places: Places,
    pub(crate) buffers: Buffers,
}

impl Default for State {
    fn default() -> Self {
        Self {
            linked: Version::NEVER,
            placed: Version::NEVER,
            links: Links::default(),
            hierarchy: Hierarchy::default(),
            places: Places::default(),
            buffers: Buffers::default(),
        }
    }
}

impl State {
    /// Has all matrices be made again the next time.
    pub(crate) fn forget_places(&mut self) {
        self.placed = Version::NEVER;
        self.hierarchy = Hierarchy::default();
        self.places = Places::default();
    }
}

/// Where the state is while nobody uses it.
struct Kept(Option<Box<State>>);

/// Lends the state of a world while something is done to the world. If that panics, nothing is known of the world any more.
pub(crate) fn with_state<R>(
    world: &mut World,
    work: impl FnOnce(&mut World, &mut State) -> R,
) -> R {
    if !world.has_resource::<Kept>() {
        world.insert_resource(Kept(None));
    }
    let mut state = world.resource_mut::<Kept>().0.take().unwrap_or_default();
    let result = work(world, &mut state);
    world.resource_mut::<Kept>().0 = Some(state);
    result
}

/// Ends a moment: what is written from now on is newer than what is returned.
pub(crate) fn end_moment(world: &mut World) -> Version {
    let version = world.entities().version();
    world.entities_mut().advance_version();
    version
}
