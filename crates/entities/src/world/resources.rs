//! Resources: values that exist once per world.

#![expect(unsafe_code, reason = "values that several parameters of a system borrow")]

use std::any::{Any, TypeId, type_name};
use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::Arc;
use std::{fmt, mem};

use ancho_collections::FixedState;
use hashbrown::HashMap;

use super::World;
use crate::component::{stable_hash, stable_name};
use crate::field::{Shape, StateHasher, StateValue, ValueError, ValueReader, ValueWriter};
use crate::panics::FirstPanic;
use crate::version::Version;

/// A resource: a value that exists once per world. Systems take it as [`Res`](crate::Res) or [`ResMut`](crate::ResMut).
///
/// A resource is *state* by default: it is part of [forks](World::fork), of the [state hash](World::state_hash), and of what
/// [`restore`](World::restore) rolls back. The derive then implements [`Field`](crate::Field) too, and the type must be `Clone`,
/// `Send` and `Sync`. Forks share the value until one of the worlds writes to it.
///
/// With `#[resource(local)]` a resource is *local*: it belongs to one world, and a rollback does not change it. Use it for input,
/// caches, handles and connections. A local type only has to be `Send` and `'static`.
///
/// Types of other crates are wrapped in a type of your own. For values that are not `Send`, see
/// [`insert_non_send`](World::insert_non_send). To store state that queries and tools see, use a
/// [singleton](World::create_singleton) instead.
///
/// # Options of the derive
///
/// - `#[resource(local)]` makes the resource local.
/// - `#[resource(name = "…")]` sets the name that identifies the type in state hashes. The default is the name of the type without
///   its path. The state resources of a world have different names.
/// - `#[resource(component)]`: the type is also a component, whose derive implements [`Field`](crate::Field).
/// - `#[field(opaque)]` on a field excludes it from hashes. It is forked and rolled back.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Resource, World};
///
/// #[derive(Resource, Clone, Debug, PartialEq)]
/// struct Score(u32);
///
/// #[derive(Resource)]
/// #[resource(local)]
/// struct Input(std::sync::mpsc::Receiver<char>);
///
/// let mut world = World::new("Simulation");
/// world.insert_resource(Score(1));
/// world.insert_resource(Input(std::sync::mpsc::channel().1));
/// let fork = world.fork()?;
/// assert_eq!(fork.get_resource(), Some(&Score(1)));
/// assert!(!fork.has_resource::<Input>());
/// # Ok::<(), ancho_entities::EntityError>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a resource",
    label = "not a resource",
    note = "write `#[derive(Resource)]` on the type: it is then forked, hashed and rolled back; `#[resource(local)]` opts out, and only \
            needs `Send`",
    note = "the time is not a resource: take the parameter `Time` instead of `Res<Time>`",
    note = "wrap types of other crates in one of your own; insert a value that is not `Send` with `World::insert_non_send`, and take it \
            as `NonSend<T>` or `NonSendMut<T>`"
)]
pub trait Resource: Send + Sized + 'static {
    /// State or local.
    #[doc(hidden)]
    const KIND: ResourceKind<Self>;

    /// Returns the name of the type, which is its path by default. A name set with `#[resource(name = "…")]` identifies the type in
    /// state hashes.
    fn name() -> &'static str {
        type_name::<Self>()
    }
}

/// State or local, with the functions for state.
pub struct ResourceKind<T> {
    state: Option<StateFunctions<T>>,
}

struct StateFunctions<T> {
    /// Moves a value to a block that forks share.
    share: fn(T) -> Arc<dyn StateBlock>,
    read: ReadBlock,
    shape: &'static Shape,
}

/// Reads a value field by field.
type ReadBlock = fn(&mut dyn ValueReader) -> Result<Arc<dyn StateBlock>, ValueError>;

impl<T> ResourceKind<T> {
    /// A resource that belongs to one world.
    #[must_use]
    pub const fn local() -> Self {
        Self { state: None }
    }

