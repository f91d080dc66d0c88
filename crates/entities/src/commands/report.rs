//! Report of a playback: the commands that were skipped, and those that failed.

use std::fmt;
use std::panic::Location;

use ancho_jobs::ContainerLabel;

use super::error::CommandFault;
use crate::entity::Entity;
use crate::error::EntityError;

/// Maximum number of failed commands that a report lists. Further ones are counted.
const MAX_LISTED: usize = 1000;

/// Maximum number of failed commands that a message describes.
const MAX_SHOWN: usize = 5;

/// Result of playing a command buffer: the commands that were skipped, and, in a [`CommandError`](crate::CommandError), the
/// commands that failed.
///
/// In a world that is not strict, a command is *skipped* if its entity was despawned, by an earlier command or before playback. The
/// value of the command is dropped, and playback continues. Other faults are errors.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, EntityCommandBuffer, With, World};
///
/// #[derive(Component)]
/// #[component(name = "Burning")]
/// struct Burning;
///
/// let mut world = World::new("Simulation");
/// let trees: Vec<_> = world.spawn_many((), 10).collect();
/// let mut buffer = EntityCommandBuffer::new();
/// let commands = buffer.commands()?;
/// trees.iter().for_each(|&tree| commands.add(tree, Burning));
/// world.despawn(trees[3])?;
/// let report = world.play(&mut buffer)?;
/// assert_eq!(world.query_filtered::<(), With<Burning>>().count(), 9);
/// assert_eq!(report.skipped(), 1);
/// let skipped = report.first_skipped().unwrap();
/// assert_eq!((skipped.number(), skipped.command()), (4, "add `Burning` to 3v1"));
/// assert_eq!(skipped.entity(), Some(trees[3]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlaybackReport {
    buffer: ContainerLabel,
    at: &'static Location<'static>,
    /// Commands that were not applied. `None` if all commands were applied, so that a report is usually not allocated.
    unapplied: Option<Box<Unapplied>>,
}

/// Commands of a buffer that were not applied.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Unapplied {
    /// Number of commands in the buffer.
    pub(super) commands: usize,
    pub(super) skipped: usize,
    pub(super) first_skipped: Option<UnappliedCommand>,
    failed: usize,
    /// The first failed commands.
    failures: Vec<UnappliedCommand>,
    pub(super) rest: Rest,
    /// Name of the world that played the buffer.
    by: Option<String>,
}

/// State of the commands other than those that failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Rest {
    #[default]
    Applied,
    /// A strict world has stopped at the first failed command.
    Stopped,
    /// `check_commands` applies no command.
    Checked,
}

/// Command that was not applied, and the reason. See [`PlaybackReport`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnappliedCommand {
    /// Position in the order of playback, starting at 1.
    pub(super) number: usize,
    /// Description of the command.
    pub(super) command: String,
    /// Name of the job that recorded the command.
    pub(super) job: Option<&'static str>,
    pub(super) fault: CommandFault,
}

impl UnappliedCommand {
    /// Returns the position of the command in the order of playback, starting at 1.
    pub fn number(&self) -> usize {
        self.number
    }

    /// Returns a description of the command.
    pub fn command(&self) -> &str {
        &self.command
    }

    /// Returns the entity that the command could not change, if the fault names one.
    pub fn entity(&self) -> Option<Entity> {
        match self.fault {
            CommandFault::Entity(
                EntityError::NoSuchEntity { entity, .. }
                | EntityError::MissingComponent { entity, .. }
                | EntityError::AlreadyPresent { entity, .. }
                | EntityError::WouldLoseCleanup { entity, .. }
                | EntityError::CleanupOnly { entity },
            )
            | CommandFault::TouchesPrefab { entity }
            | CommandFault::PromiseBroken { entity } => Some(entity),
            CommandFault::ForeignPlaceholder { placeholder }
            | CommandFault::NotCreatedYet { placeholder } => Some(placeholder),
            _ => None,
        }
    }

