//! Queries whose components are known only at run time.

mod ask;
mod change;
mod chunk;

use std::fmt;
use std::sync::OnceLock;

use super::plan::{Need, Part, Plan, Term, refuse_not_enableable};
use super::settings::{Options, Settings, Since};
use crate::component::ComponentType;
use crate::shared::SharedComponent;
use crate::version::Version;

pub use chunk::FoundChunk;

/// A query whose components are known only at run time: for tools, scripts and files.
///
/// It finds entities and chunks, and changes all that it finds. What is in them is read as bytes, or with the types that are
/// known after all. The conditions are those of the [filters](crate::QueryFilter). Unity's `EntityQueryBuilder`.
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
    /// What is said of all of them. Each has its own options.
    settings: Settings,
    /// What is asked of a world, once it was: whoever asks again allocates nothing.
    plan: OnceLock<Plan>,
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
        Self {
            alternatives: vec![Alternative::default()],
            settings: Settings::default(),
            plan: OnceLock::new(),
        }
    }
}

impl DynamicQuery {
    /// A query that finds all entities but prefabs and those that are disabled.
    pub fn new() -> Self {
        Self::default()
    }

    /// All that is asked for, to be changed.
    fn alternatives_mut(&mut self) -> &mut Vec<Alternative> {
        self.plan.take();
        &mut self.alternatives
    }

    fn each(
        mut self,
        types: impl IntoIterator<Item = ComponentType>,
        term: fn(ComponentType) -> Term,
    ) -> Self {
        let types: Vec<_> = types.into_iter().collect();
        for alternative in self.alternatives_mut() {
            alternative.terms.extend(types.iter().copied().map(term));
        }
        self
    }

    fn one(mut self, term: Term) -> Self {
        for alternative in self.alternatives_mut() {
            alternative.terms.push(term.clone());
        }
        self
    }

    fn with(mut self, option: Options) -> Self {
        self.add_option(option);
        self
    }

    pub(super) fn add_option(&mut self, option: Options) {
        for alternative in self.alternatives_mut() {
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
            for Alternative { parts, .. } in self.alternatives_mut() {
                if !parts.iter().any(|part| part.ty == ty) {
                    parts.push(Part { ty, need: Need::On, write: true, bits: false });
                }
            }
        }
        self
    }

    /// Asks for one of these components at least, switched on: [`Any`](crate::Any). None given is no condition.
    pub fn any(self, types: impl IntoIterator<Item = ComponentType>) -> Self {
        self.one(Term::Any(types.into_iter().collect()))
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

    /// Asks that one of these components was written [since](Self::since) a version: [`Changed`](crate::Changed). None given is no
    /// condition.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, ComponentType, DynamicQuery, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let orc = world.spawn(Health(20));
    /// let seen = world.version();
    /// let changed = DynamicQuery::new().changed([ComponentType::of::<Health>()]).since(seen);
    /// assert!(changed.is_empty(&world));
    ///
    /// world.advance_version();
    /// world.get_mut::<Health>(orc)?.0 = 15;
    /// assert_eq!(changed.to_entities(&world), [orc]);
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    pub fn changed(self, types: impl IntoIterator<Item = ComponentType>) -> Self {
        let types: Box<[_]> = types.into_iter().collect();
        if types.is_empty() { self } else { self.one(Term::Changed(types)) }
    }

    /// Asks for entities of chunks to which one came, or which one left, [since](Self::since) a version:
    /// [`OrderChanged`](crate::OrderChanged).
    pub fn order_changed(self) -> Self {
        self.one(Term::OrderChanged)
    }

    /// Lets [`changed`](Self::changed) and [`order_changed`](Self::order_changed) mean what is newer than this version.
    ///
    /// Until it is said, everything counts as changed.
    pub fn since(mut self, version: Version) -> Self {
        self.settings.since = Since(version);
        self
    }

    /// Asks for entities with this value of a [shared component](crate::SharedComponent), as
    /// [`QueryRef::with_shared`](crate::QueryRef::with_shared). It can be said of any number of them.
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
    /// world.spawn_many(Shared::new(Team(1)), 3);
    /// world.spawn_many(Shared::new(Team(2)), 4);
    /// assert_eq!(DynamicQuery::new().with_shared(Team(2)).count(&world), 4);
    /// ```
    pub fn with_shared<T: SharedComponent>(mut self, value: T) -> Self {
        self.settings.add_shared(value);
        self
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
    /// With A0094 if one of them passes over what is switched off and the other does not. With A0096 if one of them asks for a
    /// [shared value](Self::with_shared), or for what is newer than another [version](Self::since): that is said of the union.
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
        let asks = |query: &Self| query.settings.shared().first().map(|(component, _)| *component);
        if let Some(component) = asks(&self).or(asks(&other)) {
            let which = if asks(&self).is_some() { "first" } else { "second" };
            panic!(
                "A0096: of two queries that become one, the {which} asks for a value of `{component}`; call `with_shared` on \
                 what `or` returns"
            );
        }
        let (since, other_since) = (self.settings.since.0, other.settings.since.0);
        if since != other_since {
            panic!(
                "A0096: of two queries that become one, the first asks for changes since {since}, and the second since \
                 {other_since}; call `since` on what `or` returns"
            );
        }
        self.alternatives_mut().extend(other.alternatives);
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

    /// What is said of all that it asks for.
    pub(super) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// What is asked of a world.
    #[track_caller]
    pub(super) fn plan(&self) -> &Plan {
        if let Some(plan) = self.plan.get() {
            return plan;
        }
        // Not in a function that the lock calls: what is wrong is the caller's.
        let plan = self.make_plan();
        self.plan.get_or_init(|| plan)
    }

    #[track_caller]
    fn make_plan(&self) -> Plan {
        let plan = |alternative: &Alternative| {
            let Alternative { terms, parts, options } = alternative.clone();
            Plan::new("DynamicQuery", parts, terms, options)
        };
        match &*self.alternatives {
            [only] => plan(only),
            several => Plan::union(several.iter().map(plan).collect()),
        }
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
