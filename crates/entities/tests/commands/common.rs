//! Components of every kind, and helpers of the tests.

use std::fmt::Debug;
use std::sync::atomic::{AtomicIsize, Ordering};
use std::sync::{Mutex, PoisonError};

use ancho_entities::{
    CommandError, CommandFault, CommandRecorder, Component, Entity, EntityCommandBuffer,
    ManagedComponent, SharedComponent, UnappliedCommand, World, WorldSettings,
};

pub(crate) use crate::fixtures::*;

#[derive(Component, Clone, Copy, Debug, PartialEq, Default)]
#[component(name = "game::Lamp", enableable)]
pub(crate) struct Lamp;

#[derive(Component, Clone, Copy, Debug, PartialEq, Default)]
#[component(enableable)]
pub(crate) struct Glow(pub(crate) u32);

/// A component that stays when its entity is despawned.
#[derive(Component, Clone, Copy, Debug, PartialEq, Default)]
#[component(cleanup)]
pub(crate) struct Stays(pub(crate) u32);

/// A component that can be neither duplicated nor created without a value.
#[derive(Component, Debug, PartialEq)]
#[component(name = "game::Only")]
pub(crate) struct Only(pub(crate) u32);

#[derive(SharedComponent, Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Team(pub(crate) &'static str);

#[derive(ManagedComponent, Clone, Debug, PartialEq)]
pub(crate) struct Note {
    pub(crate) text: String,
    pub(crate) about: Entity,
}

/// A count of values, and the clone or drop that panics.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    live: AtomicIsize,
    clones: AtomicIsize,
    drops: AtomicIsize,
}

impl Ledger {
    /// Creates a ledger that is never freed. Dropping a value twice shows in the count, and does no harm.
    pub(crate) fn new() -> &'static Self {
        /// All ledgers, kept reachable for leak detectors.
        static ALL: Mutex<Vec<&'static Ledger>> = Mutex::new(Vec::new());
        let ledger: &'static Self = Box::leak(Box::default());
        ALL.lock().unwrap_or_else(PoisonError::into_inner).push(ledger);
        ledger
    }

    pub(crate) fn value(&'static self, number: u32) -> Counted {
        self.live.fetch_add(1, Ordering::SeqCst);
        Counted { number, ledger: self }
    }

    /// Returns the number of values that were created and not dropped.
    pub(crate) fn live(&self) -> isize {
        self.live.load(Ordering::SeqCst)
    }

    /// Makes the clone with this number panic, counted from 1. Zero disables the panic.
    pub(crate) fn panic_at_clone(&self, number: isize) {
        self.clones.store(number, Ordering::SeqCst);
    }

    /// Makes the drop with this number panic, counted from 1. Zero disables the panic.
    pub(crate) fn panic_at_drop(&self, number: isize) {
        self.drops.store(number, Ordering::SeqCst);
    }
}

/// A counted value.
#[derive(Component, Debug)]
#[component(name = "game::Counted")]
pub(crate) struct Counted {
    pub(crate) number: u32,
    #[field(opaque)]
    ledger: &'static Ledger,
}

impl Clone for Counted {
    fn clone(&self) -> Self {
        assert_ne!(self.ledger.clones.fetch_sub(1, Ordering::SeqCst), 1, "a clone that panics");
        self.ledger.value(self.number)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.ledger.live.fetch_sub(1, Ordering::SeqCst);
        let is_last = self.ledger.drops.fetch_sub(1, Ordering::SeqCst) == 1;
        assert!(!is_last || std::thread::panicking(), "a drop that panics");
    }
}

/// A counted managed value.
#[derive(ManagedComponent, Clone, Debug)]
#[managed(name = "game::Papers")]
pub(crate) struct Papers {
    #[field(opaque)]
    pub(crate) value: Counted,
    pub(crate) about: Entity,
}

/// Records commands and plays them.
#[track_caller]
pub(crate) fn play(
    world: &mut World,
    record: impl FnOnce(&mut CommandRecorder),
) -> Result<EntityCommandBuffer, CommandError> {
    let mut buffer = EntityCommandBuffer::new();
    record(buffer.commands().unwrap());
    world.play(&mut buffer).map(|_| buffer)
}

/// Creates a strict world.
pub(crate) fn strict_world() -> Checked {
    Checked(World::with_settings("Simulation", WorldSettings::new().strict(true)))
}

/// Returns the first command that failed.
#[track_caller]
pub(crate) fn first_failure<T: Debug>(played: Result<T, CommandError>) -> UnappliedCommand {
    match played {
        Err(CommandError::Failed(report)) => report.failures()[0].clone(),
        other => panic!("no command failed: {other:?}"),
    }
}

/// Records commands, plays them, and returns the number of the first command that fails and its error.
#[track_caller]
pub(crate) fn fails(
    world: &mut World,
    record: impl FnOnce(&mut CommandRecorder),
) -> (usize, CommandFault) {
    let failed = first_failure(play(world, record));
    (failed.number(), failed.fault())
}

/// Returns a placeholder of another buffer.
pub(crate) fn foreign() -> Entity {
    EntityCommandBuffer::new().commands().unwrap().spawn(())
}

/// Returns the appended items, in the order of playback.
pub(crate) fn items(world: &Checked, entity: Entity) -> Vec<u32> {
    world.buffer::<Item>(entity).unwrap().iter().map(|item| item.0).collect()
}

/// Checks the message of a buffer with commands that fail; `AT` stands for the location of playback.
#[track_caller]
pub(crate) fn reads(world: &mut World, mut buffer: EntityCommandBuffer, message: &str) {
    let label = buffer.label().to_string();
    let error = world.play(&mut buffer).unwrap_err();
    let at = error.report().unwrap().at().to_string();
    let message = message.replace("BUFFER", &label).replace("AT", &at);
    assert_eq!(error.to_string(), message);
}
