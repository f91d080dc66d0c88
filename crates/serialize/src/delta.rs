//! Deltas: the difference between two states of a world.
//!
//! A delta describes how the *image* of the target, which is the world file without compression, consists of ranges of the image of
//! the base and of new bytes. Both images are divided in parts: the ids and the columns of each chunk. Parts of the same chunk and
//! column are compared word by word.

use std::collections::HashMap;
use std::fmt;
use std::io::Read;
use std::ops::Range;

use ancho_entities::World;
use xxhash_rust::xxh3::xxh3_64;

use crate::bytes::{ByteReader, put_varint};
use crate::error::{SerializeError, SerializeErrorKind as Kind};
use crate::load::{LoadOptions, load_into};
use crate::save::image;
use crate::section::{Compression, Payload, SectionReader, SectionWriter, Tag};

/// The first bytes of a delta.
const MAGIC: [u8; 8] = *b"ANCHODLT";

/// The number of bytes that are compared at a time.
const WORD: usize = 8;

/// Fewer equal bytes than this are written again, because a range of the base takes a few bytes itself.
const LEAST_COPY: usize = 16;

/// The difference between two states of a world. Its size is proportional to what has changed.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, World};
/// use ancho_serialize::{Delta, LoadOptions};
///
/// #[derive(Component, Clone, Copy, Debug, PartialEq)]
/// struct Health(u32);
///
/// let mut server = World::new("Server");
/// let all: Vec<_> = server.spawn_many(Health(20), 10_000).collect();
/// let mut client = server.fork()?;
/// let before = server.fork()?;
/// server.get_mut::<Health>(all[7])?.0 = 3;
/// let delta = Delta::between(&before, &server)?;
/// assert!(delta.to_bytes().len() < 1000);
///
/// delta.apply(&mut client, LoadOptions::new())?;
/// assert_eq!(client.state_hash(), server.state_hash());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Delta {
    /// The checksum and the length of the image of the base.
    base: (u64, u64),
    /// The checksum and the length of the image of the target.
    target: (u64, u64),
    steps: Vec<Step>,
    /// The new bytes of all steps.
    new: Vec<u8>,
}

/// New bytes, followed by a range of the base.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Step {
    new: u64,
    from: u64,
    len: u64,
}

impl Delta {
    /// Computes the difference between two states.
    ///
    /// # Errors
    ///
    /// Returns an error if a world cannot be saved.
    pub fn between(base: &World, target: &World) -> Result<Self, SerializeError> {
        let (base, target) = (image(base)?, image(target)?);
        let places: HashMap<[u32; 4], Range<usize>> =
            base.parts.iter().map(|part| (part.key, part.range.clone())).collect();
        let mut builder = Builder::default();
        let mut at = 0;
        for part in &target.parts {
            builder.push_new(&target.bytes[at..part.range.start]);
            let new = &target.bytes[part.range.clone()];
            match places.get(&part.key) {
                Some(old) => builder.push_compared(new, &base.bytes[old.clone()], old.start),
                None => builder.push_new(new),
            }
            at = part.range.end;
        }
        builder.push_new(&target.bytes[at..]);
        let sum = |bytes: &[u8]| (xxh3_64(bytes), bytes.len() as u64);
        Ok(builder.finish(sum(&base.bytes), sum(&target.bytes)))
    }

    /// Changes a world from the base state to the target state. The ids of entities are those of the target.
    ///
    /// # Errors
    ///
    /// Returns A0271 if the world is in another state than the base, and the errors of [`load_into`]. The world is then unchanged.
    pub fn apply(&self, world: &mut World, options: LoadOptions) -> Result<(), SerializeError> {
        let base = image(world)?;
        if (xxh3_64(&base.bytes), base.bytes.len() as u64) != self.base {
            let message = "the delta was made from another state of the world; apply deltas in order, each to the state \
                           that it was made from";
            return Err(SerializeError::new(Kind::WrongBase, message));
        }
        let target = self.assemble(&base.bytes)?;
        drop(base);
        load_into(world, &target[..], options)
    }

