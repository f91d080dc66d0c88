//! Physics with rapier2d: boxes fall on a floor, and one of them is despawned.
//!
//! Shows a struct system that owns a library's state, a cleanup component that tells it of despawned entities, and the feature
//! `glam_0_33`: rapier's vectors are those of glam 0.33, and ancho's are newer.
//!
//! ```toml
//! [dependencies]
//! ancho = { path = "../ancho/crates/ancho", features = ["glam_0_33"] }
//! rapier2d = { version = "0.36", features = ["enhanced-determinism"] }
//! ```
//!
//! Last line: `3 boxes at rest, the highest at 2.50 m`

use ancho::entities::glam_0_33::{ToGlam, ToGlam033};
use ancho::prelude::*;
use rapier2d::prelude::{
    ColliderBuilder, PhysicsWorld, RigidBodyBuilder, RigidBodyHandle, RigidBodyType, Vector,
};

const STEP: f64 = 1.0 / 60.0;

/// The place of an entity, in meters. The program sets it once, then the physics writes it.
#[derive(Component, Clone, Copy)]
struct Position(Vec2);

/// A vector of glam 0.33. With the feature `glam_0_33` it is a field like any other, and part of the state hash.
#[derive(Component, Clone, Copy, Default)]
struct Velocity(Vector);

/// A request of the program: the entity is a box with this width and height.
#[derive(Component, Clone, Copy)]
struct PhysicsBox {
    size: Vec2,
    is_fixed: bool,
}

/// The body of an entity in rapier. A cleanup component stays when its entity is despawned, until the system removes it.
#[derive(Component, Clone, Copy)]
#[component(cleanup)]
struct Body(#[field(opaque)] RigidBodyHandle);

/// System with rapier's state. Its fields are not part of a fork: a rollback would have to restore them, too.
#[derive(Default)]
struct Physics {
    rapier: PhysicsWorld,
}

impl System for Physics {
    fn on_create(&mut self, _: &mut World) -> SystemResult {
        self.rapier.integration_parameters.dt = STEP as f32;
        Ok(())
    }

    fn on_update(&mut self, world: &mut World) -> SystemResult {
        self.insert_new(world)?;
        self.remove_despawned(world)?;
        self.rapier.step();
        self.write_back(world);
        Ok(())
    }
}

impl Physics {
    /// Inserts a body for each entity that has none.
    fn insert_new(&mut self, world: &mut World) -> SystemResult {
        // The loop borrows the world, so the changes are collected first.
        let mut new = Vec::new();
        for (entity, position, shape) in
            &world.query_filtered::<(Entity, &Position, &PhysicsBox), Without<Body>>()
        {
            let kind = if shape.is_fixed { RigidBodyType::Fixed } else { RigidBodyType::Dynamic };
            let body = RigidBodyBuilder::new(kind).translation(position.0.to_glam_0_33());
            let half = shape.size / 2.0;
            let (body, _) = self.rapier.insert(body, ColliderBuilder::cuboid(half.x, half.y));
            new.push((entity, body));
        }
        for (entity, body) in new {
            world.add(entity, (Body(body), Velocity::default()))?;
        }
        Ok(())
    }

    /// Removes the bodies of despawned entities, which have only their `Body` left.
    fn remove_despawned(&mut self, world: &mut World) -> SystemResult {
        for (_, body) in &world.query_filtered::<(Entity, &Body), Without<PhysicsBox>>() {
            self.rapier.remove_body(body.0);
        }
        // One change of all entities that match.
        let despawned = QueryDescriptor::of::<&Body, Without<PhysicsBox>>();
        world.batch(despawned).remove::<Body>()?;
        Ok(())
    }

    /// Copies the results of the step to the components.
    fn write_back(&self, world: &mut World) {
        for (position, velocity, body) in
            &mut world.query_mut::<(&mut Position, &mut Velocity, &Body)>()
        {
            let body = &self.rapier.bodies[body.0];
            position.0 = body.translation().to_glam();
            velocity.0 = body.linvel();
        }
    }
}

fn main() -> SystemResult {
    let mut world = World::new("Boxes");
    world.add_system(Physics::default());
    let floor = PhysicsBox { size: Vec2::new(20.0, 1.0), is_fixed: true };
    world.spawn((floor, Position(Vec2::new(0.0, -0.5))));
    let boxes = [1.0, 2.5, 4.0, 5.5].map(|height| {
        let shape = PhysicsBox { size: Vec2::ONE, is_fixed: false };
        world.spawn((shape, Position(Vec2::new(0.0, height))))
    });

    for _ in 0..240 {
        world.try_update(STEP)?;
    }
    println!("the highest of 4 boxes is at {:.2} m", world.get::<Position>(boxes[3])?.0.y);

    // The boxes above it fall.
    world.despawn(boxes[0])?;
    for _ in 0..240 {
        world.try_update(STEP)?;
    }
    let dynamic = world.query::<(&PhysicsBox, &Velocity, &Position)>();
    let resting: Vec<f32> = dynamic
        .iter()
        .filter(|(shape, velocity, _)| !shape.is_fixed && velocity.0.length() < 0.01)
        .map(|(_, _, position)| position.0.y)
        .collect();
    let highest = resting.iter().copied().fold(0.0, f32::max);
    println!("{} boxes at rest, the highest at {highest:.2} m", resting.len());
    Ok(())
}
