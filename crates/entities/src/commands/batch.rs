//! Commands for many entities: a slice, a linked group, or the matches of a query at playback.

use std::borrow::Cow;
use std::fmt::{self, Formatter};
use std::marker::PhantomData;
use std::mem;

use super::error::Result;
use super::modify::{duplicate_set, write_set};
use super::playback::Context;
use super::recorder::CommandRecorder;
use super::vtable::{Aspect, Command, Recorded, TypeNames, TypedRun};
use crate::batch::{BatchTargets, TargetKind};
use crate::builtin::Disabled;
use crate::component::{Component, ComponentType};
use crate::entity::Entity;
use crate::error::EntityError;
use crate::manager::EntityManager;
use crate::query::QueryDescriptor;
use crate::set::{CloneSet, ComponentSet};
use crate::storage::SetOperation;

impl CommandRecorder {
    /// Selects many entities for one command.
    ///
    /// Targets are
    ///
    /// - a slice of entities, or [`Placeholders`](crate::Placeholders),
    /// - [`Linked(root)`](crate::Linked): the members of an entity's [group](crate::LinkedEntityGroup), or the entity if it has no
    ///   group. With [`matching`](crate::Linked::matching), only the members that a query matches,
    /// - a [query](QueryDescriptor), which runs at playback.
    ///
    /// # Panics
    ///
    /// Playback panics if the query is invalid: see [`EntityManager::query_mut`](crate::EntityManager::query_mut).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, EntityCommandBuffer, QueryDescriptor, With, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Dead;
    ///
    /// let mut world = World::new("Simulation");
    /// let orcs = [(); 3].map(|()| world.spawn(Health(20)));
    /// let mut buffer = EntityCommandBuffer::new();
    /// let commands = buffer.commands()?;
    /// commands.batch(&orcs[1..]).add(Dead);
    /// commands.batch(QueryDescriptor::of::<&Health, With<Dead>>()).despawn();
    /// world.play(&mut buffer)?;
    /// assert_eq!(world.entity_count(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn batch<'a>(&'a mut self, targets: impl Into<BatchTargets<'a>>) -> BatchCommands<'a> {
        BatchCommands { recorder: self, targets: targets.into().0 }
    }
}

/// Commands for many entities: see [`CommandRecorder::batch`].
///
/// Entities of a slice that were despawned are skipped, unless the world is strict. If playback refuses another entity, no entity is
/// changed. There are two exceptions, in which the entities before the refused one are changed: memory is missing, or a strict world
/// refuses an entity that is named twice.
///
/// Structural changes of the matches of a query reorder its rows: see [`Query::to_entities`](crate::Query::to_entities).
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, EntityCommandBuffer, QueryDescriptor, Shared, SharedComponent, World};
///
/// #[derive(Component, Clone, Copy)]
/// struct Health(u32);
///
/// #[derive(SharedComponent, PartialEq, Eq, Hash)]
/// struct Team(u32);
///
/// let mut world = World::new("Simulation");
/// let red = world.spawn((Health(20), Shared::new(Team(1))));
/// let blue = world.spawn((Health(20), Shared::new(Team(2))));
/// let mut buffer = EntityCommandBuffer::new();
/// buffer.commands()?.batch(QueryDescriptor::of::<&Health, ()>().with_shared(Team(2))).despawn();
/// world.play(&mut buffer)?;
/// assert!(world.exists(red) && !world.exists(blue));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "nothing is recorded until one of its methods is called"]
pub struct BatchCommands<'r> {
    recorder: &'r mut CommandRecorder,
    targets: TargetKind<'r>,
}

