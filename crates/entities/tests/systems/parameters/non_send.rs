//! Values that are not `Send`, on one thread.

use std::cell::RefCell;
use std::mem;
use std::rc::Rc;
use std::sync::Mutex;

use ancho_entities::{
    IntoSystem, NonSend, NonSendMut, ParamSet, Res, ResMut, Resource, System, SystemFault,
    SystemResult, World,
};

use crate::common::{A, Log, Number, take, world};
use crate::fixtures::panic_message;

/// A log that stays on one thread.
#[derive(Clone, Default)]
struct Lines(Rc<RefCell<Vec<&'static str>>>);

impl Lines {
    fn push(&self, line: &'static str) {
        self.0.borrow_mut().push(line);
    }

    fn take(&self) -> Vec<&'static str> {
        self.0.take()
    }
}

/// Logs its name when it is dropped.
struct Logs<const N: usize>(Lines, &'static str);

impl<const N: usize> Drop for Logs<N> {
    fn drop(&mut self) {
        self.0.push(self.1);
    }
}

#[derive(Debug, PartialEq)]
struct Window(Rc<str>);

fn window(title: &str) -> Window {
    Window(title.into())
}

#[test]
fn methods_of_the_world_are_those_of_resources() {
    let mut world = World::new("test");
    assert!(!world.has_non_send::<Window>());
    assert!(world.get_non_send::<Window>().is_none());
    assert!(world.get_non_send_mut::<Window>().is_none());
    assert_eq!(world.insert_non_send(window("one")), None);
    assert_eq!(world.insert_non_send(window("two")), Some(window("one")));
    assert!(world.has_non_send::<Window>());
    assert_eq!(*world.non_send::<Window>(), window("two"));
    world.non_send_mut::<Window>().0 = "three".into();
    world.get_non_send_mut::<Window>().unwrap().0 = format!("{}!", world_title(&world)).into();
    assert_eq!(format!("{:?}", world.non_send::<Window>()), "NonSend(Window(\"three!\"))");
    assert_eq!(format!("{:?}", world.non_send_mut::<Window>()), "NonSendMut(Window(\"three!\"))");
    // A resource of the same type is another value.
    world.insert_resource(Number(1));
    world.insert_non_send(2_u32);
    assert_eq!((world.resource::<Number>().0, *world.non_send::<u32>()), (1, 2));
    let (one, other) = (world.non_send::<u32>(), world.get_non_send::<u32>());
    assert_eq!((*one, other.map(|other| *other)), (2, Some(2)), "both are shared");
    drop(one);
    assert_eq!(world.remove_non_send(), Some(window("three!")));
    assert_eq!(world.remove_non_send::<Window>(), None);
    assert_eq!(world.remove_non_send(), Some(2_u32));
}

fn world_title(world: &World) -> String {
    world.get_non_send::<Window>().map_or_else(String::new, |window| window.0.to_string())
}

#[test]
fn systems_read_and_write_it() {
    let mut world = world();
    world.insert_non_send(window(""));
    world.add_system(|mut window: NonSendMut<Window>| {
        window.0 = format!("{}+", window.0).into();
    });
    world.add_system(|window: NonSend<Window>, same: NonSend<Window>, mut log: ResMut<Log>| {
        assert_eq!(*window, *same);
        log.0.push(window.0.to_string());
    });
    world.add_system(
        |mut both: ParamSet<(NonSendMut<Window>, Option<NonSend<Window>>)>,
         mut log: ResMut<Log>| {
            both.p0().0 = format!("{}-", both.p1().unwrap().0).into();
            log.0.push(both.p1().unwrap().0.to_string());
        },
    );
    world.try_update(0.1).unwrap();
    world.try_update(0.1).unwrap();
    assert_eq!(take(&mut world), ["+", "+-", "+-+", "+-+-"]);
}

#[test]
fn struct_systems_use_it_through_the_world() {
    struct Draw;
    impl System for Draw {
        fn on_create(&mut self, world: &mut World) -> SystemResult {
            world.insert_non_send(window("made"));
            Ok(())
        }

        fn on_update(&mut self, world: &mut World) -> SystemResult {
            world.non_send_mut::<Window>().0 = "drawn".into();
            Ok(())
        }
    }

    let mut world = World::new("test");
    world.add_system(Draw);
    assert_eq!(*world.non_send::<Window>(), window("made"));
    world.try_update(0.1).unwrap();
    assert_eq!(*world.non_send::<Window>(), window("drawn"));
}

#[test]
fn optional_parameters_are_none_until_it_is_inserted() {
    let mut world = world();
    let describe = |window: Option<NonSend<Window>>, mut log: ResMut<Log>| {
        log.0.push(window.map_or("none".to_owned(), |window| window.0.to_string()));
    };
    world.add_system(describe);
    world.add_system(|window: Option<NonSendMut<Window>>| {
        if let Some(mut window) = window {
            window.0 = "written".into();
        }
    });
    world.try_update(0.1).unwrap();
    world.insert_non_send(window("there"));
    world.try_update(0.1).unwrap();
    world.try_update(0.1).unwrap();
    world.remove_non_send::<Window>();
    world.try_update(0.1).unwrap();
    assert_eq!(take(&mut world), ["none", "there", "written", "none"]);
}

#[test]
fn a0166_names_a_missing_value() {
    let mut world = World::new("test");
    for system in [
        world.add_system((|_: NonSend<u32>| {}).named("reader")),
        world.add_system((|_: NonSendMut<u32>| {}).named("reader")),
    ] {
        let errors = world.update_system(system).unwrap_err();
        assert_eq!(
            errors.to_string(),
            "A0166: system `reader` was not run, because the world has no non-send value `u32`; insert it with \
             `insert_non_send`, or handle its absence with an `Option`"
        );
        let fault = errors.iter().next().unwrap().fault();
        assert!(matches!(fault, SystemFault::NoNonSend { value: "u32", ended: None }));
    }
    assert_eq!(
        panic_message(|| drop(world.non_send::<u32>())),
        "A0166: `non_send` of world `test` failed, because the world has no non-send value `u32`; insert it with \
         `insert_non_send`, or handle its absence with an `Option`"
    );
    let message = panic_message(|| drop(world.non_send_mut::<u32>()));
    assert!(message.starts_with("A0166: `non_send_mut` of world `test` failed"), "{message}");
    world.insert_non_send(1_u32);
    world.try_update(0.1).unwrap();
}

#[test]
fn a0102_conflicting_parameters_are_refused() {
    let mut world = World::new("test");
    let refused =
        world.try_add_system((|_: NonSend<u32>, _: NonSendMut<u32>| {}).named("it")).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "A0102: system `it` cannot be added: parameter 1, `NonSend<u32>`, and parameter 2, `NonSendMut<u32>`, both \
         use the non-send value `u32`, at least one of them mutably; remove one of them, or put both in a `ParamSet`"
    );
    for refused in [
        world.try_add_system(|_: NonSendMut<u32>, _: Option<NonSendMut<u32>>| {}),
        world.try_add_system(|_: Option<NonSend<u32>>, _: Option<NonSendMut<u32>>| {}),
        world.try_add_system(|_: NonSend<u32>, _: &mut World| {}),
    ] {
        assert!(refused.unwrap_err().to_string().starts_with("A0102: "));
    }
    world.insert_non_send(1_u32);
    world.insert_non_send(1_u8);
    world.insert_resource(Number(1));
    world.add_system(|_: NonSend<u32>, _: Option<NonSend<u32>>, _: NonSendMut<u8>| {});
    world.add_system(|_: NonSendMut<u32>, _: ResMut<Number>| {});
    world.add_system(|_: NonSendMut<u32>, _: &mut ancho_entities::EntityManager| {});
    world.try_update(0.1).unwrap();
}

