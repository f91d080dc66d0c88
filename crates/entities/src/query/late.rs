//! Queries that are asked later, by who no longer knows their types.

#![expect(unsafe_code, reason = "chunks of a world that is borrowed")]

use std::any::{TypeId, type_name};
use std::fmt;

use super::data::QueryData;
use super::dynamic::DynamicQuery;
use super::filter::QueryFilter;
use super::matched::{Match, Matched};
use super::plan::{Plan, plan_of};
use super::prepared::EntityQuery;
use super::settings::{Options, Settings};
use super::states::QueryStates;
use super::uses::{Asked, before_query};
use super::walk::Walk;
use crate::component::ComponentType;
use crate::entity::Entity;
use crate::error::EntityError;
use crate::field::EntityRemap;
use crate::manager::{EntityManager, RowSelection};
use crate::storage::Archetypes;

/// A query that is asked when commands are played: what [`batch`](crate::CommandRecorder::batch) takes, and
/// [`Linked::matching`](crate::Linked::matching).
///
/// It is made of an [`EntityQuery`], with all that was said of that, or of a [`DynamicQuery`], both by `into`; or of types alone, by
/// [`of`](Self::of), which allocates nothing.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, ComponentType, DynamicQuery, EntityCommandBuffer, EntityQuery, LateQuery, With, World};
///
/// #[derive(Component, Clone, Copy)]
/// #[component(name = "Health")]
/// struct Health(u32);
///
/// #[derive(Component, Clone, Copy)]
/// struct Dead;
///
/// let mut world = World::new("Simulation");
/// let mut buffer = EntityCommandBuffer::new();
/// let commands = buffer.commands()?;
/// commands.batch(LateQuery::of::<&Health, With<Dead>>()).despawn();
/// commands.batch(EntityQuery::<&Health>::new().include_disabled()).add(Dead);
/// let health = ComponentType::find("Health").unwrap();
/// commands.batch(DynamicQuery::new().all([health])).set_enabled(false);
/// # world.spawn(Health(1));
/// world.play(&mut buffer)?;
/// # assert_eq!(world.query::<(&Health, &Dead)>().include_disabled().count(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
#[must_use = "a query does nothing until it is asked of a world"]
pub struct LateQuery {
    asked: AskedFor,
    settings: Settings,
}

/// What is asked for, beside the settings.
#[derive(Clone)]
enum AskedFor {
    /// Types, which are known to the functions.
    Types {
        id: TypeId,
        plan: fn(Options) -> Plan,
        name: fn() -> &'static str,
    },
    Dynamic(DynamicQuery),
}

impl LateQuery {
    /// A query for this data, by these filters.
    ///
    /// What is wrong with it is told when it is asked.
    pub fn of<D: QueryData, F: QueryFilter>() -> Self {
        Self::with_settings::<D, F>(Settings::default())
    }

    fn with_settings<D: QueryData, F: QueryFilter>(settings: Settings) -> Self {
        let id = TypeId::of::<(D::Static, F)>();
        let asked = AskedFor::Types { id, plan: plan_of::<D, F>, name: type_name::<D> };
        Self { asked, settings }
    }

    /// Replaces the entities in shared values that are asked for.
    pub(crate) fn remap_entities(&mut self, map: &mut EntityRemap<'_>) {
        self.settings.remap_entities(map);
    }

    /// Whether there may be entities in shared values that are asked for.
    pub(crate) fn may_name_entities(&self) -> bool {
        self.settings.may_name_entities()
    }

    fn matched<'w>(&self, states: &'w QueryStates, archetypes: &'w Archetypes) -> &'w Matched {
        match &self.asked {
            &AskedFor::Types { id, plan, .. } => {
                let options = self.settings.options;
                states.of_type(id, options, archetypes, || plan(options))
            }
            AskedFor::Dynamic(query) => states.of_plan(query.plan(), archetypes),
        }
    }

