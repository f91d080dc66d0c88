//! Features of frameworks on top of storage: messages, observers, conditions, states, relationships, resources and timers.
//!
//! The subject `plain` is the baseline that a requirement names: a plain loop, or ancho without the feature.

mod ancho;
mod bevy;
mod plain;
mod work;

use crate::harness::{Case, Limit, Part, Sampling, Subject, Under, at_most};

pub(crate) static PART: Part = Part {
    name: "features",
    about: "the cost of messages, observers, conditions, states, relationships, required components, resources and timers",
    subjects: &[Subject::ours("ancho"), Subject::peer("bevy"), Subject::limit("plain")],
    cases: &[
        // A system writes 100,000 messages of 16 bytes. The baseline pushes to a vector.
        Case {
            name: "messages_write_100k",
            sampling: Sampling::Repeat,
            cells: &[("ancho", ancho::write), ("bevy", bevy::write), ("plain", plain::write)],
            limits: PLAIN,
            requires: &[at_most(1.2, PLAIN_SUBJECT)],
        },
        // A parallel job writes the messages. The baseline writes to a `NativeStream`.
        Case {
            name: "messages_write_job_100k",
            sampling: Sampling::Repeat,
            cells: &[("ancho", ancho::write_in_job), ("plain", plain::write_in_job)],
            limits: PLAIN,
            requires: &[at_most(1.3, PLAIN_SUBJECT)],
        },
        // Three systems read the messages. The baseline reads a slice three times.
        Case {
            name: "messages_read_3x100k",
            sampling: Sampling::Afresh,
            cells: &[("ancho", ancho::read), ("bevy", bevy::read), ("plain", plain::read)],
            limits: PLAIN,
            requires: &[at_most(1.05, PLAIN_SUBJECT)],
        },
        // An update with 200 types of messages, none of which is written. The baseline has no types.
        Case {
            name: "messages_200_types",
            sampling: Sampling::Repeat,
            cells: &[
                ("ancho", ancho::many_types),
                ("bevy", bevy::many_types),
                ("plain", plain::one_system),
            ],
            limits: PLAIN,
            requires: &[at_most(1.0, Under::Plus("plain", 1.0, "plain + 1 ns"))],
        },
        // Structural changes of types that are not observed, in a world with observers of others.
        Case {
            name: "unobserved_changes",
            sampling: Sampling::Afresh,
            cells: &[("ancho", ancho::unobserved), ("plain", plain::structure)],
            limits: PLAIN,
            requires: &[at_most(1.01, PLAIN_SUBJECT)],
        },
        // 100,000 entities by one call, with an observer of a component: at most 1.5 ns more per entity.
        Case {
            name: "observed_spawn_many_100k",
            sampling: Sampling::Afresh,
            cells: &[
                ("ancho", ancho::observed_many),
                ("bevy", bevy::observed_batch),
                ("plain", plain::spawn_many),
            ],
            limits: PLAIN,
            requires: &[at_most(1.0, Under::Plus("plain", 150_000.0, "plain + 150 µs"))],
        },
        // The same one by one: at most 40 ns more per entity.
        Case {
            name: "observed_spawn_each_100k",
            sampling: Sampling::Afresh,
            cells: &[
                ("ancho", ancho::observed_each),
                ("bevy", bevy::observed_each),
                ("plain", plain::spawn_each),
            ],
            limits: PLAIN,
            requires: &[at_most(1.0, Under::Plus("plain", 4_000_000.0, "plain + 4 ms"))],
        },
        // A component is removed from all entities, and an observer gets the values. The baseline copies the column.
        Case {
            name: "observed_values_100k",
            sampling: Sampling::Afresh,
            cells: &[
                ("ancho", ancho::removed_values),
                ("bevy", bevy::removed_values),
                ("plain", plain::removed_values),
            ],
            limits: PLAIN,
            requires: &[at_most(1.5, PLAIN_SUBJECT)],
        },
        // Entities of 100 in 10,000 chunks are enabled or disabled: at most 20 ns more per chunk. The baseline finds the chunks by
        // their versions.
        Case {
            name: "observed_toggles_100",
            sampling: Sampling::Repeat,
            cells: &[("ancho", ancho::observed_toggles), ("plain", plain::toggle)],
            limits: PLAIN,
            requires: &[at_most(1.0, Under::Plus("plain", 2_000.0, "plain + 2 µs"))],
        },
        // 100 empty systems, each with a condition that is false: at most 3 ns more per system.
        Case {
            name: "conditions_false_100",
            sampling: Sampling::Repeat,
            cells: &[
                ("ancho", ancho::conditions_false),
                ("bevy", bevy::conditions_false),
                ("plain", plain::conditions_false),
            ],
            limits: PLAIN,
            requires: &[at_most(1.0, Under::Plus("plain", 300.0, "plain + 300 ns"))],
        },
        // The same with conditions that are true: at most 5 ns more per system.
        Case {
            name: "conditions_true_100",
            sampling: Sampling::Repeat,
            cells: &[
                ("ancho", ancho::conditions_true),
                ("bevy", bevy::conditions_true),
                ("plain", plain::conditions_true),
            ],
            limits: PLAIN,
            requires: &[at_most(1.0, Under::Plus("plain", 500.0, "plain + 500 ns"))],
        },
        // An update with ten states, none of which changes: at most 3 ns more per state.
        Case {
            name: "idle_states_10",
            sampling: Sampling::Repeat,
            cells: &[("ancho", ancho::idle_states), ("plain", plain::one_system)],
            limits: PLAIN,
            requires: &[at_most(1.0, Under::Plus("plain", 30.0, "plain + 30 ns"))],
        },
        // 100,000 children are attached to a parent by commands. The baseline adds a plain component.
        Case {
            name: "attach_100k",
            sampling: Sampling::Afresh,
            cells: &[("ancho", ancho::attach), ("bevy", bevy::attach), ("plain", plain::attach)],
            limits: PLAIN,
            requires: &[at_most(2.0, PLAIN_SUBJECT)],
        },
        // A tree of 100,000 nodes is despawned by its root. The baseline despawns a list.
        Case {
            name: "despawn_tree_100k",
            sampling: Sampling::Afresh,
            cells: &[
                ("ancho", ancho::despawn_tree),
                ("bevy", bevy::despawn_tree),
                ("plain", plain::despawn_tree),
            ],
            limits: PLAIN,
            requires: &[at_most(2.0, PLAIN_SUBJECT)],
        },
        // One of ten million links to the same target is removed, in a relationship without an order.
        Case {
            name: "detach_one_of_10m",
            sampling: Sampling::Repeat,
            cells: &[("ancho", ancho::detach)],
            limits: &[],
            requires: &[at_most(1.0, Under::Given(200.0, "200 ns"))],
        },
        // Entities whose component requires three others. The baseline writes them out.
        Case {
            name: "required_spawn_100k",
            sampling: Sampling::Afresh,
            cells: &[
                ("ancho", ancho::required),
                ("bevy", bevy::required),
                ("plain", plain::required),
            ],
            limits: PLAIN,
            requires: &[at_most(1.05, PLAIN_SUBJECT)],
        },
        // Four commands for each of 10,000 entities. The baseline is one command with four components.
        Case {
            name: "chained_commands_10k",
            sampling: Sampling::Afresh,
            cells: &[
                ("ancho", ancho::chained_commands),
                ("bevy", bevy::chained_commands),
                ("plain", plain::chained_commands),
            ],
            limits: PLAIN,
            requires: &[at_most(1.3, PLAIN_SUBJECT)],
        },
        // A fork of a world with 100 resources. The baseline has none.
        Case {
            name: "fork_100_resources",
            sampling: Sampling::Repeat,
            cells: &[("ancho", ancho::fork), ("plain", plain::fork)],
            limits: PLAIN,
            requires: &[at_most(1.0, Under::Plus("plain", 1_000.0, "plain + 1 µs"))],
        },
        // The first write to a resource after a fork clones it. The baseline clones the value.
        Case {
            name: "resource_first_write",
            sampling: Sampling::Afresh,
            cells: &[("ancho", ancho::first_write), ("plain", plain::first_write)],
            limits: PLAIN,
            requires: &[at_most(1.0, Under::Plus("plain", 5.0, "plain + 5 ns"))],
        },
        // 1,000 later writes: at most 1 ns more each.
        Case {
            name: "resource_writes_1000",
            sampling: Sampling::Repeat,
            cells: &[("ancho", ancho::later_writes), ("plain", plain::later_writes)],
            limits: PLAIN,
            requires: &[at_most(1.0, Under::Plus("plain", 1_000.0, "plain + 1 µs"))],
        },
        // 1,000 systems that fail in every update: at most 1 µs each. The baseline has empty systems.
        Case {
            name: "failing_systems_1000",
            sampling: Sampling::Repeat,
            cells: &[("ancho", ancho::failing), ("plain", plain::failing)],
            limits: PLAIN,
            requires: &[at_most(1.0, Under::Plus("plain", 1_000_000.0, "plain + 1 ms"))],
        },
        // A million repeating timers. The baseline adds to a number, and compares it.
        Case {
            name: "tick_timers_1m",
            sampling: Sampling::Repeat,
            cells: &[("ancho", ancho::tick_timers), ("plain", plain::tick_timers)],
            limits: PLAIN,
            requires: &[at_most(1.5, PLAIN_SUBJECT)],
        },
    ],
};

const PLAIN: &[Limit] = &[Limit { subject: "plain", threads: 1.0 }];
const PLAIN_SUBJECT: Under = Under::Subject("plain");
