//! Values that are not `Send`, in worlds that change their thread.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::rc::Rc;
use std::sync::{Arc, Mutex, mpsc};
use std::thread::{self, ThreadId};

use ancho_entities::{IntoSystem, NonSend, NonSendMut, ResMut, SystemFault, World};
use ancho_jobs::{JobPool, JobScheduler};

use crate::fixtures::{Wrapped, panic_message};

/// The names of dropped values, and whether each was dropped on its home thread.
#[derive(Clone, Default)]
struct Drops(Arc<Mutex<Vec<(String, bool)>>>);

impl Drops {
    fn take(&self) -> Vec<(String, bool)> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }

    /// Returns the names, if each value was dropped at home.
    #[track_caller]
    fn names(&self) -> Vec<String> {
        let drops = self.take();
        assert!(drops.iter().all(|(_, at_home)| *at_home), "{drops:?}");
        drops.into_iter().map(|(name, _)| name).collect()
    }
}

/// A value that is neither `Send` nor `Sync`, and records its drop. `N` distinguishes types.
struct Window<const N: usize> {
    name: String,
    home: ThreadId,
    drops: Drops,
    not_send: PhantomData<Rc<()>>,
}

fn window<const N: usize>(name: impl Into<String>, drops: &Drops) -> Window<N> {
    let (home, drops) = (thread::current().id(), drops.clone());
    Window { name: name.into(), home, drops, not_send: PhantomData }
}

impl<const N: usize> Drop for Window<N> {
    fn drop(&mut self) {
        let at_home = thread::current().id() == self.home;
        self.drops.0.lock().unwrap().push((std::mem::take(&mut self.name), at_home));
    }
}

/// Runs a function on a thread with a name, and waits for it.
fn on<R: Send + 'static>(name: &str, function: impl FnOnce() -> R + Send + 'static) -> R {
    thread::Builder::new().name(name.into()).spawn(function).unwrap().join().unwrap()
}

#[test]
fn a0167_an_update_on_another_thread_does_not_run_the_system() {
    on("home", || {
        let drops = Drops::default();
        let mut world = World::new("Game");
        world.insert_resource(Wrapped(Vec::<String>::new()));
        world.insert_non_send(window::<1>("one", &drops));
        let read = |window: NonSend<Window<1>>, mut seen: ResMut<Wrapped<Vec<String>>>| {
            seen.push(window.name.clone());
        };
        world.add_system(read.named("read"));
        world.add_system((|_: NonSendMut<Window<1>>| {}).named("write"));
        world.add_system((|_: Option<NonSend<Window<1>>>| {}).named("read if there"));
        world.add_system(|mut seen: ResMut<Wrapped<Vec<String>>>| seen.push("other".into()));
        world.try_update(0.1).unwrap();
        let mut world = on("worker", || {
            let errors = world.try_update(0.1).unwrap_err();
            let value = "threads::worlds::non_send::Window<1>";
            let expected = ["read", "write", "read if there"].map(|system| {
                format!(
                    "A0167: system `{system}` was not run, because the non-send value `{value}` belongs to thread \
                     `home`, and this is thread `worker`; use the world on thread `home`, or insert the value on this \
                     thread"
                )
            });
            assert_eq!(errors.to_string(), expected.join("\n"));
            for error in errors.iter() {
                let SystemFault::OtherThread { home, current, .. } = error.fault() else {
                    panic!("{error}");
                };
                assert_eq!((&**home, &**current), ("home", "worker"));
            }
            assert!(!world.has_non_send::<Window<1>>());
            assert!(world.get_non_send::<Window<1>>().is_none());
            assert!(world.get_non_send_mut::<Window<1>>().is_none());
            for message in [
                panic_message(|| drop(world.non_send::<Window<1>>())),
                panic_message(|| drop(world.non_send_mut::<Window<1>>())),
            ] {
                assert!(message.starts_with("A0167: `non_send"), "{message}");
                assert!(message.contains(" of world `Game` failed, because "), "{message}");
            }
            world
        });
        world.try_update(0.1).unwrap();
        assert_eq!(
            world.resource::<Wrapped<Vec<String>>>().0,
            ["one", "other", "other", "one", "other"]
        );
        assert_eq!(drops.take(), []);
        drop(world);
        assert_eq!(drops.names(), ["one"]);
    });
}

