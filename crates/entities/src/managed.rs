//! Managed components, which only one thread uses at a time.
#![expect(
    unsafe_code,
    reason = "values are moved to and out of chunks, and are seen by one thread"
)]

use std::any::type_name;
use std::num::NonZero;
use std::{fmt, slice};

use crate::component::{
    Beginning, ComponentType, Copying, Duplicate, How, Initial, SharedValue, TypeInfo, TypeSlot,
    WriteGroup, Written, drop_column, registry,
};
use crate::field::{
    EntityRemap, Field, FieldKind, Shape, StateHasher, ValueError, ValueReader, ValueWriter,
    shape_of,
};

use crate::set::{CloneSet, IsSet, SetKind, SetValues};
use crate::storage::RowPlace;

/// A component that only one thread uses at a time. Its type is `Send`, and need not be `Sync`.
///
/// Use it for data that jobs do not need: handles of windows and sounds, caches in a `Cell`, trait objects, or state of
/// libraries. Each value has its own box, and the chunk stores the address of the box in 8 bytes. Jobs never access managed
/// components, and worlds never share them. Use a [`Component`](crate::Component) for data that jobs process. This is Unity's
/// managed `IComponentData`.
///
/// - The component type of a managed component is [`Managed<T>`](Managed): `spawn`, `add` and `set` take one, and `take` returns
///   one. `has::<Managed<T>>` and `remove::<Managed<T>>` work as for every component.
/// - [`managed`](crate::EntityManager::managed) reads the value of an entity, and
///   [`managed_mut`](crate::EntityManager::managed_mut) changes it.
///
/// A value is dropped when it is removed or replaced, or with its entity or world. Instances get clones, in which references to
/// the source refer to the instance. A world with managed components can be [forked](crate::World::fork) if the components can be
/// cloned. The fork has its own values from the start.
///
/// The derive also implements [`Field`], and chooses how values are [duplicated](Self::duplicate) and [initialized](Self::initial).
/// Mark fields that are not `Field` with `#[field(opaque)]`. Its options are `#[managed(name = "…", enableable, cleanup,
/// track_changes, write_group(…))]`.
///
/// # Examples
///
/// ```
/// use std::cell::Cell;
///
/// use ancho_entities::{Managed, ManagedComponent, World};
///
/// #[derive(ManagedComponent)]
/// struct Voice {
///     text: String,
///     #[field(opaque)]
///     spoken: Cell<u32>,
/// }
///
/// let mut world = World::new("Simulation");
/// let parrot = world.spawn(Managed::new(Voice { text: "hello".into(), spoken: Cell::new(0) }));
/// let voice = world.managed::<Voice>(parrot)?;
/// voice.spoken.set(voice.spoken.get() + 1);
/// world.managed_mut::<Voice>(parrot)?.text.push('!');
/// assert_eq!(world.take::<Managed<Voice>>(parrot)?.into_inner().text, "hello!");
/// # Ok::<(), ancho_entities::EntityError>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a managed component",
    label = "not a managed component",
    note = "write `#[derive(ManagedComponent)]` on the type; wrap types of other crates in one of your own"
)]
pub trait ManagedComponent: Field + Send + Sized + 'static {
    /// Returns the name of the type in messages, which is its path by default. Messages call the component `Managed<name>`.
    ///
    /// A name set with `#[managed(name = "…")]` is also the [stable name](ComponentType::stable_name).
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

    /// True if the component can be enabled and disabled per entity: `#[managed(enableable)]`. See
    /// [`Component::ENABLEABLE`](crate::Component::ENABLEABLE).
    const ENABLEABLE: bool = false;

    /// True if the component is kept when its entity is despawned: `#[managed(cleanup)]`. See
    /// [`Component::CLEANUP`](crate::Component::CLEANUP).
    const CLEANUP: bool = false;

    /// True if changes are recorded per entity instead of per chunk: `#[managed(track_changes)]`. See
    /// [`Component::TRACK_CHANGES`](crate::Component::TRACK_CHANGES).
    const TRACK_CHANGES: bool = false;

    /// The components to whose write groups the component belongs: `#[managed(write_group(…))]`. See
    /// [`Component::WRITE_GROUPS`](crate::Component::WRITE_GROUPS).
    const WRITE_GROUPS: &'static [WriteGroup] = &[];

    /// The maximum number of entities in a chunk with the component: `#[managed(maximum_chunk_capacity = 16)]`. See
    /// [`Component::MAXIMUM_CHUNK_CAPACITY`](crate::Component::MAXIMUM_CHUNK_CAPACITY).
    const MAXIMUM_CHUNK_CAPACITY: Option<NonZero<u32>> = None;

    /// Returns the slot that caches the managed component's registration.
    #[doc(hidden)]
    fn slot() -> Option<&'static TypeSlot<Managed<Self>>> {
        None
    }
}