impl BatchCommands<'_> {
    /// Despawns the entities.
    ///
    /// Reorders query results at playback: see [`Query::to_entities`](crate::Query::to_entities).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, EntityCommandBuffer, QueryDescriptor, World};
    ///
    /// #[derive(Component, Clone)]
    /// struct Bullet;
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_many(Bullet, 100);
    /// let player = world.spawn(());
    /// let mut buffer = EntityCommandBuffer::new();
    /// buffer.commands()?.batch(QueryDescriptor::of::<&Bullet, ()>()).despawn();
    /// world.play(&mut buffer)?;
    /// assert_eq!(world.all_entities(), [player]);
    /// # Ok::<(), ancho_entities::CommandError>(())
    /// ```
    pub fn despawn(self) {
        self.record(Despawn);
    }

    /// Adds clones of the components to each entity. Replaces components that the entity already has.
    ///
    /// Reorders query results at playback: see [`Query::to_entities`](crate::Query::to_entities).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, EntityCommandBuffer, With, World};
    ///
    /// #[derive(Component, Clone)]
    /// struct Burning;
    ///
    /// let mut world = World::new("Simulation");
    /// let trees: Vec<_> = world.spawn_many((), 10).collect();
    /// let mut buffer = EntityCommandBuffer::new();
    /// buffer.commands()?.batch(&trees[..3]).add(Burning);
    /// world.play(&mut buffer)?;
    /// assert_eq!(world.query_filtered::<(), With<Burning>>().to_entities(), trees[..3]);
    /// # Ok::<(), ancho_entities::CommandError>(())
    /// ```
    pub fn add<S: CloneSet>(self, set: S) {
        self.record(Write::<S, true>(set));
    }

    /// Replaces components of each entity by clones of the components in `set`.
    ///
    /// Playback refuses an entity that lacks one of the components. Members of a [`Linked`](crate::Linked) group that lack one are
    /// skipped.
    ///
    /// A single [`Shared`](crate::Shared) value for a slice or a query replaces the value of whole chunks, without moving their
    /// rows.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, EntityCommandBuffer, QueryDescriptor, World};
    ///
    /// #[derive(Component, Clone)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_batch([Health(3), Health(8)]);
    /// let mut buffer = EntityCommandBuffer::new();
    /// buffer.commands()?.batch(QueryDescriptor::of::<&Health, ()>()).set(Health(20));
    /// world.play(&mut buffer)?;
    /// assert!(world.query::<&Health>().iter().all(|health| health.0 == 20));
    /// # Ok::<(), ancho_entities::CommandError>(())
    /// ```
    pub fn set<S: CloneSet>(self, set: S) {
        self.record(Write::<S, false>(set));
    }

    /// Adds a different set of components to each entity. Sets are assigned in the order of the slice, of the group, or of the
    /// query's matches at playback. See [`Batch::add_each`](crate::Batch::add_each).
    ///
    /// Reorders query results at playback: see [`Query::to_entities`](crate::Query::to_entities).
    ///
    /// If there are more or fewer entities than sets, playback fails with A0060, and no entity is changed. Sets for entities of a slice
    /// that were despawned are dropped.
    pub fn add_each<S: ComponentSet>(self, sets: impl IntoIterator<Item = S>) {
        self.record(AddEach(sets.into_iter().collect::<Vec<S>>()));
    }

    /// Adds components with default values to each entity. Components that the entity already has do not change.
    ///
    /// Reorders query results at playback: see [`Query::to_entities`](crate::Query::to_entities).
    pub fn add_types(self, types: &[ComponentType]) {
        self.record(ChangeTypes::<true>(TypeList::new(types)));
    }

    /// Removes components from each entity. Components that the entity does not have are ignored.
    ///
    /// Reorders query results at playback: see [`Query::to_entities`](crate::Query::to_entities).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, EntityCommandBuffer, QueryDescriptor, World};
    ///
    /// #[derive(Component, Clone)]
    /// struct Wet;
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_many(Wet, 100);
    /// let mut buffer = EntityCommandBuffer::new();
    /// buffer.commands()?.batch(QueryDescriptor::of::<&Wet, ()>()).remove::<Wet>();
    /// world.play(&mut buffer)?;
    /// assert_eq!((world.query::<&Wet>().count(), world.entity_count()), (0, 100));
    /// # Ok::<(), ancho_entities::CommandError>(())
    /// ```
    pub fn remove<S: ComponentSet>(self) {
        self.record(Remove::<S>(PhantomData));
    }

    /// Removes components from each entity. Components that the entity does not have are ignored.
    ///
    /// Reorders query results at playback: see [`Query::to_entities`](crate::Query::to_entities).
    pub fn remove_types(self, types: &[ComponentType]) {
        self.record(ChangeTypes::<false>(TypeList::new(types)));
    }

    /// Enables or disables a component of each entity.
    pub fn set_component_enabled<T: Component>(self, enabled: bool) {
        self.set_type_enabled(ComponentType::of::<T>(), enabled);
    }

    /// Enables or disables a component of each entity.
    pub fn set_type_enabled(self, ty: ComponentType, enabled: bool) {
        self.record(SetTypeEnabled { ty, enabled });
    }

    /// Enables or disables each entity and its [group](crate::LinkedEntityGroup).
    ///
    /// Reorders query results at playback: see [`Query::to_entities`](crate::Query::to_entities).
    pub fn set_enabled(self, enabled: bool) {
        self.record(SetEnabled(enabled));
    }

    fn record<O: Operation>(self, operation: O) {
        let Self { recorder, targets } = self;
        let (target, targets) = match targets {
            TargetKind::Entities(entities) => {
                let entities = entities.iter().copied();
                let command = Batch { operation, targets: StoredTargets::Entities };
                return recorder.record_list(Entity::NULL, command, entities);
            }
            TargetKind::Placeholders(placeholders) => {
                let command = Batch { operation, targets: StoredTargets::Entities };
                return recorder.record_list(Entity::NULL, command, placeholders.iter());
            }
            TargetKind::Linked(root, filter) => (root, StoredTargets::Linked(filter)),
            TargetKind::Query(query) => (Entity::NULL, StoredTargets::Query(query.into_owned())),
        };
        recorder.record_list(target, Batch { operation, targets }, []);
    }
}

