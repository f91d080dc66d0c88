//! Command types and their vtables.
//!
//! A [`Command`] is the typed form of one recorded operation. Its [`CommandVTable`] is the erased form, which the
//! [stream](super::stream) stores for each run of commands of one type. The functions of a vtable take the address of a *payload*:
//! the command, or, for commands with a list, a header that contains the command, and the elements.

#![expect(unsafe_code, reason = "payloads are stored as bytes; their vtables restore the types")]

use std::alloc::Layout;
use std::any::Any;
use std::fmt::{self, Formatter};
use std::marker::PhantomData;
use std::mem::{ManuallyDrop, needs_drop};
use std::ops::Deref;
use std::ptr;
use std::slice;

use super::coalesce::Coalescing;
use super::error::Result;
use super::playback::{Context, Fault};
use super::recorder::CommandRecorder;
use super::resolved_ids::ResolvedIds;
use super::stream::{ActiveRun, RunCursor, drop_each};
use crate::component::ComponentType;
use crate::entity::Entity;
use crate::manager::{
    Archetype, CoalesceResult, EntityManager, Spaced, StagedValue, ValueOwner, WriteFn,
};
use crate::set::ComponentSet;
use crate::storage::{RowPlace, SetOperation, StagingArena};

/// One recorded operation, apart from its target.
pub(super) trait Command: Sized + Send + 'static {
    /// Type of the elements in the list that follows the command, or [`NoElement`] for commands without a list.
    type Element: Send + 'static;

    /// True for commands that are followed by a list of elements.
    const LISTED: bool = false;

    /// True for commands that implement [`coalesce`](Self::coalesce).
    const COALESCES: bool = false;

    /// True for commands that implement [`apply_to_world`](Self::apply_to_world) instead of [`apply`](Self::apply).
    const NEEDS_WORLD: bool = false;

    const EFFECT: Effect = Effect::Other;

    /// Applies the command.
    fn apply(command: Recorded<'_, Self>, context: &mut Context<'_>, target: Entity) -> Result;

    /// Applies the command to a world, which is passed as [`Any`].
    fn apply_to_world(_: Recorded<'_, Self>, _: &mut dyn Any, _: &ResolvedIds) -> Result {
        Err(Fault::NeedsWorld)
    }

    /// Applies consecutive commands until the run is empty, a command fails, or a command has skipped members of its list.
    #[inline]
    fn apply_run(context: &mut Context<'_>, run: &mut TypedRun<'_, '_, Self>) -> Result {
        while let Some((target, command)) = run.next() {
            Self::apply(command, context, target)?;
        }
        Ok(())
    }

    /// Records the effect of the command for a coalesced batch, instead of applying it.
    #[inline]
    fn coalesce(_: Coalescing<'_, '_, Self>) -> CoalesceResult {
        CoalesceResult::Refused
    }

    /// Duplicates the command, without its list, for buffers that are played several times.
    fn duplicate(&mut self) -> Result<Self>;

    /// Describes the command in words. The payload may have been moved out: implementations read only fields that are `Copy`, and
    /// no elements.
    fn describe(this: &Recorded<'_, Self>, target: Entity, f: &mut Formatter<'_>) -> fmt::Result;

    /// Returns the entities that have to exist, or null. If one of them was despawned, the command is skipped. Commands for a list of
    /// entities skip those themselves. The payload may have been moved out: see [`describe`](Self::describe).
    fn needed(_: &Recorded<'_, Self>, target: Entity) -> [Entity; 2] {
        [target, Entity::NULL]
    }

    /// Reports each entity that the command uses, and each component that it adds.
    fn inspect(_: &Recorded<'_, Self>, target: Entity, each: &mut dyn FnMut(Aspect)) {
        each(Aspect::Changes(target));
    }
}

/// Element type of commands without a list.
pub(super) enum NoElement {}

/// Part of the effect of a command, reported before playback.
#[derive(Clone, Copy)]
pub(super) enum Aspect {
    Reads(Entity),
    /// Creates or changes the entity.
    Changes(Entity),
    RemovesFrom(Entity),
    Despawns(Entity),
    Adds(ComponentType),
    AddsArchetype(Archetype),
    /// Runs a function, which may add any component.
    AddsUnknown,
}

