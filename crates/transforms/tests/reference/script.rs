//! A forest with random changes.

use std::collections::BTreeSet;

use ancho_entities::{Component, Disabled, Entity, World};
use ancho_transforms::{
    Attach, Attached, CustomLocalToWorld, Frozen, LocalToWorld, LocalTransform, Parent, Position,
    PostTransformMatrix, Rotation, Scale, Static,
};
use glam::{Mat4, Quat, Vec3};

use crate::naive::{self, Steered};

/// A component that is unrelated to transforms.
#[derive(Component, Clone, Copy)]
#[component(name = "reference::Tag")]
struct Tag;

/// Pseudorandom numbers, the same in each run.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// Returns a number from -1 to 1.
    pub(crate) fn number(&mut self) -> f32 {
        (self.next() >> 40) as f32 / 8_388_608.0 - 1.0
    }

    pub(crate) fn vector(&mut self) -> Vec3 {
        Vec3::new(self.number(), self.number(), self.number())
    }

    pub(crate) fn rotation(&mut self) -> Quat {
        let [x, y, z, w] = std::array::from_fn(|_| self.number());
        Quat::from_xyzw(x, y, z, w + 1.5).normalize()
    }

    /// Returns a non-uniform scale without zeros.
    pub(crate) fn scale(&mut self) -> Vec3 {
        Vec3::ONE + self.vector() * 0.25
    }

    pub(crate) fn transform(&mut self) -> LocalTransform {
        LocalTransform {
            position: self.vector(),
            rotation: self.rotation(),
            scale: 1.0 + self.number() * 0.25,
        }
    }

    pub(crate) fn matrix(&mut self) -> Mat4 {
        Mat4::from_scale_rotation_translation(self.scale(), self.rotation(), self.vector())
    }

    pub(crate) fn post(&mut self) -> PostTransformMatrix {
        PostTransformMatrix(self.matrix())
    }
}

/// A forest that changes.
pub(crate) struct Forest {
    pub(crate) world: World,
    /// The entities that were spawned and not despawned.
    pub(crate) living: BTreeSet<Entity>,
    random: Random,
    /// Updates until something may change again.
    quiet: usize,
    /// True if a request to attach is pending. No other change is made before the next update.
    has_order: bool,
    /// The last change, for messages.
    pub(crate) last: String,
}

impl Forest {
    pub(crate) fn new(world: World, seed: u64, nodes: usize) -> Forest {
        let living = BTreeSet::new();
        let random = Random::new(seed);
        let last = String::new();
        let mut forest = Forest { world, living, random, quiet: 0, has_order: false, last };
        for _ in 0..nodes {
            forest.spawn();
        }
        forest
    }

    /// Makes some changes, but none while static entities are being frozen.
    pub(crate) fn change(&mut self, most: usize) {
        self.last.clear();
        if self.quiet > 0 {
            self.quiet -= 1;
            return;
        }
        self.has_order = false;
        for _ in 0..self.random.below(most + 1) {
            self.change_one();
            if self.quiet > 0 || self.has_order {
                return;
            }
        }
    }

    fn change_one(&mut self) {
        let Some(entity) = self.any() else { return self.spawn() };
        let what = match self.random.below(26) {
            0..=4 => self.move_it(entity),
            5..=7 => self.move_to_another_parent(entity),
            8 => {
                self.world.remove::<Parent>(entity).unwrap();
                "detached"
            }
            9 => {
                // Its descendants are despawned with it, or stay.
                if self.random.below(3) > 0 {
                    self.world.detach_children(entity).unwrap();
                }
                self.world.despawn(entity).unwrap();
                let world = &self.world;
                self.living.retain(|&entity| world.exists(entity));
                "despawned"
            }
            10..=11 => {
                self.spawn();
                "spawned another beside"
            }
            12..=13 => self.have_other_components(entity),
            14..=15 => self.toggle(entity),
            16 => self.make_static(entity),
            17..=18 => self.attach(entity),
            19 => {
                self.world.remove::<Attached>(entity).unwrap();
                "had no longer attached"
            }
            20..=21 => self.give_a_matrix(entity),
            22..=23 => self.steer(entity),
            24 => {
                self.world.remove::<LocalToWorld>(entity).unwrap();
                "took the matrix from"
            }
            _ => self.tag(entity),
        };
        self.last += &format!("{what} {entity}; ");
    }

    fn any(&mut self) -> Option<Entity> {
        let number = self.random.below(self.living.len().max(1));
        self.living.iter().nth(number).copied()
    }

    /// Spawns an entity with random components, with or without a parent.
    fn spawn(&mut self) {
        let random = &mut self.random;
        let entity = match random.below(9) {
            0 => self.world.spawn(Position(random.vector())),
            1 => self.world.spawn(Rotation(random.rotation())),
            2 => self.world.spawn(Scale(random.scale())),
            3 => self.world.spawn((Position(random.vector()), Rotation(random.rotation()))),
            4 => self.world.spawn((Position(random.vector()), Scale(random.scale()))),
            5 => self.world.spawn((Rotation(random.rotation()), Scale(random.scale()))),
            6 => self.world.spawn((
                Position(random.vector()),
                Rotation(random.rotation()),
                Scale(random.scale()),
            )),
            7 => self.world.spawn(random.transform()),
            _ => self.world.spawn((random.transform(), random.post())),
        };
        if random.below(5) > 0
            && let Some(parent) = self.any()
        {
            self.world.add(entity, Parent(parent)).unwrap();
        }
        self.living.insert(entity);
    }

