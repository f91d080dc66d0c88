//! Sections: the header of a file, and blocks of data with checksums. See the README of the format.

use std::io::{Read, Write};

use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use crate::error::{SerializeError, SerializeErrorKind as Kind};

/// The version of the format that this crate writes.
pub(crate) const FORMAT: u32 = 1;
/// The mark of the byte order, read as a little-endian number.
const ORDER: u32 = 0x0403_0201;
/// The size of a header, and the alignment of columns.
pub(crate) const ALIGN: usize = 64;
/// Flag of a section: the stored bytes are compressed with LZ4.
const COMPRESSED: u32 = 1;
/// LZ4 never expands a byte to more than this many.
const MOST_RATIO: u64 = 255;

/// The way in which sections are compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compression {
    /// Sections are written as they are.
    #[default]
    None,
    /// Sections are compressed with LZ4, if that makes them smaller.
    #[cfg(feature = "lz4")]
    Lz4,
}

/// The kind of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tag(pub(crate) [u8; 4]);

impl Tag {
    pub(crate) const WORLD: Self = Self(*b"WRLD");
    pub(crate) const TYPES: Self = Self(*b"TYPE");
    pub(crate) const ARCHETYPES: Self = Self(*b"ARCH");
    pub(crate) const SHARED: Self = Self(*b"SHRD");
    pub(crate) const IDS: Self = Self(*b"IDS ");
    pub(crate) const NAMES: Self = Self(*b"NAME");
    pub(crate) const CHUNK: Self = Self(*b"CHNK");
    pub(crate) const CLOCK: Self = Self(*b"TIME");
    pub(crate) const RESOURCE: Self = Self(*b"RSRC");
    pub(crate) const DIFF: Self = Self(*b"DIFF");
    pub(crate) const DELTA: Self = Self(*b"DELT");
    pub(crate) const END: Self = Self(*b"END ");

    /// Returns the name of the section in messages.
    pub(crate) fn name(self) -> String {
        let name = match &self.0 {
            b"WRLD" => "world",
            b"TYPE" => "component table",
            b"ARCH" => "archetype table",
            b"SHRD" => "shared values",
            b"IDS " => "entity ids",
            b"NAME" => "names",
            b"CHNK" => "chunk",
            b"TIME" => "time",
            b"RSRC" => "resource",
            b"DELT" => "delta",
            b"DIFF" => "difference",
            b"END " => "end",
            other => return format!("unknown section {:?}", String::from_utf8_lossy(other)),
        };
        name.to_owned()
    }
}

/// The data of a section, as pieces that are written one after the other.
#[derive(Debug, Default)]
pub(crate) struct Payload<'w> {
    pieces: Vec<Piece<'w>>,
    scratch: Vec<u8>,
    len: usize,
    /// The ends of the parts: the ids, and each column.
    ends: Vec<usize>,
}

#[derive(Debug)]
enum Piece<'w> {
    Borrowed(&'w [u8]),
    /// The next bytes of the scratch memory.
    Scratch(usize),
}

impl<'w> Payload<'w> {
    /// Removes all pieces, and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.pieces.clear();
        self.scratch.clear();
        self.ends.clear();
        self.len = 0;
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Appends bytes without copying them.
    pub(crate) fn borrow(&mut self, bytes: &'w [u8]) {
        if !bytes.is_empty() {
            self.pieces.push(Piece::Borrowed(bytes));
            self.len += bytes.len();
        }
    }

    /// Appends the bytes that a function appends to a vector.
    pub(crate) fn fill(&mut self, fill: impl FnOnce(&mut Vec<u8>)) {
        let before = self.scratch.len();
        fill(&mut self.scratch);
        let more = self.scratch.len() - before;
        if more == 0 {
            return;
        }
        self.len += more;
        match self.pieces.last_mut() {
            Some(Piece::Scratch(len)) => *len += more,
            _ => self.pieces.push(Piece::Scratch(more)),
        }
    }

    /// Appends zeros up to a multiple of 64 bytes.
    pub(crate) fn align(&mut self) {
        let more = self.len.next_multiple_of(ALIGN) - self.len;
        self.fill(|out| out.resize(out.len() + more, 0));
        self.ends.push(self.len);
    }

    fn for_each<E>(&self, mut each: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        let mut at = 0;
        for piece in &self.pieces {
            match piece {
                Piece::Borrowed(bytes) => each(bytes)?,
                Piece::Scratch(len) => {
                    each(&self.scratch[at..at + len])?;
                    at += len;
                }
            }
        }
        Ok(())
    }