impl Aspect {
    /// Reports that the components of a set are added.
    pub(super) fn adds<S: ComponentSet>(each: &mut dyn FnMut(Self)) {
        S::types(&mut |ty| each(Self::Adds(ty)));
    }
}

/// Effect of a command on its target. Used to find commands that a later command cancels.
#[derive(Clone, Copy)]
pub(super) enum Effect {
    /// Creates the target with a set.
    Create(SetNumber),
    /// Adds, replaces or removes a set.
    Change(SetOperation, SetNumber),
    Despawn,
    /// Another effect, or an effect that depends on the recorded values.
    Other,
}

/// Function that returns the number of a component set in a world, if the set is valid.
pub(super) type SetNumber = fn(&mut EntityManager) -> Option<u32>;

impl Effect {
    /// Returns the effect of a command that creates its target with a set.
    pub(super) const fn create<S: ComponentSet>() -> Self {
        if S::SHARED || S::HAS_ENTITIES || S::LINKS {
            Self::Other
        } else {
            Self::Create(set_number::<S>)
        }
    }

    /// Returns the effect of a command that adds or replaces a set.
    pub(super) const fn write<S: ComponentSet>(change: SetOperation) -> Self {
        // For sets with shared values or entities, the values decide whether the world refuses the set.
        if S::SHARED || S::HAS_ENTITIES || S::LINKS {
            Self::Other
        } else {
            Self::Change(change, set_number::<S>)
        }
    }

    /// Returns the effect of a command that removes a set.
    pub(super) const fn remove<S: ComponentSet>() -> Self {
        // Without a link, another entity despawns less.
        if S::LINKS { Self::Other } else { Self::Change(SetOperation::Remove, set_number::<S>) }
    }
}

fn set_number<S: ComponentSet>(entities: &mut EntityManager) -> Option<u32> {
    entities.set_number::<S>().ok()
}

