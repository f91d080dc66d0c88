//! Lanes of values: reading and refusals. The numbers are those of the table of misuses in the
//! module, which also shows the cases that do not compile.

use crate::common::model;

use std::panic::{AssertUnwindSafe, catch_unwind};

use ancho_collections::{NativeArray, NativeList, NativeStream, Stream, StreamError, StreamWriter};
use ancho_jobs::{BatchInfo, ConcurrentWrite, JobPool, JobScheduler};
use model::{cases, time_is_up};
use proptest::prelude::*;
use zerocopy::{FromBytes, Immutable, IntoBytes};

fn jobs() -> JobScheduler {
    JobScheduler::new(&JobPool::builder().workers(2).build().unwrap())
}

/// Returns the message of a panic.
fn panic_of<R>(run: impl FnOnce() -> R) -> String {
    let panic = catch_unwind(AssertUnwindSafe(run)).map(drop).unwrap_err();
    panic.downcast_ref::<String>().unwrap().clone()
}

#[test]
fn values_of_any_type_are_read_in_order() -> Result<(), StreamError> {
    #[derive(IntoBytes, FromBytes, Immutable, PartialEq, Debug, Clone, Copy)]
    #[repr(C)]
    struct Hit {
        entity: u32,
        damage: f32,
    }
    let hit = Hit { entity: 7, damage: 2.5 };
    let mut stream = Stream::new(3);
    let mut lane = stream.lane(2);
    lane.write(1_u8);
    lane.write(hit);
    lane.write(());
    lane.write([1_u64, 2]);
    assert_eq!(lane.count(), 4);
    stream.lane(0).write(-1_i16);

    let mut reader = stream.reader(2)?;
    assert_eq!((reader.lane(), reader.remaining()), (2, 4));
    assert_eq!(reader.read::<u8>()?, 1);
    assert_eq!(reader.peek::<Hit>()?, hit);
    assert_eq!(reader.read::<Hit>()?, hit);
    reader.read::<()>()?;
    assert_eq!(reader.read::<[u64; 2]>()?, [1, 2]);
    reader.finish()?;
    assert_eq!(stream.reader(0)?.read::<i16>()?, -1);
    stream.reader(1)?.finish()?;
    assert_eq!((stream.count(), stream.is_empty(), stream.lanes()), (5, false, 3));
    assert_eq!(format!("{stream:?}"), "Stream { lanes: 3, count: 5 }");
    Ok(())
}

#[test]
fn another_type_of_the_same_size_is_its_bytes() {
    let mut stream = Stream::new(1);
    stream.lane(0).write(1.0_f32);
    assert_eq!(stream.reader(0).unwrap().read(), Ok(1.0_f32.to_bits()));
}

/// Number 3.
#[test]
fn a_lane_ends_with_its_writer() {
    let mut stream = Stream::new(2);
    let mut lane = stream.lane(0);
    lane.write(5_u32);
    stream.lane(1).write(6_u32);
    assert_eq!(stream.to_list::<u32>().unwrap()[..], [5, 6]);
}

/// Number 9.
#[test]
fn a_lane_is_begun_once() {
    let mut stream = Stream::new(2);
    stream.lane(1);
    assert_eq!(
        panic_of(|| stream.lane(1)),
        "A0025: lane 1 was begun before; begin each lane once until the stream is cleared, and write all \
         of its values then"
    );
    stream.clear(2);
    stream.lane(1).write(5_u32);

    let mut stream = NativeStream::new(2);
    let jobs = jobs();
    let job = jobs.schedule(&[], stream.writer(), |mut stream| {
        stream.lane(0).write(5_u32);
        stream.lane(0).write(6_u32);
    });
    let failed = jobs.try_complete(job.unwrap()).unwrap_err();
    assert!(failed.to_string().contains("A0025: lane 0 was begun before; "));
    assert_eq!(stream.get().unwrap().to_list::<u32>().unwrap()[..], [5]);
}

/// Number 10.
#[test]
fn a_second_job_does_not_write_the_lanes_of_the_first() {
    let jobs = jobs();
    let mut stream = NativeStream::new(10);
    let first = jobs.schedule_for_each(&[], stream.writer(), 5, 1, |mut lane, i| lane.write(i));
    let first = first.unwrap();
    let other = jobs.schedule(&[first], stream.writer(), |mut stream| {
        (5..10).for_each(|i| stream.lane(i).write(i));
    });
    let other = other.unwrap();
    jobs.complete(other);
    assert!(stream.get().unwrap().to_list::<usize>().unwrap().iter().copied().eq(0..10));

    let again = jobs.schedule_for_each(&[], stream.writer(), 10, 3, |mut lane, i| lane.write(i));
    let failed = jobs.try_complete(again.unwrap()).unwrap_err();
    assert!(failed.to_string().contains(" was begun before; "), "{failed}");
    assert!(stream.get().unwrap().to_list::<usize>().unwrap().iter().copied().eq(0..10));

    let clear = jobs.schedule(&[], stream.write(), |stream| stream.clear(10)).unwrap();
    let again =
        jobs.schedule_for_each(&[clear], stream.writer(), 10, 3, |mut lane, i| lane.write(i));
    jobs.complete(again.unwrap());
    assert_eq!(stream.get().unwrap().count(), 10);
}

