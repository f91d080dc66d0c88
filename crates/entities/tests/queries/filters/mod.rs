//! Filters, options and write groups.

mod no_limits;
mod options;
mod shared_values;
mod truth_tables;
mod unions;
mod write_groups;