    /// A resource that is forked, hashed and rolled back.
    #[must_use]
    pub const fn state() -> Self
    where
        T: StateValue,
    {
        let functions = StateFunctions {
            share: |value| Arc::new(value),
            read: |from| Ok(Arc::new(T::read_value(from)?)),
            shape: T::SHAPE,
        };
        Self { state: Some(functions) }
    }
}

impl<T> fmt::Debug for ResourceKind<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.state.is_some() { "State" } else { "Local" })
    }
}

/// The value of a state resource, in a block that worlds share until one of them writes to it.
trait StateBlock: Send + Sync {
    fn copied(&self) -> Arc<dyn StateBlock>;
    fn feed(&self, state: &mut StateHasher);
    fn write(&self, out: &mut dyn ValueWriter);
    /// Returns the value as a `Box<T>`. Clones it if the block is shared.
    fn into_value(self: Arc<Self>) -> Box<dyn Any>;
}

impl<T: StateValue> StateBlock for T {
    fn copied(&self) -> Arc<dyn StateBlock> {
        Arc::new(self.clone())
    }

    fn feed(&self, state: &mut StateHasher) {
        self.hash_state(state);
    }

    fn write(&self, out: &mut dyn ValueWriter) {
        self.write_value(out);
    }

    fn into_value(self: Arc<Self>) -> Box<dyn Any> {
        Box::new(Arc::try_unwrap(self).unwrap_or_else(|shared| Self::clone(&shared)))
    }
}

/// The resources of a world.
#[derive(Default)]
pub(crate) struct Resources {
    /// The types, which a fork shares until one of the worlds adds a type.
    catalog: Arc<Catalog>,
    slots: Vec<Slot>,
}

/// The resource types that a world has seen. The index of a type never changes.
#[derive(Clone, Default)]
struct Catalog {
    places: HashMap<TypeId, u32, FixedState>,
    types: Vec<ResourceType>,
    /// The indices of state types, in the order of their stable names.
    state: Vec<u32>,
}

#[derive(Clone, Copy)]
struct ResourceType {
    ty: TypeId,
    name: &'static str,
    state: Option<StateType>,
}

#[derive(Clone, Copy)]
struct StateType {
    stable_name: &'static str,
    stable_hash: u64,
    shape: &'static Shape,
    read: ReadBlock,
}

/// The slot of a resource. The type of the resource never changes.
///
/// Parameters of a system hold shared references to slots, so all fields that they change are cells.
pub(crate) struct Slot {
    ty: TypeId,
    value: RefCell<Value>,
    /// The address of the value, if there is one. The value is only accessed through this pointer.
    address: Cell<Option<NonNull<u8>>>,
    /// Set if another world may have the same block. Then the block is copied before it is written.
    is_shared: Cell<bool>,
    /// The version at which the value was inserted into the empty slot.
    added: Cell<Version>,
    /// The version at which the value was last written.
    changed: Cell<Version>,
    /// The version at which the value was last removed, or [`Version::NEVER`].
    removed: Cell<Version>,
}

#[derive(Default)]
enum Value {
    #[default]
    Absent,
    /// A value that was allocated as a `Box`.
    Local(NonNull<dyn Any + Send>),
    State(Arc<dyn StateBlock>),
}

// SAFETY: local values are owned as in a `Box`, and are `Send`. State values are `Send` and `Sync`.
unsafe impl Send for Resources {}

impl Slot {
    fn new(ty: TypeId) -> Self {
        let version = || Cell::new(Version::NEVER);
        Self {
            ty,
            value: RefCell::default(),
            address: Cell::new(None),
            is_shared: Cell::new(false),
            added: version(),
            changed: version(),
            removed: version(),
        }
    }

    /// Returns the address of the value, if there is one. References to it must follow Rust's rules for the world.
    #[inline]
    pub(crate) fn address<T: Resource>(&self) -> Option<NonNull<T>> {
        debug_assert!(self.ty == TypeId::of::<T>(), "a slot has one type");
        Some(self.address.get()?.cast())
    }

