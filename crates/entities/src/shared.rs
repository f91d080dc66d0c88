//! Shared components: all entities of a chunk have the same value.

#![expect(unsafe_code, reason = "implements the traits of sets")]

use std::any::{Any, type_name};
use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::num::NonZero;
use std::ops::Deref;
use std::sync::Arc;

use ancho_collections::FixedState;

use crate::component::{
    Beginning, ComponentType, Copying, Duplicate, Initial, Mutable, SharedFunctions, SharedValue,
    TypeInfo, TypeSlot, registry,
};
use crate::field::{EntityRemap, Field, FieldKind, Shape};
use crate::set::{CloneSet, IsSet, SetKind, SetValues};
use crate::storage::RowPlace;

/// A component that has the same value for many entities, such as a team, a mesh with its material, or the settings of a flock.
///
/// A world stores each value once, and all entities of a chunk have the same value. So a shared component takes no memory per
/// entity, and code that processes chunks reads it once per chunk. In return, changing the value of an entity moves the entity to
/// another chunk, and many different values mean many chunks with few entities. This is Unity's `ISharedComponentData`.
///
/// - The component type of a shared component is [`Shared<T>`](Shared): `spawn`, `add` and `set` take one, and `take` returns
///   one. `has::<Shared<T>>` and `remove::<Shared<T>>` work as for every component.
/// - [`shared`](crate::EntityManager::shared) reads the value of an entity, and [`set_shared`](crate::EntityManager::set_shared)
///   changes it.
///
/// `Eq` and `Hash` determine which values are the same. If they are inconsistent, the grouping of entities is unspecified, but
/// memory remains safe.
///
/// Copying a world does not copy its values: forks and duplicates share them. A change through a shared reference, for example to
/// an atomic, is visible in all of them.
///
/// The derive also implements [`Field`], and detects whether the type has an [initial](Self::initial) value and can be
/// [duplicated](Self::DUPLICATE). Its options are:
///
/// - `#[shared(name = "…")]`: the name of the type.
/// - `#[shared(cleanup)]`: the component is kept when its entity is despawned. See
///   [`Component::CLEANUP`](crate::Component::CLEANUP).
/// - `#[shared(float_bits)]`: the derive implements `PartialEq`, `Eq` and `Hash`, and compares floats by their bits. Without it, a
///   type with floats has no `Eq`. `0.0` and `-0.0` are then different values, and a NaN is the same as itself. Fields are floats,
///   types of glam, arrays, options and lists of these, and all types with `Eq` and `Hash`.
/// - `#[shared(component)]`: the type is also a component, and `#[derive(Component)]` implements `Field`. An entity can then have
///   a component of the type, a shared component of it, or both.
///
/// # Entities in values
///
/// A value may refer to entities if its type is `Clone`. A value has many owners, so the entities in it are not replaced in place:
/// a clone with the replacements is made for the owners that need it.
///
/// - Command playback replaces [placeholders](crate::EntityCommandBuffer) in values, as it does in components.
/// - Entities that are moved or copied to [another world](crate::EntityManager::move_entities_from) get values that refer to the
///   new entities. References to entities that stay behind become null. Values that are equal afterwards are merged.
/// - An [instance](crate::EntityManager::instantiate) has the value of its source, unchanged. A value that refers to the source, or
///   to another member of its group, still does. Store per-instance data in other components.
///
/// A type that contains entities and is not `Clone` does not compile. A type with a `Box` or a `Vec` counts as containing
/// entities. `#[field(opaque)]` excludes a field from this test. The field is then not part of
/// [`state_hash`](crate::EntityManager::state_hash) either, and a placeholder in it is not replaced. The parameters of a generic
/// type need bounds, or the derive does not detect that the type is `Clone`.
///
/// ```
/// use ancho_entities::{Entity, EntityCommandBuffer, Shared, SharedComponent, World};
///
/// #[derive(SharedComponent, Clone, Debug, PartialEq, Eq, Hash)]
/// struct Squad {
///     leader: Entity,
/// }
///
/// let mut world = World::new("Simulation");
/// let mut buffer = EntityCommandBuffer::new();
/// let commands = buffer.commands()?;
/// let leader = commands.spawn(());
/// let soldier = commands.spawn(Shared::new(Squad { leader }));
/// world.play(&mut buffer)?;
/// let [leader, soldier] = [leader, soldier].map(|who| buffer.resolve(who).unwrap());
/// assert_eq!(world.shared(soldier), Ok(&Squad { leader }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// ```compile_fail,E0080
/// use ancho_entities::{Entity, SharedComponent};
///
/// #[derive(SharedComponent, PartialEq, Eq, Hash)]
/// struct Squad {
///     leader: Entity,
/// }
/// ```
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, Shared, SharedComponent, World};
///
/// #[derive(Component, Clone, Copy)]
/// struct Health(u32);
///
/// #[derive(SharedComponent, Debug, PartialEq, Eq, Hash)]
/// struct Team(&'static str);
///
/// let mut world = World::new("Simulation");
/// world.spawn_many((Health(20), Shared::new(Team("red"))), 100);
/// let spy = world.spawn((Health(20), Shared::new(Team("blue"))));
/// assert_eq!(world.shared::<Team>(spy)?, &Team("blue"));
/// assert_eq!(world.chunks().count(), 2);
///
/// world.set_shared(spy, Team("red"))?;
/// assert_eq!(world.chunks().count(), 1);
/// # Ok::<(), ancho_entities::EntityError>(())
/// ```
///
/// A value with floats:
///
/// ```
/// use ancho_entities::{Shared, SharedComponent, World};
///
/// #[derive(SharedComponent, Clone, Debug)]
/// #[shared(float_bits)]
/// struct Flock {
///     speed: f32,
///     radius: [f32; 2],
///     species: String,
/// }
///
/// let geese = Flock { speed: 8.0, radius: [1.5, 4.0], species: "goose".into() };
/// let mut world = World::new("Simulation");
/// world.spawn_many(Shared::new(geese.clone()), 100);
/// world.spawn_many(Shared::new(geese), 100);
/// assert_eq!(world.chunks().count(), 1);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a shared component",
    label = "not a shared component",
    note = "write `#[derive(SharedComponent, PartialEq, Eq, Hash)]` on the type, or `#[derive(SharedComponent)]` and \
            `#[shared(float_bits)]` if it has floats; wrap types of other crates in one of your own"
)]
#[doc(alias = "ISharedComponentData")]
pub trait SharedComponent: Field + Eq + Hash + Send + Sync + Sized + 'static {
    /// Returns the name of the type in messages, which is its path by default. Messages call the component `Shared<name>`.
    ///
    /// A name set with `#[shared(name = "…")]` is also the [stable name](ComponentType::stable_name).
    fn name() -> &'static str {
        type_name::<Self>()
    }

    /// Returns the value of entities that are created without an explicit value.
    ///
    /// A world calls this once, and keeps the value.
    fn initial() -> Initial<Self> {
        Initial::none()
    }

    /// True if the component is kept when its entity is despawned: `#[shared(cleanup)]`. See
    /// [`Component::CLEANUP`](crate::Component::CLEANUP).
    const CLEANUP: bool = false;

    /// The maximum number of entities in a chunk with the component: `#[shared(maximum_chunk_capacity = 16)]`. See
    /// [`Component::MAXIMUM_CHUNK_CAPACITY`](crate::Component::MAXIMUM_CHUNK_CAPACITY).
    const MAXIMUM_CHUNK_CAPACITY: Option<NonZero<u32>> = None;

    /// The way in which a value is duplicated when entities in it are replaced. Types without entities need none.
    const DUPLICATE: Duplicate<Self> = Duplicate::none();

    /// Returns the slot that caches the shared component's registration.
    #[doc(hidden)]
    fn slot() -> Option<&'static TypeSlot<Shared<Self>>> {
        None
    }
}

