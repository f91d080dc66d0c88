//! Groups: order, rates, time, and systems that update systems.

mod direct_calls;
mod membership;
mod nested_updates;
mod order;
mod order_and_rate;
mod time;
mod updates_by_systems;