    /// Returns the address of the value for writing, if there is one. Copies the value first if another world shares it.
    #[inline]
    fn address_mut<T: Resource>(&self) -> Option<NonNull<T>> {
        if self.is_shared.get() {
            self.unshare();
        }
        self.address()
    }

    /// Tests whether the value was inserted or written after a version.
    #[inline]
    pub(crate) fn is_changed(&self, since: Version) -> bool {
        self.address.get().is_some() && self.changed.get().is_newer_than(since)
    }

    /// Tests whether the value was inserted into the empty slot after a version.
    #[inline]
    pub(crate) fn is_added(&self, since: Version) -> bool {
        self.address.get().is_some() && self.added.get().is_newer_than(since)
    }

    /// Tests whether the value was removed after a version, and not inserted again.
    pub(crate) fn is_removed(&self, since: Version) -> bool {
        let removed = self.removed.get();
        self.address.get().is_none() && removed != Version::NEVER && removed.is_newer_than(since)
    }

    /// Copies the value, unless no other world has it any more. If the clone panics, nothing has changed.
    #[cold]
    #[inline(never)]
    fn unshare(&self) {
        let mut value = self.value.borrow_mut();
        let mut replaced = None;
        if let Value::State(block) = &mut *value
            && Arc::get_mut(block).is_none()
        {
            let copy = block.copied();
            self.address.set(Some(address_of(&copy)));
            replaced = Some(mem::replace(block, copy));
        }
        self.is_shared.set(false);
        drop(value);
        // The other world may have dropped its block by now. Then this drop runs user code, so it comes last.
        drop(replaced);
    }

    /// Puts a value into the slot. Returns the old one.
    fn put(&mut self, value: Value) -> Value {
        self.address.set(match &value {
            Value::Absent => None,
            Value::Local(value) => Some(value.cast()),
            Value::State(block) => Some(address_of(block)),
        });
        self.is_shared.set(false);
        mem::replace(self.value.get_mut(), value)
    }

    /// Returns the slot of a fork, which shares a state value, and has no local value.
    fn fork(&self) -> Self {
        let Value::State(block) = &*self.value.borrow() else {
            let slot = Self::new(self.ty);
            slot.removed.set(self.removed.get());
            return slot;
        };
        self.is_shared.set(true);
        Self {
            ty: self.ty,
            value: RefCell::new(Value::State(Arc::clone(block))),
            address: self.address.clone(),
            is_shared: Cell::new(true),
            added: self.added.clone(),
            changed: self.changed.clone(),
            removed: self.removed.clone(),
        }
    }

    /// Tests whether both slots have the same block, or none.
    fn has_same_block(&self, other: &Self) -> bool {
        self.address.get() == other.address.get()
    }
}

/// The value of a resource, borrowed from its slot for one run of a system.
///
/// The value is cloned when it is first written after a fork.
pub(crate) struct BorrowedResource<'w, T: Resource> {
    /// The slot. `None` for a value that is in no world.
    slot: Option<&'w Slot>,
    value: NonNull<T>,
    /// Makes `T` invariant, as in a mutable reference. Otherwise a value of a supertype could be written.
    borrow: PhantomData<&'w mut T>,
}

impl<'w, T: Resource> BorrowedResource<'w, T> {
    /// Borrows the value of a slot, if there is one.
    ///
    /// # Safety
    ///
    /// - the slot is that of the type `T`
    /// - for `'w`, no other code writes the value, and no other code reads it if this borrow writes it
    #[inline]
    pub(crate) unsafe fn new(slot: &'w Slot) -> Option<Self> {
        Some(Self { slot: Some(slot), value: slot.address()?, borrow: PhantomData })
    }

    /// Borrows a value that is in no world.
    pub(crate) fn of_value(value: &'w mut T) -> Self {
        Self { slot: None, value: NonNull::from(value), borrow: PhantomData }
    }

