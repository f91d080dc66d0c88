use ancho_burst::burst;

struct Field(f32);

impl Field {
    #[burst]
    fn of(value: f32) -> Self {
        Self(value)
    }
}

fn main() {
    Field::of(1.0).0;
}