/// Type-erased functions of a [`Command`].
pub(super) struct CommandVTable {
    /// Alignment of payloads.
    pub(super) align: usize,
    /// Bytes of a payload, or [`LISTED`](Self::LISTED).
    pub(super) size: usize,
    /// Drops an unused payload, if it needs dropping.
    ///
    /// # Safety
    ///
    /// - the pointer is that of a payload of this vtable, which is not used afterwards
    pub(super) drop: Option<unsafe fn(*mut u8)>,
    /// Applies a run until it is empty, a command fails, or a command has skipped members of its list. The failed command is the last
    /// one that was taken from the run.
    ///
    /// # Safety
    ///
    /// - the commands of the run belong to this vtable
    pub(super) apply: unsafe fn(&mut Context<'_>, &mut ActiveRun<'_>) -> Result,
    pub(super) coalesce: Option<CoalesceFn>,
    /// Applies the first command of a run to a world. `None` for commands that need only the entities.
    pub(super) apply_to_world: Option<ApplyToWorldFn>,
    /// Describes a command in words.
    ///
    /// # Safety
    ///
    /// - the pointer is that of a payload of this vtable; the payload may have been used, but its bytes are still allocated
    pub(super) describe: unsafe fn(*mut u8, Entity, &mut Formatter<'_>) -> fmt::Result,
    /// Returns the entities that have to exist, or null.
    ///
    /// # Safety
    ///
    /// - the pointer is that of a payload of this vtable; the payload may have been used, but its bytes are still allocated
    pub(super) needed: unsafe fn(*mut u8, Entity) -> [Entity; 2],
    /// Reports the entities that a command uses and the components that it adds.
    ///
    /// # Safety
    ///
    /// - the pointer is that of an unused payload of this vtable, and no other code uses the payload during the call
    pub(super) inspect: unsafe fn(*mut u8, Entity, &mut dyn FnMut(Aspect)),
    pub(super) effect: Effect,
}

/// Function that coalesces a command. Its arguments are the target, the payload and the target slot of the command.
///
/// # Safety
///
/// - the pointer is that of an unused payload of the vtable, and only the playback uses the payload
/// - the slot is the target slot of the same command
pub(super) type CoalesceFn =
    unsafe fn(&mut Context<'_>, Entity, *mut u8, *mut Entity) -> CoalesceResult;

/// Function that applies the first command of a run to a world. Without a world, the command is dropped.
///
/// # Safety
///
/// - the commands of the run belong to the vtable
pub(super) type ApplyToWorldFn =
    unsafe fn(Option<&mut dyn Any>, &ResolvedIds, &mut ActiveRun<'_>) -> Result;

impl CommandVTable {
    /// Size in vtables whose payloads have different sizes. Such payloads begin with a [`ListHeader`], which has the size.
    pub(super) const LISTED: usize = usize::MAX;
}

/// Header of a payload with a list. The elements follow the header.
#[repr(C)]
pub(super) struct ListHeader<C> {
    /// Bytes of the payload.
    pub(super) bytes: usize,
    /// Number of elements.
    pub(super) count: usize,
    pub(super) command: C,
}

impl<C> ListHeader<C> {
    /// Returns the offset of the first element in the payload.
    pub(super) const fn first<T>() -> usize {
        size_of::<Self>().next_multiple_of(align_of::<T>())
    }

    /// Returns the alignment of the payload.
    pub(super) const fn align<T>() -> usize {
        if align_of::<T>() > align_of::<Self>() { align_of::<T>() } else { align_of::<Self>() }
    }
}

/// Type with an associated constant for the vtable of a command type.
struct VTableOf<C>(C);

impl<C: Command> VTableOf<C> {
    const VTABLE: &'static CommandVTable = &CommandVTable {
        align: if C::LISTED { ListHeader::<C>::align::<C::Element>() } else { align_of::<C>() },
        size: if C::LISTED { CommandVTable::LISTED } else { size_of::<C>() },
        drop: if needs_drop::<C>() || C::LISTED && needs_drop::<C::Element>() {
            Some(drop_payload::<C>)
        } else {
            None
        },
        apply: apply_run::<C>,
        coalesce: if C::COALESCES { Some(coalesce_payload::<C>) } else { None },
        apply_to_world: if C::NEEDS_WORLD { Some(apply_to_world::<C>) } else { None },
        describe: describe_payload::<C>,
        needed: needed_by_payload::<C>,
        inspect: inspect_payload::<C>,
        effect: C::EFFECT,
    };
}

/// Implements [`CommandVTable::drop`].
///
/// # Safety
///
/// - the pointer is that of a payload of `C`, which is not used afterwards
unsafe fn drop_payload<C: Command>(payload: *mut u8) {
    // SAFETY: the caller says that the pointer is that of a payload of `C`. It was not used, and it is dropped here and not used
    // afterwards.
    drop(unsafe { Recorded::<C>::new(payload, false) });
}

/// Implements [`CommandVTable::apply`].
///
/// # Safety
///
/// - the commands of the run are of type `C`
unsafe fn apply_run<C: Command>(context: &mut Context<'_>, run: &mut ActiveRun<'_>) -> Result {
    C::apply_run(context, &mut TypedRun { run, of: PhantomData })
}

/// Implements [`ApplyToWorldFn`].
///
/// # Safety
///
/// - the commands of the run are of type `C`
unsafe fn apply_to_world<C: Command>(
    world: Option<&mut dyn Any>,
    ids: &ResolvedIds,
    run: &mut ActiveRun<'_>,
) -> Result {
    let mut run = TypedRun::<C> { run, of: PhantomData };
    let Some((_, command)) = run.next() else { return Ok(()) };
    C::apply_to_world(command, world.ok_or(Fault::NeedsWorld)?, ids)
}

/// Implements [`CoalesceFn`].
///
/// # Safety
///
/// - the pointer is that of an unused payload of `C`, and only the playback uses the payload
/// - the slot is the target slot of the same command
unsafe fn coalesce_payload<C: Command>(
    context: &mut Context<'_>,
    target: Entity,
    payload: *mut u8,
    slot: *mut Entity,
) -> CoalesceResult {
    // SAFETY: the caller says that the payload is of type `C`, unused, and used only by the playback. With `keeps`, it is not
    // dropped here: the batch takes or drops its values.
    let command = unsafe { Recorded::new(payload, true) };
    C::coalesce(Coalescing::new(context, target, command, slot))
}

/// Implements [`CommandVTable::describe`].
///
/// # Safety
///
/// - the pointer is that of a payload of `C`, which may have been used
unsafe fn describe_payload<C: Command>(
    payload: *mut u8,
    target: Entity,
    f: &mut Formatter<'_>,
) -> fmt::Result {
    // SAFETY: the caller says that the pointer is that of a payload of `C`. With `keeps`, it is not dropped. `Command::describe`
    // reads only fields that are `Copy`, which stay valid if the payload was used.
    C::describe(&unsafe { Recorded::new(payload, true) }, target, f)
}

/// Implements [`CommandVTable::needed`].
///
/// # Safety
///
/// - the pointer is that of a payload of `C`, which may have been used
unsafe fn needed_by_payload<C: Command>(payload: *mut u8, target: Entity) -> [Entity; 2] {
    // SAFETY: the caller says that the pointer is that of a payload of `C`. With `keeps`, it is not dropped. `Command::needed` reads
    // only fields that are `Copy`, which stay valid if the payload was used.
    C::needed(&unsafe { Recorded::new(payload, true) }, target)
}

/// Implements [`CommandVTable::inspect`].
///
/// # Safety
///
/// - the pointer is that of an unused payload of `C`, and no other code uses the payload during the call
unsafe fn inspect_payload<C: Command>(
    payload: *mut u8,
    target: Entity,
    each: &mut dyn FnMut(Aspect),
) {
    // SAFETY: the caller says that the pointer is that of an unused payload of `C`, and that no other code uses it. With `keeps`,
    // it is not dropped.
    C::inspect(&unsafe { Recorded::new(payload, true) }, target, each);
}

/// A command in the memory of a stream, with its list.
///
/// Unless the buffer keeps its commands, this value owns the command and the elements, and drops those that are not taken.
pub(super) struct Recorded<'p, C: Command> {
    command: *mut C,
    elements: *mut C::Element,
    count: usize,
    keeps: bool,
    memory: PhantomData<&'p mut C>,
}

impl<'p, C: Command> Recorded<'p, C> {
    /// Wraps a payload.
    ///
    /// # Safety
    ///
    /// - the pointer is that of a payload of `C`, which no other code uses for `'p`
    /// - unless `keeps` is set, the payload is not used after `'p`
    /// - if the payload was used before, `keeps` is set, and only the number of elements and fields that are `Copy` are read
    #[inline(always)]
    unsafe fn new(payload: *mut u8, keeps: bool) -> Self {
        let memory = PhantomData;
        if !C::LISTED {
            let elements = ptr::without_provenance_mut(align_of::<C::Element>());
            return Self { command: payload.cast(), elements, count: 0, keeps, memory };
        }
        let header = payload.cast::<ListHeader<C>>();
        // SAFETY: the payload begins with a header, whose count is initialised. The first element is inside the payload.
        let (command, count, elements) = unsafe {
            let first = payload.add(ListHeader::<C>::first::<C::Element>());
            (&raw mut (*header).command, (&raw const (*header).count).read(), first.cast())
        };
        Self { command, elements, count, keeps, memory }
    }

