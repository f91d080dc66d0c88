//! Managed components, which are not `Sync`, in worlds on several threads.

use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::sync::{Arc, Barrier};
use std::thread;

use ancho_entities::{
    ArchetypeChunk, ArchetypeChunkMut, Buffer, ChunkArena, Component, EnabledMut, EnabledRef,
    Entity, Indexed, LinkedEntityGroup, Lookup, Managed, ManagedComponent, Query, QueryChunk,
    QueryDescriptor, QueryIter, QueryMask, StorageInfo, StorageInfoLookup, World, WorldSettings,
};

#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Number(u32);

/// A value that changes through shared references, without atomics.
#[derive(ManagedComponent, Clone)]
struct Diary {
    #[field(opaque)]
    read: Cell<u64>,
    #[field(opaque)]
    pages: RefCell<Vec<String>>,
    #[field(opaque)]
    owner: Arc<()>,
}

impl Diary {
    fn new(owner: &Arc<()>) -> Managed<Self> {
        let (read, pages) = (Cell::new(0), RefCell::default());
        Managed::new(Self { read, pages, owner: Arc::clone(owner) })
    }

    /// Writes through a shared reference.
    fn note(&self, page: impl ToString) {
        self.read.set(self.read.get() + 1);
        self.pages.borrow_mut().push(page.to_string());
    }
}

fn world(owner: &Arc<()>) -> (World, Vec<Entity>) {
    let settings =
        WorldSettings::new().chunk_size(4 << 10).chunk_capacity_limit(4).arena(ChunkArena::new());
    let mut world = World::with_settings("threads", settings);
    let mut all: Vec<Entity> =
        world.spawn_batch((0..18).map(|at| (Number(at), Diary::new(owner)))).collect();
    all.extend(world.spawn_batch((18..30).map(Number)));
    (world, all)
}

/// Reads and writes, and returns the final state.
fn work(world: &mut World, all: &[Entity], owner: &Arc<()>, seed: usize) -> Vec<(u32, u64)> {
    for round in 0..10 {
        for (at, &entity) in all.iter().enumerate() {
            match (at * 5 + seed + round) % 9 {
                0 => drop(world.take::<Managed<Diary>>(entity)),
                1 if world.exists(entity) => drop(world.add(entity, Diary::new(owner))),
                2 if at % 7 == round => drop(world.despawn(entity)),
                3 if world.exists(entity) => drop(world.instantiate(entity)),
                _ => {
                    if let Ok(diary) = world.managed::<Diary>(entity) {
                        diary.note(at);
                    }
                }
            }
        }
        // A fork that is dropped at once, on this thread.
        let fork = world.fork().unwrap();
        for diary in fork.chunks().filter_map(|chunk| chunk.managed::<Diary>()).flatten() {
            diary.note("a line that is never read");
        }
    }
    world.check_invariants().unwrap();
    let diary = |entity: Entity| world.managed::<Diary>(entity).map_or(0, |diary| diary.read.get());
    let numbers = world.all_entities().into_iter();
    numbers.map(|entity| (world.get::<Number>(entity).unwrap().0, diary(entity))).collect()
}

#[test]
fn forks_write_concurrently_through_shared_references() {
    let owner = Arc::new(());
    for _ in 0..3 {
        let (mut first, all) = world(&owner);
        let mut forks: Vec<World> = (0..3).map(|_| first.fork().unwrap()).collect();
        forks.push(first);
        let start = Arc::new(Barrier::new(forks.len()));
        let threads = forks.into_iter().enumerate().map(|(seed, mut fork)| {
            let (start, all, owner) = (Arc::clone(&start), all.clone(), Arc::clone(&owner));
            thread::spawn(move || {
                start.wait();
                work(&mut fork, &all, &owner, seed)
            })
        });
        let threads: Vec<_> = threads.collect();
        let found: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        let expected = (0..4).map(|seed| work(&mut world(&owner).0, &all, &owner, seed));
        assert_eq!(found, expected.collect::<Vec<_>>());
    }
    assert_eq!(Arc::strong_count(&owner), 1, "values leaked, or were dropped twice");
}

