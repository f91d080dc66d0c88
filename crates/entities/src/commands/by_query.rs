//! Commands for all that a query finds when they are played.

use std::fmt;
use std::marker::PhantomData;

use super::change::duplicate_set;
use super::command::{Command, Elements, Given, ListCommand, TypeNames};
use super::play::{Fault, Player, resolve_by, resolve_entities};
use super::recorder::CommandRecorder;
use super::verb::Kind;
use crate::component::{Component, ComponentType};
use crate::entity::Entity;
use crate::manager::EntityManager;
use crate::query::{QueryData, QueryDescriptor, QueryFilter};
use crate::set::{CloneSet, ComponentSet};
use crate::shared::{Shared, SharedComponent};
use crate::version::Version;

impl CommandRecorder {
    /// Does something to all entities that a query finds when the commands are played.
    ///
    /// More can be said of the query, as of one that is [asked at once](crate::EntityManager::query_mut). [`for_found`](Self::for_found) takes
    /// queries that are kept, and those whose components are known only at run time.
    ///
    /// # Panics
    ///
    /// When the commands are played: as [`EntityManager::query_mut`](crate::EntityManager::query_mut), if the query is one that cannot be asked.
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
    /// world.spawn_many((Health(0), Dead), 5);
    /// world.spawn_many(Health(20), 10);
    /// world.play(&mut buffer)?;
    /// assert_eq!(world.entity_count(), 10);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn for_query<D: QueryData, F: QueryFilter>(&mut self) -> QueryCommands<'_> {
        self.for_found(QueryDescriptor::of::<D, F>())
    }

    /// Does something to all entities that a query finds when the commands are played: an [`QueryDescriptor`](crate::QueryDescriptor), or a
    /// [`QueryDescriptor`](crate::QueryDescriptor).
    ///
    /// # Panics
    ///
    /// As [`for_query`](Self::for_query).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, ComponentType, QueryDescriptor, EntityCommandBuffer, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// #[component(name = "Health")]
    /// struct Health(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_many(Health(0), 5);
    /// let health = ComponentType::find("Health").unwrap();
    /// let mut buffer = EntityCommandBuffer::new();
    /// buffer.commands()?.for_found(QueryDescriptor::new().all([health])).despawn();
    /// world.play(&mut buffer)?;
    /// assert_eq!(world.entity_count(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn for_found(&mut self, query: impl Into<QueryDescriptor>) -> QueryCommands<'_> {
        QueryCommands { recorder: self, query: query.into() }
    }
}

/// What is done to all entities that a query finds, when commands are played: see [`CommandRecorder::for_query`].
///
/// First more can be said of the query, then what is done.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, EntityCommandBuffer, Shared, SharedComponent, World};
///
/// #[derive(Component, Clone, Copy)]
/// struct Health(u32);
///
/// #[derive(SharedComponent, PartialEq, Eq, Hash)]
/// struct Team(u32);
///
/// let mut world = World::new("Simulation");
/// world.spawn_many((Health(20), Shared::new(Team(1))), 3);
/// world.spawn_many((Health(20), Shared::new(Team(2))), 4);
/// let mut buffer = EntityCommandBuffer::new();
/// buffer.commands()?.for_query::<&Health, ()>().with_shared(Team(2)).despawn();
/// world.play(&mut buffer)?;
/// assert_eq!(world.entity_count(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "nothing is recorded until it is said what is done"]
pub struct QueryCommands<'r> {
    recorder: &'r mut CommandRecorder,
    query: QueryDescriptor,
}