/// Operation on many entities.
trait Operation: Send + Sized + 'static {
    /// Applies the operation to the entities of the context's list. With `is_linked`, the list is a linked group.
    fn apply_to_list(self, context: &mut Context<'_>, is_linked: bool) -> Result;

    /// Applies the operation to the matches of a query.
    fn apply_to_query(self, context: &mut Context<'_>, query: &QueryDescriptor) -> Result;

    fn duplicate(&mut self) -> Result<Self>;

    /// Describes the operation in words, without its targets. Reads only fields that are `Copy`, because the others may have been
    /// moved out.
    fn describe(&self, f: &mut Formatter<'_>) -> fmt::Result;

    /// Returns the effect of the operation on an entity of a slice.
    fn aspect(entity: Entity) -> Aspect {
        Aspect::Changes(entity)
    }

    /// Reports the components that the operation adds.
    fn inspect(&self, _: &mut dyn FnMut(Aspect)) {}
}

/// Operation on many entities, with its targets. Entities of a slice are in the command's list. The root of a group is the
/// command's target.
struct Batch<O> {
    operation: O,
    targets: StoredTargets,
}

enum StoredTargets {
    Entities,
    Linked(Option<QueryDescriptor>),
    Query(QueryDescriptor),
}

impl StoredTargets {
    fn apply<O: Operation>(
        &self,
        operation: O,
        entities: &[Entity],
        context: &mut Context<'_>,
        target: Entity,
    ) -> Result {
        match self {
            Self::Entities => {
                context.list.clear();
                for &target in entities {
                    let entity = context.target(target)?;
                    context.list.push(entity);
                }
                operation.apply_to_list(context, false)
            }
            Self::Linked(filter) => {
                let root = context.target(target)?;
                let filter = match filter {
                    Some(query) => Some(resolve_query(query, context)?),
                    None => None,
                };
                let Context { entities, list, members, .. } = context;
                members.clear();
                entities.linked_members(root, members)?;
                list.clear();
                list.extend_from_slice(members);
                if let Some(filter) = filter {
                    filter.retain_found(entities, list);
                }
                operation.apply_to_list(context, true)
            }
            Self::Query(query) => {
                let query = resolve_query(query, context)?;
                operation.apply_to_query(context, &query)
            }
        }
    }
}

/// Replaces the placeholders in a query by entities.
fn resolve_query<'q>(
    query: &'q QueryDescriptor,
    context: &Context<'_>,
) -> Result<Cow<'q, QueryDescriptor>> {
    if !query.may_name_entities() {
        return Ok(Cow::Borrowed(query));
    }
    let mut query = query.clone();
    context.resolved.resolve_all(|map| query.remap_entities(map))?;
    Ok(Cow::Owned(query))
}

