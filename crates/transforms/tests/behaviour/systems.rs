//! When matrices are made: T9, T18-9.

use ancho_entities::{IntoSystem, Presentation, Query, ResMut, Single, World};
use ancho_transforms::{AddTransforms, LocalToWorld, Position, TransformGroup, TransformSystem};
use glam::Vec3;

use crate::common::{at, place, world};

struct Seen(Vec<Vec3>);

fn push(mut positions: Query<&mut Position>) {
    positions.for_each(|position| position.0.x += 1.0);
}

fn look(place: Single<&LocalToWorld>, mut seen: ResMut<Seen>) {
    seen.0.push(place.position());
}

#[test]
fn t9_the_group_runs_after_all_that_moves_and_before_presentation() {
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
fn t18_9_a_second_instance_at_another_point() {
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

#[test]
fn t18_9_a_patch_runs_after_every_system() {
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
fn what_goes_wrong_is_told_with_the_system() {
    let mut world = world();
    world.add_transforms();
    world.spawn(at(f32::NAN, 0.0, 0.0));
    let errors = world.try_update(0.1).unwrap_err().to_string();
    assert!(errors.contains("LocalToWorldSystem") && errors.contains("A0141: "), "{errors}");
}

#[test]
fn moving_jobs_are_waited_for() {
    fn push_in_background(mut positions: Query<&mut Position>) {
        positions.schedule_parallel(|position| position.0.x += 1.0);
    }
    let mut world = World::new("Simulation");
    world.add_transforms();
    world.add_system(push_in_background);
    let all: Vec<_> = world.spawn_many(5000, at(0.0, 0.0, 0.0)).collect();
    for step in 1..4 {
        world.try_update(0.1).unwrap();
        let expected = Vec3::new(step as f32, 0.0, 0.0);
        assert!(all.iter().all(|&entity| place(&world, entity) == expected));
    }
}
