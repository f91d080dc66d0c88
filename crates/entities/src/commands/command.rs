//! What a kind of commands is written as: types with a method that does the work. Verbs are made of them.

#![expect(unsafe_code, reason = "payloads of commands, whose types their verbs know")]

use std::alloc::Layout;
use std::fmt;
use std::marker::PhantomData;
use std::mem::needs_drop;
use std::ptr;
use std::slice;

use super::fold::Folding;
use super::lane::drop_each;
use super::play::{Fault, Player, Run};
use super::recorder::CommandRecorder;
use super::verb::{Deed, Kind, List, Verb};
use crate::builtin::Prefab;
use crate::component::ComponentType;
use crate::entity::Entity;
use crate::manager::{Archetype, EntityManager, Spaced};
use crate::set::ComponentSet;
use crate::storage::StagingArena;

/// A command: what was recorded of it, beside its target.
pub(super) trait Command: Sized + Send + 'static {
    const KIND: Kind;

    /// Whether it can be carried out together with others: see [`fold`](Self::fold).
    const FOLDS: bool = false;

    /// Notes what it does, instead of doing it. Returns whether that can be: if it would fail, it cannot be.
    #[inline]
    fn fold(_: Folding<'_, '_, Self>) -> bool {
        false
    }

    const DEED: Deed = Deed::Other;

    /// The number of the set of components that it gives or takes.
    fn set_number(_: &mut EntityManager) -> Option<u32> {
        None
    }

    /// Carries it out.
    fn play(self, player: &mut Player<'_>, target: Entity) -> Result<(), Fault>;

    /// A second one that does the same, for commands that are played several times.
    fn duplicate(&mut self) -> Result<Self, Fault>;

    /// Carries it out, and keeps it for the next time.
    #[inline]
    fn play_kept(&mut self, player: &mut Player<'_>, target: Entity) -> Result<(), Fault> {
        self.duplicate()?.play(player, target)
    }

    /// Says in words what it does. It may have been moved from here: only fields that can be copied are looked at.
    fn describe(&self, target: Entity, f: &mut fmt::Formatter<'_>) -> fmt::Result;

    /// Calls a function with each entity that it is done to.
    fn named(&self, target: Entity, each: &mut dyn FnMut(Entity)) {
        each(target);
    }

    /// Notes which components it gives.
    fn gives(&self, _: &mut Given<'_>) {}

    /// Carries out commands that follow each other, until there are no more, or one fails.
    #[inline]
    fn play_run(player: &mut Player<'_>, run: &mut CommandRun<'_, '_, Self>) -> Result<(), Fault> {
        while run.play_next(player)? {}
        Ok(())
    }
}

/// Commands of one type that follow each other.
pub(super) struct CommandRun<'a, 'r, C> {
    run: &'a mut Run<'r>,
    keeps: bool,
    of: PhantomData<C>,
}

impl<C: Command> CommandRun<'_, '_, C> {
    /// The next, with its target.
    #[inline(always)]
    pub(super) fn next(&mut self) -> Result<Option<(Entity, C)>, Fault> {
        let Some((target, payload)) = self.run.next() else { return Ok(None) };
        let payload = payload.cast::<C>();
        let command = if self.keeps {
            // SAFETY: there is a command of this type, which nobody else uses meanwhile.
            unsafe { &mut *payload }.duplicate()?
        } else {
            // SAFETY: there is a command of this type, which is not used again.
            unsafe { payload.read() }
        };
        Ok(Some((target, command)))
    }

    /// Carries out the next. Returns whether there was one.
    #[inline(always)]
    pub(super) fn play_next(&mut self, player: &mut Player<'_>) -> Result<bool, Fault> {
        let Some((target, payload)) = self.run.next() else { return Ok(false) };
        let payload = payload.cast::<C>();
        if self.keeps {
            // SAFETY: there is a command of this type, which nobody else uses meanwhile.
            unsafe { &mut *payload }.play_kept(player, target)?;
        } else {
            // SAFETY: there is a command of this type, which is not used again.
            unsafe { payload.read() }.play(player, target)?;
        }
        Ok(true)
    }

    /// How many there are.
    pub(super) fn left(&self) -> usize {
        self.run.left()
    }

    /// Has all of them carried out at once by a function, which is given a part of each. It returns
    /// whether it did, and has moved them then. Not if they are kept, or not all equally far apart.
    pub(super) fn all_at_once<S>(
        &mut self,
        part: impl FnOnce(&mut C) -> &mut S,
        function: impl FnOnce(Spaced<S>) -> bool,
    ) -> bool {
        !self.keeps
            && self.run.all_at_once(|payload, step, count| {
                // SAFETY: there is a command of this type, which nobody else uses meanwhile.
                let first = ptr::from_mut(part(unsafe { &mut *payload.cast::<C>() }));
                let offset = first.addr() - payload.addr();
                // SAFETY: there are so many commands, each with such a part, which are the function's to use.
                function(unsafe { Spaced::new(payload.add(offset).cast(), step, count) })
            })
    }

    /// The target of the next.
    pub(super) fn next_target(&self) -> Option<Entity> {
        self.run.next_target()
    }
}

/// The verb of a type of commands.
struct VerbOf<C>(C);

impl<C: Command> VerbOf<C> {
    const VERB: &'static Verb = &Verb {
        align: align_of::<C>(),
        size: size_of::<C>(),
        drop: if needs_drop::<C>() { Some(drop_command::<C>) } else { None },
        play: play_commands::<C>,
        fold: if C::FOLDS { Some(fold_command::<C>) } else { None },
        describe: describe_command::<C>,
        kind: C::KIND,
        named: named_by_command::<C>,
        gives: command_gives::<C>,
        deed: C::DEED,
        set: C::set_number,
    };
}

/// See [`Verb`].
///
/// # Safety
///
/// - as there
unsafe fn drop_command<C>(payload: *mut u8) {
    // SAFETY: there is a command of this type, which is not used again.
    unsafe { ptr::drop_in_place(payload.cast::<C>()) }
}

/// See [`Verb`].
///
/// # Safety
///
/// - as there
unsafe fn play_commands<C: Command>(
    player: &mut Player<'_>,
    run: &mut Run<'_>,
) -> Result<(), Fault> {
    let keeps = player.keeps;
    C::play_run(player, &mut CommandRun { run, keeps, of: PhantomData })
}

/// See [`Verb`].
///
/// # Safety
///
/// - as there
unsafe fn fold_command<C: Command>(
    player: &mut Player<'_>,
    target: Entity,
    payload: *mut u8,
    place: *mut Entity,
) -> bool {
    // SAFETY: there is a command of this type, which nobody else uses.
    C::fold(unsafe { Folding::new(player, target, payload.cast(), place) })
}

/// See [`Verb`].
///
/// # Safety
///
/// - as there
unsafe fn describe_command<C: Command>(
    payload: *const u8,
    target: Entity,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    // SAFETY: there is a command of this type, or its bytes still are, of which only fields are read that can be copied.
    unsafe { &*payload.cast::<C>() }.describe(target, f)
}

/// See [`Verb`].
///
/// # Safety
///
/// - as there
unsafe fn named_by_command<C: Command>(
    payload: *mut u8,
    target: Entity,
    each: &mut dyn FnMut(Entity),
) {
    // SAFETY: there is a command of this type, which nobody else uses.
    unsafe { &*payload.cast::<C>() }.named(target, each);
}

/// See [`Verb`].
///
/// # Safety
///
/// - as there
unsafe fn command_gives<C: Command>(payload: *mut u8, given: &mut Given<'_>) {
    // SAFETY: there is a command of this type, which nobody else uses.
    unsafe { &*payload.cast::<C>() }.gives(given);
}

/// A command with a list of elements, whose number is known when it is recorded. This is what it has beside them.
pub(super) trait ListCommand: Sized + Send + 'static {
    /// One of the elements.
    type Element: Send + 'static;

    const KIND: Kind;

    /// Whether it can be carried out together with others: see [`fold`](Self::fold).
    const FOLDS: bool = false;

    /// Notes what it does, instead of doing it. Returns whether that can be: if it would fail, it cannot be.
    fn fold(_: Folding<'_, '_, Self>, _: Elements<'_, Self::Element>) -> bool {
        false
    }

    /// Carries it out.
    fn play(
        self,
        elements: Elements<'_, Self::Element>,
        player: &mut Player<'_>,
        target: Entity,
    ) -> Result<(), Fault>;

    /// A second one that does the same, elements aside.
    fn duplicate(&mut self) -> Result<Self, Fault>;

    /// Carries it out, and keeps it for the next time.
    fn play_kept(
        &mut self,
        elements: Elements<'_, Self::Element>,
        player: &mut Player<'_>,
        target: Entity,
    ) -> Result<(), Fault> {
        self.duplicate()?.play(elements, player, target)
    }

    /// Says in words what it does, with so many elements.
    fn describe(count: usize, target: Entity, f: &mut fmt::Formatter<'_>) -> fmt::Result;

    /// Calls a function with each entity that it is done to.
    fn named(_: Elements<'_, Self::Element>, target: Entity, each: &mut dyn FnMut(Entity)) {
        each(target);
    }

    /// Notes which components it gives.
    fn gives(_: Elements<'_, Self::Element>, _: &mut Given<'_>) {}
}

/// The elements of a command.
pub(super) struct Elements<'e, T> {
    first: *mut T,
    count: usize,
    next: usize,
    keeps: bool,
    memory: PhantomData<&'e mut T>,
}

