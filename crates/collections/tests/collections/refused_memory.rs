//! Each memory request of each container operation is refused once: nothing is lost, and the
//! container can be used afterwards. The test ends normally, so no refusal aborts the program.

use crate::common;

use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use ancho_collections::{
    Allocator, BitArray, Columns, List, Map, MultiMap, NativeArray, Queue, RingQueue, Set, Stream,
    Text,
};
use ancho_jobs::{BatchInfo, ConcurrentWrite, ContainerLabel};
use common::source::limited;

/// Makes a value, uses it, and checks it: once for each memory request in between, which is
/// refused, and once without refusals.
fn at_every_call<C>(
    make: impl Fn(&Allocator) -> C,
    act: impl Fn(&mut C),
    look: impl Fn(&mut C, bool),
) {
    for calls in 0.. {
        let (allocator, ledger) = limited(usize::MAX);
        let mut container = make(&allocator);
        drop(allocator);
        ledger.refuse_after(calls);
        let panic = catch_unwind(AssertUnwindSafe(|| act(&mut container))).err();
        let refused = ledger.refuse_none();
        let panicked = panic.is_some();
        if let Some(payload) = panic {
            let message = payload.downcast_ref::<String>().expect("a message with a code");
            assert!(message.starts_with("A0017: the allocator `Limited` has no "), "{message}");
            assert!(refused, "{message}");
        }
        look(&mut container, panicked);
        drop(container);
        assert_eq!(ledger.out(), 0);
        if !refused {
            assert!(calls > 0, "this asks for no memory");
            assert!(!panicked);
            return;
        }
    }
}

/// A container of counted elements.
struct Counted<C> {
    elements: C,
    alive: Arc<()>,
}

type Element = (u32, Arc<()>);

/// The operations of such containers.
struct Case<C> {
    make: fn(&Allocator) -> C,
    add: fn(&mut C, Element),
    /// The numbers of the elements, in any order.
    numbers: fn(&C) -> Vec<u32>,
}

impl<C> Case<C> {
    /// Uses a container of 0 to 19, which must lose no element.
    fn keeps_all(&self, act: impl Fn(&mut C, &Arc<()>)) {
        let add = |counted: &mut Counted<C>, n| {
            (self.add)(&mut counted.elements, (n, Arc::clone(&counted.alive)));
        };
        let make = |allocator: &Allocator| {
            let mut counted = Counted { elements: (self.make)(allocator), alive: Arc::new(()) };
            (0..20).for_each(|n| add(&mut counted, n));
            counted
        };
        let look = |counted: &mut Counted<C>, _| {
            let mut numbers = (self.numbers)(&counted.elements);
            assert_eq!(numbers.len() + 1, Arc::strong_count(&counted.alive), "dropped once each");
            numbers.sort_unstable();
            assert!((0..20).eq(numbers[..20].iter().copied()), "{numbers:?}");
            (1000..1100).for_each(|n| add(counted, n));
            assert_eq!((self.numbers)(&counted.elements).len(), numbers.len() + 100);
        };
        at_every_call(make, |counted| act(&mut counted.elements, &counted.alive), look);
    }

    fn grows(&self) {
        self.keeps_all(|elements, alive| {
            (20..150).for_each(|n| (self.add)(elements, (n, Arc::clone(alive))));
        });
    }

    fn is_cloned(&self)
    where
        C: Clone,
    {
        self.keeps_all(|elements, _| {
            let clone = elements.clone();
            assert_eq!((self.numbers)(&clone), (self.numbers)(elements), "in the same order");
        });
    }
}

fn elements(range: std::ops::Range<u32>, alive: &Arc<()>) -> impl Iterator<Item = Element> {
    range.map(|n| (n, Arc::clone(alive)))
}

