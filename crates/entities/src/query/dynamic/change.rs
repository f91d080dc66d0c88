//! All that a dynamic query finds is changed at once, moved or copied.

use ancho_collections::Rejected;

use super::DynamicQuery;
use crate::component::ComponentType;
use crate::entity_map::EntityMap;
use crate::error::EntityError;
use crate::manager::{EntityManager, RowSelection};
use crate::query::late::LateQuery;
use crate::query::walk::Walk;
use crate::set::{CloneSet, ComponentSet};
use crate::shared::{Shared, SharedComponent};

/// Changes of all entities that are found, as [`QueryMut`](crate::QueryMut) makes them.
impl DynamicQuery {
    /// All rows that are found, to be changed, moved or copied.
    #[track_caller]
    fn found(&self, entities: &EntityManager) -> RowSelection {
        let matched = self.matched(entities);
        // That includes those who switch or change what decides on what is found.
        entities.sync_for_move(matched.matches.iter().map(|found| found.archetype));
        Walk::reading(entities, matched, self.settings()).found(entities.take_selection())
    }

    /// Does something to everything that is found.
    #[track_caller]
    fn change<R>(
        &self,
        world: &mut EntityManager,
        change: impl FnOnce(&mut EntityManager, &RowSelection) -> R,
    ) -> R {
        let entities = world;
        let found = self.found(entities);
        let result = change(entities, &found);
        entities.keep_selection(found);
        result
    }

    /// Destroys all entities that are found, and their components. Returns how many went, members of groups included.
    ///
    /// Reorders what queries give: see [`QueryRef::to_entities`](crate::QueryRef::to_entities).
    ///
    /// See [`QueryMut::despawn`](crate::QueryMut::despawn).
    ///
    /// # Errors
    ///
    /// As there. Then nothing was destroyed.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, ComponentType, DynamicQuery, World};
    ///
    /// #[derive(Component, Clone)]
    /// struct Dead;
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_many((), 10);
    /// world.spawn_many(Dead, 5);
    /// let dead = DynamicQuery::new().all([ComponentType::of::<Dead>()]);
    /// assert_eq!(dead.despawn(&mut world), Ok(5));
    /// assert_eq!(world.entity_count(), 10);
    /// ```
    #[track_caller]
    pub fn despawn(&self, world: &mut EntityManager) -> Result<usize, EntityError> {
        self.change(world, EntityManager::despawn_rows)
    }

    /// Gives all entities that are found clones of these components; those that they have already are replaced. Returns for how
    /// many entities one was new.
    ///
    /// Reorders what queries give: see [`QueryRef::to_entities`](crate::QueryRef::to_entities).
    ///
    /// See [`QueryMut::add`](crate::QueryMut::add).
    ///
    /// # Errors
    ///
    /// As there. Then nothing was changed, and the components are given back.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, DynamicQuery, World};
    ///
    /// #[derive(Component, Clone, Copy, Debug, PartialEq)]
    /// struct Armour(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let (orc, knight) = (world.spawn(()), world.spawn(Armour(9)));
    /// assert_eq!(DynamicQuery::new().add(&mut world, Armour(1)).unwrap(), 1);
    /// assert_eq!((world.get(orc), world.get(knight)), (Ok(&Armour(1)), Ok(&Armour(1))));
    /// ```
    #[track_caller]
    pub fn add<S: CloneSet>(
        &self,
        world: &mut EntityManager,
        components: S,
    ) -> Result<usize, Rejected<S, EntityError>> {
        self.change(world, |entities, found| entities.add_to_rows(found, components))
    }

    /// Gives each entity that is found a set of components of its own, in the order of [`to_entities`](Self::to_entities) before the
    /// change. Returns for how many entities one was new.
    ///
    /// See [`QueryMut::add_each`](crate::QueryMut::add_each).
    ///
    /// # Errors
    ///
    /// As there. Then nothing was changed, and the sets are given back.
    #[track_caller]
    pub fn add_each<S: ComponentSet>(
        &self,
        world: &mut EntityManager,
        sets: impl IntoIterator<Item = S>,
    ) -> Result<usize, Rejected<Vec<S>, EntityError>> {
        let sets = sets.into_iter().collect();
        self.change(world, |entities, found| entities.add_each_to_rows(found, sets))
    }

