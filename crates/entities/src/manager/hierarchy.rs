//! Reading and changing relationships: targets, sources, traversal, and the methods for parents and children.

use std::fmt;

use super::{EntityManager, EntityMut, EntityRef};
use crate::buffer::Buffer;
use crate::builtin::{Child, Parent, Prefab};
use crate::component::{Component, ComponentType, RelationshipInfo};
use crate::entity::Entity;
use crate::error::EntityError;
use crate::relationship::Relationship;
use crate::set::ComponentSet;

/// Returns the metadata of a relationship.
fn info<R: Relationship>() -> &'static RelationshipInfo {
    // Unlike `R::RELATIONSHIP`, that of the registered type was checked.
    let relationship = ComponentType::of::<R>().0.relationship;
    relationship.expect("`#[derive(Component)]` sets `RELATIONSHIP`")
}

impl EntityManager {
    /// Returns the target of an entity, or `None` if the entity does not exist or has no such component.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Parent, World};
    ///
    /// let mut world = World::new("Simulation");
    /// let ship = world.spawn(());
    /// let gun = world.spawn(Parent(ship));
    /// assert_eq!(world.target::<Parent>(gun), Some(ship));
    /// assert_eq!(world.target::<Parent>(ship), None);
    /// ```
    pub fn target<R: Relationship>(&self, source: Entity) -> Option<Entity> {
        self.get::<R>(source).ok().map(R::target)
    }

    /// Returns the sources of an entity. The slice is empty if the entity does not exist or has no sources.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Parent, World};
    ///
    /// let mut world = World::new("Simulation");
    /// let ship = world.spawn(());
    /// let guns: Vec<_> = world.spawn_many(Parent(ship), 2).collect();
    /// assert_eq!(world.sources::<Parent>(ship), guns);
    /// assert_eq!(world.sources::<Parent>(guns[0]), []);
    /// ```
    pub fn sources<R: Relationship>(&self, target: Entity) -> &[Entity] {
        self.link_sources(info::<R>(), target)
    }

    /// Iterates over the target of an entity, the target of that, and so on.
    ///
    /// # Errors
    ///
    /// Returns A0140 if the iteration would not end. An [acyclic](Relationship::ACYCLIC) relationship has no cycles.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Parent, World};
    ///
    /// let mut world = World::new("Simulation");
    /// let ship = world.spawn(());
    /// let gun = world.spawn(Parent(ship));
    /// let barrel = world.spawn(Parent(gun));
    /// assert!(world.ancestors::<Parent>(barrel)?.eq([gun, ship]));
    /// assert_eq!(world.root_of::<Parent>(barrel)?, ship);
    /// assert!(world.descendants::<Parent>(ship)?.eq([gun, barrel]));
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    pub fn ancestors<R: Relationship>(
        &self,
        entity: Entity,
    ) -> Result<Ancestors<impl Fn(Entity) -> Option<Entity>>, EntityError> {
        Ancestors::new::<R>(entity, |entity| self.target::<R>(entity))
    }

    /// Iterates over the sources of an entity and their sources, depth first, in the order of the buffers.
    ///
    /// # Errors
    ///
    /// Returns A0140 if the iteration would not end. An [acyclic](Relationship::ACYCLIC) relationship has no cycles.
    ///
    /// # Examples
    ///
    /// See [`ancestors`](Self::ancestors).
    pub fn descendants<R: Relationship>(
        &self,
        entity: Entity,
    ) -> Result<Descendants<impl Fn(Entity, &mut Vec<Entity>)>, EntityError> {
        let push = |entity, next: &mut Vec<Entity>| {
            next.extend(self.sources::<R>(entity).iter().rev());
        };
        Descendants::new::<R>(entity, push)
    }

    /// Returns the last [ancestor](Self::ancestors) of an entity, or the entity itself if it has no target.
    ///
    /// # Errors
    ///
    /// Returns A0140 if the entity is below a cycle.
    ///
    /// # Examples
    ///
    /// See [`ancestors`](Self::ancestors).
    pub fn root_of<R: Relationship>(&self, entity: Entity) -> Result<Entity, EntityError> {
        Ok(self.ancestors::<R>(entity)?.last().unwrap_or(entity))
    }