    /// Tests whether the buffer keeps the command for the next playback.
    #[inline(always)]
    pub(super) fn keeps(&self) -> bool {
        self.keeps
    }

    /// Returns the number of elements.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Returns the elements.
    pub(super) fn elements(&self) -> &[C::Element] {
        // SAFETY: `count` elements are stored at the address, and no other code uses them.
        unsafe { slice::from_raw_parts(self.elements, self.count) }
    }

    /// Returns the command and its elements.
    #[inline(always)]
    pub(super) fn parts_mut(&mut self) -> (&mut C, &[C::Element]) {
        // SAFETY: a command and `count` elements are stored at the addresses. They do not overlap, and no other code uses them.
        unsafe { (&mut *self.command, slice::from_raw_parts(self.elements, self.count)) }
    }

    /// Returns the command, or a duplicate if the buffer keeps its commands. Drops the elements.
    #[inline(always)]
    pub(super) fn take(self) -> Result<C> {
        self.take_with(Ok)
    }

    /// Passes the command, or a duplicate if the buffer keeps its commands, to a function. Drops the elements.
    // The function is inlined in both branches: a command that is not kept is moved once, even if it is large.
    #[inline(always)]
    pub(super) fn take_with<R>(mut self, function: impl FnOnce(C) -> Result<R>) -> Result<R> {
        if self.keeps {
            return function(self.parts_mut().0.duplicate()?);
        }
        let this = ManuallyDrop::new(self);
        let _elements = this.take_elements();
        // SAFETY: the pointer is that of a command, which is not used or dropped again.
        function(unsafe { this.command.read() })
    }

