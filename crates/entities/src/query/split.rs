//! Several queries and lookups of a world at once.

#![expect(unsafe_code, reason = "one world that several views borrow")]

use std::any::type_name;
use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;

use super::access::{
    Disjoint, MOST_ALTERNATIVES, Meets, Viewed, disjoint, has_too_many_alternatives, make_unique,
    meets, reads_mask,
};
use super::data::QueryData;
use super::filter::QueryFilter;
use super::lookup::Lookup;
use super::state::QueryState;
use super::terms::{Options, Part, Plan, Settings};
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
/// | [`Query<D, F>`](crate::Query) | the same |
/// | [`Lookup<D, F>`](crate::Lookup) | the same |
/// | tuples of up to 16 | a tuple |
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

    /// Adds the requirements of each part.
    #[doc(hidden)]
    fn add_to(splitting: &mut Splitting<'_>);

    /// Returns the views of the parts.
    ///
    /// # Safety
    ///
    /// - the parts were added in this order, and checked
    #[doc(hidden)]
    unsafe fn views<'w>(splitting: &mut Splitting<'w>) -> Self::Views<'w>;
}

/// A world that is being split.
pub struct Splitting<'w> {
    entities: NonNull<EntityManager>,
    parts: InlineVec<SplitPart<'w>, FEW>,
    /// Number of parts that have their views.
    viewed: usize,
    world: PhantomData<&'w mut EntityManager>,
}

#[derive(Clone, Copy)]
struct SplitPart<'w> {
    matched: &'w QueryState,
    is_lookup: bool,
    name: fn() -> String,
}

/// Number of parts without an allocation: worlds are split in each frame.
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

    /// Returns the next part, and the conflicts of a job of it with other views.
    fn next(&mut self) -> (NonNull<EntityManager>, &'w QueryState, Meets<'w>) {
        let part = self.parts.get(self.viewed).expect("as many views as parts");
        let meets = self.meets_others(self.viewed, part);
        self.viewed += 1;
        (self.entities, part.matched, meets)
    }

    /// Returns the conflicts of a job of one of the parts with views of the others.
    fn meets_others(&self, at: usize, job: &SplitPart<'w>) -> Meets<'w> {
        // SAFETY: the manager is borrowed mutably for the lifetime, and no archetype is added meanwhile.
        let archetypes = unsafe { &(*self.entities.as_ptr()).storage.archetypes };
        let others = self.parts.iter().enumerate().filter(|&(other, _)| other != at);
        let viewed =
            |part: &SplitPart<'w>| Viewed { plan: &part.matched.plan, is_lookup: part.is_lookup };
        let reads = |part: &SplitPart<'w>| {
            let matched = part.matched;
            move |ty| reads_mask(matched, archetypes, ty)
        };
        let met = |view| meets(viewed(job), viewed(view), reads(job), reads(view));
        Meets::all(others.map(|(_, view)| met(view)))
    }

    /// Panics if two parts can access the same value and one of them can write it.
    #[track_caller]
    fn refuse_conflicts(&self) {
        for (at, right) in self.parts.iter().enumerate() {
            for (before, left) in self.parts.iter().take(at).enumerate() {
                let (left_plan, right_plan) = (&left.matched.plan, &right.matched.plan);
                let Some((of_left, of_right)) = conflict(left_plan, right_plan) else { continue };
                let apart = disjoint(left_plan, right_plan);
                if apart == Disjoint::Archetypes {
                    debug_assert!(
                        left.matched
                            .matches
                            .iter()
                            .all(|found| { !right.matched.has(found.archetype) })
                    );
                    continue;
                }
                let (first, second) = (before + 1, at + 1);
                refuse_split(apart, of_left, [(first, left, of_left), (second, right, of_right)]);
            }
        }
    }

    /// Unshares everything that can be written: later, other views have values in the same chunks.
    fn make_unique(&mut self) -> Result<(), OutOfMemory> {
        // SAFETY: the world is borrowed mutably, and there are no views yet. These are two distinct fields.
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

/// Returns a component that both queries fetch and one of them can write.
pub(super) fn conflict(left: &Plan, right: &Plan) -> Option<(Part, Part)> {
    left.parts.iter().find_map(|&one| {
        let same = |other: &&Part| {
            other.ty == one.ty && other.bits == one.bits && (other.write || one.write)
        };
        Some((one, *right.parts.iter().find(same)?))
    })
}

#[cold]
#[track_caller]
fn refuse_split(apart: Disjoint, what: Part, parts: [(usize, &SplitPart<'_>, Part); 2]) -> ! {
    let ty = what.ty;
    let what = if what.bits { "whether it is on, of" } else { "the values of" };
    let mixed = parts.iter().find(|(_, part, _)| has_too_many_alternatives(&part.matched.plan));
    let mixed = mixed.map_or(String::new(), |(number, ..)| {
        format!(
            " outside of `Or`: there are more than {MOST_ALTERNATIVES} ways to pass the filters of part {number}, and they are not \
             looked at one by one"
        )
    });
    let [left, right] = parts.map(|(number, part, of)| {
        let does = if of.write { "changes" } else { "reads" };
        let name = (part.name)();
        format!("part {number}, `{name}`, {does}")
    });
    if let Disjoint::Switch(switch) = apart {
        panic!(
            "A0093: the world cannot be split so: {left} and {right} {what} `{ty}`, and only `{switch}` tells their entities \
             apart, which can be switched off and on; filter by `Absent<{switch}>` instead of `Without<{switch}>`, or by a \
             component that cannot be switched off"
        );
    }
    panic!(
        "A0092: the world cannot be split so: {left} and {right} {what} `{ty}`, perhaps of one entity; ask for it in one part, \
         or filter one by `With<T>` and the other by `Without<T>`, of a component that tells their entities apart{mixed}"
    );
}

// SAFETY: one part, whose view is that of the part that was added.
unsafe impl<D: QueryData, F: QueryFilter> SplitParts for Query<'_, D, F> {
    type Views<'w> = Query<'w, D, F>;

    #[track_caller]
    fn add_to(splitting: &mut Splitting<'_>) {
        let name = || format!("Query<{}, {}>", type_name::<D>(), type_name::<F>());
        splitting.add::<D, F>(Options::NONE, false, name);
    }

    unsafe fn views<'w>(splitting: &mut Splitting<'w>) -> Query<'w, D, F> {
        let (entities, matched, meets) = splitting.next();
        // SAFETY: the manager is borrowed mutably, the state belongs to this query, the parts do not conflict, and chunks that they
        // can write are unshared.
        unsafe { Query::new(entities, matched, Settings::default(), Others::met(&meets)) }
    }
}