    fn checksum(&self) -> u64 {
        let mut hash = Xxh3::new();
        let fed: Result<(), ()> = self.for_each(|bytes| {
            hash.update(bytes);
            Ok(())
        });
        debug_assert_eq!(fed, Ok(()));
        hash.digest()
    }
}

/// The numbers in the header of a section, besides its lengths and checksums. Their meaning depends on the tag.
pub(crate) type Numbers = [u32; 4];

/// Writes a file: its header, then sections.
pub(crate) struct SectionWriter<W> {
    out: W,
    compression: Compression,
    sections: u64,
    /// The checksum of the checksums of all sections.
    all: Xxh3,
    written: u64,
    #[cfg(feature = "lz4")]
    compressed: Vec<u8>,
    /// The parts of all sections, if they are recorded.
    pub(crate) parts: Option<Vec<ImagePart>>,
}

/// A part of a file: the header of a section, or the ids or a column of a chunk.
#[derive(Clone, Debug)]
pub(crate) struct ImagePart {
    /// The tag, the first two numbers, and the number of the part. Equal keys of two files are of the same chunk and column.
    pub(crate) key: [u32; 4],
    pub(crate) range: std::ops::Range<usize>,
}

impl<W: Write> SectionWriter<W> {
    /// Writes the header.
    pub(crate) fn new(
        mut out: W,
        magic: [u8; 8],
        compression: Compression,
        counts: [u64; 3],
    ) -> Result<Self, SerializeError> {
        let mut header = [0; ALIGN];
        header[..8].copy_from_slice(&magic);
        header[8..12].copy_from_slice(&FORMAT.to_le_bytes());
        header[12..16].copy_from_slice(&ORDER.to_le_bytes());
        for (count, at) in counts.iter().zip([16, 24, 32]) {
            header[at..at + 8].copy_from_slice(&count.to_le_bytes());
        }
        seal(&mut header);
        out.write_all(&header)?;
        let (sections, written) = (0, ALIGN as u64);
        Ok(Self {
            out,
            compression,
            sections,
            all: Xxh3::new(),
            written,
            #[cfg(feature = "lz4")]
            compressed: Vec::new(),
            parts: None,
        })
    }

    /// Writes a section.
    pub(crate) fn write(
        &mut self,
        tag: Tag,
        numbers: Numbers,
        payload: &Payload<'_>,
    ) -> Result<(), SerializeError> {
        let decoded = payload.len();
        if let Some(parts) = &mut self.parts {
            let [first, second, ..] = numbers;
            let (tag, mut begin) = (u32::from_le_bytes(tag.0), self.written as usize);
            let ends = payload.ends.iter().copied().chain([decoded]);
            let ends = [0].into_iter().chain(ends);
            for (number, end) in (0..).zip(ends) {
                let end = self.written as usize + ALIGN + end;
                parts.push(ImagePart { key: [tag, first, second, number], range: begin..end });
                begin = end;
            }
        }
        #[cfg(feature = "lz4")]
        if self.compression == Compression::Lz4 && decoded > ALIGN {
            let mut whole = Vec::with_capacity(decoded);
            payload.for_each(|bytes| {
                whole.extend_from_slice(bytes);
                Ok::<(), SerializeError>(())
            })?;
            self.compressed.resize(lz4_flex::block::get_maximum_output_size(decoded), 0);
            let stored = lz4_flex::block::compress_into(&whole, &mut self.compressed);
            let stored = stored.map_err(|error| SerializeError::corrupt(error.to_string()))?;
            if stored < decoded {
                self.compressed.truncate(stored);
                let checksum = xxh3_64(&self.compressed);
                let lengths = [stored as u64, decoded as u64];
                self.write_header(tag, COMPRESSED, numbers, lengths, checksum)?;
                self.out.write_all(&self.compressed)?;
                return self.pad(stored);
            }
        }
        let lengths = [decoded as u64; 2];
        self.write_header(tag, 0, numbers, lengths, payload.checksum())?;
        payload.for_each(|bytes| self.out.write_all(bytes))?;
        self.pad(decoded)
    }

    fn write_header(
        &mut self,
        tag: Tag,
        flags: u32,
        numbers: Numbers,
        [stored, decoded]: [u64; 2],
        checksum: u64,
    ) -> Result<(), SerializeError> {
        let mut header = [0; ALIGN];
        header[..4].copy_from_slice(&tag.0);
        header[4..8].copy_from_slice(&flags.to_le_bytes());
        header[8..16].copy_from_slice(&stored.to_le_bytes());
        header[16..24].copy_from_slice(&decoded.to_le_bytes());
        header[24..32].copy_from_slice(&checksum.to_le_bytes());
        for (number, at) in numbers.iter().zip([32, 36, 40, 44]) {
            header[at..at + 4].copy_from_slice(&number.to_le_bytes());
        }
        seal(&mut header);
        self.all.update(&header);
        self.sections += 1;
        self.written += (ALIGN as u64) + stored.next_multiple_of(ALIGN as u64);
        Ok(self.out.write_all(&header)?)
    }

