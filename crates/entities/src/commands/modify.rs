//! Commands that change, despawn or name one entity.

use std::fmt::{self, Formatter};
use std::marker::PhantomData;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use super::coalesce::Coalescing;
use super::error::Result;
use super::playback::{Context, Fault};
use super::recorder::CommandRecorder;
use super::vtable::{Aspect, Command, Effect, Elements, NoElement, Recorded, TypeNames, TypedRun};
use crate::buffer::{BufferElement, DynamicBuffer};
use crate::component::{Component, ComponentType, Mutable};
use crate::entity::Entity;
use crate::error::EntityError;
use crate::manager::{Archetype, CoalesceResult, EntityManager};
use crate::set::ComponentSet;
use crate::storage::{SetOperation, StagingArena};

impl CommandRecorder {
    /// Despawns an entity. See [`EntityManager::despawn`](crate::EntityManager::despawn).
    ///
    /// Reorders query results at playback: see [`Query::to_entities`](crate::Query::to_entities).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{EntityCommandBuffer, World};
    ///
    /// let mut world = World::new("Simulation");
    /// let orc = world.spawn(());
    /// let mut buffer = EntityCommandBuffer::new();
    /// buffer.commands()?.despawn(orc);
    /// assert!(world.exists(orc));
    /// world.play(&mut buffer)?;
    /// assert!(!world.exists(orc));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline(always)]
    #[doc(alias = "DestroyEntity")]
    pub fn despawn(&mut self, entity: Entity) {
        self.record(entity, Despawn);
    }

    /// Adds components to an entity, and replaces components that it already has. See
    /// [`EntityManager::add`](crate::EntityManager::add).
    ///
    /// Reorders query results at playback: see [`Query::to_entities`](crate::Query::to_entities).
    ///
    /// Adding a clone of a kept [`Shared`](crate::Shared) allocates nothing, unless the value contains a placeholder. Then the
    /// `Shared` is replaced by a clone of the value.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, EntityCommandBuffer, World};
    ///
    /// #[derive(Component, Debug, PartialEq)]
    /// struct Poisoned(f32);
    ///
    /// let mut world = World::new("Simulation");
    /// let orc = world.spawn(());
    /// let mut buffer = EntityCommandBuffer::new();
    /// buffer.commands()?.add(orc, Poisoned(3.0));
    /// assert!(!world.has::<Poisoned>(orc));
    /// world.play(&mut buffer)?;
    /// assert_eq!(world.get(orc), Ok(&Poisoned(3.0)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline(always)]
    #[doc(alias = "insert")]
    #[doc(alias = "AddComponent")]
    pub fn add<S: ComponentSet>(&mut self, entity: Entity, set: S) {
        self.record(entity, WriteSet::<S, true>(set));
    }

    /// Replaces components that the entity already has. See [`EntityManager::set`](crate::EntityManager::set).
    ///
    /// Reorders query results at playback if a component is shared: see [`Query::to_entities`](crate::Query::to_entities).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, EntityCommandBuffer, World};
    ///
    /// #[derive(Component, Debug, PartialEq)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let orc = world.spawn(Health(20));
    /// let mut buffer = EntityCommandBuffer::new();
    /// buffer.commands()?.set(orc, Health(5));
    /// world.play(&mut buffer)?;
    /// assert_eq!(world.get(orc), Ok(&Health(5)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline(always)]
    #[doc(alias = "SetComponent")]
    pub fn set<S: ComponentSet>(&mut self, entity: Entity, set: S) {
        self.record(entity, WriteSet::<S, false>(set));
    }

