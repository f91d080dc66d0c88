//! Creation, start, stop and removal of systems.

mod adding_and_removing;
mod creation_order;
mod start_and_stop;
mod struct_systems;
