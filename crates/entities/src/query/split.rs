//! Several queries and lookups of a world at once.

#![expect(unsafe_code, reason = "one world that several views borrow")]

use std::any::type_name;
use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;

use super::access::{
    MOST_ALTERNATIVES, Meets, Viewed, has_too_many_alternatives, make_unique, meets, reads_mask,
};
use super::data::QueryData;
use super::filter::QueryFilter;
use super::lookup::Lookup;
use super::state::QueryState;
use super::system_query::{Conflict, conflict_of};
use super::terms::{Options, Settings};
use super::view::{Others, Query, state_of};
use super::walk::refuse;
use crate::all_tuples::all_tuples;
use crate::error::EntityError;
use crate::manager::EntityManager;
use crate::storage::{InlineVec, OutOfMemory, Storage};

/// Parts that a world can be [split](EntityManager::split) into: queries, lookups, and tuples of them.
///
/// | part | view |
/// |---|---|
/// | [`Query<D, F>`](crate::Query) | a `Query<D, F>` of the world's lifetime |
/// | [`Lookup<D, F>`](crate::Lookup) | a `Lookup<D, F>` of the world's lifetime |
/// | tuples of up to 16 parts | a tuple of the views |
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, Entity, Lookup, Query, World};
///
/// #[derive(Component, Clone, Copy)]
/// struct Health(u32);
///
/// #[derive(Component, Clone, Copy)]
/// struct Armour(u32);
///
/// fn strengthen((mut all, armour): (Query<&mut Health>, Lookup<&Armour>)) {
///     all.for_each(|health| health.0 += 1);
///     assert!(armour.get(Entity::NULL).is_none());
/// }
///
/// let mut world = World::new("Simulation");
/// let orc = world.spawn(Health(20));
/// strengthen(world.split::<(Query<&mut Health>, Lookup<&Armour>)>());
/// assert_eq!(world.get::<Health>(orc).unwrap().0, 21);
/// ```
///
/// # Safety
///
/// Not to be implemented outside of this crate.
#[diagnostic::on_unimplemented(
    message = "a world cannot be split into `{Self}`",
    label = "neither a query nor a lookup",
    note = "a world is split into a tuple of `Query<D, F>` and `Lookup<D, F>`"
)]
pub unsafe trait SplitParts: Sized {
    /// The views of the parts, for as long as the world is borrowed.
    type Views<'w>;

    /// Adds the parts to a world that is being split.
    #[doc(hidden)]
    fn add_to(splitting: &mut Splitting<'_>);

    /// Returns the views of the parts.
    ///
    /// # Safety
    ///
    /// - the parts were added with [`add_to`](Self::add_to) in this order, and were found not to conflict
    /// - chunks that a part can write are unshared
    #[doc(hidden)]
    unsafe fn views<'w>(splitting: &mut Splitting<'w>) -> Self::Views<'w>;
}

/// A world that is being split.
pub struct Splitting<'w> {
    entities: NonNull<EntityManager>,
    parts: InlineVec<SplitPart<'w>, FEW>,
    /// Number of parts whose views were created.
    viewed: usize,
    world: PhantomData<&'w mut EntityManager>,
}

#[derive(Clone, Copy)]
struct SplitPart<'w> {
    matched: &'w QueryState,
    is_lookup: bool,
    name: fn() -> String,
}

/// Number of parts that need no allocation. Worlds are split in each frame.
const FEW: usize = 8;

impl<'w> Splitting<'w> {
    /// Adds a part, with the state of its query.
    #[track_caller]
    fn add<D: QueryData, F: QueryFilter>(
        &mut self,
        options: Options,
        is_lookup: bool,
        name: fn() -> String,
    ) {
        // SAFETY: the manager is borrowed mutably for the lifetime, and no archetype is added meanwhile.
        let matched = unsafe { state_of::<D, F>(self.entities, options) };
        self.parts.push(SplitPart { matched, is_lookup, name });
    }

