//! The gallery in a pseudo terminal, whose other end the tests read and write.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

pub(crate) const ROWS: u16 = 30;
pub(crate) const COLUMNS: u16 = 100;

/// Maximum wait for a screen or for the end of the program. Only failing tests reach it.
const PATIENCE: Duration = Duration::from_secs(60);

/// A program that runs in a pseudo terminal.
pub(crate) struct Session {
    child: Child,
    keyboard: File,
    output: Receiver<Vec<u8>>,
    screen: vt100::Parser,
    /// All output, including text that has scrolled away.
    written: Vec<u8>,
}

impl Session {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        let name = ptsname(&ours, Vec::new()).unwrap();
        let theirs = open(name.as_c_str(), OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
        let size = Winsize { ws_row: ROWS, ws_col: COLUMNS, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&theirs, size).unwrap();
        let end = || Stdio::from(theirs.try_clone().unwrap());
        // In a session of its own, so that no other terminal is its controlling terminal.
        let child = Command::new("setsid")
            .arg("--wait")
            .arg(env!("CARGO_BIN_EXE_samples"))
            .args(arguments)
            .env("TERM", "xterm-256color")
            .stdin(end())
            .stdout(end())
            .stderr(end())
            .spawn()
            .unwrap_or_else(|error| {
                panic!("`setsid` cannot be started ({error}): install the package `util-linux`")
            });
        drop(theirs);
        let ours = File::from(ours);
        let mut reader = ours.try_clone().unwrap();
        let (sender, output) = channel();
        // The thread ends with the program, since reading then fails.
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = reader.read(&mut bytes) {
                if sender.send(bytes[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
        let screen = vt100::Parser::new(ROWS, COLUMNS, 0);
        Self { child, keyboard: ours, output, screen, written: Vec::new() }
    }

    fn see(&mut self, bytes: &[u8]) {
        self.screen.process(bytes);
        self.written.extend(bytes);
    }

    pub(crate) fn text(&self) -> String {
        self.screen.screen().contents()
    }

    /// Waits until the screen satisfies a condition.
    pub(crate) fn wait_until(&mut self, what: &str, mut is_so: impl FnMut(&vt100::Screen) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !is_so(self.screen.screen()) {
            match self.output.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(bytes) => self.see(&bytes),
                Err(_) => panic!("there is no {what}:\n{}", self.text()),
            }
        }
    }

    pub(crate) fn wait_for(&mut self, text: &str) {
        self.wait_until(text, |screen| screen.contents().contains(text));
    }

    pub(crate) fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    pub(crate) fn frame(&self) -> u32 {
        frame_on(self.screen.screen())
    }

    /// Waits for the end. Returns the success, the final screen and all output.
    pub(crate) fn end(mut self) -> (bool, String, String) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.output.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(bytes) => self.see(&bytes),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("it does not end:\n{}", self.text()),
            }
        }
        let written = String::from_utf8_lossy(&self.written).into_owned();
        (self.child.wait().unwrap().success(), self.text(), written)
    }
}

/// Returns the number of the visible frame.
pub(crate) fn frame_on(screen: &vt100::Screen) -> u32 {
    let text = screen.contents();
    let number = text.split("frame ").nth(1).unwrap_or_default();
    number.split_whitespace().next().and_then(|number| number.parse().ok()).unwrap_or_default()
}

impl Drop for Session {
    fn drop(&mut self) {
        // The program has ended already, unless the test has failed.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}
