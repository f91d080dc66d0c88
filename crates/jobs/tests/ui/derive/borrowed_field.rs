use ancho_jobs::JobStruct;

#[derive(JobStruct)]
struct Show<'a> {
    text: &'a str,
}

fn main() {}
