//! [`QueryDescriptor`]: the description of a query as a value, and the chunks that match it.

use std::any::{TypeId, type_name};
use std::fmt;
use std::iter;
use std::sync::OnceLock;

use super::access::{Asked, sync_for_query};
use super::chunk_filter::find_changed;
use super::data::QueryData;
use super::filter::QueryFilter;
use super::state::{Masks, Match, QueryState, matching_rows};
use super::terms::{Need, Options, Part, Plan, Settings, Term, Terms};
use super::view::Query;
use super::walk::{SelectedChunks, Walk};
use crate::component::ComponentType;
use crate::entity::Entity;
use crate::error::EntityError;
use crate::field::EntityRemap;
use crate::manager::{ArchetypeChunk, EntityManager};
use crate::shared::SharedComponent;
use crate::version::Version;

/// The description of a query as a value. This is Unity's `EntityQueryBuilder`.
///
/// [`of`](Self::of) describes a query of types known at compile time, [`new`](Self::new) one of component types known only at run
/// time. A description can be stored, sent to another thread, recorded in commands, and combined with others.
/// [`query`](Self::query) runs it, and [`EntityManager::batch`] changes all entities that match it. The methods add the conditions
/// that [filters](crate::QueryFilter) have in a typed query.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, ComponentType, QueryDescriptor, World};
///
/// #[derive(Component, Clone, Copy)]
/// #[component(name = "Health")]
/// struct Health(u32);
///
/// #[derive(Component, Clone, Copy)]
/// #[component(name = "Asleep")]
/// struct Asleep;
///
/// let mut world = World::new("Simulation");
/// world.spawn((Health(20), Asleep));
/// let orc = world.spawn(Health(30));
/// let [health, asleep] = ["Health", "Asleep"].map(|name| ComponentType::find(name).unwrap());
/// let awake = QueryDescriptor::new().all([health]).none([asleep]);
/// assert_eq!(awake.query(&world).to_entities(), [orc]);
/// for found in awake.chunks(&world) {
///     assert_eq!(found.chunk().bytes(health), Some(&30_u32.to_ne_bytes()[..]));
/// }
/// ```
///
/// Component types known only at run time can be added to a description of compile-time types:
///
/// ```
/// use ancho_entities::{Component, ComponentType, QueryDescriptor, World};
///
/// #[derive(Component, Clone)]
/// struct Orc;
///
/// #[derive(Component, Clone)]
/// struct Asleep;
///
/// let mut world = World::new("Simulation");
/// world.spawn((Orc, Asleep));
/// let awake = world.spawn(Orc);
/// let orcs = QueryDescriptor::of::<&Orc, ()>();
/// assert_eq!(orcs.query(&world).count(), 2);
/// assert_eq!(orcs.none([ComponentType::of::<Asleep>()]).query(&world).to_entities(), [awake]);
/// ```
#[derive(Clone)]
#[must_use = "a description does nothing until it is run in a world"]
#[doc(alias = "EntityQuery")]
#[doc(alias = "EntityQueryBuilder")]
#[doc(alias = "EntityQueryDesc")]
pub struct QueryDescriptor {
    source: Source,
    pub(super) settings: Settings,
}

#[derive(Clone)]
enum Source {
    /// Data and filters known at compile time. The state of the query is found by their type id.
    Types { id: TypeId, terms: fn() -> Terms, name: fn() -> &'static str, options: Options },
    /// Terms known only at run time. An entity matches if it matches one of the alternatives. The list is not empty.
    Terms {
        alternatives: Vec<Terms>,
        /// The plan, which is built when the description is first run, so that later runs do not allocate.
        plan: OnceLock<Plan>,
    },
}

impl Default for QueryDescriptor {
    fn default() -> Self {
        let source = Source::Terms { alternatives: vec![Terms::default()], plan: OnceLock::new() };
        Self { source, settings: Settings::default() }
    }
}

impl QueryDescriptor {
    /// Creates a description of all entities except disabled ones and prefabs.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates the description of a query of this data and these filters.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, IntoSystem, QueryDescriptor, World};
    ///
    /// #[derive(Component)]
    /// struct Player;
    ///
    /// let mut world = World::new("Simulation");
    /// world.add_system((|| unreachable!()).require(QueryDescriptor::of::<&Player, ()>()));
    /// world.update(0.1);
    /// ```
    pub fn of<D: QueryData, F: QueryFilter>() -> Self {
        let source = Source::Types {
            id: TypeId::of::<(D::Static, F)>(),
            terms: Terms::of::<D, F>,
            name: type_name::<D>,
            options: Options::NONE,
        };
        Self { source, settings: Settings::default() }
    }