    /// Removes components from an entity. Components that the entity does not have are ignored. See
    /// [`EntityManager::remove`](crate::EntityManager::remove).
    ///
    /// Reorders query results at playback: see [`Query::to_entities`](crate::Query::to_entities).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, EntityCommandBuffer, World};
    ///
    /// #[derive(Component)]
    /// struct Health(u32);
    ///
    /// #[derive(Component)]
    /// struct Poisoned;
    ///
    /// let mut world = World::new("Simulation");
    /// let orc = world.spawn((Health(20), Poisoned));
    /// let mut buffer = EntityCommandBuffer::new();
    /// buffer.commands()?.remove::<Poisoned>(orc);
    /// world.play(&mut buffer)?;
    /// assert!(world.has::<Health>(orc) && !world.has::<Poisoned>(orc));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline(always)]
    pub fn remove<S: ComponentSet>(&mut self, entity: Entity) {
        self.record(entity, Remove::<S>(PhantomData));
    }

    /// Removes components from an entity, and the components that they require, except those that a remaining component requires.
    /// See [`EntityManager::remove_with_required`](crate::EntityManager::remove_with_required).
    ///
    /// Reorders query results at playback: see [`Query::to_entities`](crate::Query::to_entities).
    pub fn remove_with_required<S: ComponentSet>(&mut self, entity: Entity) {
        self.record(entity, RemoveWithRequired::<S>(PhantomData));
    }

    /// Adds components with default values to an entity. Components that the entity already has do not change. See
    /// [`EntityManager::add_types`](crate::EntityManager::add_types).
    ///
    /// Reorders query results at playback: see [`Query::to_entities`](crate::Query::to_entities).
    pub fn add_types(&mut self, entity: Entity, types: &[ComponentType]) {
        self.record_list(entity, ChangeTypes::<true>, types.iter().copied());
    }

    /// Removes components from an entity. Components that the entity does not have are ignored. See
    /// [`EntityManager::remove_types`](crate::EntityManager::remove_types).
    ///
    /// Reorders query results at playback: see [`Query::to_entities`](crate::Query::to_entities).
    pub fn remove_types(&mut self, entity: Entity, types: &[ComponentType]) {
        self.record_list(entity, ChangeTypes::<false>, types.iter().copied());
    }

