use ancho_entities::Field;

#[derive(Field)]
#[repr(C, packed(2))]
struct Packed {
    small: u8,
    large: u32,
}

fn main() {}
