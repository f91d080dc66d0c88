//! Queries whose components are known only at run time.

use std::fmt;

use super::matched::{Bit, Masks, matching_rows};
use super::plan::{Need, Part, Plan, Term, refuse_not_enableable};
use super::settings::{Options, Settings};
use super::walk::Walk;
use crate::component::ComponentType;
use crate::entity::Entity;
use crate::entity_map::EntityMap;
use crate::error::EntityError;
use crate::manager::{ArchetypeChunk, EntityManager, Found};

/// A query whose components are known only at run time: for tools, scripts and files.
///
/// It finds entities and chunks. What is in them is read as bytes, or with the types that are known after all. The conditions
/// are those of the [filters](crate::QueryFilter). Unity's `EntityQueryBuilder`.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, ComponentType, DynamicQuery, World};
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
/// let query = DynamicQuery::new().all([health]).none([asleep]);
/// assert_eq!(query.to_entities(&world), [orc]);
/// for found in query.chunks(&world) {
///     assert_eq!(found.chunk().bytes(health), Some(&30_u32.to_ne_bytes()[..]));
/// }
/// ```
#[derive(Clone)]
#[must_use = "a query does nothing until it is asked of a world"]
pub struct DynamicQuery {
    /// What it finds is what one of them finds. There is one at least.
    alternatives: Vec<Alternative>,
}

#[derive(Clone, Default)]
struct Alternative {
    terms: Vec<Term>,
    /// What is written, for write groups.
    parts: Vec<Part>,
    options: Options,
}

impl Default for DynamicQuery {
    fn default() -> Self {
        Self { alternatives: vec![Alternative::default()] }
    }
}

impl DynamicQuery {
    /// A query that finds all entities but prefabs and those that are disabled.
    pub fn new() -> Self {
        Self::default()
    }

    fn each(
        mut self,
        types: impl IntoIterator<Item = ComponentType>,
        term: fn(ComponentType) -> Term,
    ) -> Self {
        let types: Vec<_> = types.into_iter().collect();
        for alternative in &mut self.alternatives {
            alternative.terms.extend(types.iter().copied().map(term));
        }
        self
    }

    fn with(mut self, option: Options) -> Self {
        self.add_option(option);
        self
    }

    pub(super) fn add_option(&mut self, option: Options) {
        for alternative in &mut self.alternatives {
            alternative.options = alternative.options.with(option);
        }
    }

    /// Whether it passes over nothing that is switched off. All alternatives agree.
    fn ignores_enabled(&self) -> bool {
        self.alternatives[0].options.has(Options::IGNORE_ENABLED)
    }

    /// Asks for all these components, switched on: [`With`](crate::With).
    pub fn all(self, types: impl IntoIterator<Item = ComponentType>) -> Self {
        self.each(types, Term::With)
    }

    /// Asks for all these components, switched on, as [`all`](Self::all), and says that they are going to be written.
    ///
    /// The query itself writes nothing. It matters to [`filter_write_groups`](Self::filter_write_groups).
    pub fn all_mut(mut self, types: impl IntoIterator<Item = ComponentType>) -> Self {
        for ty in types {
            for Alternative { parts, .. } in &mut self.alternatives {
                if !parts.iter().any(|part| part.ty == ty) {
                    parts.push(Part { ty, need: Need::On, write: true, bits: false });
                }
            }
        }
        self
    }

    /// Asks for one of these components at least, switched on: [`Any`](crate::Any). None given is no condition.
    pub fn any(mut self, types: impl IntoIterator<Item = ComponentType>) -> Self {
        let term = Term::Any(types.into_iter().collect());
        for alternative in &mut self.alternatives {
            alternative.terms.push(term.clone());
        }
        self
    }

    /// Asks that none of these components is there and on: [`Without`](crate::Without).
    pub fn none(self, types: impl IntoIterator<Item = ComponentType>) -> Self {
        self.each(types, Term::Without)
    }

    /// Asks that none of these components is there: [`Absent`](crate::Absent).
    pub fn absent(self, types: impl IntoIterator<Item = ComponentType>) -> Self {
        self.each(types, Term::Absent)
    }

    /// Asks for all these components, on or off: [`Present`](crate::Present).
    pub fn present(self, types: impl IntoIterator<Item = ComponentType>) -> Self {
        self.each(types, Term::Present)
    }

