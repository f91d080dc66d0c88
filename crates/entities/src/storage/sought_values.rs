//! Shared values that are looked for together.

use ancho_collections::FixedState;
use hashbrown::HashMap;

use super::shared_values::{SharedValues, Sought};
use crate::component::SharedValue;

/// Shared values that are all looked for before the first of them is put into its table, since that is code of the user.
///
/// Of those that are in no table yet some may be equal: they get one place.
#[derive(Default)]
pub(crate) struct SoughtValues {
    /// The tables, and what those know.
    all: Vec<(u32, Known)>,
    /// Those that are in no table yet, by their tables and hashes.
    new: HashMap<(u32, u64), Vec<usize>, FixedState>,
}

enum Known {
    Sought(Sought),
    /// As much as is known of another, which is equal.
    As(usize),
}

impl SoughtValues {
    /// Looks for a value in its table. Runs code of the user.
    pub(crate) fn seek(&mut self, values: &SharedValues, table: u32, value: &SharedValue) {
        let known = match values.seek(table, value) {
            Sought::Known(index) => Known::Sought(Sought::Known(index)),
            Sought::Unknown(hash, value) => {
                let alike = self.new.entry((table, hash)).or_default();
                let is_same = |&at: &usize| match &self.all[at].1 {
                    Known::Sought(Sought::Unknown(_, other)) => {
                        values.are_equal(table, other, &value)
                    }
                    _ => false,
                };
                if let Some(at) = alike.iter().copied().find(is_same) {
                    Known::As(at)
                } else {
                    alike.push(self.all.len());
                    Known::Sought(Sought::Unknown(hash, value))
                }
            }
        };
        self.all.push((table, known));
    }

    /// Puts those into their tables that are not there, and counts one more owner for each. Returns where they are, in the order in
    /// which they were looked for. Runs no code of the user.
    pub(crate) fn hold(self, values: &mut SharedValues) -> Vec<(u32, u32)> {
        let mut places = Vec::<(u32, u32)>::with_capacity(self.all.len());
        for (table, known) in self.all {
            let index = match known {
                Known::Sought(sought) => values.settle(table, sought),
                Known::As(at) => places[at].1,
            };
            values.hold(table, index);
            places.push((table, index));
        }
        places
    }
}
