//! Function parameters.

use ancho_collections::NativeList;
use ancho_entities::{
    Changed, CommandPoint, Commands, CommandsAt, Component, EnabledRef, EndSimulation, Entity,
    EntityManager, IntoSystem, Local, Lookup, ParamSet, Query, QueryData, QueryFilter, Res, ResMut,
    Resource, Single, System, SystemData, SystemResult, Time, UpdateAllocator, With, Without,
    World,
};

use crate::common::{A, B, Log, Number, Switch, Tag, take, world};

#[test]
fn queries_and_lookups_of_one_function_are_used_together() {
    #[derive(ancho_entities::Component, Clone, Copy)]
    struct Target(Entity);

    fn hit(hunters: Query<&Target, With<Tag>>, mut prey: Lookup<&mut A, Without<Tag>>) {
        for hunter in &hunters {
            if let Some(health) = prey.get_mut(hunter.0) {
                health.0 -= 1;
            }
        }
    }

    let mut world = World::new("test");
    let deer = world.spawn(A(10));
    world.spawn_batch([(Target(deer), Tag), (Target(deer), Tag)]);
    world.add_system(hit);
    world.update(0.1);
    assert_eq!(world.get(deer), Ok(&A(8)));
}

/// Functions that are generic over components, data, filters, resources and points are systems too.
#[test]
fn generic_functions_are_systems() {
    fn keep<T: Component + Clone>(all: Query<&T>, mut kept: Local<Vec<T>>, mut log: ResMut<Log>) {
        kept.extend(all.iter().cloned());
        log.0.push(kept.len().to_string());
    }

    fn count<D: QueryData + 'static, F: QueryFilter>(all: Query<D, F>, mut log: ResMut<Log>) {
        log.0.push(matching(&all).to_string());
    }

    fn matching<D: QueryData, F: QueryFilter>(all: &Query<D, F>) -> usize {
        all.count()
    }

    fn copy<R: Resource + Clone + Into<u32>, P: CommandPoint>(
        number: Res<R>,
        mut commands: CommandsAt<P>,
    ) {
        commands.commands().spawn(B(R::clone(&number).into()));
    }

    let mut world = world();
    world.insert_resource(Number(7));
    world.spawn((A(1), Tag));
    world.add_system(keep::<A>);
    world.add_system(count::<&A, With<Tag>>);
    world.add_system(copy::<Number, EndSimulation>);
    world.try_update(0.1).unwrap();
    assert_eq!(take(&mut world), ["1", "1"]);
    assert_eq!(world.query::<&B>().single(), Ok(&B(7)));
}

#[test]
fn sixteen_parameters_are_given() {
    #[derive(ancho_entities::Component)]
    struct Nobody;

    #[derive(Resource)]
    #[resource(local)]
    struct Absent;

    #[expect(clippy::too_many_arguments, reason = "that many can be given")]
    fn all(
        mut a: Query<&mut A>,
        b: Query<&B>,
        tags: Query<Entity, With<Tag>>,
        lookup: Lookup<&B>,
        time: Time,
        mut log: ResMut<Log>,
        number: Res<Number>,
        nothing: Option<Res<Absent>>,
        mut runs: Local<u32>,
        mut commands: Commands,
        single: Option<Single<&Nobody>>,
        (one, two): (Res<Number>, Res<Number>),
        mut set: ParamSet<(Query<&mut Switch>, Query<EnabledRef<Switch>>)>,
        _: (),
        _: Local<String>,
        _: Time,
    ) {
        a.for_each(|a| a.0 += 1);
        *runs += 1;
        let entity = tags.iter().next().unwrap();
        assert_eq!(lookup.get(entity), Some(&B(2)));
        assert!(nothing.is_none() && single.is_none());
        set.p0().for_each(|switch| switch.0 += 1);
        assert_eq!(set.p1().count(), 0);
        commands.spawn(A(100));
        log.0.push(format!(
            "{} {} {} {} {}",
            b.count(),
            time.frame(),
            number.0,
            *runs,
            one.0 + two.0
        ));
    }

    let mut world = world();
    world.insert_resource(Number(7));
    world.spawn((A(1), B(2), Tag));
    world.add_system(all);
    world.try_update(0.1).unwrap();
    world.try_update(0.1).unwrap();
    assert_eq!(take(&mut world), ["1 1 7 1 14", "1 2 7 2 14"]);
    let mut values: Vec<_> = world.query::<&A>().iter().map(|a| a.0).collect();
    values.sort_unstable();
    assert_eq!(values, [3, 100, 101]);
}

#[test]
fn changes_count_from_the_last_run_and_own_ones_do_not() {
    fn change(mut changed: Query<&mut A, Changed<A>>, mut log: ResMut<Log>) {
        log.0.push(changed.count().to_string());
        changed.for_each(|a| a.0 += 1);
    }

    let mut world = world();
    let entity = world.spawn(A(0));
    world.add_system(change);
    for _ in 0..3 {
        world.update(0.1);
    }
    assert_eq!(take(&mut world), ["1", "0", "0"], "what it changed itself it does not see");
    world.get_mut::<A>(entity).unwrap().0 = 0;
    world.update(0.1);
    world.update(0.1);
    assert_eq!(take(&mut world), ["1", "0"], "what came between it does");
}