    /// Adds a buffer with these elements to an entity. If the entity already has the buffer, replaces its elements.
    ///
    /// Reorders query results at playback: see [`Query::to_entities`](crate::Query::to_entities).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{BufferElement, EntityCommandBuffer, World};
    ///
    /// #[derive(BufferElement, Debug, PartialEq)]
    /// struct Waypoint(f32);
    ///
    /// let mut world = World::new("Simulation");
    /// let guard = world.spawn(());
    /// let mut buffer = EntityCommandBuffer::new();
    /// buffer.commands()?.add_buffer(guard, [Waypoint(0.0), Waypoint(8.0)]);
    /// world.play(&mut buffer)?;
    /// assert_eq!(world.buffer::<Waypoint>(guard)?, [Waypoint(0.0), Waypoint(8.0)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn add_buffer<T: BufferElement + Mutable>(
        &mut self,
        entity: Entity,
        elements: impl IntoIterator<Item = T>,
    ) {
        self.record_list(entity, WriteBuffer::<T, true>(PhantomData), elements);
    }

    /// Replaces the elements of an entity's buffer.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Buffer, BufferElement, EntityCommandBuffer, World};
    ///
    /// #[derive(BufferElement, Debug, PartialEq)]
    /// struct Waypoint(f32);
    ///
    /// let mut world = World::new("Simulation");
    /// let guard = world.spawn(Buffer::from([Waypoint(0.0), Waypoint(8.0)]));
    /// let mut buffer = EntityCommandBuffer::new();
    /// buffer.commands()?.set_buffer(guard, [Waypoint(3.0)]);
    /// world.play(&mut buffer)?;
    /// assert_eq!(world.buffer::<Waypoint>(guard)?, [Waypoint(3.0)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_buffer<T: BufferElement + Mutable>(
        &mut self,
        entity: Entity,
        elements: impl IntoIterator<Item = T>,
    ) {
        self.record_list(entity, WriteBuffer::<T, false>(PhantomData), elements);
    }

    /// Appends an element to an entity's buffer.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Buffer, BufferElement, EntityCommandBuffer, World};
    ///
    /// #[derive(BufferElement, Debug, PartialEq)]
    /// struct Hit(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let orc = world.spawn(Buffer::from([Hit(5)]));
    /// let mut buffer = EntityCommandBuffer::new();
    /// buffer.commands()?.append(orc, Hit(8));
    /// world.play(&mut buffer)?;
    /// assert_eq!(world.buffer::<Hit>(orc)?, [Hit(5), Hit(8)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "AppendToBuffer")]
    pub fn append<T: BufferElement + Mutable>(&mut self, entity: Entity, element: T) {
        self.record(entity, Append(element));
    }

    /// Enables or disables a component of an entity. See
    /// [`EntityManager::set_component_enabled`](crate::EntityManager::set_component_enabled).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, EntityCommandBuffer, World};
    ///
    /// #[derive(Component)]
    /// #[component(enableable)]
    /// struct Engine;
    ///
    /// let mut world = World::new("Simulation");
    /// let car = world.spawn(Engine);
    /// let mut buffer = EntityCommandBuffer::new();
    /// buffer.commands()?.set_component_enabled::<Engine>(car, false);
    /// world.play(&mut buffer)?;
    /// assert!(!world.is_component_enabled::<Engine>(car)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_component_enabled<T: Component>(&mut self, entity: Entity, enabled: bool) {
        self.set_type_enabled(entity, ComponentType::of::<T>(), enabled);
    }

    /// Enables or disables a component of an entity. See
    /// [`EntityManager::set_type_enabled`](crate::EntityManager::set_type_enabled).
    pub fn set_type_enabled(&mut self, entity: Entity, ty: ComponentType, enabled: bool) {
        self.record(entity, SetTypeEnabled { ty, enabled });
    }

    /// Enables or disables an entity and its group. See [`EntityManager::set_enabled`](crate::EntityManager::set_enabled).
    ///
    /// Reorders query results at playback: see [`Query::to_entities`](crate::Query::to_entities).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, EntityCommandBuffer, World};
    ///
    /// #[derive(Component)]
    /// struct Enemy;
    ///
    /// let mut world = World::new("Simulation");
    /// let orc = world.spawn(Enemy);
    /// let mut buffer = EntityCommandBuffer::new();
    /// buffer.commands()?.set_enabled(orc, false);
    /// world.play(&mut buffer)?;
    /// assert!(world.exists(orc));
    /// assert!(world.query::<&Enemy>().is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_enabled(&mut self, entity: Entity, enabled: bool) {
        self.record(entity, SetEnabled(enabled));
    }

    /// Moves an entity to an archetype of the world that plays the command. The entity keeps the components that both archetypes
    /// have. See [`EntityManager::set_archetype`](crate::EntityManager::set_archetype).
    ///
    /// Reorders query results at playback: see [`Query::to_entities`](crate::Query::to_entities).
    pub fn set_archetype(&mut self, entity: Entity, archetype: Archetype) {
        self.record(entity, SetArchetype(archetype));
    }

    /// Swaps all components of two entities. See [`EntityManager::swap_components`](crate::EntityManager::swap_components).
    pub fn swap_components(&mut self, left: Entity, right: Entity) {
        self.record(left, SwapComponents { other: right });
    }

    /// Sets the name of an entity in messages and tools. An empty name removes the name.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{EntityCommandBuffer, World};
    ///
    /// let mut world = World::new("Simulation");
    /// let mut buffer = EntityCommandBuffer::new();
    /// let commands = buffer.commands()?;
    /// let dragon = commands.spawn(());
    /// commands.set_name(dragon, "Smaug");
    /// world.play(&mut buffer)?;
    /// assert_eq!(world.entity_name(buffer.resolve(dragon).unwrap()), Some("Smaug"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_name(&mut self, entity: Entity, name: &str) {
        self.record_list(entity, SetName, name.bytes());
    }
}