    /// Gives all entities that are found those of the components that they lack, with their defaults. Returns how many lacked
    /// one.
    ///
    /// Reorders what queries give: see [`QueryRef::to_entities`](crate::QueryRef::to_entities).
    ///
    /// See [`QueryMut::add_types`](crate::QueryMut::add_types).
    ///
    /// # Errors
    ///
    /// As there. Then nothing was changed.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, ComponentType, DynamicQuery, World};
    ///
    /// #[derive(Component, Default, Clone, Copy, Debug, PartialEq)]
    /// struct Armour(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let (orc, knight) = (world.spawn(()), world.spawn(Armour(9)));
    /// let armour = ComponentType::of::<Armour>();
    /// assert_eq!(DynamicQuery::new().add_types(&mut world, &[armour]), Ok(1));
    /// assert_eq!((world.get(orc), world.get(knight)), (Ok(&Armour(0)), Ok(&Armour(9))));
    /// assert_eq!(DynamicQuery::new().remove_types(&mut world, &[armour]), Ok(2));
    /// ```
    #[track_caller]
    pub fn add_types(
        &self,
        world: &mut EntityManager,
        types: &[ComponentType],
    ) -> Result<usize, EntityError> {
        self.change(world, |entities, found| entities.add_types_to_rows(found, types))
    }

    /// Removes components from all entities that are found, as far as they have them. Returns how many had one.
    ///
    /// Reorders what queries give: see [`QueryRef::to_entities`](crate::QueryRef::to_entities).
    ///
    /// See [`QueryMut::remove_types`](crate::QueryMut::remove_types).
    ///
    /// # Errors
    ///
    /// As there. Then nothing was changed.
    #[track_caller]
    pub fn remove_types(
        &self,
        world: &mut EntityManager,
        types: &[ComponentType],
    ) -> Result<usize, EntityError> {
        self.change(world, |entities, found| entities.remove_types_from_rows(found, types))
    }

    /// Replaces the value of a shared component of all entities that are found. Returns how many had another.
    ///
    /// Reorders what queries give: see [`QueryRef::to_entities`](crate::QueryRef::to_entities).
    ///
    /// See [`QueryMut::set_shared`](crate::QueryMut::set_shared).
    ///
    /// # Errors
    ///
    /// As there. Then nothing was changed.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{DynamicQuery, Shared, SharedComponent, World};
    ///
    /// #[derive(SharedComponent, PartialEq, Eq, Hash)]
    /// struct Team(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_many(Shared::new(Team(3)), 10);
    /// world.spawn_many(Shared::new(Team(4)), 5);
    /// let third = DynamicQuery::new().with_shared(Team(3));
    /// assert_eq!(third.set_shared(&mut world, Team(4)), Ok(10));
    /// assert!(third.is_empty(&world));
    /// ```
    #[track_caller]
    pub fn set_shared<T: SharedComponent>(
        &self,
        world: &mut EntityManager,
        value: T,
    ) -> Result<usize, EntityError> {
        let value = Shared::new(value);
        self.change(world, |entities, found| entities.set_shared_of_rows(found, &value))
    }

