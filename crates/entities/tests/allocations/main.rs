//! Steady states allocate nothing.
//!
//! One test in a process of its own: it counts the allocations of every thread except the test runner's.
#![cfg(feature = "derive")]

#[path = "../../../jobs/tests/common/counting_allocator.rs"]
mod counting_allocator;

/// The number of frames in which allocations are counted. A debug build takes ten times as long for each.
pub(crate) const FRAMES: usize = if cfg!(debug_assertions) { 100 } else { 1000 };

/// The number of frames before the first count.
pub(crate) const WARM_UP: usize = if cfg!(debug_assertions) { 100 } else { 300 };

mod commands;
mod jobs;
mod observers;
mod readers;
mod soak;
mod systems;

#[test]
fn steady_states_allocate_nothing() {
    counting_allocator::exclude_test_runner();
    commands::frames_of_commands_allocate_nothing_but_what_values_are_made_of();
    jobs::frames_of_jobs_over_entities_allocate_nothing();
    observers::deliveries_allocate_nothing();
    readers::frames_of_jobs_that_are_never_completed_allocate_nothing();
    systems::a_frame_allocates_nothing();
    soak::many_frames_allocate_nothing_and_failures_leave_nothing_behind();
}
