//! Orders of groups, and constraints that cannot hold.

use std::collections::HashSet;

use proptest::prelude::*;

use super::latency::{LatencyAccess, delay_waits};
use super::*;

struct Kind<const N: usize>;

/// A child of a group. Its type depends on `kind`, which is at most 3.
#[derive(Clone, Debug, Default)]
struct Child {
    name: String,
    kind: usize,
    id: Option<SystemId>,
    first: bool,
    last: bool,
    before: Vec<SystemTarget>,
    after: Vec<SystemTarget>,
}

fn kind(number: usize) -> TypeId {
    match number {
        0 => TypeId::of::<Kind<0>>(),
        1 => TypeId::of::<Kind<1>>(),
        2 => TypeId::of::<Kind<2>>(),
        _ => TypeId::of::<Kind<3>>(),
    }
}

fn id_of(index: u32) -> SystemId {
    SystemId::new(0, index, 1)
}

fn child(name: &str) -> Child {
    Child { name: name.into(), kind: 3, ..Child::default() }
}

impl Child {
    fn before(mut self, name: &str) -> Self {
        self.before.push(SystemTarget::Name(name.into()));
        self
    }

    fn after(mut self, name: &str) -> Self {
        self.after.push(SystemTarget::Name(name.into()));
        self
    }

    fn first(self) -> Self {
        Self { first: true, ..self }
    }

    fn last(self) -> Self {
        Self { last: true, ..self }
    }
}

fn items(children: &[Child]) -> Vec<OrderItem<'_>> {
    let item = |child| {
        let &Child { ref name, kind: number, id, first, last, ref before, ref after } = child;
        let id = id.unwrap_or(id_of(0));
        OrderItem {
            name,
            type_id: kind(number),
            id,
            first,
            last,
            is_late: false,
            before,
            after,
            sets: &[],
            set_constraints: Vec::new(),
        }
    };
    children.iter().map(item).collect()
}

fn elsewhere(target: &SystemTarget) -> Option<Elsewhere> {
    (target.name() == "draw")
        .then(|| Elsewhere::InGroup { name: "Presentation".into(), runs_before: None })
}

fn order(children: &[Child]) -> String {
    let order = sort("Simulation", &items(children), &elsewhere).unwrap();
    order.iter().map(|&place| children[place].name.as_str()).collect::<Vec<_>>().join(" ")
}

fn refused(children: &[Child]) -> String {
    sort("Simulation", &items(children), &elsewhere).unwrap_err().to_string()
}

#[test]
fn without_constraints_systems_run_as_added() {
    assert_eq!(order(&[]), "");
    assert_eq!(order(&["c", "a", "b"].map(child)), "c a b");
}

#[test]
fn constraints_are_followed_and_ties_stay_as_added() {
    assert_eq!(order(&[child("a").after("c"), child("b"), child("c")]), "b c a");
    assert_eq!(order(&[child("a"), child("b"), child("c").before("a")]), "b c a");
    // The same constraint, declared by both systems.
    let both = [child("a").after("c"), child("b"), child("c").before("a").before("a")];
    assert_eq!(order(&both), "b c a");
}

#[test]
fn parts_run_one_after_the_other() {
    let all = [child("z").last(), child("a"), child("y").last().before("z"), child("f").first()];
    assert_eq!(order(&all), "f a y z");
    // A constraint may repeat the order of the parts.
    let again = [child("z").last().after("a"), child("a").after("f"), child("f").first()];
    assert_eq!(order(&again), "f a z");
}

#[test]
fn a_target_is_all_that_it_fits() {
    let of_kind = |name: &str, kind, id| Child { kind, id: Some(id_of(id)), ..child(name) };
    let mut all = [
        of_kind("late", 0, 10),
        of_kind("one", 1, 11),
        of_kind("one", 1, 12),
        of_kind("two", 2, 13),
    ];
    all[0].after = vec![SystemTarget::Type(kind(1), "one")];
    assert_eq!(order(&all), "one one late two");
    all[0].after = vec![SystemTarget::Name("one".into())];
    assert_eq!(order(&all), "one one late two");
    all[0].after = vec![SystemTarget::System(id_of(11))];
    assert_eq!(order(&all), "one late one two");
}