    /// Returns the name of the job that recorded the command, or `None` if no job did.
    pub fn job(&self) -> Option<&'static str> {
        self.job
    }

    /// Returns the reason why the command was not applied.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{
    ///     CommandError, CommandFault, Entity, EntityCommandBuffer, EntityError, World,
    /// };
    ///
    /// let mut world = World::new("Simulation");
    /// let mut buffer = EntityCommandBuffer::new();
    /// buffer.commands()?.add(Entity::NULL, ());
    /// let Err(CommandError::Failed(report)) = world.play(&mut buffer) else { unreachable!() };
    /// let failed = &report.failures()[0];
    /// assert_eq!(failed.number(), 1);
    /// assert!(matches!(failed.fault(), CommandFault::Entity(EntityError::NoSuchEntity { .. })));
    /// # Ok::<(), CommandError>(())
    /// ```
    pub fn fault(&self) -> CommandFault {
        self.fault.clone()
    }

    /// Writes the command, and the job that recorded it.
    fn fmt_command(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.command)?;
        match self.job {
            Some(job) => write!(f, ", which job `{job}` recorded"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for UnappliedCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "command {}, ", self.number)?;
        self.fmt_command(f)?;
        write!(f, ": {}", self.fault)
    }
}

impl PlaybackReport {
    pub(super) fn new(
        buffer: ContainerLabel,
        at: &'static Location<'static>,
        unapplied: Option<Box<Unapplied>>,
    ) -> Self {
        Self { buffer, at, unapplied }
    }

    /// Returns the buffer.
    pub fn buffer(&self) -> ContainerLabel {
        self.buffer
    }

    /// Returns the place in the code where the buffer was played.
    pub fn at(&self) -> &'static Location<'static> {
        self.at
    }

    /// Returns the number of commands that were skipped, because their entities were despawned.
    ///
    /// Of a command for a slice of entities, each despawned entity counts, and the command is applied to the others. `despawn` and
    /// `remove` have nothing to do for a despawned entity, and do not count.
    pub fn skipped(&self) -> usize {
        self.unapplied.as_ref().map_or(0, |unapplied| unapplied.skipped)
    }

    /// Returns the first command that was skipped.
    pub fn first_skipped(&self) -> Option<&UnappliedCommand> {
        self.unapplied.as_ref()?.first_skipped.as_ref()
    }

    /// Returns the number of commands that failed. It is 0 unless the report is that of an error.
    pub fn failed(&self) -> usize {
        self.unapplied.as_ref().map_or(0, |unapplied| unapplied.failed)
    }

    /// Returns the commands that failed, in the order of playback, up to the first thousand.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{CommandError, Component, EntityCommandBuffer, World};
    ///
    /// #[derive(Component)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let (stone, orc) = (world.spawn(()), world.spawn(Health(20)));
    /// let mut buffer = EntityCommandBuffer::new();
    /// let commands = buffer.commands()?;
    /// commands.set(stone, Health(1));
    /// commands.set(orc, Health(2));
    /// commands.set(stone, Health(3));
    /// let Err(CommandError::Failed(report)) = world.play(&mut buffer) else { unreachable!() };
    /// let numbers: Vec<_> = report.failures().iter().map(|failed| failed.number()).collect();
    /// assert_eq!(numbers, [1, 3]);
    /// assert_eq!(world.get::<Health>(orc)?.0, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn failures(&self) -> &[UnappliedCommand] {
        self.unapplied.as_ref().map_or(&[], |unapplied| &unapplied.failures)
    }

    /// Adds the name of the world that played the buffer.
    pub(super) fn played_by(&mut self, by: &str) {
        if let Some(unapplied) = &mut self.unapplied {
            unapplied.by = Some(by.to_owned());
        }
    }

    /// Describes the first skipped command and its entity, for the warning of a system.
    pub(crate) fn first_skipped_in_words(&self) -> String {
        let Some(first) = self.first_skipped() else { return String::new() };
        let mut words = fmt::from_fn(|f| first.fmt_command(f)).to_string();
        if let Some(entity) = first.entity() {
            let entity = format!("{entity}");
            // A command for several entities does not name them.
            if !first.command.contains(&entity) {
                words.push_str(" for ");
                words.push_str(&entity);
            }
        }
        words
    }

    /// Returns the message for a system's own buffer. It names no source locations, because user code neither creates nor plays the
    /// buffer.
    pub(super) fn of_system(&self) -> impl fmt::Display {
        fmt::from_fn(move |f| {
            let Some(unapplied) = &self.unapplied else { return Ok(()) };
            let commands = unapplied.commands;
            f.write_str("A0078: ")?;
            match &unapplied.failures[..] {
                [only] => {
                    write!(f, "command {} of {commands} failed, ", only.number)?;
                    only.fmt_command(f)?;
                }
                _ => write!(f, "{} of {commands} commands failed", unapplied.failed)?,
            }
            unapplied.fmt_rest(f)
        })
    }
}

