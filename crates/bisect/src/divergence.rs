//! Results of a bisection.

use std::error::Error;
use std::fmt::{self, Write};

use ancho_entities::{ComponentType, Entity};

/// The first difference between two runs of a program, returned by [`Bisection::run`](crate::Bisection::run).
///
/// `Display` prints a sentence and a few lines of detail. Tools can read the fields.
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
///     "A0075: the runs diverge in frame 0, after system `hit`: `Health` `points` of entity 0v1 is 19 in the first, 18 in the second"
/// );
/// # Ok::<(), ancho_bisect::BisectionError>(())
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct Divergence {
    /// The names of the worlds.
    pub worlds: [String; 2],
    /// The frame, counted from zero.
    pub frame: u64,
    /// The moment in the frame: the first comparison that found a difference. For [`Order`](Difference::Order) and
    /// [`Panic`](Difference::Panic), the last comparison without a difference.
    pub at: DivergedAt,
    /// The first difference that was found.
    pub difference: Difference,
    /// The names of the jobs that were scheduled since the last comparison without a difference. If a component differs, only jobs
    /// that declare to write the component.
    pub jobs: Vec<&'static str>,
}

/// The moment at which two runs were compared.
///
/// # Examples
///
/// ```
/// use ancho_bisect::DivergedAt;
///
/// assert_eq!(DivergedAt::System("steer".into()).to_string(), "after system `steer`");
/// assert_eq!(DivergedAt::Made.to_string(), "when the worlds were created");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DivergedAt {
    /// After the worlds were created.
    Made,
    /// At the start of an update: code outside of systems caused the difference.
    BeforeSystems,
    /// After the system with this name, and after the jobs that it scheduled.
    System(String),
    /// After all systems were updated.
    AfterSystems,
    /// At the end of a frame: code outside of systems caused the difference.
    EndOfFrame,
}

/// The difference between two runs. If several variants apply, this is the first of them in the order of the variants.
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
    /// The driver of one run panicked, and the driver of the other run did not.
    Panic {
        /// The panic message of each run.
        message: [Option<String>; 2],
    },
    /// The runs updated different systems, or in a different order.
    Order {
        /// The moment that each run reached next.
        next: [DivergedAt; 2],
    },
    /// Systems or jobs of one run reported errors that were not reported in the other run.
    Faults {
        /// The error messages of each run.
        told: [Vec<String>; 2],
    },
    /// An entity exists in only one run.
    Exists {
        /// The entity that exists in one run.
        entity: Entity,
        /// The name of the entity.
        name: Option<String>,
        /// The run in which the entity exists: 0 or 1.
        only_in: usize,
        /// The component types of the entity.
        archetype: Vec<ComponentType>,
        /// The number of entities in each run.
        counts: [usize; 2],
    },
    /// An entity has different component types in the two runs.
    Types {
        /// The entity whose component types differ.
        entity: Entity,
        /// The name of the entity.
        name: Option<String>,
        /// The component types of the entity in each run.
        types: [Vec<ComponentType>; 2],
    },
    /// The archetypes were created in a different order.
    Archetypes {
        /// The index among the archetypes that have entities.
        index: usize,
        /// The component types of the archetype in each run. Empty if a run has no archetype at this index.
        types: [Vec<ComponentType>; 2],
    },
    /// The same entities are stored in a different order.
    Chunks {
        /// The types of the archetype.
        archetype: Vec<ComponentType>,
        /// The index of the chunk in the archetype.
        chunk: usize,
        /// The row in the chunk.
        row: usize,
        /// The entity in this row of each run, if the row exists.
        entities: [Option<Entity>; 2],
    },
    /// A component is enabled in only one run.
    Enabled {
        /// The location of the component.
        place: DivergedPlace,
        /// The component whose enabled state differs.
        component: ComponentType,
        /// The enabled state in each run.
        enabled: [bool; 2],
    },
    /// A value differs: of a component, a buffer element, a managed component, or a chunk component.
    Value {
        /// The location of the value.
        place: DivergedPlace,
        /// The component whose value differs.
        component: ComponentType,
        /// The path of the first field that differs, such as `position.x`, `len()` or `[3].amount`. For opaque types, the index of
        /// the byte. Empty if the component has no fields.
        field: String,
        /// The value in each run, as text.
        values: [String; 2],
    },
    /// A [state resource](ancho_entities::Resource) differs.
    Resource {
        /// The stable name of the resource.
        resource: String,
        /// The path of the first field that differs. Empty if the resource has no fields, or exists in one run only.
        field: String,
        /// The value in each run, as text.
        values: [String; 2],
    },
    /// The [messages](ancho_entities::Message) that are kept differ, or the positions of their readers.
    Messages {
        /// The stable name of the message type.
        message: String,
    },
    /// The time of the worlds differs, or the progress of a group with a rate.
    Time {
        /// The part that differs: a part of the time, such as `elapsed`, or the name of the group.
        part: String,
        /// The value in each run, as text.
        values: [String; 2],
    },
    /// The next entities would have different ids.
    FreeIds,
    /// The state hashes differ, but a closer comparison found no difference.
    HashAlone,
}