#[test]
fn a_cycle_of_two_names_its_constraints() {
    let all = [child("a").before("b"), child("c").after("b"), child("b").before("a")];
    assert_eq!(
        refused(&all),
        "A0123: the order of the systems of `Simulation` has a cycle: `a` before `b` (set by `a`), `b` before `a` (set \
         by `b`); remove one of these constraints"
    );
}

#[test]
fn a_cycle_of_five_lists_only_its_members() {
    let all = [
        child("before").before("e"),
        child("e").before("d"),
        child("behind").after("c"),
        child("d").before("c"),
        child("c"),
        child("b").after("c"),
        child("a").after("b").before("e"),
        child("apart"),
    ];
    assert_eq!(
        refused(&all),
        "A0123: the order of the systems of `Simulation` has a cycle: `e` before `d` (set by `e`), `d` before `c` (set \
         by `d`), `c` before `b` (set by `b`), `b` before `a` (set by `a`), `a` before `e` (set by `a`); remove one of \
         these constraints"
    );
}

#[test]
fn one_of_two_cycles_is_reported() {
    let all = [
        child("a").before("b"),
        child("b").before("a").before("c"),
        child("c").before("d"),
        child("d").before("c"),
    ];
    let Err(OrderError::Cycle { links, .. }) = sort("Simulation", &items(&all), &elsewhere) else {
        panic!("there are cycles");
    };
    let members: Vec<_> = links.iter().map(|link| link.before.as_str()).collect();
    assert_eq!(members, ["a", "b"]);
}

#[test]
fn invalid_targets_are_refused() {
    assert_eq!(
        refused(&[child("move").before("steer")]),
        "A0124: `move` of `Simulation` should run before `steer`, which this world does not have; add it to \
         `Simulation`, or remove `before`"
    );
    assert_eq!(
        refused(&[child("move").after("move")]),
        "A0125: `move` cannot run after itself; name another system, or remove `after`"
    );
    assert_eq!(
        refused(&[child("move").after("draw")]),
        "A0126: `move` of `Simulation` should run after `draw`, which is in `Presentation`; only systems of the same \
         group can be ordered: put both in one group, or order the groups"
    );
}

#[test]
fn contradictions_of_parts_are_refused() {
    assert_eq!(
        refused(&[child("input").first(), child("move").before("input")]),
        "A0127: `move` of `Simulation` should run before `input`, but it is neither among the first nor the last, and \
         `input` is among the first; remove `before`, `first` or `last`"
    );
    assert_eq!(
        refused(&[child("input").first().after("sum"), child("sum").last()]),
        "A0127: `input` of `Simulation` should run after `sum`, but it is among the first, and `sum` is among the \
         last; remove `after`, `first` or `last`"
    );
    assert_eq!(
        refused(&[child("input").first().last()]),
        "A0128: `input` of `Simulation` cannot be both first and last; remove `first` or `last`"
    );
}

#[test]
fn chains_of_thousands_are_sorted() {
    let count = 5_000;
    let mut all: Vec<_> = (0..count).map(|at| child(&at.to_string())).collect();
    for at in 1..count {
        all[at - 1] = all[at - 1].clone().after(&at.to_string());
    }
    let backwards: Vec<_> = (0..count).rev().collect();
    assert_eq!(sort("Simulation", &items(&all), &elsewhere).unwrap(), backwards);
    let mut all: Vec<_> = (0..count).map(|at| child(&at.to_string())).collect();
    for at in (0..count).filter(|&at| at != 7) {
        all[at] = all[at].clone().after("7");
    }
    assert_eq!(sort("Simulation", &items(&all), &elsewhere).unwrap()[0], 7);
}

