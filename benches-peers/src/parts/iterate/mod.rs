//! Iterating over entities, on one thread and on two, and changing all entities that a query matches.

mod ancho;
mod bevy;
mod flat;
mod flecs;
mod hecs;
mod legion;
mod raw;
mod shipyard;
mod types;
mod work;

use crate::harness::{Case, Limit, Part, RAW, Sampling, Subject, Under, at_most};

/// The peers that move an entity when a component is added. (A sparse set does not, so it takes less time than copying.)
const ARCHETYPES: Under = Under::Best(&["bevy", "hecs", "flecs", "legion"]);
const ALL_PEERS: Under = Under::Best(&["bevy", "hecs", "flecs", "legion", "shipyard"]);

pub(crate) static PART: Part = Part {
    name: "iterate",
    about: "the cost of going through entities, and of changing all entities that match a query",
    subjects: &[
        Subject::ours("ancho"),
        Subject::peer("bevy"),
        Subject::peer("hecs"),
        Subject::peer("flecs"),
        Subject::peer("shipyard"),
        Subject::peer("legion"),
        Subject::limit("raw"),
        Subject::limit("flat"),
    ],
    cases: &[
        // position += velocity for 10,000 entities that have a matrix and a rotation, too.
        Case {
            name: "simple_iter_10k",
            sampling: Sampling::Repeat,
            cells: &[
                ("ancho", ancho::simple_iter),
                ("bevy", bevy::simple_iter),
                ("hecs", hecs::simple_iter),
                ("flecs", flecs::simple_iter),
                ("shipyard", shipyard::simple_iter),
                ("legion", legion::simple_iter),
                ("raw", raw::simple_iter),
                ("flat", flat::simple_iter),
            ],
            limits: FLAT,
            requires: &[at_most(0.5, ALL_PEERS)],
        },
        // The same for a million that have only these.
        Case {
            name: "iter_1m",
            sampling: Sampling::Repeat,
            cells: &[
                ("ancho", ancho::iter),
                ("bevy", bevy::iter),
                ("hecs", hecs::iter),
                ("flecs", flecs::iter),
                ("shipyard", shipyard::iter),
                ("legion", legion::iter),
                ("raw", raw::iter),
                ("flat", flat::iter),
            ],
            limits: FLAT,
            requires: &[at_most(0.65, ALL_PEERS), at_most(1.05, Under::Subject("flat"))],
        },
        // On two threads.
        Case {
            name: "iter_1m_par",
            sampling: Sampling::Repeat,
            cells: &[
                ("ancho", ancho::iter_par),
                ("bevy", bevy::iter_par),
                ("hecs", hecs::iter_par),
                ("flecs", flecs::iter_par),
                ("shipyard", shipyard::iter_par),
                ("legion", legion::iter_par),
                ("raw", raw::iter_par),
                ("flat", flat::iter_par),
            ],
            limits: FLAT,
            requires: &[at_most(1.0, ALL_PEERS)],
        },
        // As one job on all threads, and a wait for it. Peers have no such jobs; their parallel loops are in the case before.
        Case {
            name: "iter_1m_job",
            sampling: Sampling::Repeat,
            cells: &[("ancho", ancho::iter_job), ("raw", raw::iter_par), ("flat", flat::iter_par)],
            limits: FLAT,
            requires: &[at_most(1.05, Under::Case("iter_1m_par"))],
        },
        // A thousand passes over 26 archetypes with 20 entities each.
        Case {
            name: "frag_iter_26x20",
            sampling: Sampling::Repeat,
            cells: &[
                ("ancho", ancho::frag_iter),
                ("bevy", bevy::frag_iter),
                ("hecs", hecs::frag_iter),
                ("flecs", flecs::frag_iter),
                ("shipyard", shipyard::frag_iter),
                ("legion", legion::frag_iter),
                ("raw", raw::frag_iter),
            ],
            limits: RAW,
            requires: &[at_most(1.0, ARCHETYPES)],
        },
        // A pass over twenty archetypes with 20 entities each.
        Case {
            name: "query_20",
            sampling: Sampling::Repeat,
            cells: &[
                ("ancho", |cell| ancho::query(cell, 20)),
                ("bevy", |cell| bevy::query(cell, 20)),
                ("hecs", |cell| hecs::query(cell, 20)),
                ("flecs", |cell| flecs::query(cell, 20)),
                ("shipyard", |cell| shipyard::query(cell, 20)),
                ("legion", |cell| legion::query(cell, 20)),
                ("raw", raw::query),
            ],
            limits: RAW,
            requires: &[],
        },
        // The same, with 1,980 other archetypes alive.
        Case {
            name: "query_20_of_2000",
            sampling: Sampling::Repeat,
            cells: &[
                ("ancho", |cell| ancho::query(cell, 2_000)),
                ("bevy", |cell| bevy::query(cell, 2_000)),
                ("hecs", |cell| hecs::query(cell, 2_000)),
                ("flecs", |cell| flecs::query(cell, 2_000)),
                ("shipyard", |cell| shipyard::query(cell, 2_000)),
                ("legion", |cell| legion::query(cell, 2_000)),
                ("raw", raw::query),
            ],
            limits: RAW,
            requires: &[at_most(1.2, Under::Case("query_20"))],
        },
        // A hundred inversions of a matrix for each of 1,000 entities, on two threads.
        Case {
            name: "heavy_compute_1k",
            sampling: Sampling::Repeat,
            cells: &[
                ("ancho", ancho::heavy_compute),
                ("bevy", bevy::heavy_compute),
                ("hecs", hecs::heavy_compute),
                ("flecs", flecs::heavy_compute),
                ("shipyard", shipyard::heavy_compute),
                ("legion", legion::heavy_compute),
                ("raw", raw::heavy_compute),
            ],
            limits: RAW,
            requires: &[at_most(1.05, ALL_PEERS)],
        },
        // Each of a million entities looks up a component of another.
        Case {
            name: "lookup_job_1m",
            sampling: Sampling::Repeat,
            cells: &[
                ("ancho", ancho::lookup),
                ("bevy", bevy::lookup),
                ("hecs", hecs::lookup),
                ("flecs", flecs::lookup),
                ("shipyard", shipyard::lookup),
                ("legion", legion::lookup),
                ("raw", raw::lookup),
            ],
            limits: RAW,
            requires: &[at_most(0.8, ALL_PEERS)],
        },
        // The same with one lookup after the other, as the peers do it in both.
        Case {
            name: "lookup_job_get_1m",
            sampling: Sampling::Repeat,
            cells: &[
                ("ancho", ancho::lookup_get),
                ("bevy", bevy::lookup),
                ("hecs", hecs::lookup),
                ("flecs", flecs::lookup),
                ("shipyard", shipyard::lookup),
                ("legion", legion::lookup),
                ("raw", raw::lookup),
            ],
            limits: RAW,
            requires: &[],
        },
        // A component of 4 bytes to each of a million entities.
        Case {
            name: "add_comp_1m",
            sampling: Sampling::Afresh,
            cells: &[
                ("ancho", ancho::add_comp),
                ("bevy", bevy::add_comp),
                ("hecs", hecs::add_comp),
                ("flecs", flecs::add_comp),
                ("shipyard", shipyard::add_comp),
                ("legion", legion::add_comp),
                ("raw", raw::add_comp),
            ],
            limits: RAW,
            requires: &[at_most(1.5, Under::Subject("raw")), at_most(0.1, ARCHETYPES)],
        },
        // A component without data.
        Case {
            name: "add_tag_1m",
            sampling: Sampling::Afresh,
            cells: &[
                ("ancho", ancho::add_tag),
                ("bevy", bevy::add_tag),
                ("hecs", hecs::add_tag),
                ("flecs", flecs::add_tag),
                ("shipyard", shipyard::add_tag),
                ("legion", legion::add_tag),
            ],
            limits: &[],
            requires: &[at_most(0.01, ARCHETYPES)],
        },
        // Disabling a component of a million entities, or enabling it again.
        Case {
            name: "toggle_1m",
            sampling: Sampling::Repeat,
            cells: &[("ancho", ancho::toggle), ("flecs", flecs::toggle), ("raw", raw::toggle)],
            limits: RAW,
            requires: &[at_most(20.0, Under::Subject("raw"))],
        },
        // Like `iter_1m`, with enableable positions that are all enabled.
        Case {
            name: "enabled_all_1m",
            sampling: Sampling::Repeat,
            cells: &[
                ("ancho", |cell| ancho::enabled(cell, |_| true)),
                ("flecs", |cell| flecs::enabled(cell, |_| true)),
                ("raw", |cell| raw::enabled(cell, |_| true)),
                ("flat", |cell| flat::enabled(cell, |_| true)),
            ],
            limits: FLAT,
            // If all entities of a chunk are enabled, no bit per entity is tested.
            requires: &[at_most(1.15, Under::Case("iter_1m"))],
        },
        // The same, with all of them disabled.
        Case {
            name: "enabled_none_1m",
            sampling: Sampling::Repeat,
            cells: &[
                ("ancho", |cell| ancho::enabled(cell, |_| false)),
                ("flecs", |cell| flecs::enabled(cell, |_| false)),
                ("raw", |cell| raw::enabled(cell, |_| false)),
                ("flat", |cell| flat::enabled(cell, |_| false)),
            ],
            limits: FLAT,
            // If all entities of a chunk are disabled, no bit per entity is tested.
            requires: &[at_most(0.05, Under::Case("enabled_all_1m"))],
        },
        // The same, with a thousand disabled after every thousand.
        Case {
            name: "enabled_runs_1m",
            sampling: Sampling::Repeat,
            cells: &[
                ("ancho", |cell| ancho::enabled(cell, work::in_runs)),
                ("flecs", |cell| flecs::enabled(cell, work::in_runs)),
                ("raw", |cell| raw::enabled(cell, work::in_runs)),
                ("flat", |cell| flat::enabled(cell, work::in_runs)),
            ],
            limits: FLAT,
            requires: &[at_most(0.6, Under::Case("enabled_all_1m"))],
        },
        // With half of them disabled, in no order.
        Case {
            name: "enabled_random_1m",
            sampling: Sampling::Repeat,
            cells: &[
                ("ancho", |cell| ancho::enabled(cell, work::at_random)),
                ("flecs", |cell| flecs::enabled(cell, work::at_random)),
                ("raw", |cell| raw::enabled(cell, work::at_random)),
                ("flat", |cell| flat::enabled(cell, work::at_random)),
            ],
            limits: &[
                Limit { subject: "raw", threads: 1.0 },
                Limit { subject: "flat", threads: 1.0 },
            ],
            requires: &[at_most(1.5, Under::Case("enabled_all_1m"))],
        },
        // The sum of the values written to 10,000 contiguous entities among a million.
        Case {
            name: "changed_1pct_cluster_1m",
            sampling: Sampling::Afresh,
            cells: &[
                ("ancho", ancho::changed_cluster),
                ("bevy", |cell| bevy::changed(cell, &work::cluster())),
                ("hecs", |cell| hecs::changed(cell, &work::cluster())),
                ("flecs", |cell| flecs::changed(cell, &work::cluster())),
                ("shipyard", |cell| shipyard::changed(cell, &work::cluster())),
                ("legion", |cell| legion::changed(cell, &work::cluster())),
                ("raw", |cell| raw::changed(cell, &work::cluster())),
            ],
            limits: RAW,
            requires: &[at_most(0.1, Under::Subject("bevy"))],
        },
        // To 10,000 entities in no order.
        Case {
            name: "changed_1pct_random_1m",
            sampling: Sampling::Afresh,
            cells: &[
                ("ancho", ancho::changed_random),
                ("bevy", |cell| bevy::changed(cell, &work::scattered())),
                ("hecs", |cell| hecs::changed(cell, &work::scattered())),
                ("flecs", |cell| flecs::changed(cell, &work::scattered())),
                ("shipyard", |cell| shipyard::changed(cell, &work::scattered())),
                ("legion", |cell| legion::changed(cell, &work::scattered())),
                ("raw", |cell| raw::changed(cell, &work::scattered())),
            ],
            limits: RAW,
            requires: &[at_most(0.5, Under::Subject("bevy"))],
        },
        // Like `iter_1m`, with change detection.
        Case {
            name: "tracked_write_1m",
            sampling: Sampling::Repeat,
            cells: &[
                ("ancho", ancho::tracked_write),
                ("bevy", bevy::tracked_write),
                ("flecs", flecs::tracked_write),
                ("shipyard", shipyard::tracked_write),
                ("legion", legion::iter),
                ("raw", raw::tracked_write),
            ],
            limits: RAW,
            requires: &[at_most(1.05, Under::Case("iter_1m"))],
        },
        // A parallel loop over one entity.
        Case {
            name: "empty_parallel_job",
            sampling: Sampling::Repeat,
            cells: &[
                ("ancho", ancho::empty_parallel),
                ("bevy", bevy::empty_parallel),
                ("hecs", hecs::empty_parallel),
                ("flecs", flecs::empty_parallel),
                ("shipyard", shipyard::empty_parallel),
                ("legion", legion::empty_parallel),
                ("raw", raw::empty_parallel),
            ],
            limits: RAW,
            requires: &[],
        },
        // A parallel job that does nothing to the entities of ten chunks, and empty jobs ten times.
        Case {
            name: "empty_job_10_chunks",
            sampling: Sampling::Repeat,
            cells: &[("ancho", ancho::empty_job), ("raw", ancho::empty_job_alone)],
            limits: RAW,
            requires: &[at_most(1.0, Under::Plus("raw", 2e3, "raw + 2 µs"))],
        },
        // Two independent loops over a million entities, one after the other.
        Case {
            name: "two_loops",
            sampling: Sampling::Repeat,
            cells: &[("ancho", ancho::two_loops), ("flat", flat::two_loops)],
            limits: FLAT,
            requires: &[],
        },
        // The same at the same time.
        Case {
            name: "two_jobs",
            sampling: Sampling::Repeat,
            cells: &[
                ("ancho", ancho::two_jobs),
                ("bevy", bevy::two_jobs),
                ("hecs", hecs::two_jobs),
                ("flecs", flecs::two_jobs),
                ("shipyard", shipyard::two_jobs),
                ("legion", legion::two_jobs),
                ("raw", raw::two_jobs),
                ("flat", flat::two_jobs),
            ],
            limits: FLAT,
            requires: &[at_most(1.0 / 1.8, Under::Case("two_loops"))],
        },
        // Adding a component to an entity and removing it, while a job processes others.
        Case {
            name: "structural_beside_job",
            sampling: Sampling::Repeat,
            cells: &[("ancho", ancho::structural_beside_job)],
            limits: &[],
            requires: &[at_most(1.0, Under::Given(20e3, "20 µs"))],
        },
        // `iter_1m`, and adding a component to 10,000 other entities and removing it.
        Case {
            name: "unrelated_structural",
            sampling: Sampling::Repeat,
            cells: &[
                ("ancho", ancho::unrelated_structural),
                ("bevy", bevy::unrelated_structural),
                ("hecs", hecs::unrelated_structural),
                ("flecs", flecs::unrelated_structural),
                ("shipyard", shipyard::unrelated_structural),
                ("legion", legion::unrelated_structural),
                ("raw", raw::unrelated_structural),
            ],
            limits: RAW,
            requires: &[],
        },
    ],
};

const FLAT: &[Limit] = &[Limit { subject: "flat", threads: 1.0 }];
