//! Registry of live containers, with the place and the frame in which they were created.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ancho_jobs::ContainerLabel;

/// A live container: neither dropped nor disposed of.
///
/// # Examples
///
/// ```
/// let memory = ancho_collections::FrameMemory::new("Game");
/// assert_eq!(memory.live(), []);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiveContainer {
    /// Name of the container, and the place where it was created.
    pub label: ContainerLabel,
    /// Name of the container's allocator.
    pub allocator: &'static str,
    /// Frame in which the container was created.
    pub frame: u64,
}

/// The live containers of one or more allocators, in the order in which they were created.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Current frame.
    frame: u64,
    /// The number of the next container. Numbers and frames only rise.
    next: u64,
    /// Number of the first container that `Registry::advance` has not examined. It reports each once.
    looked_at: u64,
    live: BTreeMap<u64, LiveContainer>,
}

/// A container's entry in a [`Registry`], removed when this is dropped. The entry of a forgotten
/// container stays.
#[derive(Debug)]
pub(crate) struct Registration {
    registry: Arc<Registry>,
    number: u64,
}

impl Registry {
    /// Registers a container.
    pub(super) fn register(
        self: &Arc<Self>,
        label: ContainerLabel,
        allocator: &'static str,
    ) -> Registration {
        let mut state = self.state();
        let number = state.next;
        state.next += 1;
        let frame = state.frame;
        state.live.insert(number, LiveContainer { label, allocator, frame });
        Registration { registry: Arc::clone(self), number }
    }

    /// Returns the current frame.
    pub(super) fn frame(&self) -> u64 {
        self.state().frame
    }

    /// Begins the next frame, and returns the containers of one allocator that have just become
    /// more than `frames` old.
    pub(super) fn advance(
        &self,
        allocator: &'static str,
        frames: u64,
    ) -> (u64, Vec<LiveContainer>) {
        let mut state = self.state();
        state.frame += 1;
        let frame = state.frame;
        // Numbers and frames rise together, so the oldest come first.
        let is_old = |container: &LiveContainer| frame - container.frame > frames;
        let found = state.live.range(state.looked_at..);
        let old: Vec<_> = found.take_while(|(_, container)| is_old(container)).collect();
        let looked_at = old.last().map_or(state.looked_at, |(number, _)| **number + 1);
        let reported = old.into_iter().map(|(_, container)| *container);
        let reported = reported.filter(|container| container.allocator == allocator).collect();
        state.looked_at = looked_at;
        (frame, reported)
    }

    /// Returns all live containers, in the order in which they were created.
    pub(super) fn live(&self) -> Vec<LiveContainer> {
        self.state().live.values().copied().collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // No code under the lock panics half way, so a poisoned lock is ignored.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Registration {
    /// Changes the container's label.
    pub(crate) fn relabel(&self, label: ContainerLabel) {
        if let Some(container) = self.registry.state().live.get_mut(&self.number) {
            container.label = label;
        }
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.registry.state().live.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::mem::ManuallyDrop;

    use super::*;

    fn label(name: &'static str) -> ContainerLabel {
        ContainerLabel::of::<u32>().named(name)
    }

    fn names(containers: &[LiveContainer]) -> Vec<ContainerLabel> {
        containers.iter().map(|container| container.label).collect()
    }

    #[test]
    fn containers_are_listed_in_the_order_in_which_they_were_made() {
        let registry = Arc::new(Registry::default());
        let made = ["c", "a", "b"].map(label);
        let [c, a, b] = made.map(|label| registry.register(label, "TempJob"));
        assert_eq!(names(&registry.live()), made);
        drop(a);
        assert_eq!(names(&registry.live()), [made[0], made[2]]);
        drop((c, b));
        assert_eq!(registry.live(), []);
    }

    #[test]
    fn a_container_that_becomes_too_old_is_reported_once() {
        let registry = Arc::new(Registry::default());
        let (first, second) = (label("first"), label("second"));
        let _first = registry.register(first, "TempJob");
        let _other = registry.register(label("other"), "Persistent");
        let mut reported = Vec::new();
        let _second = (1..=10)
            .map(|_| {
                let (frame, old) = registry.advance("TempJob", 4);
                reported.push((frame, names(&old)));
                (frame == 2).then(|| registry.register(second, "TempJob"))
            })
            .collect::<Vec<_>>();
        reported.retain(|(_, names)| !names.is_empty());
        assert_eq!(reported, [(5, vec![first]), (7, vec![second])]);
    }

    #[test]
    fn a_forgotten_container_stays_listed() {
        let registry = Arc::new(Registry::default());
        let lost = label("lost");
        // Not dropped until the end of the test, as if forgotten: the leak checker would report it
        // otherwise.
        let entry = ManuallyDrop::new(registry.register(lost, "TempJob"));
        assert_eq!(names(&registry.live()), [lost]);
        drop(ManuallyDrop::into_inner(entry));
    }

    #[test]
    fn a_container_can_be_renamed_and_dropped_on_another_thread() {
        let registry = Arc::new(Registry::default());
        let entry = registry.register(label("before"), "Persistent");
        let after = label("after");
        entry.relabel(after);
        assert_eq!(names(&registry.live()), [after]);
        std::thread::spawn(move || drop(entry)).join().unwrap();
        assert_eq!(registry.live(), []);
    }
}