impl<T> Elements<'_, T> {
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// Takes the next, or a duplicate of it.
    #[inline(always)]
    pub(super) fn next(
        &mut self,
        duplicate: impl FnOnce(&mut T) -> Result<T, Fault>,
    ) -> Option<Result<T, Fault>> {
        if self.next == self.count {
            return None;
        }
        // SAFETY: there are so many.
        let element = unsafe { self.first.add(self.next) };
        self.next += 1;
        Some(if self.keeps {
            // SAFETY: nobody else uses it meanwhile.
            duplicate(unsafe { &mut *element })
        } else {
            // SAFETY: it is not used again.
            Ok(unsafe { element.read() })
        })
    }
}

impl<T> Elements<'_, T> {
    /// All that were not taken, where they are. Those that are kept for the next playback are to stay as they are.
    pub(super) fn rest_mut(&mut self) -> &mut [T] {
        // SAFETY: there are so many, and they are this one's to use.
        unsafe { slice::from_raw_parts_mut(self.first.add(self.next), self.count - self.next) }
    }
}

impl<T> Elements<'_, T> {
    /// Duplicates of all of them, in memory that a world keeps: either each has one, or none does.
    pub(super) fn duplicates<'c>(
        &mut self,
        staging: &'c mut StagingArena,
        mut duplicate: impl FnMut(&mut T) -> Result<T, Fault>,
    ) -> Result<Duplicates<'c, T>, Fault> {
        let layout = Layout::array::<T>(self.count).expect("as large as what was recorded");
        let first = staging.place(layout).cast::<T>();
        let mut made = Duplicates { first, count: 0, next: 0, memory: PhantomData };
        for element in self.rest_mut() {
            let other = duplicate(element)?;
            // SAFETY: there is room for as many as there are elements.
            unsafe { first.add(made.count).write(other) };
            made.count += 1;
        }
        Ok(made)
    }
}