    /// Attaches a source to a target, at an index of the target's buffer. An index past the end stands for the end.
    ///
    /// If the entity is already a source of this target, it moves to the index. An unordered buffer ignores the index.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`add`](Self::add). In these cases nothing is changed.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Parent, World};
    ///
    /// let mut world = World::new("Simulation");
    /// let ship = world.spawn(());
    /// let (bow, stern) = (world.spawn(()), world.spawn(Parent(ship)));
    /// world.insert_source::<Parent>(ship, 0, bow)?;
    /// assert_eq!(world.sources::<Parent>(ship), [bow, stern]);
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    pub fn insert_source<R: Relationship>(
        &mut self,
        target: Entity,
        index: usize,
        source: Entity,
    ) -> Result<(), EntityError> {
        let relationship = info::<R>();
        if self.target::<R>(source) != Some(target) {
            self.add(source, R::new(target)).map_err(|rejected| rejected.error)?;
        }
        if relationship.ordered {
            self.open_list(relationship, target)?;
            self.move_source(relationship, target, source, index);
        }
        Ok(())
    }

    /// Gives access to the order of a target's sources.
    ///
    /// # Errors
    ///
    /// Returns an error if the target does not exist or has no sources (A0051), or there is no memory.
    ///
    /// # Examples
    ///
    /// See [`SourcesMut`].
    pub fn sources_mut<R: Relationship>(
        &mut self,
        target: Entity,
    ) -> Result<SourcesMut<'_>, EntityError> {
        let relationship = info::<R>();
        self.check_has_type(target, (relationship.reverse)())?;
        self.open_list(relationship, target)?;
        let sources = self.link_sources(relationship, target).to_vec();
        Ok(SourcesMut { manager: self, relationship, target, sources })
    }
}

/// The sources of one target, whose order can be changed.
///
/// [`sources_mut`](EntityManager::sources_mut) and [`children_mut`](EntityManager::children_mut) return it.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, Parent, World};
///
/// #[derive(Component)]
/// struct Speed(u32);
///
/// let mut world = World::new("Simulation");
/// let fleet = world.spawn(());
/// let slow = world.spawn((Speed(3), Parent(fleet)));
/// let fast = world.spawn((Speed(9), Parent(fleet)));
/// world.children_mut(fleet)?.sort_by_key(|world, ship| std::cmp::Reverse(world.get::<Speed>(ship).unwrap().0));
/// assert_eq!(world.children(fleet), [fast, slow]);
/// # Ok::<(), ancho_entities::EntityError>(())
/// ```
#[must_use = "the order changes when one of its methods is called"]
pub struct SourcesMut<'w> {
    manager: &'w mut EntityManager,
    relationship: &'static RelationshipInfo,
    target: Entity,
    /// A copy of the sources. User code that compares them may panic, which must not leave a changed buffer.
    sources: Vec<Entity>,
}

impl SourcesMut<'_> {
    /// Sorts the sources. Equal sources keep their order.
    pub fn sort_by(
        mut self,
        mut compare: impl FnMut(&EntityManager, Entity, Entity) -> std::cmp::Ordering,
    ) {
        let manager = &*self.manager;
        self.sources.sort_by(|&left, &right| compare(manager, left, right));
        self.write();
    }

    /// Sorts the sources by a key. Sources with equal keys keep their order.
    pub fn sort_by_key<K: Ord>(mut self, mut key: impl FnMut(&EntityManager, Entity) -> K) {
        let manager = &*self.manager;
        self.sources.sort_by_cached_key(|&source| key(manager, source));
        self.write();
    }

    /// Exchanges the sources at two indices.
    ///
    /// # Panics
    ///
    /// Panics if an index is out of bounds.
    #[track_caller]
    pub fn swap(mut self, left: usize, right: usize) {
        self.sources.swap(left, right);
        self.write();
    }

    /// Reverses the order of the sources.
    pub fn reverse(mut self) {
        self.sources.reverse();
        self.write();
    }

    fn write(self) {
        self.manager.set_order(self.relationship, self.target, &self.sources);
    }
}

impl fmt::Debug for SourcesMut<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SourcesMut")
            .field("target", &self.target)
            .field("sources", &self.sources)
            .finish_non_exhaustive()
    }
}

