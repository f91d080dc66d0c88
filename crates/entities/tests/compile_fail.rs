//! Programs that must not compile, each named after the guarantee it would break.
#![cfg(feature = "derive")]

#[test]
fn wrong_programs_do_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/ui/*/*.rs");
}

#[cfg(feature = "auto")]
#[test]
fn wrong_marks_do_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/ui_auto/*.rs");
}
