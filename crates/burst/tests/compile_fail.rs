//! Functions that cannot be kernels, each rejected with a sentence.
#![cfg(feature = "macros")]

#[test]
fn wrong_kernels_do_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
