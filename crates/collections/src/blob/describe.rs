//! A hash of a type's layout, to be compared before bytes are loaded as that type.

use std::any::TypeId;

use super::data::{BlobData, BlobVisitor};
use super::hash::hash;

/// Returns a hash of the type's layout: the names, types and offsets of its fields, at all depths;
/// the name, but not the module, of each struct and enum; sizes and alignments.
///
/// It is computed from a description in bytes, so it is the same in every build of a program.
pub(super) fn layout_hash<T: BlobData>() -> u64 {
    let mut description = Description { bytes: Vec::new(), seen: Vec::new() };
    description.describe::<T>();
    hash(&description.bytes)
}

struct Description {
    bytes: Vec<u8>,
    /// Types that are described, or being described: a type can contain arrays of itself.
    seen: Vec<TypeId>,
}

impl Description {
    fn describe<T: BlobData>(&mut self) {
        let id = TypeId::of::<T>();
        if let Some(index) = self.seen.iter().position(|seen| *seen == id) {
            self.bytes.push(b'@');
            self.number(index as i128);
            return;
        }
        self.seen.push(id);
        self.bytes.push(b'(');
        self.number(size_of::<T>() as i128);
        self.number(align_of::<T>() as i128);
        T::visit(self);
        self.bytes.push(b')');
    }

    fn number(&mut self, number: i128) {
        self.bytes.extend_from_slice(&number.to_le_bytes());
    }

    fn name(&mut self, kind: u8, name: &str) {
        self.bytes.push(kind);
        self.number(name.len() as i128);
        self.bytes.extend_from_slice(name.as_bytes());
    }
}

impl BlobVisitor for Description {
    fn bits<T: BlobData>(&mut self, name: &'static str) {
        self.name(b'n', name);
    }

    fn boolean(&mut self) {
        self.bytes.push(b'b');
    }

    fn character(&mut self) {
        self.bytes.push(b'c');
    }

    fn variants<T: BlobData, I: BlobData>(
        &mut self,
        name: &'static str,
        variants: &[(&'static str, i128)],
    ) {
        self.name(b'e', name);
        // Usually the size of the enum is that of its integer.
        if size_of::<I>() != size_of::<T>() {
            self.number(size_of::<I>() as i128);
        }
        for (name, value) in variants {
            self.name(b'v', name);
            self.number(*value);
        }
    }

    fn repeat<T: BlobData>(&mut self, count: usize) {
        self.bytes.push(b'r');
        self.number(count as i128);
        self.describe::<T>();
    }

    fn structure<T: BlobData>(&mut self, name: &'static str) {
        self.name(b's', name);
    }

    fn field<S: BlobData, F: BlobData>(
        &mut self,
        name: &'static str,
        offset: usize,
        _: fn(&S) -> &F,
    ) {
        self.name(b'f', name);
        self.number(offset as i128);
        self.describe::<F>();
    }

    fn array<T: BlobData>(&mut self) {
        self.bytes.push(b'a');
        self.describe::<T>();
    }

    fn string(&mut self) {
        self.bytes.push(b't');
    }

    fn pointer<T: BlobData>(&mut self) {
        self.bytes.push(b'p');
        self.describe::<T>();
    }
}