#[test]
fn a_system_that_panics_leaves_the_value() {
    let mut world = World::new("test");
    world.insert_non_send(window("before"));
    world.add_system(|mut window: NonSendMut<Window>| -> () {
        window.0 = "changed".into();
        panic!("no device");
    });
    assert!(world.try_update(0.1).is_err());
    assert_eq!(*world.non_send::<Window>(), window("changed"));
}

#[test]
fn forks_and_copies_do_not_have_it_and_restore_keeps_it() {
    let mut world = World::new("test");
    world.spawn(A(1));
    let hash = world.state_hash();
    world.insert_non_send(window("one"));
    assert_eq!(world.state_hash(), hash);
    let mut fork = world.fork().unwrap();
    assert!(!fork.has_non_send::<Window>());
    assert!(!world.duplicate().unwrap().has_non_send::<Window>());
    fork.insert_non_send(window("two"));
    world.restore(&mut fork).unwrap();
    world.move_entities_from(&mut fork).unwrap();
    assert_eq!((&*world.non_send::<Window>().0, &*fork.non_send::<Window>().0), ("one", "two"));
    let world = world.begin_transaction().end().unwrap();
    assert_eq!(*world.non_send::<Window>(), window("one"));
}

#[test]
fn it_stays_with_its_world_in_swaps() {
    let (mut one, mut two) = (World::new("one"), World::new("two"));
    one.insert_non_send(window("one"));
    two.insert_non_send(window("two"));
    // All data of the worlds.
    mem::swap(&mut one, &mut two);
    assert_eq!((one.name(), &*one.non_send::<Window>().0), ("two", "two"));
    assert_eq!((two.name(), &*two.non_send::<Window>().0), ("one", "one"));
    // Only the entities.
    mem::swap::<ancho_entities::EntityManager>(&mut one, &mut two);
    assert_eq!((&*one.non_send::<Window>().0, &*two.non_send::<Window>().0), ("two", "one"));
    // A system that exchanges its world.
    one.add_system(move |world: &mut World| mem::swap(world, &mut two));
    assert!(one.try_update(0.1).is_err());
    assert_eq!((one.name(), &*one.non_send::<Window>().0), ("one", "one"));
}

