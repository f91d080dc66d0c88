//! Instances, prefabs, copies and linked groups.
#![forbid(unsafe_code)]

mod clone_panics;
mod copies;
mod instances;
mod linked_group_failures;
mod linked_groups;
mod prefabs;
