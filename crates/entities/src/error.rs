//! Errors of operations on worlds and entities.

use std::error::Error;
use std::fmt;

use ancho_collections::Rejected;

use crate::component::ComponentType;
use crate::debug_as_display::debug_as_display;
use crate::entity::Entity;
use crate::storage::OutOfMemory;

/// An error of an operation on entities. The world is unchanged, unless the documentation of the operation says otherwise.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, EntityError, World};
///
/// #[derive(Component, Debug)]
/// #[component(name = "Health")]
/// struct Health(u32);
///
/// let mut world = World::new("Simulation");
/// let stone = world.spawn(());
/// let refused = world.get::<Health>(stone).unwrap_err();
/// assert!(matches!(refused, EntityError::MissingComponent { .. }));
/// assert_eq!(refused.to_string(), "A0051: entity 0v1 has no `Health`; add it first, or check with `has`");
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum EntityError {
    /// A0050: the entity does not exist.
    NoSuchEntity {
        /// The entity passed by the caller.
        entity: Entity,
        /// The current version of the entity's slot, if the world has such a slot.
        slot_version: Option<u32>,
    },
    /// A0051: the entity does not have the component.
    MissingComponent {
        /// The entity passed by the caller.
        entity: Entity,
        /// The missing component.
        component: ComponentType,
    },
    /// A0052: the entity already has the component, and the world is strict.
    AlreadyPresent {
        /// The entity passed by the caller.
        entity: Entity,
        /// The component that the entity already has.
        component: ComponentType,
    },
    /// A0243: another component of the entity requires the component, and the world is strict.
    StillRequired {
        /// The entity passed by the caller.
        entity: Entity,
        /// The component that was to be removed.
        component: ComponentType,
        /// The component that requires it.
        by: ComponentType,
    },
    /// A0053: a set of components contains a type twice.
    DuplicateComponent {
        /// The type that occurs twice.
        component: ComponentType,
    },
    /// A0054: an entity would be larger than a chunk.
    DoesNotFit {
        /// The size of one entity's components, including padding, in bytes.
        entity_bytes: usize,
        /// The size of a chunk, in bytes.
        chunk_bytes: usize,
        /// The largest component.
        largest: ComponentType,
    },
    /// A0055: the archetype belongs to another world, or to a fork.
    ForeignArchetype,
    /// A0056: a chunk could not be allocated.
    OutOfMemory(OutOfMemory),
    /// A0057: a component was created without a value, and its type has no default.
    NoInitialValue {
        /// The type without a default value.
        component: ComponentType,
    },
    /// A0058: an entity or the world cannot be copied, because a component cannot be duplicated.
    NotDuplicable {
        /// The type that cannot be duplicated.
        component: ComponentType,
    },
    /// A0059: the component's bytes cannot be read, or cannot be written, directly.
    NotBytes {
        /// The type whose bytes were accessed.
        component: ComponentType,
        /// True for a write.
        write: bool,
    },
    /// A0060: the number of values or bytes is wrong.
    WrongLength {
        /// The type of the values.
        component: ComponentType,
        /// The expected number.
        expected: usize,
        /// The actual number.
        found: usize,
    },
    /// A0060: the number of values differs from the number of entities that the query matches.
    WrongCount {
        /// The type of the values.
        component: ComponentType,
        /// The number of matching entities.
        expected: usize,
        /// The number of values.
        found: usize,
    },
    /// A0064: the component is not a buffer, so it has no elements.
    NotABuffer {
        /// The type that is not a buffer.
        component: ComponentType,
    },
    /// A0070: the component cannot be enabled and disabled.
    NotEnableable {
        /// The type that is not enableable.
        component: ComponentType,
    },
    /// A0071: a cleanup component would be dropped.
    WouldLoseCleanup {
        /// The entity passed by the caller.
        entity: Entity,
        /// The cleanup component.
        component: ComponentType,
    },
    /// A0072: the entity was despawned, and has only cleanup components.
    CleanupOnly {
        /// The entity passed by the caller.
        entity: Entity,
    },
    /// A0073: the first member of a group is not its root.
    GroupWithoutRoot {
        /// The entity with the group.
        root: Entity,
        /// The first member.
        first: Entity,
    },
    /// A0087: not all entities that the query matches have the component.
    NotInQuery {
        /// The type that an entity of the query may lack.
        component: ComponentType,
    },
    /// A0135: a query view does not have access to the values of the component.
    NotGiven {
        /// The type whose values the view cannot access.
        component: ComponentType,
        /// True for mutable access.
        to_change: bool,
    },
    /// A0137: another entity already has the singleton component.
    SingletonExists {
        /// The singleton component.
        component: ComponentType,
        /// The entity that has the component.
        entity: Entity,
    },
    /// A0088: a query for a single entity matched none or several.
    NotSingle {
        /// The data of the query.
        query: &'static str,
        /// The number of matching entities.
        found: usize,
    },
    /// A0088: no entity, or more than one, has a singleton component.
    NotSingleton {
        /// The singleton component.
        component: ComponentType,
        /// The number of entities with the component.
        found: usize,
    },
    /// A0130: the worlds have different chunk layouts, so one cannot replace the other.
    DifferentChunks,
    /// A0181: a world cannot be forked while a time is pushed.
    TimePushed,
    /// A0140: the target of a new link is a descendant of the source.
    LinkCycle {
        /// The component of the relationship.
        component: ComponentType,
        /// The entity that would be its own ancestor.
        source: Entity,
        /// The new target.
        target: Entity,
        /// The number of entities in the cycle.
        length: u32,
    },
    /// A0210: the target of a link is its source.
    LinkToSelf {
        /// The source.
        entity: Entity,
        /// The component of the relationship.
        component: ComponentType,
    },
    /// A0211: the operation cannot change both directions of a relationship.
    InRelationship {
        /// The component of the relationship.
        component: ComponentType,
    },
    /// A0212: a batch writes the links of one entity twice.
    LinkedTwice {
        /// The entity.
        entity: Entity,
    },
    /// A0061: the entities do not have the same components.
    DifferentArchetypes {
        /// One entity.
        left: Entity,
        /// The other entity.
        right: Entity,
    },
}

