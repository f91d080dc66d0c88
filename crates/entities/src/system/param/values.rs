//! Parameters that dereference to a value: [`Res`], [`ResMut`], [`Single`], [`Local`], [`SystemData`] and [`UpdateAllocator`].

use std::any::type_name;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use ancho_collections::Allocator;

use crate::query::{QueryData, QueryFilter};
use crate::system::system::System;
use crate::version::Version;
use crate::world::{BorrowedResource, Resource};

/// Shared access to a resource: a value that exists once per world.
///
/// If the world does not have the resource, the system does not run, and the update reports A0103. An `Option<Res<T>>` is
/// `None` instead.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, Query, Res, Resource, World};
///
/// #[derive(Component, Clone, Copy)]
/// struct Velocity(f32);
///
/// #[derive(Resource, Clone)]
/// struct Gravity(f32);
///
/// fn fall(gravity: Res<Gravity>, mut all: Query<&mut Velocity>) {
///     all.for_each(|velocity| velocity.0 -= gravity.0);
/// }
///
/// let mut world = World::new("Simulation");
/// let stone = world.spawn(Velocity(0.0));
/// world.insert_resource(Gravity(9.8));
/// world.add_system(fall);
/// world.update(0.1);
/// assert_eq!(world.get::<Velocity>(stone).unwrap().0, -9.8);
/// ```
pub struct Res<'w, T: Resource> {
    pub(super) value: &'w T,
    pub(super) is_changed: bool,
    pub(super) is_added: bool,
}

/// Exclusive access to a resource. See [`Res`].
///
/// The resource counts as changed when it is borrowed mutably, whether or not it is written. [`set_if_neq`](Self::set_if_neq) and
/// [`bypass`](Self::bypass) avoid that. After a [fork](crate::World::fork), the first mutable borrow of a state resource clones the
/// value.
///
/// # Examples
///
/// ```
/// use ancho_entities::{ResMut, Resource, World};
///
/// #[derive(Resource, Clone)]
/// struct Frames(u32);
///
/// fn count(mut frames: ResMut<Frames>) {
///     frames.0 += 1;
/// }
///
/// let mut world = World::new("Simulation");
/// world.insert_resource(Frames(0));
/// world.add_system(count);
/// world.update(0.1);
/// world.update(0.1);
/// assert_eq!(world.resource::<Frames>().0, 2);
/// ```
pub struct ResMut<'w, T: Resource> {
    pub(super) borrowed: BorrowedResource<'w, T>,
    /// The version of the system's last run.
    pub(super) since: Version,
    /// The version of this run.
    pub(super) version: Version,
}

impl<'w, T: Resource> Res<'w, T> {
    /// Returns the resource with the lifetime of the system's run.
    pub fn into_inner(self) -> &'w T {
        self.value
    }

    /// Tests whether the resource was inserted or borrowed mutably since the system last ran.
    ///
    /// In the first run of the system, the resource counts as changed.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Local, Res, ResMut, Resource, World};
    ///
    /// #[derive(Resource, Clone)]
    /// struct Volume(u32);
    ///
    /// #[derive(Resource, Clone)]
    /// struct Applied(u32);
    ///
    /// fn apply(volume: Res<Volume>, mut applied: ResMut<Applied>) {
    ///     if volume.is_changed() {
    ///         applied.0 += 1;
    ///     }
    /// }
    ///
    /// let mut world = World::new("Simulation");
    /// world.insert_resource(Volume(7));
    /// world.insert_resource(Applied(0));
    /// world.add_system(apply);
    /// world.update(0.1);
    /// world.update(0.1);
    /// assert_eq!(world.resource::<Applied>().0, 1);
    /// world.resource_mut::<Volume>().0 = 8;
    /// world.update(0.1);
    /// assert_eq!(world.resource::<Applied>().0, 2);
    /// ```
    #[must_use]
    pub fn is_changed(&self) -> bool {
        self.is_changed
    }

    /// Tests whether the resource was inserted since the system last ran, while the world did not have it.
    ///
    /// In the first run of the system, the resource counts as added.
    #[must_use]
    pub fn is_added(&self) -> bool {
        self.is_added
    }
}

