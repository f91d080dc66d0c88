use ancho_burst::burst;

#[burst]
fn kernel(values: &mut [f32]) -> u32 {
    values.iter_mut().for_each(|value| *value = "one");
    1
}

fn main() {
    kernel(&mut []);
}
