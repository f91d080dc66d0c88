//! A trace of calls, in their order.

use std::sync::{Arc, Mutex};

use ancho_entities::{System, SystemResult, World};

/// Words, in the order of recording.
#[derive(Clone, Default)]
pub(crate) struct Trace(Arc<Mutex<Vec<String>>>);

impl Trace {
    pub(crate) fn note(&self, word: impl Into<String>) {
        self.0.lock().unwrap().push(word.into());
    }

    /// Returns and clears the recorded words.
    pub(crate) fn take(&self) -> String {
        std::mem::take(&mut *self.0.lock().unwrap()).join(" ")
    }
}

/// Returns a system that records its name.
pub(crate) fn noting(trace: &Trace, name: &str) -> impl FnMut() + Send + use<> {
    let (trace, name) = (trace.clone(), String::from(name));
    move || trace.note(name.as_str())
}

type Hook = Box<dyn FnMut(&mut World) -> SystemResult + Send>;

/// A system that records its lifecycle. Each number is a separate type, and so a separate system.
pub(crate) struct Probe<const N: usize> {
    name: &'static str,
    trace: Trace,
    create: Option<Hook>,
    start: Option<Hook>,
    update: Option<Hook>,
    stop: Option<Hook>,
    destroy: Option<Hook>,
}

impl<const N: usize> Probe<N> {
    /// Records the events without a name.
    pub(crate) fn new(trace: &Trace) -> Self {
        Self::called("", trace)
    }

    /// Records the events with a name.
    pub(crate) fn called(name: &'static str, trace: &Trace) -> Self {
        let trace = trace.clone();
        Self { name, trace, create: None, start: None, update: None, stop: None, destroy: None }
    }

    pub(crate) fn creating(
        mut self,
        hook: impl FnMut(&mut World) -> SystemResult + Send + 'static,
    ) -> Self {
        self.create = Some(Box::new(hook));
        self
    }

    pub(crate) fn starting(
        mut self,
        hook: impl FnMut(&mut World) -> SystemResult + Send + 'static,
    ) -> Self {
        self.start = Some(Box::new(hook));
        self
    }

    pub(crate) fn updating(
        mut self,
        hook: impl FnMut(&mut World) -> SystemResult + Send + 'static,
    ) -> Self {
        self.update = Some(Box::new(hook));
        self
    }

    pub(crate) fn stopping(
        mut self,
        hook: impl FnMut(&mut World) -> SystemResult + Send + 'static,
    ) -> Self {
        self.stop = Some(Box::new(hook));
        self
    }

    pub(crate) fn destroying(
        mut self,
        hook: impl FnMut(&mut World) -> SystemResult + Send + 'static,
    ) -> Self {
        self.destroy = Some(Box::new(hook));
        self
    }

    fn note(&self, what: &str) {
        match self.name {
            "" => self.trace.note(what),
            name => self.trace.note(format!("{name}.{what}")),
        }
    }
}

fn call(hook: &mut Option<Hook>, world: &mut World) -> SystemResult {
    hook.as_mut().map_or(Ok(()), |hook| hook(world))
}

impl<const N: usize> System for Probe<N> {
    fn on_create(&mut self, world: &mut World) -> SystemResult {
        self.note("create");
        call(&mut self.create, world)
    }

    fn on_start_running(&mut self, world: &mut World) -> SystemResult {
        self.note("start");
        call(&mut self.start, world)
    }

    fn on_update(&mut self, world: &mut World) -> SystemResult {
        self.note("update");
        call(&mut self.update, world)
    }

    fn on_stop_running(&mut self, world: &mut World) -> SystemResult {
        self.note("stop");
        call(&mut self.stop, world)
    }

    fn on_destroy(&mut self, world: &mut World) -> SystemResult {
        self.note("destroy");
        call(&mut self.destroy, world)
    }
}
