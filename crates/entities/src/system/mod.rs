//! Systems, and how they are updated.

pub(crate) mod rate;
