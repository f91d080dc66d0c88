//! Commands for one entity, without its id in each call.

use std::fmt;

use super::recorder::CommandRecorder;
use crate::buffer::BufferElement;
use crate::component::{Component, ComponentType, Mutable};
use crate::entity::Entity;
use crate::manager::Archetype;
use crate::set::ComponentSet;

/// Recorder of commands for one entity: see [`CommandRecorder::entity`].
///
/// Its methods are those of the recorder, with the entity filled in. They only record: nothing is looked up, and an entity that is
/// gone at playback is skipped. Consecutive changes of one entity are applied as one move: see
/// [`EntityManager::play`](crate::EntityManager::play).
///
/// # Examples
///
/// ```
/// use ancho_entities::{Commands, Component, World};
///
/// #[derive(Component)]
/// struct Arrow(f32);
///
/// #[derive(Component)]
/// struct Burning;
///
/// fn shoot(mut commands: Commands) {
///     let arrow = commands.spawn(Arrow(30.0));
///     commands.entity(arrow).add(Burning).set_name("fire arrow");
/// }
///
/// let mut world = World::new("Simulation");
/// world.add_system(shoot);
/// world.update(0.1);
/// assert_eq!(world.query::<(&Arrow, &Burning)>().count(), 1);
/// ```
pub struct EntityCommands<'c> {
    recorder: &'c mut CommandRecorder,
    entity: Entity,
}

impl CommandRecorder {
    /// Records commands for one entity: an existing one, or one that an earlier command creates.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, EntityCommandBuffer, World};
    ///
    /// #[derive(Component)]
    /// struct Asleep;
    ///
    /// #[derive(Component, Debug, PartialEq)]
    /// struct Alert(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let guard = world.spawn(Asleep);
    /// let mut buffer = EntityCommandBuffer::new();
    /// buffer.commands()?.entity(guard).remove::<Asleep>().add(Alert(3));
    /// world.play(&mut buffer)?;
    /// assert_eq!(world.get(guard), Ok(&Alert(3)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline(always)]
    pub fn entity(&mut self, entity: Entity) -> EntityCommands<'_> {
        EntityCommands { recorder: self, entity }
    }
}

impl EntityCommands<'_> {
    /// Returns the id of the entity, or its placeholder.
    #[inline(always)]
    pub fn id(&self) -> Entity {
        self.entity
    }

    /// Returns the recorder, for commands that are not for this entity.
    #[inline(always)]
    pub fn commands(&mut self) -> &mut CommandRecorder {
        self.recorder
    }

    /// Adds components, and replaces those that the entity already has. See [`CommandRecorder::add`].
    #[inline(always)]
    #[doc(alias = "insert")]
    pub fn add<S: ComponentSet>(&mut self, set: S) -> &mut Self {
        self.recorder.add(self.entity, set);
        self
    }

    /// Replaces components that the entity already has. See [`CommandRecorder::set`].
    #[inline(always)]
    pub fn set<S: ComponentSet>(&mut self, set: S) -> &mut Self {
        self.recorder.set(self.entity, set);
        self
    }

    /// Removes components. See [`CommandRecorder::remove`].
    #[inline(always)]
    pub fn remove<S: ComponentSet>(&mut self) -> &mut Self {
        self.recorder.remove::<S>(self.entity);
        self
    }

    /// Removes components, and the components that they require. See [`CommandRecorder::remove_with_required`].
    pub fn remove_with_required<S: ComponentSet>(&mut self) -> &mut Self {
        self.recorder.remove_with_required::<S>(self.entity);
        self
    }

    /// Adds components with default values. See [`CommandRecorder::add_types`].
    pub fn add_types(&mut self, types: &[ComponentType]) -> &mut Self {
        self.recorder.add_types(self.entity, types);
        self
    }

    /// Removes components, given their types at run time. See [`CommandRecorder::remove_types`].
    pub fn remove_types(&mut self, types: &[ComponentType]) -> &mut Self {
        self.recorder.remove_types(self.entity, types);
        self
    }

    /// Adds a buffer with these elements, or replaces the elements of the buffer. See [`CommandRecorder::add_buffer`].
    pub fn add_buffer<T: BufferElement + Mutable>(
        &mut self,
        elements: impl IntoIterator<Item = T>,
    ) -> &mut Self {
        self.recorder.add_buffer(self.entity, elements);
        self
    }

    /// Replaces the elements of a buffer. See [`CommandRecorder::set_buffer`].
    pub fn set_buffer<T: BufferElement + Mutable>(
        &mut self,
        elements: impl IntoIterator<Item = T>,
    ) -> &mut Self {
        self.recorder.set_buffer(self.entity, elements);
        self
    }

    /// Appends an element to a buffer. See [`CommandRecorder::append`].
    pub fn append<T: BufferElement + Mutable>(&mut self, element: T) -> &mut Self {
        self.recorder.append(self.entity, element);
        self
    }

    /// Enables or disables a component. See [`CommandRecorder::set_component_enabled`].
    pub fn set_component_enabled<T: Component>(&mut self, enabled: bool) -> &mut Self {
        self.recorder.set_component_enabled::<T>(self.entity, enabled);
        self
    }

    /// Enables or disables a component, given its type at run time. See [`CommandRecorder::set_type_enabled`].
    pub fn set_type_enabled(&mut self, ty: ComponentType, enabled: bool) -> &mut Self {
        self.recorder.set_type_enabled(self.entity, ty, enabled);
        self
    }

    /// Enables or disables the entity and its group. See [`CommandRecorder::set_enabled`].
    pub fn set_enabled(&mut self, enabled: bool) -> &mut Self {
        self.recorder.set_enabled(self.entity, enabled);
        self
    }

    /// Moves the entity to an archetype. See [`CommandRecorder::set_archetype`].
    pub fn set_archetype(&mut self, archetype: Archetype) -> &mut Self {
        self.recorder.set_archetype(self.entity, archetype);
        self
    }

    /// Sets the name of the entity in messages and tools. See [`CommandRecorder::set_name`].
    pub fn set_name(&mut self, name: &str) -> &mut Self {
        self.recorder.set_name(self.entity, name);
        self
    }

    /// Despawns the entity. See [`CommandRecorder::despawn`].
    #[inline(always)]
    pub fn despawn(&mut self) {
        self.recorder.despawn(self.entity);
    }
}

impl fmt::Debug for EntityCommands<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EntityCommands").field("entity", &self.entity).finish_non_exhaustive()
    }
}