    /// Returns the alternatives for modification. Converts a description of compile-time types to terms first.
    fn alternatives_mut(&mut self) -> &mut Vec<Terms> {
        if let Source::Types { terms, options, .. } = self.source {
            let mut terms = terms();
            terms.options = terms.options.with(options);
            self.source = Source::Terms { alternatives: vec![terms], plan: OnceLock::new() };
        }
        match &mut self.source {
            Source::Terms { alternatives, plan } => {
                plan.take();
                alternatives
            }
            Source::Types { .. } => unreachable!("it was replaced"),
        }
    }

    fn each(
        self,
        types: impl IntoIterator<Item = ComponentType>,
        term: fn(ComponentType) -> Term,
    ) -> Self {
        types.into_iter().fold(self, |query, ty| query.one(term(ty)))
    }

    fn one(mut self, term: Term) -> Self {
        for alternative in self.alternatives_mut() {
            alternative.filters.push(term.clone());
        }
        self
    }

    fn with_option(mut self, option: Options) -> Self {
        match &mut self.source {
            Source::Types { options, .. } => *options = options.with(option),
            Source::Terms { .. } => {
                for alternative in self.alternatives_mut() {
                    alternative.options = alternative.options.with(option);
                }
            }
        }
        self
    }

    fn ignores_enabled(&mut self) -> bool {
        // All alternatives have the same value: `or` panics otherwise.
        self.alternatives_mut()[0].options.has(Options::IGNORE_ENABLED)
    }

    /// Requires all these components, enabled: [`With`](crate::With).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, ComponentType, QueryDescriptor, World};
    ///
    /// #[derive(Component)]
    /// struct Sword;
    ///
    /// #[derive(Component)]
    /// struct Shield;
    ///
    /// let mut world = World::new("Simulation");
    /// let knight = world.spawn((Sword, Shield));
    /// world.spawn(Sword);
    /// let armed = [ComponentType::of::<Sword>(), ComponentType::of::<Shield>()];
    /// assert_eq!(QueryDescriptor::new().all(armed).query(&world).to_entities(), [knight]);
    /// ```
    pub fn all(self, types: impl IntoIterator<Item = ComponentType>) -> Self {
        self.each(types, Term::With)
    }

    /// Requires all these components, enabled, as [`all`](Self::all) does, and declares that they are going to be written.
    ///
    /// The query itself does not write. The declaration is for [`filter_write_groups`](Self::filter_write_groups).
    pub fn all_mut(mut self, types: impl IntoIterator<Item = ComponentType>) -> Self {
        for ty in types {
            for Terms { parts, .. } in self.alternatives_mut() {
                if !parts.iter().any(|part| part.ty == ty) {
                    parts.push(Part { ty, need: Need::On, write: true, bits: false });
                }
            }
        }
        self
    }

    /// Requires at least one of these components, enabled: [`Any`](crate::Any). An empty list adds no condition.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, ComponentType, QueryDescriptor, World};
    ///
    /// #[derive(Component)]
    /// struct Sword;
    ///
    /// #[derive(Component)]
    /// struct Bow;
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn(Sword);
    /// world.spawn(Bow);
    /// world.spawn(());
    /// let weapons = [ComponentType::of::<Sword>(), ComponentType::of::<Bow>()];
    /// assert_eq!(QueryDescriptor::new().any(weapons).query(&world).count(), 2);
    /// ```
    pub fn any(self, types: impl IntoIterator<Item = ComponentType>) -> Self {
        self.one(Term::Any(types.into_iter().collect()))
    }

    /// Excludes entities that have one of these components, enabled: [`Without`](crate::Without).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, ComponentType, QueryDescriptor, World};
    ///
    /// #[derive(Component)]
    /// #[component(enableable)]
    /// struct Stunned;
    ///
    /// let mut world = World::new("Simulation");
    /// let (awake, stunned) = (world.spawn(Stunned), world.spawn(Stunned));
    /// world.set_component_enabled::<Stunned>(awake, false)?;
    /// let able = QueryDescriptor::new().none([ComponentType::of::<Stunned>()]);
    /// assert_eq!(able.query(&world).to_entities(), [awake]);
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    pub fn none(self, types: impl IntoIterator<Item = ComponentType>) -> Self {
        self.each(types, Term::Without)
    }