impl<O: Operation> Command for Batch<O> {
    type Element = Entity;

    const LISTED: bool = true;

    fn apply_run(context: &mut Context<'_>, run: &mut TypedRun<'_, '_, Self>) -> Result {
        while let Some((target, command)) = run.next() {
            Self::apply(command, context, target)?;
            if context.skipped_members.is_some() {
                // The report names the command that was taken last.
                break;
            }
        }
        Ok(())
    }

    fn apply(mut command: Recorded<'_, Self>, context: &mut Context<'_>, target: Entity) -> Result {
        if command.keeps() {
            let (Self { operation, targets }, entities) = command.parts_mut();
            return targets.apply(operation.duplicate()?, entities, context, target);
        }
        let (Self { operation, targets }, entities) = command.take_parts()?;
        targets.apply(operation, entities.as_slice(), context, target)
    }

    fn duplicate(&mut self) -> Result<Self> {
        let targets = match &self.targets {
            StoredTargets::Entities => StoredTargets::Entities,
            StoredTargets::Linked(filter) => StoredTargets::Linked(filter.clone()),
            StoredTargets::Query(query) => StoredTargets::Query(query.clone()),
        };
        Ok(Self { operation: self.operation.duplicate()?, targets })
    }

    fn describe(this: &Recorded<'_, Self>, target: Entity, f: &mut Formatter<'_>) -> fmt::Result {
        this.operation.describe(f)?;
        match &this.targets {
            StoredTargets::Entities => write!(f, " {} entities", this.count()),
            StoredTargets::Linked(None) => write!(f, " the linked group of {target}"),
            StoredTargets::Linked(Some(query)) => {
                write!(f, " all entities of the linked group of {target} that match {query}")
            }
            StoredTargets::Query(query) => write!(f, " all entities that match {query}"),
        }
    }

    fn inspect(command: &Recorded<'_, Self>, target: Entity, each: &mut dyn FnMut(Aspect)) {
        match command.targets {
            StoredTargets::Entities => {
                command.elements().iter().for_each(|&entity| each(O::aspect(entity)));
            }
            // The root has to exist, regardless of the operation on the members.
            StoredTargets::Linked(_) => each(Aspect::Changes(target)),
            StoredTargets::Query(_) => {}
        }
        command.operation.inspect(each);
    }
}

