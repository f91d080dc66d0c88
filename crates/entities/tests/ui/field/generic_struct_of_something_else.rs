use ancho_entities::Field;

#[derive(Field)]
struct Pair<T>(T, T);

struct Handle(u32);

fn main() {
    let _ = Pair::<Handle>::SHAPE;
}