/// Number 11.
#[test]
fn there_are_no_other_lanes_to_write() {
    let mut stream = Stream::new(2);
    assert_eq!(
        panic_of(|| stream.lane(2)),
        "A0025: lane 2 cannot be begun, since the stream has 2 lanes; clear it with more of them first"
    );
    stream.clear(0);
    assert!(panic_of(|| stream.lane(0)).contains("has 0 lanes"));
}

/// Number 12.
#[test]
fn a_job_has_no_more_indices_than_there_are_lanes() {
    let jobs = jobs();
    let mut stream = NativeStream::new(10);
    let job = jobs.schedule_for_each(&[], stream.writer(), 12, 4, |mut lane, i| lane.write(i));
    let failed = jobs.try_complete(job.unwrap()).unwrap_err();
    assert!(
        failed.to_string().contains(
            "A0025: the job has at least 12 indices, and the stream it writes has 10 lanes; clear the \
             stream with as many lanes as there are indices first"
        ),
        "{failed}"
    );
    assert!(stream.get().unwrap().count() <= 8, "the batch that is too long wrote nothing");
}

/// Number 13.
#[test]
fn a_batch_writes_its_own_lanes() {
    let jobs = jobs();
    let mut stream = NativeStream::new(10);
    let job = jobs.schedule_parallel(&[], stream.writer(), 10, 5, |mut stream, range| {
        stream.lane(range.end % 10).write(1_u8);
    });
    let failed = jobs.try_complete(job.unwrap()).unwrap_err();
    assert!(
        failed
            .to_string()
            .contains("that this batch may write; begin the lanes of its own indices")
    );
}

/// Number 13 again, with writers that were made by hand.
#[test]
fn writers_that_overlap_are_found_out() {
    let mut stream = Stream::new(4);
    for index in [1, 0] {
        let batch = BatchInfo { index, range: 0..4, thread: 0 };
        stream.writer(&batch).lane(2).write(index);
    }
    let label = NativeStream::new(4).named("paths").label();
    let message = panic_of(|| stream.settle(label));
    assert!(
        message.starts_with("A0025: two writers began lane 2 of `paths` (NativeStream made at ")
    );
    assert_eq!(stream.to_list::<usize>().unwrap()[..], [0], "the one with the lower index");
    stream.writer(&BatchInfo { index: 0, range: 0..4, thread: 0 }).lane(3).write(5_u8);
    stream.clear(1);
    stream.settle(label);
    assert!(stream.is_empty());
}

/// Number 14.
#[test]
fn two_jobs_do_not_write_at_a_time() {
    let jobs = jobs();
    let mut stream = NativeStream::new(2).named("paths");
    let job =
        jobs.named("Fill").schedule(&[], stream.writer(), |mut stream| stream.lane(0).write(1_u8));
    let job = job.unwrap();
    let refused = jobs.schedule(&[], stream.writer(), |_| ()).unwrap_err();
    assert!(refused.to_string().starts_with("A0001: "), "{refused}");
    let refused = jobs.schedule(&[], stream.read(), |_| ()).unwrap_err();
    assert!(refused.to_string().contains("`paths` (NativeStream made at "), "{refused}");
    jobs.complete(job);
}

/// Number 15.
#[test]
fn a_stream_is_not_read_before_the_job_is_completed() {
    let jobs = jobs();
    let mut stream = NativeStream::new(2);
    let job = jobs.schedule(&[], stream.writer(), |mut stream| stream.lane(0).write(1_u8)).unwrap();
    assert!(stream.get().unwrap_err().to_string().starts_with("A0003: "));
    jobs.complete(job);
    assert_eq!(stream.get().unwrap().count(), 1);
}

/// Numbers 17 to 20.
#[test]
fn reading_a_missing_or_mismatched_value_is_an_error() {
    let mut stream = Stream::new(1);
    let mut lane = stream.lane(0);
    lane.write(5_u32);
    lane.write(6_u16);

    let refused = stream.reader(1).unwrap_err();
    assert_eq!(refused, StreamError::NoSuchLane { lane: 1, lanes: 1 });
    assert_eq!(
        refused.to_string(),
        "A0026: lane 1 cannot be read, since the stream has 1 lanes; check `lanes()` first"
    );

    let mut reader = stream.reader(0).unwrap();
    let refused = reader.read::<[u32; 2]>().unwrap_err();
    assert_eq!(refused, StreamError::OtherSize { lane: 0, written: 4, asked: 8 });
    assert_eq!(
        refused.to_string(),
        "A0026: the next value in lane 0 has 4 bytes, but a type of 8 bytes was requested; read the types in the order \
         in which they were written"
    );
    assert_eq!(reader.peek::<u16>(), Err(StreamError::OtherSize { lane: 0, written: 4, asked: 2 }));
    assert_eq!(reader.read::<u32>(), Ok(5), "the reader stayed where it was");

    let refused = reader.clone().finish().unwrap_err();
    assert_eq!(refused, StreamError::NotAllRead { lane: 0, left: 1 });
    assert_eq!(
        refused.to_string(),
        "A0026: 1 values in lane 0 were not read; read them, or drop the reader without `finish`"
    );
    assert_eq!(reader.read::<u16>(), Ok(6));
    let refused = reader.read::<u16>().unwrap_err();
    assert_eq!(refused, StreamError::NothingLeft { lane: 0 });
    assert_eq!(
        refused.to_string(),
        "A0026: there is no value left in lane 0; check `remaining()` before each read"
    );
    assert_eq!(reader.peek::<()>(), Err(StreamError::NothingLeft { lane: 0 }));
    reader.finish().unwrap();
    assert_eq!(
        stream.to_list::<u32>().unwrap_err(),
        StreamError::OtherSize { lane: 0, written: 2, asked: 4 }
    );
}