pub(super) fn duplicate_set<S: ComponentSet>(set: &mut S) -> Result<S> {
    set.duplicate_set().map_err(|component| Fault::NotDuplicable { component })
}

/// Number of entities that are despawned together.
const DESPAWNS_AT_ONCE: usize = 1024;

#[derive(Clone, Copy)]
struct Despawn;

impl Command for Despawn {
    type Element = NoElement;

    const COALESCES: bool = true;
    const EFFECT: Effect = Effect::Despawn;

    fn coalesce(coalescing: Coalescing<'_, '_, Self>) -> CoalesceResult {
        coalescing.despawn()
    }

    fn apply(_: Recorded<'_, Self>, context: &mut Context<'_>, target: Entity) -> Result {
        let entity = context.target(target)?;
        context.entities.despawn(entity)?;
        Ok(())
    }

    fn apply_run(context: &mut Context<'_>, run: &mut TypedRun<'_, '_, Self>) -> Result {
        if context.entities.is_strict() {
            // Each target has to exist.
            while let Some((target, command)) = run.next() {
                Self::apply(command, context, target)?;
            }
            return Ok(());
        }
        loop {
            let first = run.position();
            let mut fault = None;
            context.list.clear();
            while context.list.len() < DESPAWNS_AT_ONCE
                && fault.is_none()
                && let Some((target, _)) = run.next()
            {
                match context.target(target) {
                    Ok(entity) => context.list.push(entity),
                    Err(why) => fault = Some(why),
                }
            }
            let is_done = context.list.is_empty();
            if !is_done && context.entities.despawn_slice(&context.list).is_err() {
                // Memory is missing. The commands are applied one by one, so that the error names the right one.
                run.rewind(first);
                for _ in 0..context.list.len() {
                    if let Some((target, command)) = run.next() {
                        Self::apply(command, context, target)?;
                    }
                }
                // The command after these is applied next.
                continue;
            }
            if let Some(fault) = fault {
                return Err(fault);
            }
            if is_done {
                return Ok(());
            }
        }
    }

    fn duplicate(&mut self) -> Result<Self> {
        Ok(*self)
    }

    fn describe(_: &Recorded<'_, Self>, target: Entity, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "despawn {target}")
    }

    fn inspect(_: &Recorded<'_, Self>, target: Entity, each: &mut dyn FnMut(Aspect)) {
        each(Aspect::Despawns(target));
    }
}

/// Adds a set to an entity, or replaces its components.
#[inline(always)]
pub(super) fn write_set<S: ComponentSet, const ADD: bool>(
    entities: &mut EntityManager,
    entity: Entity,
    set: S,
) -> Result {
    // The result types differ. Converting one into the other would copy the set that the error may contain.
    if ADD {
        match entities.add(entity, set) {
            Ok(_) => Ok(()),
            Err(rejected) => Err(rejected.error.into()),
        }
    } else {
        match entities.set(entity, set) {
            Ok(()) => Ok(()),
            Err(rejected) => Err(rejected.error.into()),
        }
    }
}

struct WriteSet<S, const ADD: bool>(S);

impl<S, const ADD: bool> WriteSet<S, ADD> {
    const CHANGE: SetOperation = if ADD { SetOperation::Add } else { SetOperation::Set };
}

impl<S: ComponentSet, const ADD: bool> Command for WriteSet<S, ADD> {
    type Element = NoElement;

    const COALESCES: bool = !S::SHARED && !S::LINKS;
    const EFFECT: Effect = Effect::write::<S>(Self::CHANGE);

    fn coalesce(coalescing: Coalescing<'_, '_, Self>) -> CoalesceResult {
        coalescing.write(Self::CHANGE, |Self(set)| set)
    }

