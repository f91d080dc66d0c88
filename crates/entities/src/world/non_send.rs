//! Non-send values: values of a world that are not `Send`, and stay on the thread that inserted them.

use std::any::{TypeId, type_name};
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::rc::Rc;

use super::World;
use super::thread_bound::{self, Inaccessible, ThreadBound, current_thread_name};
use crate::panics::FirstPanic;
use crate::schedule::SystemFault;

/// Shared access to a non-send value, as a parameter of a system or from [`World::non_send`].
///
/// A non-send value is a value that need not be `Send`, such as a window or a script interpreter. It belongs to the thread that
/// [inserted](World::insert_non_send) it. Systems run on the thread that calls [`update`](World::update), so that thread must be
/// the same one. Otherwise the system does not run, and the update reports A0167.
///
/// If the world does not have the value, the system does not run, and the update reports A0166. An `Option<NonSend<T>>` is `None`
/// instead.
///
/// # Examples
///
/// ```
/// use std::rc::Rc;
///
/// use ancho_entities::{NonSend, ResMut, Resource, World};
///
/// struct Window(Rc<str>);
///
/// #[derive(Resource, Clone)]
/// struct Title(String);
///
/// fn show(window: NonSend<Window>, mut title: ResMut<Title>) {
///     title.0 = window.0.to_string();
/// }
///
/// let mut world = World::new("Game");
/// world.insert_non_send(Window("Orcs".into()));
/// world.insert_resource(Title(String::new()));
/// world.add_system(show);
/// world.update(0.1);
/// assert_eq!(world.resource::<Title>().0, "Orcs");
/// ```
pub struct NonSend<'w, T: 'static> {
    /// Keeps the value alive at the end of the thread, if the arena is destroyed before the guard.
    value: Rc<T>,
    /// The borrow of the world. It does not name the type `World`, because the compiler would list all its fields if a guard is sent
    /// to another thread.
    world: PhantomData<&'w ()>,
}

/// Exclusive access to a non-send value, as a parameter of a system or from [`World::non_send_mut`]. See [`NonSend`].
///
/// # Examples
///
/// ```
/// use std::rc::Rc;
///
/// use ancho_entities::{NonSendMut, World};
///
/// struct Script {
///     lines: Rc<[&'static str]>,
///     next: usize,
/// }
///
/// fn step(mut script: NonSendMut<Script>) {
///     script.next = (script.next + 1) % script.lines.len();
/// }
///
/// let mut world = World::new("Game");
/// world.insert_non_send(Script { lines: ["walk", "jump"].into(), next: 0 });
/// world.add_system(step);
/// world.update(0.1);
/// assert_eq!(world.non_send::<Script>().next, 1);
/// ```
pub struct NonSendMut<'w, T: 'static> {
    /// The value, which is not in its slot while this guard exists. `None` only in `drop`.
    value: Option<Rc<T>>,
    id: u64,
    /// The borrow of the world. It makes `T` invariant, because a subtype of `T` has another `TypeId`.
    world: PhantomData<&'w mut T>,
}

impl<T> NonSend<'_, T> {
    /// Borrows the value with an id from [`NonSendValues::find`]. Returns `None` if this thread does not have it.
    pub(crate) fn new(id: u64) -> Option<Self> {
        Some(Self { value: thread_bound::read(id)?, world: PhantomData })
    }
}

impl<T> NonSendMut<'_, T> {
    /// Borrows the value with an id from [`NonSendValues::find`]. Returns `None` if this thread does not have it, or if another
    /// guard of it exists.
    pub(crate) fn new(id: u64) -> Option<Self> {
        Some(Self { value: Some(thread_bound::take(id)?), id, world: PhantomData })
    }
}

impl<T> Deref for NonSend<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> Deref for NonSendMut<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.value.as_ref().expect("only `drop` takes it")
    }
}

impl<T> DerefMut for NonSendMut<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        self.value.as_mut().and_then(Rc::get_mut).expect("it was taken unshared")
    }
}

/// Makes dropping the guard a use of the borrowed world. Otherwise the world could be borrowed again, mutably, while the guard
/// exists.
impl<T> Drop for NonSend<'_, T> {
    fn drop(&mut self) {}
}

impl<T> Drop for NonSendMut<'_, T> {
    fn drop(&mut self) {
        if let Some(value) = self.value.take() {
            thread_bound::put_back(self.id, value);
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for NonSend<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("NonSend").field(&**self).finish()
    }
}

