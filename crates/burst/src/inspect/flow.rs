//! Loops in a graph of basic blocks.

use std::collections::{BTreeMap, BTreeSet};

/// Returns for each block whether it is in an innermost loop.
///
/// `successors` contains, for each block, the blocks that may run after it. Entry points are the first block and all blocks
/// without predecessors, such as landing pads.
///
/// A loop is a set of blocks with one head, through which it is entered and repeated. The order in memory does not matter: the
/// compiler often places the rare part of an outer loop behind everything else.
pub(super) fn in_innermost_loop(successors: &[Vec<usize>]) -> Vec<bool> {
    let loops = loops(successors);
    let mut found = vec![false; successors.len()];
    for (head, body) in &loops {
        let has_inner = loops.keys().any(|other| other != head && body.contains(other));
        if !has_inner {
            body.iter().for_each(|&block| found[block] = true);
        }
    }
    found
}

/// Returns the natural loops: all blocks of each, by its head.
fn loops(successors: &[Vec<usize>]) -> BTreeMap<usize, BTreeSet<usize>> {
    let mut predecessors = vec![Vec::new(); successors.len()];
    for (block, next) in successors.iter().enumerate() {
        next.iter().for_each(|&next| predecessors[next].push(block));
    }
    let dominators = dominators(&predecessors);
    let mut loops: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for (last, next) in successors.iter().enumerate() {
        for &head in next.iter().filter(|head| dominators[last].contains(head)) {
            let body = loops.entry(head).or_insert_with(|| BTreeSet::from([head]));
            let mut open = vec![last];
            while let Some(block) = open.pop() {
                if body.insert(block) {
                    open.extend(&predecessors[block]);
                }
            }
        }
    }
    loops
}

/// Returns the dominators of each block, including itself.
///
/// Uses the textbook iteration over sets, since kernels are small.
fn dominators(predecessors: &[Vec<usize>]) -> Vec<BTreeSet<usize>> {
    let all: BTreeSet<usize> = (0..predecessors.len()).collect();
    let is_start = |block: usize| block == 0 || predecessors[block].is_empty();
    let start = |block| if is_start(block) { BTreeSet::from([block]) } else { all.clone() };
    let mut dominators: Vec<BTreeSet<usize>> = (0..predecessors.len()).map(start).collect();
    let mut changed = true;
    while changed {
        changed = false;
        for block in (0..predecessors.len()).filter(|&block| !is_start(block)) {
            let sets = predecessors[block].iter().map(|&before| &dominators[before]);
            let common = sets.cloned().reduce(|common, set| &common & &set).unwrap_or_default();
            let mut found = common;
            found.insert(block);
            if found != dominators[block] {
                dominators[block] = found;
                changed = true;
            }
        }
    }
    dominators
}

#[cfg(test)]
mod tests {
    use super::*;

    fn innermost(successors: &[&[usize]]) -> Vec<usize> {
        let successors: Vec<Vec<usize>> = successors.iter().map(|next| next.to_vec()).collect();
        let found = in_innermost_loop(&successors);
        (0..found.len()).filter(|&block| found[block]).collect()
    }

    #[test]
    fn a_block_that_repeats_itself_is_a_loop() {
        assert_eq!(innermost(&[&[1], &[1, 2], &[]]), [1]);
        assert_eq!(innermost(&[&[1], &[2], &[]]), []);
    }

    #[test]
    fn calls_in_an_outer_loop_alone_do_not_count() {
        // 1 is the head of the outer loop, 2 the inner loop, and 3 jumps back.
        assert_eq!(innermost(&[&[1], &[2], &[2, 3], &[1, 4], &[]]), [2]);
    }

    #[test]
    fn the_order_in_memory_does_not_matter() {
        // The rare part of the outer loop, 4, is behind the end, 3, and jumps back over the inner loop, 2.
        assert_eq!(innermost(&[&[1], &[2], &[2, 4], &[], &[1, 3]]), [2]);
        // Here the rare part is before the inner loop, with no block of that loop between it and its target.
        assert_eq!(innermost(&[&[2], &[2, 4], &[3], &[3, 1], &[]]), [3]);
    }

    #[test]
    fn two_ways_back_to_one_head_are_one_loop() {
        assert_eq!(innermost(&[&[1], &[2, 3], &[1], &[1, 4], &[]]), [1, 2, 3]);
    }

    #[test]
    fn a_block_without_predecessors_is_an_entry_point() {
        assert_eq!(innermost(&[&[], &[2], &[2, 3], &[]]), [2]);
    }
}