#[test]
fn commands_are_applied_right_after_their_system() {
    fn spawn(mut commands: Commands, all: Query<&A>, mut log: ResMut<Log>) {
        let entity = commands.spawn(A(1));
        commands.add(entity, B(1));
        log.0.push(format!("within {}", all.count()));
    }

    fn count(all: Query<(&A, &B)>, mut log: ResMut<Log>) {
        log.0.push(format!("next {}", all.count()));
    }

    let mut world = world();
    world.add_system(spawn);
    world.add_system(count);
    world.update(0.1);
    world.update(0.1);
    assert_eq!(take(&mut world), ["within 0", "next 1", "within 1", "next 2"]);
    world.check_invariants().unwrap();
}

#[test]
fn the_whole_world_and_all_entities_are_parameters() {
    fn change(entities: &mut EntityManager, mut log: ResMut<Log>, mut kept: Local<Vec<Entity>>) {
        kept.push(entities.spawn(A(1)));
        log.0.push(kept.len().to_string());
    }

    fn read(entities: &EntityManager, all: Query<&A>, mut log: ResMut<Log>) {
        assert_eq!(entities.entity_count(), all.count());
        log.0.push("read".to_owned());
    }

    fn everything(world: &mut World) {
        world.spawn(A(2));
        world.resource_mut::<Log>().0.push("world".to_owned());
    }

    let mut world = world();
    world.add_system(change);
    world.add_system(read);
    world.add_system(everything);
    world.try_update(0.1).unwrap();
    assert_eq!(take(&mut world), ["1", "read", "world"]);
    assert_eq!(world.entity_count(), 2);
}

#[test]
fn functions_return_results_and_closures_keep_values() {
    let mut world = world();
    let mut calls = 0;
    world.add_system(move |mut log: ResMut<Log>| -> Result<(), String> {
        calls += 1;
        log.0.push(calls.to_string());
        if calls == 2 { Err("twice".to_owned()) } else { Ok(()) }
    });
    assert!(world.try_update(0.1).is_ok());
    assert!(world.try_update(0.1).unwrap_err().to_string().ends_with("failed: twice"));
    assert!(world.try_update(0.1).is_ok());
    assert_eq!(take(&mut world), ["1", "2", "3"]);
}

#[test]
fn data_of_another_system_can_be_read() {
    #[derive(Default)]
    struct Census {
        count: usize,
    }

    impl System for Census {
        fn on_update(&mut self, world: &mut World) -> SystemResult {
            self.count = world.query::<&A>().count();
            Ok(())
        }
    }

    fn report(census: SystemData<Census>, mut log: ResMut<Log>) {
        log.0.push(census.count.to_string());
    }

    let mut world = world();
    world.add_system(report.named("report"));
    assert_eq!(
        world.try_update(0.1).unwrap_err().to_string(),
        "A0118: system `report` was not run, because it reads system \
         `systems::parameters::functions::data_of_another_system_can_be_read::Census`, which does not exist or is being updated; \
         add it to the world, and read it only in systems that it does not update"
    );
    world.spawn(A(1));
    let id = world.add_system(Census::default());
    world.set_group(world.find_system(report).unwrap(), ancho_entities::Presentation).unwrap();
    world.try_update(0.1).unwrap();
    assert_eq!(take(&mut world), ["1"]);
    world.remove_system(id).unwrap();
    assert!(world.try_update(0.1).is_err());
    world.add_system(Census { count: 5 }.enabled(false));
    world.try_update(0.1).unwrap();
    assert_eq!(take(&mut world), ["5"]);
}

#[test]
fn worlds_that_share_memory_with_forks_are_written_by_systems() {
    fn write(mut all: Query<&mut A>, mut lookup: Lookup<&mut B>, entities: Query<Entity>) {
        all.for_each(|a| a.0 += 1);
        for entity in &entities {
            lookup.get_mut(entity).unwrap().0 += 1;
        }
    }

    let mut world = World::new("test");
    world.spawn_many((A(0), B(0)), 100);
    world.add_system(write);
    let fork = world.fork().unwrap();
    world.try_update(0.1).unwrap();
    assert!(world.query::<(&A, &B)>().iter().all(|(a, b)| (a.0, b.0) == (1, 1)));
    assert!(fork.query::<(&A, &B)>().iter().all(|(a, b)| (a.0, b.0) == (0, 0)));
    world.check_invariants().unwrap();
}

#[test]
fn resources_can_be_inserted_and_removed() {
    fn use_it(number: Option<ResMut<Number>>, mut log: ResMut<Log>) {
        match number {
            Some(mut number) => number.0 += 1,
            None => log.0.push("none".to_owned()),
        }
    }

    let mut world = world();
    world.add_system(use_it);
    world.update(0.1);
    world.insert_resource(Number(1));
    world.update(0.1);
    assert_eq!(world.remove_resource::<Number>(), Some(Number(2)));
    world.update(0.1);
    assert_eq!(take(&mut world), ["none", "none"]);
}

#[test]
fn a_set_beside_the_whole_world_sees_the_start_of_the_system() {
    fn take_over(mut both: ParamSet<(Time, UpdateAllocator)>, world: &mut World) {
        *world = World::new("new");
        world.insert_resource(Log::default());
        let list = NativeList::<u32>::new_in(&both.p1());
        world.update(0.1);
        world.update(0.1);
        let line = format!("{} {}", both.p0().elapsed(), list.get().is_ok());
        world.resource_mut::<Log>().0.push(line);
    }

    let mut world = world();
    world.add_system(take_over);
    world.try_update(0.25).unwrap_err();
    assert_eq!(take(&mut world), ["0.25 true"]);
}