    #[inline(always)]
    fn apply(command: Recorded<'_, Self>, context: &mut Context<'_>, target: Entity) -> Result {
        command.take_with(
            #[inline(always)]
            |Self(mut set)| {
                let entity = context.target(target)?;
                if S::HAS_ENTITIES {
                    context.resolved.resolve_set(&mut set)?;
                }
                write_set::<S, ADD>(context.entities, entity, set)
            },
        )
    }

    #[inline]
    fn apply_run(context: &mut Context<'_>, run: &mut TypedRun<'_, '_, Self>) -> Result {
        if S::LINKS
            && run.left() >= MIN_LINKED_RUN
            && !mem::needs_drop::<S>()
            && let Some(result) = Self::apply_linked_run(context, run)
        {
            return result;
        }
        while let Some((target, command)) = run.next() {
            Self::apply(command, context, target)?;
        }
        Ok(())
    }

    fn duplicate(&mut self) -> Result<Self> {
        duplicate_set(&mut self.0).map(Self)
    }

    fn describe(_: &Recorded<'_, Self>, target: Entity, f: &mut Formatter<'_>) -> fmt::Result {
        let (verb, preposition) = if ADD { ("add", "to") } else { ("set", "of") };
        write!(f, "{verb} {} {preposition} {target}", TypeNames(S::types))
    }

    fn needed(command: &Recorded<'_, Self>, target: Entity) -> [Entity; 2] {
        [target, link_target(&command.0)]
    }

    fn inspect(_: &Recorded<'_, Self>, target: Entity, each: &mut dyn FnMut(Aspect)) {
        each(Aspect::Changes(target));
        if ADD {
            Aspect::adds::<S>(each);
        }
    }
}

/// The minimum number of commands whose links are written together.
const MIN_LINKED_RUN: usize = 4;

impl<S: ComponentSet, const ADD: bool> WriteSet<S, ADD> {
    /// Writes the sources of a run, and then the list of each target once. Returns `None`, and applies no command, if the commands
    /// have to be applied one by one: an entity occurs twice, or a command would fail.
    fn apply_linked_run(
        context: &mut Context<'_>,
        run: &mut TypedRun<'_, '_, Self>,
    ) -> Option<Result> {
        let first = run.position();
        let mut links = context.entities.take_run_links();
        let mut list = mem::take(&mut context.list);
        list.clear();
        let mut can_resolve = true;
        while can_resolve && let Some((target, command)) = run.next() {
            match context.target(target) {
                Ok(entity) => list.push(entity),
                Err(_) => can_resolve = false,
            }
            command.0.links(&mut |relationship, target| match context.target(target) {
                Ok(target) => links.push((list.len().wrapping_sub(1), relationship, target)),
                Err(_) => can_resolve = false,
            });
        }
        let is_ready =
            can_resolve && context.entities.prepare_run::<S>(&list, &links, Self::CHANGE);
        context.entities.keep_run_links(links);
        // The commands need no drop, so they can be taken again.
        run.rewind(first);
        let written = is_ready.then(|| {
            let written = catch_unwind(AssertUnwindSafe(|| {
                for &entity in &list {
                    let Some((_, command)) = run.next() else { break };
                    command.take_with(|Self(mut set)| {
                        context.resolved.resolve_set(&mut set)?;
                        context.entities.write_in_run(entity, set, Self::CHANGE)?;
                        Ok(())
                    })?;
                }
                Ok(())
            }));
            context.entities.finish_run(matches!(written, Ok(Ok(()))));
            written.unwrap_or_else(|panic| resume_unwind(panic))
        });
        context.list = list;
        written
    }
}

/// Returns the first target of the links in a set, or null.
pub(super) fn link_target<S: ComponentSet>(set: &S) -> Entity {
    let mut first = Entity::NULL;
    if S::LINKS {
        set.links(&mut |_, target| {
            if first.is_null() {
                first = target;
            }
        });
    }
    first
}

