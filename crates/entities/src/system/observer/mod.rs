//! Observers: function systems that receive lifecycle events.
//!
//! ```text
//! structural changes ──> lifecycle log ──> delivery point: each observer runs once, with all its events
//!                              ^                  │
//!                              └── next round <── commands of observers
//! ```

mod deliver;
mod old_value;
mod on;
mod removed;

use std::marker::PhantomData;

pub use old_value::OldValue;
pub use on::{Event, Events, On, OnState};
pub use removed::{Removed, RemovedState};

use crate::component::ComponentType;
use crate::set::ComponentSet;
use crate::storage::EventKind;
use crate::world::EventType;

/// A lifecycle event that an observer receives with [`On`].
///
/// | event | raised when |
/// |---|---|
/// | [`Add<T>`](Add) | an entity gets the component |
/// | [`Remove<T>`](Remove) | an entity loses the component: it is removed, or the entity is despawned or moved to another world |
/// | [`Replace<T>`](Replace) | the value is overwritten by `set` or `add`, or the component is removed and added again |
/// | [`Insert<T>`](Insert) | `Add` or `Replace` |
/// | [`Enable<T>`](Enable), [`Disable<T>`](Disable) | the enabled bit changes |
/// | [`Despawn`] | an entity is despawned |
/// | [`Replaced`] | all entities are replaced by those of a snapshot |
///
/// `T` is a component, a wrapper such as [`Shared<T>`](crate::Shared), or a tuple of these, which means any of them. Writes through
/// `&mut T` raise no events: see [`Changed`](crate::Changed).
///
/// This trait is sealed: it cannot be implemented outside of this crate.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an event",
    label = "not an event",
    note = "events are `Add<T>`, `Remove<T>`, `Replace<T>`, `Insert<T>`, `Enable<T>`, `Disable<T>`, `Despawn` and `Replaced`; `T` is a \
            component or a tuple of components"
)]
pub trait LifecycleEvent: Sized + 'static {
    /// Calls a function with each type, and the bits of the kinds of events.
    #[doc(hidden)]
    fn each(each: &mut dyn FnMut(EventType, u8));
}

/// A [`LifecycleEvent`] whose old values can be requested: `V` is [`Value`], or `()` for no values.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no old values",
    label = "no old values",
    note = "`Remove<T>` and `Replace<T>` have old values, if `T` is one component and not a tuple"
)]
pub trait EventWith<V>: LifecycleEvent {
    /// Set if old values are moved to the events instead of dropped.
    #[doc(hidden)]
    const TAKES_VALUES: bool;
}

impl<E: LifecycleEvent> EventWith<()> for E {
    const TAKES_VALUES: bool = false;
}

/// Marker that requests old values in [`On`]: `On<Remove<T>, Value>`, `On<Replace<T>, Value>`.
///
/// Old values are moved to the events instead of dropped, and dropped after the observers have run. `T` is a component, or a wrapper
/// such as [`Managed<T>`](crate::Managed). See [`OldValue`]. Events with values stay on the thread of the observer, because managed
/// components need not be `Sync`:
///
/// ```compile_fail,E0277
/// use ancho_entities::{ManagedComponent, Managed, On, Remove, Value};
///
/// #[derive(ManagedComponent)]
/// struct Voice(#[field(opaque)] std::cell::Cell<u32>);
///
/// fn require_send<T: Send>() {}
/// require_send::<On<Remove<Managed<Voice>>, Value>>();
/// ```
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, On, Remove, ResMut, Resource, Value, World};
///
/// #[derive(Component)]
/// struct Gold(u32);
///
/// #[derive(Resource, Clone)]
/// struct Treasury(u32);
///
/// let mut world = World::new("Simulation");
/// world.insert_resource(Treasury(0));
/// world.add_observer(|lost: On<Remove<Gold>, Value>, mut treasury: ResMut<Treasury>| {
///     treasury.0 += lost.iter().filter_map(|event| event.value()).map(|gold| gold.0).sum::<u32>();
/// });
/// let dragon = world.spawn(Gold(500));
/// world.despawn(dragon)?;
/// assert_eq!(world.resource::<Treasury>().0, 500);
/// # Ok::<(), ancho_entities::EntityError>(())
/// ```
#[derive(Debug)]
pub struct Value(
    /// Makes events with values neither `Send` nor `Sync`.
    PhantomData<*const ()>,
);

impl<T: OldValue> EventWith<Value> for Remove<T> {
    const TAKES_VALUES: bool = true;
}

impl<T: OldValue> EventWith<Value> for Replace<T> {
    const TAKES_VALUES: bool = true;
}

