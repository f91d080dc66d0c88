use ancho_entities::Field;

#[derive(Field)]
struct Borrowed<'a> {
    name: &'a str,
}

fn main() {}