struct Remove<S>(PhantomData<fn() -> S>);

impl<S: ComponentSet> Command for Remove<S> {
    type Element = NoElement;

    const COALESCES: bool = !S::LINKS;
    const EFFECT: Effect = Effect::remove::<S>();

    fn coalesce(coalescing: Coalescing<'_, '_, Self>) -> CoalesceResult {
        coalescing.remove::<S>()
    }

    #[inline(always)]
    fn apply(_: Recorded<'_, Self>, context: &mut Context<'_>, target: Entity) -> Result {
        let entity = context.target(target)?;
        context.entities.remove::<S>(entity)?;
        Ok(())
    }

    fn duplicate(&mut self) -> Result<Self> {
        Ok(Self(PhantomData))
    }

    fn describe(_: &Recorded<'_, Self>, target: Entity, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "remove {} from {target}", TypeNames(S::types))
    }

    fn inspect(_: &Recorded<'_, Self>, target: Entity, each: &mut dyn FnMut(Aspect)) {
        each(Aspect::RemovesFrom(target));
    }
}

struct RemoveWithRequired<S>(PhantomData<fn() -> S>);

impl<S: ComponentSet> Command for RemoveWithRequired<S> {
    type Element = NoElement;

    fn apply(_: Recorded<'_, Self>, context: &mut Context<'_>, target: Entity) -> Result {
        let entity = context.target(target)?;
        context.entities.remove_with_required::<S>(entity)?;
        Ok(())
    }

    fn duplicate(&mut self) -> Result<Self> {
        Ok(Self(PhantomData))
    }

    fn describe(_: &Recorded<'_, Self>, target: Entity, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "remove {} and what they require from {target}", TypeNames(S::types))
    }

    fn inspect(_: &Recorded<'_, Self>, target: Entity, each: &mut dyn FnMut(Aspect)) {
        each(Aspect::RemovesFrom(target));
    }
}

/// Adds or removes components that are given by their types.
struct ChangeTypes<const ADD: bool>;

impl<const ADD: bool> Command for ChangeTypes<ADD> {
    type Element = ComponentType;

    const LISTED: bool = true;
    const COALESCES: bool = !ADD;

    fn coalesce(coalescing: Coalescing<'_, '_, Self>) -> CoalesceResult {
        coalescing.remove_types()
    }

    fn apply(command: Recorded<'_, Self>, context: &mut Context<'_>, target: Entity) -> Result {
        let entity = context.target(target)?;
        if ADD {
            context.entities.add_types(entity, command.elements())?;
        } else {
            context.entities.remove_types(entity, command.elements())?;
        }
        Ok(())
    }

    fn duplicate(&mut self) -> Result<Self> {
        Ok(Self)
    }

    fn describe(this: &Recorded<'_, Self>, target: Entity, f: &mut Formatter<'_>) -> fmt::Result {
        let (verb, preposition) = if ADD { ("add", "to") } else { ("remove", "from") };
        write!(f, "{verb} {} types {preposition} {target}", this.count())
    }

    fn inspect(command: &Recorded<'_, Self>, target: Entity, each: &mut dyn FnMut(Aspect)) {
        if ADD {
            each(Aspect::Changes(target));
            command.elements().iter().for_each(|&ty| each(Aspect::Adds(ty)));
        } else {
            each(Aspect::RemovesFrom(target));
        }
    }
}

/// Duplicates an element, for buffers that keep their commands.
fn duplicate_element<T: BufferElement>(element: &mut T) -> Result<T> {
    let component = ComponentType::of_buffer::<T>();
    T::duplicate().apply(element).ok_or(Fault::NotDuplicable { component })
}

