//! Commands that do something to what is found when they are played.

use std::fmt;
use std::marker::PhantomData;

use super::command::{Command, TypeNames};
use super::play::{Fault, Player, resolve_entities};
use super::recorder::CommandRecorder;
use super::verb::Kind;
use crate::component::{Component, ComponentType};
use crate::entity::Entity;
use crate::error::EntityError;
use crate::manager::EntityManager;
use crate::query::{QueryData, QueryFilter, QueryMut};
use crate::set::{CloneSet, ComponentSet};
use crate::shared::{Shared, SharedComponent};

impl CommandRecorder {
    /// Does something to all entities that a query finds when the commands are played.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, EntityCommandBuffer, With, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Dead;
    ///
    /// let mut world = World::new("Simulation");
    /// let mut buffer = EntityCommandBuffer::new();
    /// buffer.commands()?.for_query::<&Health, With<Dead>>().despawn();
    /// world.spawn_many(5, (Health(0), Dead));
    /// world.spawn_many(10, Health(20));
    /// world.play(&mut buffer)?;
    /// assert_eq!(world.entity_count(), 10);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn for_query<D: QueryData + 'static, F: QueryFilter + 'static>(
        &mut self,
    ) -> QueryCommands<'_, D, F> {
        QueryCommands { recorder: self, query: PhantomData }
    }

    /// Calls a function when the commands are played, for what they have no word for. It is called so in messages.
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
    /// buffer.commands()?.run("hurt the orc", move |entities| {
    ///     entities.get_mut::<Health>(orc)?.0 -= 5;
    ///     Ok(())
    /// });
    /// world.play(&mut buffer)?;
    /// assert_eq!(world.get::<Health>(orc)?.0, 15);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn run<F>(&mut self, name: &'static str, function: F)
    where
        F: FnOnce(&mut EntityManager) -> Result<(), EntityError> + Clone + Send + 'static,
    {
        self.record(Entity::NULL, Function { name, function });
    }
}

struct Function<F> {
    name: &'static str,
    function: F,
}

impl<F> Command for Function<F>
where
    F: FnOnce(&mut EntityManager) -> Result<(), EntityError> + Clone + Send + 'static,
{
    const KIND: Kind = Kind::Other;

    fn play(self, player: &mut Player<'_>, _: Entity) -> Result<(), Fault> {
        (self.function)(player.entities)?;
        Ok(())
    }

    fn duplicate(&mut self) -> Result<Self, Fault> {
        Ok(Self { name: self.name, function: self.function.clone() })
    }

    fn describe(&self, _: Entity, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// What is done to all entities that a query finds, when commands are played: see [`CommandRecorder::for_query`].
pub struct QueryCommands<'r, D, F> {
    recorder: &'r mut CommandRecorder,
    query: PhantomData<fn() -> (D, F)>,
}

impl<D: QueryData + 'static, F: QueryFilter + 'static> QueryCommands<'_, D, F> {
    /// Destroys them. See [`QueryMut::despawn`].
    pub fn despawn(self) {
        self.record(DespawnFound);
    }

    /// Gives them clones of components. See [`QueryMut::add`].
    pub fn add<S: CloneSet>(self, set: S) {
        self.record(AddToFound(set));
    }

    /// Removes components from them. See [`QueryMut::remove`].
    pub fn remove<S: ComponentSet>(self) {
        self.record(RemoveFromFound::<S>(PhantomData));
    }

    /// Replaces the value of a shared component. See [`QueryMut::set_shared`].
    pub fn set_shared<T: SharedComponent>(self, value: T) {
        self.record(SetSharedOfFound(Shared::new(value)));
    }

    /// Switches a component of them on or off. See [`QueryMut::set_component_enabled`].
    pub fn set_component_enabled<T: Component>(self, enabled: bool) {
        self.record(SwitchFound { ty: ComponentType::of::<T>(), enabled });
    }

    /// Lets them take part or not. See [`QueryMut::set_enabled`].
    pub fn set_enabled(self, enabled: bool) {
        self.record(EnableFound(enabled));
    }

    fn record<O: Operation>(self, operation: O) {
        let query = PhantomData::<fn() -> (D, F)>;
        self.recorder.record(Entity::NULL, ForQuery { operation, query });
    }
}

impl<D, F> fmt::Debug for QueryCommands<'_, D, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueryCommands").finish_non_exhaustive()
    }
}

/// What is done to all that a query finds.
trait Operation: Send + Sized + 'static {
    fn play<D: QueryData, F: QueryFilter>(
        self,
        player: &mut Player<'_>,
        query: fn(&mut EntityManager) -> QueryMut<'_, D, F>,
    ) -> Result<(), Fault>;

    fn duplicate(&mut self) -> Result<Self, Fault>;

    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result;
}