    fn matched_in<'w>(&self, entities: &'w EntityManager) -> &'w Matched {
        self.matched(&entities.queries, &entities.storage.archetypes)
    }

    /// Does something to everything that is found.
    pub(crate) fn change<R>(
        &self,
        entities: &mut EntityManager,
        change: impl FnOnce(&mut EntityManager, &RowSelection) -> R,
    ) -> R {
        let found = self.found(entities);
        let result = change(entities, &found);
        entities.keep_selection(found);
        result
    }

    /// Everything that is found, for a change of structure.
    fn found(&self, entities: &EntityManager) -> RowSelection {
        let matched = self.matched_in(entities);
        // That includes those who switch or change what decides on what is found.
        entities.sync_for_move(matched.matches.iter().map(|found| found.archetype));
        Walk::reading(entities, matched, &self.settings).found(entities.take_selection())
    }

    /// Leaves only those entities in a list that are found.
    pub(crate) fn retain_found(&self, entities: &EntityManager, list: &mut Vec<Entity>) {
        let matched = self.matched_in(entities);
        before_query(entities, matched, Asked::Found);
        let walk = Walk::reading(entities, matched, &self.settings);
        let storage = &entities.storage;
        list.retain(|&entity| {
            let Some(at) = storage.table.locate(entity) else { return false };
            let Some(found) = matched.find(storage.archetype_at(at)) else { return false };
            walk.has_row(found, at.chunk, at.row)
        });
    }

    /// Switches a component of all that is found on or off, as [`QueryMut::set_type_enabled`](crate::QueryMut::set_type_enabled)
    /// does.
    pub(crate) fn set_type_enabled(
        &self,
        entities: &mut EntityManager,
        ty: ComponentType,
        enabled: bool,
    ) -> Result<usize, EntityError> {
        if !ty.is_enableable() {
            return Err(EntityError::NotEnableable { component: ty });
        }
        let archetypes = &entities.storage.archetypes;
        let lacks = |found: &Match| !archetypes[found.archetype].shape.has(ty);
        if self.matched_in(entities).matches.iter().any(lacks) {
            // Perhaps none of those is found.
            self.change(entities, |entities, found| entities.check_all_have(found, ty))?;
        }
        entities.sync_for_set_enabled(ty);
        before_query(entities, self.matched_in(entities), Asked::Data);
        let entities: *mut EntityManager = entities;
        // SAFETY: the world is borrowed mutably, by this alone, and neither the states nor the archetypes change meanwhile.
        let (states, archetypes) =
            unsafe { (&(*entities).queries, &(*entities).storage.archetypes) };
        let matched = self.matched(states, archetypes);
        // SAFETY: nobody else uses the chunks, and the state is the manager's.
        let walk = unsafe { Walk::writing(entities, matched, &self.settings) };
        // SAFETY: the world is borrowed mutably, and nothing of it is given to anybody. Jobs that use the component, or ask whether
        // it is on, were waited for, and others see no versions, or had them written out.
        Ok(unsafe { walk.switch(ty, enabled) })
    }
}

impl<D: QueryData, F: QueryFilter> From<EntityQuery<D, F>> for LateQuery {
    fn from(query: EntityQuery<D, F>) -> Self {
        Self::with_settings::<D, F>(query.settings)
    }
}

impl<D: QueryData, F: QueryFilter> From<&EntityQuery<D, F>> for LateQuery {
    fn from(query: &EntityQuery<D, F>) -> Self {
        Self::with_settings::<D, F>(query.settings.clone())
    }
}

impl From<DynamicQuery> for LateQuery {
    fn from(query: DynamicQuery) -> Self {
        let settings = query.settings().clone();
        Self { asked: AskedFor::Dynamic(query), settings }
    }
}

impl From<&DynamicQuery> for LateQuery {
    fn from(query: &DynamicQuery) -> Self {
        query.clone().into()
    }
}

impl fmt::Display for LateQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.asked {
            AskedFor::Types { name, .. } => write!(f, "the query of `{}`", name()),
            AskedFor::Dynamic(_) => f.write_str("a dynamic query"),
        }
    }
}

impl fmt::Debug for LateQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LateQuery({self})")
    }
}