/// Duplicates of elements, which are dropped with it, unless they are taken.
pub(super) struct Duplicates<'c, T> {
    first: *mut T,
    count: usize,
    next: usize,
    memory: PhantomData<&'c mut T>,
}

impl<T> Iterator for Duplicates<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        if self.next == self.count {
            return None;
        }
        self.next += 1;
        // SAFETY: there are so many, and each is taken once.
        Some(unsafe { self.first.add(self.next - 1).read() })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.count - self.next;
        (left, Some(left))
    }
}

impl<T> Drop for Duplicates<'_, T> {
    fn drop(&mut self) {
        // SAFETY: these were not taken, and will not be.
        unsafe { drop_each(self.first.add(self.next), self.count - self.next) };
    }
}

impl<T: Copy> Elements<'_, T> {
    pub(super) fn as_slice(&self) -> &[T] {
        // SAFETY: there are so many, and those that can be copied are there also if they were taken.
        unsafe { slice::from_raw_parts(self.first, self.count) }
    }
}

impl<T> Drop for Elements<'_, T> {
    fn drop(&mut self) {
        if !self.keeps && needs_drop::<T>() {
            // SAFETY: these were not taken, and will not be.
            unsafe {
                let rest = self.first.add(self.next);
                drop_each(rest, self.count - self.next);
            }
        }
    }
}

