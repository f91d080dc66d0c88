// Filters tell which queries are disjoint, so that only this crate has them.
use ancho_entities::QueryFilter;

struct Nothing;

impl QueryFilter for Nothing {}

fn main() {}
