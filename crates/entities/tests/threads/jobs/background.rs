//! Random calls: background jobs have the same result as jobs that are each completed immediately.

use ancho_collections::{NativeArray, NativeList};
use ancho_entities::{
    Changed, EnabledMut, Entity, Or, OrderChanged, Shared, Version, With, Without, World,
};

use crate::jobs::common::*;

struct Random(u64);
impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}

type All = ();
type WrittenOrMoved = Or<(Changed<T>, OrderChanged)>;
type WrittenUnion = Or<((Changed<A>, With<X>), Changed<T>)>;
type WrittenAndUnion = (Changed<T>, Or<(Without<X>, Changed<A>)>);
type SwitchOrTag = Or<(Changed<X>, With<Tag>)>;

/// Returns the lists of jobs, the states of forks and the changed entities at the end, and the hash of the world.
fn run(workers: usize, at_once: bool, seed: u64) -> (Vec<Vec<u64>>, u64) {
    let mut world: World = into_world(world_of(workers, 10 + (seed % 3) as usize * 60));
    world.spawn_batch((0..135).map(|at| (A(at), X(at), T(0))));
    world.spawn_batch((35..160).map(|at| (A(at), X(at), T(0), Tag)));
    world.spawn_batch((60..90).map(|at| (A(at), T(1), Shared::new(Team(at % 2)))));
    world.spawn_batch((60..90).map(|at| (A(at), Text(at.to_string()))));
    let mut random = Random(seed);
    let mut since = Version::NEVER;
    let mut forks: Vec<World> = Vec::new();
    let mut lists: Vec<NativeList<Entity>> = Vec::new();
    let mut values: Vec<NativeList<A>> = Vec::new();
    let mut texts: Vec<NativeList<Text>> = Vec::new();
    let mut told: Vec<Vec<u64>> = Vec::new();
    macro_rules! by_filter {
        ($which:expr, $go:ident) => {
            match $which {
                0 => $go!(All),
                1 => $go!(WrittenOrMoved),
                2 => $go!(WrittenUnion),
                3 => $go!(WrittenAndUnion),
                _ => $go!(SwitchOrTag),
            }
        };
    }
    for _ in 0..120 {
        let (what, which, n) = (random.below(16), random.below(5), random.below(1000) as u32);
        match what {
            0 | 1 => {
                let mut list = NativeList::new();
                macro_rules! go {
                    ($f:ty) => {
                        world
                            .query_filtered::<&A, $f>()
                            .since(since)
                            .job()
                            .schedule_to_entities(list.write())
                    };
                }
                let _ = by_filter!(which, go);
                lists.push(list);
            }
            2 | 3 => {
                let mut list = NativeList::new();
                macro_rules! go {
                    ($f:ty) => {
                        world
                            .query_filtered::<&A, $f>()
                            .since(since)
                            .job()
                            .schedule_to_components(list.write())
                    };
                }
                let _ = by_filter!(which, go);
                values.push(list);
            }
            4 => {
                let mut list = NativeList::new();
                let _ = world.query::<&Text>().job().schedule_to_components(list.write());
                texts.push(list);
            }
            5 | 6 => {
                // Reads the values of `T` to a list, changes them, and writes the list back.
                let mut list: NativeList<T> = NativeList::new();
                macro_rules! go {
                    ($f:ty) => {{
                        let save = world
                            .query_filtered_mut::<(&mut T, &mut A), $f>()
                            .since(since)
                            .job()
                            .schedule_to_components(list.write());
                        let change = world
                            .jobs()
                            .schedule(&[save], list.write(), move |list| {
                                list.iter_mut().for_each(|t: &mut T| {
                                    t.0 = t.0.wrapping_mul(31).wrapping_add(n)
                                })
                            })
                            .unwrap();
                        world
                            .query_filtered_mut::<(&mut T, &A), $f>()
                            .since(since)
                            .job()
                            .depends_on(&[change])
                            .schedule_copy_from(list.read_elements())
                    }};
                }
                let _ = by_filter!(which, go);
            }
            7 => {
                let count = world.query::<&A>().count_unfiltered();
                let array = NativeArray::from(vec![A(n); count]);
                let _ = world.query_mut::<&mut A>().job().schedule_copy_from(array.read());
            }
            8 => {
                let _ = world
                    .query_filtered_mut::<(&A, EnabledMut<X>), Changed<X>>()
                    .since(since)
                    .schedule_parallel(move |(a, mut on)| on.set(!(a.0 ^ n).is_multiple_of(3)));
            }
            9 => {
                macro_rules! go {
                    ($f:ty) => {
                        world
                            .query_filtered_mut::<(&mut A, &T), $f>()
                            .since(since)
                            .schedule_parallel(move |(a, t)| {
                                a.0 = a.0.wrapping_mul(7).wrapping_add(t.0 + n)
                            })
                    };
                }
                let _ = by_filter!(which, go);
            }
            10 => {
                let all = world.all_entities();
                let entity = all[n as usize % all.len()];
                if let Ok(a) = world.get_mut::<A>(entity) {
                    a.0 ^= n;
                }
                if let Ok(t) = world.get_mut::<T>(entity) {
                    t.0 ^= n;
                }
            }
            11 => {
                let all = world.all_entities();
                world.despawn(all[n as usize % all.len()]).unwrap();
                world.spawn((A(n), X(n), T(n)));
            }
            12 => {
                since = world.version();
                world.advance_version();
            }
            13 => forks.push(world.fork().unwrap()),
            14 => {
                if !forks.is_empty() {
                    let fork = forks.swap_remove(n as usize % forks.len());
                    told.push(vec![fork.state_hash()]);
                }
            }
            _ => {
                let all = world.all_entities();
                let entity = all[n as usize % all.len()];
                if world.has::<X>(entity) {
                    world.set_component_enabled::<X>(entity, n.is_multiple_of(2)).unwrap();
                }
            }
        }
        world.jobs().flush();
        if at_once {
            world.complete_jobs();
        }
    }
    world.complete_jobs();
    for list in lists {
        told.push(list.get().unwrap().iter().map(|e| e.to_bits()).collect());
    }
    for list in values {
        told.push(list.get().unwrap().iter().map(|e| u64::from(e.0)).collect());
    }
    for list in texts {
        told.push(list.get().unwrap().iter().map(|e| e.0.parse().unwrap()).collect());
    }
    told.extend(forks.iter().map(|fork| vec![fork.state_hash()]));
    let changed = world.query_filtered::<Entity, Changed<T>>().since(since).to_entities();
    told.push(changed.iter().map(|e| e.to_bits()).collect());
    let changed =
        world.query_filtered::<Entity, Or<(Changed<A>, Changed<X>)>>().since(since).to_entities();
    told.push(changed.iter().map(|e| e.to_bits()).collect());
    world.check_invariants().unwrap();
    (told, world.state_hash())
}

#[test]
fn background_jobs_equal_jobs_that_are_completed_immediately() {
    for seed in 0..6 {
        let expected = run(0, true, seed);
        for workers in [0, 1, 3] {
            assert_eq!(run(workers, false, seed), expected, "seed {seed}, {workers} workers");
        }
    }
}
