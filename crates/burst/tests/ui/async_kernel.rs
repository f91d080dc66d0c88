use ancho_burst::burst;

#[burst]
async fn kernel(values: &mut [f32]) {
    values[0] = 1.0;
}

fn main() {}
