use ancho_entities::Field;

#[derive(Field)]
enum Order {
    Idle,
    #[field(opaque)]
    Follow(u32),
}

fn main() {}
