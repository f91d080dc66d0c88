//! The order of transform systems and other systems.

use ancho_entities::{
    Buffer, CommandsAt, Component, EndSimulation, Entity, IntoSystem, LateSimulation, Presentation,
    Query, Res, ResMut, Resource, Single, World,
};
use ancho_transforms::{
    AddTransforms, Child, LocalToWorld, Parent, Position, TransformGroup, TransformSystem,
};
use glam::Vec3;

use crate::common::{at, children, place, world};

#[derive(Resource)]
#[resource(local)]
struct Seen(Vec<Vec3>);

fn push(mut positions: Query<&mut Position>) {
    positions.for_each(|position| position.0.x += 1.0);
}

fn look(place: Single<&LocalToWorld>, mut seen: ResMut<Seen>) {
    seen.0.push(place.position());
}

#[test]
fn the_group_runs_after_the_simulation_and_before_presentation() {
    let mut world = world();
    world.insert_resource(Seen(Vec::new()));
    world.add_transforms().add_transforms();
    world.add_system(look.in_group(Presentation));
    world.add_system(push);
    world.spawn((at(0.0, 0.0, 0.0), LocalToWorld::IDENTITY));
    world.try_update(0.1).unwrap();
    world.try_update(0.1).unwrap();
    assert_eq!(world.resource::<Seen>().0, [Vec3::X, Vec3::new(2.0, 0.0, 0.0)]);
    let order = world.system_order().to_string();
    let at = |name: &str| order.find(name).unwrap_or_else(|| panic!("{name} in {order}"));
    assert!(at("ParentSystem") < at("LocalToWorldSystem"));
    assert!(at("LocalToWorldSystem") < at("EndSimulation"));
    assert!(world.find_system(TransformGroup).is_some());
}

#[test]
fn systems_after_transforms_see_matrices_of_their_frame_and_commands_apply_in_time() {
    /// The position of an entity as read by a camera system.
    #[derive(Component, Clone, Copy, Debug, PartialEq)]
    struct Shot(f32);

    fn take_shot(place: Single<&LocalToWorld>, mut commands: CommandsAt<EndSimulation>) {
        commands.commands().spawn(Shot(place.position().x));
    }

    fn develop(shots: Query<&Shot>, mut seen: ResMut<Seen>) {
        seen.0.extend(shots.iter().map(|shot| Vec3::splat(shot.0)));
    }

    // Whatever is added first.
    for transforms_first in [true, false] {
        let mut world = world();
        world.insert_resource(Seen(Vec::new()));
        if transforms_first {
            world.add_transforms();
        }
        world.add_system(take_shot.in_group(LateSimulation));
        world.add_system(develop.in_group(Presentation));
        world.add_system(push);
        world.add_transforms();
        world.spawn((at(0.0, 0.0, 0.0), LocalToWorld::IDENTITY));
        world.try_update(0.1).unwrap();
        assert_eq!(world.resource::<Seen>().0, [Vec3::ONE]);
        let order = world.system_order().to_string();
        let at = |name: &str| order.find(name).unwrap_or_else(|| panic!("{name} in {order}"));
        assert!(at("push") < at("TransformGroup"));
        assert!(at("TransformGroup") < at("LateSimulation"));
        assert!(at("LateSimulation") < at("EndSimulation"));
    }
}

#[test]
fn an_order_after_transforms_is_refused_with_the_group_that_runs_there() {
    let mut world = world();
    world.add_transforms();
    world.insert_resource(Seen(Vec::new()));
    world.add_system(look.named("look").after(TransformGroup));
    assert_eq!(
        world.sort_systems().unwrap_err().to_string(),
        "A0127: `look` of `Simulation` should run after `TransformGroup`, but it is neither among the first nor the \
         last, and `TransformGroup` is among the last; put `look` in `LateSimulation`, which runs after \
         `TransformGroup`, or remove `after`"
    );
}

#[test]
fn a_late_system_runs_after_transforms_without_an_order() {
    let mut world = world();
    world.add_transforms();
    world.insert_resource(Seen(Vec::new()));
    world.add_system(look.named("look").in_group(LateSimulation).after(TransformGroup));
    assert_eq!(
        world.sort_systems().unwrap_err().to_string(),
        "A0126: `look` of `LateSimulation` should run after `TransformGroup`, which is in `Simulation`; all systems of \
         `LateSimulation` run after `TransformGroup` already; remove `after`"
    );
}