    /// Excludes entities that have one of these components, enabled or not: [`Absent`](crate::Absent).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, ComponentType, QueryDescriptor, World};
    ///
    /// #[derive(Component)]
    /// #[component(enableable)]
    /// struct Stunned;
    ///
    /// let mut world = World::new("Simulation");
    /// let (robot, orc) = (world.spawn(()), world.spawn(Stunned));
    /// world.set_component_enabled::<Stunned>(orc, false)?;
    /// let immune = QueryDescriptor::new().absent([ComponentType::of::<Stunned>()]);
    /// assert_eq!(immune.query(&world).to_entities(), [robot]);
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    pub fn absent(self, types: impl IntoIterator<Item = ComponentType>) -> Self {
        self.each(types, Term::Absent)
    }

    /// Requires all these components, enabled or not: [`Present`](crate::Present).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, ComponentType, QueryDescriptor, World};
    ///
    /// #[derive(Component, Clone)]
    /// #[component(enableable)]
    /// struct Engine;
    ///
    /// let mut world = World::new("Simulation");
    /// let cars: Vec<_> = world.spawn_many(Engine, 3).collect();
    /// world.set_component_enabled::<Engine>(cars[0], false)?;
    /// let engines = QueryDescriptor::new().present([ComponentType::of::<Engine>()]);
    /// assert_eq!(engines.query(&world).to_entities(), cars);
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    pub fn present(self, types: impl IntoIterator<Item = ComponentType>) -> Self {
        self.each(types, Term::Present)
    }

    /// Requires all these components, disabled: [`IsDisabled`](crate::IsDisabled).
    ///
    /// # Panics
    ///
    /// Panics with A0070 if one of the components is not enableable.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, ComponentType, QueryDescriptor, World};
    ///
    /// #[derive(Component, Clone)]
    /// #[component(enableable)]
    /// struct Engine;
    ///
    /// let mut world = World::new("Simulation");
    /// let cars: Vec<_> = world.spawn_many(Engine, 3).collect();
    /// world.set_component_enabled::<Engine>(cars[1], false)?;
    /// let parked = QueryDescriptor::new().disabled([ComponentType::of::<Engine>()]);
    /// assert_eq!(parked.query(&world).to_entities(), [cars[1]]);
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    #[track_caller]
    pub fn disabled(self, types: impl IntoIterator<Item = ComponentType>) -> Self {
        let types: Vec<_> = types.into_iter().collect();
        if let Some(&component) = types.iter().find(|ty| !ty.is_enableable()) {
            panic!("{}", EntityError::NotEnableable { component });
        }
        self.each(types, Term::Disabled)
    }

    /// Requires that at least one of these components was written [since](Self::since) a version: [`Changed`](crate::Changed). An
    /// empty list adds no condition.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, ComponentType, QueryDescriptor, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let orc = world.spawn(Health(20));
    /// let seen = world.version();
    /// let changed = QueryDescriptor::new().changed([ComponentType::of::<Health>()]).since(seen);
    /// assert!(changed.query(&world).is_empty());
    ///
    /// world.advance_version();
    /// world.get_mut::<Health>(orc)?.0 = 15;
    /// assert_eq!(changed.query(&world).to_entities(), [orc]);
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    pub fn changed(self, types: impl IntoIterator<Item = ComponentType>) -> Self {
        let types: Box<[_]> = types.into_iter().collect();
        if types.is_empty() { self } else { self.one(Term::Changed(types)) }
    }

    /// Requires that the entity's chunk gained or lost entities [since](Self::since) a version:
    /// [`OrderChanged`](crate::OrderChanged).
    pub fn order_changed(self) -> Self {
        self.one(Term::OrderChanged)
    }

    /// Makes [`changed`](Self::changed) and [`order_changed`](Self::order_changed) mean "newer than this version".
    ///
    /// Without this call, everything counts as changed.
    pub fn since(mut self, version: Version) -> Self {
        self.settings.since = version;
        self
    }

    /// Keeps only entities with this value of a [shared component](crate::SharedComponent). Calls for several components combine.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{QueryDescriptor, Shared, SharedComponent, World};
    ///
    /// #[derive(SharedComponent, PartialEq, Eq, Hash)]
    /// struct Team(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_many(Shared::new(Team(1)), 3);
    /// world.spawn_many(Shared::new(Team(2)), 4);
    /// assert_eq!(QueryDescriptor::new().with_shared(Team(2)).query(&world).count(), 4);
    /// ```
    pub fn with_shared<T: SharedComponent>(mut self, value: T) -> Self {
        self.settings.add_shared(value);
        self
    }

