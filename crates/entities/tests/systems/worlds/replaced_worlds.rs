//! Systems that replace their world, or its entities, during an update.

use std::sync::{Arc, Mutex};

use ancho_entities::{
    Commands, Entity, EntityManager, FixedStep, In, IntoSystem, Local, Query, Res, Resource,
    System, SystemResult, Time, World,
};

use crate::common::{A, B, Shared, say};

#[test]
fn a0115_replacing_the_world_during_an_update_ends_the_update() {
    let log = Shared::default();

    struct Noting(Shared);

    impl System for Noting {
        fn on_update(&mut self, _: &mut World) -> SystemResult {
            Ok(())
        }

        fn on_destroy(&mut self, _: &mut World) -> SystemResult {
            self.0.push("destroyed");
            Ok(())
        }
    }

    let mut world = World::new("old");
    world.add_system(Noting(log.clone()));
    world.add_system((|world: &mut World| *world = World::new("new")).named("thief"));
    world.add_system(say("never"));
    assert_eq!(
        world.try_update(0.1).unwrap_err().to_string(),
        "A0115: system `thief` replaced its own world, and was dropped with it; swap worlds between updates"
    );
    assert_eq!(world.name(), "new");
    assert_eq!(log.take(), ["destroyed"]);
    world.try_update(0.1).unwrap();
    world.add_system(|mut all: Query<&mut A>| all.for_each(|a| a.0 += 1));
    world.spawn(A(1));
    world.try_update(0.1).unwrap();
    assert_eq!(world.singleton::<A>(), Ok(&A(2)));
}

#[test]
fn an_update_continues_when_the_world_is_put_back() {
    let mut world = World::new("old");
    world.insert_resource(crate::common::Log::default());
    world.add_system(|world: &mut World| {
        let mut other = World::new("other");
        std::mem::swap(world, &mut other);
        world.spawn(A(1));
        std::mem::swap(world, &mut other);
    });
    world.add_system(say("after"));
    world.try_update(0.1).unwrap();
    assert_eq!(crate::common::take(&mut world), ["after"]);
}

/// Returns a system that keeps its world, and puts another in its place.
fn steal(kept: &Arc<Mutex<Option<World>>>) -> impl FnMut(&mut World) + Send + use<> {
    let kept = Arc::clone(kept);
    move |world| {
        *kept.lock().unwrap() = Some(std::mem::replace(world, World::new("new")));
    }
}

#[test]
fn a0115_a_world_taken_by_a_system_continues_without_that_system() {
    let kept = Arc::default();
    let mut world = World::new("old");
    world.insert_resource(crate::common::Log::default());
    world.add_system(say("before").in_group(FixedStep));
    let thief = world.add_system(steal(&kept).in_group(FixedStep));
    world.add_system(say("after").in_group(FixedStep));
    world.add_system(say("late"));
    world.try_update(0.001).unwrap_err();
    assert_eq!(world.name(), "new");
    let mut old = kept.lock().unwrap().take().unwrap();
    assert_eq!(old.executing_system(), Some(thief), "the old world was not notified");
    old.try_update(0.25).unwrap();
    assert_eq!((old.executing_system(), old.has_system(thief)), (None, false));
    assert_eq!(old.time().elapsed(), 0.251);
    let lines = crate::common::take(&mut old);
    assert_eq!(lines.iter().filter(|line| *line == "late").count(), 1);
    assert_eq!(lines.iter().filter(|line| *line == "after").count(), 15);
}

#[test]
fn a0115_a_world_taken_during_a_nested_update_or_creation_continues() {
    struct Thief(Arc<Mutex<Option<World>>>);

    impl System for Thief {
        fn on_create(&mut self, world: &mut World) -> SystemResult {
            steal(&self.0)(world);
            Ok(())
        }

        fn on_update(&mut self, _: &mut World) -> SystemResult {
            Ok(())
        }
    }

    let kept = Arc::default();
    let mut world = World::new("old");
    world.insert_resource(crate::common::Log::default());
    let said = world.add_system(say("said"));
    let thief = world.add_system(steal(&kept));
    world.update_system(thief).unwrap_err();
    let mut world = kept.lock().unwrap().take().unwrap();
    world.update_system(said).unwrap();
    assert_eq!(world.executing_system(), None);
    world.try_add_system(Thief(Arc::clone(&kept))).unwrap_err();
    let mut world = kept.lock().unwrap().take().unwrap();
    world.try_update(0.1).unwrap();
    assert_eq!(crate::common::take(&mut world), ["said"; 2]);
    assert!(world.find_system(ancho_entities::system_type::<Thief>()).is_none());
}