#[test]
fn a_job_sizes_a_stream_from_a_list_and_another_fills_it() {
    let jobs = jobs();
    let mut list = NativeList::new();
    let mut stream = NativeStream::new(0);
    let find = jobs.schedule(&[], list.write(), |list| list.extend(0..70_u32)).unwrap();
    let size = jobs.schedule(&[find], (list.read(), stream.write()), |(list, stream)| {
        stream.clear(list.len());
    });
    let tokens = (list.read(), stream.writer());
    let count = |(_, stream): (&_, StreamWriter<'_>)| stream.lanes();
    let fill = jobs.named("Deferred").schedule_deferred(
        &[size.unwrap()],
        tokens,
        count,
        16,
        |(list, mut stream), range| {
            for i in range {
                let mut lane = stream.lane(i);
                (0..list[i] % 3).for_each(|n| lane.write(n));
            }
        },
    );
    jobs.complete(fill.unwrap());
    let stream = stream.get().unwrap();
    assert_eq!((stream.lanes(), stream.count()), (70, 69));
}

#[test]
fn jobs_read_lanes_in_parallel() {
    let jobs = jobs();
    let mut stream = NativeStream::new(100);
    let mut sums = NativeArray::<u64>::new(100);
    let fill = jobs.schedule_for_each(&[], stream.writer(), 100, 8, |mut lane, i| {
        (0..i as u64).for_each(|n| lane.write(n));
    });
    let tokens = (stream.read(), sums.write());
    let sum = jobs.schedule_for_each(&[fill.unwrap()], tokens, 100, 8, |(stream, sum), i| {
        let mut reader = stream.reader(i).unwrap();
        while reader.remaining() > 0 {
            *sum += reader.read::<u64>().unwrap();
        }
    });
    jobs.complete(sum.unwrap());
    assert_eq!(sums.get().unwrap()[99], 98 * 99 / 2);
}

/// A value of one of several types, and its bytes.
fn value() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        any::<u8>().prop_map(|value| value.as_bytes().to_vec()),
        any::<u32>().prop_map(|value| value.as_bytes().to_vec()),
        any::<[u64; 3]>().prop_map(|value| value.as_bytes().to_vec()),
        Just(Vec::new()),
    ]
}

fn read_as(
    reader: &mut ancho_collections::LaneReader<'_>,
    size: usize,
) -> Result<Vec<u8>, StreamError> {
    match size {
        0 => reader.read::<()>().map(|()| Vec::new()),
        1 => reader.read::<u8>().map(|value| value.as_bytes().to_vec()),
        4 => reader.read::<u32>().map(|value| value.as_bytes().to_vec()),
        _ => reader.read::<[u64; 3]>().map(|value| value.as_bytes().to_vec()),
    }
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn lanes_are_vectors_of_bytes(
        lanes in prop::collection::vec(prop::collection::vec(value(), 0..10), 0..20),
        order in any::<u64>(),
    ) {
        if time_is_up() {
            return Ok(());
        }
        let mut stream = Stream::new(lanes.len());
        let mut indices: Vec<_> = (0..lanes.len()).collect();
        indices.sort_by_key(|&index| (index as u64 + 1).wrapping_mul(order | 1));
        for index in indices {
            let mut lane = stream.lane(index);
            for bytes in &lanes[index] {
                match bytes.len() {
                    0 => lane.write(()),
                    1 => lane.write(bytes[0]),
                    4 => lane.write(<[u8; 4]>::try_from(&bytes[..]).unwrap()),
                    _ => lane.write(<[u8; 24]>::try_from(&bytes[..]).unwrap()),
                }
            }
        }
        prop_assert_eq!(stream.count(), lanes.iter().map(Vec::len).sum::<usize>());
        for (index, lane) in lanes.iter().enumerate() {
            let mut reader = stream.reader(index).unwrap();
            for (read, bytes) in lane.iter().enumerate() {
                prop_assert_eq!(reader.remaining(), lane.len() - read);
                for other in [0, 1, 4, 24].into_iter().filter(|&other| other != bytes.len()) {
                    prop_assert!(read_as(&mut reader, other).is_err());
                }
                prop_assert_eq!(&read_as(&mut reader, bytes.len()).unwrap(), bytes);
            }
            prop_assert!(reader.finish().is_ok());
        }
        prop_assert_eq!(&stream.clone(), &stream);
    }
}
