use ancho_jobs::JobSlice;

fn main() {
    let values = JobSlice::new(10, 0);
    let token = values.read();
    std::thread::scope(|scope| {
        scope.spawn(move || drop(token));
    });
}