/// An owned value of a shared component, which can be moved into a world or out of it.
///
/// A `Shared` is a [set of components](crate::ComponentSet), alone and in tuples. `has`, `remove` and `archetype` take it as the
/// type of the component. `spawn`, `add` and `set` take its value, and `take` returns one.
///
/// A clone refers to the same value. It does not require `T: Clone`.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, Shared, SharedComponent, World};
///
/// #[derive(Component)]
/// struct Name(&'static str);
///
/// #[derive(SharedComponent, Debug, PartialEq, Eq, Hash)]
/// struct Team(u32);
///
/// let mut world = World::new("Simulation");
/// let red = Shared::new(Team(1));
/// let ant = world.spawn((Name("ant"), red.clone()));
/// let bee = world.spawn((Name("bee"), red));
/// assert_eq!(*world.take::<Shared<Team>>(ant)?, Team(1));
/// assert!(!world.has::<Shared<Team>>(ant) && world.has::<Shared<Team>>(bee));
/// # Ok::<(), ancho_entities::EntityError>(())
/// ```
#[derive(PartialEq, Eq, Hash, PartialOrd, Ord)]
#[doc(alias = "ISharedComponentData")]
pub struct Shared<T>(Arc<T>);

impl<T> Shared<T> {
    /// Creates a handle to a value.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::Shared;
    ///
    /// assert_eq!(*Shared::new(3), 3);
    /// ```
    pub fn new(value: T) -> Self {
        Self(Arc::new(value))
    }
}

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> From<T> for Shared<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T> From<Arc<T>> for Shared<T> {
    fn from(value: Arc<T>) -> Self {
        Self(value)
    }
}

