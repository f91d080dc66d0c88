//! Commands for parents and children.

use std::fmt::{self, Formatter};

use super::entity::EntityCommands;
use super::error::Result;
use super::playback::Context;
use super::recorder::CommandRecorder;
use super::vtable::{Aspect, Command, NoElement, Recorded};
use crate::buffer::Buffer;
use crate::builtin::{Child, Parent};
use crate::entity::Entity;
use crate::set::ComponentSet;

impl CommandRecorder {
    /// Records the spawning of children of an entity, which may be a placeholder.
    ///
    /// Children of a [`Prefab`](crate::Prefab) become prefabs.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{EntityCommandBuffer, World};
    ///
    /// let mut world = World::new("Simulation");
    /// let mut buffer = EntityCommandBuffer::new();
    /// let mut commands = buffer.commands()?;
    /// let ship = commands.spawn(());
    /// commands.with_children(ship, |ship| _ = ship.spawn(()));
    /// world.play(&mut buffer)?;
    /// assert_eq!(world.children(buffer.resolve(ship).unwrap()).len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_children(&mut self, parent: Entity, spawn: impl FnOnce(&mut ChildCommands<'_>)) {
        spawn(&mut ChildCommands { recorder: self, parent });
        self.record(parent, MakePrefabs);
    }

    /// Records that a child is attached to a parent, after its other children.
    pub fn add_child(&mut self, parent: Entity, child: Entity) {
        self.add(child, Parent(parent));
    }

    /// Records that a child is attached to a parent, at an index. An index past the end stands for the end.
    pub fn insert_child(&mut self, parent: Entity, index: usize, child: Entity) {
        self.record(parent, InsertChild { index, child });
    }

    /// Records that an entity is detached from its parent.
    pub fn detach_child(&mut self, child: Entity) {
        self.remove::<Parent>(child);
    }

    /// Records that all children of an entity are detached.
    pub fn detach_children(&mut self, parent: Entity) {
        self.remove::<Buffer<Child>>(parent);
    }

    /// Records that the descendants of an entity are despawned, but not the entity.
    pub fn despawn_children(&mut self, parent: Entity) {
        self.record(parent, DespawnChildren);
    }
}

/// Records commands that spawn children of one entity. [`with_children`](CommandRecorder::with_children) passes it to a function.
pub struct ChildCommands<'r> {
    recorder: &'r mut CommandRecorder,
    parent: Entity,
}

impl ChildCommands<'_> {
    /// Returns the parent, which may be a placeholder.
    pub fn parent(&self) -> Entity {
        self.parent
    }

    /// Records the creation of a child, and returns its placeholder.
    #[track_caller]
    pub fn spawn<S: ComponentSet>(&mut self, set: S) -> Entity {
        self.recorder.spawn((set, Parent(self.parent)))
    }

    /// Records the spawning of children of a child, or of another entity.
    pub fn with_children(&mut self, parent: Entity, spawn: impl FnOnce(&mut ChildCommands<'_>)) {
        self.recorder.with_children(parent, spawn);
    }

    /// Returns the recorder, for other commands.
    pub fn commands(&mut self) -> &mut CommandRecorder {
        self.recorder
    }
}

impl fmt::Debug for ChildCommands<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChildCommands").field("parent", &self.parent).finish_non_exhaustive()
    }
}

impl EntityCommands<'_> {
    /// Records the spawning of children of the entity. See [`CommandRecorder::with_children`].
    pub fn with_children(&mut self, spawn: impl FnOnce(&mut ChildCommands<'_>)) -> &mut Self {
        let parent = self.id();
        self.commands().with_children(parent, spawn);
        self
    }

    /// Attaches a child, after the other children. See [`CommandRecorder::add_child`].
    pub fn add_child(&mut self, child: Entity) -> &mut Self {
        let parent = self.id();
        self.commands().add_child(parent, child);
        self
    }

    /// Attaches a child at an index. See [`CommandRecorder::insert_child`].
    pub fn insert_child(&mut self, index: usize, child: Entity) -> &mut Self {
        let parent = self.id();
        self.commands().insert_child(parent, index, child);
        self
    }

    /// Detaches the entity from its parent. See [`CommandRecorder::detach_child`].
    pub fn detach(&mut self) -> &mut Self {
        self.remove::<Parent>()
    }

    /// Detaches all children. See [`CommandRecorder::detach_children`].
    pub fn detach_children(&mut self) -> &mut Self {
        self.remove::<Buffer<Child>>()
    }

    /// Despawns the descendants of the entity, but not the entity. See [`CommandRecorder::despawn_children`].
    pub fn despawn_children(&mut self) -> &mut Self {
        let parent = self.id();
        self.commands().despawn_children(parent);
        self
    }
}

/// Attaches a child at an index.
#[derive(Clone, Copy)]
struct InsertChild {
    index: usize,
    child: Entity,
}

impl Command for InsertChild {
    type Element = NoElement;

    fn apply(command: Recorded<'_, Self>, context: &mut Context<'_>, target: Entity) -> Result {
        let (parent, child) = (context.target(target)?, context.target(command.child)?);
        context.entities.insert_child(parent, command.index, child)?;
        Ok(())
    }

    fn duplicate(&mut self) -> Result<Self> {
        Ok(*self)
    }

    fn describe(this: &Recorded<'_, Self>, target: Entity, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "insert {} as a child of {target}", this.child)
    }

    fn needed(command: &Recorded<'_, Self>, target: Entity) -> [Entity; 2] {
        [target, command.child]
    }

    fn inspect(command: &Recorded<'_, Self>, target: Entity, each: &mut dyn FnMut(Aspect)) {
        each(Aspect::Changes(target));
        each(Aspect::Changes(command.child));
    }
}

/// Despawns the children of an entity.
#[derive(Clone, Copy)]
struct DespawnChildren;

impl Command for DespawnChildren {
    type Element = NoElement;

    fn apply(_: Recorded<'_, Self>, context: &mut Context<'_>, target: Entity) -> Result {
        let parent = context.target(target)?;
        context.entities.despawn_children(parent)?;
        Ok(())
    }

    fn duplicate(&mut self) -> Result<Self> {
        Ok(*self)
    }

    fn describe(_: &Recorded<'_, Self>, target: Entity, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "despawn the children of {target}")
    }
}

/// Makes the children of a prefab prefabs.
#[derive(Clone, Copy)]
struct MakePrefabs;

impl Command for MakePrefabs {
    type Element = NoElement;

    fn apply(_: Recorded<'_, Self>, context: &mut Context<'_>, target: Entity) -> Result {
        let parent = context.target(target)?;
        context.entities.make_children_prefabs(parent)?;
        Ok(())
    }

    fn duplicate(&mut self) -> Result<Self> {
        Ok(*self)
    }

    fn describe(_: &Recorded<'_, Self>, target: Entity, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "make the children of {target} prefabs if it is one")
    }
}
