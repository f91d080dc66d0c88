//! Systems, and how they are updated.

#[cfg_attr(not(test), allow(dead_code, reason = "groups sort their children by it"))]
pub(crate) mod order;
pub(crate) mod rate;
