//! A reference to a non-send value does not outlive its guard, and a guard does not outlive its run.

use std::cell::RefCell;

use ancho_entities::{NonSend, NonSendMut, World};

struct Window(String);

thread_local! {
    static KEPT: RefCell<Option<&'static Window>> = RefCell::new(None);
    static GUARD: RefCell<Option<NonSendMut<'static, Window>>> = RefCell::new(None);
}

fn reference(window: NonSend<Window>) {
    KEPT.set(Some(&window));
}

fn guard(window: NonSendMut<Window>) {
    GUARD.set(Some(window));
}

fn of_a_world(world: &World) -> &Window {
    &world.non_send::<Window>()
}

fn main() {}
