use ancho_jobs::JobCell;
use std::rc::Rc;

fn main() {
    let cell = JobCell::new(Rc::new(0));
    drop(cell);
}