impl Context<'_> {
    /// Calls a function with the list. The function returns an error for an entity that does not exist before it changes anything.
    /// If the entity is gone, removes all such entities from the list and tries again, unless the world is strict.
    fn skip_gone(
        &mut self,
        attempt: impl FnMut(&mut EntityManager, &[Entity]) -> Result<(), EntityError>,
    ) -> Result {
        self.skip_gone_after(attempt, |_, _| ())
    }

    /// Calls another function with the whole list before entities are removed from it. See [`skip_gone`](Self::skip_gone).
    fn skip_gone_after(
        &mut self,
        mut attempt: impl FnMut(&mut EntityManager, &[Entity]) -> Result<(), EntityError>,
        before: impl FnOnce(&EntityManager, &[Entity]),
    ) -> Result {
        let Self { entities, list, .. } = self;
        match attempt(entities, list) {
            Err(error) if error.is_gone() && !entities.is_strict() => {
                before(entities, list);
                let (all, mut first) = (list.len(), None);
                list.retain(|&entity| {
                    let is_gone = entities.is_gone(entity);
                    if is_gone {
                        first.get_or_insert(entity);
                    }
                    !is_gone
                });
                attempt(entities, list)?;
                self.skipped_members = first.map(|first| (all - self.list.len(), first));
                Ok(())
            }
            result => Ok(result?),
        }
    }

    /// Returns an error if the world would refuse the change of components of an entity in the list.
    fn check_changes<S: ComponentSet>(&mut self, change: SetOperation) -> Result {
        self.skip_gone(|entities, list| entities.check_changes::<S>(list, change))
    }

    /// Calls a function with each entity of the list.
    fn for_each_in_list(
        &mut self,
        mut function: impl FnMut(&mut EntityManager, Entity) -> Result,
    ) -> Result {
        let list = mem::take(&mut self.list);
        let result = list.iter().try_for_each(|&entity| function(self.entities, entity));
        self.list = list;
        result
    }
}

#[derive(Clone, Copy)]
struct Despawn;

impl Operation for Despawn {
    fn apply_to_list(self, context: &mut Context<'_>, _: bool) -> Result {
        context.entities.despawn_slice(&context.list)?;
        Ok(())
    }

    fn apply_to_query(self, context: &mut Context<'_>, query: &QueryDescriptor) -> Result {
        query.change(context.entities, EntityManager::despawn_rows)?;
        Ok(())
    }

    fn duplicate(&mut self) -> Result<Self> {
        Ok(*self)
    }

    fn describe(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("despawn")
    }

    fn aspect(entity: Entity) -> Aspect {
        Aspect::Despawns(entity)
    }
}

struct Write<S, const ADD: bool>(S);

impl<S: CloneSet, const ADD: bool> Write<S, ADD> {
    /// True for a single shared value, which is replaced for whole chunks at once.
    const REPLACES_SHARED: bool = !ADD && S::SHARED && S::COUNT == 1;

    /// Replaces the shared value of the entities in the context's list.
    fn replace_shared(&self, context: &mut Context<'_>) -> Result {
        let (mut ty, mut value) = (None, None);
        S::types(&mut |shared| ty = Some(shared));
        self.0.shared(&mut |shared| value = Some(shared));
        if let (Some(ty), Some(value)) = (ty, value) {
            context.skip_gone(|entities, list| {
                entities.set_shared_for_all(list, ty, &value).map(drop)
            })?;
        }
        Ok(())
    }
}

impl<S: CloneSet, const ADD: bool> Operation for Write<S, ADD> {
    fn apply_to_list(mut self, context: &mut Context<'_>, is_linked: bool) -> Result {
        if !ADD && is_linked {
            let Context { entities, list, .. } = context;
            list.retain(|&member| entities.has::<S>(member));
        } else if !Self::REPLACES_SHARED {
            context.check_changes::<S>(if ADD { SetOperation::Add } else { SetOperation::Set })?;
        }
        if S::HAS_ENTITIES && !context.list.is_empty() {
            context.resolved.resolve_set(&mut self.0)?;
        }
        if Self::REPLACES_SHARED && !is_linked {
            return self.replace_shared(context);
        }
        context.for_each_in_list(|entities, entity| {
            write_set::<S, ADD>(entities, entity, self.0.clone_set())
        })
    }

    fn apply_to_query(mut self, context: &mut Context<'_>, query: &QueryDescriptor) -> Result {
        if ADD || Self::REPLACES_SHARED {
            context.resolved.resolve_set(&mut self.0)?;
            query.change(context.entities, |entities, found| {
                if ADD {
                    let added = entities.add_to_rows(found, self.0);
                    added.map(drop).map_err(|rejected| rejected.error)
                } else {
                    entities.set_shared_of_rows(found, &self.0).map(drop)
                }
            })?;
            return Ok(());
        }
        let Context { entities, list, .. } = context;
        list.clear();
        query.change(entities, |entities, found| entities.list_rows(found, list));
        self.apply_to_list(context, false)
    }

