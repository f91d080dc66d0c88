//! ancho: the features.

use std::hint::black_box;

use ancho_entities::{
    Add, BufferElement, Component, Disable, Enable, Entity, EntityCommandBuffer, IntoSystem,
    Message, MessageReader, MessageWriter, On, Query, QueryDescriptor, Remove, Res, ResMut,
    Resource, States, Timer, Value, World,
};
use glam::Vec3;

use super::plain::{
    Awake, Toggles, chained_result, change_structure, commands, large_value, play, systems,
    timer_seconds, toggles,
};
use super::work::{
    self, FAILING, FEW, FRAME, Hit, MANY, MILLION, READERS, SOURCES, SYSTEMS, WRITES,
};
use crate::harness::{Cell, Reading};
use crate::parts::storage::types::{A, B, Position, Velocity};

/// A world with entities that are processed one by one.
type Populated = (World, Vec<Entity>);

fn world() -> World {
    World::new("peers")
}

fn update(world: &mut World) {
    world.update(FRAME);
}

/// Writes messages one by one.
pub(super) fn write(cell: Cell) -> Reading {
    let mut world = world();
    world.add_system(|mut messages: MessageWriter<'_, Hit>| {
        for index in 0..MANY {
            messages.write(black_box(work::hit(index)));
        }
    });
    cell.run(world, update, last_hits)
}

/// Condenses the messages of the last update.
fn last_hits(world: &mut World) -> u64 {
    let kept: Vec<Hit> = world.read_messages::<Hit>().copied().collect();
    work::hits(kept[kept.len() - MANY..].iter().copied())
}

/// Writes messages from a parallel job over the entities.
pub(super) fn write_in_job(cell: Cell) -> Reading {
    let mut world = world();
    world.spawn_batch((0..MANY).map(|index| A(index as f32)));
    world.add_system(|all: Query<'_, &A>, mut messages: MessageWriter<'_, Hit>| {
        all.job().with(messages.writer()).schedule_parallel(|a, messages| {
            messages.write(work::hit(a.0 as usize));
        });
    });
    let operation = |world: &mut World| {
        update(world);
        world.jobs().complete_everything();
    };
    cell.run(world, operation, last_hits)
}

fn write_all(mut messages: MessageWriter<'_, Hit>) {
    messages.write_batch((0..MANY).map(work::hit));
}

/// Reads messages as slices, in several systems.
pub(super) fn read(cell: Cell) -> Reading {
    let make = || {
        let mut world = world();
        for _ in 0..READERS {
            world.add_system(|mut messages: MessageReader<'_, Hit>| {
                for slice in messages.slices() {
                    work::add(slice.iter().map(work::damage).sum());
                }
            });
        }
        // The first update prepares the systems.
        update(&mut world);
        world.run_system(write_all).expect("it writes messages only");
        work::take_sum();
        world
    };
    cell.run_afresh(make, update, |_| work::take_sum())
}

/// A message type with a number.
#[derive(Message)]
#[message(local)]
struct Note<const NUMBER: usize>;

