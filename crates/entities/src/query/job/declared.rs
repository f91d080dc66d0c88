//! Which query the job is over that is just being declared.

#![expect(unsafe_code, reason = "a plan that is borrowed for the time of one call")]

use std::cell::Cell;
use std::ptr;

use super::super::plan::Plan;

/// Which query the job is over that is just being declared: what it takes along may ask.
#[derive(Debug)]
pub(crate) struct DeclaredJob {
    /// Null, but while data that a job takes along is declared.
    plan: Cell<*const Plan>,
}

// SAFETY: it is null whenever the world can be sent.
unsafe impl Send for DeclaredJob {}

impl Default for DeclaredJob {
    fn default() -> Self {
        Self { plan: Cell::new(ptr::null()) }
    }
}

impl DeclaredJob {
    /// Does something while a job over this query is declared.
    pub(super) fn declare(&self, plan: &Plan, declare: impl FnOnce()) {
        /// Has the plan forgotten, also if what is declared panics.
        struct Declaring<'a>(&'a DeclaredJob);

        impl Drop for Declaring<'_> {
            fn drop(&mut self) {
                self.0.plan.set(ptr::null());
            }
        }

        let _declaring = Declaring(self);
        self.plan.set(plan);
        declare();
    }

    /// Whether a job over a query with this plan is being declared.
    pub(super) fn is_over(&self, plan: &Plan) -> bool {
        // SAFETY: it is null, or borrowed until it is null again.
        unsafe { self.plan.get().as_ref() }.is_some_and(|declared| declared == plan)
    }
}