impl<'w, T: Resource> ResMut<'w, T> {
    /// Returns the resource with the lifetime of the system's run. The resource counts as changed.
    pub fn into_inner(self) -> &'w mut T {
        self.borrowed.mark(self.version);
        self.borrowed.into_mut()
    }

    /// Tests whether the resource was inserted or borrowed mutably since the system last ran, or in this run.
    ///
    /// In the first run of the system, the resource counts as changed.
    #[must_use]
    pub fn is_changed(&self) -> bool {
        self.borrowed.is_changed(self.since)
    }

    /// Tests whether the resource was inserted since the system last ran, while the world did not have it.
    ///
    /// In the first run of the system, the resource counts as added.
    #[must_use]
    pub fn is_added(&self) -> bool {
        self.borrowed.is_added(self.since)
    }

    /// Sets the resource, unless the new value equals the old one. Returns whether the value was set. Only then the resource counts
    /// as changed.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{ResMut, Resource, World};
    ///
    /// #[derive(Resource, Clone, PartialEq)]
    /// struct Level(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// world.insert_resource(Level(1));
    /// world.add_system(|mut level: ResMut<Level>| {
    ///     assert!(!level.set_if_neq(Level(1)));
    ///     assert!(level.set_if_neq(Level(2)));
    /// });
    /// world.update(0.1);
    /// ```
    pub fn set_if_neq(&mut self, value: T) -> bool
    where
        T: PartialEq,
    {
        let differs = **self != value;
        if differs {
            **self = value;
        }
        differs
    }

    /// Returns a mutable reference that does not count as a change.
    #[doc(alias = "bypass_change_detection")]
    pub fn bypass(&mut self) -> &mut T {
        self.borrowed.get_mut()
    }
}

/// Parameter that detects that a resource was removed since the system last ran, and not inserted again.
///
/// # Examples
///
/// ```
/// use ancho_entities::{ResMut, Resource, ResourceRemoved, World};
///
/// #[derive(Resource, Clone)]
/// struct Music;
///
/// #[derive(Resource, Clone)]
/// struct Stops(u32);
///
/// let mut world = World::new("Simulation");
/// world.insert_resource(Stops(0));
/// world.insert_resource(Music);
/// world.add_system(|music: ResourceRemoved<Music>, mut stops: ResMut<Stops>| {
///     stops.0 += u32::from(music.was_removed());
/// });
/// world.update(0.1);
/// world.remove_resource::<Music>();
/// world.update(0.1);
/// world.update(0.1);
/// assert_eq!(world.resource::<Stops>().0, 1);
/// ```
pub struct ResourceRemoved<T: Resource> {
    pub(super) was_removed: bool,
    pub(super) resource: PhantomData<fn() -> T>,
}

impl<T: Resource> ResourceRemoved<T> {
    /// Returns whether the resource was removed since the system last ran, and not inserted again.
    #[must_use]
    pub fn was_removed(&self) -> bool {
        self.was_removed
    }
}

impl<T: Resource> fmt::Debug for ResourceRemoved<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ResourceRemoved").field(&self.was_removed).finish()
    }
}

/// Makes the parameter from a value that is in no world, to call a system function in a unit test. It counts as changed.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Res, ResMut, Resource};
///
/// #[derive(Resource, Clone)]
/// struct Price(u32);
///
/// #[derive(Resource, Clone)]
/// struct Money(u32);
///
/// fn pay(price: Res<Price>, mut money: ResMut<Money>) {
///     money.0 -= price.0;
/// }
///
/// let mut money = Money(10);
/// pay(Res::from(&Price(3)), ResMut::from(&mut money));
/// assert_eq!(money.0, 7);
/// ```
impl<'w, T: Resource> From<&'w T> for Res<'w, T> {
    fn from(value: &'w T) -> Self {
        Self { value, is_changed: true, is_added: true }
    }
}

/// Makes the parameter from a value that is in no world, to call a system function in a unit test. It counts as changed.
impl<'w, T: Resource> From<&'w mut T> for ResMut<'w, T> {
    fn from(value: &'w mut T) -> Self {
        let borrowed = BorrowedResource::of_value(value);
        Self { borrowed, since: Version::NEVER, version: Version::NEVER }
    }
}

/// Makes the parameter from a value, to call a system function in a unit test.
impl<'s, T: Default + Send + 'static> From<&'s mut T> for Local<'s, T> {
    fn from(value: &'s mut T) -> Self {
        Self(value)
    }
}

impl<T: Resource> Clone for Res<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Resource> Copy for Res<'_, T> {}