/// Iterator over the [ancestors](EntityManager::ancestors) of an entity.
#[derive(Clone)]
pub struct Ancestors<F> {
    next: Option<Entity>,
    target_of: F,
}

impl<F: Fn(Entity) -> Option<Entity>> Ancestors<F> {
    pub(crate) fn new<R: Relationship>(entity: Entity, target_of: F) -> Result<Self, EntityError> {
        if !R::ACYCLIC {
            check_end::<R>(entity, &target_of)?;
        }
        Ok(Self { next: target_of(entity), target_of })
    }
}

/// Returns an error if following the targets of an entity does not end.
fn check_end<R: Component>(
    entity: Entity,
    target_of: impl Fn(Entity) -> Option<Entity>,
) -> Result<(), EntityError> {
    // Brent's algorithm: the marked entity moves ahead after 1, 2, 4, … steps.
    let (mut marked, mut at, mut steps, mut limit) = (entity, entity, 0, 1);
    while let Some(next) = target_of(at) {
        (at, steps) = (next, steps + 1);
        if at == marked {
            let target = target_of(marked).unwrap_or(Entity::NULL);
            let component = ComponentType::of::<R>();
            return Err(EntityError::LinkCycle {
                component,
                source: marked,
                target,
                length: steps,
            });
        }
        if steps == limit {
            (marked, steps, limit) = (at, 0, limit * 2);
        }
    }
    Ok(())
}

impl<F: Fn(Entity) -> Option<Entity>> Iterator for Ancestors<F> {
    type Item = Entity;

    fn next(&mut self) -> Option<Entity> {
        let ancestor = self.next?;
        self.next = (self.target_of)(ancestor);
        Some(ancestor)
    }
}

impl<F> fmt::Debug for Ancestors<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ancestors").field("next", &self.next).finish_non_exhaustive()
    }
}

/// Iterator over the [descendants](EntityManager::descendants) of an entity.
#[derive(Clone)]
pub struct Descendants<F> {
    /// A stack of entities, the next on top.
    next: Vec<Entity>,
    push_sources: F,
}

impl<F: Fn(Entity, &mut Vec<Entity>)> Descendants<F> {
    pub(crate) fn new<R: Relationship>(
        entity: Entity,
        push_sources: F,
    ) -> Result<Self, EntityError> {
        let mut next = Vec::new();
        push_sources(entity, &mut next);
        if !R::ACYCLIC {
            // An entity has one target. So a cycle among the descendants contains the entity.
            let (mut stack, mut length) = (next.clone(), 0);
            while let Some(descendant) = stack.pop() {
                length += 1;
                if descendant == entity {
                    let component = ComponentType::of::<R>();
                    let (source, target) = (entity, entity);
                    return Err(EntityError::LinkCycle { component, source, target, length });
                }
                push_sources(descendant, &mut stack);
            }
        }
        Ok(Self { next, push_sources })
    }
}

impl<F: Fn(Entity, &mut Vec<Entity>)> Iterator for Descendants<F> {
    type Item = Entity;

    fn next(&mut self) -> Option<Entity> {
        let descendant = self.next.pop()?;
        (self.push_sources)(descendant, &mut self.next);
        Some(descendant)
    }
}

impl<F> fmt::Debug for Descendants<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Descendants").field("next", &self.next).finish_non_exhaustive()
    }
}

impl EntityManager {
    /// Returns the children of an entity, in their order. Without children, the slice is empty.
    ///
    /// # Examples
    ///
    /// See [`Parent`].
    pub fn children(&self, parent: Entity) -> &[Entity] {
        self.sources::<Parent>(parent)
    }

