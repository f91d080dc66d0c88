//! Changes of many entities at once.

use std::borrow::Cow;
use std::fmt;
use std::iter;
use std::ops::{Deref, DerefMut};
use std::thread;

use ancho_collections::Rejected;

use crate::component::{Component, ComponentType};
use crate::entity::Entity;
use crate::entity_map::EntityMap;
use crate::error::EntityError;
use crate::manager::{DistinctEntities, EntityHost, EntityManager, RowSelection, check_count};
use crate::placeholder::Placeholders;
use crate::query::QueryDescriptor;
use crate::set::{CloneSet, ComponentSet};
use crate::shared::{Shared, SharedComponent};
use crate::storage::SetOperation;

/// The members of an entity's [linked group](crate::LinkedEntityGroup), as the targets of a [batch](EntityManager::batch). Each
/// member is a target once.
///
/// If the entity has no group, it is the only target. Members that do not exist are skipped.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Buffer, Linked, LinkedEntityGroup, World};
///
/// let mut world = World::new("Simulation");
/// let (car, wheel, tree) = (world.spawn(()), world.spawn(()), world.spawn(()));
/// world.add(car, Buffer::from([car, wheel].map(LinkedEntityGroup))).unwrap();
/// assert_eq!(world.batch(Linked(car)).set_enabled(false), Ok(2));
/// assert!(!world.is_enabled(wheel) && world.is_enabled(tree));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Linked(pub Entity);

impl Linked {
    /// Selects the members of the group that a query matches. In commands, the query is evaluated at playback.
    ///
    /// The query is evaluated before the first member is changed. It skips disabled components as usual. With the filter
    /// [`IgnoreEnabled`](crate::IgnoreEnabled), only the archetype is tested, like Unity's `EntityQueryMask`.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{
    ///     Buffer, Component, EntityCommandBuffer, QueryDescriptor, Linked, LinkedEntityGroup, Without, World,
    /// };
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Wheel;
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Painted;
    ///
    /// let mut world = World::new("Simulation");
    /// let (car, wheel) = (world.spawn(()), world.spawn(Wheel));
    /// world.add(car, Buffer::from([car, wheel].map(LinkedEntityGroup))).unwrap();
    /// let mut buffer = EntityCommandBuffer::new();
    /// let no_wheel = QueryDescriptor::of::<(), Without<Wheel>>();
    /// buffer.commands()?.batch(Linked(car).matching(no_wheel)).add(Painted);
    /// world.play(&mut buffer)?;
    /// assert!(world.has::<Painted>(car) && !world.has::<Painted>(wheel));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn matching(self, query: impl Into<QueryDescriptor>) -> BatchTargets<'static> {
        BatchTargets(TargetKind::Linked(self.0, Some(query.into())))
    }
}

/// The entities of a batch. See [`EntityManager::batch`] and [`CommandRecorder::batch`](crate::CommandRecorder::batch). They are:
///
/// - a slice of entities, or [`Placeholders`] of commands
/// - [`Linked(root)`](Linked): the members of an entity's linked group, or those that a query [matches](Linked::matching)
/// - a [`QueryDescriptor`]: the entities that it matches
#[derive(Clone, Debug)]
pub struct BatchTargets<'a>(pub(crate) TargetKind<'a>);

#[derive(Clone, Debug)]
pub(crate) enum TargetKind<'a> {
    Entities(&'a [Entity]),
    Placeholders(Placeholders),
    Linked(Entity, Option<QueryDescriptor>),
    Query(Cow<'a, QueryDescriptor>),
}

impl<'a> From<&'a [Entity]> for BatchTargets<'a> {
    fn from(entities: &'a [Entity]) -> Self {
        Self(TargetKind::Entities(entities))
    }
}

impl<'a, const N: usize> From<&'a [Entity; N]> for BatchTargets<'a> {
    fn from(entities: &'a [Entity; N]) -> Self {
        Self(TargetKind::Entities(entities))
    }
}

