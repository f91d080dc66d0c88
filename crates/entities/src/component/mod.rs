//! What components are, and what is known of their types.

mod component_type;
mod info;
pub(crate) mod probe;
pub(crate) mod registry;
mod runtime;
mod write_group;

use std::any::type_name;
use std::num::NonZero;

pub use component_type::ComponentType;
pub use probe::{Duplicate, Initial};
pub use registry::{RegisterError, TypeSlot};
pub use runtime::RuntimeType;
pub use write_group::WriteGroup;

pub use component_type::generic_name;
pub(crate) use component_type::stable_name;
pub(crate) use info::{
    Beginning, ChunkValue, Copying, RemapColumn, RemapShared, SharedFunctions, SharedValue,
    TypeInfo, Written, drop_column, stable_hash,
};
pub(crate) use probe::How;

use crate::field::Field;

/// Data of an entity: at most one value of each type.
///
/// Any type that may be sent to and shared between threads can be a component. Values lie side by side in
/// chunks; a type without fields is a *tag*, and takes no memory at all. Unity's `IComponentData`.
///
/// The derive implements [`Field`] too, and finds out how values are [duplicated](Self::duplicate) and
/// whether there is an [initial](Self::initial) one. Its options are `#[component(name = "…", enableable, cleanup,
/// track_changes, write_group(…))]`.
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
    note = "write `#[derive(Component)]` on the type; wrap types of other crates in one of your own"
)]
pub trait Component: Field + Send + Sync + Sized + 'static {
    /// The name of the type in messages: by default its path. No two component types of a program have one name.
    ///
    /// A name that is set, by `#[component(name = "…")]`, is also the [stable name](ComponentType::stable_name).
    fn name() -> &'static str {
        type_name::<Self>()
    }

    /// How one value is made of another, when an entity is instantiated or a world is copied.
    fn duplicate() -> Duplicate<Self> {
        Duplicate::none()
    }

    /// The value of entities that are created without giving one.
    fn initial() -> Initial<Self> {
        Initial::none()
    }

    /// Whether values can be switched off and on, entity by entity, without moving the entity:
    /// `#[component(enableable)]`.
    ///
    /// It costs a bit for each entity.
    const ENABLEABLE: bool = false;

    /// Whether the component stays when its entity is despawned, so that somebody can tidy up after it:
    /// `#[component(cleanup)]`.
    ///
    /// The entity is there until all such components are removed. They are never copied to other entities.
    /// Unity's `ICleanupComponentData`.
    ///
    /// # Noticing what comes and goes
    ///
    /// With such a component, what was added, removed and destroyed is found without being told. Who cares for the entities
    /// with `Sound` gives each a `Voice`, which stays, and then looks for what does not match: with `Sound` and without
    /// `Voice` is new; with `Voice` and without `Sound` is gone, whether the component was removed or the entity despawned.
    /// Nothing is called back, nothing is missed, and nothing is noticed twice. It is the example below.
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
    /// What was added, removed and destroyed since the last time:
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
    const CLEANUP: bool = false;

    /// Whether it is noted for each entity when its value was written, and not only for each chunk:
    /// `#[component(track_changes)]`.
    ///
    /// [`Changed<T>`](crate::Changed) then finds these entities and not their neighbours: those whose value was given to be
    /// changed, or set, or switched on or off, or that came to be with it or had it added. Moving an entity, by adding and
    /// removing other components, does not change it. What is given counts whether or not it is written:
    ///
    /// - `&mut T` in a loop, `get_mut`, `copy_from`: the entities that it is given for. What is called for each of
    ///   them counts those that lie side by side before it gives the first, so that one which panics has counted some that
    ///   it did not give; a `for` loop counts them one by one.
    /// - Slices: all entities in them.
    /// - [`TrackedMut<T>`](crate::TrackedMut), where a loop writes few of many: the entities for which it is written.
    ///
    /// A pass that writes all values takes hardly more time than without. Where some were written and some not, four bytes
    /// are kept for each entity of the chunk.
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

    /// How many entities a chunk with this component has room for at most, if it says so: `#[component(maximum_chunk_capacity = 16)]`.
    ///
    /// Chunks of an archetype have room for the least that one of its components says, shared ones, buffers, tags and those of
    /// [chunks](crate::PerChunk) included, and for no more than fit or than
    /// [`chunk_capacity_limit`](crate::WorldSettings::chunk_capacity_limit) says. It is for components whose entities are to be
    /// divided among many threads, or found by few at a time. Unity's `MaximumChunkCapacity`.
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
    /// A chunk has room for one entity at least:
    ///
    /// ```compile_fail
    /// # use ancho_entities::Component;
    /// #[derive(Component)]
    /// #[component(maximum_chunk_capacity = 0)]
    /// struct PathRequest(u32);
    /// ```
    const MAXIMUM_CHUNK_CAPACITY: Option<NonZero<u32>> = None;

    /// The components whose *write groups* this one is in: `#[component(write_group(LocalToWorld))]`, or several.
    ///
    /// Such a component says that an entity with it has the other one written in a special way. Who writes that one in the
    /// usual way leaves these entities alone, without knowing this component, if its query
    /// [asks for that](crate::FilterWriteGroups). Unity's `WriteGroup`.
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

    /// Where the type remembers what it was registered as.
    #[doc(hidden)]
    fn slot() -> Option<&'static TypeSlot<Self>> {
        None
    }
}