    fn duplicate(&mut self) -> Result<Self> {
        duplicate_set(&mut self.0).map(Self)
    }

    fn describe(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (verb, preposition) = if ADD { ("add", "to") } else { ("set", "of") };
        write!(f, "{verb} {} {preposition}", TypeNames(S::types))
    }

    fn inspect(&self, each: &mut dyn FnMut(Aspect)) {
        if ADD {
            Aspect::adds::<S>(each);
        }
    }
}

struct AddEach<S>(Vec<S>);

impl<S: ComponentSet> AddEach<S> {
    fn resolve(&mut self, context: &Context<'_>) -> Result {
        if S::HAS_ENTITIES {
            self.0.iter_mut().try_for_each(|set| context.resolved.resolve_set(set))?;
        }
        Ok(())
    }
}

impl<S: ComponentSet> Operation for AddEach<S> {
    fn apply_to_list(mut self, context: &mut Context<'_>, _: bool) -> Result {
        let (expected, found) = (context.list.len(), self.0.len());
        if expected != found {
            let mut first = None;
            S::types(&mut |ty| _ = first.get_or_insert(ty));
            let Some(component) = first else { return Ok(()) };
            return Err(EntityError::WrongCount { component, expected, found }.into());
        }
        let sets = &mut self.0;
        context.skip_gone_after(
            |entities, list| entities.check_changes::<S>(list, SetOperation::Add),
            |entities, list| {
                // The sets of entities that are gone are dropped.
                let mut list = list.iter();
                sets.retain(|_| list.next().is_some_and(|&entity| !entities.is_gone(entity)));
            },
        )?;
        self.resolve(context)?;
        let mut sets = self.0.into_iter();
        context.for_each_in_list(|entities, entity| match sets.next() {
            Some(set) => write_set::<S, true>(entities, entity, set),
            None => Ok(()),
        })
    }

    fn apply_to_query(mut self, context: &mut Context<'_>, query: &QueryDescriptor) -> Result {
        self.resolve(context)?;
        let added = query
            .change(context.entities, |entities, found| entities.add_each_to_rows(found, self.0));
        added.map_err(|rejected| rejected.error)?;
        Ok(())
    }

    fn duplicate(&mut self) -> Result<Self> {
        self.0.iter_mut().map(duplicate_set).collect::<Result<_, _>>().map(Self)
    }

    fn describe(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "add {} to each of", TypeNames(S::types))
    }

    fn inspect(&self, each: &mut dyn FnMut(Aspect)) {
        Aspect::adds::<S>(each);
    }
}

struct Remove<S>(PhantomData<fn() -> S>);

impl<S: ComponentSet> Operation for Remove<S> {
    fn apply_to_list(self, context: &mut Context<'_>, _: bool) -> Result {
        context.check_changes::<S>(SetOperation::Remove)?;
        context.for_each_in_list(|entities, entity| {
            entities.remove::<S>(entity)?;
            Ok(())
        })
    }

    fn apply_to_query(self, context: &mut Context<'_>, query: &QueryDescriptor) -> Result {
        query.change(context.entities, EntityManager::remove_from_rows::<S>)?;
        Ok(())
    }

    fn duplicate(&mut self) -> Result<Self> {
        Ok(Self(PhantomData))
    }

    fn describe(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "remove {} from", TypeNames(S::types))
    }

    fn aspect(entity: Entity) -> Aspect {
        Aspect::RemovesFrom(entity)
    }
}

/// List of component types. Up to eight types are recorded without allocating.
#[derive(Clone)]
struct TypeList {
    inline: [ComponentType; 8],
    count: usize,
    /// All types, if there are more than eight.
    heap: Vec<ComponentType>,
}

impl TypeList {
    fn new(types: &[ComponentType]) -> Self {
        let (mut inline, mut heap) = ([ComponentType::of::<Disabled>(); 8], Vec::new());
        match inline.get_mut(..types.len()) {
            Some(inline) => inline.copy_from_slice(types),
            None => heap.extend_from_slice(types),
        }
        Self { inline, count: types.len(), heap }
    }