#[test]
fn values_are_dropped_with_the_world_after_its_resources_in_order() {
    let lines = Lines::default();
    #[derive(Resource)]
    #[resource(local)]
    struct LoggingResource(Box<dyn Fn() + Send>);
    impl Drop for LoggingResource {
        fn drop(&mut self) {
            (self.0)();
        }
    }
    thread_local!(static SEEN: RefCell<Option<Lines>> = const { RefCell::new(None) });
    SEEN.set(Some(lines.clone()));

    let mut world = World::new("test");
    world.insert_non_send(Logs::<1>(lines.clone(), "first"));
    world.insert_non_send(Logs::<2>(lines.clone(), "second"));
    world.insert_non_send(Logs::<3>(lines.clone(), "replaced"));
    world.insert_non_send(Logs::<3>(lines.clone(), "third"));
    assert_eq!(lines.take(), ["replaced"]);
    let logs = || SEEN.with_borrow(|seen| seen.as_ref().unwrap().push("resource"));
    world.insert_resource(LoggingResource(Box::new(logs)));
    drop(world);
    assert_eq!(lines.take(), ["resource", "first", "second", "third"]);
}

#[test]
fn values_whose_drop_panics_do_not_keep_the_others() {
    struct Bad<const N: usize>;
    impl<const N: usize> Drop for Bad<N> {
        fn drop(&mut self) {
            panic!("bad {N}");
        }
    }

    let lines = Lines::default();
    let mut world = World::new("test");
    world.insert_non_send(Logs::<1>(lines.clone(), "first"));
    world.insert_non_send(Bad::<1>);
    world.insert_non_send(Bad::<2>);
    world.insert_non_send(Logs::<2>(lines.clone(), "last"));
    assert_eq!(panic_message(|| drop(world)), "bad 1");
    assert_eq!(lines.take(), ["first", "last"]);
}

