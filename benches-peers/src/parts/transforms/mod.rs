//! Computing world matrices from poses relative to parents.

mod ancho;
mod bevy;
mod raw;
mod work;

use crate::harness::{Case, Part, RAW, Sampling, Subject, Under, at_most};

pub(crate) static PART: Part = Part {
    name: "transforms",
    about: "the cost of computing where everything is in the world, from where it is in its parent",
    subjects: &[
        Subject::ours("ancho"),
        Subject::peer("bevy"),
        Subject::peer("bevy_dynamic"),
        Subject::limit("raw"),
    ],
    cases: &[
        // A hundred trees of 1,000 nodes, with four children.
        Case {
            name: "transform_100k_all",
            sampling: Sampling::Afresh,
            cells: &[
                ("ancho", work::all::<ancho::Nodes>),
                ("bevy", work::all::<bevy::Nodes>),
                ("bevy_dynamic", work::all::<bevy::Nodes<bevy::Dynamic>>),
                ("raw", work::all::<raw::Nodes>),
            ],
            limits: RAW,
            requires: &[at_most(0.3, BEVY), at_most(2.0, Under::Subject("raw"))],
        },
        // One node of a hundred moves, in no order.
        Case {
            name: "transform_100k_1pct",
            sampling: Sampling::Afresh,
            cells: &[
                ("ancho", work::one_percent::<ancho::Nodes>),
                ("bevy", work::one_percent::<bevy::Nodes<bevy::ThreeThreads>>),
                ("raw", work::one_percent::<raw::Nodes>),
            ],
            limits: RAW,
            requires: &[at_most(0.4, BEVY)],
        },
        // One tree of a hundred moves.
        Case {
            name: "transform_100k_1tree",
            sampling: Sampling::Afresh,
            cells: &[
                ("ancho", work::one_tree::<ancho::Nodes>),
                ("bevy", work::one_tree::<bevy::Nodes<bevy::ThreeThreads>>),
                ("raw", work::one_tree::<raw::Nodes>),
            ],
            limits: RAW,
            requires: &[],
        },
        // Nothing moves.
        Case {
            name: "transform_100k_none",
            sampling: Sampling::Repeat,
            cells: &[
                ("ancho", work::none::<ancho::Nodes>),
                ("bevy", work::none::<bevy::Nodes<bevy::ThreeThreads>>),
                ("raw", work::none::<raw::Nodes>),
            ],
            limits: RAW,
            requires: &[at_most(0.3, BEVY)],
        },
        // Nothing moves, but one leaf is added and another removed.
        Case {
            name: "transform_100k_spawn1",
            sampling: Sampling::Repeat,
            cells: &[
                ("ancho", work::spawn_one::<ancho::Nodes>),
                ("bevy", work::spawn_one::<bevy::Nodes<bevy::ThreeThreads>>),
            ],
            limits: &[],
            requires: &[at_most(3.0, Under::Case("transform_100k_none"))],
        },
        // Like the first, in eight levels.
        Case {
            name: "transform_depth8_100k_all",
            sampling: Sampling::Afresh,
            cells: &[
                ("ancho", work::depth_8::<ancho::Nodes>),
                ("bevy", work::depth_8::<bevy::Nodes>),
                ("bevy_dynamic", work::depth_8::<bevy::Nodes<bevy::Dynamic>>),
                ("raw", work::depth_8::<raw::Nodes>),
            ],
            limits: RAW,
            requires: &[at_most(0.3, BEVY), at_most(2.0, Under::Subject("raw"))],
        },
        // The same, where one node of a hundred moves.
        Case {
            name: "transform_depth8_100k_1pct",
            sampling: Sampling::Afresh,
            cells: &[
                ("ancho", work::depth_8_one_percent::<ancho::Nodes>),
                ("bevy", work::depth_8_one_percent::<bevy::Nodes<bevy::ThreeThreads>>),
                ("raw", work::depth_8_one_percent::<raw::Nodes>),
            ],
            limits: RAW,
            requires: &[at_most(0.4, BEVY)],
        },
        // The same, where nothing moves.
        Case {
            name: "transform_depth8_100k_none",
            sampling: Sampling::Repeat,
            cells: &[
                ("ancho", work::depth_8_none::<ancho::Nodes>),
                ("bevy", work::depth_8_none::<bevy::Nodes<bevy::ThreeThreads>>),
                ("raw", work::depth_8_none::<raw::Nodes>),
            ],
            limits: RAW,
            requires: &[at_most(0.3, BEVY)],
        },
        // A thousand trees of a hundred nodes.
        Case {
            name: "transform_1000_roots_100k",
            sampling: Sampling::Afresh,
            cells: &[
                ("ancho", work::roots_1000::<ancho::Nodes>),
                ("bevy", work::roots_1000::<bevy::Nodes>),
                ("bevy_dynamic", work::roots_1000::<bevy::Nodes<bevy::Dynamic>>),
                ("raw", work::roots_1000::<raw::Nodes>),
            ],
            limits: RAW,
            requires: &[],
        },
        // One tree.
        Case {
            name: "transform_one_root_100k",
            sampling: Sampling::Afresh,
            cells: &[
                ("ancho", work::one_root::<ancho::Nodes>),
                ("bevy", work::one_root::<bevy::Nodes>),
                ("bevy_dynamic", work::one_root::<bevy::Nodes<bevy::Dynamic>>),
                ("raw", work::one_root::<raw::Nodes>),
            ],
            limits: RAW,
            requires: &[at_most(1.3, Under::Case("transform_1000_roots_100k"))],
        },
        // The same, where its root alone moves.
        Case {
            name: "transform_root_of_100k",
            sampling: Sampling::Afresh,
            cells: &[
                ("ancho", work::root_alone::<ancho::Nodes>),
                ("bevy", work::root_alone::<bevy::Nodes<bevy::ThreeThreads>>),
                ("bevy_dynamic", work::root_alone::<bevy::Nodes<bevy::Dynamic>>),
                ("raw", work::root_alone::<raw::Nodes>),
            ],
            limits: RAW,
            requires: &[at_most(0.5, BEVY), at_most(2.0, Under::Subject("raw"))],
        },
        // A root with 256 chains below it, of 390 nodes each.
        Case {
            name: "transform_chains_100k",
            sampling: Sampling::Afresh,
            cells: &[
                ("ancho", work::chains::<ancho::Nodes>),
                ("bevy", work::chains::<bevy::Nodes>),
                ("bevy_dynamic", work::chains::<bevy::Nodes<bevy::Dynamic>>),
                ("raw", work::chains::<raw::Nodes>),
            ],
            limits: RAW,
            requires: &[at_most(0.3, BEVY)],
        },
        // Positions and rotations without a hierarchy.
        Case {
            name: "transform_flat_50k",
            sampling: Sampling::Afresh,
            cells: &[
                ("ancho", work::flat::<ancho::Flat>),
                ("bevy", work::flat::<bevy::Nodes>),
                ("bevy_dynamic", work::flat::<bevy::Nodes<bevy::Dynamic>>),
                ("raw", work::flat::<raw::Flat>),
            ],
            limits: RAW,
            requires: &[at_most(1.2, Under::Subject("raw"))],
        },
    ],
};

const BEVY: Under = Under::Subject("bevy");
