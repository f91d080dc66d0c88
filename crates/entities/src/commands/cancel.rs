//! Long runs of commands that name the same entities in the same order, and leave no trace: `add` for each of them, and then
//! `despawn`.

#![expect(unsafe_code, reason = "looks at commands in the memory of lanes")]

use super::lane::{VerbRun, find};
use super::play::{Player, Resolved};
use super::recorder::CommandRecorder;
use super::verb::{Deed, Verb};
use super::walk::Walk;
use crate::entity::Entity;
use crate::manager::{ChangeSequence, SequenceEnd};
use crate::storage::SetOperation;

impl<'l> Walk<'l> {
    /// Goes on behind runs that come to nothing, because of others that follow them.
    pub(super) fn skip_cancelled(&mut self, player: &mut Player<'_>) {
        while let Some(runs) = self.cancelled(player) {
            for _ in 0..runs {
                self.skip_run();
            }
        }
    }

    /// How many runs come to nothing, from the next on, if there are such. Entities that never are have their ids then.
    ///
    /// Whether there may be such shows mostly by the first and the last command of two runs, so that it costs nothing to ask. Then all of
    /// them are looked at: whether each could be carried out, and what entities it is for.
    fn cancelled(&self, player: &mut Player<'_>) -> Option<usize> {
        // In a strict world, who is named twice may be refused.
        if player.entities.is_strict() {
            return None;
        }
        let mut ahead = *self;
        let mut course = ChangeSequence::new();
        let first = ahead.next_targets()?;
        let mut others = 0;
        let (end, last) = loop {
            let next = if others == 0 { first } else { ahead.next_targets()? };
            let verb = next.run.verb;
            if verb.deed == Deed::Other || others > 0 && !first.may_be(next, player.resolved) {
                return None;
            }
            ahead.skip_run();
            if others == 0 {
                // Most runs are followed by others that have nothing to do with them.
                let second = ahead.next_targets()?;
                if second.run.verb.deed == Deed::Other || !first.may_be(second, player.resolved) {
                    return None;
                }
            }
            match verb.deed {
                Deed::Destroy if others > 0 => break (SequenceEnd::Despawned, next),
                Deed::Create if others == 0 => course.creates = true,
                Deed::Change(_) => {}
                _ => return None,
            }
            let set = (verb.set)(player.entities)?;
            let change =
                if let Deed::Change(change) = verb.deed { change } else { SetOperation::Add };
            let is_duplicated = player.keeps && change != SetOperation::Remove;
            if is_duplicated && !player.entities.can_be_duplicated(set) {
                return None;
            }
            if change == SetOperation::Remove && player.entities.inserts_only(&course, set) {
                break (SequenceEnd::Taken(set), next);
            }
            if !course.then(change, set) {
                return None;
            }
            others += 1;
        };
        if end == SequenceEnd::Despawned && player.entities.storage.chunks.may_be_shared() {
            // Without memory, somebody stays, who is to have been changed.
            return None;
        }
        let mut runs = *self;
        for _ in 0..others {
            let targets = runs.next_targets()?;
            runs.skip_run();
            if !targets
                .all()
                .zip(last.all())
                .all(|(one, other)| is_same(one, other, player.resolved))
            {
                return None;
            }
        }
        for target in first.all() {
            let entity = player.resolved.resolve(target).ok()?;
            if !player.entities.is_elidable(entity, &mut course, end) {
                return None;
            }
        }
        if course.creates {
            player.entities.sync_for_move([]);
            for target in first.all() {
                if let Ok(entity) = player.resolved.resolve(target) {
                    player.entities.storage.table.consume_id(entity);
                }
            }
        }
        // Entities that are there are still to be despawned.
        Some(others + usize::from(course.creates || end != SequenceEnd::Despawned))
    }

    /// What the next run names.
    fn next_targets(&self) -> Option<Targets<'l>> {
        self.rest_of_run().map(|(lane, run)| Targets { lane, run })
    }
}

/// Whether two targets are the same entity. Of one that is created, the id may be known that it was promised.
#[inline]
fn is_same(one: Entity, other: Entity, resolved: &Resolved) -> bool {
    one == other
        || one.is_placeholder()
            && !other.is_placeholder()
            && resolved.resolve(one).is_ok_and(|entity| entity == other)
}

/// What the commands of a run name.
#[derive(Clone, Copy)]
struct Targets<'l> {
    lane: &'l CommandRecorder,
    run: VerbRun,
}

impl Targets<'_> {
    /// Whether those of another run may be the same.
    fn may_be(self, other: Self, resolved: &Resolved) -> bool {
        let is_same_at = |one: Option<Entity>, other: Option<Entity>| match (one, other) {
            (Some(one), Some(other)) => is_same(one, other, resolved),
            _ => false,
        };
        self.run.count == other.run.count
            && is_same_at(self.all().next(), other.all().next())
            && is_same_at(self.last(), other.last())
    }

    fn all(self) -> impl Iterator<Item = Entity> {
        let VerbRun { verb, start, count } = self.run;
        let (data, mut position) = (self.lane.memory.data(), start);
        (0..count).map_while(move |_| {
            // SAFETY: there is a command of the run, and nobody changes it while the log is gone through.
            let found = unsafe { find(verb, data, position) };
            position = found.next;
            // SAFETY: as above.
            unsafe { found.target() }
        })
    }

    fn last(self) -> Option<Entity> {
        let VerbRun { verb, start, count } = self.run;
        if verb.size == Verb::LISTED || verb.align > align_of::<Entity>() {
            return self.all().last();
        }
        let data = self.lane.memory.data();
        // SAFETY: there is at least one command in a run, and all of them have the same size.
        unsafe {
            let size = find(verb, data, start).next - start;
            find(verb, data, start + size * (count - 1)).target()
        }
    }
}
