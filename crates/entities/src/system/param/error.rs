//! Which parameters a system cannot have, and in which words that is told.

use std::error::Error;
use std::fmt;

use super::access::Declared;
use crate::query::Conflict;

/// Why a system cannot have two of its parameters.
///
/// A0100, A0101 and A0102.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamConflict {
    message: String,
}

impl ParamConflict {
    pub(super) fn of_queries(left: &Declared, right: &Declared, conflict: Conflict) -> Self {
        let Conflict { ty, bits, changes, switch } = conflict;
        let what = if bits { "whether it is on, of" } else { "the values of" };
        let [does, also] = changes.map(|changes| if changes { "changes" } else { "reads" });
        let message = match switch {
            Some(switch) => format!(
                "A0101: {left} {does} and {right} {also} {what} `{ty}`, and only `{switch}` tells their entities apart, which can \
                 be switched off and on; filter by `Absent<{switch}>` instead of `Without<{switch}>`, or by a component that \
                 cannot be switched off, or put both in a `ParamSet`"
            ),
            None => format!(
                "A0100: {left} {does} and {right} {also} {what} `{ty}`, perhaps of one entity; ask for it in one parameter, filter \
                 one by `With<T>` and the other by `Without<T>`, of a component that tells their entities apart, or put both in \
                 a `ParamSet`"
            ),
        };
        Self { message }
    }

    pub(super) fn of_others(left: &Declared, right: &Declared, what: String) -> Self {
        let message = format!(
            "A0102: {left} and {right} both use {what}, and one of them can change it; leave one of them out, or put both in \
             a `ParamSet`"
        );
        Self { message }
    }
}

impl ParamConflict {
    pub(super) fn in_set(declared: &Declared) -> Self {
        let message = format!(
            "A0102: {declared} cannot be a member of a `ParamSet`; take it as a parameter, and ask it for what the other members \
             are"
        );
        Self { message }
    }
}

impl fmt::Display for ParamConflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for ParamConflict {}