    /// Asks for all these components, switched off: [`IsDisabled`](crate::IsDisabled).
    ///
    /// # Panics
    ///
    /// With A0070 if one of them cannot be switched off.
    #[track_caller]
    pub fn disabled(self, types: impl IntoIterator<Item = ComponentType>) -> Self {
        let types: Vec<_> = types.into_iter().collect();
        for &ty in &types {
            refuse_not_enableable(ty);
        }
        self.each(types, Term::Disabled)
    }

    /// Includes entities that are [`Disabled`](crate::Disabled).
    pub fn include_disabled(self) -> Self {
        self.with(Options::DISABLED)
    }

    /// Includes [prefabs](crate::Prefab).
    pub fn include_prefabs(self) -> Self {
        self.with(Options::PREFABS)
    }

    /// Passes over nothing that is switched off, as [`QueryRef::ignore_enabled`](crate::QueryRef::ignore_enabled).
    pub fn ignore_enabled(self) -> Self {
        self.with(Options::IGNORE_ENABLED)
    }

    /// Finds what another query finds, too: the union of both. [`Or`](crate::Or) for types that are known.
    ///
    /// Each entity is found once, in the order of all queries. What is asked for afterwards is asked of both. Each of them leaves
    /// to others what it would alone, if it [does](Self::filter_write_groups).
    ///
    /// # Panics
    ///
    /// With A0094 if one of them passes over what is switched off and the other does not.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, ComponentType, DynamicQuery, World};
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
    /// let orcs = DynamicQuery::new().all([ComponentType::of::<Orc>()]);
    /// let trolls = DynamicQuery::new().all([ComponentType::of::<Troll>()]);
    /// let awake = orcs.or(trolls).none([ComponentType::of::<Asleep>()]);
    /// assert_eq!(awake.to_entities(&world), [orc, both]);
    /// ```
    #[track_caller]
    pub fn or(mut self, other: Self) -> Self {
        if self.ignores_enabled() != other.ignores_enabled() {
            let which = if self.ignores_enabled() { "first" } else { "second" };
            panic!(
                "A0094: of two queries that become one, only the {which} ignores what is switched off; call \
                 `ignore_enabled` on both or on neither"
            );
        }
        self.alternatives.extend(other.alternatives);
        self
    }

    /// Passes over entities of which somebody else writes in a special way what is [written](Self::all_mut), as
    /// [`QueryRef::filter_write_groups`](crate::QueryRef::filter_write_groups).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, ComponentType, DynamicQuery, World};
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
    /// let query = DynamicQuery::new().all_mut([ComponentType::of::<Height>()]);
    /// assert_eq!(query.count(&world), 1);
    /// assert_eq!(query.filter_write_groups().count(&world), 0);
    /// ```
    pub fn filter_write_groups(self) -> Self {
        self.with(Options::WRITE_GROUPS)
    }

    /// What is asked of a world.
    #[track_caller]
    pub(super) fn plan(&self) -> Plan {
        let plan = |alternative: &Alternative| {
            let Alternative { terms, parts, options } = alternative.clone();
            Plan::new("DynamicQuery", parts, terms, options)
        };
        match &*self.alternatives {
            [only] => plan(only),
            several => Plan::union(several.iter().map(plan).collect()),
        }
    }