impl ComponentType {
    /// Returns the managed component type of `T`, registering it on first use.
    ///
    /// If `T` is also a component, the managed type differs from the component type `T`.
    ///
    /// # Panics
    ///
    /// Panics with A0062 if another type has the same name.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{ComponentType, ManagedComponent};
    ///
    /// #[derive(ManagedComponent)]
    /// #[managed(name = "Window")]
    /// struct Window([u64; 100]);
    ///
    /// let window = ComponentType::of_managed::<Window>();
    /// assert_eq!(window.name(), "Managed<Window>");
    /// assert_eq!(window.size(), 8);
    /// ```
    #[inline]
    #[track_caller]
    pub fn of_managed<T: ManagedComponent>() -> Self {
        Self(registry::info_of::<Managed<T>>(T::slot(), info::<T>))
    }
}

/// An owned managed component, which can be moved into a world or out of it.
///
/// A `Managed` is a [set of components](crate::ComponentSet), alone and in tuples. `has`, `remove` and `archetype` take it as the
/// type of the component. `spawn`, `add` and `set` take its value, and `take` returns one.
///
/// The value is accessible by ownership or through a mutable borrow. A shared reference never yields a `&T`, so `Managed` is
/// `Sync` even if `T` is not.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, Managed, ManagedComponent, World};
///
/// #[derive(Component)]
/// struct Name(&'static str);
///
/// #[derive(ManagedComponent)]
/// struct OnClick(#[field(opaque)] Box<dyn FnMut() -> u32 + Send>);
///
/// let mut world = World::new("Simulation");
/// let mut clicks = 0;
/// let count = OnClick(Box::new(move || {
///     clicks += 1;
///     clicks
/// }));
/// let button = world.spawn((Name("start"), Managed::new(count)));
/// (world.managed_mut::<OnClick>(button)?.0)();
/// let mut count = world.take::<Managed<OnClick>>(button)?;
/// assert_eq!((count.get_mut().0)(), 2);
/// # Ok::<(), ancho_entities::EntityError>(())
/// ```
pub struct Managed<T> {
    /// The boxed value. Only its address moves between chunks.
    value: Box<T>,
}

// SAFETY: a shared reference to a `Managed` yields no reference to the value, as with `std::sync::Exclusive`. `fill` clones the
// value through a shared reference, and its caller guarantees that no other thread uses the set.
unsafe impl<T> Sync for Managed<T> {}

impl<T> Managed<T> {
    /// Creates a managed component with a value.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::Managed;
    ///
    /// assert_eq!(Managed::new(3).into_inner(), 3);
    /// ```
    pub fn new(value: T) -> Self {
        Self { value: Box::new(value) }
    }

    /// Returns the value.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::Managed;
    ///
    /// assert_eq!(Managed::new("tea").into_inner(), "tea");
    /// ```
    pub fn into_inner(self) -> T {
        *self.value
    }

