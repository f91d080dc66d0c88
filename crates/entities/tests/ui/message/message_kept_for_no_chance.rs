//! A message is kept for one chance at least.

use ancho_entities::Message;

#[derive(Message, Clone)]
#[message(keep = 0)]
struct Hit(u32);

fn main() {}