    /// Gives access to the order of the children of an entity.
    ///
    /// # Errors
    ///
    /// Returns an error if the entity does not exist or has no children (A0051), or there is no memory.
    ///
    /// # Examples
    ///
    /// See [`SourcesMut`].
    pub fn children_mut(&mut self, parent: Entity) -> Result<SourcesMut<'_>, EntityError> {
        self.sources_mut::<Parent>(parent)
    }

    /// Calls a function that spawns children of an entity.
    ///
    /// Children of a [`Prefab`] become prefabs.
    ///
    /// # Errors
    ///
    /// Returns an error if the parent does not exist, or was despawned and has only cleanup components.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::World;
    ///
    /// let mut world = World::new("Simulation");
    /// let ship = world.spawn(());
    /// world.with_children(ship, |ship| {
    ///     let gun = ship.spawn(());
    ///     ship.with_children(gun, |gun| _ = gun.spawn(()));
    /// })?;
    /// assert_eq!(world.children(ship).len(), 1);
    /// assert_eq!(world.entity_count(), 3);
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    #[track_caller]
    pub fn with_children(
        &mut self,
        parent: Entity,
        spawn: impl FnOnce(&mut ChildSpawner<'_>),
    ) -> Result<(), EntityError> {
        self.check_target(parent)?;
        spawn(&mut ChildSpawner { manager: self, parent });
        Ok(())
    }

    /// Attaches a child to a parent, after its other children. If it is a child of this parent already, its place is unchanged.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`add`](Self::add). In these cases nothing is changed.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::World;
    ///
    /// let mut world = World::new("Simulation");
    /// let (ship, gun) = (world.spawn(()), world.spawn(()));
    /// world.add_child(ship, gun)?;
    /// assert_eq!(world.children(ship), [gun]);
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    pub fn add_child(&mut self, parent: Entity, child: Entity) -> Result<(), EntityError> {
        if self.target::<Parent>(child) == Some(parent) {
            return Ok(());
        }
        self.add(child, Parent(parent)).map(drop).map_err(|rejected| rejected.error)
    }

    /// Attaches a child to a parent, at an index. See [`insert_source`](Self::insert_source).
    ///
    /// # Errors
    ///
    /// Returns the errors of [`add`](Self::add). In these cases nothing is changed.
    pub fn insert_child(
        &mut self,
        parent: Entity,
        index: usize,
        child: Entity,
    ) -> Result<(), EntityError> {
        self.insert_source::<Parent>(parent, index, child)
    }

    /// Detaches an entity from its parent. Returns whether it had one.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`remove`](Self::remove).
    pub fn detach_child(&mut self, child: Entity) -> Result<bool, EntityError> {
        self.remove::<Parent>(child)
    }

    /// Detaches all children from an entity, so that they remain when it is despawned. Returns whether it had any.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`remove`](Self::remove).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Parent, World};
    ///
    /// let mut world = World::new("Simulation");
    /// let ship = world.spawn(());
    /// let sailor = world.spawn(Parent(ship));
    /// world.detach_children(ship)?;
    /// world.despawn(ship)?;
    /// assert!(world.exists(sailor));
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    pub fn detach_children(&mut self, parent: Entity) -> Result<bool, EntityError> {
        self.remove::<Buffer<Child>>(parent)
    }

    /// Despawns the descendants of an entity, but not the entity. Returns the number of entities that were despawned.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`despawn`](Self::despawn).
    pub fn despawn_children(&mut self, parent: Entity) -> Result<usize, EntityError> {
        if self.children(parent).is_empty() {
            return if self.strict { self.check_exists(parent).map(|()| 0) } else { Ok(0) };
        }
        let children = self.children(parent).to_vec();
        self.despawn_linked(&children)
    }

    /// Adds [`Prefab`] to the children of a prefab that lack it. Used for children that commands have spawned.
    pub(crate) fn make_children_prefabs(&mut self, parent: Entity) -> Result<(), EntityError> {
        if !self.has::<Prefab>(parent) {
            return Ok(());
        }
        let mut children = self.children(parent).to_vec();
        children.retain(|&child| !self.has::<Prefab>(child));
        for child in children {
            self.add(child, Prefab).map_err(|rejected| rejected.error)?;
        }
        Ok(())
    }
}

/// Spawns children of one entity. [`with_children`](EntityManager::with_children) passes it to a function.
#[doc(alias = "ChildSpawnerCommands")]
#[doc(alias = "RelatedSpawner")]
pub struct ChildSpawner<'w> {
    manager: &'w mut EntityManager,
    parent: Entity,
}