impl<'a> From<&'a Vec<Entity>> for BatchTargets<'a> {
    fn from(entities: &'a Vec<Entity>) -> Self {
        Self(TargetKind::Entities(entities))
    }
}

impl From<Placeholders> for BatchTargets<'_> {
    fn from(placeholders: Placeholders) -> Self {
        Self(TargetKind::Placeholders(placeholders))
    }
}

impl From<Linked> for BatchTargets<'_> {
    fn from(Linked(root): Linked) -> Self {
        Self(TargetKind::Linked(root, None))
    }
}

impl From<QueryDescriptor> for BatchTargets<'_> {
    fn from(query: QueryDescriptor) -> Self {
        Self(TargetKind::Query(Cow::Owned(query)))
    }
}

impl<'a> From<&'a QueryDescriptor> for BatchTargets<'a> {
    fn from(query: &'a QueryDescriptor) -> Self {
        Self(TargetKind::Query(Cow::Borrowed(query)))
    }
}

/// The resolved targets of a batch, before the first entity is changed.
#[derive(Debug)]
enum Targets<'t> {
    Slice(&'t [Entity]),
    List(Vec<Entity>),
    Query(Cow<'t, QueryDescriptor>),
}

impl<'t> Targets<'t> {
    fn resolve(targets: TargetKind<'t>, entities: &EntityManager) -> Result<Self, EntityError> {
        Ok(match targets {
            TargetKind::Entities(entities) => Self::Slice(entities),
            TargetKind::Placeholders(placeholders) => Self::List(placeholders.iter().collect()),
            TargetKind::Query(query) => Self::Query(query),
            TargetKind::Linked(root, filter) => {
                let mut members = DistinctEntities::default();
                entities.linked_members(root, &mut members)?;
                let mut members = members.into_list();
                if let Some(filter) = filter {
                    filter.retain_found(entities, &mut members);
                }
                Self::List(members)
            }
        })
    }
}

impl EntityManager {
    /// Begins a change of many entities: of a slice, of the members of a [linked group](Linked), or of all entities that match a
    /// [query](QueryDescriptor).
    ///
    /// A batch is faster than single changes if consecutive entities of a slice are in contiguous rows, like entities that were
    /// created together. A slice may contain an entity twice. A query is evaluated by the method that changes the entities.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Poisoned;
    ///
    /// let mut world = World::new("Simulation");
    /// let orcs: Vec<_> = world.spawn_many(Health(20), 1000).collect();
    /// assert_eq!(world.batch(&orcs[..10]).add(Poisoned).unwrap(), 10);
    /// assert_eq!(world.batch(&orcs[5..]).despawn(), Ok(995));
    /// ```
    ///
    /// A change of all entities that match a query:
    ///
    /// ```
    /// use ancho_entities::{Component, QueryDescriptor, With, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// #[derive(Component, Clone)]
    /// struct Burning;
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_many(Health(20), 1000);
    /// assert_eq!(world.batch(QueryDescriptor::of::<&Health, ()>()).add(Burning).unwrap(), 1000);
    /// assert_eq!(world.query_filtered::<&Health, With<Burning>>().count(), 1000);
    /// ```
    pub fn batch<'w>(&'w mut self, targets: impl Into<BatchTargets<'w>>) -> Batch<'w> {
        let targets = Targets::resolve(targets.into().0, self);
        Batch { host: self, targets }
    }
}

impl EntityManager {
    /// Adds a separate set of components to each entity of a list. Returns the number of entities that lacked one of the
    /// components.
    fn add_each_to_list<S: ComponentSet>(
        &mut self,
        entities: &[Entity],
        sets: Vec<S>,
    ) -> Result<usize, Rejected<Vec<S>, EntityError>> {
        if S::LINKS {
            return match check_count::<S>(entities.len(), sets.len()) {
                Ok(()) => self.write_linked(entities, sets, SetOperation::Add),
                Err(error) => Err(Rejected { value: sets, error }),
            };
        }
        let checked = check_count::<S>(entities.len(), sets.len())
            .and_then(|()| self.check_changes::<S>(entities, SetOperation::Add));
        if let Err(error) = checked {
            return Err(Rejected { value: sets, error });
        }
        let (mut added, mut sets) = (0, sets.into_iter());
        for (&entity, set) in entities.iter().zip(sets.by_ref()) {
            match self.add(entity, set) {
                Ok(is_new) => added += usize::from(is_new),
                Err(Rejected { value, error }) => {
                    let value = iter::once(value).chain(sets).collect();
                    return Err(Rejected { value, error });
                }
            }
        }
        Ok(added)
    }
}

/// A change of many entities, created by [`EntityManager::batch`].
///
/// Unless a method says otherwise, a change is made for all entities or, if there is an error, for none. The entities of a query
/// are those of [`Query::to_entities`](crate::Query::to_entities). An invalid query panics, like [`EntityManager::query`].
///
/// A batch is much faster than a loop. If all entities of a chunk change and only components without data change (tags and shared
/// components), the whole chunk moves to the other archetype, at the cost of one entity. If the chunk shares its memory with a
/// fork, it continues to share it. If components with data are added or removed, a chunk that is almost full keeps as many
/// entities as fit, unless it shares its memory. Entities of other chunks are copied, component by component. A chunk that is
/// less than half full is not kept if there is room for its entities elsewhere, unless only a shared value changes.
#[must_use = "nothing changes until one of its methods is called"]
pub struct Batch<'w> {
    /// The entities. A reference, so that an unused batch does not extend the borrow.
    host: &'w mut dyn EntityHost,
    targets: Result<Targets<'w>, EntityError>,
}

