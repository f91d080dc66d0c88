//! Messages between systems.

mod delivery;
mod lifetime;
mod rollback;

use ancho_entities::{Message, MessageReader, ResMut};

use crate::common::Log;

#[derive(Message, Clone, Debug, PartialEq)]
pub(crate) struct Note(pub(crate) u32);

/// Logs all unread notes as one line.
pub(crate) fn read(mut notes: MessageReader<Note>, mut log: ResMut<Log>) {
    let line: Vec<_> = notes.read().map(|note| note.0.to_string()).collect();
    log.0.push(line.join(" "));
}
