//! Transforms on several threads. ThreadSanitizer runs this binary.

mod determinism;
#[expect(dead_code, reason = "the tests against a naive computation use the rest")]
#[path = "../reference/naive.rs"]
mod naive;
mod reference;
#[path = "../reference/script.rs"]
mod script;
mod wide;