impl<T: Resource> Deref for Res<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.value
    }
}

impl<T: Resource> Deref for ResMut<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.borrowed.get()
    }
}

impl<T: Resource> DerefMut for ResMut<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        self.borrowed.mark(self.version);
        self.borrowed.get_mut()
    }
}

impl<T: Resource + fmt::Debug> fmt::Debug for Res<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Res").field(self.value).finish()
    }
}

impl<T: Resource + fmt::Debug> fmt::Debug for ResMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ResMut").field(&**self).finish()
    }
}

/// The item of the only entity that a query matches: a singleton.
///
/// If no entity matches, or more than one, the system does not run, and the update reports A0104. An `Option<Single<D, F>>` is
/// `None` if no entity matches. To skip the system without an error until the entity exists, use
/// [`require`](crate::IntoSystem::require). This is Unity's `SystemAPI.GetSingleton`.
///
/// In a [`ParamSet`](crate::ParamSet), other members can enable and disable components before the `Single` is fetched. If the
/// number of matches is not 1 by then, fetching it panics with A0136. An `Option<Single<D, F>>` is `None` if no entity matches.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, Query, Single, World};
///
/// #[derive(Component)]
/// struct Score(u32);
///
/// #[derive(Component)]
/// struct Coin(u32);
///
/// fn collect(coins: Query<&Coin>, mut score: Single<&mut Score>) {
///     score.0 += coins.iter().map(|coin| coin.0).sum::<u32>();
/// }
///
/// let mut world = World::new("Simulation");
/// world.spawn(Score(0));
/// world.spawn_batch([Coin(5), Coin(10)]);
/// world.add_system(collect);
/// world.update(0.1);
/// assert_eq!(world.singleton::<Score>().unwrap().0, 15);
/// ```
#[doc(alias = "GetSingleton")]
pub struct Single<'w, D: QueryData, F: QueryFilter = ()> {
    pub(super) item: D::Item<'w>,
    pub(super) filter: PhantomData<fn() -> F>,
}

impl<'w, D: QueryData, F: QueryFilter> Single<'w, D, F> {
    /// Returns the item with the lifetime of the system's run.
    pub fn into_inner(self) -> D::Item<'w> {
        self.item
    }
}

impl<'w, D: QueryData, F: QueryFilter> Deref for Single<'w, D, F> {
    type Target = D::Item<'w>;

    fn deref(&self) -> &D::Item<'w> {
        &self.item
    }
}

impl<D: QueryData, F: QueryFilter> DerefMut for Single<'_, D, F> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.item
    }
}

impl<'w, D: QueryData<Item<'w>: fmt::Debug>, F: QueryFilter> fmt::Debug for Single<'w, D, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Single").field(&self.item).finish()
    }
}

/// A value that a system keeps from one run to the next, and that no other code accesses.
///
/// The initial value is `T::default()`.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Commands, Component, Local, World};
///
/// #[derive(Component)]
/// struct Orc;
///
/// /// Every third frame.
/// fn spawn(mut frame: Local<u32>, mut commands: Commands) {
///     *frame += 1;
///     if *frame % 3 == 0 {
///         commands.spawn(Orc);
///     }
/// }
///
/// let mut world = World::new("Simulation");
/// world.add_system(spawn);
/// for _ in 0..10 {
///     world.update(0.1);
/// }
/// assert_eq!(world.entity_count(), 3);
/// ```
#[derive(Debug)]
pub struct Local<'s, T: Default + Send + 'static>(pub(super) &'s mut T);

impl<T: Default + Send> Deref for Local<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.0
    }
}

impl<T: Default + Send> DerefMut for Local<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        self.0
    }
}

