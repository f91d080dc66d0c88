//! What a bisection finds.

use std::error::Error;
use std::fmt::{self, Write};

use ancho_entities::{ComponentType, Entity};

/// Where two runs of a program parted: what [`Bisection::run`](crate::Bisection::run) finds.
///
/// As text it is a sentence, and a few lines that say more. The fields are for tools.
///
/// # Examples
///
/// ```
/// use ancho_bisect::{Bisection, DivergedAt};
/// use ancho_entities::{Component, IntoSystem, Query, World};
///
/// #[derive(Component, Clone, Copy)]
/// #[component(name = "Health")]
/// struct Health {
///     points: u32,
/// }
///
/// fn duel(harm: u32) -> World {
///     let mut world = World::new("Duel");
///     world.spawn(Health { points: 20 });
///     let hit = move |mut all: Query<&mut Health>| all.for_each(|health| health.points -= harm);
///     world.add_system(hit.named("hit"));
///     world
/// }
///
/// let found = Bisection::of(|| duel(1)).against(|| duel(2)).run()?.unwrap();
/// assert_eq!((found.frame, &found.at), (0, &DivergedAt::System("hit".into())));
/// assert_eq!(
///     found.to_string().lines().next().unwrap(),
///     "A0075: the runs part in frame 0, after system `hit`: `Health` `points` of entity 0v1 is 19 in the first, 18 in the second"
/// );
/// # Ok::<(), ancho_bisect::BisectionError>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Divergence {
    /// What the worlds are called.
    pub worlds: [String; 2],
    /// In which frame, from zero.
    pub frame: u64,
    /// When in the frame: everything was the same when it was looked before. If the [order](Difference::Order) differs, or one
    /// [panicked](Difference::Panic), when everything was the same for the last time.
    pub at: DivergedAt,
    /// What differs.
    pub difference: Difference,
    /// The jobs that were scheduled since everything was the same, by their names, as far as they have declared to write the
    /// component that differs.
    pub jobs: Vec<&'static str>,
}

/// When two runs were compared.
///
/// # Examples
///
/// ```
/// use ancho_bisect::DivergedAt;
///
/// assert_eq!(DivergedAt::System("steer".into()).to_string(), "after system `steer`");
/// assert_eq!(DivergedAt::Made.to_string(), "when the worlds were made");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DivergedAt {
    /// When the worlds were made.
    Made,
    /// When an update had begun: what was done outside of systems differs.
    BeforeSystems,
    /// After the system of this name, and the jobs that it has scheduled.
    System(String),
    /// When all systems had been updated.
    AfterSystems,
    /// At the end of a frame: what was done outside of systems differs.
    EndOfFrame,
}

/// What differs between two runs: the first thing, in the order of this list.
///
/// # Examples
///
/// ```
/// use ancho_bisect::{Bisection, Difference};
/// use ancho_entities::World;
///
/// let crowd = |count: usize| {
///     let mut world = World::new("Crowd");
///     world.spawn_many((), count);
///     world
/// };
/// let found = Bisection::of(|| crowd(3)).against(|| crowd(5)).run()?.unwrap();
/// let Difference::Exists { entity, only_in, counts, .. } = found.difference else { unreachable!() };
/// assert_eq!((entity.index(), only_in, counts), (3, 1, [3, 5]));
/// # Ok::<(), ancho_bisect::BisectionError>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Difference {
    /// What drives one of them panicked, and what drives the other did not.
    Panic {
        /// What the panic said.
        message: [Option<String>; 2],
    },
    /// They did not update the same systems, or not in the same order.
    Order {
        /// What came next in each.
        next: [DivergedAt; 2],
    },
    /// Something went wrong with systems or jobs of one that did not in the other.
    Faults {
        /// What went wrong, in the words of the errors.
        told: [Vec<String>; 2],
    },
    /// An entity exists in one of them alone.
    Exists {
        /// The entity.
        entity: Entity,
        /// Its name.
        name: Option<String>,
        /// In which run it exists: 0 or 1.
        only_in: usize,
        /// The types of its components.
        archetype: Vec<ComponentType>,
        /// How many entities there are.
        counts: [usize; 2],
    },
    /// An entity has other components.
    Types {
        /// The entity.
        entity: Entity,
        /// Its name.
        name: Option<String>,
        /// The types of its components.
        types: [Vec<ComponentType>; 2],
    },
    /// The archetypes came to be in another order.
    Archetypes {
        /// The how manieth of those with entities.
        index: usize,
        /// Their types; none if there is no archetype any more.
        types: [Vec<ComponentType>; 2],
    },
    /// The same entities lie in another order.
    Chunks {
        /// The types of the archetype.
        archetype: Vec<ComponentType>,
        /// Which of its chunks.
        chunk: usize,
        /// Which row of the chunk.
        row: usize,
        /// Who is there, if somebody is.
        entities: [Option<Entity>; 2],
    },
    /// A component is switched on in one of them.
    Enabled {
        /// Where.
        place: DivergedPlace,
        /// The component.
        component: ComponentType,
        /// Whether it is switched on.
        enabled: [bool; 2],
    },
    /// A value differs: of a component, an element of a buffer, a managed component, or of one that a chunk has for all its entities.
    Value {
        /// Where.
        place: DivergedPlace,
        /// The component.
        component: ComponentType,
        /// The first field that differs, such as `position.x`, `len()` or `[3].amount`. Of types that cannot be looked into, which
        /// byte. Empty if the component is the field.
        field: String,
        /// What it is, as text.
        values: [String; 2],
    },
    /// The next entities would have other ids.
    FreeIds,
    /// The state hashes differ, but nothing was found when it was looked more closely.
    HashAlone,
}