#[test]
fn a_world_dropped_elsewhere_leaves_its_values_to_their_thread() {
    let drops = Drops::default();
    let mut world = World::new("Game");
    world.insert_non_send(window::<1>("one", &drops));
    world.insert_non_send(window::<2>("two", &drops));
    let mut other = World::new("Other");
    other.insert_non_send(window::<1>("other", &drops));
    thread::spawn(|| drop(world)).join().unwrap();
    assert_eq!(drops.take(), [], "this thread has not accessed a value since");
    assert_eq!(other.non_send::<Window<1>>().name, "other");
    assert_eq!(drops.names(), ["one", "two"]);
    drop(other);
    assert_eq!(drops.names(), ["other"]);
}

#[test]
fn values_of_worlds_dropped_elsewhere_are_dropped_at_the_end_of_their_thread() {
    let drops = Drops::default();
    let (send, receive) = mpsc::channel();
    let (ready, go) = mpsc::channel();
    let home = thread::spawn({
        let drops = drops.clone();
        move || {
            let mut world = World::new("Game");
            world.insert_non_send(window::<1>("one", &drops));
            world.insert_non_send(window::<2>("two", &drops));
            send.send(world).unwrap();
            go.recv().unwrap();
        }
    });
    drop(receive.recv().unwrap());
    assert_eq!(drops.take(), []);
    ready.send(()).unwrap();
    home.join().unwrap();
    assert_eq!(drops.names(), ["one", "two"]);
}

#[test]
fn a0166_the_home_thread_has_ended() {
    let drops = Drops::default();
    let mut world = on("loader", {
        let drops = drops.clone();
        move || {
            let mut world = World::new("Game");
            world.insert_non_send(window::<1>("one", &drops));
            world
        }
    });
    assert_eq!(drops.names(), ["one"], "the world still exists");
    world.add_system((|_: NonSend<Window<1>>| {}).named("read"));
    world.add_system(|window: Option<NonSendMut<Window<1>>>| assert!(window.is_none()));
    let errors = world.try_update(0.1).unwrap_err();
    assert_eq!(
        errors.to_string(),
        "A0166: system `read` was not run, because the home thread `loader` of the non-send value \
         `threads::worlds::non_send::Window<1>` has ended and dropped the value; insert it on a thread that lives as \
         long as the world"
    );
    let message = panic_message(|| drop(world.non_send::<Window<1>>()));
    assert!(message.starts_with("A0166: `non_send` of world `Game` failed"), "{message}");
    assert!(world.get_non_send_mut::<Window<1>>().is_none());
    assert!(world.insert_non_send(window::<1>("two", &drops)).is_none());
    assert_eq!(world.non_send::<Window<1>>().name, "two");
    drop(world);
    assert_eq!(drops.names(), ["two"]);
}

#[test]
fn inserting_and_removing_on_another_thread_leave_the_old_value_to_its_thread() {
    let drops = Drops::default();
    let mut world = World::new("Game");
    world.insert_non_send(window::<1>("replaced", &drops));
    world.insert_non_send(window::<2>("removed", &drops));
    world.insert_non_send(window::<3>("kept", &drops));
    let mut world = thread::spawn({
        let drops = drops.clone();
        move || {
            assert!(world.insert_non_send(window::<1>("of another thread", &drops)).is_none());
            assert!(world.remove_non_send::<Window<2>>().is_none());
            assert_eq!(world.non_send::<Window<1>>().name, "of another thread");
            assert_eq!(drops.take(), []);
            world
        }
    })
    .join()
    .unwrap();
    assert_eq!(drops.names(), ["of another thread"]);
    assert!(!world.has_non_send::<Window<1>>() && !world.has_non_send::<Window<2>>());
    assert_eq!(world.non_send::<Window<3>>().name, "kept");
    let mut dropped = drops.names();
    dropped.sort_unstable();
    assert_eq!(dropped, ["removed", "replaced"]);
    assert_eq!(world.remove_non_send::<Window<3>>().unwrap().name, "kept");
}

