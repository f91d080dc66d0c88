//! The gallery under tmux, an independent implementation of a terminal.

use std::io;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::thread;
use std::time::{Duration, Instant};

use crate::session::{COLUMNS, ROWS};

/// Maximum wait for a screen. Only failing tests reach it.
const PATIENCE: Duration = Duration::from_secs(60);

/// Interval between two reads of the screen: tmux cannot report changes.
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// A private tmux server, with the gallery in its only pane.
struct Tmux {
    socket: PathBuf,
}

impl Tmux {
    /// Starts the gallery. Returns `None` if tmux is not installed.
    fn start(arguments: &[&str]) -> Option<Self> {
        match Command::new("tmux").arg("-V").output() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            version => assert!(version.unwrap().status.success()),
        }
        let name = format!("ancho-gallery-{}.socket", std::process::id());
        let tmux = Self { socket: std::env::temp_dir().join(name) };
        let (columns, rows) = (COLUMNS.to_string(), ROWS.to_string());
        let mut command = vec!["new-session", "-d", "-s", "gallery", "-x", &columns, "-y", &rows];
        // The pane stays open when the gallery has ended, so that its last output can be read.
        command.extend(["sh", "-c", r#""$0" "$@"; echo "ended with $?"; exec cat"#]);
        command.push(env!("CARGO_BIN_EXE_samples"));
        command.extend(arguments);
        tmux.ask(&command);
        Some(tmux)
    }

    /// Runs a tmux command, without the user's configuration and with UTF-8 output.
    fn run(&self, command: &[&str]) -> io::Result<Output> {
        let mut tmux = Command::new("tmux");
        tmux.args(["-u", "-f", "/dev/null", "-S"]).arg(&self.socket).args(command).output()
    }

    fn ask(&self, command: &[&str]) -> String {
        let output = self.run(command).unwrap();
        assert!(output.status.success(), "{command:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn press(&self, key: &str) {
        self.ask(&["send-keys", "-t", "gallery", key]);
    }

    /// Waits until the screen satisfies a condition, and returns it.
    fn wait_until(&self, what: &str, is_so: impl Fn(&str) -> bool) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let screen = self.ask(&["capture-pane", "-p", "-t", "gallery"]);
            if is_so(&screen) {
                return screen;
            }
            assert!(Instant::now() < deadline, "there is no {what}:\n{screen}");
            thread::sleep(BETWEEN_LOOKS);
        }
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        // Also runs after a failed test. The error is ignored: the server may have ended already.
        _ = self.run(&["kill-server"]);
        _ = std::fs::remove_file(&self.socket);
    }
}

/// Returns the number of the visible frame.
fn frame_on(screen: &str) -> Option<u32> {
    screen.split("frame ").nth(1)?.split_whitespace().next()?.parse().ok()
}

#[expect(clippy::print_stderr, reason = "a skipped check is reported")]
#[test]
fn the_view_draws_and_obeys_its_keys_under_tmux() {
    let Some(tmux) = Tmux::start(&["rotation", "--view", "terminal"]) else {
        eprintln!(
            "`tmux` is missing, so the gallery was not tested in it: install the package `tmux`"
        );
        return;
    };
    tmux.wait_until("picture", |screen| {
        let drawn = screen.chars().filter(|dot| matches!(dot, '▀' | '▄')).count();
        drawn > 20 && screen.contains("q quit   space pause   n step")
    });
    tmux.wait_until("second frame", |screen| frame_on(screen) > Some(1));

    tmux.press("Space");
    let screen = tmux.wait_until("pause", |screen| screen.contains("paused"));
    let frame = frame_on(&screen).unwrap();
    tmux.press("n");
    let screen = tmux.wait_until("step", |screen| frame_on(screen) > Some(frame));
    assert_eq!(frame_on(&screen), Some(frame + 1), "{screen}");
    tmux.press("n");
    let screen = tmux.wait_until("step", |screen| frame_on(screen) > Some(frame + 1));
    assert_eq!(frame_on(&screen), Some(frame + 2), "{screen}");
    assert!(screen.contains("paused"), "{screen}");

    tmux.press("Space");
    tmux.wait_until("frame after the pause", |screen| {
        frame_on(screen) > Some(frame + 2) && !screen.contains("paused")
    });
    tmux.press("q");
    let screen = tmux.wait_until("end", |screen| screen.contains("ended with"));
    assert!(screen.contains("state hash") && screen.contains("ended with 0"), "{screen}");
    assert!(!screen.contains("space pause"), "the terminal is as it was:\n{screen}");
}
