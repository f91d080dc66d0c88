//! Deliveries to observers allocate nothing after a warm-up.

use std::sync::atomic::Ordering;

use ancho_entities::{
    Add, Commands, CommandsAt, Component, Despawn, Disable, Enable, EndSimulation, Entity, Local,
    On, Query, QueryDescriptor, Remove, Removed, Replace, Value, With, World,
};

use crate::counting_allocator::ALLOCATIONS;

#[derive(Component, Clone, Copy)]
struct A(u32);

#[derive(Component, Clone, Copy)]
struct Marked;

#[derive(Component, Clone, Copy)]
#[component(enableable)]
struct Lamp(u32);

fn churn(mut commands: Commands, mut last: Local<Option<Entity>>) {
    if let Some(last) = last.take() {
        commands.set(last, A(2));
        commands.despawn(last);
    }
    *last = Some(commands.spawn((A(1), Marked)));
}

fn at_point(mut commands: CommandsAt<EndSimulation>, all: Query<(Entity, &A), With<Lamp>>) {
    let mut commands = commands.commands();
    for (entity, a) in all.iter() {
        commands.set(entity, A(a.0 + 1));
        if a.0.is_multiple_of(2) {
            commands.add(entity, Marked);
        } else {
            commands.remove::<Marked>(entity);
        }
    }
}

fn switch(world: &mut World, frame: usize) {
    let all = QueryDescriptor::of::<&Lamp, ancho_entities::IgnoreEnabled>();
    world.batch(all).set_component_enabled::<Lamp>(frame.is_multiple_of(2)).unwrap();
}

pub(crate) fn deliveries_allocate_nothing() {
    let mut world = World::new("Observed");
    world.spawn_batch((0..50).map(|number| (A(number), Lamp(number))));
    world.add_observer(|events: On<Add<A>>| assert!(events.iter().count() > 0));
    world.add_observer(|events: On<Remove<A>, Value>| {
        assert!(events.iter().all(|event| event.value().is_some()));
    });
    world.add_observer(|events: On<Replace<A>, Value>, mut commands: Commands| {
        let first = events.entities().next().unwrap();
        if events.iter().any(|event| event.value().is_some_and(|a| a.0.is_multiple_of(7))) {
            commands.add(first, Marked);
        }
    });
    world.add_observer(|events: On<Add<Marked>>, all: Query<&Marked>| {
        assert!(events.entities().any(|entity| all.get(entity).is_some()));
    });
    world.add_observer(|events: On<Despawn>| assert!(!events.is_empty()));
    world.add_observer(|events: On<Enable<Lamp>>| assert_eq!(events.len(), 50));
    world.add_observer(|events: On<Disable<Lamp>>| assert_eq!(events.len(), 50));
    world.add_system(churn);
    world.add_system(at_point);
    world.add_system(|removed: Removed<(A, Marked)>| assert!(removed.len() < 200));
    let mut frame = 0;
    let mut run = |frames: usize| {
        for _ in 0..frames {
            frame += 1;
            switch(&mut world, frame);
            let one = world.spawn(A(1));
            world.set(one, A(2)).map_err(drop).unwrap();
            world.despawn(one).unwrap();
            world.update(0.1);
        }
    };
    run(crate::WARM_UP);
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    run(crate::FRAMES);
    let allocated = ALLOCATIONS.load(Ordering::Relaxed) - before;
    assert_eq!(allocated, 0, "in {} frames with observers", crate::FRAMES);
}
