//! Screen and keys of the gallery in a terminal.

use crate::session::{COLUMNS, ROWS, Session, frame_on};

#[test]
fn the_view_draws_and_obeys_its_keys() {
    let mut session = Session::start(&["rotation", "--view", "terminal"]);
    session.wait_for("q quit   space pause   n step");
    session.wait_for("frame ");
    session.wait_until("picture", |screen| {
        let rows = 0..ROWS - 3;
        let is_drawn = |cell: &vt100::Cell| matches!(cell.contents(), "▀" | "▄");
        let cells = rows.flat_map(|row| (0..COLUMNS).filter_map(move |c| screen.cell(row, c)));
        cells.filter(|cell| is_drawn(cell)).count() > 20
    });

    session.press(" ");
    session.wait_for("paused");
    let frame = session.frame();
    session.press("n");
    session.wait_for(&format!("frame {} ", frame + 1));
    session.press("nn");
    session.wait_for(&format!("frame {} ", frame + 3));
    assert!(session.text().contains("paused"));

    session.press(" ");
    session.wait_until("frame after the pause", |screen| !screen.contents().contains("paused"));
    // A frame may be replaced before the test reads it.
    session.wait_until("frame that comes later", |screen| frame_on(screen) >= frame + 5);
    session.press("q");
    let (is_well, text, _) = session.end();
    assert!(is_well && text.contains("state hash"), "{text}");
    assert!(!text.contains("space pause"), "the terminal is as it was:\n{text}");
}

#[test]
fn the_view_ends_after_the_frames_that_were_asked_for() {
    let session = Session::start(&["rotation", "--frames", "5"]);
    let (is_well, text, _) = session.end();
    assert!(is_well && text.contains("5 frames, 102 entities"), "{text}");
}

#[test]
fn without_a_view_a_line_says_how_far_it_is_and_is_gone_at_the_end() {
    let session = Session::start(&["rotation", "--frames", "5", "--view", "none"]);
    let (is_well, text, written) = session.end();
    assert!(is_well && text.contains("5 frames, 102 entities"), "{text}");
    assert!(written.contains("\r\x1b[Kframe 5 of 5, "), "{written:?}");
    assert!(!text.contains("frame 5 of 5"), "{text}");
}

#[test]
fn keys_steer_a_sample_that_takes_them() {
    let mut session = Session::start(&["two_stick_shooter"]);
    session.wait_for("w a s d move   arrows shoot");
    session.wait_for("a script plays");
    session.press("d");
    session.wait_for("you steer");
    session.press("q");
    assert!(session.end().0);
}

#[test]
fn keys_choose_what_gravity_begins_with() {
    let mut session = Session::start(&["gravity", "--entities", "100"]);
    session.wait_for("1-7 patterns   arrows move a star   w a s d look around");
    session.wait_for("Disk");
    session.press("3");
    session.wait_for("Ball 3");
    session.press("q");
    assert!(session.end().0);
}

#[test]
fn counters_are_seen_counting() {
    let mut session = Session::start(&["native_counter", "--entities", "1000"]);
    session.wait_for("with one for each thread");
    session.press("q");
    let (is_well, text, _) = session.end();
    assert!(is_well && text.contains("count_with_a_number_for_each_thread"), "{text}");
}
