//! Functions that cannot be kernels, each rejected with a sentence.
#![cfg(feature = "macros")]

#[test]
fn what_cannot_be_a_kernel_does_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