#[test]
fn a_world_takes_its_values_to_another_thread() {
    let owner = Arc::new(());
    let (first, all) = world(&owner);
    first.managed::<Diary>(all[0]).unwrap().note("here");
    let moved = thread::spawn(move || {
        first.managed::<Diary>(all[0]).unwrap().note("there");
        (first, all)
    });
    let (mut first, all) = moved.join().unwrap();
    assert_eq!(*first.managed::<Diary>(all[0]).unwrap().pages.borrow(), ["here", "there"]);
    // Another thread changes a chunk while this one waits.
    first.for_each_chunk_mut(|mut chunk| {
        thread::scope(|scope| {
            scope.spawn(move || {
                if let Ok(diaries) = chunk.managed_mut::<Diary>() {
                    diaries.for_each(|diary| diary.note("again"));
                }
            });
        });
    });
    assert_eq!(first.managed::<Diary>(all[0]).unwrap().read.get(), 3);
    thread::spawn(move || drop(first)).join().unwrap();
    assert_eq!(Arc::strong_count(&owner), 1);
}

/// A test for `Send` and `Sync`: the inherent constant takes precedence over that of the trait.
struct Type<T>(PhantomData<T>);

trait IsNot {
    const SEND: bool = false;
    const SYNC: bool = false;
}

impl<T> IsNot for Type<T> {}

impl<T: Send> Type<T> {
    const SEND: bool = true;
}

impl<T: Sync> Type<T> {
    const SYNC: bool = true;
}

#[test]
fn types_that_give_access_to_values_are_not_send() {
    macro_rules! threads {
        ($of:ty) => {
            (Type::<$of>::SEND, Type::<$of>::SYNC)
        };
    }
    assert_eq!(threads!(World), (true, false));
    assert_eq!(threads!(ArchetypeChunk<'static>), (false, false));
    assert_eq!(threads!(Lookup<'static, &'static Number, Indexed>), (false, false));
    assert_eq!(
        threads!(Lookup<'static, &'static Buffer<LinkedEntityGroup>, Indexed>),
        (false, false)
    );
    assert_eq!(threads!(Query<'static, &Managed<Diary>>), (false, false));
    assert_eq!(threads!(QueryIter<'static, &Managed<Diary>>), (false, false));
    assert_eq!(threads!(QueryIter<'static, &mut Managed<Diary>>), (false, false));
    assert_eq!(threads!(QueryMask<'static>), (false, false));
    assert_eq!(threads!(QueryChunk<'static>), (false, false));
    assert_eq!(threads!(StorageInfo<'static>), (false, false));
    assert_eq!(threads!(StorageInfoLookup<'static>), (false, false));
    assert_eq!(threads!(Query<'static, Entity>), (false, false));
    assert_eq!(threads!(Lookup<'static, Entity>), (false, false));
    // Other rows have bits in the same word.
    assert_eq!(threads!(EnabledRef<'static, Number>), (false, false));
    assert_eq!(threads!(EnabledMut<'static, Number>), (false, false));
    // An exclusive chunk may be sent to another thread.
    assert_eq!(threads!(ArchetypeChunkMut<'static>), (true, false));
    // A descriptor holds nothing of a world.
    assert_eq!(threads!(QueryDescriptor), (true, true));
    assert_eq!((threads!(Diary), threads!(Managed<Diary>)), ((true, false), (true, true)));
    assert_eq!(threads!(&'static World), (false, false));
}

#[test]
fn rejected_values_can_be_shared_but_not_read() {
    // As in an error that a world on another thread returned.
    let managed = Diary::new(&Arc::new(()));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| assert!(format!("{managed:?}").starts_with("Managed<")));
        }
    });
    managed.into_inner().note("seen");
}