/// The verb of a type of commands with lists.
struct ListVerbOf<C>(C);

impl<C: ListCommand> ListVerbOf<C> {
    const VERB: &'static Verb = &Verb {
        align: List::<C>::align::<C::Element>(),
        size: Verb::LISTED,
        drop: if needs_drop::<C>() || needs_drop::<C::Element>() {
            Some(drop_list::<C>)
        } else {
            None
        },
        play: play_lists::<C>,
        fold: if C::FOLDS { Some(fold_list::<C>) } else { None },
        describe: describe_list::<C>,
        kind: C::KIND,
        named: named_by_list::<C>,
        gives: list_gives::<C>,
        deed: Deed::Other,
        set: |_| None,
    };
}

/// The elements of a list.
///
/// # Safety
///
/// - the payload is a list of such a command, whose elements nobody else uses; if they are not kept, they are used here alone
unsafe fn elements_of<'e, C: ListCommand>(
    payload: *mut u8,
    keeps: bool,
) -> Elements<'e, C::Element> {
    // SAFETY: there is a list, which its elements follow.
    unsafe {
        let count = (*payload.cast::<List<C>>()).count;
        let first = payload.add(List::<C>::first::<C::Element>()).cast();
        Elements { first, count, next: 0, keeps, memory: PhantomData }
    }
}

/// See [`Verb`].
///
/// # Safety
///
/// - as there
unsafe fn drop_list<C: ListCommand>(payload: *mut u8) {
    // SAFETY: there is a list, which is not used again.
    unsafe {
        let elements = elements_of::<C>(payload, false);
        ptr::drop_in_place(&raw mut (*payload.cast::<List<C>>()).fixed);
        drop(elements);
    }
}

/// See [`Verb`].
///
/// # Safety
///
/// - as there
unsafe fn play_lists<C: ListCommand>(
    player: &mut Player<'_>,
    run: &mut Run<'_>,
) -> Result<(), Fault> {
    let keeps = player.keeps;
    while let Some((target, payload)) = run.next() {
        // SAFETY: there is a list, which is this one's to use.
        let elements = unsafe { elements_of::<C>(payload, keeps) };
        // SAFETY: as above.
        let fixed = unsafe { &raw mut (*payload.cast::<List<C>>()).fixed };
        if keeps {
            // SAFETY: nobody else uses it meanwhile.
            unsafe { &mut *fixed }.play_kept(elements, player, target)?;
        } else {
            // SAFETY: it is not used again.
            unsafe { fixed.read() }.play(elements, player, target)?;
        }
    }
    Ok(())
}

/// See [`Verb`].
///
/// # Safety
///
/// - as there
unsafe fn fold_list<C: ListCommand>(
    player: &mut Player<'_>,
    target: Entity,
    payload: *mut u8,
    place: *mut Entity,
) -> bool {
    // SAFETY: there is a list, whose elements are only looked at: it keeps them.
    let elements = unsafe { elements_of::<C>(payload, true) };
    // SAFETY: there is a list, which nobody else uses.
    let folding =
        unsafe { Folding::new(player, target, &raw mut (*payload.cast::<List<C>>()).fixed, place) };
    C::fold(folding, elements)
}