impl Batch<'_> {
    /// Despawns the entities. Returns the number of entities that existed.
    ///
    /// Reorders query results: see [`Query::to_entities`](crate::Query::to_entities).
    ///
    /// # Errors
    ///
    /// In a strict world, returns an error if one of the entities does not exist. In that case no entity is despawned. Also
    /// returns an error if the memory is shared with a fork and a copy cannot be allocated. In that case the entities before the
    /// error are despawned.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, QueryDescriptor, World};
    ///
    /// #[derive(Component, Clone)]
    /// struct Bullet;
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_many(Bullet, 100);
    /// let player = world.spawn(());
    /// assert_eq!(world.batch(QueryDescriptor::of::<&Bullet, ()>()).despawn(), Ok(100));
    /// assert_eq!(world.all_entities(), [player]);
    /// ```
    #[track_caller]
    pub fn despawn(self) -> Result<usize, EntityError> {
        let mut manager = BatchHost(self.host);
        match &self.targets? {
            Targets::Slice(entities) => manager.despawn_slice(entities),
            Targets::List(entities) => manager.despawn_slice(entities),
            Targets::Query(query) => query.change(&mut manager, EntityManager::despawn_rows),
        }
    }

    /// Adds clones of components to the entities, and replaces those that an entity already has. Returns the number of entities
    /// that lacked one of the components.
    ///
    /// Reorders query results: see [`Query::to_entities`](crate::Query::to_entities).
    ///
    /// # Errors
    ///
    /// Returns an error if an entity does not exist, or there is no memory. In a strict world, also returns an error if an entity
    /// already has one of the components.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Clone, Debug, PartialEq)]
    /// struct Shield(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let (old, new) = (world.spawn(Shield(1)), world.spawn(()));
    /// let added = world.batch(&[old, new]).add(Shield(9)).unwrap();
    /// assert_eq!(added, 1, "the other one had a shield");
    /// assert_eq!((world.get(old), world.get(new)), (Ok(&Shield(9)), Ok(&Shield(9))));
    /// ```
    #[track_caller]
    #[expect(
        clippy::should_implement_trait,
        reason = "named as the manager's method; it is not a sum"
    )]
    pub fn add<S: CloneSet>(self, components: S) -> Result<usize, Rejected<S, EntityError>> {
        if S::LINKS {
            return self.add_linked(components);
        }
        match self.into_rows() {
            Ok((mut manager, rows)) => {
                let added = manager.add_to_rows(&rows, components);
                manager.keep_selection(rows);
                added
            }
            Err(error) => Err(Rejected { value: components, error }),
        }
    }

    /// Adds a separate set of components to each entity, and replaces components that the entity already has. The sets are in the
    /// order of the slice, of the group, or of [`Query::to_entities`](crate::Query::to_entities) before the change. Returns the
    /// number of entities that lacked one of the components.
    ///
    /// Reorders query results: see [`Query::to_entities`](crate::Query::to_entities).
    ///
    /// This is Unity's `AddComponentData` with a query and an array. A set with a shared component does not compile.
    ///
    /// # Errors
    ///
    /// Returns A0060 if the number of sets differs from the number of entities, and in the cases of [`add`](Self::add). In these
    /// cases nothing is changed, and the error returns the sets. If there is no memory for an entity of a slice or a group, the
    /// entities before it are changed, and the error returns the other sets.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, QueryDescriptor, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// #[derive(Component, Clone, Copy, Debug, PartialEq)]
    /// struct Armour(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let orcs: Vec<_> = world.spawn_batch([Health(20), Health(30)]).collect();
    /// let armour: Vec<_> = world.query::<&Health>().iter().map(|health| Armour(health.0 / 10)).collect();
    /// assert_eq!(world.batch(QueryDescriptor::of::<&Health, ()>()).add_each(armour).unwrap(), 2);
    /// assert_eq!((world.get(orcs[0]), world.get(orcs[1])), (Ok(&Armour(2)), Ok(&Armour(3))));
    /// ```
    #[track_caller]
    pub fn add_each<S: ComponentSet>(
        self,
        sets: impl IntoIterator<Item = S>,
    ) -> Result<usize, Rejected<Vec<S>, EntityError>> {
        let sets: Vec<S> = sets.into_iter().collect();
        if let Ok(Targets::Query(query)) = &self.targets {
            return query.change(&mut BatchHost(self.host), |manager, rows| {
                manager.add_each_to_rows(rows, sets)
            });
        }
        match self.into_list() {
            Ok((mut manager, entities)) => manager.add_each_to_list(&entities, sets),
            Err(error) => Err(Rejected { value: sets, error }),
        }
    }

    /// Adds missing components to each entity, with their default values. Returns the number of entities that lacked one of the
    /// components.
    ///
    /// Reorders query results: see [`Query::to_entities`](crate::Query::to_entities).
    ///
    /// # Errors
    ///
    /// Returns the errors of [`add`](Self::add), and [`EntityError::NoInitialValue`] for a component without a default value.
    #[track_caller]
    pub fn add_types(self, types: &[ComponentType]) -> Result<usize, EntityError> {
        self.change(|manager, rows| manager.add_types_to_rows(rows, types))
    }

    /// Replaces components of the entities with clones of these.
    ///
    /// With a shared component, this reorders query results: see [`Query::to_entities`](crate::Query::to_entities).
    ///
    /// # Errors
    ///
    /// Returns an error if an entity does not exist, or lacks one of the components. In that case no entity is changed. Also
    /// returns an error if there is no memory. In that case the entities before the error are changed.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Clone, Debug, PartialEq)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let team: Vec<_> = world.spawn_batch([Health(3), Health(8)]).collect();
    /// world.batch(&team).set(Health(20)).unwrap();
    /// assert!(world.query::<&Health>().iter().all(|health| health.0 == 20));
    ///
    /// let stone = world.spawn(());
    /// assert!(world.batch(&[team[0], stone]).set(Health(1)).is_err());
    /// assert_eq!(world.get(team[0]), Ok(&Health(20)), "none was changed");
    /// ```
    #[track_caller]
    pub fn set<S: CloneSet>(self, mut components: S) -> Result<(), Rejected<S, EntityError>> {
        let set = self.into_list().and_then(|(mut manager, entities)| {
            if S::LINKS {
                let sets = entities.iter().map(|_| components.clone_set()).collect();
                let written = manager.write_linked(&entities, sets, SetOperation::Set);
                return written.map(drop).map_err(|rejected| rejected.error);
            }
            manager.check_changes::<S>(&entities, SetOperation::Set)?;
            for entity in entities {
                let clone = components.clone_set();
                manager.set(entity, clone).map_err(|rejected| rejected.error)?;
            }
            Ok(())
        });
        set.map_err(|error| Rejected { value: components, error })
    }

    /// Removes components from the entities. Returns the number of entities that had at least one of them.
    ///
    /// Reorders query results: see [`Query::to_entities`](crate::Query::to_entities).
    ///
    /// # Errors
    ///
    /// Returns an error if an entity does not exist, or there is no memory. In a strict world, also returns an error if an entity
    /// lacks one of the components.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, QueryDescriptor, World};
    ///
    /// #[derive(Component, Clone)]
    /// struct Health(u32);
    ///
    /// #[derive(Component, Clone)]
    /// struct Poisoned;
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_many((Health(20), Poisoned), 100);
    /// let poisoned = QueryDescriptor::of::<&Poisoned, ()>();
    /// assert_eq!(world.batch(&poisoned).remove::<Poisoned>(), Ok(100));
    /// assert_eq!(world.batch(&poisoned).remove::<Poisoned>(), Ok(0));
    /// assert_eq!(world.query::<&Health>().count(), 100);
    /// ```
    #[track_caller]
    pub fn remove<S: ComponentSet>(self) -> Result<usize, EntityError> {
        self.change(EntityManager::remove_from_rows::<S>)
    }

    /// Removes components from the entities, given their types at run time. See [`remove`](Self::remove).
    ///
    /// Reorders query results: see [`Query::to_entities`](crate::Query::to_entities).
    ///
    /// # Errors
    ///
    /// Returns the errors of [`remove`](Self::remove).
    #[track_caller]
    pub fn remove_types(self, types: &[ComponentType]) -> Result<usize, EntityError> {
        self.change(|manager, rows| manager.remove_types_from_rows(rows, types))
    }

    /// Replaces the value of a shared component of the entities. Returns the number of entities that had another value.
    ///
    /// Reorders query results: see [`Query::to_entities`](crate::Query::to_entities).
    ///
    /// If all entities of a chunk are in the batch, they are not moved: the whole chunk gets the value.
    ///
    /// # Errors
    ///
    /// Returns an error if an entity does not exist, or lacks the component. In that case no entity is changed. Also returns an
    /// error if there is no memory. In that case the entities before the error are changed.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Shared, SharedComponent, World};
    ///
    /// #[derive(SharedComponent, Debug, PartialEq, Eq, Hash)]
    /// struct Team(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let ants: Vec<_> = world.spawn_many(Shared::new(Team(3)), 1000).collect();
    /// assert_eq!(world.batch(&ants[..500]).set_shared(Team(4)), Ok(500));
    /// assert_eq!(world.shared(ants[499]), Ok(&Team(4)));
    /// assert_eq!(world.shared(ants[500]), Ok(&Team(3)));
    /// ```
    #[track_caller]
    pub fn set_shared<T: SharedComponent>(self, value: T) -> Result<usize, EntityError> {
        let (ty, value) = (ComponentType::of_shared::<T>(), Shared::new(value));
        let mut manager = BatchHost(self.host);
        match &self.targets? {
            Targets::Slice(list) => manager.set_shared_for_all(list, ty, &value.into_erased()),
            Targets::List(list) => manager.set_shared_for_all(list, ty, &value.into_erased()),
            Targets::Query(query) => {
                query.change(&mut manager, |manager, rows| manager.set_shared_of_rows(rows, &value))
            }
        }
    }

    /// Enables or disables the entities and the members of their linked groups. See [`EntityManager::set_enabled`]. Returns the
    /// number of entities that were changed.
    ///
    /// Reorders query results: see [`Query::to_entities`](crate::Query::to_entities).
    ///
    /// # Errors
    ///
    /// Returns an error if an entity does not exist, or there is no memory.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Clone)]
    /// struct Lamp;
    ///
    /// let mut world = World::new("Simulation");
    /// let lamps: Vec<_> = world.spawn_many(Lamp, 10).collect();
    /// assert_eq!(world.batch(&lamps[..4]).set_enabled(false), Ok(4));
    /// assert_eq!(world.query::<&Lamp>().count(), 6);
    /// assert_eq!(world.batch(&lamps).set_enabled(true), Ok(4));
    /// assert_eq!(world.query::<&Lamp>().count(), 10);
    /// ```
    #[track_caller]
    pub fn set_enabled(self, enabled: bool) -> Result<usize, EntityError> {
        self.change(|manager, rows| manager.set_rows_enabled(rows, enabled))
    }

    /// Enables or disables a component of the entities. The values are kept, and the entities are not moved. Returns the number
    /// of entities.
    ///
    /// A query for the component matches only entities on which it is enabled. [`Present`](crate::Present) matches both states,
    /// and [`IsDisabled`](crate::IsDisabled) matches disabled components. This is Unity's `SetComponentEnabled` with a query.
    ///
    /// # Errors
    ///
    /// Returns A0070 if the component is not enableable. Also returns an error if an entity does not exist, or lacks the
    /// component. In these cases nothing is changed.
    ///
    /// # Complexity
    ///
    /// Not a structural change: one bit is set for each entity. With a query, 64 bits are set at a time.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, Present, QueryDescriptor, World};
    ///
    /// #[derive(Component, Clone)]
    /// #[component(enableable)]
    /// struct Engine;
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_many(Engine, 1000);
    /// let engines = QueryDescriptor::of::<(), Present<Engine>>();
    /// assert_eq!(world.batch(&engines).set_component_enabled::<Engine>(false), Ok(1000));
    /// assert!(world.query::<&Engine>().is_empty());
    /// assert_eq!(world.batch(&engines).set_component_enabled::<Engine>(true), Ok(1000));
    /// assert_eq!(world.query::<&Engine>().count(), 1000);
    /// ```
    #[track_caller]
    pub fn set_component_enabled<T: Component>(self, enabled: bool) -> Result<usize, EntityError> {
        self.set_type_enabled(ComponentType::of::<T>(), enabled)
    }

    /// Enables or disables a component of the entities, given its type at run time. See
    /// [`set_component_enabled`](Self::set_component_enabled).
    ///
    /// # Errors
    ///
    /// Returns the errors of [`set_component_enabled`](Self::set_component_enabled).
    #[track_caller]
    pub fn set_type_enabled(self, ty: ComponentType, enabled: bool) -> Result<usize, EntityError> {
        if let Ok(Targets::Query(query)) = &self.targets {
            return query.set_type_enabled(&mut BatchHost(self.host), ty, enabled);
        }
        let (mut manager, entities) = self.into_list()?;
        for &entity in &entities {
            manager.check_enableable(entity, ty)?;
        }
        for &entity in &entities {
            manager.set_type_enabled(entity, ty, enabled)?;
        }
        Ok(entities.len())
    }

    /// Calls a function with the manager and each entity. The function can make any structural change.
    ///
    /// The entities are listed before the first call. An entity is skipped if it no longer exists, or no longer matches the
    /// query. New entities are not visited. This is Unity's `WithStructuralChanges`.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, QueryDescriptor, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Egg {
    ///     is_fertile: bool,
    /// }
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Bird;
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_batch([true, false, true].map(|is_fertile| Egg { is_fertile }));
    /// world.batch(QueryDescriptor::of::<&Egg, ()>()).for_each(|entities, entity| {
    ///     if entities.get::<Egg>(entity).unwrap().is_fertile {
    ///         entities.remove::<Egg>(entity).unwrap();
    ///         entities.add(entity, Bird).unwrap();
    ///     } else {
    ///         entities.despawn(entity).unwrap();
    ///     }
    /// });
    /// assert_eq!((world.entity_count(), world.query::<&Bird>().count()), (2, 2));
    /// ```
    #[track_caller]
    pub fn for_each(self, mut function: impl FnMut(&mut EntityManager, Entity)) {
        let Self { host, targets } = self;
        let mut manager = BatchHost(host);
        let Ok(targets) = targets else { return };
        let entities: &[Entity] = match &targets {
            Targets::Slice(entities) => entities,
            Targets::List(entities) => entities,
            Targets::Query(query) => {
                for entity in query.query(&manager).to_entities() {
                    if query.query(&manager).matches(entity) {
                        function(&mut manager, entity);
                    }
                }
                return;
            }
        };
        for &entity in entities {
            if manager.exists(entity) {
                function(&mut manager, entity);
            }
        }
    }

    /// Moves the entities to another world. See [`EntityManager::move_entities_from`], which moves all entities. Returns the new
    /// id of each entity.
    ///
    /// Reorders query results: see [`Query::to_entities`](crate::Query::to_entities).
    ///
    /// A chunk is moved as a whole if all its entities are moved. Other entities are moved to chunks of the other world with the
    /// same components, and the [chunk components](crate::PerChunk) of their chunks stay. Members of a [linked
    /// group](crate::LinkedEntityGroup) are moved only if they are in the batch.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`EntityManager::move_entities_from`]. Returns an error if an entity does not exist.
    ///
    /// # Panics
    ///
    /// Panics in the cases of [`EntityManager::move_entities_from`].
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::World;
    ///
    /// let (mut here, mut there) = (World::new("Here"), World::new("There"));
    /// let all: Vec<_> = there.spawn_many((), 10).collect();
    /// let moved = there.batch(&all[..3]).move_to(&mut here).unwrap();
    /// assert_eq!((moved.len(), here.entity_count(), there.entity_count()), (3, 3, 7));
    /// ```
    #[track_caller]
    pub fn move_to(self, destination: &mut EntityManager) -> Result<EntityMap, EntityError> {
        self.change(|source, rows| destination.move_rows_from(source, rows))
    }

    /// Moves the entities to another world, together with their [linked groups](crate::LinkedEntityGroup) and their linked
    /// [sources](crate::Relationship).
    ///
    /// [`move_to`](Self::move_to) moves only the entities, and ends their links to entities that stay.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`move_to`](Self::move_to).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Parent, World};
    ///
    /// let (mut loading, mut game) = (World::new("Loading"), World::new("Game"));
    /// let ship = loading.spawn(());
    /// loading.spawn(Parent(ship));
    /// let map = loading.batch(&[ship]).move_linked_to(&mut game)?;
    /// assert_eq!(game.children(map.get(ship).unwrap()).len(), 1);
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    #[track_caller]
    pub fn move_linked_to(self, destination: &mut EntityManager) -> Result<EntityMap, EntityError> {
        let (mut source, entities) = self.into_list()?;
        let mut members = DistinctEntities::default();
        for entity in entities {
            source.linked_members(entity, &mut members)?;
        }
        let rows = source.found_entities(&members)?;
        let moved = destination.move_rows_from(&mut source, &rows);
        source.keep_selection(rows);
        moved
    }

    /// Copies the entities to another world. See [`EntityManager::copy_entities_from`], which copies all entities. Returns the
    /// copy of each entity. Members of a [linked group](crate::LinkedEntityGroup) are copied only if they are in the batch.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`EntityManager::copy_entities_from`]. Returns an error if an entity does not exist.
    ///
    /// # Panics
    ///
    /// Panics in the cases of [`EntityManager::copy_entities_from`].
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::World;
    ///
    /// let (mut here, mut there) = (World::new("Here"), World::new("There"));
    /// let all: Vec<_> = there.spawn_many((), 10).collect();
    /// let copied = there.batch(&all[..3]).copy_to(&mut here).unwrap();
    /// assert_eq!((copied.len(), here.entity_count(), there.entity_count()), (3, 3, 10));
    /// ```
    #[track_caller]
    pub fn copy_to(self, destination: &mut EntityManager) -> Result<EntityMap, EntityError> {
        self.change(|source, rows| destination.copy_rows_from(source, rows))
    }

    /// Adds components that include links. The sources are attached in the order of the targets.
    #[cold]
    fn add_linked<S: CloneSet>(self, mut components: S) -> Result<usize, Rejected<S, EntityError>> {
        let added = self.into_list().and_then(|(mut manager, entities)| {
            let mut distinct = DistinctEntities::default();
            entities.into_iter().for_each(|entity| _ = distinct.insert(entity));
            let sets = distinct.iter().map(|_| components.clone_set()).collect();
            let added = manager.write_linked(&distinct, sets, SetOperation::Add);
            added.map_err(|rejected| rejected.error)
        });
        added.map_err(|error| Rejected { value: components, error })
    }

    /// Selects the rows of the entities, and calls a function that changes them.
    #[track_caller]
    fn change<R>(
        self,
        change: impl FnOnce(&mut EntityManager, &RowSelection) -> Result<R, EntityError>,
    ) -> Result<R, EntityError> {
        let (mut manager, rows) = self.into_rows()?;
        let changed = change(&mut manager, &rows);
        manager.keep_selection(rows);
        changed
    }
}

