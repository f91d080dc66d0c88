//! Behaviour of entities, components, archetypes, chunks and versions, by the rows of the specification.
//!
//! Each test names the rows it was written from. `README.md` lists the parts that are not covered here.
#![cfg(feature = "derive")]
#![forbid(unsafe_code)]
#![deny(warnings)]

mod common;

mod all_entities;
mod entity_changes;
mod entity_create;
mod entity_destroy;
mod entity_ids;
mod entity_names;
mod entity_sizes;

mod component_add;
mod component_get;
mod component_remove;
mod component_swap;
mod component_tags;
mod component_types;
mod set_archetype;

mod cleanup;
mod cleanup_pattern;
mod copy_entities;
mod enabled_bits;
mod enabled_model;
mod instantiate;
mod linked_groups;
mod managed_components;
mod managed_panics;
mod prefabs;
mod shared_components;
mod shared_slices;
mod shared_together;
mod shared_values;
mod together;
mod together_model;

mod archetypes;
mod batches;
mod chunk_capacity;
mod chunk_components;
mod chunk_components_panics;
mod chunk_lists;
mod chunk_views;

mod change_versions;
mod order_versions;

mod invariants;
