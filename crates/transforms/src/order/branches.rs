//! Branches that threads go through on their own.
//!
//! Threads wait for each other after each level. Where many levels follow each other that have few nodes each, as in chains below one
//! root, they would wait more than they work. There, the nodes of all these levels are one stage, in parts that have nothing to do with
//! each other: each has whole branches, from one level on.
//!
//! ```text
//! levels      a b c d      stage     a b  A B  1 2 | c d  C D  3 4
//!             A B C D      parts     0             6              12
//!             1 2 3 4
//! ```
//!
//! There are not more parts than that many branches are in each: narrow ones jump from level to level in memory all the time.
//! In each part nodes are in the order of memory, if parents come first in it, too, or else level by level.

use std::ops::Range;

use super::{NONE, Order, StageEnd};

/// In how many parts a stage is divided for all threads, at most.
pub(crate) const PARTS: usize = 32;

/// Levels with fewer nodes are narrow: to wait at the end of one costs about as much as its nodes do.
const NARROW: usize = 4_096;

/// How many narrow levels have to follow each other, and how many nodes they must have in all, to be worth it.
const LEVELS: usize = 8;
const WORTH: usize = 2_048;

/// In how many parts so many branches are divided: not by how many threads there are, so that places are the same on all machines.
fn part_count(branches: usize) -> usize {
    (branches / 32).clamp(8, PARTS)
}

/// What is kept for its memory.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    /// How many nodes each branch has, by where it begins.
    weights: Vec<u32>,
    part_of: Vec<u8>,
    nodes: Vec<u32>,
}

impl Order {
    /// Finds out which levels are gone through together. Places of those change.
    pub(super) fn find_stages(&mut self, parents: &[u32]) {
        self.stages.clear();
        self.parts.clear();
        let count = self.levels.len() - 1;
        let mut level = 0;
        while level < count {
            let is_narrow = |level: &usize| self.level(*level).len() < NARROW;
            let run = level..level + (level..count).take_while(is_narrow).count();
            let top = self.find_top(&run).unwrap_or(run.end.max(level + 1));
            let before = self.parts.len() as u32;
            let ends = &self.levels[1..][level..top];
            self.stages.extend(ends.iter().map(|&end| StageEnd { end, parts: before, tops: 0 }));
            level = top;
            if top < run.end {
                self.divide(&(top..run.end));
                level = run.end;
            }
        }
        if !self.parts.is_empty() {
            self.find_parents(parents);
        }
    }

    fn level(&self, level: usize) -> Range<usize> {
        self.levels[level] as usize..self.levels[level + 1] as usize
    }

    /// Finds the level at which narrow levels are best divided into branches: where few are above, and no branch is most of it.
    fn find_top(&mut self, run: &Range<usize>) -> Option<usize> {
        let (start, end) = (self.levels[run.start] as usize, self.levels[run.end] as usize);
        if run.len() < LEVELS || end - start < WORTH {
            return None;
        }
        let weights = &mut self.scratch.weights;
        weights.clear();
        weights.resize(end - start, 1);
        for at in (start..end).rev() {
            let parent = self.parent[at] as usize;
            if parent != NONE as usize && parent >= start {
                weights[parent - start] += weights[at - start];
            }
        }
        // How long it takes, if there are as many threads as parts.
        let cost = |level: &usize| {
            let places = self.level(*level);
            let weights = &self.scratch.weights[places.start - start..places.end - start];
            let heaviest = weights.iter().max().map_or(0, |weight| *weight as usize);
            (places.start - start)
                + heaviest.max((end - places.start).div_ceil(part_count(places.len())))
        };
        let top = run.clone().min_by_key(cost)?;
        (cost(&top) * 2 <= end - start).then_some(top)
    }

    /// Divides levels into parts with whole branches, of which the weights are known.
    fn divide(&mut self, levels: &Range<usize>) {
        let tops = self.level(levels.start);
        let count = part_count(tops.len());
        let (start, end) = (tops.start, self.levels[levels.end] as usize);
        let Self { nodes, parent, place, parts, stages, scratch, .. } = self;
        let scratch = &mut **scratch;
        // They may begin at an earlier level.
        let weights = &scratch.weights[scratch.weights.len() - (end - start)..];
        let part_of = &mut scratch.part_of;
        part_of.clear();
        let mut before = 0;
        part_of.extend(weights[..tops.len()].iter().map(|&weight| {
            let part = before * count / (end - start);
            before += weight as usize;
            part as u8
        }));
        // Whether in each part parents come first in the order of memory, too.
        let mut is_sorted = [true; PARTS];
        for at in tops.end..end {
            let above = parent[at] as usize;
            let part = part_of[above - start];
            part_of.push(part);
            is_sorted[part as usize] &= nodes[above] < nodes[at];
        }
        let mut ends = [0; PARTS];
        part_of.iter().for_each(|part| ends[*part as usize] += 1);
        let mut next = ends;
        let mut sum = 0;
        for (end, next) in ends.iter_mut().zip(&mut next) {
            *next = sum;
            sum += *end;
            *end = sum;
        }
        scratch.nodes.clear();
        scratch.nodes.extend_from_slice(&nodes[start..end]);
        let nodes = &mut nodes[start..end];
        for (&node, part) in scratch.nodes.iter().zip(part_of) {
            let next = &mut next[*part as usize];
            nodes[*next] = node;
            *next += 1;
        }
        let mut first = 0;
        for (&end, is_sorted) in ends.iter().zip(is_sorted) {
            if is_sorted {
                nodes[first..end].sort_unstable();
            }
            first = end;
        }
        for (at, &node) in (start as u32..).zip(&*nodes) {
            place[node as usize] = at;
        }
        parts.extend(ends[..count].iter().map(|&end| (start + end) as u32));
        let tops = tops.len() as u32;
        stages.push(StageEnd { end: end as u32, parts: parts.len() as u32, tops });
    }
}