    fn as_slice(&self) -> &[ComponentType] {
        self.inline.get(..self.count).unwrap_or(&self.heap)
    }
}

/// Adds or removes components that are given by their types.
struct ChangeTypes<const ADD: bool>(TypeList);

impl<const ADD: bool> Operation for ChangeTypes<ADD> {
    fn apply_to_list(self, context: &mut Context<'_>, _: bool) -> Result {
        let change = if ADD { SetOperation::AddMissing } else { SetOperation::Remove };
        context.skip_gone(|entities, list| {
            entities.check_type_changes(list, self.0.as_slice(), change)
        })?;
        context.for_each_in_list(|entities, entity| {
            if ADD {
                entities.add_types(entity, self.0.as_slice())?;
            } else {
                entities.remove_types(entity, self.0.as_slice())?;
            }
            Ok(())
        })
    }

    fn apply_to_query(self, context: &mut Context<'_>, query: &QueryDescriptor) -> Result {
        query.change(context.entities, |entities, found| {
            if ADD {
                entities.add_types_to_rows(found, self.0.as_slice())
            } else {
                entities.remove_types_from_rows(found, self.0.as_slice())
            }
        })?;
        Ok(())
    }

    fn duplicate(&mut self) -> Result<Self> {
        Ok(Self(self.0.clone()))
    }

    fn describe(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (verb, preposition) = if ADD { ("add", "to") } else { ("remove", "from") };
        write!(f, "{verb} {} types {preposition}", self.0.count)
    }

    fn aspect(entity: Entity) -> Aspect {
        if ADD { Aspect::Changes(entity) } else { Aspect::RemovesFrom(entity) }
    }

    fn inspect(&self, each: &mut dyn FnMut(Aspect)) {
        if ADD {
            self.0.as_slice().iter().for_each(|&ty| each(Aspect::Adds(ty)));
        }
    }
}

#[derive(Clone, Copy)]
struct SetTypeEnabled {
    ty: ComponentType,
    enabled: bool,
}

impl Operation for SetTypeEnabled {
    fn apply_to_list(self, context: &mut Context<'_>, _: bool) -> Result {
        let Self { ty, enabled } = self;
        if !ty.is_enableable() {
            return Err(EntityError::NotEnableable { component: ty }.into());
        }
        context.skip_gone(|entities, list| {
            list.iter().try_for_each(|&entity| entities.check_has_type(entity, ty))
        })?;
        context.for_each_in_list(|entities, entity| {
            entities.set_type_enabled(entity, ty, enabled)?;
            Ok(())
        })
    }

    fn apply_to_query(self, context: &mut Context<'_>, query: &QueryDescriptor) -> Result {
        query.set_type_enabled(context.entities, self.ty, self.enabled)?;
        Ok(())
    }

    fn duplicate(&mut self) -> Result<Self> {
        Ok(*self)
    }

    fn describe(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} `{}` of", if self.enabled { "enable" } else { "disable" }, self.ty)
    }
}

#[derive(Clone, Copy)]
struct SetEnabled(bool);

impl Operation for SetEnabled {
    fn apply_to_list(self, context: &mut Context<'_>, _: bool) -> Result {
        context.skip_gone(|entities, list| {
            list.iter().try_for_each(|&entity| entities.check_exists(entity))
        })?;
        context.for_each_in_list(|entities, entity| {
            entities.set_enabled(entity, self.0)?;
            Ok(())
        })
    }

    fn apply_to_query(self, context: &mut Context<'_>, query: &QueryDescriptor) -> Result {
        query
            .change(context.entities, |entities, found| entities.set_rows_enabled(found, self.0))?;
        Ok(())
    }

    fn duplicate(&mut self) -> Result<Self> {
        Ok(*self)
    }

    fn describe(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0 { "enable" } else { "disable" })
    }
}