/// Writes as two batches do, and ends the job.
fn write<C: ConcurrentWrite>(container: &mut C, add: impl Fn(&mut C::Writer<'_>, u32)) {
    for (index, first) in [20, 40].into_iter().enumerate() {
        let batch = BatchInfo { index, range: 0..0, thread: 0 };
        let mut writer = container.writer(&batch);
        (first..first + 20).for_each(|n| add(&mut writer, n));
    }
    container.settle(ContainerLabel::of::<C>());
}

#[test]
fn lists_lose_nothing() {
    let case = Case::<List<Element>> {
        make: List::new_in,
        add: List::push,
        numbers: |list| list.iter().map(|(n, _)| *n).collect(),
    };
    case.grows();
    case.is_cloned();
    case.keeps_all(|list, alive| list.extend(elements(20..90, alive)));
    case.keeps_all(|list, alive| (20..60).for_each(|n| list.insert(7, (n, Arc::clone(alive)))));
    case.keeps_all(|list, alive| list.push_repeated((20, Arc::clone(alive)), 70));
    case.keeps_all(|list, alive| list.resize(99, (20, Arc::clone(alive))));
    case.keeps_all(|list, _| list.reserve(1000));
    case.keeps_all(|list, _| _ = list.try_reserve(1000));
    case.keeps_all(|list, _| _ = list.set_capacity(1000));
    case.keeps_all(|list, _| _ = list.set_capacity(20));
    case.keeps_all(|list, _| list.shrink_to_fit());
    case.keeps_all(|list, alive| {
        for element in elements(20..150, alive) {
            if let Err(rejected) = list.try_push(element) {
                assert!(rejected.value.0 >= 20);
            }
        }
    });
}

#[test]
fn queues_lose_nothing() {
    let case = Case::<Queue<Element>> {
        make: Queue::new_in,
        add: Queue::enqueue,
        numbers: |queue| queue.iter().map(|(n, _)| *n).collect(),
    };
    case.grows();
    case.is_cloned();
    case.keeps_all(|queue, alive| queue.extend(elements(20..90, alive)));
    case.keeps_all(|queue, _| queue.reserve(1000));
    case.keeps_all(|queue, _| drop(queue.to_list()));
    case.keeps_all(|queue, _| {
        queue.reserve(1000);
        queue.shrink_to_fit();
    });
    case.keeps_all(|queue, alive| {
        // So that the elements wrap around.
        let mut wrapped = Queue::new_in(queue.allocator());
        wrapped.extend(elements(20..50, alive));
        wrapped.drain().take(20).for_each(drop);
        wrapped.extend(elements(20..90, alive));
    });
    let ring = Case::<RingQueue<Element>> {
        make: |allocator| RingQueue::with_capacity_in(200, allocator),
        add: RingQueue::enqueue,
        numbers: |queue| queue.iter().map(|(n, _)| *n).collect(),
    };
    ring.is_cloned();
    ring.keeps_all(|queue, _| drop(queue.to_list()));
}

#[test]
fn maps_and_sets_lose_nothing() {
    let case = Case::<Map<u32, Element>> {
        make: Map::new_in,
        add: |map, element| _ = map.insert(element.0, element),
        numbers: |map| map.keys().copied().collect(),
    };
    case.grows();
    case.is_cloned();
    case.keeps_all(|map, alive| map.extend(elements(20..90, alive).map(|(n, a)| (n, (n, a)))));
    case.keeps_all(|map, _| map.reserve(1000));
    case.keeps_all(|map, _| _ = map.set_capacity(1000));
    case.keeps_all(|map, _| {
        if map.set_capacity(1000).is_ok() {
            _ = map.set_capacity(20);
        }
    });
    case.keeps_all(|map, _| {
        map.reserve(1000);
        map.shrink_to_fit();
    });
    case.keeps_all(|map, alive| {
        for (n, alive) in elements(20..150, alive) {
            map.get_or_insert_with(n, || (n, alive));
        }
    });
    let set = Case::<Set<Element>> {
        make: Set::new_in,
        add: |set, element| _ = set.add(element),
        numbers: |set| set.iter().map(|(n, _)| *n).collect(),
    };
    set.grows();
    set.is_cloned();
    set.keeps_all(|set, _| _ = set.set_capacity(1000));
    set.keeps_all(|set, _| {
        set.reserve(1000);
        set.shrink_to_fit();
    });
}

#[test]
fn maps_of_many_values_lose_nothing() {
    let case = Case::<MultiMap<u32, Element>> {
        make: MultiMap::new_in,
        add: |map, element| map.add(element.0 / 3, element),
        numbers: |map| map.iter().map(|(_, (n, _))| *n).collect(),
    };
    case.grows();
    case.is_cloned();
    case.keeps_all(|map, _| map.reserve(1000));
    case.keeps_all(|map, _| _ = map.set_capacity(1000));
    case.keeps_all(|map, _| {
        if map.set_capacity(1000).is_ok() {
            _ = map.set_capacity(20);
        }
    });
    case.keeps_all(|map, _| {
        map.reserve(1000);
        map.shrink_to_fit();
    });
}

#[test]
fn tables_in_columns_lose_nothing() {
    let case = Case::<Columns<(u32, Arc<()>, u8)>> {
        make: Columns::new_in,
        add: |table, (n, alive)| table.push((n, alive, n as u8)),
        numbers: |table| {
            let (numbers, alive, bytes) = table.slices();
            assert_eq!((alive.len(), bytes.len()), (numbers.len(), numbers.len()));
            assert!(numbers.iter().zip(bytes).all(|(n, byte)| *n as u8 == *byte));
            numbers.to_vec()
        },
    };
    case.grows();
    case.keeps_all(|table, alive| {
        table.extend(elements(20..90, alive).map(|(n, alive)| (n, alive, n as u8)));
    });
    case.keeps_all(|table, _| table.reserve(1000));
    case.keeps_all(|table, _| {
        table.reserve(1000);
        table.shrink_to_fit();
    });
}

#[test]
fn texts_and_bits_stay_as_they_are() {
    let text = |allocator: &Allocator| {
        let mut text = Text::new_in(allocator);
        text.push_str("Ancho");
        text
    };
    let look = |text: &mut Text, panicked: bool| {
        assert!(text.starts_with("Ancho") && (*text == "Ancho" || !panicked));
        (0..100).for_each(|_| text.push('é'));
    };
    let long = "é".repeat(100);
    at_every_call(text, |text| text.push_str(&long), look);
    at_every_call(text, |text| text.insert_str(5, &long), look);
    at_every_call(text, |text| text.push_utf8(long.as_bytes()).unwrap(), look);
    at_every_call(text, |text| text.reserve(1000), look);
    at_every_call(text, Text::shrink_to_fit, look);
    at_every_call(text, |text| _ = write!(text, "{long:>300}"), |text, _| text.clear());
    at_every_call(text, |text| assert_eq!(text.clone(), *text), look);

    let bits = |allocator: &Allocator| BitArray::new_in(100, allocator);
    at_every_call(
        bits,
        |bits| bits.resize(5000, true),
        |bits, panicked| {
            assert_eq!(
                (bits.len(), bits.count_ones(..)),
                if panicked { (100, 0) } else { (5000, 4900) }
            );
            bits.resize(6000, true);
        },
    );
    at_every_call(bits, |bits| assert_eq!(bits.clone(), *bits), |bits, _| bits.resize(999, true));
    at_every_call(
        bits,
        |bits| {
            bits.set(99, true);
            bits.reserve(5000);
            bits.shrink_to_fit();
        },
        |bits, _| assert!(bits.iter_ones().eq([99])),
    );
}

#[test]
fn a_failed_construction_leaks_nothing() {
    let allocator = |allocator: &Allocator| allocator.clone();
    let look = |_: &mut Allocator, _| ();
    at_every_call(allocator, |a| drop(List::<u64>::with_capacity_in(100, a)), look);
    at_every_call(allocator, |a| drop(Queue::<u64>::with_capacity_in(100, a)), look);
    at_every_call(allocator, |a| drop(RingQueue::<u64>::with_capacity_in(100, a)), look);
    at_every_call(allocator, |a| drop(Map::<u64, u8>::with_capacity_in(100, a)), look);
    at_every_call(allocator, |a| drop(MultiMap::<u64, u8>::with_capacity_in(100, a)), look);
    at_every_call(allocator, |a| drop(Text::with_capacity_in(100, a)), look);
    at_every_call(allocator, |a| drop(BitArray::new_in(100, a)), look);
    at_every_call(allocator, |a| drop(Stream::new_in(100, a)), look);
    at_every_call(allocator, |a| drop(NativeArray::<u64>::new_in(100, a)), look);
    at_every_call(allocator, |a| drop(NativeArray::<u64>::zeroed_in(100, a)), look);
    at_every_call(allocator, |a| drop(NativeArray::from_slice_in(&[1_u8; 100], a)), look);
    at_every_call(allocator, |a| drop(NativeArray::from_fn_in(100, |n| n.to_string(), a)), look);
}

#[test]
fn streams_keep_all_written_values() {
    let make = |allocator: &Allocator| {
        let mut stream = Stream::new_in(3, allocator);
        stream.lane(0).write(7_u64);
        stream
    };
    let look = |stream: &mut Stream, _| {
        assert_eq!(stream.reader(0).unwrap().read(), Ok(7_u64));
        let mut reader = stream.reader(1).unwrap();
        let whole = (0..reader.remaining()).all(|n| reader.read() == Ok(n as u64));
        assert!(whole && reader.finish().is_ok());
        stream.clear(50);
        (0..50).for_each(|lane| stream.lane(lane).write([lane as u64; 20]));
    };
    let fill = |stream: &mut Stream| {
        let mut lane = stream.lane(1);
        (0..100_u64).for_each(|n| lane.write(n));
    };
    at_every_call(make, fill, look);
    at_every_call(make, |stream| assert_eq!(stream.clone(), *stream), look);
    at_every_call(make, |stream| drop(stream.to_list::<u64>()), look);
    at_every_call(
        make,
        |stream| {
            stream.reserve(5000);
            stream.shrink_to_fit();
        },
        look,
    );
}

#[test]
fn parallel_writers_lose_nothing() {
    let list = |allocator: &Allocator| List::<u32>::with_capacity_in(20, allocator);
    let (allocator, ledger) = limited(usize::MAX);
    let mut full = list(&allocator);
    full.extend(0..20);
    ledger.refuse();
    let settled = catch_unwind(AssertUnwindSafe(|| write(&mut full, |lane, n| lane.push(n))));
    assert!(settled.is_err() && full.take_overflow().into_iter().eq(20..60));

    at_every_call(
        |allocator| {
            let mut queue = Queue::new_in(allocator);
            queue.extend(0..20);
            queue
        },
        |queue| write(queue, |lane, n| lane.enqueue(n)),
        |queue, panicked| {
            let mut all: Vec<_> = queue.iter().copied().collect();
            assert_eq!(all.len() < 60, panicked);
            all.extend(queue.take_overflow());
            assert!(all.into_iter().eq(0..60));
        },
    );
}

#[test]
fn lanes_of_a_stream_that_got_no_memory_can_be_begun_again() {
    let (allocator, ledger) = limited(usize::MAX);
    let mut stream = Stream::new_in(2, &allocator);
    let batch = BatchInfo { index: 0, range: 0..2, thread: 0 };
    let write = |stream: &mut Stream| {
        let mut writer = stream.writer(&batch);
        (0..2).for_each(|offset| Stream::item(&mut writer, offset).write([offset as u64; 100]));
        drop(writer);
        stream.settle(ContainerLabel::of::<Stream>());
    };
    ledger.refuse_after(0);
    let settled = catch_unwind(AssertUnwindSafe(|| write(&mut stream)));
    let message = settled.unwrap_err().downcast::<String>().unwrap();
    assert!(message.starts_with("A0017: ") && message.contains("can be begun again"), "{message}");
    ledger.refuse_none();
    assert_eq!(stream.count(), 0);
    write(&mut stream);
    assert_eq!(stream.reader(1).unwrap().read(), Ok([1_u64; 100]));
}

/// Fills a container that has room for many more, shrinks it, empties it, and shrinks it again.
fn gives_memory_back<C>(
    make: impl Fn(&Allocator) -> C,
    shrink: impl Fn(&mut C) -> usize,
    needs: usize,
    empty: impl Fn(&mut C),
) {
    let (allocator, ledger) = limited(usize::MAX);
    let mut container = make(&allocator);
    let before = ledger.out();
    let capacity = shrink(&mut container);
    assert!(ledger.out() * 4 < before, "{} of {before} bytes", ledger.out());
    assert!((20..=needs).contains(&capacity), "{capacity}");
    let calls = ledger.calls();
    assert_eq!(shrink(&mut container), capacity);
    assert_eq!(ledger.calls(), calls, "there is nothing to give back");
    empty(&mut container);
    assert_eq!((shrink(&mut container), ledger.out()), (0, 0));
}

#[test]
fn containers_that_shrink_free_all_unneeded_memory() {
    gives_memory_back(
        |allocator| {
            let mut list = List::with_capacity_in(1000, allocator);
            list.extend(0..20_u64);
            list
        },
        |list| {
            list.shrink_to_fit();
            list.capacity()
        },
        20,
        |list| list.clear(),
    );
    gives_memory_back(
        |allocator| {
            let mut queue = Queue::with_capacity_in(1000, allocator);
            // The elements wrap around.
            (0..1020_u64).for_each(|n| {
                if n >= 20 {
                    queue.dequeue();
                }
                queue.enqueue(n);
            });
            queue
        },
        |queue| {
            queue.shrink_to_fit();
            assert!(queue.is_empty() || queue.iter().copied().eq(1000..1020));
            queue.capacity()
        },
        32,
        |queue| queue.clear(),
    );
    gives_memory_back(
        |allocator| {
            let mut map = Map::with_capacity_in(1000, allocator);
            map.extend((0..20_u64).map(|n| (n, n)));
            map
        },
        |map| {
            map.shrink_to_fit();
            assert!((0..map.len() as u64).all(|n| map[&n] == n));
            map.capacity()
        },
        28,
        |map| map.clear(),
    );
    gives_memory_back(
        |allocator| {
            let mut set = Set::with_capacity_in(1000, allocator);
            set.extend(0..20_u64);
            set
        },
        |set| {
            set.shrink_to_fit();
            assert!((0..set.len() as u64).all(|n| set.contains(&n)));
            set.capacity()
        },
        28,
        |set| set.clear(),
    );
    gives_memory_back(
        |allocator| {
            let mut map = MultiMap::with_capacity_in(1000, allocator);
            (0..40_u64).for_each(|n| map.add(n % 5, n));
            (20..40).for_each(|n| assert_eq!(map.remove_value(&(n % 5), &n), 1));
            map
        },
        |map| {
            map.shrink_to_fit();
            let mut values: Vec<u64> = map.iter().map(|(_, n)| *n).collect();
            values.sort_unstable();
            assert!(values.into_iter().eq(0..map.len() as u64));
            map.capacity()
        },
        20,
        |map| map.clear(),
    );
    gives_memory_back(
        |allocator| {
            let mut table = Columns::new_in(allocator);
            table.reserve(1000);
            table.extend((0..20_u64).map(|n| (n, n as u8, ())));
            table
        },
        |table| {
            table.shrink_to_fit();
            table.capacity()
        },
        20,
        |table| table.clear(),
    );
    gives_memory_back(
        |allocator| {
            let mut text = Text::with_capacity_in(1000, allocator);
            text.push_str(&"x".repeat(20));
            text
        },
        |text| {
            text.shrink_to_fit();
            text.capacity()
        },
        20,
        |text| text.clear(),
    );
    gives_memory_back(
        |allocator| {
            let mut bits = BitArray::new_in(10_000, allocator);
            bits.resize(20, false);
            bits
        },
        |bits| {
            bits.shrink_to_fit();
            bits.capacity()
        },
        64,
        |bits| bits.resize(0, false),
    );
    gives_memory_back(
        |allocator| {
            let mut stream = Stream::new_in(1000, allocator);
            stream.reserve(5000);
            stream.clear(3);
            (0..3).for_each(|lane| stream.lane(lane).write(lane as u64));
            stream
        },
        |stream| {
            stream.shrink_to_fit();
            stream.capacity()
        },
        36,
        |stream| stream.clear(0),
    );
}
