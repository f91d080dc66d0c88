//! An entity that is placed by a `LocalTransform`, with methods.

use ancho_entities::{Aspect, Entity};
use glam::{Quat, Vec3};

use crate::components::{LocalToWorld, Parent};
use crate::compose::is_finite;
use crate::local_transform::LocalTransform;

/// An entity that is placed by a [`LocalTransform`]: data of queries, with what is done mostly.
///
/// What is written is relative to the parent, or to the world if there is none. What is read of the world is of the last update.
/// Unity's `TransformAspect`.
///
/// # Examples
///
/// ```
/// use ancho_entities::World;
/// use ancho_transforms::{AddTransforms, LocalToWorld, LocalTransform, TransformAspect};
/// use glam::Vec3;
///
/// let mut world = World::new("Simulation");
/// world.add_transforms();
/// let ship = world.spawn(LocalTransform::IDENTITY);
/// world.update(0.1);
/// for mut ship in world.query_mut::<TransformAspect>() {
///     ship.translate(Vec3::Y);
///     ship.look_at(Vec3::new(5.0, 1.0, 0.0), Vec3::Y);
/// }
/// world.update(0.1);
/// let place = world.get::<LocalToWorld>(ship)?;
/// assert_eq!(place.position(), Vec3::Y);
/// assert!(place.forward().abs_diff_eq(Vec3::X, 1e-6));
/// # Ok::<(), ancho_entities::EntityError>(())
/// ```
#[derive(Aspect, Debug)]
#[aspect(read_only = TransformView)]
pub struct TransformAspect<'w> {
    /// The entity.
    pub entity: Entity,
    /// Where it is, relative to its parent.
    pub local: &'w mut LocalTransform,
    /// Where it was in the world when that was last updated.
    pub in_world: &'w LocalToWorld,
    /// Its parent, if it has one.
    pub parent: Option<&'w Parent>,
}