    /// Returns the command, or a duplicate if the buffer keeps its commands, and the elements.
    #[inline(always)]
    pub(super) fn take_parts(mut self) -> Result<(C, Elements<'p, C::Element>)> {
        if self.keeps {
            let command = self.parts_mut().0.duplicate()?;
            return Ok((command, self.take_elements()));
        }
        let this = ManuallyDrop::new(self);
        // SAFETY: the pointer is that of a command, which is not used or dropped again.
        Ok((unsafe { this.command.read() }, this.take_elements()))
    }

    /// Returns the elements. Unless the buffer keeps its commands, `self` must not use or drop the elements afterwards.
    #[inline(always)]
    fn take_elements(&self) -> Elements<'p, C::Element> {
        let Self { elements: first, count, keeps, .. } = *self;
        Elements { first, count, next: 0, keeps, memory: PhantomData }
    }
}

impl<C: Command> Deref for Recorded<'_, C> {
    type Target = C;

    #[inline(always)]
    fn deref(&self) -> &C {
        // SAFETY: the pointer is that of a command, which no other code uses. If the command was used, only fields that are `Copy`
        // are read.
        unsafe { &*self.command }
    }
}

impl<C: Command> Drop for Recorded<'_, C> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.keeps {
            return;
        }
        // The elements are dropped even if dropping the command panics.
        let _elements = self.take_elements();
        // SAFETY: the pointer is that of a command, which was not taken and is not used again.
        unsafe { self.command.drop_in_place() };
    }
}

/// Elements of a command's list. Unless the buffer keeps its commands, this value owns the elements, and drops those that are not
/// taken.
pub(super) struct Elements<'e, T> {
    first: *mut T,
    count: usize,
    next: usize,
    keeps: bool,
    memory: PhantomData<&'e mut T>,
}

impl<'e, T> Elements<'e, T> {
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// Returns the next element, or a duplicate if the buffer keeps its commands.
    #[inline(always)]
    pub(super) fn next(
        &mut self,
        duplicate: impl FnOnce(&mut T) -> Result<T>,
    ) -> Option<Result<T>> {
        if self.next == self.count {
            return None;
        }
        // SAFETY: the index is below `count`.
        let element = unsafe { self.first.add(self.next) };
        self.next += 1;
        Some(if self.keeps {
            // SAFETY: the pointer is that of an element, which no other code uses.
            duplicate(unsafe { &mut *element })
        } else {
            // SAFETY: the pointer is that of an element, which is not used or dropped again, because `next` is past its index.
            Ok(unsafe { element.read() })
        })
    }