    fn assemble(&self, base: &[u8]) -> Result<Vec<u8>, SerializeError> {
        let bad = || SerializeError::corrupt("the delta contradicts itself").in_section("delta");
        self.check().ok_or_else(bad)?;
        let mut target = Vec::with_capacity(usize::try_from(self.target.1).map_err(|_| bad())?);
        let mut new = &self.new[..];
        for step in &self.steps {
            let (now, later) = new.split_at(step.new as usize);
            target.extend_from_slice(now);
            new = later;
            let from = step.from as usize;
            target.extend_from_slice(&base[from..from + step.len as usize]);
        }
        if xxh3_64(&target) != self.target.0 {
            return Err(bad());
        }
        Ok(target)
    }

    /// Checks that all ranges are within the base and the new bytes, and that their lengths add up to that of the target.
    fn check(&self) -> Option<()> {
        let (mut new, mut copied) = (0_u64, 0_u64);
        for step in &self.steps {
            new = new.checked_add(step.new)?;
            copied = copied.checked_add(step.len)?;
            if step.from.checked_add(step.len)? > self.base.1 {
                return None;
            }
        }
        // No part of the base is used twice, so that a small delta cannot make a large world.
        let is_right = new == self.new.len() as u64
            && copied <= self.base.1
            && new.checked_add(copied)? == self.target.1;
        is_right.then_some(())
    }

    /// Returns the delta that has the effect of this delta and then another one.
    ///
    /// # Errors
    ///
    /// Returns A0271 if the other delta was not made from the target of this one.
    pub fn then(&self, next: &Self) -> Result<Self, SerializeError> {
        let bad = || SerializeError::corrupt("the delta contradicts itself").in_section("delta");
        if next.base != self.target {
            let message = "the second delta was made from another state than the one that the first delta leads to";
            return Err(SerializeError::new(Kind::WrongBase, message));
        }
        self.check().and(next.check()).ok_or_else(bad)?;
        // The pieces of the state between, by position: new bytes of this delta, or ranges of the base.
        let mut pieces: Vec<(u64, u64, Option<u64>)> = Vec::new();
        let (mut at, mut new) = (0, 0);
        for step in &self.steps {
            pieces.push((at, new, None));
            (at, new) = (at + step.new, new + step.new);
            pieces.push((at, 0, Some(step.from)));
            at += step.len;
        }
        let end = at;
        let mut builder = Builder::default();
        let mut later = &next.new[..];
        for step in &next.steps {
            let (now, rest) = later.split_at(step.new as usize);
            builder.push_new(now);
            later = rest;
            let (mut from, stop) = (step.from, step.from + step.len);
            let mut piece = pieces.partition_point(|&(at, ..)| at <= from).saturating_sub(1);
            while from < stop {
                let (begin, new, base) = pieces[piece];
                let piece_end = pieces.get(piece + 1).map_or(end, |&(at, ..)| at);
                let len = piece_end.min(stop).saturating_sub(from);
                match base {
                    None => {
                        let first = (new + (from - begin)) as usize;
                        builder.push_new(&self.new[first..first + len as usize]);
                    }
                    Some(base) => builder.push_copy(base + (from - begin), len, &[]),
                }
                from += len;
                piece += 1;
            }
        }
        Ok(builder.finish(self.base, next.target))
    }