impl<T> From<Shared<T>> for Arc<T> {
    fn from(shared: Shared<T>) -> Self {
        shared.0
    }
}

impl<T: Default> Default for Shared<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T: fmt::Debug> fmt::Debug for Shared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

// `&mut Shared<T>` is refused because it is not query data, and that message names the remedy.
#[diagnostic::do_not_recommend]
impl<T: SharedComponent> Mutable for Shared<T> {}

impl<T: SharedComponent> Shared<T> {
    /// Converts a type-erased value to its type.
    pub(crate) fn of_erased(value: SharedValue) -> Self {
        Self(value.downcast().unwrap_or_else(|_| panic!("a value of `{}`", T::name())))
    }

    pub(crate) fn into_erased(self) -> SharedValue {
        self.0
    }

    /// Creates an initial value, if the type has one.
    pub(crate) fn initial() -> Option<Self> {
        T::initial().make.map(|make| Self::new(make()))
    }
}

impl<T> SetKind for Shared<T> {
    type Kind = IsSet;
}

// SAFETY: the set has one type, which has no bytes in the row. `shared` yields the value, and `read` gets it from the iterator.
unsafe impl<T: SharedComponent> SetValues<IsSet> for Shared<T> {
    const COUNT: usize = 1;
    const SHARED: bool = true;
    const HAS_ENTITIES: bool = T::HAS_ENTITIES;

    fn types(each: &mut dyn FnMut(ComponentType)) {
        each(ComponentType::of_shared::<T>());
    }

    fn remap_entities(&mut self, map: &mut EntityRemap<'_>) {
        if !T::HAS_ENTITIES {
            return;
        }
        if let Some(value) = Arc::get_mut(&mut self.0) {
            value.remap(map);
        } else if let Some(other) = remapped::<T>(self, map) {
            *self = Self::new(other);
        }
    }

    fn duplicate_set(&mut self) -> Result<Self, ComponentType> {
        Ok(self.clone())
    }

    fn shared(&self, each: &mut dyn FnMut(SharedValue)) {
        each(self.clone().into_erased());
    }

    unsafe fn write(self, _: RowPlace) {}

    unsafe fn read(_: RowPlace, shared: &mut dyn Iterator<Item = SharedValue>) -> Self {
        Self::of_erased(shared.next().expect("one for each shared component"))
    }
}