/// Registers a type of messages.
fn register<const NUMBER: usize>(world: &mut World) {
    let system = world.add_system(|_: MessageReader<'_, Note<NUMBER>>| {});
    world.remove_system(system).expect("it was just added");
}

/// Updates a world that knows 200 types of messages.
pub(super) fn many_types(cell: Cell) -> Reading {
    macro_rules! register {
        ($world:expr, $($tens:literal)*) => {$(
            register::<{ $tens * 10 }>($world);
            register::<{ $tens * 10 + 1 }>($world);
            register::<{ $tens * 10 + 2 }>($world);
            register::<{ $tens * 10 + 3 }>($world);
            register::<{ $tens * 10 + 4 }>($world);
            register::<{ $tens * 10 + 5 }>($world);
            register::<{ $tens * 10 + 6 }>($world);
            register::<{ $tens * 10 + 7 }>($world);
            register::<{ $tens * 10 + 8 }>($world);
            register::<{ $tens * 10 + 9 }>($world);
        )*};
    }
    let mut world = systems(1, || {});
    register!(&mut world, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19);
    cell.run(world, update, |_| 0)
}

/// Returns a world with an observer of new positions, which counts them.
fn observed() -> World {
    work::take_sum();
    let mut world = world();
    world.add_observer(|added: On<'_, Add<Position>>| work::add(added.len() as u64));
    world
}

fn observed_result(world: &mut World) -> u64 {
    (world.query::<&Position>().count() as u64).wrapping_mul(2) - work::take_sum()
}

pub(super) fn observed_many(cell: Cell) -> Reading {
    let operation = |world: &mut World| {
        world.spawn_many(work::body(0), MANY);
    };
    cell.run_afresh(observed, operation, observed_result)
}

pub(super) fn observed_each(cell: Cell) -> Reading {
    let operation = |world: &mut World| {
        for index in 0..MANY {
            world.spawn(work::body(index));
        }
    };
    cell.run_afresh(observed, operation, observed_result)
}

/// Removes a component from all entities, and gets the values in an observer.
pub(super) fn removed_values(cell: Cell) -> Reading {
    let make = || {
        work::take_sum();
        let mut world = world();
        world.add_observer(|lost: On<'_, Remove<Velocity>, Value>| {
            let values = lost.iter().filter_map(|event| event.value().copied());
            work::add(values.map(|velocity: Velocity| u64::from(velocity.0.y.to_bits())).sum());
        });
        world.spawn_batch((0..MANY).map(work::body));
        world
    };
    let operation = |world: &mut World| {
        let all = QueryDescriptor::of::<&Velocity, ()>();
        world.batch(&all).remove::<Velocity>().expect("there is memory");
    };
    cell.run_afresh(make, operation, |_| work::take_sum())
}

/// A component that is observed, and that no entity has.
#[derive(Clone, Component, Copy)]
struct Other;

/// Changes entities without observed components, in a world with observers.
pub(super) fn unobserved(cell: Cell) -> Reading {
    let make = || {
        let mut world = world();
        world.add_observer(|_: On<'_, Add<Other>>| {});
        world.add_observer(|_: On<'_, Remove<Other>>| {});
        world
    };
    cell.run_afresh(make, change_structure, |world| world.entity_count() as u64)
}

/// Switches some entities, and observes that.
pub(super) fn observed_toggles(cell: Cell) -> Reading {
    let mut state = toggles();
    state.world.add_observer(|on: On<'_, Enable<Awake>>| work::add(on.len() as u64));
    state.world.add_observer(|off: On<'_, Disable<Awake>>| work::add(off.len() as u64));
    update(&mut state.world);
    work::take_sum();
    cell.run(state, Toggles::switch, |_| work::take_sum())
}

/// A resource that conditions read.
#[derive(Resource, Clone)]
struct IsOn(bool);

/// Updates systems that do nothing, each with a condition.
fn conditions(cell: Cell, is_on: bool) -> Reading {
    let with_conditions = |system: fn()| {
        let mut world = world();
        world.insert_resource(IsOn(is_on));
        for _ in 0..SYSTEMS {
            world.add_system(system.run_if(|is_on: Res<'_, IsOn>| is_on.0));
        }
        world
    };
    let mut counted = with_conditions(|| work::add(1));
    update(&mut counted);
    let ran = work::take_sum();
    cell.run(with_conditions(|| {}), update, |_| ran)
}

pub(super) fn conditions_false(cell: Cell) -> Reading {
    conditions(cell, false)
}

pub(super) fn conditions_true(cell: Cell) -> Reading {
    conditions(cell, true)
}

/// Updates systems that return an error, and a handler that drops it.
pub(super) fn failing(cell: Cell) -> Reading {
    let mut world = world();
    for _ in 0..FAILING {
        world.add_system(|| Err::<(), _>("no fuel"));
    }
    let operation = |world: &mut World| drop(world.try_update(FRAME));
    cell.run(world, operation, |world| match world.try_update(FRAME) {
        Ok(()) => 0,
        Err(errors) => errors.iter().count() as u64,
    })
}

/// Adds four components by four commands per entity.
pub(super) fn chained_commands(cell: Cell) -> Reading {
    let make = || {
        let mut world = world();
        let entities = world.spawn_many((), FEW).collect();
        (world, entities)
    };
    let mut buffer = EntityCommandBuffer::new();
    let operation = |(world, entities): &mut Populated| {
        let mut commands = commands(world, &mut buffer);
        for (index, &entity) in entities.iter().enumerate() {
            let (position, velocity) = work::body(index);
            commands.entity(entity).add(position).add(velocity).add(A(1.0)).add(B(2.0));
        }
        play(world, &mut buffer);
    };
    cell.run_afresh(make, operation, |(world, _)| chained_result(world))
}

/// A component with a timer.
#[derive(Clone, Component, Copy)]
struct Clock(Timer);

pub(super) fn tick_timers(cell: Cell) -> Reading {
    let mut world = world();
    let clock = |index| Clock(Timer::repeating(timer_seconds(index)));
    world.spawn_batch((0..MILLION).map(clock));
    let operation = |world: &mut World| {
        world.query_mut::<&mut Clock>().for_each(|clock| {
            clock.0.tick(FRAME);
        });
    };
    cell.run(world, operation, |world| {
        let elapsed = world.query::<&Clock>().iter().map(|clock| clock.0.elapsed().to_bits());
        work::in_any_order(elapsed.collect::<Vec<_>>().into_iter())
    })
}

/// A component that requires three others.
#[derive(Clone, Component, Copy)]
#[component(require(A, B, Position))]
struct Ship(Vec3);

pub(super) fn required(cell: Cell) -> Reading {
    let operation = |world: &mut World| {
        for index in 0..MANY {
            world.spawn(Ship(Vec3::splat(index as f32)));
        }
    };
    cell.run_afresh(world, operation, |world| world.query::<(&A, &B, &Position)>().count() as u64)
}

/// Declares resource types with different names, and a function that inserts all of them.
macro_rules! resources {
    ($($name:ident)*) => {
        $(
            #[derive(Clone, Default, Resource)]
            struct $name(u64);
        )*

        fn insert_resources(world: &mut World) {
            $(world.insert_resource($name::default());)*
        }
    };
}

resources! {
    R00 R01 R02 R03 R04 R05 R06 R07 R08 R09 R10 R11 R12 R13 R14 R15 R16 R17 R18 R19
    R20 R21 R22 R23 R24 R25 R26 R27 R28 R29 R30 R31 R32 R33 R34 R35 R36 R37 R38 R39
    R40 R41 R42 R43 R44 R45 R46 R47 R48 R49 R50 R51 R52 R53 R54 R55 R56 R57 R58 R59
    R60 R61 R62 R63 R64 R65 R66 R67 R68 R69 R70 R71 R72 R73 R74 R75 R76 R77 R78 R79
    R80 R81 R82 R83 R84 R85 R86 R87 R88 R89 R90 R91 R92 R93 R94 R95 R96 R97 R98 R99
}

/// Forks a world with 100 resources, and drops the fork.
pub(super) fn fork(cell: Cell) -> Reading {
    let mut world = world();
    insert_resources(&mut world);
    world.spawn_batch((0..FEW).map(work::body));
    let operation = |world: &mut World| drop(world.fork().expect("all is Clone"));
    cell.run(world, operation, |world| world.query::<&Position>().count() as u64)
}

/// A resource that takes a while to clone.
#[derive(Clone, Resource)]
struct Large(Vec<u64>);

/// Writes to a resource that a fork shares.
pub(super) fn first_write(cell: Cell) -> Reading {
    let make = || {
        let mut world = world();
        world.insert_resource(Large(large_value()));
        let fork = world.fork().expect("all is Clone");
        (world, fork)
    };
    let operation = |(world, _): &mut (World, World)| world.resource_mut::<Large>().0[0] += 1;
    cell.run_afresh(make, operation, |(world, _)| world.resource::<Large>().0[0])
}

/// Writes to a resource that no fork shares any more.
pub(super) fn later_writes(cell: Cell) -> Reading {
    let mut world = world();
    world.insert_resource(Large(large_value()));
    world.add_system(|mut large: ResMut<'_, Large>| {
        for _ in 0..WRITES {
            black_box(&mut large).0[0] += 1;
        }
    });
    cell.run(world, update, |world| world.resource::<Large>().0[0])
}

/// Declares states, and a function that adds all of them.
macro_rules! states {
    ($($name:ident)*) => {
        $(
            #[derive(Clone, Debug, PartialEq, States)]
            enum $name {
                Off,
            }
        )*

        fn add_states(world: &mut World) {
            $(world.add_state($name::Off);)*
        }
    };
}

states! { S0 S1 S2 S3 S4 S5 S6 S7 S8 S9 }

/// Updates a world with ten states, none of which changes.
pub(super) fn idle_states(cell: Cell) -> Reading {
    let mut world = systems(1, || {});
    add_states(&mut world);
    cell.run(world, update, |_| 0)
}

/// A relationship like that of children to their parent.
#[derive(Clone, Component, Copy)]
#[relationship(reverse = Inside, ordered, acyclic, on_target_despawn = despawn)]
struct Within(Entity);

#[derive(BufferElement, Clone, Copy)]
#[buffer(reverse_of = Within)]
struct Inside(Entity);

/// Attaches children to one parent by commands.
pub(super) fn attach(cell: Cell) -> Reading {
    let mut buffer = EntityCommandBuffer::new();
    let make = || {
        let mut world = world();
        let entities = world.spawn_batch((0..MANY).map(work::body)).collect();
        let parent = world.spawn(());
        (world, entities, parent)
    };
    let operation = |(world, entities, parent): &mut (World, Vec<Entity>, Entity)| {
        let mut commands = commands(world, &mut buffer);
        for &entity in entities.iter() {
            commands.add(entity, Within(*parent));
        }
        play(world, &mut buffer);
    };
    cell.run_afresh(make, operation, |(world, _, parent)| {
        world.sources::<Within>(*parent).len() as u64
    })
}

/// Despawns a tree by its root.
pub(super) fn despawn_tree(cell: Cell) -> Reading {
    let make = || {
        let mut world = world();
        let nodes: Vec<Entity> = world.spawn_batch((0..MANY).map(work::body)).collect();
        for (node, &entity) in nodes.iter().enumerate() {
            if let Some(parent) = work::parent_of(node) {
                let added = world.add(entity, Within(nodes[parent]));
                added.map_err(|rejected| rejected.error).expect("both exist");
            }
        }
        (world, nodes[0])
    };
    let operation = |(world, root): &mut (World, Entity)| {
        world.despawn(*root).expect("it exists");
    };
    cell.run_afresh(make, operation, |(world, _)| world.query::<&Position>().count() as u64)
}

/// A relationship without an order.
#[derive(Clone, Component, Copy)]
#[relationship(reverse = Members)]
struct MemberOf(Entity);

#[derive(BufferElement, Clone, Copy)]
#[buffer(reverse_of = MemberOf)]
struct Members(Entity);

/// Removes one link after the other, in no order.
pub(super) fn detach(cell: Cell) -> Reading {
    let mut world = world();
    let target = world.spawn(());
    let members: Vec<Entity> = world.spawn_many(MemberOf(target), SOURCES).collect();
    let operation = |(world, removed): &mut (World, usize)| {
        // The step has no common divisor with the number of members.
        let member = members[*removed * 7_919 % SOURCES];
        world.remove::<MemberOf>(member).expect("it exists");
        *removed += 1;
    };
    cell.run((world, 0), operation, |(world, removed)| {
        (SOURCES - *removed - world.sources::<MemberOf>(target).len()) as u64
    })
}