#[test]
fn queries_notice_that_their_world_has_other_entities() {
    fn count(
        all: Query<(Entity, &A)>,
        mut both: Query<(&mut A, &B)>,
        mut sums: Local<u32>,
        seen: Res<Shared>,
    ) {
        both_and(&mut both);
        *sums += all.count() as u32;
        seen.push(all.iter().map(|(_, a)| a.0).sum::<u32>().to_string());
    }

    fn both_and(both: &mut Query<(&mut A, &B)>) {
        both.for_each(|(a, b)| a.0 += b.0);
    }
    // A system cannot have two queries of the same component, one of which writes.
    let mut world = World::new("one");
    assert!(world.try_add_system(count).is_err());

    fn sum(mut all: Query<(&mut A, Option<&B>)>, seen: Res<Shared>, mut commands: Commands) {
        let mut sum = 0;
        all.for_each(|(a, b)| {
            a.0 += b.map_or(0, |b| b.0);
            sum += a.0;
        });
        commands.spawn(A(0));
        seen.push(sum.to_string());
    }

    let log = Shared::default();
    world.insert_resource(log.clone());
    world.spawn_many(A(1), 3);
    world.add_system(sum);
    world.try_update(0.1).unwrap();
    {
        let mut other = World::new("two");
        other.spawn_many((A(2), B(1)), 5);
        std::mem::swap::<EntityManager>(&mut world, &mut other);
    }
    // The first entities are gone with the other world, and so is the cached query state.
    world.try_update(0.1).unwrap();
    world.try_update(0.1).unwrap();
    assert_eq!(log.take(), ["3", "15", "20"]);
    world.check_invariants().unwrap();
}

#[test]
fn a_world_that_was_taken_keeps_the_times_pushed_outside() {
    let taken = Arc::new(Mutex::new(None));
    let mut world = World::new("old");
    let place = taken.clone();
    let thief = world.add_system(move |world: &mut World| {
        world.push_time(Time::new(50.0, 1.0)).unwrap();
        *place.lock().unwrap() = Some(std::mem::replace(world, World::new("new")));
    });
    world.push_time(Time::new(10.0, 1.0)).unwrap();
    assert!(world.update_system(thief).unwrap_err().to_string().starts_with("A0115: "));
    let mut old: World = taken.lock().unwrap().take().unwrap();
    assert_eq!(old.pop_time().unwrap().elapsed(), 10.0);
    assert_eq!(old.time(), Time::default());
    assert!(old.pop_time().is_err());
    old.try_update(0.1).unwrap();
}

#[test]
fn the_second_function_of_a_pipe_does_not_run_in_another_world() {
    #[derive(Resource, Clone)]
    struct Number(u32);

    #[derive(Resource, Clone)]
    struct Text(String);

    // The resources of both worlds have the same index.
    let make = || {
        let mut other = World::new("other");
        other.insert_resource(Text("far".into()));
        Some(other)
    };
    let (log, mut other) = (Shared::default(), make());
    let seen = log.clone();
    let first = move |world: &mut World| {
        if let Some(other) = other.take() {
            *world = other;
        }
    };
    let second = move |In(()): In<()>, number: Res<'_, Number>| {
        assert_eq!(number.0, 7);
        seen.push("second");
    };
    let mut world = World::new("own");
    world.insert_resource(Number(7));
    world.add_system(first.pipe(second).named("thief"));
    let message = world.try_update(0.1).unwrap_err().to_string();
    assert!(message.starts_with("A0115: system `thief`"), "{message}");
    assert_eq!((world.name(), &*world.resource::<Text>().0), ("other", "far"));
    assert!(log.take().is_empty());

    let mut world = World::new("own");
    world.insert_resource(Number(7));
    let (mut first, mut commands) = (make(), 0);
    let spawn = move |mut recorder: Commands<'_>| {
        recorder.spawn(A(1));
        commands += 1;
        commands
    };
    let replace = move |In(_): In<i32>, world: &mut World| *world = first.take().unwrap();
    let pipe = world.register_system(spawn.pipe(replace));
    let message = world.run_system(pipe).unwrap_err().to_string();
    assert!(message.contains("A0115"), "{message}");
    assert_eq!((world.name(), world.entity_count()), ("other", 0));
}
