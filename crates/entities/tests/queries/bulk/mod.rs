//! Structural changes of all entities that a query finds.

mod add_each;
mod all_kinds;
mod changes;
mod failures;
mod one_by_one;
mod refit;