fn uses(
    reads: &[u32],
    writes: &[u32],
    jobs_read: &[u32],
    jobs_write: &[u32],
) -> LatencyAccess<u32> {
    let [reads, writes, jobs_read, jobs_write] =
        [reads, writes, jobs_read, jobs_write].map(<[u32]>::to_vec);
    LatencyAccess { reads, writes, jobs_read, jobs_write, everything: false }
}

fn latency_order(children: &[Child], uses: &[LatencyAccess<u32>]) -> String {
    let items = items(children);
    let constraints = Constraints::resolve("Simulation", &items, &elsewhere).unwrap();
    let order = constraints.sort("Simulation", &items).unwrap();
    let uses: Vec<_> = uses.iter().collect();
    let order = delay_waits(&constraints, order, &uses);
    order.iter().map(|&place| children[place].name.as_str()).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_waiting_system_moves_behind_others() {
    let all = ["move", "read", "other", "more"].map(child);
    let uses = [
        uses(&[], &[], &[], &[1]),
        uses(&[1], &[], &[], &[]),
        uses(&[2], &[3], &[], &[]),
        uses(&[], &[], &[], &[4]),
    ];
    assert_eq!(latency_order(&all, &uses), "move more other read");
}

#[test]
fn a_system_that_creates_entities_keeps_its_place() {
    let all = ["move", "spawn", "other"].map(child);
    let barrier = LatencyAccess { everything: true, ..LatencyAccess::default() };
    let [mover, other] = [uses(&[], &[], &[], &[1]), uses(&[], &[], &[], &[2])];
    assert_eq!(latency_order(&all, &[mover.clone(), barrier, other.clone()]), "move spawn other");
    // A system that only waits for a job does not block the reordering.
    let waits = uses(&[1], &[], &[], &[]);
    assert_eq!(latency_order(&all, &[mover, waits, other]), "move other spawn");
}

#[test]
fn a_waiting_system_in_the_last_part_stays_last() {
    let all = [child("sum").last(), child("end").last(), child("move"), child("other")];
    let uses = [
        uses(&[1], &[], &[], &[]),
        uses(&[5], &[], &[], &[]),
        uses(&[], &[], &[], &[1]),
        uses(&[2], &[], &[], &[]),
    ];
    assert_eq!(latency_order(&all, &uses), "move other end sum");
}

/// Generates children `0..count`, each with constraints on other children by name.
fn children() -> impl Strategy<Value = Vec<Child>> {
    (1..12_usize).prop_flat_map(|count| {
        let constraint = (0..count, 0..count, any::<bool>());
        let part = 0..6_u8;
        let constraints = prop::collection::vec(constraint, 0..16);
        (prop::collection::vec(part, count), constraints).prop_map(|(parts, constraints)| {
            let mut all: Vec<_> = (0..parts.len()).map(|at| child(&at.to_string())).collect();
            for (child, part) in all.iter_mut().zip(&parts) {
                (child.first, child.last) = (*part == 0, *part == 1);
            }
            for (system, target, is_before) in constraints {
                let (child, name) = (all[system].clone(), target.to_string());
                all[system] = if is_before { child.before(&name) } else { child.after(&name) };
            }
            all
        })
    })
}

/// Returns the pairs of children that constraints order.
fn pairs(children: &[Child]) -> HashSet<(usize, usize)> {
    let number = |target: &SystemTarget| target.name().parse::<usize>().unwrap();
    let mut pairs = HashSet::new();
    for (at, child) in children.iter().enumerate() {
        pairs.extend(child.before.iter().map(|target| (at, number(target))));
        pairs.extend(child.after.iter().map(|target| (number(target), at)));
    }
    pairs
}

/// Computes the order by brute force: of the children that could be next, takes the one that was added first.
fn model(children: &[Child]) -> Option<Vec<usize>> {
    let pairs = pairs(children);
    let part = |at: usize| (!children[at].first, children[at].last);
    let mut order = Vec::new();
    while order.len() < children.len() {
        let left = || (0..children.len()).filter(|at| !order.contains(at));
        let is_free = |&at: &usize| {
            left().all(|other| !pairs.contains(&(other, at)) && part(other) >= part(at))
        };
        let next = left().find(is_free)?;
        order.push(next);
    }
    Some(order)
}

fn some_uses() -> impl Strategy<Value = LatencyAccess<u32>> {
    let things = || prop::collection::vec(0..6_u32, 0..3);
    (things(), things(), things(), things(), 0..10_u8).prop_map(
        |(reads, writes, jobs_read, jobs_write, everything)| LatencyAccess {
            reads,
            writes,
            jobs_read,
            jobs_write,
            everything: everything == 0,
        },
    )
}

/// Tests whether the access of two systems conflicts.
fn conflict(left: &LatencyAccess<u32>, right: &LatencyAccess<u32>) -> bool {
    let one_way = |left: &LatencyAccess<u32>, right: &LatencyAccess<u32>| {
        let written: HashSet<_> = left.writes.iter().chain(&left.jobs_write).collect();
        let read = right.reads.iter().chain(&right.jobs_read);
        read.chain(&right.writes).chain(&right.jobs_write).any(|thing| written.contains(thing))
    };
    left.everything || right.everything || one_way(left, right) || one_way(right, left)
}

proptest! {
    #[test]
    fn the_order_is_that_of_a_model_and_errors_are_true(children in children()) {
        let found = sort("Simulation", &items(&children), &elsewhere);
        prop_assert_eq!(found.clone().ok(), model(&children));
        if let Err(OrderError::Cycle { links, .. }) = found {
            let pairs = pairs(&children);
            let members: HashSet<_> = links.iter().map(|link| &link.before).collect();
            prop_assert_eq!(members.len(), links.len());
            for (at, link) in links.iter().enumerate() {
                prop_assert_eq!(&link.after, &links[(at + 1) % links.len()].before);
                let pair = (link.before.parse().unwrap(), link.after.parse().unwrap());
                prop_assert!(pairs.contains(&pair));
                let speaker = &children[link.said_by.parse::<usize>().unwrap()];
                let says = |targets: &[SystemTarget], name: &str| targets.iter().any(|target| target.name() == name);
                prop_assert!(
                    (link.said_by == link.before && says(&speaker.before, &link.after))
                        || (link.said_by == link.after && says(&speaker.after, &link.before))
                );
            }
        }
    }

    #[test]
    fn a_latency_order_keeps_constraints_parts_and_conflicts(
        children in children(),
        uses in prop::collection::vec(some_uses(), 12),
    ) {
        let items = items(&children);
        let Ok(constraints) = Constraints::resolve("Simulation", &items, &elsewhere) else {
            return Ok(());
        };
        let Ok(order) = constraints.sort("Simulation", &items) else { return Ok(()) };
        let uses: Vec<_> = uses[..children.len()].iter().collect();
        let found = delay_waits(&constraints, order.clone(), &uses);
        prop_assert_eq!(&found, &delay_waits(&constraints, order.clone(), &uses));
        let position = |order: &[usize]| {
            let mut position = vec![usize::MAX; order.len()];
            order.iter().enumerate().for_each(|(at, &place)| position[place] = at);
            position
        };
        let (old, new) = (position(&order), position(&found));
        prop_assert!(!new.contains(&usize::MAX));
        for (before, after) in pairs(&children) {
            prop_assert!(new[before] < new[after]);
        }
        for left in 0..children.len() {
            for right in 0..children.len() {
                if items[left].part() < items[right].part() {
                    prop_assert!(new[left] < new[right]);
                }
                if old[left] < old[right] && conflict(uses[left], uses[right]) {
                    prop_assert!(new[left] < new[right]);
                }
            }
        }
    }
}
