//! Order of systems that leaves jobs more time before a system waits for them.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::hash::Hash;

use super::{Constraints, Edge, GroupPart};

/// The data that a system and its jobs access. `T` identifies a component, a resource or other data.
#[derive(Clone, Debug)]
pub(crate) struct LatencyAccess<T> {
    /// Data that the system reads while it runs. The system waits for jobs that write it.
    pub(crate) reads: Vec<T>,
    /// Data that the system writes while it runs. The system waits for jobs that access it.
    pub(crate) writes: Vec<T>,
    /// Data that the system's jobs read.
    pub(crate) jobs_read: Vec<T>,
    /// Data that the system's jobs write.
    pub(crate) jobs_write: Vec<T>,
    /// Set if the system may access any data, and waits for every job: it creates entities, plays commands, or has no declared
    /// parameters.
    pub(crate) everything: bool,
}

impl<T> Default for LatencyAccess<T> {
    fn default() -> Self {
        let [reads, writes, jobs_read, jobs_write] = [const { Vec::new() }; 4];
        Self { reads, writes, jobs_read, jobs_write, everything: false }
    }
}

impl<T> LatencyAccess<T> {
    fn schedules(&self) -> bool {
        !(self.jobs_read.is_empty() && self.jobs_write.is_empty())
    }
}

/// Computes an order in which systems wait for jobs later than in `order`. Returns `order` if it is the best.
///
/// Systems that only schedule jobs run as early as possible, then systems that wait for no job, then systems that wait for jobs,
/// starting with those whose jobs were scheduled first. Systems with conflicting access keep their order, so results are
/// bit-identical. The order depends on the systems and their access, not on run times.
pub(crate) fn delay_waits<T: Copy + Eq + Hash>(
    constraints: &Constraints,
    order: Vec<usize>,
    access: &[&LatencyAccess<T>],
) -> Vec<usize> {
    let flows = DataFlow::of(&order, access);
    let mut edges = constraints.edges.clone();
    edges.extend(&flows.edges);
    let all = Constraints::new(constraints.parts.clone(), edges);
    let found = greedy(&all, &flows, &order, access);
    if flows.total_gap(&found) > flows.total_gap(&order) { found } else { order }
}

/// Dependencies between systems that follow from the data that they access.
struct DataFlow {
    /// Pairs of systems that keep their order.
    edges: Vec<Edge>,
    /// For each system, the systems whose jobs it waits for.
    waits: Vec<Vec<u32>>,
}

/// The systems that accessed one piece of data since it was last written. The flag is set for an access in a job.
#[derive(Default)]
struct DataUsers {
    writer: Option<(u32, bool)>,
    readers: Vec<(u32, bool)>,
}

impl DataFlow {
    /// Visits the systems in order, and keeps the last accesses of each piece of data. Each access is compared twice: with the last
    /// writer before it, and with the next writer after it.
    fn of<T: Copy + Eq + Hash>(order: &[usize], access: &[&LatencyAccess<T>]) -> Self {
        let mut flows = Self { edges: Vec::new(), waits: vec![Vec::new(); access.len()] };
        let mut things: HashMap<T, DataUsers> = HashMap::new();
        let mut last_barrier = None;
        let mut since_barrier = Vec::new();
        for &place in order {
            let own = access[place];
            let place = place as u32;
            if own.everything {
                for &earlier in &since_barrier {
                    flows.push(earlier, place, access[earlier as usize].schedules(), true);
                }
                since_barrier.clear();
                things.clear();
                if let Some(barrier) = last_barrier.replace(place) {
                    flows.push(barrier, place, false, false);
                }
                continue;
            }
            if let Some(barrier) = last_barrier {
                flows.push(barrier, place, false, false);
            }
            since_barrier.push(place);
            let reads = own.reads.iter().map(|&thing| (thing, false));
            let jobs_read = own.jobs_read.iter().map(|&thing| (thing, true));
            for (thing, by_job) in reads.chain(jobs_read) {
                let thing = things.entry(thing).or_default();
                if let Some((writer, wrote_by_job)) = thing.writer {
                    flows.push(writer, place, wrote_by_job, !by_job);
                }
                thing.readers.push((place, by_job));
            }
            let writes = own.writes.iter().map(|&thing| (thing, false));
            let jobs_write = own.jobs_write.iter().map(|&thing| (thing, true));
            for (thing, by_job) in writes.chain(jobs_write) {
                let thing = things.entry(thing).or_default();
                for (user, used_by_job) in thing.readers.drain(..).chain(thing.writer) {
                    flows.push(user, place, used_by_job, !by_job);
                }
                thing.writer = Some((place, by_job));
            }
        }
        flows
    }

    fn push(&mut self, before: u32, after: u32, by_job: bool, waits: bool) {
        if before == after {
            return;
        }
        self.edges.push(Edge { before, after, said_by_after: true });
        if by_job && waits {
            self.waits[after as usize].push(before);
        }
    }

    /// Returns the total distance in the order between scheduling jobs and waiting for them.
    fn total_gap(&self, order: &[usize]) -> usize {
        let mut at = vec![0; order.len()];
        for (position, &place) in order.iter().enumerate() {
            at[place] = position;
        }
        let gap = |place: usize| {
            let latest = self.waits[place].iter().map(|&before| at[before as usize]).max();
            latest.map_or(0, |latest| at[place] - latest)
        };
        (0..order.len()).map(gap).sum()
    }
}

/// Computes the order by repeatedly taking the best candidate. All systems that a candidate depends on are already placed, so its
/// rank never changes.
fn greedy<T>(
    all: &Constraints,
    flows: &DataFlow,
    order: &[usize],
    access: &[&LatencyAccess<T>],
) -> Vec<usize> {
    let mut rank = vec![0_usize; order.len()];
    let mut waits_for = vec![0_u32; order.len()];
    for (position, &place) in order.iter().enumerate() {
        rank[place] = position;
    }
    for edge in &all.edges {
        waits_for[edge.after as usize] += 1;
    }
    let mut at = vec![0_usize; order.len()];
    let key = |place: usize, at: &[usize]| -> Reverse<(GroupPart, usize, usize, usize)> {
        let latest = flows.waits[place].iter().map(|&before| at[before as usize]).max();
        let (kind, since) = match latest {
            None if access[place].schedules() => (0, 0),
            None => (1, 0),
            Some(latest) => (2, latest),
        };
        Reverse((all.parts[place], kind, since, rank[place]))
    };
    let mut ready: BinaryHeap<_> = order
        .iter()
        .filter(|&&place| waits_for[place] == 0)
        .map(|&place| key(place, &at))
        .collect();
    let mut found = Vec::with_capacity(order.len());
    while let Some(Reverse((.., rank))) = ready.pop() {
        let place = order[rank];
        at[place] = found.len();
        found.push(place);
        for edge in all.edges_from(place) {
            let after = edge.after as usize;
            waits_for[after] -= 1;
            if waits_for[after] == 0 {
                ready.push(key(after, &at));
            }
        }
    }
    found
}
