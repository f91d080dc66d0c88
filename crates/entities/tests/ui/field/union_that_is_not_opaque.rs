use ancho_entities::Field;

#[derive(Field)]
union Bits {
    number: f32,
    bits: u32,
}

fn main() {}