    fn pad(&mut self, len: usize) -> Result<(), SerializeError> {
        let zeros = [0; ALIGN];
        Ok(self.out.write_all(&zeros[..len.next_multiple_of(ALIGN) - len])?)
    }

    /// Writes the end mark, and flushes the writer. Returns the number of bytes that were written.
    pub(crate) fn finish(mut self) -> Result<u64, SerializeError> {
        let (sections, all) = (self.sections, self.all.digest());
        let mut payload = Payload::default();
        payload.fill(|out| {
            out.extend(sections.to_le_bytes());
            out.extend(all.to_le_bytes());
        });
        self.compression = Compression::None;
        self.write(Tag::END, [0; 4], &payload)?;
        self.out.flush()?;
        Ok(self.written)
    }
}

/// Writes the checksum of a header to its last eight bytes.
fn seal(header: &mut [u8; ALIGN]) {
    let checksum = xxh3_64(&header[..56]);
    header[56..].copy_from_slice(&checksum.to_le_bytes());
}

fn is_sealed(header: &[u8; ALIGN]) -> bool {
    xxh3_64(&header[..56]).to_le_bytes() == header[56..]
}

fn number<const N: usize>(header: &[u8; ALIGN], at: usize) -> [u8; N] {
    let mut bytes = [0; N];
    bytes.copy_from_slice(&header[at..at + N]);
    bytes
}

/// A section that was read, whose checksum is right. The data is in the memory of the reader.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Section {
    pub(crate) tag: Tag,
    pub(crate) numbers: Numbers,
}

/// Reads a file: its header, then sections. Nothing that it reads is trusted.
pub(crate) struct SectionReader<R> {
    from: R,
    /// The counts in the header, which are hints.
    pub(crate) counts: [u64; 3],
    sections: u64,
    all: Xxh3,
    stored: Vec<u8>,
    decoded: Vec<u8>,
    is_compressed: bool,
    /// The number of bytes that may still be decoded.
    decoded_left: u64,
}

