//! Why a job over entities was not scheduled.

use std::error::Error;
use std::fmt;

use ancho_jobs::{ContainerLabel, ScheduleError};

use crate::component::ComponentType;
use crate::error::EntityError;
use crate::storage::OutOfMemory;

/// Why a job over entities was not scheduled. Nothing was changed.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, World};
/// use ancho_jobs::JobCell;
///
/// #[derive(Component, Clone, Copy)]
/// struct Health(u32);
///
/// let mut world = World::new("Simulation");
/// let mut sum = JobCell::new(0);
/// let first = world.jobs().named("Reset").schedule(&[], sum.write(), |sum| *sum = 0).unwrap();
/// let add = world.query::<&Health>().job().named("Add").with(sum.write());
/// let refused = add.schedule(|health, sum| **sum += health.0).unwrap_err();
/// assert!(refused.to_string().starts_with("A0001: job `Add` writes the JobCell<u32> "));
/// world.jobs().complete(first);
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum JobError {
    /// Jobs refused it: because of a container that is in use, or a handle of another world, or from inside a job.
    NotScheduled(ScheduleError),
    /// Chunks are shared with a fork, and there is no memory for copies.
    OutOfMemory(OutOfMemory),
    /// A0076: how many entities the query finds depends on what is switched off or has changed, and so is not known before the
    /// job runs.
    NotCounted {
        /// The data of the query.
        query: &'static str,
    },
    /// A0135: the query does not give the values of a component.
    NotGiven {
        /// The component.
        component: ComponentType,
        /// Whether they were to be changed.
        to_change: bool,
    },
    /// A0158: a container that a [`ChunkJob`](crate::ChunkJob) writes has fewer elements than the query has chunks.
    TooFewForChunks {
        /// The container.
        container: ContainerLabel,
        /// The job that was refused.
        job: &'static str,
        /// How many elements the container has.
        length: usize,
        /// How many chunks the query has, unfiltered.
        chunks: usize,
    },
}

impl fmt::Display for JobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NotScheduled(error) => error.fmt(f),
            Self::OutOfMemory(error) => error.fmt(f),
            Self::NotCounted { query } => write!(
                f,
                "A0076: which entities the query of `{query}` finds depends on what is switched off or has changed, so that \
                 they have no numbers before the job runs; say `ignore_enabled`, leave out filters of changes, or schedule a \
                 job over the query with `IndexInQuery`"
            ),
            Self::NotGiven { component, to_change } => {
                EntityError::NotGiven { component, to_change }.fmt(f)
            }
            Self::TooFewForChunks { container, job, length, chunks } => write!(
                f,
                "A0158: chunk job `{job}` writes an element for each of {chunks} chunks, but {container} has {length} elements; \
                 make it as long as `count_chunks_unfiltered` of the query, or write an element for each entity by an `EntityJob`"
            ),
        }
    }
}

impl fmt::Debug for JobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error for JobError {}

impl From<ScheduleError> for JobError {
    fn from(error: ScheduleError) -> Self {
        Self::NotScheduled(error)
    }
}

impl From<OutOfMemory> for JobError {
    fn from(error: OutOfMemory) -> Self {
        Self::OutOfMemory(error)
    }
}
