//! Keyboard control of the gallery.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use crate::gallery::Key;

/// Run state of the view: quitting, paused, and single steps.
#[derive(Debug, Default)]
pub(super) struct Control {
    quits: bool,
    paused: bool,
    /// Number of single steps requested while paused.
    steps: u32,
}

/// Effect of a key on the sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Steer(Key),
}

impl Control {
    pub(super) fn quits(&self) -> bool {
        self.quits
    }

    pub(super) fn is_paused(&self) -> bool {
        self.paused
    }

    /// Returns whether the view continues without waiting for the end of the frame's time: to quit,
    /// or to run a single step.
    pub(super) fn is_waited_for(&self) -> bool {
        self.quits || self.steps > 0
    }

    /// Returns whether to run another frame. Consumes one single step if there is one.
    pub(super) fn takes_frame(&mut self) -> bool {
        if !self.paused {
            return true;
        }
        let is_step = self.steps > 0;
        self.steps = self.steps.saturating_sub(1);
        is_step
    }

    /// Handles a key of the gallery. For other keys, returns the action for the sample.
    pub(super) fn press(&mut self, event: KeyEvent) -> Option<Action> {
        if event.kind == KeyEventKind::Release {
            return None;
        }
        match event.code {
            KeyCode::Char('c') if event.modifiers.contains(KeyModifiers::CONTROL) => {
                self.quits = true;
            }
            KeyCode::Char('q') | KeyCode::Esc => self.quits = true,
            KeyCode::Char(' ') => {
                self.paused = !self.paused;
                self.steps = 0;
            }
            KeyCode::Char('n') => {
                // The first press only pauses, and keeps the current frame.
                self.steps += u32::from(self.paused);
                self.paused = true;
            }
            KeyCode::Char(character) => return Some(Action::Steer(Key::Char(character))),
            KeyCode::Up => return Some(Action::Steer(Key::Up)),
            KeyCode::Down => return Some(Action::Steer(Key::Down)),
            KeyCode::Left => return Some(Action::Steer(Key::Left)),
            KeyCode::Right => return Some(Action::Steer(Key::Right)),
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(control: &mut Control, code: KeyCode) -> Option<Action> {
        control.press(KeyEvent::new(code, KeyModifiers::NONE))
    }

    #[test]
    fn space_pauses_and_goes_on() {
        let mut control = Control::default();
        assert!(control.takes_frame());
        press(&mut control, KeyCode::Char(' '));
        assert!(control.is_paused() && !control.takes_frame());
        press(&mut control, KeyCode::Char(' '));
        assert!(!control.is_paused() && control.takes_frame());
    }

    #[test]
    fn each_n_is_one_frame() {
        let mut control = Control::default();
        press(&mut control, KeyCode::Char('n'));
        assert!(control.is_paused() && !control.takes_frame());
        press(&mut control, KeyCode::Char('n'));
        press(&mut control, KeyCode::Char('n'));
        let frames = [(); 3].map(|()| control.takes_frame());
        assert_eq!(frames, [true, true, false]);
    }

    #[test]
    fn q_quits_and_so_does_control_c() {
        for event in [
            KeyEvent::new(KeyCode::Char('q'), KeyModifiers::NONE),
            KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL),
        ] {
            let mut control = Control::default();
            control.press(event);
            assert!(control.quits() && control.is_waited_for());
        }
    }

    #[test]
    fn other_keys_are_the_samples() {
        let mut control = Control::default();
        let steer = |key| Some(Action::Steer(key));
        assert_eq!(press(&mut control, KeyCode::Left), steer(Key::Left));
        assert_eq!(press(&mut control, KeyCode::Char('c')), steer(Key::Char('c')));
        assert_eq!(press(&mut control, KeyCode::F(1)), None);
        assert!(!control.quits() && !control.is_paused());
    }
}