    /// Records that the value is written.
    #[inline]
    pub(crate) fn mark(&self, version: Version) {
        if let Some(slot) = self.slot {
            slot.changed.set(version);
        }
    }

    #[inline]
    pub(crate) fn is_changed(&self, since: Version) -> bool {
        self.slot.is_none_or(|slot| slot.is_changed(since))
    }

    #[inline]
    pub(crate) fn is_added(&self, since: Version) -> bool {
        self.slot.is_none_or(|slot| slot.is_added(since))
    }

    #[inline]
    pub(crate) fn get(&self) -> &T {
        // SAFETY: the author of the borrow says that no other code writes the value. This borrow does not write it while the
        // reference exists.
        unsafe { self.value.as_ref() }
    }

    #[inline]
    pub(crate) fn get_mut(&mut self) -> &mut T {
        if let Some(slot) = self.slot
            && slot.is_shared.get()
        {
            self.unshare(slot);
        }
        // SAFETY: the author of the borrow says that no other code uses the value, and the borrow itself is borrowed mutably. No other
        // world has the block: the flag is set for both worlds when a block is shared.
        unsafe { self.value.as_mut() }
    }

    /// Returns the value with the lifetime of the borrow.
    #[inline]
    pub(crate) fn into_ref(self) -> &'w T {
        // SAFETY: the author of the borrow says that no other code writes the value for `'w`. This borrow is consumed.
        unsafe { self.value.as_ref() }
    }

    /// Returns the value with the lifetime of the borrow, for writing.
    #[inline]
    pub(crate) fn into_mut(mut self) -> &'w mut T {
        self.get_mut();
        // SAFETY: the author of the borrow says that no other code uses the value for `'w`. This borrow is consumed, and the block is
        // not shared.
        unsafe { self.value.as_mut() }
    }

    #[cold]
    fn unshare(&mut self, slot: &Slot) {
        slot.unshare();
        self.value = slot.address().expect("it has a value");
    }
}

/// Returns the address of the value in a block, which may be written while the block has one owner.
fn address_of(block: &Arc<dyn StateBlock>) -> NonNull<u8> {
    let address = Arc::as_ptr(block).cast::<u8>().cast_mut();
    NonNull::new(address).expect("a block has an address")
}

impl Value {
    /// Converts the value of a resource of the type `T`. It was taken out of its slot.
    fn into_typed<T: 'static>(self) -> Option<T> {
        let value: Box<dyn Any> = match self {
            Self::Absent => return None,
            // SAFETY: the pointer is from `Box::leak`, and was taken out of its slot, so no other code frees it.
            Self::Local(value) => unsafe { Box::from_raw(value.as_ptr()) },
            Self::State(block) => block.into_value(),
        };
        Some(*value.downcast::<T>().expect("a slot has one type"))
    }

    /// Drops a value that was taken out of its slot.
    fn release(self) {
        if let Self::Local(value) = self {
            // SAFETY: the pointer is from `Box::leak`, and was taken out of its slot, so no other code frees it.
            drop(unsafe { Box::from_raw(value.as_ptr()) });
        }
    }
}

impl Resources {
    /// Returns the index of a resource type, which never changes.
    ///
    /// # Errors
    ///
    /// Returns the message of A0180 if another state resource of the world has the same stable name.
    pub(crate) fn place_of<T: Resource>(&mut self) -> Result<u32, String> {
        let ty = TypeId::of::<T>();
        if let Some(&place) = self.catalog.places.get(&ty) {
            return Ok(place);
        }
        let state = T::KIND.state.map(|functions| {
            let stable_name = stable_name::<T>(T::name());
            let stable_hash = stable_hash(stable_name);
            let StateFunctions { shape, read, .. } = functions;
            StateType { stable_name, stable_hash, shape, read }
        });
        self.add_type(ResourceType { ty, name: type_name::<T>(), state })
    }

