use ancho_entities::CommandsAt;

struct AfterBirth;

fn bear(_: CommandsAt<AfterBirth>) {}

fn main() {}