    /// Lets all entities that are found take part, or not: [`Disabled`](crate::Disabled) is removed from them and the members of
    /// their groups, or added. Returns for how many entities that was a change.
    ///
    /// Reorders what queries give: see [`QueryRef::to_entities`](crate::QueryRef::to_entities).
    ///
    /// See [`QueryMut::set_enabled`](crate::QueryMut::set_enabled).
    ///
    /// # Errors
    ///
    /// As there. Then nothing was changed.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, ComponentType, DynamicQuery, World};
    ///
    /// #[derive(Component, Clone)]
    /// struct Orc;
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_many(Orc, 10);
    /// let orcs = DynamicQuery::new().all([ComponentType::of::<Orc>()]);
    /// assert_eq!(orcs.set_enabled(&mut world, false), Ok(10));
    /// assert!(orcs.is_empty(&world));
    /// assert_eq!(orcs.include_disabled().set_enabled(&mut world, true), Ok(10));
    /// ```
    #[track_caller]
    pub fn set_enabled(
        &self,
        world: &mut EntityManager,
        enabled: bool,
    ) -> Result<usize, EntityError> {
        self.change(world, |entities, found| entities.set_rows_enabled(found, enabled))
    }

    /// Switches a component of all entities that are found on or off. Returns how many they are.
    ///
    /// See [`QueryMut::set_type_enabled`](crate::QueryMut::set_type_enabled).
    ///
    /// # Errors
    ///
    /// As there. Then none was switched.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, ComponentType, DynamicQuery, World};
    ///
    /// #[derive(Component, Clone)]
    /// #[component(enableable)]
    /// struct Engine;
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_many(Engine, 1000);
    /// let engine = ComponentType::of::<Engine>();
    /// let running = DynamicQuery::new().all([engine]);
    /// assert_eq!(running.set_type_enabled(&mut world, engine, false), Ok(1000));
    /// assert!(running.is_empty(&world));
    /// ```
    #[track_caller]
    pub fn set_type_enabled(
        &self,
        world: &mut EntityManager,
        ty: ComponentType,
        enabled: bool,
    ) -> Result<usize, EntityError> {
        LateQuery::from(self).set_type_enabled(world, ty, enabled)
    }

    /// Moves all entities of a world that are found to another one. Returns which entity became which.
    ///
    /// See [`QueryMut::move_to`](crate::QueryMut::move_to).
    ///
    /// # Errors
    ///
    /// As [`EntityManager::move_entities_from`]. Then nothing has moved.
    ///
    /// # Panics
    ///
    /// As there.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, ComponentType, DynamicQuery, World};
    ///
    /// #[derive(Component, Clone)]
    /// struct Asleep;
    ///
    /// let (mut game, mut aside) = (World::new("Game"), World::new("Aside"));
    /// game.spawn_many((), 10);
    /// game.spawn_many(Asleep, 5);
    /// let asleep = DynamicQuery::new().all([ComponentType::of::<Asleep>()]);
    /// let moved = asleep.move_to(&mut game, &mut aside)?;
    /// assert_eq!((moved.len(), game.entity_count(), aside.entity_count()), (5, 10, 5));
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    #[track_caller]
    pub fn move_to(
        &self,
        from: &mut EntityManager,
        to: &mut EntityManager,
    ) -> Result<EntityMap, EntityError> {
        self.change(from, |from, found| to.move_rows_from(from, found))
    }

    /// Copies all entities of a world that are found to another one. Returns which entity was copied to which.
    ///
    /// See [`QueryRef::copy_to`](crate::QueryRef::copy_to).
    ///
    /// # Errors
    ///
    /// As [`EntityManager::copy_entities_from`]. Then nothing was copied.
    ///
    /// # Panics
    ///
    /// As there.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, ComponentType, DynamicQuery, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// let (mut game, mut preview) = (World::new("Game"), World::new("Preview"));
    /// game.spawn_many((), 10);
    /// game.spawn_many(Health(20), 5);
    /// let healthy = DynamicQuery::new().all([ComponentType::of::<Health>()]);
    /// let copied = healthy.copy_to(&game, &mut preview)?;
    /// assert_eq!((copied.len(), game.entity_count(), preview.entity_count()), (5, 15, 5));
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    #[track_caller]
    pub fn copy_to(
        &self,
        from: &EntityManager,
        to: &mut EntityManager,
    ) -> Result<EntityMap, EntityError> {
        let found = self.found(from);
        let copied = to.copy_rows_from(from, &found);
        from.keep_selection(found);
        copied
    }
}