/// Replaces all elements of a buffer, or none if one is refused.
fn replace_elements<T: BufferElement>(
    mut elements: Elements<'_, T>,
    context: &mut Context<'_>,
    buffer: impl FnOnce(&mut EntityManager) -> Result<DynamicBuffer<'_, T>, EntityError>,
) -> Result {
    if context.keeps {
        // Reuses the world's arena.
        let mut arena = mem::take(context.entities.coalesced.staging());
        let replaced = replace_by_duplicates(elements, context, &mut arena, buffer);
        arena.clear();
        *context.entities.coalesced.staging() = arena;
        return replaced;
    }
    if T::HAS_ENTITIES {
        let all = elements.rest_mut();
        context
            .resolved
            .resolve_all(|map| all.iter_mut().for_each(|element| element.remap(map)))?;
    }
    let mut buffer = buffer(context.entities)?;
    buffer.clear();
    buffer.reserve(elements.len());
    while let Some(Ok(element)) = elements.next(duplicate_element) {
        buffer.push(element);
    }
    Ok(())
}

/// Replaces all elements of a buffer by duplicates, or none if one is refused.
fn replace_by_duplicates<T: BufferElement>(
    mut elements: Elements<'_, T>,
    context: &mut Context<'_>,
    arena: &mut StagingArena,
    buffer: impl FnOnce(&mut EntityManager) -> Result<DynamicBuffer<'_, T>, EntityError>,
) -> Result {
    let resolved = context.resolved;
    let all = elements.duplicates(arena, |element| {
        let mut other = duplicate_element(element)?;
        if T::HAS_ENTITIES {
            resolved.resolve_all(|map| other.remap(map))?;
        }
        Ok(other)
    })?;
    let mut buffer = buffer(context.entities)?;
    buffer.clear();
    buffer.extend(all);
    Ok(())
}

/// Adds a buffer with the elements in the list, or replaces its elements.
struct WriteBuffer<T, const ADD: bool>(PhantomData<fn() -> T>);

impl<T: BufferElement + Mutable, const ADD: bool> Command for WriteBuffer<T, ADD> {
    type Element = T;

    const LISTED: bool = true;

    fn apply(command: Recorded<'_, Self>, context: &mut Context<'_>, target: Entity) -> Result {
        let (_, elements) = command.take_parts()?;
        let entity = context.target(target)?;
        replace_elements(elements, context, |entities| {
            if ADD { entities.add_buffer(entity) } else { entities.buffer_mut(entity) }
        })
    }

    fn duplicate(&mut self) -> Result<Self> {
        Ok(Self(PhantomData))
    }

    fn describe(_: &Recorded<'_, Self>, target: Entity, f: &mut Formatter<'_>) -> fmt::Result {
        let (verb, preposition) = if ADD { ("add", "to") } else { ("set", "of") };
        write!(f, "{verb} `{}` {preposition} {target}", ComponentType::of_buffer::<T>())
    }

    fn inspect(_: &Recorded<'_, Self>, target: Entity, each: &mut dyn FnMut(Aspect)) {
        each(Aspect::Changes(target));
        if ADD {
            each(Aspect::Adds(ComponentType::of_buffer::<T>()));
        }
    }
}

struct Append<T>(T);

impl<T: BufferElement + Mutable> Command for Append<T> {
    type Element = NoElement;

    fn apply(command: Recorded<'_, Self>, context: &mut Context<'_>, target: Entity) -> Result {
        let Self(mut element) = command.take()?;
        let entity = context.target(target)?;
        if T::HAS_ENTITIES {
            context.resolved.resolve_all(|map| element.remap(map))?;
        }
        context.entities.buffer_mut(entity)?.push(element);
        Ok(())
    }

    fn duplicate(&mut self) -> Result<Self> {
        duplicate_element(&mut self.0).map(Self)
    }

    fn describe(_: &Recorded<'_, Self>, target: Entity, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "append to the `{}` of {target}", ComponentType::of_buffer::<T>())
    }
}

#[derive(Clone, Copy)]
struct SetTypeEnabled {
    ty: ComponentType,
    enabled: bool,
}