/// Shared access to the fields of a struct system, from another system.
///
/// If the world has no system of this type, or the system is being updated, the reading system does not run, and the update reports
/// A0118.
///
/// # Where to put the data of systems
///
/// A system has no entity. In Unity each system has an entity that is hidden from queries, and other systems look up its components
/// by the system's handle. Here, store data where its readers can access it by type:
///
/// | data of | place | access |
/// |---|---|---|
/// | one function | [`Local<T>`](crate::Local) | the function |
/// | one struct | its fields | `SystemData`, shared; [`World::system`](crate::World::system) and [`World::system_mut`](crate::World::system_mut) |
/// | several systems | a [resource](crate::Resource), which forks copy unless it is local | [`Res<T>`](crate::Res), [`ResMut<T>`](crate::ResMut) |
/// | several systems, and not `Send` | a non-send value | [`NonSend<T>`](crate::NonSend), [`NonSendMut<T>`](crate::NonSendMut) |
/// | the state that queries and tools inspect | a component of one entity | [`Single<D>`](crate::Single), every query |
/// | one or two frames | containers in the [`UpdateAllocator`](crate::UpdateAllocator) | systems that receive them |
///
/// A fork of a world copies entities, including singletons, and state resources. It does not copy systems.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, ResMut, Resource, System, SystemData, SystemResult, World};
///
/// #[derive(Component)]
/// struct Orc;
///
/// #[derive(Default)]
/// struct Census {
///     orcs: usize,
/// }
///
/// impl System for Census {
///     fn on_update(&mut self, world: &mut World) -> SystemResult {
///         self.orcs = world.query::<&Orc>().count();
///         Ok(())
///     }
/// }
///
/// #[derive(Resource, Clone)]
/// struct Report(String);
///
/// fn report(census: SystemData<Census>, mut report: ResMut<Report>) {
///     report.0 = format!("{} orcs", census.orcs);
/// }
///
/// let mut world = World::new("Simulation");
/// world.insert_resource(Report(String::new()));
/// world.spawn(Orc);
/// world.add_system(Census::default());
/// world.add_system(report);
/// world.update(0.1);
/// assert_eq!(world.resource::<Report>().0, "1 orcs");
/// ```
///
/// The same data as a resource, which several systems can write, and as a singleton, which queries see:
///
/// ```
/// use ancho_entities::{Component, Local, ResMut, Resource, Single, World};
///
/// #[derive(Resource, Clone, Default)]
/// struct Weather {
///     rain: f32,
/// }
///
/// #[derive(Component, Clone, Copy, Debug, PartialEq)]
/// struct Score(u32);
///
/// fn rain(mut weather: ResMut<Weather>, mut clouds: Local<f32>) {
///     *clouds += 0.5;
///     weather.rain += *clouds;
/// }
///
/// fn count(mut score: Single<&mut Score>) {
///     score.0 += 1;
/// }
///
/// let mut world = World::new("Simulation");
/// world.insert_resource(Weather::default());
/// world.create_singleton(Score(0)).unwrap();
/// world.add_system(rain);
/// world.add_system(count);
/// world.update(0.1);
/// world.update(0.1);
/// assert_eq!(world.resource::<Weather>().rain, 1.5);
/// assert_eq!(world.fork().unwrap().singleton(), Ok(&Score(2)));
/// ```
pub struct SystemData<'w, S: System> {
    pub(super) system: &'w S,
}

impl<S: System> Deref for SystemData<'_, S> {
    type Target = S;

    fn deref(&self) -> &S {
        self.system
    }
}

impl<S: System> fmt::Debug for SystemData<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SystemData<{}>", type_name::<S>())
    }
}

/// An allocator whose memory lives until the end of the next update. See
/// [`World::update_allocator`](crate::World::update_allocator).
///
/// # Examples
///
/// ```
/// use ancho_collections::NativeList;
/// use ancho_entities::{Component, Entity, Query, ResMut, Resource, UpdateAllocator, World};
///
/// #[derive(Component)]
/// struct Health(u32);
///
/// #[derive(Resource, Default)]
/// #[resource(local)]
/// struct Dead(Option<NativeList<Entity>>);
///
/// fn find(all: Query<(Entity, &Health)>, memory: UpdateAllocator, mut dead: ResMut<Dead>) {
///     let mut list = NativeList::new_in(&memory);
///     for (entity, health) in &all {
///         if health.0 == 0 {
///             list.get_mut().unwrap().push(entity);
///         }
///     }
///     dead.0 = Some(list);
/// }
///
/// let mut world = World::new("Simulation");
/// world.insert_resource(Dead::default());
/// world.spawn(Health(0));
/// world.add_system(find);
/// world.update(0.1);
/// assert_eq!(world.resource::<Dead>().0.as_ref().unwrap().get().unwrap().len(), 1);
/// ```
#[derive(Debug)]
#[doc(alias = "WorldUpdateAllocator")]
pub struct UpdateAllocator(pub(super) Allocator);

impl Deref for UpdateAllocator {
    type Target = Allocator;

    fn deref(&self) -> &Allocator {
        &self.0
    }
}