/// Where something is that differs.
///
/// # Examples
///
/// ```
/// use ancho_bisect::{Bisection, Difference};
/// use ancho_entities::{Component, World};
///
/// #[derive(Component, Clone, Copy)]
/// struct Health(u32);
///
/// let orc = |points| {
///     let mut world = World::new("Cave");
///     let orc = world.spawn(Health(points));
///     world.set_name(orc, "Grishnákh").unwrap();
///     world
/// };
/// let found = Bisection::of(|| orc(20)).against(|| orc(30)).run()?.unwrap();
/// let Difference::Value { place, .. } = found.difference else { unreachable!() };
/// assert_eq!((place.chunk, place.name.as_deref()), (0, Some("Grishnákh")));
/// # Ok::<(), ancho_bisect::BisectionError>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DivergedPlace {
    /// The types of the archetype.
    pub archetype: Vec<ComponentType>,
    /// Which of its chunks.
    pub chunk: usize,
    /// How many chunks differ in all, of all archetypes.
    pub differing_chunks: usize,
    /// The entity; `None` if it is of the chunk.
    pub entity: Option<Entity>,
    /// Its name.
    pub name: Option<String>,
}

/// Why two runs could not be compared to the end.
///
/// # Examples
///
/// ```
/// use ancho_bisect::Bisection;
/// use ancho_entities::World;
///
/// let error = Bisection::of(|| World::new("A")).drive(|_, _| panic!("no input")).run().unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "A0089: both runs panicked in frame 0, and were the same until then: no input; what drives them must not panic"
/// );
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum BisectionError {
    /// A0089: what drives them panicked in both.
    Panicked {
        /// In which frame.
        frame: u64,
        /// What the panics said.
        messages: [String; 2],
    },
    /// A0090: one of them could not be looked at.
    Lost {
        /// Which one: 0 or 1.
        run: usize,
        /// Why.
        message: String,
    },
}

impl Divergence {
    /// The entity that it is about, if it is about one.
    pub fn entity(&self) -> Option<Entity> {
        match &self.difference {
            Difference::Exists { entity, .. } | Difference::Types { entity, .. } => Some(*entity),
            Difference::Enabled { place, .. } | Difference::Value { place, .. } => place.entity,
            _ => None,
        }
    }

    /// The component that it is about, if it is about one.
    pub fn component(&self) -> Option<ComponentType> {
        match self.difference {
            Difference::Enabled { component, .. } | Difference::Value { component, .. } => {
                Some(component)
            }
            _ => None,
        }
    }
}

/// The names of types, for people.
fn names(types: &[ComponentType]) -> String {
    let names: Vec<_> = types.iter().map(|ty| ty.name()).collect();
    if names.is_empty() { "no components".to_owned() } else { names.join(", ") }
}

/// An entity, by its name too if it has one.
fn named(entity: Entity, name: Option<&str>) -> String {
    name.map_or_else(|| format!("entity {entity}"), |name| format!("entity {entity} `{name}`"))
}

impl DivergedPlace {
    fn owner(&self) -> String {
        match self.entity {
            Some(entity) => named(entity, self.name.as_deref()),
            None => format!("chunk {}", self.chunk),
        }
    }
}