    /// Returns the manager, the state of the next part, and the views of other parts that a job of the part conflicts with.
    fn next(&mut self) -> (NonNull<EntityManager>, &'w QueryState, Meets<'w>) {
        // SAFETY: the manager is borrowed mutably for the lifetime, and no archetype is added meanwhile.
        let archetypes = unsafe { &(*self.entities.as_ptr()).storage.archetypes };
        let viewed = |&SplitPart { matched, is_lookup, .. }: &SplitPart<'w>| {
            let reads = move |ty| reads_mask(matched, archetypes, ty);
            (Viewed { plan: &matched.plan, is_lookup }, reads)
        };
        let part = self.parts.get(self.viewed).expect("as many views as parts");
        let (job, job_reads) = viewed(part);
        let others = self.parts.iter().enumerate().filter(|&(at, _)| at != self.viewed);
        let met = Meets::all(others.map(|(_, part)| {
            let (view, view_reads) = viewed(part);
            meets(job, view, job_reads, view_reads)
        }));
        self.viewed += 1;
        (self.entities, part.matched, met)
    }

    /// Panics if two parts can access the same value and one of them can write it.
    #[track_caller]
    fn refuse_conflicts(&self) {
        for (at, right) in self.parts.iter().enumerate() {
            for (before, left) in self.parts.iter().take(at).enumerate() {
                if let Some(conflict) = conflict_of(&left.matched.plan, &right.matched.plan) {
                    refuse_split(conflict, [(before + 1, left), (at + 1, right)]);
                }
            }
        }
    }

    /// Unshares all chunks that a part can write. Views cannot do so later, because other views may have references into the same
    /// chunks.
    fn make_unique(&mut self) -> Result<(), OutOfMemory> {
        // SAFETY: the world is borrowed mutably, and no views exist yet. The references are to two distinct fields.
        let (storage, jobs) =
            unsafe { (&mut (*self.entities.as_ptr()).storage, &(*self.entities.as_ptr()).jobs) };
        let Storage { chunks, archetypes, settings, .. } = storage;
        if chunks.may_be_shared() {
            for part in self.parts.iter() {
                make_unique(chunks, archetypes, settings, jobs, part.matched)?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Splitting<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.parts.iter().map(|part| (part.name)())).finish()
    }
}

#[cold]
#[track_caller]
fn refuse_split(conflict: Conflict, parts: [(usize, &SplitPart<'_>); 2]) -> ! {
    let Conflict { ty, bits, changes, switch } = conflict;
    let what = if bits { "the enabled bit of" } else { "the values of" };
    let mixed = parts.iter().find(|(_, part)| has_too_many_alternatives(&part.matched.plan));
    let mixed = mixed.map_or(String::new(), |(number, _)| {
        format!(
            " outside of `Or`: the filters of part {number} have more than {MOST_ALTERNATIVES} alternatives, which are \
             not compared one by one"
        )
    });
    let [left, right] = [0, 1].map(|at| {
        let (does, (number, part)) = (if changes[at] { "changes" } else { "reads" }, parts[at]);
        format!("part {number}, `{}`, {does}", (part.name)())
    });
    if let Some(switch) = switch {
        panic!(
            "A0093: the world cannot be split this way: {left} and {right} {what} `{ty}`, and only the enableable \
             component `{switch}` separates their entities; filter by `Absent<{switch}>` instead of \
             `Without<{switch}>`, or by a component that is not enableable"
        );
    }
    panic!(
        "A0092: the world cannot be split this way: {left} and {right} {what} `{ty}`, possibly of the same entity; \
         access it in one part, or filter one by `With<T>` and the other by `Without<T>`, with a component that \
         separates their entities{mixed}"
    );
}

// SAFETY: `add_to` adds one part, and `views` creates the view of that part.
unsafe impl<D: QueryData, F: QueryFilter> SplitParts for Query<'_, D, F> {
    type Views<'w> = Query<'w, D, F>;

    #[track_caller]
    fn add_to(splitting: &mut Splitting<'_>) {
        let name = || format!("Query<{}, {}>", type_name::<D>(), type_name::<F>());
        splitting.add::<D, F>(Options::NONE, false, name);
    }

    unsafe fn views<'w>(splitting: &mut Splitting<'w>) -> Query<'w, D, F> {
        let (entities, matched, meets) = splitting.next();
        // SAFETY:
        // - the manager is borrowed mutably for the lifetime
        // - only views use the manager, and the parts were found not to conflict
        // - the state belongs to the manager and to this data, and no archetype is added as long as the views exist
        // - chunks that a part can write are unshared
        // - `meets` describes the other views
        unsafe { Query::new(entities, matched, Settings::default(), Others::met(&meets)) }
    }
}

// SAFETY: `add_to` adds one part, and `views` creates the view of that part.
unsafe impl<D: QueryData, F: QueryFilter> SplitParts for Lookup<'_, D, F> {
    type Views<'w> = Lookup<'w, D, F>;

    #[track_caller]
    fn add_to(splitting: &mut Splitting<'_>) {
        let name = || format!("Lookup<{}, {}>", type_name::<D>(), type_name::<F>());
        splitting.add::<D, F>(Lookup::<D, F>::OPTIONS, true, name);
    }

    unsafe fn views<'w>(splitting: &mut Splitting<'w>) -> Lookup<'w, D, F> {
        let (entities, matched, meets) = splitting.next();
        // SAFETY:
        // - the manager is borrowed mutably for the lifetime, and only views use it
        // - the state belongs to the manager and to a lookup of this data with these filters
        // - the parts were found not to conflict
        // - chunks that a part can write are unshared
        // - `meets` are the views that a job with this lookup conflicts with
        unsafe { Lookup::new(entities, matched, meets) }
    }
}

