//! Scratch memory for functions: a `Temp` for each thread and each nested scope.

use std::cell::Cell;

use super::Temp;

thread_local! {
    /// Scratch memory of this thread that no scope uses, that of the outermost scope first.
    static SPARE: Cell<Option<Box<Spare>>> = const { Cell::new(None) };
}

#[derive(Default)]
struct Spare {
    temp: Temp,
    next: Option<Box<Spare>>,
}

/// Lends this thread's scratch memory to a function, and frees the function's allocations at its
/// end.
///
/// It can be called on any thread, also inside a job, and inside another scope. A nested scope has
/// memory of its own: allocations of the outer scope survive the end of the inner one. Blocks are
/// kept for the next scope, until the thread ends. Allocations are freed also when the function
/// panics.
///
/// # Examples
///
/// ```
/// use ancho_collections::temp_scope;
///
/// let median = |values: &[u32]| {
///     temp_scope(|temp| {
///         let sorted = temp.slice_copy(values);
///         sorted.sort();
///         sorted[sorted.len() / 2]
///     })
/// };
/// assert_eq!(median(&[5, 1, 9]), 5);
/// ```
///
/// The memory cannot leave the scope:
///
/// ```compile_fail
/// let five = ancho_collections::temp_scope(|temp| temp.alloc(5));
/// ```
///
/// Neither can it enter a scheduled job, which may run after the scope:
///
/// ```compile_fail,E0521
/// use ancho_jobs::{JobPool, JobScheduler};
///
/// let jobs = JobScheduler::new(&JobPool::new());
/// ancho_collections::temp_scope(|temp| {
///     let five = temp.alloc(5);
///     let _ = jobs.schedule(&[], (), move |()| *five += 1);
/// });
/// ```
pub fn temp_scope<R>(work: impl FnOnce(&Temp) -> R) -> R {
    let mut scope = Scope { memory: None };
    let memory = scope.memory.insert(take_spare());
    work(&memory.temp)
}

/// Takes the memory back, also on unwinding.
struct Scope {
    memory: Option<Box<Spare>>,
}

impl Drop for Scope {
    #[inline]
    fn drop(&mut self) {
        if let Some(mut memory) = self.memory.take() {
            memory.temp.reset();
            // While the thread ends, the memory is not kept.
            let _ = SPARE.try_with(|spare| {
                memory.next = spare.take();
                spare.set(Some(memory));
            });
        }
    }
}

#[inline]
fn take_spare() -> Box<Spare> {
    let spare = SPARE.try_with(|spare| {
        let mut first = spare.take()?;
        spare.set(first.next.take());
        Some(first)
    });
    spare.ok().flatten().unwrap_or_default()
}