impl Command for SetTypeEnabled {
    type Element = NoElement;

    const COALESCES: bool = true;

    fn coalesce(coalescing: Coalescing<'_, '_, Self>) -> CoalesceResult {
        let Self { ty, enabled } = **coalescing.command();
        coalescing.set_enabled(ty, enabled)
    }

    fn apply(command: Recorded<'_, Self>, context: &mut Context<'_>, target: Entity) -> Result {
        let Self { ty, enabled } = *command;
        let entity = context.target(target)?;
        context.entities.set_type_enabled(entity, ty, enabled)?;
        Ok(())
    }

    fn duplicate(&mut self) -> Result<Self> {
        Ok(*self)
    }

    fn describe(this: &Recorded<'_, Self>, target: Entity, f: &mut Formatter<'_>) -> fmt::Result {
        let verb = if this.enabled { "enable" } else { "disable" };
        write!(f, "{verb} `{}` of {target}", this.ty)
    }
}

#[derive(Clone, Copy)]
struct SetEnabled(bool);

impl Command for SetEnabled {
    type Element = NoElement;

    fn apply(command: Recorded<'_, Self>, context: &mut Context<'_>, target: Entity) -> Result {
        let entity = context.target(target)?;
        context.entities.set_enabled(entity, command.0)?;
        Ok(())
    }

    fn duplicate(&mut self) -> Result<Self> {
        Ok(*self)
    }

    fn describe(this: &Recorded<'_, Self>, target: Entity, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} {target}", if this.0 { "enable" } else { "disable" })
    }
}

struct SetName;

impl Command for SetName {
    type Element = u8;

    const LISTED: bool = true;

    fn apply(command: Recorded<'_, Self>, context: &mut Context<'_>, target: Entity) -> Result {
        let entity = context.target(target)?;
        let name = str::from_utf8(command.elements()).expect("a text was recorded");
        context.entities.set_name(entity, name)?;
        Ok(())
    }

    fn duplicate(&mut self) -> Result<Self> {
        Ok(Self)
    }

    fn describe(_: &Recorded<'_, Self>, target: Entity, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "name {target}")
    }
}

#[derive(Clone, Copy)]
struct SetArchetype(Archetype);

impl Command for SetArchetype {
    type Element = NoElement;

    fn apply(command: Recorded<'_, Self>, context: &mut Context<'_>, target: Entity) -> Result {
        let entity = context.target(target)?;
        context.entities.set_archetype(entity, command.0)?;
        Ok(())
    }

    fn duplicate(&mut self) -> Result<Self> {
        Ok(*self)
    }

    fn describe(_: &Recorded<'_, Self>, target: Entity, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "move {target} to an archetype")
    }

    fn inspect(command: &Recorded<'_, Self>, target: Entity, each: &mut dyn FnMut(Aspect)) {
        each(Aspect::Changes(target));
        each(Aspect::AddsArchetype(command.0));
    }
}

#[derive(Clone, Copy)]
struct SwapComponents {
    other: Entity,
}

impl Command for SwapComponents {
    type Element = NoElement;

    fn apply(command: Recorded<'_, Self>, context: &mut Context<'_>, target: Entity) -> Result {
        let (left, right) = (context.target(target)?, context.target(command.other)?);
        context.entities.swap_components(left, right)?;
        Ok(())
    }

    fn duplicate(&mut self) -> Result<Self> {
        Ok(*self)
    }

    fn describe(this: &Recorded<'_, Self>, target: Entity, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "exchange the components of {target} and {}", this.other)
    }

    fn needed(command: &Recorded<'_, Self>, target: Entity) -> [Entity; 2] {
        [target, command.other]
    }

    fn inspect(command: &Recorded<'_, Self>, target: Entity, each: &mut dyn FnMut(Aspect)) {
        each(Aspect::Changes(target));
        each(Aspect::Changes(command.other));
    }
}
