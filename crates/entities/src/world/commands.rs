//! Commands that need the world: resources, and functions.

use std::any::{Any, type_name};

use super::{Resource, World};
use crate::commands::{
    CommandFault, CommandRecorder, PlaybackHost, ResolvedIds, WorldCommand, WorldCommandName,
};
use crate::error::EntityError;
use crate::manager::EntityManager;
use crate::schedule::SystemResult;

impl PlaybackHost for World {
    fn entities(&mut self) -> &mut EntityManager {
        &mut self.entities
    }

    fn world(&mut self) -> Option<&mut dyn Any> {
        Some(self)
    }
}

/// Commands that need the world. [`World::play`], systems and command points apply them. [`EntityManager::play`] refuses them with
/// A0240.
impl CommandRecorder {
    /// Inserts a resource, and drops the old value. See [`World::insert_resource`].
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Commands, Resource, World};
    ///
    /// #[derive(Resource, Clone)]
    /// struct Score(u32);
    ///
    /// fn start(mut commands: Commands) {
    ///     commands.insert_resource(Score(0));
    /// }
    ///
    /// let mut world = World::new("Simulation");
    /// world.add_system(start);
    /// world.update(0.1);
    /// assert_eq!(world.resource::<Score>().0, 0);
    /// ```
    pub fn insert_resource<T: Resource>(&mut self, value: T) {
        let name = WorldCommandName { verb: "insert resource", what: type_name::<T>() };
        self.for_world_once(name, |world, _| {
            world.insert_resource(value);
            Ok(())
        });
    }

    /// Removes a resource and drops its value. Does nothing if the world does not have it. See [`World::remove_resource`].
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Commands, Resource, World};
    ///
    /// #[derive(Resource, Clone)]
    /// struct Tutorial;
    ///
    /// let mut world = World::new("Simulation");
    /// world.insert_resource(Tutorial);
    /// world.add_system(|mut commands: Commands| commands.remove_resource::<Tutorial>());
    /// world.update(0.1);
    /// assert!(!world.has_resource::<Tutorial>());
    /// ```
    pub fn remove_resource<T: Resource>(&mut self) {
        let name = WorldCommandName { verb: "remove resource", what: type_name::<T>() };
        self.for_world(name, |world, _| {
            world.remove_resource::<T>();
            Ok(())
        });
    }

    /// Calls a function with the world at playback, for operations that have no command. Messages show `name`.
    ///
    /// An error of the function is always reported, also if an entity was despawned, so a function can react to missing entities.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, EntityCommandBuffer, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let orc = world.spawn(Health(20));
    /// let mut buffer = EntityCommandBuffer::new();
    /// buffer.commands()?.run("hurt the orc", move |world| {
    ///     world.get_mut::<Health>(orc)?.0 -= 5;
    ///     Ok(())
    /// });
    /// world.play(&mut buffer)?;
    /// assert_eq!(world.get::<Health>(orc)?.0, 15);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "queue")]
    pub fn run<F>(&mut self, name: &'static str, function: F)
    where
        F: FnOnce(&mut World) -> SystemResult + Clone + Send + 'static,
    {
        self.for_world(WorldCommandName { verb: name, what: "" }, |world, _| {
            function(world).map_err(|error| match error.downcast_ref::<EntityError>() {
                Some(&error) => error.into(),
                None => CommandFault::Function { message: error.to_string().into() },
            })
        });
    }

    /// Records a function that gets the world, and the ids of the entities that the buffer creates. Values with placeholders are
    /// resolved with these ids before they reach the world.
    pub(crate) fn for_world<F>(&mut self, name: WorldCommandName, function: F)
    where
        F: FnOnce(&mut World, &ResolvedIds) -> Result<(), CommandFault> + Clone + Send + 'static,
    {
        let function = |world: &mut dyn Any, ids: &ResolvedIds| {
            function(world.downcast_mut().ok_or(CommandFault::NeedsWorld)?, ids)
        };
        self.record_world_command(WorldCommand { name, function, clone: Some(Clone::clone) });
    }

    /// Records a function that gets the world, and that reusable buffers refuse.
    pub(crate) fn for_world_once<F>(&mut self, name: WorldCommandName, function: F)
    where
        F: FnOnce(&mut World, &ResolvedIds) -> Result<(), CommandFault> + Send + 'static,
    {
        let function = |world: &mut dyn Any, ids: &ResolvedIds| {
            function(world.downcast_mut().ok_or(CommandFault::NeedsWorld)?, ids)
        };
        self.record_world_command(WorldCommand { name, function, clone: None });
    }
}