/// Defines an event of component types.
macro_rules! events {
    ($($(#[$doc:meta])* $name:ident: $($kind:ident)|+;)+) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name<T>(PhantomData<fn() -> T>);

        impl<T: ComponentSet> LifecycleEvent for $name<T> {
            fn each(each: &mut dyn FnMut(EventType, u8)) {
                T::types(&mut |ty| each(EventType::Component(ty), $(EventKind::$kind.bit())|+));
            }
        }
    )+};
}

events! {
    /// Event: an entity that lacked the component now has it. See [`LifecycleEvent`].
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Add, Component, On, ResMut, Resource, World};
    ///
    /// #[derive(Component, Clone)]
    /// struct Orc;
    ///
    /// #[derive(Resource, Clone)]
    /// struct Orcs(usize);
    ///
    /// let mut world = World::new("Simulation");
    /// world.insert_resource(Orcs(0));
    /// world.add_observer(|added: On<Add<Orc>>, mut orcs: ResMut<Orcs>| orcs.0 += added.len());
    /// world.spawn_many(Orc, 30);
    /// assert_eq!(world.resource::<Orcs>().0, 30);
    /// ```
    #[doc(alias = "OnAdd")]
    Add: Add;
    /// Event: an entity that had the component now lacks it. See [`LifecycleEvent`].
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, On, Remove, RemoveCause, World};
    ///
    /// #[derive(Component)]
    /// struct Sound;
    ///
    /// fn silence(removed: On<Remove<Sound>>) {
    ///     assert_eq!(removed.iter().next().unwrap().cause(), RemoveCause::Despawned);
    /// }
    ///
    /// let mut world = World::new("Simulation");
    /// world.add_observer(silence);
    /// let orc = world.spawn(Sound);
    /// world.despawn(orc)?;
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    #[doc(alias = "OnRemove")]
    Remove: Remove;
    /// Event: the component of an entity was overwritten by `set` or `add`, or removed and added again. See [`LifecycleEvent`].
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, On, Replace, Value, World};
    ///
    /// #[derive(Component)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// world.add_observer(|replaced: On<Replace<Health>, Value>| {
    ///     assert_eq!(replaced.iter().next().unwrap().value().unwrap().0, 20);
    /// });
    /// let orc = world.spawn(Health(20));
    /// world.set(orc, Health(5)).unwrap();
    /// ```
    #[doc(alias = "OnReplace")]
    #[doc(alias = "Discard")]
    Replace: Replace;
    /// Event: the component of an entity was added or replaced. See [`LifecycleEvent`].
    #[doc(alias = "OnInsert")]
    Insert: Add | Replace;
    /// Event: the component of an entity was enabled since the last [command point](crate::CommandPoint).
    ///
    /// Enabled bits are compared at command points, which wait for jobs that write them. A component that was disabled and enabled
    /// in between raises no event. See [`LifecycleEvent`].
    Enable: Enable;
    /// Event: the component of an entity was disabled since the last [command point](crate::CommandPoint). See [`Enable`].
    Disable: Disable;
}

/// Event: an entity was despawned. Raised once, even if cleanup components keep the entity. See [`LifecycleEvent`].
///
/// # Examples
///
/// ```
/// use ancho_entities::{Despawn, On, ResMut, Resource, World};
///
/// #[derive(Resource, Clone)]
/// struct Graves(usize);
///
/// let mut world = World::new("Simulation");
/// world.insert_resource(Graves(0));
/// world.add_observer(|gone: On<Despawn>, mut graves: ResMut<Graves>| graves.0 += gone.len());
/// let orc = world.spawn(());
/// world.despawn(orc)?;
/// assert_eq!(world.resource::<Graves>().0, 1);
/// # Ok::<(), ancho_entities::EntityError>(())
/// ```
#[derive(Debug)]
pub struct Despawn;

impl LifecycleEvent for Despawn {
    fn each(each: &mut dyn FnMut(EventType, u8)) {
        each(EventType::Despawn, EventKind::Remove.bit());
    }
}

/// Event: all entities of the world were replaced, by [`World::restore`](crate::World::restore) or
/// [`copy_and_replace_from`](crate::EntityManager::copy_and_replace_from). No other events are raised then.
///
/// Observers that mirror entities elsewhere use it to begin again. [`EntityTracker`](crate::EntityTracker) finds the entities that
/// differ.
#[derive(Debug)]
pub struct Replaced;

impl LifecycleEvent for Replaced {
    fn each(each: &mut dyn FnMut(EventType, u8)) {
        each(EventType::Replaced, 0);
    }
}

/// Returns the name of a type, for errors.
fn name_of(ty: Option<ComponentType>) -> &'static str {
    ty.map_or("Despawn", |ty| ty.name())
}