    /// Includes entities that are [`Disabled`](crate::Disabled): the filter [`IncludeDisabled`](crate::IncludeDisabled).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, QueryDescriptor, World};
    ///
    /// #[derive(Component, Clone)]
    /// struct Lamp;
    ///
    /// let mut world = World::new("Simulation");
    /// let lamps: Vec<_> = world.spawn_many(Lamp, 5).collect();
    /// world.set_enabled(lamps[0], false)?;
    /// let lit = QueryDescriptor::of::<&Lamp, ()>();
    /// assert_eq!(lit.query(&world).count(), 4);
    /// assert_eq!(lit.include_disabled().query(&world).count(), 5);
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    pub fn include_disabled(self) -> Self {
        self.with_option(Options::DISABLED)
    }

    /// Includes [prefabs](crate::Prefab): the filter [`IncludePrefabs`](crate::IncludePrefabs).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, Prefab, QueryDescriptor, World};
    ///
    /// #[derive(Component, Clone)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let prefab = world.spawn((Prefab, Health(20)));
    /// let query = QueryDescriptor::of::<&Health, ()>();
    /// assert!(query.query(&world).is_empty());
    /// assert_eq!(query.include_prefabs().query(&world).to_entities(), [prefab]);
    /// ```
    pub fn include_prefabs(self) -> Self {
        self.with_option(Options::PREFABS)
    }

    /// Ignores whether components are enabled: the filter [`IgnoreEnabled`](crate::IgnoreEnabled).
    pub fn ignore_enabled(self) -> Self {
        self.with_option(Options::IGNORE_ENABLED)
    }

    /// Excludes entities with a component that the query does not name, if that component is a member of the write group of a
    /// [written](Self::all_mut) component: the filter [`FilterWriteGroups`](crate::FilterWriteGroups).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, ComponentType, QueryDescriptor, World};
    ///
    /// #[derive(Component)]
    /// struct Height(f32);
    ///
    /// #[derive(Component)]
    /// #[component(write_group(Height))]
    /// struct Wings;
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn((Height(9.0), Wings));
    /// let query = QueryDescriptor::new().all_mut([ComponentType::of::<Height>()]);
    /// assert_eq!(query.query(&world).count(), 1);
    /// assert_eq!(query.filter_write_groups().query(&world).count(), 0);
    /// ```
    pub fn filter_write_groups(self) -> Self {
        self.with_option(Options::WRITE_GROUPS)
    }

    /// Returns the union of two descriptions: the filter [`Or`](crate::Or).
    ///
    /// Each entity is yielded once, in the usual order of queries. Conditions that are added afterwards apply to both descriptions.
    /// [Write groups](Self::filter_write_groups) are filtered for each description separately.
    ///
    /// # Panics
    ///
    /// - with A0094 if only one of the descriptions ignores whether components are enabled
    /// - with A0096 if one of the descriptions requires a [shared value](Self::with_shared), or if they compare changes with
    ///   different [versions](Self::since): call these methods on the union
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, ComponentType, QueryDescriptor, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Orc;
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Troll;
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Asleep;
    ///
    /// let mut world = World::new("Simulation");
    /// let orc = world.spawn(Orc);
    /// world.spawn((Troll, Asleep));
    /// let both = world.spawn((Orc, Troll));
    /// let orcs = QueryDescriptor::of::<&Orc, ()>();
    /// let trolls = QueryDescriptor::new().all([ComponentType::of::<Troll>()]);
    /// let awake = orcs.or(trolls).none([ComponentType::of::<Asleep>()]);
    /// assert_eq!(awake.query(&world).to_entities(), [orc, both]);
    /// ```
    #[track_caller]
    pub fn or(mut self, mut other: Self) -> Self {
        if self.ignores_enabled() != other.ignores_enabled() {
            let which = if self.ignores_enabled() { "first" } else { "second" };
            panic!(
                "A0094: in a union of two queries, only the {which} ignores enabled bits; call `ignore_enabled` on \
                 both or on neither"
            );
        }
        let asks = |query: &Self| query.settings.shared().first().map(|(component, _)| *component);
        if let Some(component) = asks(&self).or(asks(&other)) {
            let which = if asks(&self).is_some() { "first" } else { "second" };
            panic!(
                "A0096: in a union of two queries, the {which} filters by a value of `{component}`; call `with_shared` \
                 on the result of `or`"
            );
        }
        let (since, other_since) = (self.settings.since, other.settings.since);
        if since != other_since {
            panic!(
                "A0096: in a union of two queries, the first compares with version {since}, and the second with \
                 {other_since}; call `since` on the result of `or`"
            );
        }
        self.alternatives_mut().append(other.alternatives_mut());
        self
    }

