//! What keys do.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use crate::gallery::Key;

/// Whether a sample goes on.
#[derive(Debug, Default)]
pub(super) struct Control {
    quits: bool,
    paused: bool,
    /// How many frames are still to be made although it pauses.
    steps: u32,
}

/// What a key asks of the sample.
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

    /// Whether something is to be done before the time of a frame is over.
    pub(super) fn is_waited_for(&self) -> bool {
        self.quits || self.steps > 0
    }

    /// Whether another frame is to be made. A step is one, and is taken then.
    pub(super) fn takes_frame(&mut self) -> bool {
        if !self.paused {
            return true;
        }
        let is_step = self.steps > 0;
        self.steps = self.steps.saturating_sub(1);
        is_step
    }

    /// Returns what the sample is to be told, if the key is not the gallery's.
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
                // The first press only stops: it is the frame at hand that is looked at.
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