    fn add_type(&mut self, new: ResourceType) -> Result<u32, String> {
        let place = u32::try_from(self.slots.len()).expect("fewer resources than numbers for them");
        let catalog = Arc::make_mut(&mut self.catalog);
        if let Some(state) = new.state {
            let key = |&place: &u32| {
                catalog.types[place as usize].state.map_or("", |state| state.stable_name)
            };
            match catalog.state.binary_search_by_key(&state.stable_name, key) {
                Err(at) => catalog.state.insert(at, place),
                Ok(at) => {
                    let other = catalog.types[catalog.state[at] as usize].name;
                    return Err(format!(
                        "A0180: the state resources `{other}` and `{}` share the stable name `{}`, so a state hash \
                         cannot tell them apart; give one of them another name, with `#[resource(name = \"…\")]`",
                        new.name, state.stable_name
                    ));
                }
            }
        }
        catalog.places.insert(new.ty, place);
        catalog.types.push(new);
        self.slots.push(Slot::new(new.ty));
        Ok(place)
    }

    /// Returns the slot at an index.
    #[inline]
    pub(crate) fn slot(&self, place: u32) -> Option<&Slot> {
        self.slots.get(place as usize)
    }

    /// Returns the slot of a type, if the world has seen the type.
    pub(crate) fn slot_of<T: Resource>(&self) -> Option<&Slot> {
        self.slot(*self.catalog.places.get(&TypeId::of::<T>())?)
    }

    fn insert<T: Resource>(&mut self, value: T, version: Version) -> Result<Option<T>, String> {
        let place = self.place_of::<T>()? as usize;
        let slot = &mut self.slots[place];
        // A shared value is cloned before anything changes, because the clone may panic.
        slot.address_mut::<T>();
        let value = match T::KIND.state {
            Some(functions) => Value::State((functions.share)(value)),
            None => Value::Local(NonNull::from(Box::leak(Box::new(value)))),
        };
        let old = slot.put(value);
        slot.changed.set(version);
        if matches!(old, Value::Absent) {
            slot.added.set(version);
        }
        Ok(old.into_typed())
    }

    fn remove<T: Resource>(&mut self, version: Version) -> Option<T> {
        let place = *self.catalog.places.get(&TypeId::of::<T>())? as usize;
        let slot = &mut self.slots[place];
        slot.address_mut::<T>()?;
        slot.removed.set(version);
        slot.put(Value::Absent).into_typed()
    }

    /// Returns the resources of a fork: those that are state, in shared blocks.
    pub(crate) fn fork(&self) -> Self {
        let slots = self.slots.iter().map(Slot::fork).collect();
        Self { catalog: Arc::clone(&self.catalog), slots }
    }

    /// Copies all values that other worlds share.
    pub(crate) fn make_unique(&mut self) {
        self.slots.iter().filter(|slot| slot.is_shared.get()).for_each(Slot::unshare);
    }

    /// Adds the state types of another world, so that [`replace_state`](Self::replace_state) cannot fail.
    ///
    /// # Errors
    ///
    /// Returns the message of A0180 if two types have the same stable name.
    pub(crate) fn add_types_of(&mut self, source: &Self) -> Result<(), String> {
        if Arc::ptr_eq(&self.catalog, &source.catalog) {
            return Ok(());
        }
        for &place in &source.catalog.state {
            let new = source.catalog.types[place as usize];
            if !self.catalog.places.contains_key(&new.ty) {
                self.add_type(new)?;
            }
        }
        Ok(())
    }