    /// Returns the query in a world. Its methods are those of [`Query`].
    ///
    /// # Panics
    ///
    /// Panics with the codes of [`EntityManager::query`], when a description is run for the first time.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, ComponentType, QueryDescriptor, World};
    ///
    /// #[derive(Component)]
    /// struct Orc;
    ///
    /// let mut world = World::new("Simulation");
    /// let (orc, stone) = (world.spawn(Orc), world.spawn(()));
    /// let orcs = QueryDescriptor::new().all([ComponentType::of::<Orc>()]);
    /// assert!(orcs.query(&world).matches(orc) && !orcs.query(&world).matches(stone));
    /// for entity in orcs.query(&world) {
    ///     assert_eq!(entity, orc);
    /// }
    /// ```
    #[track_caller]
    pub fn query<'w>(&self, world: &'w EntityManager) -> Query<'w, Entity> {
        Query::described(world, self.matched_in(world), self.settings.clone())
    }

    /// Returns an iterator over the chunks with matching entities, in the order of [`EntityManager::chunks`].
    ///
    /// Waits for all jobs, because all data of the chunks can be read.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, QueryDescriptor, World};
    ///
    /// #[derive(Component, Clone)]
    /// #[component(enableable)]
    /// struct Engine;
    ///
    /// let mut world = World::new("Simulation");
    /// let car = world.spawn(Engine);
    /// world.spawn_many(Engine, 9);
    /// world.set_component_enabled::<Engine>(car, false).unwrap();
    /// let engines = QueryDescriptor::of::<&Engine, ()>();
    /// let found = engines.chunks(&world).next().unwrap();
    /// assert_eq!((found.chunk().len(), found.count()), (10, 9));
    /// assert_eq!(found.rows().collect::<Vec<_>>(), (1..10).collect::<Vec<_>>());
    /// ```
    #[track_caller]
    pub fn chunks<'w>(
        &self,
        world: &'w EntityManager,
    ) -> impl Iterator<Item = QueryChunk<'w>> + use<'w> {
        world.jobs.sync_all();
        let matched = self.matched_in(world);
        sync_for_query(world, matched, Asked::Found);
        let walk = Walk::reading(world, matched, &self.settings);
        let since = self.settings.since;
        let mut chunks = SelectedChunks::new(walk);
        iter::from_fn(move || {
            let (found, number) = chunks.next()?;
            Some(QueryChunk { chunk: world.chunk(number), found, since })
        })
    }

    /// Returns the plan, and the key of the query's state if its types are known at compile time. The error is the message of A0070
    /// or A0086.
    pub(super) fn plan(&self) -> Result<(Option<(TypeId, Options)>, Plan), String> {
        match &self.source {
            &Source::Types { id, terms, name, options } => {
                Ok((Some((id, options)), terms().into_plan(name(), options)?))
            }
            Source::Terms { .. } => Ok((None, self.plan_of_terms()?.clone())),
        }
    }

    fn plan_of_terms(&self) -> Result<&Plan, String> {
        let Source::Terms { alternatives, plan } = &self.source else {
            unreachable!("only terms of run time have a plan of their own")
        };
        if let Some(plan) = plan.get() {
            return Ok(plan);
        }
        let build = |terms: &Terms| terms.clone().into_plan("QueryDescriptor", Options::NONE);
        let new = match &**alternatives {
            [only] => build(only)?,
            several => Plan::union(several.iter().map(build).collect::<Result<_, _>>()?),
        };
        Ok(plan.get_or_init(|| new))
    }

    #[track_caller]
    pub(super) fn matched_in<'w>(&self, entities: &'w EntityManager) -> &'w QueryState {
        let (states, archetypes) = (&entities.queries, &entities.storage.archetypes);
        match &self.source {
            &Source::Types { id, terms, name, options } => {
                states.of_type(id, options, archetypes, || terms().into_plan(name(), options))
            }
            Source::Terms { .. } => match self.plan_of_terms() {
                Ok(plan) => states.of_plan(plan, archetypes),
                Err(message) => panic!("{message}"),
            },
        }
    }

    /// Replaces the entities that the required shared values contain.
    pub(crate) fn remap_entities(&mut self, map: &mut EntityRemap<'_>) {
        self.settings.remap_entities(map);
    }

    /// Returns `true` if the required shared values may contain entities.
    pub(crate) fn may_name_entities(&self) -> bool {
        self.settings.may_name_entities()
    }
}