    /// Writes the inputs of an entity.
    fn move_it(&mut self, entity: Entity) -> &'static str {
        let Forest { world, random, .. } = self;
        if let Ok(place) = world.get_mut::<LocalTransform>(entity) {
            *place = random.transform();
        }
        if let Ok(position) = world.get_mut::<Position>(entity) {
            position.0 = random.vector();
        } else if let Ok(rotation) = world.get_mut::<Rotation>(entity) {
            rotation.0 = random.rotation();
        } else if let Ok(scale) = world.get_mut::<Scale>(entity) {
            scale.0 = random.scale();
        }
        "moved"
    }

    /// Sets a parent that is not below the entity.
    fn move_to_another_parent(&mut self, entity: Entity) -> &'static str {
        let Some(parent) = self.any() else { return "left" };
        if naive::line(&self.world, &self.living, parent).any(|ancestor| ancestor == entity) {
            return "left";
        }
        self.world.add(entity, Parent(parent)).unwrap();
        "had another parent for"
    }

    /// Attaches the entity by a request.
    fn attach(&mut self, child: Entity) -> &'static str {
        let Some(parent) = self.any() else { return "left" };
        if naive::line(&self.world, &self.living, parent).any(|ancestor| ancestor == child) {
            return "left";
        }
        self.world.spawn(Attach { parent, child });
        self.has_order = true;
        "attached"
    }

    /// Adds, removes or changes the custom matrix of an entity.
    fn give_a_matrix(&mut self, entity: Entity) -> &'static str {
        let matrix = CustomLocalToWorld(self.random.matrix());
        if !self.world.has::<CustomLocalToWorld>(entity) {
            self.world.add(entity, matrix).unwrap();
        } else if self.random.below(2) == 0 {
            self.world.set(entity, matrix).unwrap();
        } else {
            self.world.remove::<CustomLocalToWorld>(entity).unwrap();
        }
        "gave a matrix to, or took it from"
    }

    /// Adds, removes or changes a matrix that other code writes.
    fn steer(&mut self, entity: Entity) -> &'static str {
        let matrix = self.random.matrix();
        if !self.world.has::<Steered>(entity) {
            self.world.add(entity, Steered).unwrap();
        } else if self.random.below(2) == 0 {
            self.world.remove::<Steered>(entity).unwrap();
        } else if let Ok(place) = self.world.get_mut::<LocalToWorld>(entity) {
            place.0 = matrix;
        }
        "steered, or no longer"
    }

    /// Moves the entity to another chunk, without effect on transforms.
    fn tag(&mut self, entity: Entity) -> &'static str {
        if self.world.has::<Tag>(entity) {
            self.world.remove::<Tag>(entity).unwrap();
        } else {
            self.world.add(entity, Tag).unwrap();
        }
        "tagged, or no longer"
    }

    /// Adds an input, or removes one of several.
    fn have_other_components(&mut self, entity: Entity) -> &'static str {
        let Forest { world, random, .. } = self;
        if world.has::<LocalTransform>(entity) {
            if world.has::<PostTransformMatrix>(entity) {
                world.remove::<PostTransformMatrix>(entity).unwrap();
            } else {
                world.add(entity, random.post()).unwrap();
            }
        } else if world.has::<(Position, Scale)>(entity) {
            world.remove::<Scale>(entity).unwrap();
        } else if world.has::<(Position, Rotation)>(entity) {
            world.remove::<Position>(entity).unwrap();
        } else if world.has::<Position>(entity) {
            world.add(entity, Rotation(random.rotation())).unwrap();
        } else {
            world.add(entity, (Position(random.vector()), Scale(random.scale()))).unwrap();
        }
        "gave other components to"
    }

    fn toggle(&mut self, entity: Entity) -> &'static str {
        if self.world.has::<Disabled>(entity) {
            self.world.remove::<Disabled>(entity).unwrap();
            "enabled"
        } else {
            self.world.add(entity, Disabled).unwrap();
            "disabled"
        }
    }

    /// Makes some entities static. Active ones are frozen two updates later; until then nothing else changes.
    fn make_static(&mut self, entity: Entity) -> &'static str {
        let Forest { world, living, .. } = self;
        let frozen = living.iter().filter(|entity| world.has::<Frozen>(**entity)).count();
        // Who is placed by the program is not frozen before that ends.
        if frozen * 5 > living.len() || world.has::<CustomLocalToWorld>(entity) {
            return "left";
        }
        self.world.add(entity, Static).unwrap();
        self.quiet = 2;
        "froze"
    }
}