    /// Replaces the state resources by those of another world, whose types are known. Returns the old values, because dropping them
    /// runs user code.
    ///
    /// If `version` is given, resources that differ count as changed at that version. Otherwise the versions are replaced, too.
    #[must_use = "dropping them is user code"]
    pub(crate) fn replace_state(
        &mut self,
        source: &Self,
        version: Option<Version>,
    ) -> ReplacedResources {
        let mut replaced = Vec::new();
        let is_same_catalog = Arc::ptr_eq(&self.catalog, &source.catalog);
        for &place in &self.catalog.state {
            let slot = &mut self.slots[place as usize];
            let theirs = if is_same_catalog {
                source.slots.get(place as usize)
            } else {
                let place = source.catalog.places.get(&slot.ty);
                place.and_then(|&place| source.slots.get(place as usize))
            };
            let mut new = theirs.map_or_else(|| Slot::new(slot.ty), Slot::fork);
            if let Some(version) = version {
                let (had, has) = (slot.address.get().is_some(), new.address.get().is_some());
                let same = slot.has_same_block(&new);
                let or = |marked: bool, old: &Cell<Version>| {
                    if marked { Cell::new(version) } else { old.clone() }
                };
                new.added = or(has && !had, &slot.added);
                new.changed = or(has && !same, &slot.changed);
                new.removed = or(had && !has, &slot.removed);
            }
            replaced.push(mem::replace(slot, new).value.into_inner());
        }
        ReplacedResources(replaced)
    }

    /// Limits all versions to that of entities that have replaced others. Otherwise a resource could count as changed again and
    /// again, until the version of the world reaches that of the change.
    pub(crate) fn limit_versions(&self, now: Version) {
        for slot in &self.slots {
            for version in [&slot.added, &slot.changed, &slot.removed] {
                if version.get() != Version::NEVER && version.get().is_newer_than(now) {
                    version.set(now);
                }
            }
        }
    }

    /// Feeds the state resources to a hasher: their number, then each one with the hash of its stable name, in the order of the
    /// stable names.
    pub(crate) fn feed(&self, state: &mut StateHasher) {
        let there = |&&place: &&u32| self.slots[place as usize].address.get().is_some();
        state.write_u64(self.catalog.state.iter().filter(there).count() as u64);
        for &place in self.catalog.state.iter().filter(there) {
            let ty = self.catalog.types[place as usize].state;
            state.write_u64(ty.map_or(0, |ty| ty.stable_hash));
            self.feed_one(place, state);
        }
    }

    fn feed_one(&self, place: u32, state: &mut StateHasher) {
        if let Value::State(block) = &*self.slots[place as usize].value.borrow() {
            block.feed(state);
        }
    }

    /// Returns the stable names, the shapes and the hashed bytes of the state resources, in the order of the stable names.
    pub(crate) fn streams(&self) -> Vec<(&'static str, &'static Shape, Vec<u8>)> {
        let mut streams = Vec::new();
        for &place in &self.catalog.state {
            let Some(ty) = self.catalog.types[place as usize].state else { continue };
            if self.slots[place as usize].address.get().is_some() {
                let stream = StateHasher::stream_of(|state| self.feed_one(place, state));
                streams.push((ty.stable_name, ty.shape, stream));
            }
        }
        streams
    }
}

/// State resources as files have them.
impl Resources {
    /// Calls a function for each state resource, in the order of the stable names: with the stable name, the shape, and a function
    /// that writes the value field by field.
    pub(crate) fn for_each_state(
        &self,
        mut each: impl FnMut(&'static str, &'static Shape, &dyn Fn(&mut dyn ValueWriter)),
    ) {
        for &place in &self.catalog.state {
            let ty = self.catalog.types[place as usize].state;
            if let (Some(ty), Value::State(block)) =
                (ty, &*self.slots[place as usize].value.borrow())
            {
                each(ty.stable_name, ty.shape, &|out| block.write(out));
            }
        }
    }

    /// Returns the place and the shape of the state resource with a stable name, if the world has seen its type.
    pub(crate) fn find_state(&self, stable_name: &str) -> Option<(u32, &'static Shape)> {
        let state = |place: u32| self.catalog.types[place as usize].state;
        let name = |&place: &u32| state(place).map_or("", |ty| ty.stable_name);
        let at = self.catalog.state.binary_search_by_key(&stable_name, name).ok()?;
        let place = self.catalog.state[at];
        Some((place, state(place)?.shape))
    }

