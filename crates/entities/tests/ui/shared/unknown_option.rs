use ancho_entities::SharedComponent;

#[derive(SharedComponent, PartialEq, Eq, Hash)]
#[shared(enableable)]
struct Team(u32);

#[derive(SharedComponent, PartialEq, Eq, Hash)]
#[shared(name = "")]
struct Nameless(u32);

#[derive(SharedComponent, PartialEq, Eq, Hash)]
#[shared(name = "one", name = "other")]
struct TwoNames(u32);

fn main() {}