impl ChildSpawner<'_> {
    /// Returns the parent.
    pub fn parent(&self) -> Entity {
        self.parent
    }

    /// Creates a child with components.
    ///
    /// # Panics
    ///
    /// Panics if the set contains a type twice or a [`Parent`], or there is no memory.
    #[track_caller]
    pub fn spawn<S: ComponentSet>(&mut self, set: S) -> Entity {
        let mut is_prefab = false;
        S::types(&mut |ty| is_prefab |= ty == ComponentType::of::<Prefab>());
        if !is_prefab && self.manager.has::<Prefab>(self.parent) {
            self.manager.spawn((set, Parent(self.parent), Prefab))
        } else {
            self.manager.spawn((set, Parent(self.parent)))
        }
    }

    /// Calls a function that spawns children of a child, or of another entity.
    ///
    /// # Panics
    ///
    /// Panics if the entity does not exist.
    #[track_caller]
    pub fn with_children(&mut self, parent: Entity, spawn: impl FnOnce(&mut ChildSpawner<'_>)) {
        if let Err(error) = self.manager.with_children(parent, spawn) {
            panic!("{error}");
        }
    }

    /// Returns the entity manager, for other operations.
    pub fn entities(&mut self) -> &mut EntityManager {
        self.manager
    }
}

impl fmt::Debug for ChildSpawner<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChildSpawner").field("parent", &self.parent).finish_non_exhaustive()
    }
}

impl<'w> EntityRef<'w> {
    /// Returns the parent of the entity. See [`EntityManager::target`].
    pub fn parent(&self) -> Option<Entity> {
        self.entities.target::<Parent>(self.entity)
    }

    /// Returns the children of the entity, in their order. See [`EntityManager::children`].
    pub fn children(&self) -> &'w [Entity] {
        self.entities.children(self.entity)
    }
}

impl EntityMut<'_> {
    /// Returns the parent of the entity. See [`EntityManager::target`].
    pub fn parent(&self) -> Option<Entity> {
        self.entities.target::<Parent>(self.entity)
    }

    /// Returns the children of the entity, in their order. See [`EntityManager::children`].
    pub fn children(&self) -> &[Entity] {
        self.entities.children(self.entity)
    }

    /// Gives access to the order of the children. See [`EntityManager::children_mut`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`EntityManager::children_mut`].
    pub fn children_mut(&mut self) -> Result<SourcesMut<'_>, EntityError> {
        self.entities.children_mut(self.entity)
    }

    /// Calls a function that spawns children of the entity. See [`EntityManager::with_children`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`EntityManager::with_children`].
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::World;
    ///
    /// let mut world = World::new("Simulation");
    /// let ship = world.spawn(());
    /// world.entity_mut(ship)?.with_children(|ship| {
    ///     ship.spawn(());
    ///     ship.spawn(());
    /// })?;
    /// assert_eq!(world.children(ship).len(), 2);
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    #[track_caller]
    pub fn with_children(
        &mut self,
        spawn: impl FnOnce(&mut ChildSpawner<'_>),
    ) -> Result<&mut Self, EntityError> {
        self.change(|entities, entity| entities.with_children(entity, spawn).map(drop))?;
        Ok(self)
    }

    /// Attaches a child, after the other children. See [`EntityManager::add_child`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`EntityManager::add_child`].
    pub fn add_child(&mut self, child: Entity) -> Result<&mut Self, EntityError> {
        self.change(|entities, entity| entities.add_child(entity, child))?;
        Ok(self)
    }

    /// Attaches a child at an index. See [`EntityManager::insert_child`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`EntityManager::insert_child`].
    pub fn insert_child(&mut self, index: usize, child: Entity) -> Result<&mut Self, EntityError> {
        self.change(|entities, entity| entities.insert_child(entity, index, child))?;
        Ok(self)
    }

    /// Detaches the entity from its parent. Returns whether it had one. See [`EntityManager::detach_child`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`EntityManager::detach_child`].
    pub fn detach(&mut self) -> Result<bool, EntityError> {
        self.change(EntityManager::detach_child)
    }

    /// Detaches all children. Returns whether there were any. See [`EntityManager::detach_children`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`EntityManager::detach_children`].
    pub fn detach_children(&mut self) -> Result<bool, EntityError> {
        self.change(EntityManager::detach_children)
    }

    /// Despawns the descendants of the entity, but not the entity. See [`EntityManager::despawn_children`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`EntityManager::despawn_children`].
    pub fn despawn_children(&mut self) -> Result<usize, EntityError> {
        self.change(EntityManager::despawn_children)
    }
}
