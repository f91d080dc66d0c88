//! The recorded commands, and the expected results after playback: the same for every subject.

use glam::Vec3;
use rayon::ThreadPoolBuilder;

use crate::parts::storage::types::{A, B, Position, Velocity};

pub(super) use crate::parts::storage::work::{MANY, body, in_any_order, row};

/// Number of rounds of the mix of commands.
const ROUNDS: usize = 100_000;
/// Number of existing entities in each round of the mix of commands.
const EACH: usize = 3;
/// Entities that exist before the mix of commands is played back.
pub(super) const MIXED: usize = ROUNDS * EACH;
/// Number of commands of the mix.
pub(super) const MIXED_COMMANDS: usize = ROUNDS * 10;

/// Returns the component that is added to an entity.
#[inline]
pub(super) fn charge(index: usize) -> A {
    A(index as f32)
}

/// The operations of the mix of commands.
pub(super) trait Recorder {
    type Entity: Copy;

    fn spawn_body(&mut self, body: (Position, Velocity)) -> Self::Entity;
    fn spawn_charged(&mut self, position: Position, velocity: Velocity, charge: A);
    fn add_a(&mut self, entity: Self::Entity, value: A);
    fn add_b(&mut self, entity: Self::Entity, value: B);
    /// Sets a component that the entity has.
    fn set_position(&mut self, entity: Self::Entity, value: Position);
    fn remove_velocity(&mut self, entity: Self::Entity);
    fn despawn(&mut self, entity: Self::Entity);
}

/// Records a million commands: ten per round. No two successive commands have the same kind or the same entity.
#[inline]
pub(super) fn record_mix<R: Recorder>(recorder: &mut R, entities: &[R::Entity]) {
    assert_eq!(entities.len(), MIXED);
    for (round, entities) in entities.chunks_exact(EACH).enumerate() {
        let (position, velocity) = body(round);
        let created = recorder.spawn_body((position, velocity));
        recorder.add_a(entities[0], charge(round));
        recorder.set_position(entities[1], Position(Vec3::splat(round as f32)));
        recorder.spawn_charged(position, velocity, charge(round));
        recorder.remove_velocity(entities[0]);
        recorder.add_b(entities[1], B(1.0));
        recorder.remove_velocity(created);
        recorder.set_position(entities[0], Position(Vec3::ONE));
        recorder.despawn(entities[2]);
        recorder.add_b(created, B(2.0));
    }
}

/// Condenses an entity, to the bit, including missing components.
pub(super) fn any_row(
    position: &Position,
    velocity: Option<&Velocity>,
    a: Option<&A>,
    b: Option<&B>,
) -> u64 {
    let velocity = velocity.map_or(Vec3::NAN, |velocity| velocity.0);
    let rest = [a.map_or(f32::NAN, |a| a.0), b.map_or(f32::NAN, |b| b.0)];
    row([position.0, velocity].iter().flat_map(Vec3::to_array).chain(rest))
}

/// A value that one thread records to. Two such values share no cache line, as if they were allocated separately for two systems
/// or threads.
#[derive(Default)]
#[repr(align(128))]
pub(super) struct Apart<T>(pub(super) T);

/// Sets rayon up with two threads, one of which is this one.
pub(super) fn two_threads() {
    let pool = ThreadPoolBuilder::new().num_threads(2).use_current_thread();
    pool.build_global().expect("it is the only pool of the process");
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A log of the kind and the entity of each command. Existing entities have their index, and others have numbers from `MIXED`
    /// on.
    #[derive(Default)]
    struct Log {
        commands: Vec<(&'static str, usize)>,
        created: usize,
    }

    impl Log {
        fn create(&mut self) -> usize {
            self.created += 1;
            let entity = MIXED + self.created;
            self.commands.push(("create", entity));
            entity
        }
    }

    impl Recorder for Log {
        type Entity = usize;

        fn spawn_body(&mut self, _: (Position, Velocity)) -> usize {
            self.create()
        }

        fn spawn_charged(&mut self, _: Position, _: Velocity, _: A) {
            self.create();
        }

        fn add_a(&mut self, entity: usize, _: A) {
            self.commands.push(("add", entity));
        }

        fn add_b(&mut self, entity: usize, _: B) {
            self.commands.push(("add", entity));
        }

        fn set_position(&mut self, entity: usize, _: Position) {
            self.commands.push(("set", entity));
        }

        fn remove_velocity(&mut self, entity: usize) {
            self.commands.push(("remove", entity));
        }

        fn despawn(&mut self, entity: usize) {
            self.commands.push(("destroy", entity));
        }
    }

    #[test]
    fn no_command_of_the_mix_is_like_the_one_before() {
        let mut log = Log::default();
        record_mix(&mut log, &(0..MIXED).collect::<Vec<_>>());
        assert_eq!(log.commands.len(), 1_000_000);
        for pair in log.commands.windows(2) {
            assert!(pair[0].0 != pair[1].0 && pair[0].1 != pair[1].1, "{pair:?}");
        }
    }
}