macro_rules! implement {
    ($($name:ident $index:tt,)+) => {
        // SAFETY: the parts are added, and their views created, in the order of the elements.
        unsafe impl<$($name: SplitParts),+> SplitParts for ($($name,)+) {
            type Views<'w> = ($($name::Views<'w>,)+);

            #[track_caller]
            fn add_to(splitting: &mut Splitting<'_>) {
                $($name::add_to(splitting);)+
            }

            unsafe fn views<'w>(splitting: &mut Splitting<'w>) -> Self::Views<'w> {
                // SAFETY: the parts were added in the order of the elements and do not conflict, and their chunks are unshared.
                unsafe { ($($name::views(splitting),)+) }
            }
        }
    };
}

all_tuples!(implement);

impl EntityManager {
    /// Returns several queries and lookups that can be used at the same time, for example in nested loops.
    ///
    /// Data that one part can write must not be fetched by another part. So the parts must fetch different components, or their
    /// filters must make them disjoint. Two queries are disjoint if one requires a component that the other excludes. If the
    /// component is enableable, [`Absent`](crate::Absent) must exclude it. Otherwise [`Without`](crate::Without) is enough.
    ///
    /// # Panics
    ///
    /// - with A0092 if one part can write data that another part fetches
    /// - with A0093 if only the enabled state of a component separates the entities of such parts
    /// - with the codes of [`query`](Self::query)
    /// - if chunks are shared with a fork and there is no memory for copies: see [`try_split`](Self::try_split)
    ///
    /// # Complexity
    ///
    /// A few comparisons. In a world that was ever forked, also linear in the number of chunks that the parts can write, about a
    /// nanosecond each. Chunks that are shared with a fork are copied immediately. Chunks are marked as changed when they are used.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, Entity, Lookup, Query, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Position(f32);
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Target(Entity);
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let orc = world.spawn((Position(3.0), Health(20)));
    /// world.spawn((Position(2.5), Target(orc)));
    /// world.spawn((Position(9.0), Target(orc)));
    ///
    /// let (archers, positions, mut health) =
    ///     world.split::<(Query<(&Position, &Target)>, Lookup<&Position>, Lookup<&mut Health>)>();
    /// for (position, target) in &archers {
    ///     let distance = positions.get(target.0).unwrap().0 - position.0;
    ///     if distance.abs() < 1.0 {
    ///         health.get_mut(target.0).unwrap().0 -= 5;
    ///     }
    /// }
    /// assert_eq!(world.get::<Health>(orc).unwrap().0, 15);
    /// ```
    ///
    /// A query of a split can become a [job](Query::job). The job conflicts with another view of the split if one of them writes
    /// enabled bits or versions that the other reads. Scheduling then waits until the job is completed, because the view may be in
    /// a loop, and one thread runs the job.
    ///
    /// Two parts that write the same component of different entities:
    ///
    /// ```
    /// use ancho_entities::{Component, Query, With, Without, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Vampire;
    ///
    /// let mut world = World::new("Simulation");
    /// let vampire = world.spawn((Health(10), Vampire));
    /// world.spawn_many(Health(20), 3);
    /// let (mut vampires, mut others) =
    ///     world.split::<(Query<&mut Health, With<Vampire>>, Query<&mut Health, Without<Vampire>>)>();
    /// vampires.for_each(|vampire| {
    ///     for victim in others.iter_mut() {
    ///         victim.0 -= 1;
    ///         vampire.0 += 1;
    ///     }
    /// });
    /// assert_eq!(world.get::<Health>(vampire).unwrap().0, 13);
    /// ```
    #[track_caller]
    pub fn split<P: SplitParts>(&mut self) -> P::Views<'_> {
        match self.try_split::<P>() {
            Ok(views) => views,
            Err(error) => refuse(error),
        }
    }

    /// Returns several queries and lookups that can be used at the same time, or an error if there is no memory. See
    /// [`split`](Self::split).
    ///
    /// # Errors
    ///
    /// Returns an error if chunks that a part can write are shared with a fork and there is no memory for copies.
    ///
    /// # Panics
    ///
    /// Panics with the codes of [`split`](Self::split).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{ChunkArena, Component, Query, World, WorldSettings};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// // Memory for one chunk, which the fork shares.
    /// let settings = WorldSettings::new().arena(ChunkArena::with_limit(16 * 1024));
    /// let mut world = World::with_settings("Simulation", settings);
    /// world.spawn(Health(20));
    /// let fork = world.fork().unwrap();
    /// assert!(world.try_split::<Query<&mut Health>>().is_err());
    /// assert!(world.try_split::<Query<&Health>>().is_ok());
    /// ```
    #[track_caller]
    pub fn try_split<P: SplitParts>(&mut self) -> Result<P::Views<'_>, EntityError> {
        let mut splitting = Splitting {
            entities: NonNull::from(self),
            parts: InlineVec::new(),
            viewed: 0,
            world: PhantomData,
        };
        P::add_to(&mut splitting);
        splitting.refuse_conflicts();
        splitting.make_unique()?;
        // SAFETY: the parts were just added. They do not conflict, and the chunks that they can write are unshared.
        Ok(unsafe { P::views(&mut splitting) })
    }
}