    /// Reads the value of a state resource field by field, at the place that [`find_state`](Self::find_state) has returned.
    pub(crate) fn read_state(
        &mut self,
        place: u32,
        from: &mut dyn ValueReader,
    ) -> Result<(), ValueError> {
        let ty = self.catalog.types[place as usize].state.expect("a state resource");
        let block = (ty.read)(from)?;
        drop(self.slots[place as usize].put(Value::State(block)));
        Ok(())
    }
}

/// State resources that were replaced.
#[must_use = "dropping them is user code"]
pub(crate) struct ReplacedResources(Vec<Value>);

impl ReplacedResources {
    /// Drops the values one by one.
    pub(crate) fn release(self, panics: &mut FirstPanic) {
        for value in self.0 {
            panics.during(|| drop(value));
        }
    }
}

/// Drops all values in the order of their indices. If several drops panic, the first panic continues.
impl Drop for Resources {
    fn drop(&mut self) {
        let mut panics = FirstPanic::default();
        for slot in &mut self.slots {
            let value = slot.put(Value::Absent);
            panics.during(|| value.release());
        }
        panics.go_on();
    }
}

impl fmt::Debug for Resources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let there = self
            .catalog
            .types
            .iter()
            .zip(&self.slots)
            .filter(|(_, slot)| slot.address.get().is_some());
        f.debug_list().entries(there.map(|(ty, _)| ty.name)).finish()
    }
}

impl World {
    /// Inserts a resource, a value that exists once per world. Systems take it as [`Res`](crate::Res) or [`ResMut`](crate::ResMut).
    /// Returns the old value.
    ///
    /// A value that replaces another one counts as changed, and not as added.
    ///
    /// # Panics
    ///
    /// Panics with A0180 if the world has seen another state resource with the same stable name.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Resource, World};
    ///
    /// #[derive(Resource, Clone, Debug, PartialEq)]
    /// struct Gravity(f32);
    ///
    /// let mut world = World::new("Simulation");
    /// assert_eq!(world.insert_resource(Gravity(9.8)), None);
    /// world.resource_mut::<Gravity>().0 = 1.6;
    /// assert_eq!(world.remove_resource(), Some(Gravity(1.6)));
    /// assert!(world.get_resource::<Gravity>().is_none());
    /// ```
    #[doc(alias = "init_resource")]
    #[track_caller]
    pub fn insert_resource<T: Resource>(&mut self, value: T) -> Option<T> {
        match self.resources.insert(value, self.entities.storage.version) {
            Ok(old) => old,
            Err(message) => panic!("{message}"),
        }
    }

    /// Removes a resource. Returns its value, or `None` if the world does not have it.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Resource, World};
    ///
    /// #[derive(Resource, Clone)]
    /// struct Recording(Vec<u8>);
    ///
    /// let mut world = World::new("Simulation");
    /// world.insert_resource(Recording(vec![1, 2, 3]));
    /// let bytes = world.remove_resource::<Recording>().map(|recording| recording.0);
    /// assert_eq!(bytes, Some(vec![1, 2, 3]));
    /// assert!(world.remove_resource::<Recording>().is_none());
    /// ```
    pub fn remove_resource<T: Resource>(&mut self) -> Option<T> {
        self.resources.remove(self.entities.storage.version)
    }

    /// Tests whether the world has a resource of this type.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Resource, World};
    ///
    /// #[derive(Resource, Clone)]
    /// struct Gravity(f32);
    ///
    /// let mut world = World::new("Simulation");
    /// assert!(!world.has_resource::<Gravity>());
    /// world.insert_resource(Gravity(9.8));
    /// assert!(world.has_resource::<Gravity>());
    /// ```
    pub fn has_resource<T: Resource>(&self) -> bool {
        self.resources.slot_of::<T>().is_some_and(|slot| slot.address.get().is_some())
    }

