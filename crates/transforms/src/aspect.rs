//! Query data for entities with a `LocalTransform`.

use ancho_entities::{Aspect, Entity, Parent};
use glam::{Quat, Vec3};

use crate::components::LocalToWorld;
use crate::compose::is_finite;
use crate::local_transform::LocalTransform;

/// Query data for an entity with a [`LocalTransform`], with methods to move and rotate it.
///
/// Writes are relative to the parent, or to the world if there is no parent. Reads in world space return the state of the last
/// update. This is Unity's `TransformAspect`.
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
    /// The entity with this transform.
    pub entity: Entity,
    /// The transform relative to the parent.
    pub local: &'w mut LocalTransform,
    /// The world matrix of the last update.
    pub in_world: &'w LocalToWorld,
    /// The parent of the entity, if it has one.
    pub parent: Option<&'w Parent>,
}

impl TransformAspect<'_> {
    /// Returns the world position of the last update.
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

    /// Transforms a point from local to world space, by the matrix of the last update.
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

    /// Transforms a point from world to local space, by the matrix of the last update. Returns `None` if the scale along an axis is
    /// zero.
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

    /// Moves the entity in the space of its parent.
    pub fn translate(&mut self, way: Vec3) {
        *self.local = self.local.translated(way);
    }

    /// Moves the entity along its own axes. The distance is measured in the space of the parent: the vector is rotated, not scaled.
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

    /// Rotates the entity about its own axes.
    ///
    /// Rounding errors of many rotations change the length of the quaternion, and then the matrix scales. Code that rotates an
    /// entity in each frame has to normalize the rotation, as [`Rotation::turned`](crate::Rotation::turned) does.
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

    /// Rotates the entity so that it looks at a point in the space of its parent.
    pub fn look_at(&mut self, target: Vec3, up: Vec3) {
        *self.local = self.local.looking_at(target, up);
    }

    /// Moves the entity to a transform in world space. `parent` is the matrix of its parent, or [`None`] if it has no parent. If
    /// the scales along the axes differ, the largest is used. Shear is dropped. Returns `false`, and changes nothing, if the scale
    /// of the parent is zero along an axis, or if a value is not finite.
    ///
    /// [`LocalToWorld`] is the matrix of the last update. If the parent has moved since then, use
    /// [`world_transform`](crate::world_transform) to compute its current matrix.
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
