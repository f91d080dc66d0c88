//! Whether a table is in order.

use super::page::{PAGE_SLOTS, Page};
use super::{EntityTable, NONE};

impl EntityTable {
    /// Walks through the whole table and says what is wrong with it, if anything.
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.high_water > self.known {
            return Err(format!("{} indices are used, of {}", self.high_water, self.known));
        }
        if self.pages.len() != (self.known as usize).div_ceil(PAGE_SLOTS) {
            return Err(format!("there are {} pages for {} indices", self.pages.len(), self.known));
        }
        let mut living = 0;
        for index in 0..self.known {
            let slot = self.slot(index);
            if slot.version == 0 {
                return Err(format!(
                    "the slot of index {index} has the version of the null entity"
                ));
            }
            living += u32::from(slot.is_alive() && index < self.high_water);
        }
        if living != self.living {
            return Err(format!("{living} slots are alive, but {} are counted", self.living));
        }
        self.check_pages()?;
        self.check_chain()
    }

    /// Pages that are shared are marked as shared.
    fn check_pages(&self) -> Result<(), String> {
        match self.pages.iter().position(Page::is_secretly_shared) {
            Some(number) => Err(format!("page {number} is shared, and not marked as shared")),
            None => Ok(()),
        }
    }

    /// The chain leads through all indices below the water mark that are neither alive nor set aside, once.
    fn check_chain(&self) -> Result<(), String> {
        let mut left = self.first_fresh() - self.living - self.aside.get();
        let mut index = self.first_free.get();
        while index != NONE {
            if index >= self.high_water {
                return Err(format!("the chain leads to the fresh index {index}"));
            }
            let slot = self.slot(index);
            if slot.is_alive() {
                return Err(format!("the chain leads to index {index}, which is alive"));
            }
            if left == 0 {
                return Err(
                    "the chain is longer than there are free indices, or a circle".to_owned()
                );
            }
            left -= 1;
            index = slot.row;
        }
        match left {
            0 => Ok(()),
            _ => Err(format!("the chain leaves out {left} free indices")),
        }
    }
}
