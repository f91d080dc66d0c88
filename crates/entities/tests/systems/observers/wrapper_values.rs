//! Old values of managed components, shared components and buffers.

use std::cell::Cell;
use std::sync::Arc;

use ancho_entities::{
    Buffer, BufferElement, Commands, Entity, IntoSystem, Managed, ManagedComponent, On,
    QueryDescriptor, Remove, Replace, Shared, SharedComponent, Value, World,
};

use super::{A, Log, Tag};

/// A managed component, which is not `Sync`, and counts its owners.
#[derive(ManagedComponent, Clone)]
struct Voice(#[field(opaque)] Arc<()>, #[field(opaque)] Cell<u32>);

#[derive(SharedComponent, Debug, PartialEq, Eq, Hash)]
struct Team(u32);

/// An element that counts its owners. A chunk has room for two.
#[derive(BufferElement, Clone)]
#[buffer(inline = 2)]
struct Item(u32, #[field(opaque)] Arc<()>);

/// The kind of an event, the entity, and the old value as a list of numbers.
type Seen = (&'static str, Entity, Option<Vec<u32>>);

struct Observed {
    world: World,
    log: Log<Seen>,
    counter: Arc<()>,
}

impl Observed {
    fn new() -> Self {
        let (mut world, log) = (World::new("Observed"), Log::<Seen>::new());
        macro_rules! log {
            ($($event:ty => $name:literal, $value:expr;)+) => {$({
                let log = log.clone();
                world.add_observer(move |events: On<$event, Value>| {
                    for event in &events {
                        log.push(($name, event.entity(), event.value().map($value)));
                    }
                });
            })+};
        }
        fn spoken(voice: &Voice) -> Vec<u32> {
            vec![voice.1.replace(voice.1.get())]
        }
        log! {
            Remove<Managed<Voice>> => "-voice", spoken;
            Replace<Managed<Voice>> => "=voice", spoken;
            Remove<Shared<Team>> => "-team", |team| vec![team.0];
            Replace<Shared<Team>> => "=team", |team| vec![team.0];
            Remove<Buffer<Item>> => "-items", |items| items.iter().map(|item| item.0).collect();
            Replace<Buffer<Item>> => "=items", |items| items.iter().map(|item| item.0).collect();
        }
        Self { world, log, counter: Arc::new(()) }
    }

    fn voice(&self, number: u32) -> Managed<Voice> {
        Managed::new(Voice(Arc::clone(&self.counter), Cell::new(number)))
    }

    /// Returns a buffer with elements from zero on.
    fn items(&self, count: u32) -> Buffer<Item> {
        (0..count).map(|number| Item(number, Arc::clone(&self.counter))).collect()
    }

    fn take(&self) -> Vec<Seen> {
        let mut events = self.log.take();
        events.sort();
        events
    }

    /// Returns the number of values that exist.
    fn values(&self) -> usize {
        Arc::strong_count(&self.counter) - 1
    }
}

fn some<const N: usize>(values: [u32; N]) -> Option<Vec<u32>> {
    Some(values.to_vec())
}

#[test]
fn old_values_of_wrappers_are_at_hand_for_each_operation() {
    let mut observed = Observed::new();
    let set = (A(1), observed.voice(1), Shared::new(Team(1)), observed.items(1));
    let orc = observed.world.spawn(set);
    let set = (observed.voice(2), observed.items(5));
    observed.world.set(orc, set).unwrap();
    observed.world.set_shared(orc, Team(2)).unwrap();
    let expected =
        [("=items", orc, some([0])), ("=team", orc, some([1])), ("=voice", orc, some([1]))];
    assert_eq!(observed.take(), expected);
    assert_eq!(observed.values(), 6, "the old values were dropped");
    let set = (observed.voice(3), Shared::new(Team(3)), observed.items(2), Tag);
    observed.world.add(orc, set).unwrap();
    let expected = [
        ("=items", orc, some([0, 1, 2, 3, 4])),
        ("=team", orc, some([2])),
        ("=voice", orc, some([2])),
    ];
    assert_eq!(observed.take(), expected, "and the entity has moved");
    observed.world.remove::<(Managed<Voice>, Shared<Team>, Buffer<Item>)>(orc).unwrap();
    let expected =
        [("-items", orc, some([0, 1])), ("-team", orc, some([3])), ("-voice", orc, some([3]))];
    assert_eq!(observed.take(), expected);
    assert_eq!(observed.values(), 0);
    let set = (observed.voice(4), Shared::new(Team(4)), observed.items(3));
    observed.world.add(orc, set).unwrap();
    observed.world.despawn(orc).unwrap();
    let expected =
        [("-items", orc, some([0, 1, 2])), ("-team", orc, some([4])), ("-voice", orc, some([4]))];
    assert_eq!(observed.take(), expected);
    assert_eq!(observed.values(), 0);
    let elf = observed.world.spawn((observed.voice(5), Shared::new(Team(5)), observed.items(1)));
    let taken = observed.world.take::<(Managed<Voice>, Shared<Team>, Buffer<Item>)>(elf).unwrap();
    let expected = [("-items", elf, None), ("-team", elf, None), ("-voice", elf, None)];
    assert_eq!(observed.take(), expected, "the caller has the values");
    assert_eq!(observed.values(), 2);
    drop(taken);
    observed.world.check_invariants().unwrap();
}

#[test]
fn old_values_of_wrappers_of_many_entities_are_at_hand() {
    for count in [3_u32, 500] {
        let mut observed = Observed::new();
        let sets: Vec<_> = (0..count)
            .map(|at| {
                (A(at), observed.voice(at), Shared::new(Team(at % 3)), observed.items(at % 4))
            })
            .collect();
        let ids: Vec<_> = observed.world.spawn_batch(sets).collect();
        let expected = |[items, team, voice]: [&'static str; 3]| {
            let mut events: Vec<Seen> = Vec::new();
            for (&id, at) in ids.iter().zip(0..count) {
                events.push((items, id, Some((0..at % 4).collect())));
                events.push((team, id, some([at % 3])));
                events.push((voice, id, some([at])));
            }
            events.sort();
            events
        };
        let all = QueryDescriptor::of::<&A, ()>();
        let same: Vec<_> =
            (0..count).map(|at| (observed.voice(at), observed.items(at % 4))).collect();
        observed.world.batch(&ids).add_each(same).unwrap();
        let mut replaced = expected(["=items", "=team", "=voice"]);
        replaced.retain(|&(name, ..)| name != "=team");
        assert_eq!(observed.take(), replaced);
        // The fork shares the memory of chunks without managed components.
        let fork = observed.world.fork().unwrap();
        observed.world.batch(&all).remove::<Managed<Voice>>().unwrap();
        observed.world.batch(&all).remove::<Shared<Team>>().unwrap();
        let other = observed.world.fork().unwrap();
        observed.world.batch(&all).despawn().unwrap();
        assert_eq!(observed.take(), expected(["-items", "-team", "-voice"]));
        observed.world.check_invariants().unwrap();
        drop((fork, other));
        assert_eq!(observed.values(), 0);
    }
}

#[test]
fn the_team_of_all_entities_changes_at_once() {
    let mut observed = Observed::new();
    let ids: Vec<_> =
        observed.world.spawn_batch((0..100).map(|at| (A(at), Shared::new(Team(at % 2))))).collect();
    let all = QueryDescriptor::of::<&A, ()>();
    observed.world.batch(&all).set_shared(Team(9)).unwrap();
    let mut expected: Vec<Seen> =
        ids.iter().zip(0..).map(|(&id, at)| ("=team", id, some([at % 2]))).collect();
    expected.sort();
    assert_eq!(observed.take(), expected);
    observed.world.batch(&ids).set_shared(Team(8)).unwrap();
    assert_eq!(observed.take().len(), 100);
    observed.world.despawn_all().unwrap();
    let mut expected: Vec<Seen> = ids.iter().map(|&id| ("-team", id, some([8]))).collect();
    expected.sort();
    assert_eq!(observed.take(), expected);
}

#[test]
fn the_old_value_of_a_wrapper_is_that_before_the_first_command() {
    let mut observed = Observed::new();
    let set = |observed: &Observed, at| {
        (A(0), observed.voice(at), Shared::new(Team(at)), observed.items(at))
    };
    let ids = [1, 2, 3].map(|at| observed.world.spawn(set(&observed, at)));
    let [orc, elf, dwarf] = ids;
    let counter = Arc::clone(&observed.counter);
    let mut is_done = false;
    observed.world.add_system(
        (move |mut commands: Commands| {
            if std::mem::replace(&mut is_done, true) {
                return;
            }
            let voice = |at| Managed::new(Voice(Arc::clone(&counter), Cell::new(at)));
            let items = || Buffer::from([Item(7, Arc::clone(&counter))]);
            for at in [8, 9] {
                commands.set(orc, (voice(at), Shared::new(Team(at)), items()));
            }
            commands.set(elf, (voice(8), Shared::new(Team(8)), items()));
            commands.remove::<(Managed<Voice>, Shared<Team>, Buffer<Item>)>(elf);
            commands.despawn(dwarf);
        })
        .named("change"),
    );
    observed.world.update(0.1);
    let mut expected = Vec::new();
    for (id, at, kind) in [(orc, 1, '='), (elf, 2, '-'), (dwarf, 3, '-')] {
        let names =
            if kind == '=' { ["=items", "=team", "=voice"] } else { ["-items", "-team", "-voice"] };
        expected.push((names[0], id, Some((0..at).collect())));
        expected.push((names[1], id, some([at])));
        expected.push((names[2], id, some([at])));
    }
    expected.sort();
    assert_eq!(observed.take(), expected);
    assert_eq!(observed.values(), 3, "those of the orc, and the owner in the system");
    observed.world.check_invariants().unwrap();
}

#[test]
fn old_shared_values_live_until_the_delivery_ends() {
    #[derive(SharedComponent, PartialEq, Eq, Hash)]
    struct Counted(#[field(opaque)] Arc<()>);

    let (mut world, log) = (World::new("Observed"), Log::new());
    let counter = Arc::new(());
    let (seen, counted) = (log.clone(), Arc::clone(&counter));
    world.add_observer(move |lost: On<Remove<Shared<Counted>>, Value>| {
        seen.push((lost.len(), Arc::strong_count(&counted)));
    });
    world.spawn_many((A(1), Shared::new(Counted(Arc::clone(&counter)))), 50);
    world.despawn_all().unwrap();
    assert_eq!(log.take(), [(50, 3)]);
    assert_eq!(Arc::strong_count(&counter), 2, "the observer has one");
}
