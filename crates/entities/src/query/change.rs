//! All that a query finds is changed at once.

use ancho_collections::Rejected;

use super::data::QueryData;
use super::filter::QueryFilter;
use super::matched::Match;
use super::walk::Walk;
use super::write::QueryMut;
use crate::component::{Component, ComponentType};
use crate::error::EntityError;
use crate::manager::{EntityManager, RowSelection};
use crate::set::{CloneSet, ComponentSet};
use crate::shared::{Shared, SharedComponent};

/// Changes of all entities that are found.
///
/// Each does what the method of [`EntityManager`](crate::EntityManager) with the same name does, for all entities of
/// [`to_entities`](crate::QueryRef::to_entities): the entities are the same afterwards, and have the same values and states. In
/// which order they lie in chunks may differ.
///
/// It is much faster. A chunk in which all entities are found is not taken apart: if the change is one of components without data
/// (tags and shared components), the chunk becomes one of the other archetype as it is, in no more time than it takes for one
/// entity. Chunks that share memory with a fork go on sharing it then. If components with data come or go, a chunk that is almost
/// full keeps as many entities as it has room for, where they are or a little further, unless it shares its memory. Entities of
/// other chunks are copied, component by component. A chunk that is less than half full is not kept as it is if there is room for its
/// entities elsewhere, unless nothing but a shared value is another.
///
/// If there is no memory, nothing is changed.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, With, World};
///
/// #[derive(Component, Clone, Copy)]
/// struct Health(u32);
///
/// #[derive(Component, Clone)]
/// struct Burning;
///
/// let mut world = World::new("Simulation");
/// world.spawn_many(Health(20), 1000);
/// assert_eq!(world.query_mut::<&Health>().add(Burning).unwrap(), 1000);
/// assert_eq!(world.query::<&Health>().filter::<With<Burning>>().count(), 1000);
/// ```
impl<D: QueryData, F: QueryFilter> QueryMut<'_, D, F> {
    /// Everything that is found, for a change of structure.
    #[track_caller]
    pub(crate) fn found(&self) -> RowSelection {
        let query = self.as_ref();
        let matched = query.matched();
        // That includes those who switch or change what decides on what is found.
        self.entities.sync_for_move(matched.matches.iter().map(|found| found.archetype));
        Walk::reading(self.entities, matched, query.settings())
            .found(self.entities.take_selection())
    }

    /// Does something to everything that is found.
    #[track_caller]
    fn change<R>(self, change: impl FnOnce(&mut EntityManager, &RowSelection) -> R) -> R {
        let found = self.found();
        let result = change(self.entities, &found);
        self.entities.keep_selection(found);
        result
    }

    /// Destroys all entities that are found, and their components. Returns how many went, members of groups included.
    ///
    /// Reorders what queries give: see [`QueryRef::to_entities`](crate::QueryRef::to_entities).
    ///
    /// What has components that stay ([`Component::CLEANUP`]) keeps those, and with the root of a
    /// [group](crate::LinkedEntityGroup) its members go, whether or not they are found. See
    /// [`EntityManager::despawn`](crate::EntityManager::despawn).
    ///
    /// # Errors
    ///
    /// If the world shares memory with a fork, and there is none for a copy, or there is none for what stays. Then nothing was
    /// destroyed.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, With, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// #[derive(Component, Clone)]
    /// struct Dead;
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_many(Health(20), 10);
    /// world.spawn_many((Health(0), Dead), 5);
    /// assert_eq!(world.query_mut::<()>().filter::<With<Dead>>().despawn(), Ok(5));
    /// assert_eq!(world.entity_count(), 10);
    /// ```
    #[track_caller]
    pub fn despawn(self) -> Result<usize, EntityError> {
        self.change(EntityManager::despawn_rows)
    }

    /// Gives all entities that are found clones of these components; those that they have already are replaced. Returns for how
    /// many entities one was new.
    ///
    /// Reorders what queries give: see [`QueryRef::to_entities`](crate::QueryRef::to_entities).
    ///
    /// See [`EntityManager::add`](crate::EntityManager::add). Unity's `AddComponent` with a query.
    ///
    /// # Errors
    ///
    /// If a type is there twice, an entity would be larger than a chunk, or there is no memory. In a strict world, if an entity
    /// has one of them. Then nothing was changed, and the components are given back.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// #[derive(Component, Clone, Copy, Debug, PartialEq)]
    /// struct Armour(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let orc = world.spawn(Health(20));
    /// let knight = world.spawn((Health(20), Armour(9)));
    /// assert_eq!(world.query_mut::<&Health>().add(Armour(1)).unwrap(), 1);
    /// assert_eq!((world.get(orc), world.get(knight)), (Ok(&Armour(1)), Ok(&Armour(1))));
    /// ```
    #[track_caller]
    #[expect(
        clippy::should_implement_trait,
        reason = "named as that of the manager; this is no sum"
    )]
    pub fn add<S: CloneSet>(self, components: S) -> Result<usize, Rejected<S, EntityError>> {
        self.change(|entities, found| entities.add_to_rows(found, components))
    }

    /// Gives each entity that is found a set of components of its own, in the order of
    /// [`to_entities`](crate::QueryRef::to_entities) before the change; those that it has already are replaced. Returns for how many
    /// entities one was new.
    ///
    /// The entities come in another order afterwards, as after [`add`](Self::add). Unity's `AddComponentData` with a query and an
    /// array. A set with a shared component does not compile.
    ///
    /// # Errors
    ///
    /// With A0060 unless there are as many sets as entities. As [`add`](Self::add) otherwise. Then nothing was changed, and the sets
    /// are given back.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
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
    /// assert_eq!(world.query_mut::<&Health>().add_each(armour).unwrap(), 2);
    /// assert_eq!((world.get(orcs[0]), world.get(orcs[1])), (Ok(&Armour(2)), Ok(&Armour(3))));
    /// ```
    #[track_caller]
    pub fn add_each<S: ComponentSet>(
        self,
        sets: impl IntoIterator<Item = S>,
    ) -> Result<usize, Rejected<Vec<S>, EntityError>> {
        let sets = sets.into_iter().collect();
        self.change(|entities, found| entities.add_each_to_rows(found, sets))
    }

    /// Gives all entities that are found those of the components that they lack, with their defaults. Returns how many lacked
    /// one.
    ///
    /// Reorders what queries give: see [`QueryRef::to_entities`](crate::QueryRef::to_entities).
    ///
    /// The values of those that they have stay as they are. See [`EntityManager::add_types`](crate::EntityManager::add_types).
    ///
    /// # Errors
    ///
    /// As [`add`](Self::add), and if one of the components has no default.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, ComponentType, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// #[derive(Component, Default, Clone, Copy, Debug, PartialEq)]
    /// struct Armour(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let orc = world.spawn(Health(20));
    /// let knight = world.spawn((Health(20), Armour(9)));
    /// let armour = ComponentType::of::<Armour>();
    /// assert_eq!(world.query_mut::<&Health>().add_types(&[armour]), Ok(1));
    /// assert_eq!((world.get(orc), world.get(knight)), (Ok(&Armour(0)), Ok(&Armour(9))));
    /// ```
    #[track_caller]
    pub fn add_types(self, types: &[ComponentType]) -> Result<usize, EntityError> {
        self.change(|entities, found| entities.add_types_to_rows(found, types))
    }

    /// Removes components from all entities that are found, as far as they have them. Returns how many had one.
    ///
    /// Reorders what queries give: see [`QueryRef::to_entities`](crate::QueryRef::to_entities).
    ///
    /// See [`EntityManager::remove`](crate::EntityManager::remove). Unity's `RemoveComponent` with a query.
    ///
    /// # Errors
    ///
    /// If a type is there twice, or there is no memory. In a strict world, if an entity lacks one of them. Then nothing was
    /// changed.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Clone)]
    /// struct Orc;
    ///
    /// #[derive(Component, Clone)]
    /// struct Asleep;
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_many((Orc, Asleep), 10);
    /// world.spawn_many(Orc, 5);
    /// assert_eq!(world.query_mut::<&Orc>().remove::<Asleep>(), Ok(10));
    /// assert!(world.query::<&Asleep>().is_empty());
    /// ```
    #[track_caller]
    pub fn remove<S: ComponentSet>(self) -> Result<usize, EntityError> {
        self.change(EntityManager::remove_from_rows::<S>)
    }

    /// Removes components from all entities that are found, as far as they have them. Returns how many had one.
    ///
    /// Reorders what queries give: see [`QueryRef::to_entities`](crate::QueryRef::to_entities).
    ///
    /// # Errors
    ///
    /// As [`remove`](Self::remove).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, ComponentType, World};
    ///
    /// #[derive(Component, Clone)]
    /// struct Asleep;
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_many(Asleep, 10);
    /// assert_eq!(world.query_mut::<()>().remove_types(&[ComponentType::of::<Asleep>()]), Ok(10));
    /// ```
    #[track_caller]
    pub fn remove_types(self, types: &[ComponentType]) -> Result<usize, EntityError> {
        self.change(|entities, found| entities.remove_types_from_rows(found, types))
    }

    /// Replaces the value of a shared component of all entities that are found. Returns how many had another.
    ///
    /// Reorders what queries give: see [`QueryRef::to_entities`](crate::QueryRef::to_entities).
    ///
    /// See [`EntityManager::set_shared`](crate::EntityManager::set_shared). [`add`](Self::add) with a
    /// [`Shared`](crate::Shared) gives it to entities that do not have the component, too.
    ///
    /// A chunk in which all entities are found gets the value where it is. None of them comes or leaves, so that
    /// [`OrderChanged`](crate::OrderChanged) does not find them; [`Changed`](crate::Changed) of the component does.
    ///
    /// # Errors
    ///
    /// If an entity does not have the component, or there is no memory. Then nothing was changed.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Shared, SharedComponent, World};
    ///
    /// #[derive(SharedComponent, PartialEq, Eq, Hash)]
    /// struct Team(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_many(Shared::new(Team(3)), 10);
    /// world.spawn_many(Shared::new(Team(4)), 5);
    /// assert_eq!(world.query_mut::<()>().with_shared(Team(3)).set_shared(Team(4)), Ok(10));
    /// assert_eq!(world.query::<()>().with_shared(Team(4)).count(), 15);
    /// ```
    #[track_caller]
    pub fn set_shared<T: SharedComponent>(self, value: T) -> Result<usize, EntityError> {
        self.change(|entities, found| entities.set_shared_of_rows(found, &Shared::new(value)))
    }

    /// Switches a component of all entities that are found on or off. Returns how many they are.
    ///
    /// A query for the component finds only those whose component is on. [`Present`](crate::Present) finds it on or off, and
    /// [`IsDisabled`](crate::IsDisabled) off. See
    /// [`EntityManager::set_component_enabled`](crate::EntityManager::set_component_enabled). Unity's `SetComponentEnabled` with
    /// a query.
    ///
    /// # Errors
    ///
    /// With A0070 if the component is not enableable. If an entity does not have it: then none was switched.
    ///
    /// # Complexity
    ///
    /// Not a structural change: a bit is set for each entity, 64 at a time.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, Present, World};
    ///
    /// #[derive(Component, Clone)]
    /// #[component(enableable)]
    /// struct Engine;
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_many(Engine, 1000);
    /// assert_eq!(world.query_mut::<&Engine>().set_component_enabled::<Engine>(false), Ok(1000));
    /// assert!(world.query::<&Engine>().is_empty());
    ///
    /// let all = world.query_mut::<()>().filter::<Present<Engine>>();
    /// assert_eq!(all.set_component_enabled::<Engine>(true), Ok(1000));
    /// assert_eq!(world.query::<&Engine>().count(), 1000);
    /// ```
    #[track_caller]
    pub fn set_component_enabled<T: Component>(self, enabled: bool) -> Result<usize, EntityError> {
        self.set_type_enabled(ComponentType::of::<T>(), enabled)
    }

    /// Switches a component of all entities that are found on or off, as
    /// [`set_component_enabled`](Self::set_component_enabled).
    ///
    /// # Errors
    ///
    /// As there.
    #[track_caller]
    pub fn set_type_enabled(self, ty: ComponentType, enabled: bool) -> Result<usize, EntityError> {
        if !ty.is_enableable() {
            return Err(EntityError::NotEnableable { component: ty });
        }
        let archetypes = &self.entities.storage.archetypes;
        let lacks = |found: &Match| !archetypes[found.archetype].shape.has(ty);
        if self.as_ref().matched().matches.iter().any(lacks) {
            // Perhaps none of those is found.
            let found = self.found();
            let checked = self.entities.check_all_have(&found, ty);
            self.entities.keep_selection(found);
            checked?;
        }
        Ok(self.switch(ty, enabled))
    }

    /// Lets all entities that are found take part, or not: [`Disabled`](crate::Disabled) is removed from them, or added. So it is
    /// for the members of their [groups](crate::LinkedEntityGroup), whether or not those are found. Returns for how many entities
    /// that was a change.
    ///
    /// Reorders what queries give: see [`QueryRef::to_entities`](crate::QueryRef::to_entities).
    ///
    /// A query finds entities that are disabled only if it [includes](Self::include_disabled) them. See
    /// [`EntityManager::set_enabled`](crate::EntityManager::set_enabled).
    ///
    /// # Errors
    ///
    /// If there is no memory: then nothing was changed.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Clone)]
    /// struct Orc;
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_many(Orc, 10);
    /// assert_eq!(world.query_mut::<&Orc>().set_enabled(false), Ok(10));
    /// assert!(world.query::<&Orc>().is_empty());
    /// assert_eq!(world.query_mut::<&Orc>().include_disabled().set_enabled(true), Ok(10));
    /// ```
    #[track_caller]
    pub fn set_enabled(self, enabled: bool) -> Result<usize, EntityError> {
        self.change(|entities, found| entities.set_rows_enabled(found, enabled))
    }
}
