//! Functions that spawn whole trees of entities, alive or as prefabs.

use std::fmt;

use ancho_entities::{Buffer, ComponentSet, Entity, LinkedEntityGroup, Parent, Prefab, World};

/// Spawns a prefab with its descendants: a tree that [`instantiate`](ancho_entities::EntityManager::instantiate) copies as a whole.
///
/// Each entity of the tree gets a [`Prefab`] tag, and each descendant a [`Parent`]. If there are descendants, the root gets a
/// [`LinkedEntityGroup`] that lists all entities of the tree. Despawning an instance despawns its descendants. Returns the root. Use [`spawn_tree`] for a tree that is not a prefab.
///
/// A prefab tree that was built by hand is checked by the [systems](crate::TransformGroup): they report children without the tag
/// (A0170), and children that the group above them does not list (A0171).
///
/// # Panics
///
/// If the components contain a [`Prefab`], a [`Parent`], or in the root a [`LinkedEntityGroup`] (A0053). If there is no memory.
///
/// # Examples
///
/// ```
/// use ancho_entities::World;
/// use ancho_transforms::{AddTransforms, Child, LocalToWorld, Position, spawn_prefab};
/// use glam::Vec3;
///
/// let mut world = World::new("Simulation");
/// world.add_transforms();
/// let tank = spawn_prefab(&mut world, Position(Vec3::ZERO), |tank| {
///     tank.spawn_with_children(Position(Vec3::Y), |turret| {
///         turret.spawn(Position(Vec3::Z));
///     });
/// });
///
/// let second = world.instantiate(tank)?;
/// world.set(second, Position(Vec3::X))?;
/// world.update(0.1);
/// let turret = world.buffer::<Child>(second)?[0].0;
/// let barrel = world.buffer::<Child>(turret)?[0].0;
/// assert_eq!(world.get::<LocalToWorld>(barrel)?.position(), Vec3::ONE);
///
/// world.despawn(second)?;
/// assert!(!world.exists(barrel));
/// # Ok::<(), ancho_entities::EntityError>(())
/// ```
#[doc(alias = "with_children")]
#[doc(alias = "children")]
#[track_caller]
pub fn spawn_prefab<S: ComponentSet>(
    world: &mut World,
    components: S,
    children: impl FnOnce(&mut ChildSpawner<'_>),
) -> Entity {
    let root = world.spawn((components, Prefab));
    spawn_children(world, root, true, children)
}

/// Spawns an entity with its descendants.
///
/// Each descendant gets a [`Parent`]. If there are descendants, the root gets a [`LinkedEntityGroup`] that lists all entities of the
/// tree. Despawning, disabling or instantiating the root applies to the whole tree. Returns the root. Use [`spawn_prefab`]
/// for a tree that serves as a template.
///
/// # Panics
///
/// If the components contain a [`Parent`] in a descendant, or a [`LinkedEntityGroup`] in the root (A0053). If there is no memory.
///
/// # Examples
///
/// ```
/// use ancho_entities::World;
/// use ancho_transforms::{Parent, Position, spawn_tree};
/// use glam::Vec3;
///
/// let mut world = World::new("Simulation");
/// let mut moon = None;
/// let sun = spawn_tree(&mut world, Position(Vec3::ZERO), |sun| {
///     sun.spawn_with_children(Position(Vec3::X), |earth| {
///         moon = Some(earth.spawn(Position(Vec3::Y)));
///     });
/// });
/// assert_eq!(world.entity_count(), 3);
/// assert!(world.has::<Parent>(moon.unwrap()));
///
/// world.despawn(sun)?;
/// assert_eq!(world.entity_count(), 0);
/// # Ok::<(), ancho_entities::EntityError>(())
/// ```
#[doc(alias = "with_children")]
#[doc(alias = "children")]
#[track_caller]
pub fn spawn_tree<S: ComponentSet>(
    world: &mut World,
    components: S,
    children: impl FnOnce(&mut ChildSpawner<'_>),
) -> Entity {
    let root = world.spawn(components);
    spawn_children(world, root, false, children)
}

/// Spawns the descendants of a root, and adds its linked group.
#[track_caller]
fn spawn_children(
    world: &mut World,
    root: Entity,
    is_prefab: bool,
    children: impl FnOnce(&mut ChildSpawner<'_>),
) -> Entity {
    let mut members = vec![LinkedEntityGroup(root)];
    children(&mut ChildSpawner { world, parent: root, is_prefab, members: &mut members });
    if members.len() > 1
        && let Err(rejected) = world.add(root, Buffer::from(members))
    {
        panic!("{}", rejected.error);
    }
    root
}

/// Spawner of the children of one entity, in [`spawn_prefab`] and [`spawn_tree`].
#[doc(alias = "ChildBuilder")]
pub struct ChildSpawner<'t> {
    world: &'t mut World,
    parent: Entity,
    is_prefab: bool,
    /// The entities of the tree so far. The first one is the root.
    members: &'t mut Vec<LinkedEntityGroup>,
}

impl ChildSpawner<'_> {
    /// Spawns a child without children, and returns it.
    ///
    /// # Panics
    ///
    /// If the components contain a [`Parent`], or a [`Prefab`] in the tree of a prefab (A0053). If there is no memory.
    #[doc(alias = "with_child")]
    #[track_caller]
    pub fn spawn<S: ComponentSet>(&mut self, components: S) -> Entity {
        let parent = Parent(self.parent);
        let child = if self.is_prefab {
            self.world.spawn((components, parent, Prefab))
        } else {
            self.world.spawn((components, parent))
        };
        self.members.push(LinkedEntityGroup(child));
        child
    }

    /// Spawns a child with children of its own, and returns the child.
    ///
    /// # Panics
    ///
    /// If the components contain a [`Parent`], or a [`Prefab`] in the tree of a prefab (A0053). If there is no memory.
    #[doc(alias = "with_children")]
    #[track_caller]
    pub fn spawn_with_children<S: ComponentSet>(
        &mut self,
        components: S,
        children: impl FnOnce(&mut ChildSpawner<'_>),
    ) -> Entity {
        let child = self.spawn(components);
        let Self { world, is_prefab, members, .. } = self;
        children(&mut ChildSpawner { world, parent: child, is_prefab: *is_prefab, members });
        child
    }

    /// Returns the entity whose children are spawned.
    pub fn parent(&self) -> Entity {
        self.parent
    }
}

impl fmt::Debug for ChildSpawner<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut spawner = f.debug_struct("ChildSpawner");
        spawner.field("parent", &self.parent).field("is_prefab", &self.is_prefab);
        spawner.finish_non_exhaustive()
    }
}