impl<T: fmt::Debug> fmt::Debug for NonSendMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("NonSendMut").field(&**self).finish()
    }
}

/// The owners of a world's non-send values, in the order of insertion.
#[derive(Default)]
pub(crate) struct NonSendValues(Vec<(TypeId, ThreadBound)>);

impl NonSendValues {
    /// Finds a value for shared or exclusive access. Returns its id, which is valid until the value is removed.
    pub(crate) fn find<T: 'static>(&self, exclusive: bool) -> Result<u64, SystemFault> {
        let value = type_name::<T>();
        let Some(at) = self.position::<T>() else {
            return Err(SystemFault::NoNonSend { value, ended: None });
        };
        self.0[at].1.find(exclusive).map_err(|error| match error {
            Inaccessible::OtherThread { home } => {
                SystemFault::OtherThread { value, home, current: current_thread_name() }
            }
            Inaccessible::ThreadEnded { home } => {
                SystemFault::NoNonSend { value, ended: Some(home) }
            }
            Inaccessible::Leaked => SystemFault::LeakedNonSend { value },
        })
    }

    fn position<T: 'static>(&self) -> Option<usize> {
        self.0.iter().position(|(ty, _)| *ty == TypeId::of::<T>())
    }

    fn insert<T: 'static>(&mut self, value: T) -> Option<T> {
        let old = self.remove();
        if let Some(owner) = ThreadBound::new(Rc::new(value)) {
            self.0.push((TypeId::of::<T>(), owner));
        }
        old
    }

    fn remove<T: 'static>(&mut self) -> Option<T> {
        let (_, owner) = self.0.remove(self.position::<T>()?);
        // If a leaked guard shares the value, it is lost.
        owner.into_value()?.downcast().ok().and_then(Rc::into_inner)
    }
}

/// Drops all values of this thread. Other threads drop theirs. If several drops panic, the first panic continues.
impl Drop for NonSendValues {
    fn drop(&mut self) {
        if self.0.is_empty() {
            return;
        }
        let mut panics = FirstPanic::default();
        for owner in self.0.drain(..) {
            panics.during(|| drop(owner));
        }
        panics.go_on();
    }
}