impl<'w> Batch<'w> {
    #[track_caller]
    fn into_rows(self) -> Result<(BatchHost<'w>, RowSelection), EntityError> {
        let manager = BatchHost(self.host);
        let rows = match self.targets? {
            Targets::Slice(entities) => manager.found_entities(entities)?,
            Targets::List(entities) => manager.found_entities(&entities)?,
            Targets::Query(query) => query.found(&manager),
        };
        Ok((manager, rows))
    }

    #[track_caller]
    fn into_list(self) -> Result<(BatchHost<'w>, Vec<Entity>), EntityError> {
        let mut manager = BatchHost(self.host);
        let list = match self.targets? {
            Targets::Slice(entities) => entities.to_vec(),
            Targets::List(entities) => entities.to_vec(),
            Targets::Query(query) => {
                query.change(&mut manager, |manager, rows| manager.entities_in(rows).collect())
            }
        };
        Ok((manager, list))
    }
}

/// The entities of a batch. Delivers the events of the batch on drop.
struct BatchHost<'w>(&'w mut dyn EntityHost);

impl Deref for BatchHost<'_> {
    type Target = EntityManager;

    fn deref(&self) -> &EntityManager {
        self.0.manager()
    }
}

impl DerefMut for BatchHost<'_> {
    fn deref_mut(&mut self) -> &mut EntityManager {
        self.0.manager_mut()
    }
}

impl Drop for BatchHost<'_> {
    fn drop(&mut self) {
        // After a panic, the next delivery delivers the events.
        if !thread::panicking() {
            self.0.deliver();
        }
    }
}

impl<'w> Batch<'w> {
    /// Begins a change of entities of a host.
    pub(crate) fn of_host(
        host: &'w mut dyn EntityHost,
        targets: impl Into<BatchTargets<'w>>,
    ) -> Self {
        let targets = Targets::resolve(targets.into().0, host.manager());
        Self { host, targets }
    }
}

impl fmt::Debug for Batch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Batch");
        match &self.targets {
            Ok(Targets::Slice(entities)) => debug.field("entities", &entities.len()),
            Ok(Targets::List(entities)) => debug.field("entities", &entities.len()),
            Ok(Targets::Query(query)) => debug.field("query", query),
            Err(error) => debug.field("error", error),
        };
        debug.finish_non_exhaustive()
    }
}
