//! Whether a table is in order.

use super::page::{PAGE_SHIFT, PAGE_SLOTS};
use super::{EntityTable, NONE};

impl EntityTable {
    /// Walks through the whole table and says what is wrong with it, if anything.
    pub(crate) fn check(&self) -> Result<(), String> {
        let slots = self.pages.iter().flat_map(|page| page.slots());
        let mut living = 0;
        for (slot, index) in slots.zip(0_u32..) {
            if slot.version == 0 {
                return Err(format!(
                    "the slot of index {index} has the version of the null entity"
                ));
            }
            if slot.is_alive() && index >= self.high_water {
                return Err(format!("the fresh index {index} is alive"));
            }
            living += u32::from(slot.is_alive());
        }
        if living != self.living {
            return Err(format!("{living} slots are alive, but {} are counted", self.living));
        }
        self.check_pages()?;
        self.check_chain()
    }

    /// Pages are parked exactly if they are beyond the water mark, and not written by two tables.
    fn check_pages(&self) -> Result<(), String> {
        for (number, page) in self.pages.iter().enumerate() {
            let is_beyond = (number << PAGE_SHIFT) >= self.high_water as usize;
            if page.is_parked() != is_beyond {
                let not = if is_beyond { "not " } else { "" };
                return Err(format!(
                    "page {number} is {not}parked, at {} indices",
                    self.high_water
                ));
            }
            if page.is_secretly_shared() {
                return Err(format!("page {number} is shared, and not marked as shared"));
            }
        }
        if self.pages.len() * PAGE_SLOTS < self.high_water as usize {
            return Err("there are used indices without a page".to_owned());
        }
        Ok(())
    }

    /// The chain leads through all indices below the water mark that are not alive, once.
    fn check_chain(&self) -> Result<(), String> {
        let mut left = self.high_water - self.living;
        let mut index = self.first_free;
        while index != NONE {
            if index >= self.high_water {
                return Err(format!("the chain leads to the fresh index {index}"));
            }
            let slot = self.pages[(index >> PAGE_SHIFT) as usize].slot(index);
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
