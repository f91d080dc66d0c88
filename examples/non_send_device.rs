//! A device that is not `Send`: a loudspeaker that only the thread that opened it may use. Windows, GL contexts and script
//! interpreters are used in the same way.
//!
//! Shows `insert_non_send`, `NonSend` and `NonSendMut`, a job that computes in parallel, and a system that hands its results to the
//! device.
//!
//! ```toml
//! [dependencies]
//! ancho = { path = "../ancho/crates/ancho" }
//! ```
//!
//! Last line: `60 frames played, the loudest at 0.70`

use std::cell::Cell;
use std::rc::Rc;

use ancho::entities::{NonSend, NonSendMut};
use ancho::prelude::*;

/// The number of frames for which a note is heard.
const LENGTH: u32 = 20;

/// The device. The `Rc`, shared with the library that made it, keeps it on one thread.
struct Speaker {
    volume: Rc<Cell<f32>>,
    played: Vec<f32>,
}

impl Speaker {
    /// Opens the device, and returns it with its volume control, which other parts of the program keep.
    fn open() -> (Self, Rc<Cell<f32>>) {
        let volume = Rc::new(Cell::new(1.0));
        (Self { volume: Rc::clone(&volume), played: Vec::new() }, volume)
    }

    fn play(&mut self, sample: f32) {
        self.played.push(sample * self.volume.get());
    }
}

/// A sound, as a component. Components are `Send` and `Sync`, so jobs can compute them.
#[derive(Component, Clone, Copy)]
struct Note {
    age: u32,
    loudness: f32,
}

fn main() {
    let mut world = World::new("Sounds");
    let (speaker, volume) = Speaker::open();
    // The value belongs to this thread. The world must be updated on the same one.
    world.insert_non_send(speaker);
    world.add_system(start_notes);
    world.add_system(age_notes);
    world.add_system(play_notes);
    world.add_system(check_speaker.in_group(Presentation));

    for frame in 0..60 {
        if frame == 30 {
            volume.set(0.5);
        }
        world.update(1.0 / 60.0);
    }
    let speaker = world.non_send::<Speaker>();
    let loudest = speaker.played.iter().copied().fold(0.0, f32::max);
    println!("{} frames played, the loudest at {loudest:.2}", speaker.played.len());
}

/// Starts a note every tenth frame.
fn start_notes(time: Time, mut commands: Commands) {
    if time.frame().is_multiple_of(10) {
        commands.spawn(Note { age: 0, loudness: 0.5 });
    }
}

/// Computes the notes in a job on all cores. Jobs cannot use the device.
fn age_notes(mut notes: Query<&mut Note>) {
    notes.schedule_parallel(|note| {
        note.age += 1;
        note.loudness = 0.5 * (1.0 - note.age as f32 / LENGTH as f32);
    });
}

/// Mixes the notes, and plays them on the device. The query waits for the job.
fn play_notes(
    notes: Query<(Entity, &Note)>,
    mut speaker: NonSendMut<Speaker>,
    mut commands: Commands,
) {
    let mut sample = 0.0;
    for (entity, note) in &notes {
        sample += note.loudness;
        if note.age >= LENGTH {
            commands.despawn(entity);
        }
    }
    speaker.play(sample);
}

/// Reads the device. It returns an error, which stops the program with the name of the system, if the sound is distorted.
fn check_speaker(speaker: NonSend<Speaker>) -> SystemResult {
    match speaker.played.last() {
        Some(sample) if *sample > 1.0 => Err(format!("the sample {sample} is too loud").into()),
        _ => Ok(()),
    }
}