/// Non-send values: values that need not be `Send`, such as windows, audio devices and script interpreters.
///
/// A world stays `Send`, because worlds are loaded on other threads, moved to them, and dropped by jobs. So a non-send value is not
/// stored in the world. It is stored on the thread that inserted it, its home thread, and the world has its id. On another thread,
/// the world behaves as if it did not have the value, and errors name the home thread.
///
/// - **Drop**: a world that is dropped on the home thread drops its values after its resources. If it is dropped on another thread,
///   the home thread drops them the next time that it accesses a non-send value, or when it ends. Values that remain when the
///   thread ends are dropped then, even if the world still exists.
/// - **Copies**: a value belongs to one world. [Forks](World::fork), hashes and files do not have it, and
///   [`restore`](World::restore) does not change it.
impl World {
    /// Inserts a non-send value of which the world has one per type. Systems take it as [`NonSend`] or [`NonSendMut`]. The current
    /// thread becomes the home thread of the value.
    ///
    /// Returns the old value. If the old value belongs to another thread, that thread drops it, and the result is `None`.
    ///
    /// If the thread is ending, and has already dropped its non-send values, the new value is dropped too.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::rc::Rc;
    /// use std::thread;
    ///
    /// use ancho_entities::World;
    ///
    /// let mut world = World::new("Game");
    /// assert_eq!(world.insert_non_send(Rc::new(1)), None);
    /// assert_eq!(world.insert_non_send(Rc::new(2)), Some(Rc::new(1)));
    /// // The world can be sent to another thread. The value stays.
    /// let world = thread::spawn(move || {
    ///     assert!(!world.has_non_send::<Rc<i32>>());
    ///     world
    /// });
    /// assert!(world.join().unwrap().has_non_send::<Rc<i32>>());
    /// ```
    pub fn insert_non_send<T: 'static>(&mut self, value: T) -> Option<T> {
        self.non_send.insert(value)
    }

    /// Removes a non-send value. Returns the value, or `None` if the world does not have it.
    ///
    /// If the value belongs to another thread, that thread drops it, and the result is `None`.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::rc::Rc;
    ///
    /// use ancho_entities::World;
    ///
    /// let mut world = World::new("Game");
    /// world.insert_non_send(Rc::new(1));
    /// assert_eq!(world.remove_non_send(), Some(Rc::new(1)));
    /// assert_eq!(world.remove_non_send::<Rc<i32>>(), None);
    /// ```
    pub fn remove_non_send<T: 'static>(&mut self) -> Option<T> {
        self.non_send.remove()
    }

    /// Tests whether the world has a non-send value of this type that belongs to the current thread.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::rc::Rc;
    ///
    /// use ancho_entities::World;
    ///
    /// let mut world = World::new("Game");
    /// assert!(!world.has_non_send::<Rc<i32>>());
    /// world.insert_non_send(Rc::new(1));
    /// assert!(world.has_non_send::<Rc<i32>>());
    /// assert!(!world.fork().unwrap().has_non_send::<Rc<i32>>());
    /// ```
    pub fn has_non_send<T: 'static>(&self) -> bool {
        self.non_send.find::<T>(false).is_ok()
    }

    /// Returns a guard with shared access to a non-send value.
    ///
    /// # Panics
    ///
    /// With A0166 if the world does not have the value, with A0167 if the value belongs to another thread, and with A0168 if a
    /// [`NonSendMut`] was leaked. [`get_non_send`](Self::get_non_send) returns `None` instead.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::cell::Cell;
    /// use std::rc::Rc;
    ///
    /// use ancho_entities::World;
    ///
    /// struct Device(Rc<Cell<u32>>);
    ///
    /// let mut world = World::new("Game");
    /// world.insert_non_send(Device(Rc::default()));
    /// world.non_send::<Device>().0.set(7);
    /// assert_eq!(world.non_send::<Device>().0.get(), 7);
    /// ```
    #[track_caller]
    pub fn non_send<T: 'static>(&self) -> NonSend<'_, T> {
        match self.non_send.find::<T>(false) {
            Ok(id) => NonSend::new(id).expect("it was found"),
            Err(fault) => self.refuse_non_send("non_send", &fault),
        }
    }

    /// Returns a guard with exclusive access to a non-send value.
    ///
    /// # Panics
    ///
    /// With A0166 if the world does not have the value, with A0167 if the value belongs to another thread, and with A0168 if a
    /// guard of the value was leaked. [`get_non_send_mut`](Self::get_non_send_mut) returns `None` instead.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::rc::Rc;
    ///
    /// use ancho_entities::World;
    ///
    /// let mut world = World::new("Game");
    /// world.insert_non_send(Rc::new(1));
    /// *world.non_send_mut::<Rc<i32>>() = Rc::new(2);
    /// assert_eq!(**world.non_send::<Rc<i32>>(), 2);
    /// ```
    #[track_caller]
    pub fn non_send_mut<T: 'static>(&mut self) -> NonSendMut<'_, T> {
        match self.non_send.find::<T>(true) {
            Ok(id) => NonSendMut::new(id).expect("it was found"),
            Err(fault) => self.refuse_non_send("non_send_mut", &fault),
        }
    }

    /// Returns a guard with shared access to a non-send value, or `None` if the world does not have it on the current thread.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::rc::Rc;
    ///
    /// use ancho_entities::World;
    ///
    /// let mut world = World::new("Game");
    /// assert!(world.get_non_send::<Rc<i32>>().is_none());
    /// world.insert_non_send(Rc::new(1));
    /// assert_eq!(world.get_non_send::<Rc<i32>>().map(|number| **number), Some(1));
    /// ```
    pub fn get_non_send<T: 'static>(&self) -> Option<NonSend<'_, T>> {
        NonSend::new(self.non_send.find::<T>(false).ok()?)
    }

    /// Returns a guard with exclusive access to a non-send value, or `None` if the world does not have it on the current thread.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::rc::Rc;
    ///
    /// use ancho_entities::World;
    ///
    /// let mut world = World::new("Game");
    /// world.insert_non_send(Rc::new(1));
    /// if let Some(mut number) = world.get_non_send_mut::<Rc<i32>>() {
    ///     *number = Rc::new(2);
    /// }
    /// assert_eq!(world.remove_non_send(), Some(Rc::new(2)));
    /// ```
    pub fn get_non_send_mut<T: 'static>(&mut self) -> Option<NonSendMut<'_, T>> {
        NonSendMut::new(self.non_send.find::<T>(true).ok()?)
    }

    #[cold]
    #[track_caller]
    fn refuse_non_send(&self, method: &str, fault: &SystemFault) -> ! {
        let refused = format!("`{method}` of world `{}` failed", self.name());
        panic!("{}", fault.non_send_message(&refused).expect("it is about a non-send value"));
    }
}