#[test]
fn jobs_may_drop_worlds_with_values_of_other_threads() {
    let drops = Drops::default();
    let jobs = JobScheduler::new(&JobPool::builder().workers(2).build().unwrap());
    let mut handles = Vec::new();
    for number in 0..20 {
        let mut world = World::new("Game");
        world.insert_non_send(window::<1>(number.to_string(), &drops));
        handles.push(jobs.schedule(&[], (), move |()| drop(world)).unwrap());
    }
    jobs.complete_all(&handles);
    let mut world = World::new("Last");
    world.insert_non_send(window::<1>("last", &drops));
    drop(world);
    let mut names = drops.names();
    names.sort_unstable_by_key(|name| name.parse::<u32>().unwrap_or(u32::MAX));
    let expected: Vec<_> =
        (0..20).map(|number| number.to_string()).chain(["last".into()]).collect();
    assert_eq!(names, expected);
}

#[test]
fn values_of_transactions_stay_at_home() {
    let drops = Drops::default();
    let mut world = World::new("Loading");
    world.insert_non_send(window::<1>("one", &drops));
    let mut transaction = world.begin_transaction();
    _ = transaction.schedule(&[], |entities| _ = entities.spawn(())).unwrap();
    let world = thread::spawn(|| transaction.end().unwrap()).join().unwrap();
    assert_eq!(world.non_send::<Window<1>>().name, "one");
    drop(world);
    assert_eq!(drops.names(), ["one"]);
}

/// Panics when it is dropped.
struct Bad<const N: usize>(PhantomData<Rc<()>>);

impl<const N: usize> Drop for Bad<N> {
    fn drop(&mut self) {
        panic!("bad {N}");
    }
}

#[test]
fn values_whose_drop_panics_do_not_keep_the_others() {
    let drops = Drops::default();
    let make = |drops: &Drops| {
        let mut world = World::new("Game");
        world.insert_non_send(Bad::<1>(PhantomData));
        world.insert_non_send(window::<1>("one", drops));
        world.insert_non_send(Bad::<2>(PhantomData));
        world.insert_non_send(window::<2>("two", drops));
        world
    };
    // At the next access. The caller of that access gets no panic.
    let world = make(&drops);
    thread::spawn(|| drop(world)).join().unwrap();
    let mut other = World::new("Other");
    other.insert_non_send(window::<1>("other", &drops));
    assert_eq!(drops.names(), ["one", "two"]);
    // At the end of the thread.
    let world = thread::spawn({
        let drops = drops.clone();
        move || make(&drops)
    });
    drop(world.join().unwrap());
    assert_eq!(drops.names(), ["one", "two"]);
}

#[test]
fn values_may_use_worlds_when_their_thread_ends() {
    struct Outer {
        inner: World,
        drops: Drops,
    }
    impl Drop for Outer {
        fn drop(&mut self) {
            // The values of this thread are being dropped.
            assert!(self.inner.get_non_send::<Window<1>>().is_none());
            assert!(self.inner.insert_non_send(window::<2>("too late", &self.drops)).is_none());
            assert!(!self.inner.has_non_send::<Window<2>>());
            assert!(self.inner.remove_non_send::<Window<1>>().is_none());
        }
    }

    let drops = Drops::default();
    let world = thread::spawn({
        let drops = drops.clone();
        move || {
            let mut inner = World::new("Inner");
            inner.insert_non_send(window::<1>("inner", &drops));
            let mut world = World::new("Outer");
            world.insert_non_send(Outer { inner, drops: drops.clone() });
            world.insert_non_send(window::<3>("beside", &drops));
            world
        }
    });
    drop(world.join().unwrap());
    assert_eq!(drops.names(), ["inner", "too late", "beside"]);
}