    /// Returns a mutable reference to the value.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::Managed;
    ///
    /// let mut managed = Managed::new(vec![1]);
    /// managed.get_mut().push(2);
    /// assert_eq!(managed.into_inner(), [1, 2]);
    /// ```
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

impl<T> SetKind for Managed<T> {
    type Kind = IsSet;
}

// SAFETY: the set has one type, and the methods use one offset and one value of it: a box, as in the column.
unsafe impl<T: ManagedComponent> SetValues<IsSet> for Managed<T> {
    const COUNT: usize = 1;
    const TRACKED: bool = T::TRACK_CHANGES;
    const HAS_BITS: bool = T::ENABLEABLE;
    const HAS_ENTITIES: bool = T::HAS_ENTITIES;

    fn types(each: &mut dyn FnMut(ComponentType)) {
        each(ComponentType::of_managed::<T>());
    }

    fn remap_entities(&mut self, map: &mut EntityRemap<'_>) {
        self.value.remap(map);
    }

    fn duplicate_set(&mut self) -> Result<Self, ComponentType> {
        let value = T::duplicate().apply(&self.value);
        value.map(Self::new).ok_or_else(ComponentType::of_managed::<T>)
    }

    #[inline]
    unsafe fn write(self, place: RowPlace) {
        // SAFETY: the place has a column of this type, with no value in the row.
        unsafe { place.value::<Box<T>>().write(self.value) }
    }

    #[inline]
    unsafe fn read(place: RowPlace, _: &mut dyn Iterator<Item = SharedValue>) -> Self {
        // SAFETY: the place has a column of this type, with a value that is not used afterwards.
        Self { value: unsafe { place.value::<Box<T>>().read() } }
    }
}

// SAFETY: one column is written and counted.
unsafe impl<T: ManagedComponent + Clone> CloneSet for Managed<T> {
    unsafe fn fill(&self, place: RowPlace, rows: usize, done: &mut usize) {
        // SAFETY: the place has a column of this type with room for `rows` values. No other thread uses the set, so this thread may
        // read the value.
        unsafe { Written::fill(place.value::<Box<T>>(), rows, |_| self.value.clone()) };
        *done += 1;
    }

    fn clone_set(&mut self) -> Self {
        Self { value: self.value.clone() }
    }
}

impl<T> fmt::Debug for Managed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The value must not be read through a shared reference.
        write!(f, "Managed<{}>", type_name::<T>())
    }
}

/// Returns the metadata of a column of managed components.
pub(super) fn info<T: ManagedComponent>(index: u32) -> TypeInfo {
    const {
        assert!(!(T::ENABLEABLE && T::CLEANUP), "a cleanup component cannot be enableable");
    }
    TypeInfo {
        enableable: T::ENABLEABLE,
        cleanup: T::CLEANUP,
        tracked: T::TRACK_CHANGES,
        write_groups: T::WRITE_GROUPS,
        maximum_capacity: T::MAXIMUM_CHUNK_CAPACITY,
        // Forks may run on other threads, so they must not share the memory.
        sync: false,
        drop: Some(drop_column::<Box<T>>),
        copying: match T::duplicate().how {
            How::NotAtAll => Copying::NotAtAll,
            How::Bytes(_) | How::Clone(_) => Copying::Clone(clone_boxes::<T>),
        },
        beginning: match T::initial().make {
            None => Beginning::None,
            Some(_) => Beginning::Default(write_initial_boxes::<T>),
        },
        hash: hash_boxes::<T>,
        remap: T::HAS_ENTITIES.then_some(remap_boxes::<T>),
        write: write_boxes::<T>,
        read: read_boxes::<T>,
        ..TypeInfo::of_wrapper::<Managed<T>, T>(index, "Managed", T::name(), Managed::<T>::SHAPE)
    }
}

impl<T: ManagedComponent> Managed<T> {
    /// The shape of a box. Its bytes are neither read nor written directly.
    const SHAPE: &'static Shape = &Shape::new::<Box<T>>("Managed", FieldKind::Boxed(shape_of::<T>))
        .with_entities(T::HAS_ENTITIES);
}