    /// The chunks in which entities are found, in the order of [`EntityManager::chunks`].
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
    /// let car = world.spawn(Engine);
    /// world.spawn_many(9, Engine);
    /// world.entities_mut().set_component_enabled::<Engine>(car, false).unwrap();
    /// let query = DynamicQuery::new().all([ComponentType::of::<Engine>()]);
    /// let found = query.chunks(&world).next().unwrap();
    /// assert_eq!((found.chunk().len(), found.count()), (10, 9));
    /// assert_eq!(found.rows().collect::<Vec<_>>(), (1..10).collect::<Vec<_>>());
    /// ```
    pub fn chunks<'w>(
        &self,
        world: &'w impl AsRef<EntityManager>,
    ) -> impl Iterator<Item = FoundChunk<'w>> {
        let entities = world.as_ref();
        entities.jobs.before_everything();
        let plan = self.plan();
        let archetypes = &entities.storage.archetypes;
        let matched = entities.queries.of_plan(&plan, archetypes);
        let chunks = matched.matches.iter().flat_map(move |found| {
            let chunks = archetypes[found.archetype].chunks.iter();
            chunks.map(|&number| FoundChunk { chunk: entities.chunk(number), bits: &found.bits })
        });
        chunks.filter(|found| found.count() > 0)
    }

    /// The entities that are found, in the order of [`chunks`](Self::chunks).
    pub fn to_entities(&self, world: &impl AsRef<EntityManager>) -> Vec<Entity> {
        let mut all = Vec::new();
        for found in self.chunks(world) {
            all.extend(found.entities());
        }
        all
    }

    /// How many entities are found.
    pub fn count(&self, world: &impl AsRef<EntityManager>) -> usize {
        self.chunks(world).map(|found| found.count()).sum()
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
    /// game.spawn_many(10, ());
    /// game.spawn_many(5, Asleep);
    /// let asleep = DynamicQuery::new().all([ComponentType::of::<Asleep>()]);
    /// let moved = asleep.move_to(&mut game, &mut aside)?;
    /// assert_eq!((moved.len(), game.entity_count(), aside.entity_count()), (5, 10, 5));
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    #[track_caller]
    pub fn move_to(
        &self,
        from: &mut impl AsMut<EntityManager>,
        to: &mut impl AsMut<EntityManager>,
    ) -> Result<EntityMap, EntityError> {
        let from = from.as_mut();
        let found = self.found(from);
        to.as_mut().move_found_from(from, &found)
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
    /// game.spawn_many(10, ());
    /// game.spawn_many(5, Health(20));
    /// let healthy = DynamicQuery::new().all([ComponentType::of::<Health>()]);
    /// let copied = healthy.copy_to(&game, &mut preview)?;
    /// assert_eq!((copied.len(), game.entity_count(), preview.entity_count()), (5, 15, 5));
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    #[track_caller]
    pub fn copy_to(
        &self,
        from: &impl AsRef<EntityManager>,
        to: &mut impl AsMut<EntityManager>,
    ) -> Result<EntityMap, EntityError> {
        let from = from.as_ref();
        let found = self.found(from);
        to.as_mut().copy_found_from(from, &found)
    }

    /// All rows that are found, to be moved or copied.
    #[track_caller]
    fn found(&self, entities: &EntityManager) -> Found {
        let matched = entities.queries.of_plan(&self.plan(), &entities.storage.archetypes);
        entities.before_moving(matched.matches.iter().map(|found| found.archetype));
        Walk::reading(entities, matched, &Settings::default()).found(Found::default())
    }
}

/// A chunk in which entities are found, and which: what [`DynamicQuery::chunks`] returns.
#[derive(Clone, Copy)]
pub struct FoundChunk<'w> {
    chunk: ArchetypeChunk<'w>,
    bits: &'w [Bit],
}

impl<'w> FoundChunk<'w> {
    /// The chunk.
    pub fn chunk(&self) -> ArchetypeChunk<'w> {
        self.chunk
    }

    /// How many of its entities are found: never zero.
    pub fn count(&self) -> usize {
        if self.bits.is_empty() {
            return self.chunk.len();
        }
        self.words().map(|word| word.count_ones() as usize).sum()
    }

    /// The rows of the entities that are found, from the first on.
    pub fn rows(&self) -> impl Iterator<Item = usize> {
        (0..).step_by(64).zip(self.words()).flat_map(|(first, word): (usize, u64)| {
            (0..64).filter(move |bit| word >> bit & 1 != 0).map(move |bit| first + bit)
        })
    }

    /// The entities that are found.
    pub fn entities(&self) -> impl Iterator<Item = Entity> {
        self.rows().map(|row| self.chunk.entities()[row])
    }

    /// A bit for each row, one if it is found.
    fn words(&self) -> impl Iterator<Item = u64> + use<'w> {
        let Self { chunk, bits } = *self;
        let (enabled, rows) = (&chunk.chunk.enabled, chunk.chunk.len);
        let masks = Masks { enabled, changed: &[] };
        (0..rows.div_ceil(u64::BITS)).map(move |word| matching_rows(bits, &masks, word, rows))
    }
}

impl fmt::Debug for FoundChunk<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FoundChunk")
            .field("chunk", &self.chunk)
            .field("count", &self.count())
            .finish()
    }
}

impl fmt::Debug for DynamicQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.alternatives {
            [only] => f.debug_list().entries(&only.terms).finish(),
            several => {
                let terms = several.iter().map(|alternative| &alternative.terms);
                f.debug_list().entries(terms).finish()
            }
        }
    }
}
