//! Filling, reading and walking containers, on one thread and from two threads, and scratch memory: a million operations each.

mod ancho;
mod dashmap;
mod hashbrown;
mod segqueue;
mod standard;
mod system;
mod work;

use crate::harness::{Case, Part, Sampling, Subject, Under, at_most};

pub(crate) static PART: Part = Part {
    name: "collections",
    about: "the cost of containers and of scratch memory",
    subjects: &[
        Subject::ours("ancho"),
        Subject::peer("std"),
        Subject::peer("hashbrown"),
        Subject::peer("dashmap"),
        Subject::peer("segqueue"),
        Subject::peer("system"),
    ],
    cases: &[
        // From an empty list, which grows.
        Case {
            name: "list_push",
            sampling: Sampling::Afresh,
            cells: &[("ancho", ancho::list_push), ("std", standard::list_push)],
            limits: &[],
            requires: &[at_most(1.05, Under::Subject("std"))],
        },
        // The sum of all elements.
        Case {
            name: "list_iterate",
            sampling: Sampling::Repeat,
            cells: &[("ancho", ancho::list_iterate), ("std", standard::list_iterate)],
            limits: &[],
            requires: &[at_most(1.05, Under::Subject("std"))],
        },
        // From an empty map, which grows.
        Case {
            name: "map_insert",
            sampling: Sampling::Afresh,
            cells: &[
                ("ancho", ancho::map_insert),
                ("std", standard::map_insert),
                ("hashbrown", hashbrown::map_insert),
            ],
            limits: &[],
            requires: &[at_most(1.1, Under::Subject("hashbrown"))],
        },
        // All keys, all of them present, in another order than that of insertion.
        Case {
            name: "map_lookup",
            sampling: Sampling::Repeat,
            cells: &[
                ("ancho", ancho::map_lookup),
                ("std", standard::map_lookup),
                ("hashbrown", hashbrown::map_lookup),
            ],
            limits: &[],
            requires: &[at_most(1.1, Under::Subject("hashbrown"))],
        },
        // The sum of all values.
        Case {
            name: "map_iterate",
            sampling: Sampling::Repeat,
            cells: &[
                ("ancho", ancho::map_iterate),
                ("std", standard::map_iterate),
                ("hashbrown", hashbrown::map_iterate),
            ],
            limits: &[],
            requires: &[at_most(1.1, Under::Subject("hashbrown"))],
        },
        // All elements in, then all out, in a queue with enough capacity.
        Case {
            name: "queue_push_pop",
            sampling: Sampling::Repeat,
            cells: &[("ancho", ancho::queue_push_pop), ("std", standard::queue_push_pop)],
            limits: &[],
            requires: &[at_most(1.2, Under::Subject("std"))],
        },
        // Two threads into one map with enough capacity, until the owner has read one value.
        Case {
            name: "map_insert_2t",
            sampling: Sampling::Afresh,
            cells: &[("ancho", ancho::map_insert_2t), ("dashmap", dashmap::map_insert_2t)],
            limits: &[],
            requires: &[at_most(1.0, Under::Subject("dashmap"))],
        },
        // Two threads into one queue, until the owner has taken one element out.
        Case {
            name: "queue_push_2t",
            sampling: Sampling::Afresh,
            cells: &[("ancho", ancho::queue_push_2t), ("segqueue", segqueue::queue_push_2t)],
            limits: &[],
            requires: &[at_most(1.0, Under::Subject("segqueue"))],
        },
        // Blocks of 1 KiB whose first byte is written.
        Case {
            name: "temp_alloc",
            sampling: Sampling::Repeat,
            cells: &[("ancho", ancho::temp_alloc), ("system", system::temp_alloc)],
            limits: &[],
            requires: &[at_most(0.33, Under::Subject("system"))],
        },
    ],
};