impl TransformAspect<'_> {
    /// Where it was in the world when that was last updated.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::World;
    /// use ancho_transforms::{LocalTransform, TransformAspect, update_transforms};
    /// use glam::Vec3;
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn(LocalTransform::from_position(Vec3::X));
    /// update_transforms(&mut world)?;
    /// for mut ship in world.query_mut::<TransformAspect>() {
    ///     ship.translate(Vec3::Y);
    ///     assert_eq!(ship.world_position(), Vec3::X, "it is still there");
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn world_position(&self) -> Vec3 {
        self.in_world.position()
    }

    /// Where a point of its space was in the world when that was last updated.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::World;
    /// use ancho_transforms::{LocalTransform, TransformAspect, update_transforms};
    /// use glam::Vec3;
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn(LocalTransform::from_position(Vec3::X).scaled(2.0));
    /// update_transforms(&mut world)?;
    /// for ship in world.query_mut::<TransformAspect>() {
    ///     assert_eq!(ship.to_world(Vec3::Y), Vec3::new(1.0, 2.0, 0.0));
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn to_world(&self, point: Vec3) -> Vec3 {
        self.in_world.to_world(point)
    }

    /// Where a point of the world was in its space when that was last updated. `None` if it is scaled to nothing along an axis.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::World;
    /// use ancho_transforms::{LocalTransform, TransformAspect, update_transforms};
    /// use glam::Vec3;
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn(LocalTransform::from_position(Vec3::X).scaled(2.0));
    /// update_transforms(&mut world)?;
    /// for ship in world.query_mut::<TransformAspect>() {
    ///     assert_eq!(ship.to_local(Vec3::new(1.0, 2.0, 0.0)), Some(Vec3::Y));
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn to_local(&self, point: Vec3) -> Option<Vec3> {
        self.in_world.to_local(point)
    }

    /// Moves it, in the space of its parent.
    pub fn translate(&mut self, way: Vec3) {
        *self.local = self.local.translated(way);
    }

    /// Moves it, in its own space: along the axes that it has. How far is measured in the space of its parent: it is turned, and not
    /// scaled.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::World;
    /// use ancho_transforms::{LocalTransform, TransformAspect, look_rotation, update_transforms};
    /// use glam::Vec3;
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn(LocalTransform::from_rotation(look_rotation(Vec3::X, Vec3::Y)).scaled(2.0));
    /// update_transforms(&mut world)?;
    /// for mut ship in world.query_mut::<TransformAspect>() {
    ///     // Forward, which is along the x axis of the world.
    ///     ship.translate_local(Vec3::Z);
    ///     assert!(ship.local.position.abs_diff_eq(Vec3::X, 1e-6));
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn translate_local(&mut self, way: Vec3) {
        *self.local = self.local.translated(self.local.transform_direction(way));
    }

    /// Turns it where it is, about axes of its own.
    ///
    /// Of many turns one after the other the length of the rotation strays from one, and the matrix scales: who turns something in
    /// each frame sees to it that it stays of length one, as [`Rotation::turned`](crate::Rotation::turned) does.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::f32::consts::FRAC_PI_2;
    ///
    /// use ancho_entities::World;
    /// use ancho_transforms::{LocalTransform, TransformAspect, update_transforms};
    /// use glam::{Quat, Vec3};
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn(LocalTransform::IDENTITY);
    /// update_transforms(&mut world)?;
    /// for mut ship in world.query_mut::<TransformAspect>() {
    ///     ship.rotate(Quat::from_rotation_y(FRAC_PI_2));
    ///     ship.local.rotation = ship.local.rotation.normalize();
    ///     assert!(ship.local.forward().abs_diff_eq(Vec3::X, 1e-6));
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn rotate(&mut self, rotation: Quat) {
        *self.local = self.local.rotated(rotation);
    }

    /// Turns it so that it looks at a point in the space of its parent.
    pub fn look_at(&mut self, target: Vec3, up: Vec3) {
        *self.local = self.local.looking_at(target, up);
    }

    /// Places it where something else is in the world, by the matrix of its parent, which is [`None`] if it has none. Of different
    /// scales it takes the largest, and shear is left out. Returns whether it could: a parent that is scaled to nothing has no place for
    /// it, and what is infinite or not a number is none. Then it is left as it is.
    ///
    /// The matrix is that of the last update. If the parent has moved since, [`world_transform`](crate::world_transform) has the one
    /// of now.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::World;
    /// use ancho_transforms::{AddTransforms, LocalToWorld, LocalTransform, Parent, TransformAspect};
    /// use glam::Vec3;
    ///
    /// let mut world = World::new("Simulation");
    /// world.add_transforms();
    /// let ship = world.spawn(LocalTransform::from_position(Vec3::X).scaled(2.0));
    /// let gun = world.spawn((LocalTransform::IDENTITY, Parent(ship)));
    /// world.update(0.1);
    /// let parent = *world.get::<LocalToWorld>(ship)?;
    /// for mut child in world.query_mut::<TransformAspect>() {
    ///     if child.parent.is_some() {
    ///         assert!(child.place_in_world(Some(&parent), LocalTransform::from_position(Vec3::Y)));
    ///     }
    /// }
    /// world.update(0.1);
    /// assert_eq!(world.get::<LocalToWorld>(gun)?.position(), Vec3::Y);
    /// assert_eq!(world.get::<LocalTransform>(gun)?.scale, 0.5);
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    pub fn place_in_world(&mut self, parent: Option<&LocalToWorld>, place: LocalTransform) -> bool {
        let local = match parent {
            Some(parent) => {
                crate::relative_to(parent, place.to_matrix()).map(LocalTransform::from_matrix)
            }
            None => Some(place),
        };
        match local.filter(|local| is_finite(&local.affine())) {
            Some(local) => {
                *self.local = local;
                true
            }
            None => false,
        }
    }
}
