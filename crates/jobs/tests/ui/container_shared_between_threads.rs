use ancho_jobs::JobCell;

fn main() {
    let cell = JobCell::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| cell.get().is_ok());
    });
}