struct ForQuery<D, F, O> {
    operation: O,
    query: PhantomData<fn() -> (D, F)>,
}

impl<D, F, O> Command for ForQuery<D, F, O>
where
    D: QueryData + 'static,
    F: QueryFilter + 'static,
    O: Operation,
{
    const KIND: Kind = Kind::Other;

    fn play(self, player: &mut Player<'_>, _: Entity) -> Result<(), Fault> {
        self.operation
            .play::<D, ((), F)>(player, |entities| entities.query_mut::<D>().filter::<F>())
    }

    fn duplicate(&mut self) -> Result<Self, Fault> {
        Ok(Self { operation: self.operation.duplicate()?, query: PhantomData })
    }

    fn describe(&self, _: Entity, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.operation.describe(f)?;
        write!(f, " all that the query of `{}` finds", std::any::type_name::<D>())
    }
}

#[derive(Clone, Copy)]
struct DespawnFound;

impl Operation for DespawnFound {
    fn play<D: QueryData, F: QueryFilter>(
        self,
        player: &mut Player<'_>,
        query: fn(&mut EntityManager) -> QueryMut<'_, D, F>,
    ) -> Result<(), Fault> {
        query(player.entities).despawn()?;
        Ok(())
    }

    fn duplicate(&mut self) -> Result<Self, Fault> {
        Ok(*self)
    }

    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("despawn")
    }
}

struct AddToFound<S>(S);

impl<S: CloneSet> Operation for AddToFound<S> {
    fn play<D: QueryData, F: QueryFilter>(
        mut self,
        player: &mut Player<'_>,
        query: fn(&mut EntityManager) -> QueryMut<'_, D, F>,
    ) -> Result<(), Fault> {
        resolve_entities(player.resolved, &mut self.0)?;
        query(player.entities).add(self.0).map_err(|rejected| rejected.error)?;
        Ok(())
    }

    fn duplicate(&mut self) -> Result<Self, Fault> {
        Ok(Self(self.0.clone_set()))
    }

    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "add {} to", TypeNames(S::types))
    }
}

struct RemoveFromFound<S>(PhantomData<fn() -> S>);

impl<S: ComponentSet> Operation for RemoveFromFound<S> {
    fn play<D: QueryData, F: QueryFilter>(
        self,
        player: &mut Player<'_>,
        query: fn(&mut EntityManager) -> QueryMut<'_, D, F>,
    ) -> Result<(), Fault> {
        query(player.entities).remove::<S>()?;
        Ok(())
    }

    fn duplicate(&mut self) -> Result<Self, Fault> {
        Ok(Self(PhantomData))
    }

    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "remove {} from", TypeNames(S::types))
    }
}

struct SetSharedOfFound<T>(Shared<T>);

impl<T: SharedComponent> Operation for SetSharedOfFound<T> {
    fn play<D: QueryData, F: QueryFilter>(
        self,
        player: &mut Player<'_>,
        query: fn(&mut EntityManager) -> QueryMut<'_, D, F>,
    ) -> Result<(), Fault> {
        let found = query(player.entities).found();
        player.entities.set_shared_of_found(&found, self.0)?;
        Ok(())
    }

    fn duplicate(&mut self) -> Result<Self, Fault> {
        Ok(Self(self.0.clone()))
    }

    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "set `{}` of", ComponentType::of_shared::<T>())
    }
}

#[derive(Clone, Copy)]
struct SwitchFound {
    ty: ComponentType,
    enabled: bool,
}

impl Operation for SwitchFound {
    fn play<D: QueryData, F: QueryFilter>(
        self,
        player: &mut Player<'_>,
        query: fn(&mut EntityManager) -> QueryMut<'_, D, F>,
    ) -> Result<(), Fault> {
        query(player.entities).set_type_enabled(self.ty, self.enabled)?;
        Ok(())
    }

    fn duplicate(&mut self) -> Result<Self, Fault> {
        Ok(*self)
    }

    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "switch `{}` {} for", self.ty, if self.enabled { "on" } else { "off" })
    }
}

#[derive(Clone, Copy)]
struct EnableFound(bool);

impl Operation for EnableFound {
    fn play<D: QueryData, F: QueryFilter>(
        self,
        player: &mut Player<'_>,
        query: fn(&mut EntityManager) -> QueryMut<'_, D, F>,
    ) -> Result<(), Fault> {
        query(player.entities).set_enabled(self.0)?;
        Ok(())
    }

    fn duplicate(&mut self) -> Result<Self, Fault> {
        Ok(*self)
    }

    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0 { "enable" } else { "disable" })
    }
}