/// Guards whose worlds were leaked, and a world, in a thread local that is destroyed before or after the values of the thread.
struct Late {
    shared: NonSend<'static, Window<1>>,
    exclusive: NonSendMut<'static, Window<2>>,
    world: World,
    /// Receives the names of both values, and whether the world had a value before and after one was inserted.
    report: mpsc::Sender<(String, bool, bool)>,
}

impl Drop for Late {
    fn drop(&mut self) {
        self.exclusive.name.push_str(" written");
        let drops = self.shared.drops.clone();
        let old = self.world.insert_non_send(window::<3>("late", &drops)).is_some();
        let new = self.world.has_non_send::<Window<3>>();
        let names = format!("{}, {}", self.shared.name, self.exclusive.name);
        self.report.send((names, old, new)).unwrap();
    }
}

/// The addresses of leaked worlds, so that leak checkers find them.
static LEAKED: Mutex<Vec<usize>> = Mutex::new(Vec::new());

fn leak(world: World) -> &'static mut World {
    let world = Box::leak(Box::new(world));
    LEAKED.lock().unwrap().push(std::ptr::from_mut(world).expose_provenance());
    world
}

#[test]
fn guards_keep_their_values_when_the_thread_ends() {
    thread_local!(static LATE: RefCell<Option<Late>> = const { RefCell::new(None) });

    for is_first in [true, false] {
        let drops = Drops::default();
        let (report, reported) = mpsc::channel();
        let thread = thread::spawn({
            let drops = drops.clone();
            move || {
                if is_first {
                    LATE.with(|_| {});
                }
                let (mut one, mut two) = (World::new("One"), World::new("Two"));
                let mut world = World::new("Three");
                one.insert_non_send(window::<1>("shared", &drops));
                two.insert_non_send(window::<2>("exclusive", &drops));
                world.insert_non_send(window::<3>("early", &drops));
                let (shared, exclusive) = (leak(one).non_send(), leak(two).non_send_mut());
                LATE.set(Some(Late { shared, exclusive, world, report }));
            }
        });
        thread.join().unwrap();
        let (read, old, new) = reported.recv().unwrap();
        assert_eq!(read, "shared, exclusive written");
        if cfg!(target_os = "linux") {
            // The thread local that was used first is destroyed last, after the values of the thread.
            assert_eq!((old, new), (!is_first, !is_first));
        }
        let mut names = drops.names();
        names.sort_unstable();
        assert_eq!(names, ["early", "exclusive written", "late", "shared"]);
    }
}

#[test]
fn worlds_on_many_threads_drop_each_value_once_at_home() {
    const THREADS: usize = 4;
    const ROUNDS: usize = 200;

    let drops = Drops::default();
    let (senders, receivers): (Vec<_>, Vec<_>) = (0..THREADS).map(|_| mpsc::channel()).unzip();
    let threads: Vec<_> = receivers
        .into_iter()
        .enumerate()
        .map(|(index, receiver)| {
            let next: mpsc::Sender<World> = senders[(index + 1) % THREADS].clone();
            let drops = drops.clone();
            thread::spawn(move || {
                for round in 0..ROUNDS {
                    let mut world = World::new("Game");
                    world.insert_non_send(window::<1>(format!("{index} {round}"), &drops));
                    if next.send(world).is_err() {
                        break;
                    }
                    let mut received: World = receiver.recv().unwrap();
                    assert!(received.get_non_send::<Window<1>>().is_none());
                    match round % 3 {
                        0 => drop(received),
                        1 => assert!(received.remove_non_send::<Window<1>>().is_none()),
                        _ => {
                            let name = format!("{index} {round} again");
                            received.insert_non_send(window::<1>(name, &drops));
                        }
                    }
                }
                drop(next);
            })
        })
        .collect();
    drop(senders);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let mut names = drops.names();
    let again = (0..ROUNDS).filter(|round| round % 3 == 2).count();
    assert_eq!(names.len(), THREADS * (ROUNDS + again));
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), THREADS * (ROUNDS + again), "each was dropped once");
}