// SAFETY: one column is counted. It has no bytes, so nothing is written.
unsafe impl<T: SharedComponent> CloneSet for Shared<T> {
    unsafe fn fill(&self, _: RowPlace, _: usize, done: &mut usize) {
        *done += 1;
    }

    fn clone_set(&mut self) -> Self {
        self.clone()
    }
}

impl ComponentType {
    /// Returns the shared component type of `T`, registering it on first use.
    ///
    /// The shared type takes no bytes in chunks. If `T` is also a component, it differs from the component type `T`.
    ///
    /// # Panics
    ///
    /// Panics with A0062 if another type has the same name.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{ComponentType, SharedComponent};
    ///
    /// #[derive(SharedComponent, PartialEq, Eq, Hash)]
    /// #[shared(name = "Team")]
    /// struct Team(u32);
    ///
    /// let team = ComponentType::of_shared::<Team>();
    /// assert_eq!(team.name(), "Shared<Team>");
    /// assert!(team.is_shared() && team.size() == 0);
    /// ```
    #[inline]
    #[track_caller]
    pub fn of_shared<T: SharedComponent>() -> Self {
        Self(registry::info_of::<Shared<T>>(T::slot(), info::<T>))
    }
}

/// The shape of a column of shared components. It is opaque, because zero bytes cannot identify a value.
const SHAPE: &Shape = &Shape::laid_out("Shared", FieldKind::Opaque, 0, 1);

/// Returns the metadata of a shared component.
fn info<T: SharedComponent>(index: u32) -> TypeInfo {
    const { require_clone::<T>() };
    let has_default = T::initial().make.is_some();
    TypeInfo {
        cleanup: T::CLEANUP,
        maximum_capacity: T::MAXIMUM_CHUNK_CAPACITY,
        // Copying an entity copies its reference to the value.
        copying: Copying::Bytes,
        beginning: if has_default { Beginning::Zero } else { Beginning::None },
        shared: Some(SharedFunctions {
            hash: |value| FixedState::default().hash_one(typed::<T>(value)),
            equal: |left, right| typed::<T>(left) == typed::<T>(right),
            shape: T::SHAPE,
            feed: |value, state| typed::<T>(value).hash_state(state),
            write: |value, out| typed::<T>(value).write_value(out),
            read: |from| T::read_value(from).map(|value| Shared::new(value).into_erased()),
            // `initial` is called again, because the function cannot be stored without its type.
            default: has_default.then_some(|| match Shared::<T>::initial() {
                Some(value) => value.into_erased(),
                None => panic!("`{}` no longer has an initial value", T::name()),
            }),
            remap: T::HAS_ENTITIES.then_some(|value, map| {
                Some(Shared::new(remapped(typed::<T>(value), map)?).into_erased())
            }),
        }),
        ..TypeInfo::of_wrapper::<Shared<T>, T>(index, "Shared", T::name(), SHAPE)
    }
}

/// Rejects, at compile time, a type that contains entities but cannot be duplicated.
#[doc(hidden)]
pub const fn require_clone<T: SharedComponent>() {
    assert!(
        !T::HAS_ENTITIES || T::DUPLICATE.is_possible(),
        "a shared component that refers to entities must be `Clone`, so that the references can be remapped for some \
         of its owners; write `#[derive(Clone)]` on the type, or mark the field `#[field(opaque)]` if it contains none"
    );
}

fn typed<T: SharedComponent>(value: &(dyn Any + Send + Sync)) -> &T {
    value.downcast_ref().unwrap_or_else(|| panic!("a value of `{}`", T::name()))
}

/// Returns a clone in which the map has replaced the entities, or `None` if no entity is replaced.
fn remapped<T: SharedComponent>(value: &T, map: &mut EntityRemap<'_>) -> Option<T> {
    let mut other = T::DUPLICATE.apply(value)?;
    let mut is_other = false;
    let mut replace = |entity| {
        let new = map.apply(entity);
        is_other |= new != entity;
        new
    };
    other.remap(&mut EntityRemap::new(&mut replace));
    is_other.then_some(other)
}
