//! What can be a managed component.

use std::any::{TypeId, type_name};
use std::num::NonZero;

use super::{Managed, column};
use crate::component::{ComponentType, Duplicate, Initial, TypeSlot, WriteGroup, registry};
use crate::field::Field;

/// A component that one thread uses at a time: any type that may be sent to another, and need not be shared with it.
///
/// It is for what does not belong into jobs: handles of windows and sounds, caches in a `Cell`, trait objects, state of
/// libraries. Each value has a box of its own, and its entity has the address, of 8 bytes, in the chunk. It is never
/// given to jobs, and no two worlds ever share one. What jobs work on is a [`Component`](crate::Component).
/// Unity's managed `IComponentData`.
///
/// - As a part of entities it is a [`Managed<T>`](Managed): it is given to `spawn`, `add` and `set`, and returned by `take`.
///   `has::<Managed<T>>` and `remove::<Managed<T>>` work as for every component.
/// - The value of an entity is read with [`managed`](crate::EntityManager::managed), and changed with
///   [`managed_mut`](crate::EntityManager::managed_mut).
///
/// It is dropped once, when it is removed or replaced, or with its entity or world. Instances get clones, in which
/// references to the entity lead to the instance. A world with managed components can be [forked](crate::World::fork) if
/// they can be cloned, and the fork has its own from the beginning.
///
/// The derive implements [`Field`] too, and finds out how values are [duplicated](Self::duplicate) and whether there is an
/// [initial](Self::initial) one. What is not a `Field` is marked `#[field(opaque)]`. Its options are
/// `#[managed(name = "…", enableable, cleanup, track_changes, write_group(…))]`.
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
    /// The name of the type in messages: by default its path. The component is called `Managed<name>` there.
    ///
    /// A name that is set, by `#[managed(name = "…")]`, is also the [stable name](ComponentType::stable_name).
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

    /// Whether values can be switched off and on, entity by entity: `#[managed(enableable)]`. As for
    /// [components](crate::Component::ENABLEABLE).
    const ENABLEABLE: bool = false;

    /// Whether the component stays when its entity is despawned: `#[managed(cleanup)]`. As for
    /// [components](crate::Component::CLEANUP).
    const CLEANUP: bool = false;

    /// Whether it is noted for each entity when its value was written, and not only for each chunk: `#[managed(track_changes)]`.
    /// As for [components](crate::Component::TRACK_CHANGES).
    const TRACK_CHANGES: bool = false;

    /// The components whose write groups the component is in: `#[managed(write_group(…))]`. As for
    /// [components](crate::Component::WRITE_GROUPS).
    const WRITE_GROUPS: &'static [WriteGroup] = &[];

    /// How many entities a chunk with the component has room for at most: `#[managed(maximum_chunk_capacity = 16)]`. As for
    /// [components](crate::Component::MAXIMUM_CHUNK_CAPACITY).
    const MAXIMUM_CHUNK_CAPACITY: Option<NonZero<u32>> = None;

    /// Where the type remembers what its managed component was registered as.
    #[doc(hidden)]
    fn slot() -> Option<&'static TypeSlot<Managed<Self>>> {
        None
    }
}

impl ComponentType {
    /// The managed component `T`, which is registered the first time.
    ///
    /// It is another type than the component `T`, if there is one.
    ///
    /// # Panics
    ///
    /// With A0062 if another type has its name.
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
    pub fn of_managed<T: ManagedComponent>() -> Self {
        Self(match T::slot() {
            Some(slot) => slot.get().unwrap_or_else(|| {
                let info = registry::register(TypeId::of::<Managed<T>>(), column::info::<T>);
                slot.set(info);
                info
            }),
            None => registry::find_or_register(TypeId::of::<Managed<T>>(), column::info::<T>),
        })
    }
}