    /// Converts the elements to an iterator.
    ///
    /// # Panics
    ///
    /// Panics if the buffer keeps its commands.
    #[inline]
    pub(super) fn into_owned(self) -> OwnedElements<'e, T> {
        let this = ManuallyDrop::new(self);
        let Self { first, count, next, keeps, .. } = *this;
        assert!(!keeps, "the buffer owns the elements");
        OwnedElements { next: first.wrapping_add(next), left: count - next, memory: PhantomData }
    }

    /// Returns the elements that were not taken. Elements of a buffer that keeps its commands must not be changed.
    pub(super) fn rest_mut(&mut self) -> &mut [T] {
        // SAFETY: `count` elements are stored from `first` on. Those from `next` on were not taken, and no other code uses them.
        unsafe { slice::from_raw_parts_mut(self.first.add(self.next), self.count - self.next) }
    }

    /// Duplicates all elements into an arena. If duplicating one fails, drops the other duplicates.
    pub(super) fn duplicates<'c>(
        &mut self,
        arena: &'c mut StagingArena,
        mut duplicate: impl FnMut(&mut T) -> Result<T>,
    ) -> Result<OwnedElements<'c, T>> {
        let layout = Layout::array::<T>(self.count).expect("as large as what was recorded");
        let first = arena.place(layout).cast::<T>();
        let mut made = OwnedElements { next: first, left: 0, memory: PhantomData };
        for element in self.rest_mut() {
            let other = duplicate(element)?;
            // SAFETY: the memory has room for `self.count` elements, and at most that number is written.
            unsafe { first.add(made.left).write(other) };
            made.left += 1;
        }
        Ok(made)
    }
}

impl<T: Copy> Elements<'_, T> {
    pub(super) fn as_slice(&self) -> &[T] {
        // SAFETY: `count` elements are stored from `first` on. Elements that are `Copy` stay valid after they were taken.
        unsafe { slice::from_raw_parts(self.first, self.count) }
    }
}

impl<T> Drop for Elements<'_, T> {
    #[inline]
    fn drop(&mut self) {
        if !self.keeps && needs_drop::<T>() {
            // SAFETY: the elements from `next` on were not taken, and are not used again.
            unsafe { drop_each(self.first.add(self.next), self.count - self.next) };
        }
    }
}

/// Iterator over elements that it owns. Drops the elements that are not taken.
pub(super) struct OwnedElements<'c, T> {
    next: *mut T,
    left: usize,
    memory: PhantomData<&'c mut T>,
}

impl<T> Iterator for OwnedElements<'_, T> {
    type Item = T;

    #[inline(always)]
    fn next(&mut self) -> Option<T> {
        self.left = self.left.checked_sub(1)?;
        let element = self.next;
        self.next = element.wrapping_add(1);
        // SAFETY: `left` elements were written from `next` on, and each is read once.
        Some(unsafe { element.read() })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<T> ExactSizeIterator for OwnedElements<'_, T> {}

impl<T> Drop for OwnedElements<'_, T> {
    fn drop(&mut self) {
        // SAFETY: the elements from `next` on were written and not taken, and are not used again.
        unsafe { drop_each(self.next, self.left) };
    }
}

/// Consecutive commands of one type.
pub(super) struct TypedRun<'a, 'r, C> {
    run: &'a mut ActiveRun<'r>,
    of: PhantomData<C>,
}

impl<'r, C: Command> TypedRun<'_, 'r, C> {
    /// Takes the next command and its target.
    #[inline(always)]
    pub(super) fn next(&mut self) -> Option<(Entity, Recorded<'r, C>)> {
        let keeps = self.run.keeps();
        let (target, payload) = self.run.next()?;
        // SAFETY: the commands of the run are of type `C`, so the payload is of type `C`. The run returns each payload once, and
        // marks it as used unless the buffer keeps its commands.
        Some((target, unsafe { Recorded::new(payload, keeps) }))
    }

    /// Returns the number of commands that were not taken.
    pub(super) fn left(&self) -> usize {
        self.run.left()
    }

    /// Returns the position of the next command.
    pub(super) fn position(&self) -> RunCursor<'r> {
        self.run.cursor()
    }

    /// Returns to an earlier position, so that commands are taken again. Their payloads need not be dropped.
    pub(super) fn rewind(&mut self, to: RunCursor<'r>) {
        self.run.rewind(to);
    }

    /// Returns the target of the next command.
    pub(super) fn next_target(&self) -> Option<Entity> {
        self.run.next_target()
    }

    /// Passes the same field of all remaining commands to a function, which returns whether it moved the values. Returns false,
    /// without calling the function, if the buffer keeps its commands or the commands are not evenly spaced.
    pub(super) fn take_all<S>(
        &mut self,
        field: impl FnOnce(&mut C) -> &mut S,
        function: impl FnOnce(Spaced<S>) -> bool,
    ) -> bool {
        !self.run.keeps()
            && self.run.take_all(|payload, step, count| {
                // SAFETY: the commands of the run are of type `C`, so the pointer is that of a command of type `C`, which no other
                // code uses.
                let first = ptr::from_mut(field(unsafe { &mut *payload.cast::<C>() }));
                let offset = first.addr() - payload.addr();
                // SAFETY: `count` commands are stored at this distance, each with this field. The function has exclusive access to
                // the fields, and they are not used again if it returns true.
                function(unsafe { Spaced::new(payload.add(offset).cast(), step, count) })
            })
    }
}