#[test]
fn values_may_use_worlds_while_they_are_dropped() {
    struct Outer {
        inner: World,
        lines: Lines,
    }
    impl Drop for Outer {
        fn drop(&mut self) {
            self.inner.insert_non_send(Logs::<2>(self.lines.clone(), "inserted in a drop"));
            assert!(self.inner.has_non_send::<Logs<1>>());
            self.lines.push("outer");
        }
    }

    let lines = Lines::default();
    let mut inner = World::new("inner");
    inner.insert_non_send(Logs::<1>(lines.clone(), "inner"));
    let mut outer = World::new("outer");
    outer.insert_non_send(Outer { inner, lines: lines.clone() });
    outer.insert_non_send(Logs::<3>(lines.clone(), "beside"));
    drop(outer);
    assert_eq!(lines.take(), ["outer", "inner", "inserted in a drop", "beside"]);
}

/// Leaks a value. It stays reachable, so that AddressSanitizer does not report it.
fn leak<T>(value: T) {
    static LEAKED: Mutex<Vec<usize>> = Mutex::new(Vec::new());
    LEAKED.lock().unwrap().push(Box::into_raw(Box::new(value)).addr());
}

#[test]
fn a0168_a_leaked_guard_is_reported() {
    let mut world = World::new("test");
    world.insert_non_send(window("one"));
    leak(world.non_send::<Window>());
    // It is shared for ever.
    assert_eq!(*world.non_send::<Window>(), window("one"));
    assert!(world.get_non_send_mut::<Window>().is_none());
    assert_eq!(
        panic_message(|| drop(world.non_send_mut::<Window>())),
        "A0168: `non_send_mut` of world `test` failed, because a guard of the non-send value \
         `systems::parameters::non_send::Window` was leaked; drop each `NonSend` and `NonSendMut`, and insert the \
         value again"
    );
    assert_eq!(world.insert_non_send(window("two")), None, "the old one is lost");

    leak(world.non_send_mut::<Window>());
    assert!(!world.has_non_send::<Window>());
    world.add_system((|_: Option<NonSend<Window>>| {}).named("reader"));
    let message = world.try_update(0.1).unwrap_err().to_string();
    assert!(
        message.starts_with("A0168: system `reader` was not run, because a guard"),
        "{message}"
    );
    assert_eq!(world.insert_non_send(window("three")), None);
    world.try_update(0.1).unwrap();
    assert_eq!(world.remove_non_send(), Some(window("three")));
}

#[test]
fn a0168_a_guard_of_a_parameter_set_is_leaked() {
    fn leak_shared(mut both: ParamSet<(NonSendMut<Window>, NonSend<Window>)>) {
        leak(both.p1());
        assert_eq!(*both.p1(), window("one"));
        both.p0().0 = "two".into();
    }
    fn leak_exclusive(mut both: ParamSet<(NonSendMut<Window>, Option<NonSend<Window>>)>) {
        leak(both.p0());
        both.p1();
    }

    let mut world = World::new("test");
    for system in [world.add_system(leak_shared), world.add_system(leak_exclusive)] {
        world.insert_non_send(window("one"));
        let message = world.update_system(system).unwrap_err().to_string();
        assert!(
            message.ends_with(
                "panicked: A0168: a parameter of a `ParamSet` was refused, because a guard of the non-send value \
                 `systems::parameters::non_send::Window` was leaked; drop each `NonSend` and `NonSendMut`, and insert \
                 the value again"
            ),
            "{message}"
        );
    }
}

#[test]
fn systems_with_it_are_ordered_for_latency_by_it() {
    // The reader stays behind the writer, although only the reader has no jobs.
    let mut world = world();
    world.insert_non_send(0_u32);
    world.order_systems_for_latency(true);
    world.add_system(|mut number: NonSendMut<u32>| *number += 1);
    world.add_system(|number: NonSend<u32>, mut log: ResMut<Log>| log.0.push(number.to_string()));
    world.add_system(|mut number: NonSendMut<u32>, _: Res<Log>| *number *= 10);
    world.add_system(|number: NonSend<u32>, mut log: ResMut<Log>| log.0.push(number.to_string()));
    world.try_update(0.1).unwrap();
    assert_eq!(take(&mut world), ["1", "10"]);
}