const RUNS: [&str; 2] = ["first", "second"];

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Panic { message } => {
                let run = usize::from(message[0].is_none());
                let said = message[run].as_deref().unwrap_or_default();
                write!(f, "what drives the {} panicked, the other did not: {said}", RUNS[run])
            }
            Self::Order { next: [first, second] } => {
                write!(f, "the first is next looked at {first}, the second {second}")
            }
            Self::Faults { told } => {
                let [first, second] = told.each_ref().map(|told| match &told[..] {
                    [] => "nothing".to_owned(),
                    told => format!("\"{}\"", told.join("; ")),
                });
                write!(f, "the first is told {first}, the second {second}")
            }
            Self::Exists { entity, name, only_in, counts: [first, second], .. } => write!(
                f,
                "{} exists in the {} alone; there are {first} entities and {second}",
                named(*entity, name.as_deref()),
                RUNS[*only_in]
            ),
            Self::Types { entity, name, types } => {
                let [first, second] = types.each_ref().map(|types| names(types));
                let entity = named(*entity, name.as_deref());
                write!(f, "{entity} has {first} in the first, {second} in the second")
            }
            Self::Archetypes { index, types } => {
                let [first, second] = types.each_ref().map(|types| names(types));
                write!(
                    f,
                    "archetype {index} is that of {first} in the first, of {second} in the second; the entities are the same"
                )
            }
            Self::Chunks { chunk, row, entities, .. } => {
                let [first, second] =
                    entities.map(|entity| entity.map_or("nobody".to_owned(), |it| it.to_string()));
                write!(
                    f,
                    "row {row} of chunk {chunk} has {first} in the first, {second} in the second; the entities are the same"
                )
            }
            Self::Enabled { place, component, enabled } => {
                let [first, second] = enabled.map(|enabled| if enabled { "on" } else { "off" });
                let (component, owner) = (component.name(), place.owner());
                write!(
                    f,
                    "`{component}` of {owner} is {first} in the first, {second} in the second"
                )
            }
            Self::Value { place, component, field, values: [first, second] } => {
                let (component, owner) = (component.name(), place.owner());
                write!(f, "`{component}`")?;
                if !field.is_empty() {
                    write!(f, " `{field}`")?;
                }
                write!(f, " of {owner} is {first} in the first, {second} in the second")
            }
            Self::FreeIds => {
                f.write_str("the next entities would have other ids; those that exist are the same")
            }
            Self::HashAlone => f.write_str("the state hashes differ, but no value does"),
        }
    }
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { worlds, frame, at, difference, jobs } = self;
        f.write_str("A0075: the runs part ")?;
        if *at != DivergedAt::Made {
            write!(f, "in frame {frame}, ")?;
        }
        write!(f, "{at}: {difference}")?;
        let archetype = match difference {
            Difference::Exists { archetype, .. } | Difference::Chunks { archetype, .. } => {
                Some(archetype)
            }
            Difference::Enabled { place, .. } | Difference::Value { place, .. } => {
                Some(&place.archetype)
            }
            _ => None,
        };
        if let Some(archetype) = archetype {
            write!(f, "\n  archetype: {}", names(archetype))?;
        }
        if let Difference::Enabled { place, .. } | Difference::Value { place, .. } = difference {
            write!(f, "\n  chunk: {}", place.chunk)?;
            if place.differing_chunks > 1 {
                write!(f, ", the first of {} that differ", place.differing_chunks)?;
            }
            let jobs = if jobs.is_empty() { "none".to_owned() } else { jobs.join(", ") };
            write!(f, "\n  jobs that write it: {jobs}")?;
        }
        write!(f, "\n  worlds: `{}` and `{}`", worlds[0], worlds[1])
    }
}

impl fmt::Display for DivergedAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Made => f.write_str("when the worlds were made"),
            Self::BeforeSystems => f.write_str("before the first system"),
            Self::System(name) => write!(f, "after system `{name}`"),
            Self::AfterSystems => f.write_str("after the last system"),
            Self::EndOfFrame => f.write_str("at the end of the frame"),
        }
    }
}

impl fmt::Display for BisectionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Panicked { frame, messages: [first, second] } => {
                let mut said = first.clone();
                if first != second {
                    write!(said, "; and {second}")?;
                }
                write!(
                    f,
                    "A0089: both runs panicked in frame {frame}, and were the same until then: {said}; what drives them must not \
                     panic"
                )
            }
            Self::Lost { run, message } => write!(
                f,
                "A0090: the {} run could not be looked at any more: {message}; what components do to be hashed must not panic",
                RUNS[*run]
            ),
        }
    }
}

impl Error for Divergence {}

impl Error for BisectionError {}
