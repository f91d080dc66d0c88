//! Storing entities: creating, changing, finding, copying and destroying them, and their memory.

mod ancho;
mod bevy;
mod flecs;
mod hecs;
mod legion;
mod raw;
mod shipyard;
pub(super) mod types;
pub(super) mod work;

use crate::harness::{Case, Limit, Part, RAW, Run, Sampling, Subject, Under, at_most};

/// The peers that use archetypes. (A sparse set has nothing to move, but more to look up.)
const ARCHETYPES: Under = Under::Best(&["bevy", "hecs", "flecs", "legion"]);
/// The peers that use archetypes, and shipyard, which uses sparse sets.
const ALL_PEERS: Under = Under::Best(&["bevy", "hecs", "flecs", "legion", "shipyard"]);

pub(crate) static PART: Part = Part {
    name: "storage",
    about: "the cost of creating, changing, finding, copying and destroying entities",
    subjects: &[
        Subject::ours("ancho"),
        Subject::peer("bevy"),
        Subject::peer("hecs"),
        Subject::peer("flecs"),
        Subject::peer("shipyard"),
        Subject::peer("legion"),
        Subject::limit("raw"),
        Subject::limit("located"),
        Subject::limit("memcpy"),
    ],
    cases: &[
        // As a batch or as columns, into an empty world.
        Case {
            name: "simple_insert_10k",
            sampling: Sampling::Afresh,
            cells: &[
                ("ancho", ancho::simple_insert),
                ("bevy", bevy::simple_insert),
                ("hecs", hecs::simple_insert),
                ("flecs", flecs::simple_insert),
                ("shipyard", shipyard::simple_insert),
                ("legion", legion::simple_insert),
                ("raw", raw::simple_insert),
            ],
            limits: RAW,
            requires: &[at_most(0.8, ARCHETYPES)],
        },
        // The same entities one by one, into an empty world, which grows.
        Case {
            name: "spawn_each_10k",
            sampling: Sampling::Afresh,
            cells: &[
                ("ancho", ancho::spawn_each),
                ("bevy", bevy::spawn_each),
                ("hecs", hecs::spawn_each),
                ("flecs", flecs::spawn_each),
                ("shipyard", shipyard::spawn_each),
                ("legion", legion::spawn_each),
                ("raw", raw::spawn_each),
            ],
            limits: RAW,
            requires: &[at_most(0.6, ARCHETYPES)],
        },
        // A component to each entity, one by one, then from each.
        Case {
            name: "add_remove_10k",
            sampling: Sampling::Repeat,
            cells: &[
                ("ancho", ancho::add_remove),
                ("bevy", bevy::add_remove),
                ("hecs", hecs::add_remove),
                ("flecs", flecs::add_remove),
                ("shipyard", shipyard::add_remove),
                ("legion", legion::add_remove),
                ("raw", raw::add_remove),
            ],
            limits: RAW,
            requires: &[at_most(0.5, ARCHETYPES)],
        },
        // The same, with twenty other components.
        Case {
            name: "move_20_components_10k",
            sampling: Sampling::Repeat,
            cells: &[
                ("ancho", ancho::move_20_components),
                ("bevy", bevy::move_20_components),
                ("hecs", hecs::move_20_components),
                ("flecs", flecs::move_20_components),
                ("shipyard", shipyard::move_20_components),
                ("legion", legion::move_20_components),
                ("raw", raw::move_20_components),
            ],
            limits: RAW,
            requires: &[at_most(0.8, ARCHETYPES)],
        },
        // In the order of creation.
        Case {
            name: "despawn_each_100k",
            sampling: Sampling::Afresh,
            cells: &[
                ("ancho", ancho::despawn_each),
                ("bevy", bevy::despawn_each),
                ("hecs", hecs::despawn_each),
                ("flecs", flecs::despawn_each),
                ("shipyard", shipyard::despawn_each),
                ("legion", legion::despawn_each),
                ("raw", raw::despawn_each),
            ],
            limits: RAW,
            requires: &[at_most(0.6, ARCHETYPES)],
        },
        // Ours as a slice; the peers, which accept none, with their bulk operations.
        Case {
            name: "despawn_bulk_100k",
            sampling: Sampling::Afresh,
            cells: &[
                ("ancho", ancho::despawn_bulk),
                ("bevy", bevy::despawn_bulk),
                ("hecs", hecs::clear),
                ("flecs", flecs::despawn_bulk),
                ("shipyard", shipyard::clear),
                ("legion", legion::clear),
                ("raw", raw::despawn_bulk),
            ],
            limits: RAW,
            requires: &[at_most(0.7, ALL_PEERS)],
        },
        // All entities.
        Case {
            name: "clear_100k",
            sampling: Sampling::Afresh,
            cells: &[
                ("ancho", ancho::clear),
                ("bevy", bevy::clear),
                ("hecs", hecs::clear),
                ("flecs", flecs::despawn_bulk),
                ("shipyard", shipyard::clear),
                ("legion", legion::clear),
            ],
            limits: &[],
            requires: &[at_most(1.0, Under::Given(10_000.0, "10 µs"))],
        },
        // From one set of values.
        Case {
            name: "create_100k_320B",
            sampling: Sampling::Afresh,
            cells: &[
                ("ancho", ancho::create),
                ("bevy", bevy::create),
                ("hecs", hecs::create),
                ("flecs", flecs::create),
                ("shipyard", shipyard::create),
                ("legion", legion::create),
                ("raw", raw::create),
                ("memcpy", raw::create_memcpy),
            ],
            limits: RAW,
            requires: &[at_most(0.6, Under::Subject("memcpy"))],
        },
        // The same from an entity, or its equivalent, that serves as a template.
        Case {
            name: "clone_prefab_100k_320B",
            sampling: Sampling::Afresh,
            cells: CLONE_PREFAB,
            limits: RAW,
            requires: &[
                at_most(0.12, Under::Best(&["bevy", "hecs", "flecs"])),
                at_most(0.6, Under::Subject("memcpy")),
            ],
        },
        Case {
            name: "clone_prefab_100k_320B_cold",
            sampling: Sampling::AfreshCold,
            cells: CLONE_PREFAB,
            limits: RAW,
            requires: &[],
        },
        // The same number of entities, in groups that are cloned as one.
        Case {
            name: "clone_group_5x20k",
            sampling: Sampling::Afresh,
            cells: &[
                ("ancho", ancho::clone_group),
                ("bevy", bevy::clone_group),
                ("flecs", flecs::clone_group),
                ("raw", raw::create),
            ],
            limits: RAW,
            requires: &[at_most(2.5, Under::Case("clone_prefab_100k_320B"))],
        },
        // Elements of 4 bytes, one by one, to lists with inline capacity for them.
        Case {
            name: "buffer_push_100k",
            sampling: Sampling::Afresh,
            cells: &[("ancho", ancho::buffer_push), ("raw", raw::buffer_push)],
            limits: RAW,
            requires: &[at_most(1.3, Under::Subject("raw"))],
        },
        // To another archetype and back, one by one, for entities of 128 bytes.
        Case {
            name: "move_16k_128B",
            sampling: Sampling::Repeat,
            cells: &[("ancho", ancho::move_128_bytes)],
            limits: &[],
            requires: &[],
        },
        // The same for such entities with shared values: 64 of one component, 64 of another, in 4,096 combinations.
        Case {
            name: "move_16k_shared",
            sampling: Sampling::Repeat,
            cells: &[("ancho", ancho::move_drawn)],
            limits: &[],
            requires: &[],
        },
        // To other values of one component, then of the other.
        Case {
            name: "set_shared_16k",
            sampling: Sampling::Repeat,
            cells: &[("ancho", ancho::set_shared)],
            limits: &[],
            requires: &[at_most(1.5, Under::Case("move_16k_shared"))],
        },
        // Disabling a component of each entity, or enabling it again, one by one.
        Case {
            name: "toggle_one_100k",
            sampling: Sampling::Repeat,
            cells: &[
                ("ancho", ancho::toggle_one),
                ("flecs", flecs::toggle_one),
                ("raw", raw::toggle_one),
            ],
            limits: RAW,
            requires: &[at_most(0.1, Under::Subject("flecs"))],
        },
        // One component of each entity, shuffled.
        Case {
            name: "random_get_1m",
            sampling: Sampling::Repeat,
            cells: &[
                ("ancho", ancho::random_get),
                ("bevy", bevy::random_get),
                ("hecs", hecs::random_get),
                ("flecs", flecs::random_get),
                ("shipyard", shipyard::random_get),
                ("legion", legion::random_get),
                ("raw", raw::random_get),
                ("located", raw::random_get_located),
            ],
            limits: &[Limit { subject: "located", threads: 1.0 }],
            requires: &[at_most(0.9, ARCHETYPES)],
        },
        // The whole world, into an empty one.
        Case {
            name: "world_clone_1m",
            sampling: Sampling::Afresh,
            cells: &[
                ("ancho", ancho::world_clone),
                ("bevy", bevy::world_clone),
                ("hecs", hecs::world_clone),
                ("shipyard", shipyard::world_clone),
                ("legion", legion::world_clone),
                ("raw", raw::world_clone),
            ],
            limits: RAW,
            requires: &[at_most(0.5, ARCHETYPES)],
        },
        // A copy that shares its memory with the source until one of them writes.
        Case {
            name: "fork_1m",
            sampling: Sampling::Afresh,
            cells: &[("ancho", ancho::fork)],
            limits: &[],
            requires: &[at_most(0.05, Under::Case("world_clone_1m"))],
        },
        // Creates entities in twenty archetypes in turn, then finds a component of each.
        Case {
            name: "archetypes_20",
            sampling: Sampling::Afresh,
            cells: &[
                ("ancho", |cell| ancho::archetypes(cell, 20)),
                ("bevy", |cell| bevy::archetypes(cell, 20)),
                ("hecs", |cell| hecs::archetypes(cell, 20)),
                ("flecs", |cell| flecs::archetypes(cell, 20)),
                ("shipyard", |cell| shipyard::archetypes(cell, 20)),
                ("legion", |cell| legion::archetypes(cell, 20)),
            ],
            limits: &[],
            requires: &[],
        },
        // The same, with 1,980 other archetypes alive.
        Case {
            name: "archetypes_2000",
            sampling: Sampling::Afresh,
            cells: &[
                ("ancho", |cell| ancho::archetypes(cell, 2_000)),
                ("bevy", |cell| bevy::archetypes(cell, 2_000)),
                ("hecs", |cell| hecs::archetypes(cell, 2_000)),
                ("flecs", |cell| flecs::archetypes(cell, 2_000)),
                ("shipyard", |cell| shipyard::archetypes(cell, 2_000)),
                ("legion", |cell| legion::archetypes(cell, 2_000)),
            ],
            limits: &[],
            requires: &[at_most(1.3, Under::Case("archetypes_20"))],
        },
        // A million of 24 bytes.
        Case {
            name: "bytes_per_entity_1m_24B",
            sampling: Sampling::Resident { count: work::MILLION },
            cells: &[
                ("ancho", ancho::bytes_per_entity),
                ("bevy", bevy::bytes_per_entity),
                ("hecs", hecs::bytes_per_entity),
                ("flecs", flecs::bytes_per_entity),
                ("shipyard", shipyard::bytes_per_entity),
                ("legion", legion::bytes_per_entity),
                ("raw", raw::bytes_per_entity),
            ],
            limits: RAW,
            requires: &[at_most(1.1, Under::Given(44.0, "24 B and 20 B"))],
        },
    ],
};

const CLONE_PREFAB: &[(&str, Run)] = &[
    ("ancho", ancho::clone_prefab),
    ("bevy", bevy::clone_prefab),
    ("hecs", hecs::clone_prefab),
    ("flecs", flecs::clone_prefab),
    ("raw", raw::create),
    ("memcpy", raw::create_memcpy),
];
