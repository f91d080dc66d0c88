//! Components and the metadata of their types.

mod component_type;
pub(crate) mod float_bits;
mod info;
pub(crate) mod probe;
pub(crate) mod registry;
mod relationship;
mod require;
mod runtime;
mod write_group;

use std::any::type_name;
use std::num::NonZero;

pub use component_type::ComponentType;
pub use info::{SharedValue, TypeSlot};
pub use probe::{Duplicate, Initial};
pub use registry::RegisterError;
pub use relationship::{Mutable, RelationshipInfo};
pub use require::{RequireVisitor, RequiredValue};
pub use runtime::RuntimeType;
pub use write_group::WriteGroup;

pub use component_type::generic_name;
pub(crate) use component_type::stable_name;
pub(crate) use info::stable_hash;
pub(crate) use info::{
    Beginning, ChunkValue, Copying, RemapColumn, SharedFunctions, TypeInfo, Written, drop_column,
};
pub(crate) use probe::How;
pub(crate) use relationship::SourceList;
pub(crate) use require::{Requirement, broken_requirement, required_by, visits_of};

use crate::field::Field;

/// The default of [`Component::REMEDY`].
const REMEDY: &str = "add it first, or check with `has`";

/// A component: data of an entity, which has at most one value of each component type.
///
/// Any type that is `Send` and `Sync` can be a component. Values are contiguous in chunks. A type without fields is a *tag*, and
/// takes no memory. This is Unity's `IComponentData`.
///
/// The derive also implements [`Field`], and selects how values are [duplicated](Self::duplicate) and
/// [initialized](Self::initial).
/// Its options are `#[component(name = "…", enableable, cleanup, track_changes, require(…), write_group(…),
/// maximum_chunk_capacity = …, remedy = "…")]`.
///
/// # Required components
///
/// `#[component(require(B, C = C(1)))]` on `A` makes the missing ones of `B` and `C` arrive together with `A`, in the same move:
/// with `spawn`, `add`, `add_types`, `create`, `set_archetype` and their commands. `B` begins with its default, and `C` with the
/// given value. Components that the caller passes, or that the entity has, are kept. Required components can require others. If
/// several types require one component, the value of a direct requirement is used, and among those the one of the first type.
///
/// Copies are not completed: `instantiate`, forks and transfers add nothing. Removing `A` keeps `B` and `C`:
/// [`remove_with_required`](crate::EntityManager::remove_with_required) removes them too. Removing `B` alone is allowed, except in a
/// strict world (A0243). The constructors run before the entity changes.
///
/// ```
/// use ancho_entities::{Component, World};
///
/// #[derive(Component, Default, Debug, PartialEq)]
/// struct Position(f32);
///
/// #[derive(Component, Debug, PartialEq)]
/// struct Health(u32);
///
/// #[derive(Component)]
/// #[component(require(Position, Health = Health(20)))]
/// struct Orc;
///
/// let mut world = World::new("Simulation");
/// let orc = world.spawn((Orc, Position(3.0)));
/// assert_eq!((world.get(orc), world.get(orc)), (Ok(&Position(3.0)), Ok(&Health(20))));
/// ```
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, World};
///
/// #[derive(Component, Clone, Copy, Debug, PartialEq)]
/// struct Health(u32);
///
/// #[derive(Component, Clone, Copy, Default)]
/// struct Burning;
///
/// let mut world = World::new("Simulation");
/// let orc = world.spawn((Health(20), Burning));
/// assert_eq!(world.get::<Health>(orc), Ok(&Health(20)));
/// assert!(world.has::<Burning>(orc));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a component",
    label = "not a component",
    note = "write `#[derive(Component)]` on the type; wrap types of other crates in one of your own",
    note = "buffers, shared and managed components are wrapped: `Buffer<T>`, `Shared<T>`, `Managed<T>`; a query reads a \
            `&Shared<T>`, and `set_shared` changes it"
)]
#[doc(alias = "IComponentData")]
pub trait Component: Field + Send + Sync + Sized + 'static {
    /// Returns the name of the type in messages, which is its path by default. Names of component types are unique in a program.
    ///
    /// A name set with `#[component(name = "…")]` is also the [stable name](ComponentType::stable_name).
    fn name() -> &'static str {
        type_name::<Self>()
    }

    /// Returns how a value is duplicated when an entity is instantiated or a world is copied.
    fn duplicate() -> Duplicate<Self> {
        Duplicate::none()
    }

    /// Returns the value of entities that are created without an explicit value.
    fn initial() -> Initial<Self> {
        Initial::none()
    }

    /// True if the component can be enabled and disabled per entity without moving the entity: `#[component(enableable)]`.
    ///
    /// An enableable component costs one bit per entity.
    #[doc(alias = "IEnableableComponent")]
    const ENABLEABLE: bool = false;

    /// True if the component is kept when its entity is despawned, so that a system can clean up: `#[component(cleanup)]`.
    ///
    /// The entity exists until all its cleanup components are removed. They are never copied to other entities. This is Unity's
    /// `ICleanupComponentData`.
    ///
    /// # Detecting added and removed components
    ///
    /// A cleanup component detects additions, removals and despawns without callbacks. A system that handles `Sound` adds a
    /// `Voice` to each entity with `Sound`. An entity with `Sound` and without `Voice` is new. An entity with `Voice` and without
    /// `Sound` has lost the component or was despawned. No change is missed or reported twice. The second example below shows
    /// this. An [observer](crate::World::add_observer) runs at once instead, and [`Removed`](crate::Removed) lists removals.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Sound;
    ///
    /// #[derive(Component, Debug, PartialEq)]
    /// #[component(cleanup)]
    /// struct Voice(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let bell = world.spawn((Sound, Voice(3)));
    /// world.despawn(bell).unwrap();
    /// assert!(world.has::<Voice>(bell) && !world.has::<Sound>(bell));
    /// // Who gave the voice takes it back, and the entity goes.
    /// assert_eq!(world.take::<Voice>(bell), Ok(Voice(3)));
    /// assert!(!world.exists(bell));
    /// ```
    ///
    /// Additions, removals and despawns since the last call:
    ///
    /// ```
    /// use ancho_entities::{Component, Entity, With, Without, World};
    /// # #[derive(Component)]
    /// # struct Sound;
    /// # #[derive(Component)]
    /// # #[component(cleanup)]
    /// # struct Voice(usize);
    ///
    /// fn with_without<T: Component, U: Component>(world: &World) -> Vec<Entity> {
    ///     world.query_filtered::<(), (With<T>, Without<U>)>().to_entities()
    /// }
    ///
    /// fn update(world: &mut World, playing: &mut Vec<bool>) {
    ///     for added in with_without::<Sound, Voice>(world) {
    ///         world.add(added, Voice(playing.len())).unwrap();
    ///         playing.push(true);
    ///     }
    ///     for gone in with_without::<Voice, Sound>(world) {
    ///         let Voice(number) = world.take(gone).unwrap();
    ///         playing[number] = false;
    ///     }
    /// }
    ///
    /// let (mut world, mut playing) = (World::new("Simulation"), Vec::new());
    /// let all: Vec<_> = world.spawn_batch([Sound, Sound, Sound]).collect();
    /// update(&mut world, &mut playing);
    /// assert_eq!(playing, [true, true, true]);
    /// world.remove::<Sound>(all[0]).unwrap();
    /// world.despawn(all[1]).unwrap();
    /// update(&mut world, &mut playing);
    /// assert_eq!(playing, [false, false, true]);
    /// assert!(world.exists(all[0]) && !world.exists(all[1]));
    /// ```
    #[doc(alias = "ICleanupComponentData")]
    #[doc(alias = "RemovedComponents")]
    #[doc(alias = "OnAdd")]
    #[doc(alias = "OnRemove")]
    const CLEANUP: bool = false;

    /// True if changes are recorded per entity instead of per chunk: `#[component(track_changes)]`.
    ///
    /// [`Changed<T>`](crate::Changed) then matches single entities. A value counts as changed when it is borrowed mutably, set,
    /// enabled, disabled, spawned or added. Moving an entity, by adding or removing other components, does not count. A mutable
    /// borrow counts whether or not the value is written:
    ///
    /// - `&mut T` in a loop, `get_mut` and `copy_from` mark the entities whose values are borrowed. `for_each` marks contiguous
    ///   entities before it calls the function for the first one, so later entities may also be marked if the function panics. A
    ///   `for` loop marks entities one by one.
    /// - Mutable slices mark all entities in them.
    /// - [`TrackedMut<T>`](crate::TrackedMut) marks the entities that are written. Use it for loops that write few of many
    ///   values.
    ///
    /// A loop that writes all values takes hardly more time than without tracking. A chunk in which only some of the values were
    /// written stores four bytes per entity.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Changed, Component, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// #[component(track_changes)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let all: Vec<_> = world.spawn_many(Health(20), 100).collect();
    /// let seen = world.version();
    /// world.advance_version();
    /// world.get_mut::<Health>(all[42]).unwrap().0 -= 1;
    /// let changed = world.query_filtered::<&Health, Changed<Health>>().since(seen);
    /// assert_eq!(changed.to_entities(), [all[42]]);
    /// ```
    const TRACK_CHANGES: bool = false;

    /// The maximum number of entities in a chunk with this component: `#[component(maximum_chunk_capacity = 16)]`.
    ///
    /// The capacity of an archetype's chunks is the smallest maximum of its components, including shared components, buffers,
    /// tags and [chunk components](crate::PerChunk). The capacity is also limited by the chunk size and by
    /// [`chunk_capacity_limit`](crate::WorldSettings::chunk_capacity_limit). Set a maximum for components whose entities are
    /// divided among many threads, or looked up a few at a time. This is Unity's `MaximumChunkCapacity`.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// #[component(maximum_chunk_capacity = 16)]
    /// struct PathRequest(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_many(PathRequest(0), 40);
    /// let lengths: Vec<_> = world.chunks().map(|chunk| chunk.len()).collect();
    /// assert_eq!(lengths, [16, 16, 8]);
    /// ```
    ///
    /// The capacity of a chunk is at least one entity:
    ///
    /// ```compile_fail
    /// # use ancho_entities::Component;
    /// #[derive(Component)]
    /// #[component(maximum_chunk_capacity = 0)]
    /// struct PathRequest(u32);
    /// ```
    const MAXIMUM_CHUNK_CAPACITY: Option<NonZero<u32>> = None;

    /// The components to whose *write groups* this component belongs: `#[component(write_group(LocalToWorld))]`, or several.
    ///
    /// On an entity with this component, the target component is written by a more specific system. A query with
    /// [`FilterWriteGroups`](crate::FilterWriteGroups) that writes the target skips such entities, without naming this component.
    /// This is Unity's `WriteGroup`.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World, FilterWriteGroups};
    ///
    /// #[derive(Component, Clone, Copy, Debug, PartialEq)]
    /// struct Height(f32);
    ///
    /// // A library lets everything fall.
    /// fn fall(world: &mut World) {
    ///     world.query_filtered_mut::<&mut Height, FilterWriteGroups>().for_each(|height| height.0 -= 1.0);
    /// }
    ///
    /// // Its user has things that fly.
    /// #[derive(Component, Clone, Copy)]
    /// #[component(write_group(Height))]
    /// struct Wings;
    ///
    /// let mut world = World::new("Simulation");
    /// let (stone, bird) = (world.spawn(Height(9.0)), world.spawn((Height(9.0), Wings)));
    /// fall(&mut world);
    /// assert_eq!(world.get::<Height>(stone), Ok(&Height(8.0)));
    /// assert_eq!(world.get::<Height>(bird), Ok(&Height(9.0)));
    /// ```
    const WRITE_GROUPS: &'static [WriteGroup] = &[];

    /// The remedy that the error about an entity without the component (A0051) names: `#[component(remedy = "…")]`.
    ///
    /// Set it for components that a system of your library adds.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Debug)]
    /// #[component(name = "Velocity", remedy = "the systems of `add_physics` add it")]
    /// struct Velocity(f32);
    ///
    /// let mut world = World::new("Simulation");
    /// let stone = world.spawn(());
    /// let refused = world.get::<Velocity>(stone).unwrap_err();
    /// assert_eq!(refused.to_string(), "A0051: entity 0v1 has no `Velocity`; the systems of `add_physics` add it");
    /// ```
    const REMEDY: &'static str = REMEDY;

    /// Set if the type requires other components.
    #[doc(hidden)]
    const REQUIRES: bool = false;

    /// Visits the components that the type requires directly, in the same order each time.
    #[doc(hidden)]
    #[inline(always)]
    fn require<V: RequireVisitor>(_visitor: &mut V) {}

    /// The relationship that the component is the source of. Only the derive sets it.
    #[doc(hidden)]
    const RELATIONSHIP: Option<&'static RelationshipInfo> = None;

    /// Returns the slot that caches the type's registration.
    #[doc(hidden)]
    fn slot() -> Option<&'static TypeSlot<Self>> {
        None
    }
}