// SAFETY: one part, whose view is that of the part that was added.
unsafe impl<D: QueryData, F: QueryFilter> SplitParts for Lookup<'_, D, F> {
    type Views<'w> = Lookup<'w, D, F>;

    #[track_caller]
    fn add_to(splitting: &mut Splitting<'_>) {
        let name = || format!("Lookup<{}, {}>", type_name::<D>(), type_name::<F>());
        splitting.add::<D, F>(Lookup::<D, F>::OPTIONS, true, name);
    }

    unsafe fn views<'w>(splitting: &mut Splitting<'w>) -> Lookup<'w, D, F> {
        let (entities, matched, meets) = splitting.next();
        // SAFETY: the manager is borrowed mutably, the state belongs to this lookup, the parts do not conflict, and chunks that
        // they can write are unshared.
        unsafe { Lookup::new(entities, matched, meets) }
    }
}

macro_rules! implement {
    ($($name:ident $index:tt,)+) => {
        // SAFETY: the parts are added and viewed in one order.
        unsafe impl<$($name: SplitParts),+> SplitParts for ($($name,)+) {
            type Views<'w> = ($($name::Views<'w>,)+);

            #[track_caller]
            fn add_to(splitting: &mut Splitting<'_>) {
                $($name::add_to(splitting);)+
            }

            unsafe fn views<'w>(splitting: &mut Splitting<'w>) -> Self::Views<'w> {
                // SAFETY: the caller upholds it for all parts, which are viewed in the order in which they were added.
                unsafe { ($($name::views(splitting),)+) }
            }
        }
    };
}

all_tuples!(implement);

impl EntityManager {
    /// Returns several queries and lookups at once, so that loops can be nested and other entities be written inside them.
    ///
    /// Data that one part can write must not be fetched by another: the parts fetch different components, or their filters make
    /// them disjoint. Filters do so if one requires a component that the other excludes and that is not enableable.
    /// [`Absent`](crate::Absent) does so for all components.
    ///
    /// # Panics
    ///
    /// - A0092 if one part can write data that another part fetches
    /// - A0093 if only an enableable component keeps their entities apart
    /// - A0086 and A0070, as each query
    /// - if chunks are shared with a fork and there is no memory for copies: see [`try_split`](Self::try_split)
    ///
    /// # Complexity
    ///
    /// A few comparisons. In a world that was ever forked, linear in the number of chunks that can be changed, about a
    /// nanosecond each: those that are shared with a fork are copied immediately. Chunks are marked as changed when they are used.
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
    /// A query can become a [job](Query::job). If the job writes enabled bits or versions that another view of the split reads, or
    /// the other way round, scheduling waits for its completion: the other view may be in a loop.
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

    /// Returns several queries and lookups at once, as [`split`](Self::split) does, or an error if there is no memory.
    ///
    /// # Errors
    ///
    /// If chunks that a part can write are shared with a fork and there is no memory for copies.
    ///
    /// # Panics
    ///
    /// As [`split`](Self::split) does, except for the memory.
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
        // SAFETY: the parts were just added, and checked.
        Ok(unsafe { P::views(&mut splitting) })
    }
}