impl CommandRecorder {
    /// Records a command without a list.
    #[inline(always)]
    pub(super) fn record<C: Command>(&mut self, target: Entity, command: C) {
        const { assert!(!C::LISTED) };
        // SAFETY: the vtable is that of `C`, which has no list.
        unsafe { self.stream.push(VTableOf::<C>::VTABLE, target, command) };
        self.commands += 1;
    }

    /// Records a command with a list.
    pub(super) fn record_list<C: Command>(
        &mut self,
        target: Entity,
        command: C,
        elements: impl IntoIterator<Item = C::Element>,
    ) {
        self.record_list_up_to(target, command, elements, usize::MAX);
    }

    /// Records a command with a list of at most `max` elements. Returns the number of elements. If there are more than `max`,
    /// records nothing and returns `None`.
    pub(super) fn record_list_up_to<C: Command>(
        &mut self,
        target: Entity,
        command: C,
        elements: impl IntoIterator<Item = C::Element>,
        max: usize,
    ) -> Option<usize> {
        const { assert!(C::LISTED) };
        let vtable = VTableOf::<C>::VTABLE;
        // SAFETY: the vtable is that of `C`, and the elements are of the type of its list.
        let count = unsafe { self.stream.push_list(vtable, target, command, elements, max) }?;
        self.commands += 1;
        Some(count)
    }
}

/// Wraps the address of a set whose values are written when the coalesced batch is applied.
pub(super) fn staged_set<S: ComponentSet>(values: *mut u8, owner: ValueOwner) -> StagedValue {
    StagedValue { values, write_fn: SetWriter::<S>::GIVING, owner }
}

/// Moves a set to an arena, which drops it unless the coalesced batch takes it.
pub(super) fn stage_in_arena<S: ComponentSet>(arena: &mut StagingArena, set: S) -> StagedValue {
    let values = arena.place(Layout::new::<S>());
    // SAFETY: the arena has room for a set at this address.
    unsafe { values.cast::<S>().write(set) };
    let owner = if needs_drop::<S>() {
        // SAFETY: a set of type `S` was just written at this address, in this arena, and nothing else owns it. `drop_set::<S>`
        // drops it.
        ValueOwner::StagingArena(unsafe { arena.drop_later_by(drop_set::<S>, values) })
    } else {
        ValueOwner::Nobody
    };
    staged_set::<S>(values, owner)
}

/// Type with an associated constant for the function that writes sets of a type.
struct SetWriter<S>(S);

impl<S: ComponentSet> SetWriter<S> {
    const GIVING: &'static WriteFn = &WriteFn { write: write_set::<S> };
}

/// Moves a set to a row.
///
/// # Safety
///
/// - the address is that of a set of type `S`, which is not used afterwards
/// - the place meets the contract of [`ComponentSet::write`]
unsafe fn write_set<S: ComponentSet>(values: *mut u8, place: RowPlace) {
    // SAFETY: the caller says that the address is that of a set of type `S`, which is not used afterwards, and that the place meets
    // the contract of `write`.
    unsafe { values.cast::<S>().read().write(place) }
}

/// Drops a set.
///
/// # Safety
///
/// - the address is that of a set of type `S`, which is not used afterwards
unsafe fn drop_set<S>(values: *mut u8) {
    // SAFETY: the caller says that the address is that of a set of type `S`, which is not used afterwards.
    unsafe { values.cast::<S>().drop_in_place() }
}

/// Display of type names in messages: `Health`, `Armour`.
pub(super) struct TypeNames(pub(super) fn(&mut dyn FnMut(ComponentType)));

impl fmt::Display for TypeNames {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
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