impl From<&QueryDescriptor> for QueryDescriptor {
    fn from(query: &QueryDescriptor) -> Self {
        query.clone()
    }
}

impl fmt::Display for QueryDescriptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.source {
            Source::Types { name, .. } => write!(f, "the query of `{}`", name()),
            Source::Terms { .. } => f.write_str("a dynamic query"),
        }
    }
}

impl fmt::Debug for QueryDescriptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.source {
            Source::Types { .. } => write!(f, "QueryDescriptor({self})"),
            Source::Terms { alternatives, .. } => match &**alternatives {
                [only] => f.debug_list().entries(&only.filters).finish(),
                several => {
                    f.debug_list().entries(several.iter().map(|terms| &terms.filters)).finish()
                }
            },
        }
    }
}

/// A chunk with matching entities. Yielded by [`QueryDescriptor::chunks`].
#[derive(Clone, Copy)]
pub struct QueryChunk<'w> {
    chunk: ArchetypeChunk<'w>,
    found: &'w Match,
    /// The version that change filters compare with: newer versions count as changes.
    since: Version,
}

impl<'w> QueryChunk<'w> {
    /// Returns the chunk.
    pub fn chunk(&self) -> ArchetypeChunk<'w> {
        self.chunk
    }

    /// Returns the number of matching entities, which is never zero.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, QueryDescriptor, World};
    ///
    /// #[derive(Component, Clone)]
    /// #[component(enableable)]
    /// struct Engine;
    ///
    /// let mut world = World::new("Simulation");
    /// let cars: Vec<_> = world.spawn_many(Engine, 10).collect();
    /// world.set_component_enabled::<Engine>(cars[0], false)?;
    /// let running = QueryDescriptor::of::<&Engine, ()>();
    /// let chunk = running.chunks(&world).next().unwrap();
    /// assert_eq!((chunk.count(), chunk.chunk().len()), (9, 10));
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    pub fn count(&self) -> usize {
        if self.found.bits.is_empty() {
            return self.chunk.len();
        }
        self.words().map(|word| word.count_ones() as usize).sum()
    }

    /// Returns the rows of the matching entities, in ascending order.
    pub fn rows(&self) -> impl Iterator<Item = usize> {
        (0..).step_by(64).zip(self.words()).flat_map(|(first, word): (usize, u64)| {
            (0..64).filter(move |bit| word >> bit & 1 != 0).map(move |bit| first + bit)
        })
    }

    /// Returns the matching entities.
    pub fn entities(&self) -> impl Iterator<Item = Entity> {
        self.rows().map(|row| self.chunk.entities()[row])
    }

    /// Returns an iterator over words with one bit per row, set if the row matches.
    fn words(&self) -> impl Iterator<Item = u64> + use<'w> {
        let Self { chunk: ArchetypeChunk { chunk, .. }, found, since } = *self;
        let mut changed = Vec::new();
        if found.asks_for_rows {
            find_changed(chunk, found, since, &mut changed);
        }
        (0..chunk.len.div_ceil(u64::BITS)).map(move |word| {
            let masks = Masks { enabled: &chunk.enabled, changed: &changed };
            matching_rows(&found.bits, &masks, word, chunk.len)
        })
    }
}

impl fmt::Debug for QueryChunk<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueryChunk")
            .field("chunk", &self.chunk)
            .field("count", &self.count())
            .finish()
    }
}

impl Terms {
    pub(super) fn of<D: QueryData, F: QueryFilter>() -> Self {
        let (mut parts, mut filters) = (Vec::new(), Vec::new());
        D::parts(&mut |part| parts.push(part));
        F::terms(&mut |term| filters.push(term));
        Self { parts, filters, options: F::OPTIONS }
    }
}

/// Returns the plan of a query of this data and these filters, with additional options. The error is the message of A0070 or A0086.
pub(super) fn plan_of<D: QueryData, F: QueryFilter>(options: Options) -> Result<Plan, String> {
    Terms::of::<D, F>().into_plan(type_name::<D>(), options)
}
