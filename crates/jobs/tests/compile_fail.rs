//! Programs that must not compile, each named after the guarantee it would break.

#[test]
fn unsound_programs_do_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}

#[test]
#[cfg(feature = "derive")]
fn structs_that_are_no_jobs_do_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/ui/derive/*.rs");
}