impl EntityError {
    /// Returns whether the error is that of an entity that was despawned: its slot has a newer version.
    pub(crate) fn is_gone(&self) -> bool {
        matches!(*self, Self::NoSuchEntity { entity, slot_version: Some(version) }
            if entity.version() != 0 && version.wrapping_sub(entity.version()).cast_signed() > 0)
    }
}

impl fmt::Display for EntityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NoSuchEntity { entity, .. } if entity.is_null() => f.write_str(
                "A0050: the null entity never exists; check for a reference that was never set",
            ),
            Self::NoSuchEntity { entity, .. } if entity.is_placeholder() => write!(
                f,
                "A0050: {entity} is the placeholder of an entity that commands create; play the commands, and call \
                 `resolve` of their buffer"
            ),
            Self::NoSuchEntity { entity, .. } if self.is_gone() => write!(
                f,
                "A0050: entity {entity} no longer exists: it was despawned; check stored references with `exists`"
            ),
            Self::NoSuchEntity { entity, .. } => write!(
                f,
                "A0050: entity {entity} does not exist: this world has not created it; check whether it belongs to \
                 another world"
            ),
            Self::MissingComponent { entity, component } => write!(
                f,
                "A0051: entity {entity} has no `{component}`; {}",
                component.0.remedy
            ),
            Self::AlreadyPresent { entity, component } => write!(
                f,
                "A0052: entity {entity} already has `{component}`, and the world is strict; use `set` to replace it"
            ),
            Self::StillRequired { entity, component, by } => write!(
                f,
                "A0243: entity {entity} keeps `{component}`, because its `{by}` requires it, and the world is strict; remove \
                 `{by}` too, or use `remove_with_required`"
            ),
            Self::DuplicateComponent { component } => write!(
                f,
                "A0053: an entity has at most one component of each type, but the set contains `{component}` twice; \
                 remove one"
            ),
            Self::DoesNotFit { entity_bytes, chunk_bytes, largest } => write!(
                f,
                "A0054: an entity with these components needs {entity_bytes} bytes, but a chunk has {chunk_bytes}; the \
                 largest component is `{largest}` with {} bytes: box its large fields, or set a larger chunk size",
                largest.size()
            ),
            Self::ForeignArchetype => f.write_str(
                "A0055: the archetype belongs to another world; create it in this world with `archetype`",
            ),
            Self::OutOfMemory(ref error) => error.fmt(f),
            Self::NoInitialValue { component } if component.is_in_relationship() => write!(
                f,
                "A0057: `{component}` belongs to a relationship and has no default value; add the source with its target, and \
                 the world adds the other direction"
            ),
            Self::NoInitialValue { component } => write!(
                f,
                "A0057: `{component}` has no default value; pass a value, or derive `Default`"
            ),
            Self::NotDuplicable { component } => write!(
                f,
                "A0058: `{component}` cannot be cloned, because it is neither `Copy` nor `Clone`; derive `Clone` for \
                 it, so that entities and worlds with it can be copied"
            ),
            Self::NotBytes { component, write: false } => write!(
                f,
                "A0059: the bytes of `{component}` cannot be read, because some of them are padding or pointers; use \
                 `get` with its type"
            ),
            Self::NotBytes { component, write: true } => write!(
                f,
                "A0059: the bytes of `{component}` cannot be written, because not all bytes are a valid value; use \
                 `set` with its type"
            ),
            Self::WrongLength { component, expected, found } => write!(
                f,
                "A0060: expected {expected} for `{component}`, but {found} were passed; all columns must have the same \
                 length, and bytes the size of the component"
            ),
            Self::WrongCount { component, expected, found } => write!(
                f,
                "A0060: the query matches {expected} entities, but {found} values of `{component}` were passed; pass \
                 as many as `count` returns, or the list of `to_components`"
            ),
            Self::NotABuffer { component } => write!(
                f,
                "A0064: `{component}` is not a buffer and has no elements; check with `is_buffer` first, or use \
                 `get_bytes`"
            ),
            Self::NotEnableable { component } => write!(
                f,
                "A0070: `{component}` cannot be enabled or disabled; write `#[component(enableable)]` on the type"
            ),
            Self::WouldLoseCleanup { entity, component } => write!(
                f,
                "A0071: entity {entity} would lose its cleanup component `{component}`; remove it first, or use an \
                 archetype that has it"
            ),
            Self::CleanupOnly { entity } => write!(
                f,
                "A0072: entity {entity} was despawned, and only its cleanup components are left; instantiate it, or \
                 set its archetype, before it is despawned"
            ),
            Self::GroupWithoutRoot { root, first } => write!(
                f,
                "A0073: the linked group of entity {root} begins with {first}; the first member of a \
                 `LinkedEntityGroup` must be the entity that has it"
            ),
            Self::NotInQuery { component } => write!(
                f,
                "A0087: the query does not require `{component}`, so it may match entities without it; filter by \
                 `With<{component}>`"
            ),
            Self::NotGiven { component, to_change } => {
                let (given, reference) =
                    if to_change { (" mutably", "&mut ") } else { ("", "&") };
                write!(
                    f,
                    "A0135: the query does not fetch `{component}`{given}, and another query may access it at the same \
                     time; add `{reference}{component}` to the data of the query"
                )
            }
            Self::SingletonExists { component, entity } => write!(
                f,
                "A0137: entity {entity} already has the singleton `{component}`; change it with `{}`, or despawn the \
                 entity first",
                if component.is_buffer() { "singleton_buffer_mut" } else { "set_singleton" }
            ),
            Self::NotSingle { query, found: 0 } => write!(
                f,
                "A0088: the query `{query}` matches no entity, but one was expected; check with `is_empty`, or use \
                 `iter().next()`"
            ),
            Self::NotSingle { query, found } => write!(
                f,
                "A0088: the query `{query}` matches {found} entities, but one was expected; filter out the others, or \
                 use `iter`"
            ),
            Self::NotSingleton { component, found: 0 } => {
                let [create, ask] = if component.is_buffer() {
                    ["create_singleton_buffer", "try_singleton_buffer"]
                } else {
                    ["create_singleton", "try_singleton"]
                };
                write!(
                    f,
                    "A0088: no entity has `{component}`, but one was expected; create it with `{create}`, check with \
                     `{ask}`, or make the system wait for it with `require`"
                )
            }
            Self::NotSingleton { component, found } => write!(
                f,
                "A0088: {found} entities have `{component}`, but one was expected; despawn the others, or use `single` \
                 of a query that filters them out"
            ),
            Self::TimePushed => f.write_str(
                "A0181: a world cannot be forked while a time is pushed, because the fork would have another time; fork \
                 it after `pop_time`, and outside of the systems of a group with a rate",
            ),
            Self::DifferentChunks => f.write_str(
                "A0130: the two worlds have different chunk settings, so chunks cannot move between them; create both \
                 with the same `chunk_size` and `chunk_capacity_limit`, or use `copy_entities_from`",
            ),
            Self::LinkCycle { component, source, target, length } => {
                write!(f, "A0140: cycle of `{component}`: {source} -> ")?;
                if length > 1 {
                    write!(f, "{target} -> ")?;
                }
                if length > 2 {
                    write!(f, "{} more -> ", length - 2)?;
                }
                write!(
                    f,
                    "{source}; nothing was changed: choose a target that is not a descendant of {source}"
                )
            }
            Self::LinkToSelf { entity, component } => write!(
                f,
                "A0210: entity {entity} cannot be the target of its own `{component}`; choose another target, or write \
                 `#[relationship(allow_self)]` on the type"
            ),
            Self::InRelationship { component } => write!(
                f,
                "A0211: `{component}` belongs to a relationship, and this operation would change one direction only; use \
                 `spawn`, `add`, `set` or `remove` with the source component"
            ),
            Self::LinkedTwice { entity } => write!(
                f,
                "A0212: the batch writes a relationship of entity {entity} twice; pass each entity once"
            ),
            Self::DifferentArchetypes { left, right } => write!(
                f,
                "A0061: entities {left} and {right} have different components, so they cannot be swapped; add the \
                 missing components first"
            ),
        }
    }
}

impl Error for EntityError {}

debug_as_display!(EntityError);

/// Drops the rejected value.
impl<T> From<Rejected<T, Self>> for EntityError {
    fn from(rejected: Rejected<T, Self>) -> Self {
        rejected.error
    }
}

impl From<OutOfMemory> for EntityError {
    fn from(error: OutOfMemory) -> Self {
        Self::OutOfMemory(error)
    }
}
