use ancho_entities::Local;

struct Frames(u32);

fn count(_: Local<Frames>) {}

fn main() {}