    /// Returns a shared reference to a resource.
    ///
    /// # Panics
    ///
    /// Panics with A0103 if the world does not have the resource. [`get_resource`](Self::get_resource) returns `None` instead.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Resource, World};
    ///
    /// #[derive(Resource, Clone)]
    /// struct Gravity(f32);
    ///
    /// let mut world = World::new("Simulation");
    /// world.insert_resource(Gravity(1.6));
    /// assert_eq!(world.resource::<Gravity>().0, 1.6);
    /// ```
    #[track_caller]
    pub fn resource<T: Resource>(&self) -> &T {
        match self.get_resource() {
            Some(value) => value,
            None => no_such::<T>(self),
        }
    }

    /// Returns a mutable reference to a resource, which counts as changed.
    ///
    /// # Panics
    ///
    /// Panics with A0103 if the world does not have the resource. [`get_resource_mut`](Self::get_resource_mut) returns `None`
    /// instead.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Resource, World};
    ///
    /// #[derive(Resource, Clone)]
    /// struct Score(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// world.insert_resource(Score(10));
    /// world.resource_mut::<Score>().0 += 5;
    /// assert_eq!(world.resource::<Score>().0, 15);
    /// ```
    #[track_caller]
    pub fn resource_mut<T: Resource>(&mut self) -> &mut T {
        match self.address_of_written::<T>() {
            // SAFETY: the world is borrowed mutably for the lifetime of the reference, so no other reference to the value exists.
            Some(mut value) => unsafe { value.as_mut() },
            None => no_such::<T>(self),
        }
    }

    /// Returns a shared reference to a resource, or `None` if the world does not have it.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Resource, World};
    ///
    /// #[derive(Resource, Clone)]
    /// struct Difficulty(f32);
    ///
    /// let mut world = World::new("Simulation");
    /// let damage = |world: &World| 10.0 * world.get_resource().map_or(1.0, |set: &Difficulty| set.0);
    /// assert_eq!(damage(&world), 10.0);
    /// world.insert_resource(Difficulty(2.5));
    /// assert_eq!(damage(&world), 25.0);
    /// ```
    pub fn get_resource<T: Resource>(&self) -> Option<&T> {
        let value = self.resources.slot_of::<T>()?.address::<T>()?;
        // SAFETY: the world is borrowed for the lifetime of the reference, so the value is not changed or removed.
        Some(unsafe { value.as_ref() })
    }

    /// Returns a mutable reference to a resource, which counts as changed. Returns `None` if the world does not have the resource.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Resource, World};
    ///
    /// #[derive(Resource, Clone)]
    /// struct Log(Vec<&'static str>);
    ///
    /// let mut world = World::new("Simulation");
    /// assert!(world.get_resource_mut::<Log>().is_none());
    /// world.insert_resource(Log(Vec::new()));
    /// if let Some(log) = world.get_resource_mut::<Log>() {
    ///     log.0.push("started");
    /// }
    /// assert_eq!(world.resource::<Log>().0, ["started"]);
    /// ```
    pub fn get_resource_mut<T: Resource>(&mut self) -> Option<&mut T> {
        // SAFETY: the world is borrowed mutably for the lifetime of the reference, so no other reference to the value exists.
        self.address_of_written::<T>().map(|mut value| unsafe { value.as_mut() })
    }

    /// Returns the address of a resource that is about to be written, if the world has it.
    fn address_of_written<T: Resource>(&mut self) -> Option<NonNull<T>> {
        let slot = self.resources.slot_of::<T>()?;
        let address = slot.address_mut::<T>()?;
        slot.changed.set(self.entities.storage.version);
        Some(address)
    }
}

#[cold]
#[track_caller]
fn no_such<T>(world: &World) -> ! {
    let (name, resource) = (world.name(), type_name::<T>());
    panic!(
        "A0103: world `{name}` has no resource `{resource}`; insert it with `insert_resource`, or use `get_resource`"
    );
}