    /// Returns whether nothing has changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.base == self.target
    }

    /// Returns the delta as bytes, for a file or a network.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut payload = Payload::default();
        payload.fill(|out| {
            for (sum, len) in [self.base, self.target] {
                out.extend(sum.to_le_bytes());
                out.extend(len.to_le_bytes());
            }
            put_varint(out, self.steps.len() as u64);
            let mut next = 0_u64;
            for step in &self.steps {
                put_varint(out, step.new);
                put_varint(out, step.len);
                // Ranges often continue after the one before, with a few new bytes between.
                let ahead = step.from.wrapping_sub(next).cast_signed();
                put_varint(out, ((ahead << 1) ^ (ahead >> 63)).cast_unsigned());
                next = step.from + step.len;
            }
            out.extend_from_slice(&self.new);
        });
        let mut bytes = Vec::new();
        let writer = SectionWriter::new(&mut bytes, MAGIC, Compression::None, [0; 3]);
        let written = writer.and_then(|mut writer| {
            writer.write(Tag::DELTA, [0; 4], &payload)?;
            writer.finish()
        });
        debug_assert!(written.is_ok(), "a vector does not fail");
        bytes
    }

    /// Reads a delta that [`to_bytes`](Self::to_bytes) has returned. The data is not trusted.
    ///
    /// # Errors
    ///
    /// Returns an error if the data is not a delta.
    pub fn from_reader(from: impl Read) -> Result<Self, SerializeError> {
        let mut sections = SectionReader::new(from, MAGIC, "a delta", u64::MAX)?;
        let section = sections.next()?;
        let bad = || SerializeError::corrupt("the contents are invalid").in_section("delta");
        let is_delta = section.tag == Tag::DELTA && section.numbers == [0; 4];
        let delta =
            (is_delta && sections.counts == [0; 3]).then(|| Self::read(sections.data())).flatten();
        let delta = delta.ok_or_else(bad)?;
        if sections.next()?.tag != Tag::END {
            return Err(bad());
        }
        Ok(delta)
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let mut from = ByteReader::new(bytes);
        let base = (from.u64()?, from.u64()?);
        let target = (from.u64()?, from.u64()?);
        let count = from.count(3)?;
        let mut steps = Vec::with_capacity(count);
        let mut next = 0_u64;
        for _ in 0..count {
            let (new, len, ahead) = (from.varint()?, from.varint()?, from.varint()?);
            let ahead = (ahead >> 1).cast_signed() ^ -(ahead & 1).cast_signed();
            let start = next.wrapping_add(ahead.cast_unsigned());
            next = start.checked_add(len)?;
            steps.push(Step { new, from: start, len });
        }
        let rest = from.left();
        let new = from.take(rest)?.to_vec();
        let delta = Self { base, target, steps, new };
        delta.check()?;
        Some(delta)
    }
}

impl fmt::Debug for Delta {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Delta")
            .field("new_bytes", &self.new.len())
            .field("ranges", &self.steps.len())
            .finish_non_exhaustive()
    }
}

/// Collects the steps of a delta.
#[derive(Default)]
struct Builder {
    steps: Vec<Step>,
    last: Step,
    new: Vec<u8>,
}

impl Builder {
    fn push_new(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        if self.last.len > 0 {
            self.steps.push(std::mem::take(&mut self.last));
        }
        self.last.new += bytes.len() as u64;
        self.new.extend_from_slice(bytes);
    }

    /// Adds a range of the base. `bytes` are its bytes if a short range may be written as new bytes, or else empty.
    fn push_copy(&mut self, from: u64, len: u64, bytes: &[u8]) {
        if self.last.len > 0 && self.last.from + self.last.len == from {
            self.last.len += len;
            return;
        }
        if !bytes.is_empty() && bytes.len() < LEAST_COPY {
            return self.push_new(bytes);
        }
        if len == 0 {
            return;
        }
        if self.last.len > 0 {
            self.steps.push(std::mem::take(&mut self.last));
        }
        (self.last.from, self.last.len) = (from, len);
    }

    /// Adds a part of the target, given the same part of the base.
    fn push_compared(&mut self, new: &[u8], old: &[u8], old_start: usize) {
        let common = new.len().min(old.len());
        let mut at = 0;
        while at < common {
            let is_same = |at: usize| {
                let end = (at + WORD).min(common);
                new[at..end] == old[at..end]
            };
            let (begin, same) = (at, is_same(at));
            while at < common && is_same(at) == same {
                at = (at + WORD).min(common);
            }
            if same {
                self.push_copy((old_start + begin) as u64, (at - begin) as u64, &new[begin..at]);
            } else {
                self.push_new(&new[begin..at]);
            }
        }
        self.push_new(&new[common..]);
    }

    fn finish(mut self, base: (u64, u64), target: (u64, u64)) -> Delta {
        if self.last != Step::default() {
            self.steps.push(self.last);
        }
        Delta { base, target, steps: self.steps, new: self.new }
    }
}