/// The location of a difference.
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
    /// The index of the chunk in the archetype.
    pub chunk: usize,
    /// The total number of chunks that differ, in all archetypes.
    pub differing_chunks: usize,
    /// The entity, or `None` for a value of the chunk.
    pub entity: Option<Entity>,
    /// The name of the entity.
    pub name: Option<String>,
}

/// The reason why a bisection could not finish.
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
///     "A0089: both runs panicked in frame 0, and were equal until then: no input; the code that updates the worlds must not panic"
/// );
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub enum BisectionError {
    /// A0089: the drivers of both runs panicked.
    Panicked {
        /// The frame, counted from zero.
        frame: u64,
        /// The panic message of each run.
        messages: [String; 2],
    },
    /// A0090: the state of one run could not be read.
    Lost {
        /// The run that could not be read: 0 or 1.
        run: usize,
        /// The message of the panic that occurred while the state was read.
        message: String,
    },
}

impl Divergence {
    /// Returns the entity that differs, if the difference is about one entity.
    pub fn entity(&self) -> Option<Entity> {
        match &self.difference {
            Difference::Exists { entity, .. } | Difference::Types { entity, .. } => Some(*entity),
            Difference::Enabled { place, .. } | Difference::Value { place, .. } => place.entity,
            _ => None,
        }
    }

    /// Returns the component that differs, if the difference is about one component.
    pub fn component(&self) -> Option<ComponentType> {
        match self.difference {
            Difference::Enabled { component, .. } | Difference::Value { component, .. } => {
                Some(component)
            }
            _ => None,
        }
    }
}

/// Formats the names of types as a list for messages.
fn names(types: &[ComponentType]) -> String {
    let names: Vec<_> = types.iter().map(|ty| ty.name()).collect();
    if names.is_empty() { "no components".to_owned() } else { names.join(", ") }
}

/// Formats an entity for messages, with its name if it has one.
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
                write!(f, "the driver of the {} run panicked, the other did not: {said}", RUNS[run])
            }
            Self::Order { next: [first, second] } => {
                write!(f, "the first run continues {first}, the second {second}")
            }
            Self::Faults { told } => {
                let [first, second] = told.each_ref().map(|told| match &told[..] {
                    [] => "nothing".to_owned(),
                    told => format!("\"{}\"", told.join("; ")),
                });
                write!(f, "the first run reports {first}, the second {second}")
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
                let [first, second] = entities
                    .map(|entity| entity.map_or("no entity".to_owned(), |it| it.to_string()));
                write!(
                    f,
                    "row {row} of chunk {chunk} has {first} in the first, {second} in the second; the entities are the same"
                )
            }
            Self::Enabled { place, component, enabled } => {
                let [first, second] =
                    enabled.map(|enabled| if enabled { "enabled" } else { "disabled" });
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
            Self::Resource { resource, field, values: [first, second] } => {
                write!(f, "resource `{resource}`")?;
                if !field.is_empty() {
                    write!(f, " `{field}`")?;
                }
                write!(f, " is {first} in the first, {second} in the second")
            }
            Self::Messages { message } => {
                write!(f, "the messages `{message}` or the positions of their readers differ")
            }
            Self::Time { part, values: [first, second] } => {
                write!(f, "{part} is {first} in the first, {second} in the second")
            }
            Self::FreeIds => f.write_str(
                "the next entities would get different ids; existing entities are the same",
            ),
            Self::HashAlone => f.write_str("the state hashes differ, but no value does"),
        }
    }
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { worlds, frame, at, difference, jobs } = self;
        f.write_str("A0075: the runs diverge ")?;
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
            Self::Made => f.write_str("when the worlds were created"),
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
                    "A0089: both runs panicked in frame {frame}, and were equal until then: {said}; the code that \
                     updates the worlds must not panic"
                )
            }
            Self::Lost { run, message } => write!(
                f,
                "A0090: the {} run could not be hashed: {message}; hashing a component must not panic",
                RUNS[*run]
            ),
        }
    }
}

impl Error for Divergence {}

/// The same text as `Display`, so that `unwrap` shows the message.
impl fmt::Debug for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error for BisectionError {}

/// The same text as `Display`, so that `unwrap` shows the message.
impl fmt::Debug for BisectionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