impl<R: Read> SectionReader<R> {
    /// Reads the header.
    pub(crate) fn new(
        mut from: R,
        magic: [u8; 8],
        what: &str,
        limit: u64,
    ) -> Result<Self, SerializeError> {
        let mut header = [0; ALIGN];
        let mut filled = 0;
        while filled < ALIGN {
            match from.read(&mut header[filled..]) {
                Ok(0) => break,
                Ok(more) => filled += more,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        let error = |kind, message: String| SerializeError::new(kind, message).in_section("header");
        if header[..filled.min(8)] != magic[..filled.min(8)] || filled == 0 {
            return Err(error(Kind::NotAWorldFile, format!("the data is not {what}")));
        }
        if filled < ALIGN {
            return Err(SerializeError::truncated().in_section("header"));
        }
        let order = u32::from_le_bytes(number(&header, 12));
        if order == ORDER.swap_bytes() {
            let message = format!(
                "{what} of a big-endian machine cannot be read; save it in the order of bytes of this machine"
            );
            return Err(error(Kind::NotAWorldFile, message));
        }
        let format = u32::from_le_bytes(number(&header, 8));
        if format > FORMAT && order == ORDER {
            let message = format!(
                "the file has format {format}, and this version of ancho reads formats up to {FORMAT}; update ancho"
            );
            return Err(error(Kind::NewerFormat, message));
        }
        if !is_sealed(&header) {
            return Err(error(
                Kind::Checksum,
                "the checksum is wrong; the data was changed".into(),
            ));
        }
        if order != ORDER || format == 0 || header[40..56].iter().any(|&byte| byte != 0) {
            return Err(error(Kind::Corrupt, "the header is invalid".into()));
        }
        let counts = [16, 24, 32].map(|at| u64::from_le_bytes(number(&header, at)));
        Ok(Self {
            from,
            counts,
            sections: 0,
            all: Xxh3::new(),
            stored: Vec::new(),
            decoded: Vec::new(),
            is_compressed: false,
            decoded_left: limit,
        })
    }

    /// Reads the next section, and checks its checksum.
    pub(crate) fn next(&mut self) -> Result<Section, SerializeError> {
        let place = format!("section {}", self.sections);
        self.read_next().map_err(|error| error.in_section(&place))
    }

    fn read_next(&mut self) -> Result<Section, SerializeError> {
        let mut header = [0; ALIGN];
        self.from.read_exact(&mut header)?;
        let tag = Tag(number(&header, 0));
        let checksum_of = |name: &str| {
            let message = "the checksum is wrong; the data was changed";
            SerializeError::new(Kind::Checksum, message).in_section(name)
        };
        if !is_sealed(&header) {
            return Err(checksum_of(&format!("section {} (its header)", self.sections)));
        }
        let numbers = [32, 36, 40, 44].map(|at| u32::from_le_bytes(number(&header, at)));
        let name = section_name(tag, numbers);
        let corrupt = |message: &str| SerializeError::corrupt(message).in_section(&name);
        let flags = u32::from_le_bytes(number(&header, 4));
        let [stored, decoded, checksum] =
            [8, 16, 24].map(|at| u64::from_le_bytes(number(&header, at)));
        if flags & !COMPRESSED != 0 || header[48..56].iter().any(|&byte| byte != 0) {
            return Err(corrupt("the header of the section is invalid"));
        }
        self.is_compressed = flags & COMPRESSED != 0;
        let fits =
            if self.is_compressed { decoded / MOST_RATIO <= stored } else { decoded == stored };
        if !fits {
            return Err(corrupt("the lengths of the section contradict each other"));
        }
        self.decoded_left =
            self.decoded_left.checked_sub(decoded.max(stored)).ok_or_else(|| {
                let message =
                    "the data is larger than the limit; raise `LoadOptions::decoded_limit`";
                SerializeError::new(Kind::LimitExceeded, message).in_section(&name)
            })?;
        let padded = stored.checked_next_multiple_of(ALIGN as u64);
        let padded = padded.ok_or_else(|| corrupt("the section is too long"))?;
        // The memory grows with the data that arrives, so that a wrong length does not allocate memory.
        self.stored.clear();
        if self.stored.capacity() as u64 >= padded {
            self.stored.resize(padded as usize, 0);
            let read = self.from.read_exact(&mut self.stored);
            read.map_err(|error| SerializeError::from(error).in_section(&name))?;
        } else {
            let read = self.from.by_ref().take(padded).read_to_end(&mut self.stored);
            let read = read.map_err(|error| SerializeError::from(error).in_section(&name))?;
            if (read as u64) < padded {
                return Err(SerializeError::truncated().in_section(&name));
            }
        }
        if self.stored[stored as usize..].iter().any(|&byte| byte != 0) {
            return Err(checksum_of(&name));
        }
        self.stored.truncate(stored as usize);
        if xxh3_64(&self.stored) != checksum {
            return Err(checksum_of(&name));
        }
        if self.is_compressed {
            self.decompress(decoded).map_err(|error| error.in_section(&name))?;
        }
        if tag == Tag::END {
            self.check_end(&name)?;
        }
        self.all.update(&header);
        self.sections += 1;
        Ok(Section { tag, numbers })
    }

    fn check_end(&self, name: &str) -> Result<(), SerializeError> {
        let mut expected = self.sections.to_le_bytes().to_vec();
        expected.extend(self.all.digest().to_le_bytes());
        if self.stored != expected {
            let message = "sections are missing, or were moved";
            return Err(SerializeError::new(Kind::Checksum, message).in_section(name));
        }
        Ok(())
    }

    #[cfg(feature = "lz4")]
    fn decompress(&mut self, decoded: u64) -> Result<(), SerializeError> {
        let len = usize::try_from(decoded)
            .map_err(|_| SerializeError::corrupt("the section does not fit in memory"))?;
        self.decoded.clear();
        self.decoded.resize(len, 0);
        let done = lz4_flex::block::decompress_into(&self.stored, &mut self.decoded);
        if done.ok() != Some(len) {
            return Err(SerializeError::corrupt("the compressed data is invalid"));
        }
        Ok(())
    }

    #[cfg(not(feature = "lz4"))]
    fn decompress(&mut self, _: u64) -> Result<(), SerializeError> {
        let message = "the file is compressed; enable the feature `lz4` of `ancho_serialize`";
        Err(SerializeError::corrupt(message))
    }

    /// Returns the data of the section that was read last.
    pub(crate) fn data(&self) -> &[u8] {
        if self.is_compressed { &self.decoded } else { &self.stored }
    }
}

/// Returns the name of a section in messages.
pub(crate) fn section_name(tag: Tag, [first, second, ..]: Numbers) -> String {
    match tag {
        Tag::CHUNK => format!("chunk {second} of archetype {first}"),
        Tag::SHARED => format!("shared values of component type {first}"),
        Tag::RESOURCE => format!("resource {first}"),
        _ => tag.name(),
    }
}