impl QueryCommands<'_> {
    /// Asks for entities with this value of a shared component. See [`Query::with_shared`](crate::Query::with_shared).
    pub fn with_shared<T: SharedComponent>(mut self, value: T) -> Self {
        self.query = self.query.with_shared(value);
        self
    }

    /// Lets what is asked of changes mean what is newer than this version. See [`Query::since`](crate::Query::since).
    pub fn since(mut self, version: Version) -> Self {
        self.query = self.query.since(version);
        self
    }

    /// Includes entities that are disabled. See [`IncludeDisabled`](crate::IncludeDisabled).
    pub fn include_disabled(mut self) -> Self {
        self.query = self.query.include_disabled();
        self
    }

    /// Includes prefabs. See [`IncludePrefabs`](crate::IncludePrefabs).
    pub fn include_prefabs(mut self) -> Self {
        self.query = self.query.include_prefabs();
        self
    }

    /// Ignores whether components are enabled. See [`IgnoreEnabled`](crate::IgnoreEnabled).
    pub fn ignore_enabled(mut self) -> Self {
        self.query = self.query.ignore_enabled();
        self
    }

    /// Excludes entities that have another member of a write group. See [`FilterWriteGroups`](crate::FilterWriteGroups).
    pub fn filter_write_groups(mut self) -> Self {
        self.query = self.query.filter_write_groups();
        self
    }

    /// Destroys them. See [`Batch::despawn`](crate::Batch::despawn).
    ///
    /// Reorders what queries give: see [`Query::to_entities`](crate::Query::to_entities).
    pub fn despawn(self) {
        self.record(DespawnFound);
    }

    /// Gives them clones of components. See [`Batch::add`](crate::Batch::add).
    ///
    /// Reorders what queries give: see [`Query::to_entities`](crate::Query::to_entities).
    pub fn add<S: CloneSet>(self, set: S) {
        self.record(AddToFound(set));
    }

    /// Gives each of them a set of components of its own, in the order in which the query finds them when the command is played. See
    /// [`Batch::add_each`](crate::Batch::add_each).
    ///
    /// Reorders what queries give: see [`Query::to_entities`](crate::Query::to_entities).
    ///
    /// If the query finds more or fewer entities than there are sets, playing fails with A0060, and no entity is given one.
    pub fn add_each<S: ComponentSet>(self, sets: impl IntoIterator<Item = S>) {
        self.record(AddEachToFound(sets.into_iter().collect::<Vec<S>>()));
    }

    /// Gives them those of the components that they lack, with their defaults. See
    /// [`Batch::add_types`](crate::Batch::add_types).
    ///
    /// Reorders what queries give: see [`Query::to_entities`](crate::Query::to_entities).
    pub fn add_types(self, types: &[ComponentType]) {
        let Self { recorder, query } = self;
        recorder.record_list(Entity::NULL, TypesOfFound::<true>(query), types.iter().copied());
    }

    /// Removes components from them. See [`Batch::remove`](crate::Batch::remove).
    ///
    /// Reorders what queries give: see [`Query::to_entities`](crate::Query::to_entities).
    pub fn remove<S: ComponentSet>(self) {
        self.record(RemoveFromFound::<S>(PhantomData));
    }

    /// Removes components from them. See [`Batch::remove_types`](crate::Batch::remove_types).
    ///
    /// Reorders what queries give: see [`Query::to_entities`](crate::Query::to_entities).
    pub fn remove_types(self, types: &[ComponentType]) {
        let Self { recorder, query } = self;
        recorder.record_list(Entity::NULL, TypesOfFound::<false>(query), types.iter().copied());
    }

    /// Replaces the value of a shared component. See [`Batch::set_shared`](crate::Batch::set_shared).
    ///
    /// Reorders what queries give: see [`Query::to_entities`](crate::Query::to_entities).
    pub fn set_shared<T: SharedComponent>(self, value: T) {
        self.record(SetSharedOfFound(Shared::new(value)));
    }

    /// Switches a component of them on or off. See
    /// [`Batch::set_component_enabled`](crate::Batch::set_component_enabled).
    pub fn set_component_enabled<T: Component>(self, enabled: bool) {
        self.set_type_enabled(ComponentType::of::<T>(), enabled);
    }

    /// Switches a component of them on or off. See [`Batch::set_type_enabled`](crate::Batch::set_type_enabled).
    pub fn set_type_enabled(self, ty: ComponentType, enabled: bool) {
        self.record(SwitchFound { ty, enabled });
    }

    /// Lets them take part or not. See [`Batch::set_enabled`](crate::Batch::set_enabled).
    ///
    /// Reorders what queries give: see [`Query::to_entities`](crate::Query::to_entities).
    pub fn set_enabled(self, enabled: bool) {
        self.record(EnableFound(enabled));
    }

    fn record<O: Operation>(self, operation: O) {
        let Self { recorder, query } = self;
        recorder.record(Entity::NULL, ForQuery { operation, query });
    }
}

impl fmt::Debug for QueryCommands<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueryCommands").field("query", &self.query).finish_non_exhaustive()
    }
}

/// What is done to all that a query finds.
trait Operation: Send + Sized + 'static {
    fn play(self, player: &mut Player<'_>, query: &QueryDescriptor) -> Result<(), Fault>;

    fn duplicate(&mut self) -> Result<Self, Fault>;

    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result;

    /// Notes which components it gives.
    fn gives(&self, _: &mut Given<'_>) {}
}

struct ForQuery<O> {
    operation: O,
    query: QueryDescriptor,
}

impl<O: Operation> Command for ForQuery<O> {
    const KIND: Kind = Kind::Other;

    fn play(mut self, player: &mut Player<'_>, _: Entity) -> Result<(), Fault> {
        resolve_query(player, &mut self.query)?;
        self.operation.play(player, &self.query)
    }

    fn duplicate(&mut self) -> Result<Self, Fault> {
        Ok(Self { operation: self.operation.duplicate()?, query: self.query.clone() })
    }

    fn play_kept(&mut self, player: &mut Player<'_>, target: Entity) -> Result<(), Fault> {
        if self.query.may_name_entities() {
            return self.duplicate()?.play(player, target);
        }
        self.operation.duplicate()?.play(player, &self.query)
    }

    fn describe(&self, _: Entity, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.operation.describe(f)?;
        // Of the query it says what can be copied.
        write!(f, " all that {} finds", self.query)
    }

    fn gives(&self, given: &mut Given<'_>) {
        self.operation.gives(given);
    }
}

/// Puts entities in place of their placeholders in what a query asks for.
fn resolve_query(player: &Player<'_>, query: &mut QueryDescriptor) -> Result<(), Fault> {
    resolve_by(player.resolved, |map| query.remap_entities(map))
}

#[derive(Clone, Copy)]
struct DespawnFound;

impl Operation for DespawnFound {
    fn play(self, player: &mut Player<'_>, query: &QueryDescriptor) -> Result<(), Fault> {
        query.change(player.entities, EntityManager::despawn_found)?;
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
    fn play(mut self, player: &mut Player<'_>, query: &QueryDescriptor) -> Result<(), Fault> {
        resolve_entities(player.resolved, &mut self.0)?;
        let added =
            query.change(player.entities, |entities, found| entities.add_to_found(found, self.0));
        added.map_err(|rejected| rejected.error)?;
        Ok(())
    }

    fn duplicate(&mut self) -> Result<Self, Fault> {
        Ok(Self(self.0.clone_set()))
    }

    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "add {} to", TypeNames(S::types))
    }

    fn gives(&self, given: &mut Given<'_>) {
        given.add_set::<S>();
    }
}

