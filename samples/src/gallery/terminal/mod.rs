//! View of a sample in the terminal.

mod control;
mod half_blocks;

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use ratatui::crossterm::event::{self, Event};
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Style, Stylize};
use ratatui::text::Line;
use ratatui::{DefaultTerminal, Frame};

use super::{Canvas, Run, SampleResult};
use control::{Action, Control};
use half_blocks::{HalfBlocks, Palette};

/// Minimum duration of a frame.
const FRAME: Duration = Duration::from_nanos(1_000_000_000 / 60);

/// Shows a sample until `q` is pressed, or for a number of frames. Restores the terminal in every case.
pub(crate) fn run(run: &mut Run<'_>, name: &str, frames: Option<u32>) -> SampleResult<()> {
    if !io::stdout().is_terminal() {
        return Err("There is no terminal to draw in; try `--view none`.".into());
    }
    let mut terminal = ratatui::try_init().map_err(|error| {
        format!("There is no terminal to draw in ({error}); try `--view none`.")
    })?;
    let shown = watch(&mut terminal, run, name, frames);
    ratatui::restore();
    shown
}

fn watch(
    terminal: &mut DefaultTerminal,
    run: &mut Run<'_>,
    name: &str,
    frames: Option<u32>,
) -> SampleResult<()> {
    let palette = Palette::of_terminal();
    let mut control = Control::default();
    while !control.quits() && frames.is_none_or(|frames| run.frame_count() < frames as usize) {
        let start = Instant::now();
        if control.takes_frame() {
            run.step()?;
        }
        terminal.draw(|frame| draw(frame, run, name, &control, palette))?;
        take_keys(run, &mut control, start + FRAME)?;
    }
    Ok(())
}

/// Handles keys until the next frame is due.
fn take_keys(run: &mut Run<'_>, control: &mut Control, until: Instant) -> io::Result<()> {
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if !event::poll(left)? {
            return Ok(());
        }
        if let Event::Key(key) = event::read()?
            && let Some(Action::Steer(key)) = control.press(key)
        {
            run.press(key);
        }
        if control.is_waited_for() {
            return Ok(());
        }
    }
}

fn draw(frame: &mut Frame<'_>, run: &Run<'_>, name: &str, control: &Control, palette: Palette) {
    let [picture, captions, status, keys] = Layout::vertical([
        Constraint::Min(1),
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    // Two dots per cell, one above the other, make the dots square.
    let mut canvas = Canvas::new(picture.width.into(), 2 * usize::from(picture.height));
    run.paint(&mut canvas);
    frame.render_widget(HalfBlocks { canvas: &canvas, palette }, picture);
    frame.render_widget(Line::from(canvas.captions().join("   ")).bold(), captions);

    let ms = run.recent_frame().as_secs_f64() * 1e3;
    let state = if control.is_paused() { "paused" } else { "" };
    let (number, entities) = (run.frame_count(), run.entity_count());
    let text = format!("{name}   frame {number}   {ms:.2} ms   {entities} entities   {state}");
    frame.render_widget(Line::from(text), status);
    let steering = run.steering_help().unwrap_or_default();
    let text = format!("q quit   space pause   n step   {steering}");
    frame.render_widget(Line::styled(text, Style::new().dim()), keys);
}