#[test]
fn a_second_instance_at_another_point() {
    let mut world = world();
    world.insert_resource(Seen(Vec::new()));
    world.add_transforms();
    let second = world.add_system(TransformSystem.named("early").after(push).before(look));
    world.add_system(look);
    world.add_system(push);
    let entity = world.spawn((at(0.0, 0.0, 0.0), LocalToWorld::IDENTITY));
    world.try_update(0.1).unwrap();
    assert_eq!(world.resource::<Seen>().0, [Vec3::X]);
    // By hand.
    world.get_mut::<Position>(entity).unwrap().0 = Vec3::Y;
    world.update_system(second).unwrap();
    assert_eq!(place(&world, entity), Vec3::Y);
}

/// Two parents that take turns with the child.
#[derive(Resource)]
#[resource(local)]
struct Homes([Entity; 2]);

fn raise_homes(mut positions: Query<&mut Position>, homes: Res<Homes>) {
    for home in homes.0 {
        positions.get_mut(home).unwrap().0.y += 1.0;
    }
}

fn look_at_child(place: Single<(&LocalToWorld, &Parent)>, mut seen: ResMut<Seen>) {
    seen.0.push(place.0.position());
}

fn move_to_the_other(world: &mut World) {
    let [first, second] = world.resource::<Homes>().0;
    let (old, new) =
        if world.children(first).is_empty() { (second, first) } else { (first, second) };
    let child = world.children(old)[0];
    world.set(child, Parent(new)).unwrap();
}

#[test]
fn two_instances_with_another_parent_between() {
    let mut world = world();
    let homes = [world.spawn(at(1.0, 0.0, 0.0)), world.spawn(at(5.0, 0.0, 0.0))];
    let child = world.spawn((at(0.0, 0.0, 1.0), Parent(homes[0])));
    world.insert_resource(Homes(homes));
    world.insert_resource(Seen(Vec::new()));
    world.add_transforms();
    world.add_system(raise_homes);
    let early = world.add_system(TransformSystem.named("early").after(raise_homes));
    world.add_system(look_at_child.after(early));
    world.add_system(move_to_the_other.after(look_at_child));
    for frame in 1..=4_u8 {
        world.try_update(0.1).unwrap();
        // Seen by the first instance, below the one that the second has found in the last frame.
        let (old, new) = if frame % 2 == 1 { (0, 1) } else { (1, 0) };
        let (x, y) = ([1.0, 5.0], f32::from(frame));
        assert_eq!(world.resource::<Seen>().0.last(), Some(&Vec3::new(x[old], y, 1.0)));
        assert_eq!(place(&world, child), Vec3::new(x[new], y, 1.0));
        assert_eq!(children(&world, homes[new]), [child]);
        assert!(!world.has::<Buffer<Child>>(homes[old]));
        world.check_invariants().unwrap();
    }
}

#[test]
fn a_patch_runs_after_every_system() {
    let mut world = world();
    world.insert_resource(Seen(Vec::new()));
    world.add_system(TransformSystem.patch());
    world.add_system(push.before(look));
    world.add_system(look);
    world.spawn((at(0.0, 0.0, 0.0), LocalToWorld::IDENTITY));
    world.try_update(0.1).unwrap();
    assert_eq!(world.resource::<Seen>().0, [Vec3::X]);
}

#[test]
fn errors_name_the_system() {
    let mut world = world();
    world.add_transforms();
    world.spawn(at(f32::NAN, 0.0, 0.0));
    let errors = world.try_update(0.1).unwrap_err().to_string();
    assert!(errors.contains("LocalToWorldSystem") && errors.contains("A0141: "), "{errors}");
}

#[test]
fn a0051_names_add_transforms_for_a_missing_matrix() {
    let mut world = world();
    let root = world.spawn(at(0.0, 0.0, 0.0));
    let child = world.spawn((at(1.0, 0.0, 0.0), Parent(root)));
    world.try_update(0.1).unwrap();
    assert_eq!(
        world.get::<LocalToWorld>(child).unwrap_err().to_string(),
        format!(
            "A0051: entity {child} has no `ancho::LocalToWorld`; the transform systems add it: call `add_transforms`, and update \
             the world"
        )
    );
    world.add_transforms();
    world.try_update(0.1).unwrap();
    assert!(world.has::<LocalToWorld>(child));
}

#[test]
fn transforms_wait_for_jobs_that_move_entities() {
    fn push_in_background(mut positions: Query<&mut Position>) {
        positions.schedule_parallel(|position| position.0.x += 1.0);
    }
    let mut world = World::new("Simulation");
    world.add_transforms();
    world.add_system(push_in_background);
    let all: Vec<_> = world.spawn_many(at(0.0, 0.0, 0.0), 5000).collect();
    for step in 1..4 {
        world.try_update(0.1).unwrap();
        let expected = Vec3::new(step as f32, 0.0, 0.0);
        assert!(all.iter().all(|&entity| place(&world, entity) == expected));
    }
}