impl fmt::Display for PlaybackReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { buffer, at, .. } = self;
        let Some(unapplied) = &self.unapplied else {
            return write!(f, "all commands of {buffer}, played at {at}, were applied");
        };
        let by = fmt::from_fn(|f| match &unapplied.by {
            Some(by) => write!(f, " in {by}"),
            None => Ok(()),
        });
        let commands = unapplied.commands;
        match &unapplied.failures[..] {
            [] => {
                let skipped = unapplied.skipped;
                let first = self.first_skipped_in_words();
                write!(
                    f,
                    "A0160: {skipped} of {commands} commands of {buffer}, played{by} at {at}, were skipped, because their \
                     entities no longer exist; the first is {first}; check entities with `exists` before commands are recorded"
                )
            }
            [only] => {
                write!(f, "A0078: {buffer}, played{by} at {at}, failed at command ")?;
                write!(f, "{} of {commands}, ", only.number)?;
                only.fmt_command(f)?;
                unapplied.fmt_rest(f)
            }
            _ => {
                let failed = unapplied.failed;
                write!(
                    f,
                    "A0078: {buffer}, played{by} at {at}, failed at {failed} of {commands} commands"
                )?;
                unapplied.fmt_rest(f)
            }
        }
    }
}

impl Unapplied {
    /// Returns the result of a check that found a command that would fail.
    pub(super) fn checked(commands: usize, failed: UnappliedCommand) -> Self {
        let (rest, failures) = (Rest::Checked, vec![failed]);
        Self { commands, rest, failed: 1, failures, ..Self::default() }
    }

    /// Adds a failed command.
    pub(super) fn fail(&mut self, command: impl FnOnce() -> UnappliedCommand) {
        self.failed += 1;
        if self.failures.len() < MAX_LISTED {
            self.failures.push(command());
        }
    }

    /// Adds skipped commands. `first` is the first of them.
    pub(super) fn skip(&mut self, count: usize, first: impl FnOnce() -> UnappliedCommand) {
        self.skipped += count;
        self.first_skipped.get_or_insert_with(first);
    }

    /// Tests whether a command failed.
    pub(super) fn has_failed(&self) -> bool {
        self.failed > 0
    }

    /// Writes what happened to the other commands, and the faults.
    fn fmt_rest(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.rest {
            Rest::Checked => "; no command was applied",
            Rest::Stopped => "; the commands before it were applied, those after it were not",
            Rest::Applied if self.skipped == 0 => "; the other commands were applied",
            Rest::Applied => "; the other commands were applied, except",
        })?;
        if self.rest == Rest::Applied && self.skipped > 0 {
            write!(f, " {} for entities that no longer exist", self.skipped)?;
        }
        if let [only] = &self.failures[..] {
            return write!(f, ": {}", only.fault);
        }
        f.write_str(":")?;
        let shown = &self.failures[..self.failures.len().min(MAX_SHOWN)];
        for failure in shown {
            write!(f, "\n  {failure}")?;
        }
        match self.failed - shown.len() {
            0 => Ok(()),
            more => write!(f, "\n  and {more} more"),
        }
    }
}