/// Implements [`CloneColumn`](crate::component::CloneColumn) for boxes of `T`.
///
/// # Safety
///
/// - `from` has `count` boxes of `T`
/// - `to` has room for `count` boxes and does not overlap `from`
unsafe fn clone_boxes<T: ManagedComponent>(from: *const u8, to: *mut u8, count: usize) {
    // SAFETY: `from` has `count` boxes of `T`. The memory of managed components is never shared between worlds, so no other thread
    // uses them.
    let values = unsafe { slice::from_raw_parts(from.cast::<Box<T>>(), count) };
    // `duplicate` is called again, because the function cannot be stored without its type. A different result is harmless.
    let duplicate = T::duplicate();
    let make = |index: usize| match duplicate.apply(&values[index]) {
        Some(value) => Box::new(value),
        None => panic!("`{}` is no longer duplicated", T::name()),
    };
    // SAFETY: `to` has room for `count` boxes.
    unsafe { Written::fill(to.cast::<Box<T>>(), count, make) }
}

/// Implements [`InitialColumn`](crate::component::InitialColumn) for boxes of `T`.
///
/// # Safety
///
/// - `to` has room for `count` boxes of `T`
unsafe fn write_initial_boxes<T: ManagedComponent>(to: *mut u8, count: usize) {
    let Some(make) = T::initial().make else {
        panic!("`{}` no longer has an initial value", T::name());
    };
    // SAFETY: `to` has room for `count` boxes.
    unsafe { Written::fill(to.cast::<Box<T>>(), count, |_| Box::new(make())) }
}

/// Implements [`HashColumn`](crate::component::HashColumn) for boxes of `T`.
///
/// # Safety
///
/// - the column has `count` boxes of `T`
unsafe fn hash_boxes<T: ManagedComponent>(
    _: &'static Shape,
    column: *const u8,
    count: usize,
    state: &mut StateHasher,
) {
    // SAFETY: the column has `count` boxes of `T`. The memory of managed components is never shared between worlds, so no other
    // thread uses them.
    for value in unsafe { slice::from_raw_parts(column.cast::<Box<T>>(), count) } {
        T::hash_state(value, state);
    }
}

/// Implements [`RemapColumn`](crate::component::RemapColumn) for boxes of `T`.
///
/// # Safety
///
/// - the column has `count` boxes of `T`, which no other code uses during the call
unsafe fn remap_boxes<T: ManagedComponent>(
    _: &'static Shape,
    column: *mut u8,
    count: usize,
    map: &mut EntityRemap<'_>,
) {
    // SAFETY: the column has `count` boxes of `T`, which no other code uses during the call.
    for value in unsafe { slice::from_raw_parts_mut(column.cast::<Box<T>>(), count) } {
        map.begin_value();
        T::remap(value, map);
    }
}

/// Implements `WriteColumn` for boxes of `T`.
///
/// # Safety
///
/// - the column has `count` boxes of `T`
unsafe fn write_boxes<T: ManagedComponent>(
    _: &'static Shape,
    column: *const u8,
    count: usize,
    out: &mut dyn ValueWriter,
) {
    // SAFETY: the column has `count` boxes of `T`. The memory of managed components is never shared between worlds, so no other
    // thread uses them.
    for value in unsafe { slice::from_raw_parts(column.cast::<Box<T>>(), count) } {
        out.element();
        value.write_value(out);
    }
}

/// Implements `ReadColumn` for boxes of `T`.
///
/// # Safety
///
/// - `to` has room for `count` boxes of `T`
unsafe fn read_boxes<T: ManagedComponent>(
    _: &'static Shape,
    to: *mut u8,
    count: usize,
    from: &mut dyn ValueReader,
) -> Result<(), ValueError> {
    // SAFETY: `to` has room for `count` boxes.
    unsafe { Written::try_fill(to.cast::<Box<T>>(), count, || Box::<T>::read_value(from)) }
}
