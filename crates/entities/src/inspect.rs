//! The state of a world as plain data, and the moments of its updates, for tools that compare worlds.

use std::fmt;
use std::sync::Arc;

use crate::component::ComponentType;
use crate::entity::Entity;
use crate::field::{Shape, StateHasher};
use crate::panics;
use crate::schedule::{self, UpdateError};
use crate::storage::Storage;
use crate::world::World;

pub use crate::manager::JobWrites;
pub use crate::world::Moment;

/// The entities of a world by archetype and chunk, with a hash of each chunk.
#[derive(Debug)]
pub struct StateLayout {
    /// The archetypes with entities, in the order of their creation.
    pub archetypes: Vec<ArchetypeLayout>,
    /// A hash of the free ids.
    pub free_ids: u64,
}

/// The chunks of an archetype.
#[derive(Debug)]
pub struct ArchetypeLayout {
    /// The component types of the archetype.
    pub types: Vec<ComponentType>,
    /// The chunks in iteration order.
    pub chunks: Vec<ChunkLayout>,
}

/// The entities of a chunk.
#[derive(Debug)]
pub struct ChunkLayout {
    /// The entities, row by row.
    pub entities: Vec<Entity>,
    /// A hash of the whole chunk.
    pub hash: u64,
}

/// A value or an enabled bit in a chunk, and the bytes that are hashed for it.
#[derive(Debug)]
pub struct ChunkItem {
    /// The type of the component.
    pub component: ComponentType,
    /// The entity, or `None` for shared components and chunk components.
    pub entity: Option<Entity>,
    /// A value or an enabled bit.
    pub kind: ItemKind,
    /// The bytes that the value or bit writes to a hasher.
    pub stream: Vec<u8>,
}

/// The kind of a [`ChunkItem`].
#[derive(Clone, Copy, Debug)]
pub enum ItemKind {
    /// A value of this shape.
    Value {
        /// The shape of the type of the value.
        shape: &'static Shape,
        /// True if `stream` is the memory of the value, as for types that are only known at run time.
        is_memory: bool,
    },
    /// The enabled bit of a component.
    Enabled,
}

/// Calls a function when updates of a world begin and end, and after each system except groups. The function must not panic.
pub fn watch(world: &mut World, watcher: impl FnMut(&mut World, Moment) + Send + 'static) {
    world.watch(watcher);
}

/// Stops recording the jobs of a watched world.
pub fn stop_recording_jobs(world: &World) {
    world.entities.jobs.watch_writes(false);
}

/// Takes the jobs that were scheduled since the last call, with the components that the jobs declared to write.
pub fn take_jobs(world: &World) -> Vec<JobWrites> {
    world.entities.jobs.take_writes()
}

/// Returns the errors since the last call that were not passed to the error handler.
pub fn unseen_errors(world: &mut World) -> &[UpdateError] {
    world.unseen_errors()
}

/// Returns the message of a panic.
pub fn panic_message(payload: Box<dyn std::any::Any + Send>) -> String {
    let message = schedule::panic_message(&*payload);
    panics::discard(payload);
    message
}

/// Returns the entities of a world by archetype and chunk.
pub fn layout(world: &World) -> StateLayout {
    let storage = &world.entities.storage;
    let archetypes = storage.inhabited().map(|archetype| {
        let chunks = archetype.chunks.iter().map(|&number| {
            let chunk = &storage.chunks[number];
            ChunkLayout {
                entities: chunk.entities().to_vec(),
                hash: hash(|state| storage.hash_chunk(chunk, state)),
            }
        });
        ArchetypeLayout { types: archetype.shape.types.to_vec(), chunks: chunks.collect() }
    });
    StateLayout {
        archetypes: archetypes.collect(),
        free_ids: hash(|state| storage.hash_free(state)),
    }
}

/// A part of a world's state that does not belong to an entity.
#[derive(Debug, PartialEq)]
pub struct StateItem {
    /// The owner of the part.
    pub owner: StateOwner,
    /// The value.
    pub value: StateItemValue,
}

/// The owner of a [`StateItem`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StateOwner {
    /// The resource with this stable name.
    Resource(&'static str),
    /// The messages whose type has this stable name.
    Messages(&'static str),
    /// The number of the world's time with this name.
    Time(&'static str),
    /// The rate manager of the group with this name.
    Rate(Arc<str>),
}

/// The value of a [`StateItem`].
#[derive(Debug)]
pub enum StateItemValue {
    /// A value of this shape, as the bytes that it writes to a hasher.
    Fields {
        /// The shape of the type of the value.
        shape: &'static Shape,
        /// The bytes that the value writes to a hasher.
        stream: Vec<u8>,
    },
    /// A value as text.
    Text(String),
}

impl PartialEq for StateItemValue {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Fields { stream, .. }, Self::Fields { stream: other, .. }) => stream == other,
            (Self::Text(text), Self::Text(other)) => text == other,
            _ => false,
        }
    }
}