/// See [`Verb`].
///
/// # Safety
///
/// - as there
unsafe fn describe_list<C: ListCommand>(
    payload: *const u8,
    target: Entity,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    // SAFETY: there is, or was, a list; how many elements there are can be copied.
    let count = unsafe { (&raw const (*payload.cast::<List<C>>()).count).read() };
    C::describe(count, target, f)
}

/// See [`Verb`].
///
/// # Safety
///
/// - as there
unsafe fn named_by_list<C: ListCommand>(
    payload: *mut u8,
    target: Entity,
    each: &mut dyn FnMut(Entity),
) {
    // SAFETY: there is a list, whose elements are only looked at: it keeps them.
    C::named(unsafe { elements_of::<C>(payload, true) }, target, each);
}

/// See [`Verb`].
///
/// # Safety
///
/// - as there
unsafe fn list_gives<C: ListCommand>(payload: *mut u8, given: &mut Given<'_>) {
    // SAFETY: there is a list, whose elements are only looked at: it keeps them.
    C::gives(unsafe { elements_of::<C>(payload, true) }, given);
}

impl CommandRecorder {
    /// Records a command.
    #[inline(always)]
    pub(super) fn record<C: Command>(&mut self, target: Entity, command: C) {
        // SAFETY: the verb is made for commands of this type.
        unsafe { self.memory.push(VerbOf::<C>::VERB, target, command) };
        self.commands += 1;
    }

    /// Records a command with a list.
    pub(super) fn record_list<C: ListCommand>(
        &mut self,
        target: Entity,
        command: C,
        elements: impl IntoIterator<Item = C::Element>,
    ) {
        self.record_list_of(target, command, elements, usize::MAX);
    }

    /// Records a command with a list of at most so many elements. Returns how many there are, or nothing, if there are more: then nothing
    /// is recorded.
    pub(super) fn record_list_of<C: ListCommand>(
        &mut self,
        target: Entity,
        command: C,
        elements: impl IntoIterator<Item = C::Element>,
        most: usize,
    ) -> Option<usize> {
        let verb = ListVerbOf::<C>::VERB;
        // SAFETY: the verb is made for lists of this type.
        let count = unsafe { self.memory.push_list(verb, target, command, elements, most) }?;
        self.commands += 1;
        Some(count)
    }
}

/// What is noted of the components that commands give, before they are played in a world.
pub(super) struct Given<'w> {
    entities: &'w EntityManager,
    /// Whether there may be some that stay when an entity is destroyed.
    pub(super) leaves: bool,
    /// Whether an entity becomes a prefab.
    pub(super) prefab: bool,
}

impl<'w> Given<'w> {
    pub(super) fn new(entities: &'w EntityManager) -> Self {
        Self { entities, leaves: false, prefab: false }
    }

    pub(super) fn add(&mut self, ty: ComponentType) {
        self.leaves |= ty.is_cleanup();
        self.prefab |= ty == ComponentType::of::<Prefab>();
    }

    pub(super) fn add_set<S: ComponentSet>(&mut self) {
        S::types(&mut |ty| self.add(ty));
    }

    pub(super) fn add_archetype(&mut self, archetype: Archetype) {
        match self.entities.component_types(archetype) {
            Ok(types) => types.iter().for_each(|&ty| self.add(ty)),
            // It is one of another world, which playing refuses.
            Err(_) => self.leaves = true,
        }
    }
}

/// The names of types, for messages: `Health`, `Armour`.
pub(super) struct TypeNames(pub(super) fn(&mut dyn FnMut(ComponentType)));

impl fmt::Display for TypeNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut result = Ok(());
        let mut is_first = true;
        (self.0)(&mut |ty| {
            let comma = if is_first { "" } else { ", " };
            is_first = false;
            if result.is_ok() {
                result = write!(f, "{comma}`{ty}`");
            }
        });
        if is_first { f.write_str("nothing") } else { result }
    }
}
