//! The gallery in a terminal, which is a pseudo terminal whose other end is read and typed at; and outside of one.
#![cfg(target_os = "linux")]

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

const ROWS: u16 = 30;
const COLUMNS: u16 = 100;

/// So long it may take until something is seen, or the program has ended. Only tests that fail wait for it.
const PATIENCE: Duration = Duration::from_secs(60);

/// A program that runs in a terminal.
struct Session {
    child: Child,
    keyboard: File,
    output: Receiver<Vec<u8>>,
    screen: vt100::Parser,
}

impl Session {
    fn start(arguments: &[&str]) -> Self {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        let name = ptsname(&ours, Vec::new()).unwrap();
        let theirs = open(name.as_c_str(), OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
        let size = Winsize { ws_row: ROWS, ws_col: COLUMNS, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&theirs, size).unwrap();
        let end = || Stdio::from(theirs.try_clone().unwrap());
        // In a session of its own, so that no other terminal is taken for its own.
        let child = Command::new("setsid")
            .arg("--wait")
            .arg(env!("CARGO_BIN_EXE_samples"))
            .args(arguments)
            .env("TERM", "xterm-256color")
            .stdin(end())
            .stdout(end())
            .stderr(end())
            .spawn()
            .unwrap();
        drop(theirs);
        let ours = File::from(ours);
        let mut reader = ours.try_clone().unwrap();
        let (sender, output) = channel();
        // It ends when the program does: then nothing can be read any more.
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = reader.read(&mut bytes) {
                if sender.send(bytes[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
        let screen = vt100::Parser::new(ROWS, COLUMNS, 0);
        Self { child, keyboard: ours, output, screen }
    }

    fn text(&self) -> String {
        self.screen.screen().contents()
    }

    /// Waits until the screen is as it should be.
    fn wait_until(&mut self, what: &str, mut is_so: impl FnMut(&vt100::Screen) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !is_so(self.screen.screen()) {
            match self.output.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(bytes) => self.screen.process(&bytes),
                Err(_) => panic!("there is no {what}:\n{}", self.text()),
            }
        }
    }

    fn wait_for(&mut self, text: &str) {
        self.wait_until(text, |screen| screen.contents().contains(text));
    }

    fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    fn frame(&self) -> u32 {
        frame_on(self.screen.screen())
    }

    /// Waits for the end. Returns whether all went well, and what is seen then.
    fn end(mut self) -> (bool, String) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.output.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(bytes) => self.screen.process(&bytes),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("it does not end:\n{}", self.text()),
            }
        }
        (self.child.wait().unwrap().success(), self.text())
    }
}

/// The number of the frame that is seen.
fn frame_on(screen: &vt100::Screen) -> u32 {
    let text = screen.contents();
    let number = text.split("frame ").nth(1).unwrap_or_default();
    number.split_whitespace().next().and_then(|number| number.parse().ok()).unwrap_or_default()
}

impl Drop for Session {
    fn drop(&mut self) {
        // It has ended, unless the test has failed.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

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
    // A frame may be gone before it is looked at.
    session.wait_until("frame that comes later", |screen| frame_on(screen) >= frame + 5);
    session.press("q");
    let (is_well, text) = session.end();
    assert!(is_well && text.contains("state hash"), "{text}");
    assert!(!text.contains("space pause"), "the terminal is as it was:\n{text}");
}

#[test]
fn the_view_ends_after_the_frames_that_were_asked_for() {
    let session = Session::start(&["rotation", "--frames", "5"]);
    let (is_well, text) = session.end();
    assert!(is_well && text.contains("5 frames, 102 entities"), "{text}");
}

#[test]
fn without_a_view_a_line_says_how_far_it_is() {
    let session = Session::start(&["rotation", "--frames", "5", "--view", "none"]);
    let (is_well, text) = session.end();
    assert!(is_well && text.contains("5 frames, 102 entities"), "{text}");
    assert!(!text.contains("frame 5 of 5"), "the line is gone at the end:\n{text}");
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

/// Runs the gallery where there is no terminal.
fn gallery(arguments: &str) -> Output {
    let mut gallery = Command::new(env!("CARGO_BIN_EXE_samples"));
    gallery.args(arguments.split_whitespace()).stdin(Stdio::null()).output().unwrap()
}

fn last_line(text: &[u8]) -> String {
    String::from_utf8_lossy(text).lines().last().unwrap_or_default().to_owned()
}

#[test]
fn outside_of_a_terminal_there_is_a_summary_with_the_same_hash_for_all_workers() {
    let hash = |workers: usize| {
        let sample = "two_stick_shooter --frames 120 --seed 1 --workers";
        let output = gallery(&format!("{sample} {workers}"));
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        last_line(&output.stdout)
    };
    assert!(hash(0).starts_with("state hash  "), "{}", hash(0));
    assert_eq!(hash(0), hash(1));
    assert_eq!(hash(0), hash(2));
}

#[test]
fn mistakes_get_a_sentence_a_list_and_status_2() {
    let output = gallery("batle");
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(told.starts_with("There is no sample `batle`; there are battle, "), "{told}");
    assert!(told.contains("--workers N") && told.contains("two_stick_shooter   "), "{told}");
}