impl fmt::Display for StateOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Resource(name) => write!(f, "resource `{name}`"),
            Self::Messages(name) => write!(f, "the queue of message `{name}`"),
            Self::Time(name) => write!(f, "`{name}` of the time"),
            Self::Rate(group) => write!(f, "the rate of group `{group}`"),
        }
    }
}

/// Returns the state of a world that does not belong to entities, in the order of the owners.
pub fn state_items(world: &World) -> Vec<StateItem> {
    let mut items = Vec::new();
    for (name, shape, stream) in world.resources.streams() {
        let value = StateItemValue::Fields { shape, stream };
        items.push(StateItem { owner: StateOwner::Resource(name), value });
    }
    for (name, _, stream) in world.messages.streams(world.entities.jobs.scheduler()) {
        // A queue is no value of one shape, so its bytes are compared.
        let value = StateItemValue::Text(format!("{stream:02x?}"));
        items.push(StateItem { owner: StateOwner::Messages(name), value });
    }
    let time = world.time.state();
    let numbers = [
        ("delta", time.delta.to_string()),
        ("elapsed", time.elapsed.to_string()),
        ("frame", time.frame.to_string()),
        ("is_paused", time.is_paused.to_string()),
        ("maximum_delta", time.maximum_delta.to_string()),
        ("time_scale", time.scale.to_string()),
    ];
    for (name, text) in numbers {
        items.push(StateItem { owner: StateOwner::Time(name), value: StateItemValue::Text(text) });
    }
    for (group, state) in world.systems.rate_states() {
        let value = StateItemValue::Text(format!("{:?}", state.0));
        items.push(StateItem { owner: StateOwner::Rate(group), value });
    }
    items
}

/// Describes the first part of the state that differs between two worlds with different hashes.
pub(crate) fn first_difference(one: &World, other: &World) -> String {
    let (first, second) = (state_items(one), state_items(other));
    let missing = |items: &[StateItem], item: &StateItem| !items.contains(item);
    let changed = first.iter().find(|item| missing(&second, item));
    match changed.or_else(|| second.iter().find(|item| missing(&first, item))) {
        Some(item) => item.owner.to_string(),
        None => "an entity".to_owned(),
    }
}

/// Returns the contents of a chunk: shared values, then the rows, then chunk components. Both indices are those of [`layout`].
pub fn chunk_items(world: &World, archetype: usize, chunk: usize) -> Vec<ChunkItem> {
    let storage = &world.entities.storage;
    let Some(archetype) = storage.inhabited().nth(archetype) else { return Vec::new() };
    let Some(&number) = archetype.chunks.get(chunk) else { return Vec::new() };
    let chunk = &storage.chunks[number];
    let shape = &archetype.shape;
    let value = |component: ComponentType, shape| ItemKind::Value {
        shape,
        is_memory: component.0.type_id.is_none(),
    };
    let mut items = Vec::new();
    for (column, stream) in storage.streams_of_shared(chunk) {
        let component = shape.types[column as usize];
        let shared = component.0.shared.map_or(component.0.shape, |shared| shared.shape);
        let kind = value(component, shared);
        items.push(ChunkItem { component, entity: None, kind, stream });
    }
    for (row, &entity) in chunk.entities().iter().enumerate() {
        for (column, &component) in shape.types.iter().enumerate() {
            let kind = value(component, component.0.shape);
            let stream = Storage::stream_of_row(chunk, column, row);
            items.push(ChunkItem { component, entity: Some(entity), kind, stream });
        }
        for (mask, &column) in (0..).zip(&shape.enableable) {
            let component = shape.types[column as usize];
            let word = chunk.enabled.words(mask)[row / 64];
            let stream = vec![u8::from(word >> (row % 64) & 1 == 1)];
            let kind = ItemKind::Enabled;
            items.push(ChunkItem { component, entity: Some(entity), kind, stream });
        }
    }
    for (column, of, stream) in Storage::streams_of_chunk(chunk) {
        let component = shape.types[column as usize];
        let kind = value(component, of.0.shape);
        items.push(ChunkItem { component, entity: None, kind, stream });
    }
    items
}

fn hash(feed: impl FnOnce(&mut StateHasher)) -> u64 {
    let mut state = StateHasher::new();
    feed(&mut state);
    state.finish()
}
