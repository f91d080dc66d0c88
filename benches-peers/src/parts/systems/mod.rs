//! Running systems, moving entities to another world, and deferring changes: recording commands and playing them back.

mod ancho;
mod bevy;
mod flecs;
mod hecs;
mod legion;
mod raw;
mod work;
mod worlds;

use crate::harness::{Case, Part, RAW, Sampling, Subject, Under, at_most};

pub(crate) static PART: Part = Part {
    name: "systems",
    about: "the cost of running systems, moving entities to another world, recording commands and playing them back",
    subjects: &[
        Subject::ours("ancho"),
        Subject::peer("bevy"),
        Subject::peer("hecs"),
        Subject::peer("flecs"),
        Subject::peer("shipyard"),
        Subject::peer("legion"),
        Subject::limit("raw"),
    ],
    cases: &[
        // ecs_bench_suite's `schedule`: three systems, two of which write the same component.
        Case {
            name: "schedule_3sys_40k",
            sampling: Sampling::Repeat,
            cells: &[
                ("ancho", worlds::ancho::schedule),
                ("bevy", worlds::bevy::schedule),
                ("hecs", worlds::hecs::schedule),
                ("flecs", worlds::flecs::schedule),
                ("shipyard", worlds::shipyard::schedule),
                ("legion", worlds::legion::schedule),
                ("raw", worlds::raw::schedule),
            ],
            limits: RAW,
            requires: &[at_most(0.95, FLECS), at_most(0.95, LEGION)],
        },
        // Systems that do nothing.
        Case {
            name: "empty_systems_100",
            sampling: Sampling::Repeat,
            cells: &[
                ("ancho", worlds::ancho::empty_100),
                ("bevy", worlds::bevy::empty_100),
                ("flecs", worlds::flecs::empty_100),
                ("shipyard", worlds::shipyard::empty_100),
                ("legion", worlds::legion::empty_100),
                ("raw", worlds::raw::empty_100),
            ],
            limits: RAW,
            requires: &[at_most(0.5, BEVY)],
        },
        // Ten times as many.
        Case {
            name: "empty_systems_1000",
            sampling: Sampling::Repeat,
            cells: &[
                ("ancho", worlds::ancho::empty_1000),
                ("bevy", worlds::bevy::empty_1000),
                ("flecs", worlds::flecs::empty_1000),
                ("shipyard", worlds::shipyard::empty_1000),
                ("legion", worlds::legion::empty_1000),
                ("raw", worlds::raw::empty_1000),
            ],
            limits: RAW,
            requires: &[at_most(10.0, Under::Case("empty_systems_100"))],
        },
        // Systems that wait for jobs which were just scheduled, and the same in an order that reduces waiting.
        Case {
            name: "waits_8sys",
            sampling: Sampling::Repeat,
            cells: &[("ancho", worlds::waits::plain)],
            limits: &[],
            requires: &[],
        },
        Case {
            name: "waits_8sys_lengthened",
            sampling: Sampling::Repeat,
            cells: &[("ancho", worlds::waits::lengthened)],
            limits: &[],
            requires: &[at_most(0.8, Under::Case("waits_8sys"))],
        },
        // All entities of a world to an empty one.
        Case {
            name: "world_move_50k",
            sampling: Sampling::Afresh,
            cells: &[
                ("ancho", worlds::ancho::world_move),
                ("hecs", worlds::hecs::world_move),
                ("shipyard", worlds::shipyard::world_move),
                ("legion", worlds::legion::world_move),
                ("raw", worlds::raw::world_move),
            ],
            limits: RAW,
            requires: &[at_most(0.25, LEGION), at_most(1.0, Under::Given(1e6, "1 ms"))],
        },
        // Entities one by one, into an empty world, which grows.
        Case {
            name: "cmd_spawn_100k",
            sampling: Sampling::Afresh,
            cells: &[
                ("ancho", ancho::spawn),
                ("bevy", bevy::spawn),
                ("hecs", hecs::spawn),
                ("flecs", flecs::spawn),
                ("legion", legion::spawn),
                ("raw", raw::spawn),
            ],
            limits: RAW,
            requires: &[at_most(0.4, BEVY)],
        },
        // The same entities by one command.
        Case {
            name: "cmd_spawn_batch_100k",
            sampling: Sampling::Afresh,
            cells: &[
                ("ancho", ancho::spawn_batch),
                ("bevy", bevy::spawn_batch),
                ("hecs", hecs::spawn_batch),
                ("legion", legion::spawn_batch),
                ("raw", raw::spawn_batch),
            ],
            limits: RAW,
            requires: &[at_most(0.8, BEVY)],
        },
        // Adds a component to each entity, with a different value for each; by one command where that is faster.
        Case {
            name: "cmd_add_100k",
            sampling: Sampling::Afresh,
            cells: &[
                ("ancho", ancho::add),
                ("bevy", bevy::add),
                ("hecs", hecs::add),
                ("flecs", flecs::add),
                ("legion", legion::add),
                ("raw", raw::add),
            ],
            limits: RAW,
            requires: &[at_most(0.5, BEVY)],
        },
        // The same with one command per entity.
        Case {
            name: "cmd_add_each_100k",
            sampling: Sampling::Afresh,
            cells: &[
                ("ancho", ancho::add),
                ("bevy", bevy::add_each),
                ("hecs", hecs::add_each),
                ("flecs", flecs::add),
                ("legion", legion::add_each),
                ("raw", raw::add),
            ],
            limits: RAW,
            requires: &[],
        },
        // All entities but one, in the order of creation.
        Case {
            name: "cmd_destroy_100k",
            sampling: Sampling::Afresh,
            cells: &[
                ("ancho", ancho::destroy),
                ("bevy", bevy::destroy),
                ("hecs", hecs::destroy),
                ("flecs", flecs::destroy),
                ("legion", legion::destroy),
                ("raw", raw::destroy),
            ],
            limits: RAW,
            requires: &[at_most(0.5, BEVY)],
        },
        // Only the recording of `cmd_spawn_100k`.
        Case {
            name: "cmd_record_1t_100k",
            sampling: Sampling::Afresh,
            cells: &[
                ("ancho", |cell| ancho::recording(cell, 0)),
                ("bevy", bevy::record_1t),
                ("hecs", hecs::record_1t),
                ("flecs", flecs::record_1t),
                ("legion", legion::record_1t),
                ("raw", raw::record_1t),
            ],
            limits: RAW,
            requires: &[],
        },
        // The same from two threads.
        Case {
            name: "cmd_record_2t_100k",
            sampling: Sampling::Afresh,
            cells: &[
                ("ancho", |cell| ancho::recording(cell, 1)),
                ("bevy", bevy::record_2t),
                ("hecs", hecs::record_2t),
                ("legion", legion::record_2t),
                ("raw", raw::record_2t),
            ],
            limits: RAW,
            requires: &[at_most(1.0 / 1.6, Under::Case("cmd_record_1t_100k"))],
        },
        // A million commands of seven kinds in turn.
        Case {
            name: "cmd_mixed_1m",
            sampling: Sampling::Afresh,
            cells: &[
                ("ancho", ancho::mixed),
                ("bevy", bevy::mixed),
                ("hecs", hecs::mixed),
                ("flecs", flecs::mixed),
                ("legion", legion::mixed),
            ],
            limits: &[],
            requires: &[],
        },
        // Only the playback of those.
        Case {
            name: "cmd_mixed_play_1m",
            sampling: Sampling::Afresh,
            cells: &[
                ("ancho", ancho::mixed_play),
                ("bevy", bevy::mixed_play),
                ("hecs", hecs::mixed_play),
                ("flecs", flecs::mixed_play),
                ("legion", legion::mixed_play),
            ],
            limits: &[],
            requires: &[],
        },
    ],
};

const BEVY: Under = Under::Subject("bevy");
const FLECS: Under = Under::Subject("flecs");
const LEGION: Under = Under::Subject("legion");