struct AddEachToFound<S>(Vec<S>);

impl<S: ComponentSet> Operation for AddEachToFound<S> {
    fn play(mut self, player: &mut Player<'_>, query: &QueryDescriptor) -> Result<(), Fault> {
        if S::HAS_ENTITIES {
            self.0.iter_mut().try_for_each(|set| resolve_entities(player.resolved, set))?;
        }
        let added = query
            .change(player.entities, |entities, found| entities.add_each_to_found(found, self.0));
        added.map_err(|rejected| rejected.error)?;
        Ok(())
    }

    fn duplicate(&mut self) -> Result<Self, Fault> {
        self.0.iter_mut().map(duplicate_set).collect::<Result<_, _>>().map(Self)
    }

    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "add {} to each of", TypeNames(S::types))
    }

    fn gives(&self, given: &mut Given<'_>) {
        given.add_set::<S>();
    }
}

struct RemoveFromFound<S>(PhantomData<fn() -> S>);

impl<S: ComponentSet> Operation for RemoveFromFound<S> {
    fn play(self, player: &mut Player<'_>, query: &QueryDescriptor) -> Result<(), Fault> {
        query.change(player.entities, EntityManager::remove_from_found::<S>)?;
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
    fn play(mut self, player: &mut Player<'_>, query: &QueryDescriptor) -> Result<(), Fault> {
        resolve_entities(player.resolved, &mut self.0)?;
        query.change(player.entities, |entities, found| {
            entities.set_shared_of_found(found, self.0)
        })?;
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
    fn play(self, player: &mut Player<'_>, query: &QueryDescriptor) -> Result<(), Fault> {
        query.set_type_enabled(player.entities, self.ty, self.enabled)?;
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
    fn play(self, player: &mut Player<'_>, query: &QueryDescriptor) -> Result<(), Fault> {
        query
            .change(player.entities, |entities, found| entities.set_found_enabled(found, self.0))?;
        Ok(())
    }

    fn duplicate(&mut self) -> Result<Self, Fault> {
        Ok(*self)
    }

    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0 { "enable" } else { "disable" })
    }
}

/// Adds components to all that a query finds, or removes them.
struct TypesOfFound<const ADDS: bool>(QueryDescriptor);

impl<const ADDS: bool> TypesOfFound<ADDS> {
    fn change(
        query: &QueryDescriptor,
        types: &Elements<'_, ComponentType>,
        player: &mut Player<'_>,
    ) -> Result<(), Fault> {
        query.change(player.entities, |entities, found| match ADDS {
            true => entities.add_types_to_found(found, types.as_slice()),
            false => entities.remove_types_from_found(found, types.as_slice()),
        })?;
        Ok(())
    }
}

impl<const ADDS: bool> ListCommand for TypesOfFound<ADDS> {
    type Element = ComponentType;

    const KIND: Kind = Kind::Other;

    fn play(
        mut self,
        types: Elements<'_, ComponentType>,
        player: &mut Player<'_>,
        _: Entity,
    ) -> Result<(), Fault> {
        resolve_query(player, &mut self.0)?;
        Self::change(&self.0, &types, player)
    }

    fn play_kept(
        &mut self,
        types: Elements<'_, ComponentType>,
        player: &mut Player<'_>,
        target: Entity,
    ) -> Result<(), Fault> {
        if self.0.may_name_entities() {
            return self.duplicate()?.play(types, player, target);
        }
        Self::change(&self.0, &types, player)
    }

    fn duplicate(&mut self) -> Result<Self, Fault> {
        Ok(Self(self.0.clone()))
    }

    fn describe(count: usize, _: Entity, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (verb, preposition) = if ADDS { ("add", "to") } else { ("remove", "from") };
        write!(f, "{verb} {count} types {preposition} all that a query finds")
    }

    fn gives(types: Elements<'_, ComponentType>, given: &mut Given<'_>) {
        if ADDS {
            types.as_slice().iter().for_each(|&ty| given.add(ty));
        }
    }
}
