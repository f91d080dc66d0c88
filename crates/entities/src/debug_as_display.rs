//! `Debug` of errors.

/// Implements `Debug` as `Display`, so that `unwrap` shows the message with its code and remedy.
macro_rules! debug_as_display {
    ($($error:ident),+) => {$(
        impl std::fmt::Debug for $error {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(self, f)
            }
        }
    )+};
}

pub(crate) use debug_as_display;
