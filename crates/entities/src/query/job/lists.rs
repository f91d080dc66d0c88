//! Jobs that list what a query finds, and that write lists to it.

#![expect(
    unsafe_code,
    reason = "values of chunks that jobs use when the call that scheduled them is over"
)]

use std::slice;

use ancho_collections::List;
use ancho_jobs::{Access, CellWrite, JobData, JobHandle, SliceRead};

use super::QueryJob;
use super::error::JobError;
use super::token::QueryWhole;
use crate::component::{Component, ComponentType};
use crate::entity::Entity;
use crate::error::EntityError;
use crate::manager::Resource;
use crate::query::data::{QueryData, track_rows};
use crate::query::pool::Pooled;
use crate::query::rows::{OpenPiece, Rows};
use crate::query::uses::Asked;

/// Jobs that list what is found, for the jobs after them, and the other way round.
///
/// What [`to_entities`](crate::QueryRef::to_entities), [`to_components`](crate::QueryRef::to_components) and
/// [`copy_from`](crate::QueryMut::copy_from) do at once, these do when their turn comes: what is found is settled then, as it is for
/// every job. Until a job is completed, nobody can look at its list but jobs after it. Lists have the
/// same order, and go together if nothing changes between two jobs.
impl<D: QueryData> QueryJob<'_, D> {
    /// Schedules a job that lists the entities that are found, in the order of [`to_entities`](crate::QueryRef::to_entities).
    ///
    /// What is in the list before is removed. The values that the query gives are not used, so that jobs that write them are not in
    /// the way. Unity's `ToEntityListAsync`.
    ///
    /// # Errors
    ///
    /// As [`schedule`](Self::schedule); also with A0001 if the list is in use by a job that this one is not ordered after.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::NativeList;
    /// use ancho_entities::{Component, With, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Orc;
    ///
    /// let mut world = World::new("Simulation");
    /// let orc = world.spawn(Orc);
    /// let mut orcs = NativeList::new();
    /// let list = world.query::<()>().filter::<With<Orc>>().job().schedule_to_entities(orcs.write())?;
    /// assert!(orcs.get().is_err(), "it is not known yet how many there are");
    /// world.jobs().complete(list);
    /// assert_eq!(orcs.get()?[..], [orc]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn schedule_to_entities(
        self,
        list: CellWrite<'_, List<Entity>>,
    ) -> Result<JobHandle, JobError> {
        // SAFETY: of no data.
        let rows = unsafe { self.collect_for::<()>(Asked::Found, None) }?;
        self.submit_found(rows, list, "to_entities", |rows, count, list: &mut List<Entity>| {
            list.clear();
            each_piece(rows, count, |piece| {
                let entities = piece.chunk.entities();
                piece.each_run(|run| {
                    list.extend_from_slice(&entities[run.start as usize..run.end as usize]);
                });
            });
        })
    }

    /// Schedules a job that lists the values of a component, in the order of [`to_entities`](crate::QueryRef::to_entities).
    ///
    /// What is in the list before is removed. Unity's `ToComponentDataListAsync`.
    ///
    /// # Errors
    ///
    /// As [`schedule_to_entities`](Self::schedule_to_entities); also with A0135 unless the query gives the component.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::NativeList;
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Clone, Copy, Debug, PartialEq)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// world.spawn_batch([Health(1), Health(2)]);
    /// let _ = world.query_mut::<&mut Health>().schedule(|health| health.0 *= 10)?;
    /// let mut all = NativeList::<Health>::new();
    /// let list = world.query::<&Health>().job().schedule_to_components(all.write())?;
    /// world.jobs().complete(list);
    /// assert_eq!(all.get()?[..], [Health(10), Health(20)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn schedule_to_components<T: Component + Clone>(
        self,
        list: CellWrite<'_, List<T>>,
    ) -> Result<JobHandle, JobError> {
        let component = self.given::<T>(false)?;
        let values = (Resource::Values(component), Access::Read);
        // SAFETY: of no data.
        let rows = unsafe { self.collect_for::<()>(Asked::Found, Some(values)) }?;
        self.submit_found(rows, list, "to_components", |rows, count, list: &mut List<T>| {
            list.clear();
            each_piece(rows, count, |piece| {
                let column = Column::<T>::of(&piece);
                piece.each_run(|run| {
                    let first = column.first.wrapping_add(run.start as usize).cast_const();
                    // SAFETY: these are rows of the chunk. The query gives the values, so that who could change them waits for
                    // the job: it has declared that it reads them.
                    let values = unsafe { slice::from_raw_parts(first, run.len()) };
                    list.reserve(values.len());
                    list.extend(values.iter().cloned());
                });
            });
        })
    }

    /// Schedules a job that writes values of a component to the entities, in the order of
    /// [`to_entities`](crate::QueryRef::to_entities). It counts as changed from then on.
    ///
    /// The values are the elements of a list or of an array, perhaps of one that jobs before this have still to fill. Unity's
    /// `CopyFromComponentDataListAsync`.
    ///
    /// # Errors
    ///
    /// As [`schedule_to_entities`](Self::schedule_to_entities); also with A0135 unless the query gives the component to be changed.
    ///
    /// # Panics
    ///
    /// The job does, with A0060, unless there are as many values as entities when it runs. Then nothing is written.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_collections::NativeList;
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Clone, Copy, Debug, PartialEq)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let orc = world.spawn(Health(20));
    /// let mut saved = NativeList::<Health>::new();
    /// let save = world.query::<&Health>().job().schedule_to_components(saved.write())?;
    /// let _ = world.query_mut::<&mut Health>().schedule(|health| health.0 = 0)?;
    /// let load = world.query_mut::<&mut Health>().job().depends_on(&[save]).schedule_copy_from(saved.read_elements())?;
    /// assert_eq!(world.get::<Health>(orc)?.0, 20);
    /// # let _ = load;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn schedule_copy_from<T: Component + Copy>(
        self,
        values: SliceRead<'_, T>,
    ) -> Result<JobHandle, JobError> {
        let component = self.given::<T>(true)?;
        let written = (Resource::Values(component), Access::Write);
        // SAFETY: it is the data of the query.
        let rows = unsafe { self.collect_for::<D>(Asked::Found, Some(written)) }?;
        self.submit_found(rows, values, "copy_from", move |rows, count, values: &[T]| {
            let mut expected = 0;
            each_piece(rows, count, |piece| piece.each_run(|run| expected += run.len()));
            let found = values.len();
            if expected != found {
                panic!("{}", EntityError::WrongCount { component, expected, found });
            }
            let mut rest = values;
            each_piece(rows, count, |piece| {
                let column = Column::<T>::of(&piece);
                // SAFETY: the query gives the values to be changed: who else would use them, or what is noted of them, waits for
                // the job, which has declared that it writes them. Versions were written out, since it marks something.
                unsafe { piece.chunk.begin_writing(column.number, rows.version()) };
                let written = piece.chunk.tracked_column(column.number);
                piece.each_run(|run| {
                    let (now, later) = rest.split_at(run.len());
                    let first = run.start as usize;
                    // SAFETY: as above. These are rows of the chunk, which was made the world's alone when the job was
                    // scheduled. Nothing has to be dropped of what can be copied.
                    unsafe {
                        track_rows(written, first, now.len());
                        column.first.add(first).copy_from_nonoverlapping(now.as_ptr(), now.len());
                    }
                    rest = later;
                });
            });
        })
    }

    /// A component whose values the query gives: to be changed, or at all.
    fn given<T: Component>(&self, to_change: bool) -> Result<ComponentType, JobError> {
        let component = ComponentType::of::<T>();
        match self.matched.plan.gives(component, to_change) {
            true => Ok(component),
            false => Err(JobError::NotGiven { component, to_change }),
        }
    }

    /// Schedules a job for one thread: a function that is given the chunks in which something is found, as pieces, and how many there
    /// are.
    #[track_caller]
    fn submit_found<X, C>(
        self,
        rows: Pooled<Rows>,
        extra: X,
        name: &'static str,
        function: C,
    ) -> Result<JobHandle, JobError>
    where
        X: JobData,
        C: FnOnce(&Rows, usize, X::Whole<'_>) + Send + 'static,
    {
        let token = self.token_of::<_, ()>(rows, extra);
        let name = self.name.unwrap_or(name);
        let scheduled = self.builder(name).schedule(
            self.dependencies,
            token,
            move |whole: QueryWhole<'_, X>| {
                // SAFETY: the job runs, and this is its view.
                let (rows, count, extra) = unsafe { whole.found() };
                function(rows, count, extra);
            },
        );
        self.noted(name, scheduled)
    }
}

/// Calls a function for each of the pieces, of which there are so many.
fn each_piece(rows: &Rows, count: usize, mut function: impl FnMut(OpenPiece<'_, ()>)) {
    for at in 0..count {
        // SAFETY: it is prepared for no data. Of that nothing can be changed, however often a piece is opened.
        function(unsafe { rows.open::<()>(at) });
    }
}

/// Where the values of a component are in a chunk.
struct Column<T> {
    number: u32,
    first: *mut T,
}

impl<T: Component> Column<T> {
    /// The column of a chunk whose entities have the component.
    fn of(piece: &OpenPiece<'_, ()>) -> Self {
        let place = piece.chunk.find(ComponentType::of::<T>()).expect("the query asks for it");
        Self { number: place.column, first: piece.chunk.column(place.offset).cast() }
    }
}
