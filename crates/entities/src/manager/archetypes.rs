//! Archetypes, component sets, and the transfers between archetypes.

use std::any::TypeId;

use ancho_collections::FixedState;
use hashbrown::HashMap;

use super::EntityManager;
use super::required::{RequireStep, adds};
use crate::builtin::{CleanupEntity, LinkedEntityGroup, OmitLinkedEntityGroup, Prefab};
use crate::component::{Component, ComponentType, broken_requirement, required_by};
use crate::entity::Entity;
use crate::error::EntityError;
use crate::set::ComponentSet;
use crate::storage::{
    ArchetypeShape, Edge, NOWHERE, RequiredColumn, SetOperation, SharedSource, Transfer, sort_types,
};

/// A handle to an archetype, which is a set of component types.
///
/// A handle is valid in the world that created it, and in forks that were made since. This is Unity's `EntityArchetype`.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, World};
///
/// #[derive(Component, Default)]
/// struct Health(u32);
///
/// #[derive(Component, Default)]
/// struct Armour(u32);
///
/// let mut world = World::new("Simulation");
/// let one = world.archetype::<(Health, Armour)>();
/// let other = world.archetype::<(Armour, Health)>();
/// assert_eq!(one, other);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[doc(alias = "EntityArchetype")]
pub struct Archetype {
    number: u32,
    serial: u32,
}

impl Archetype {
    pub(super) fn new(number: u32, serial: u32) -> Self {
        Self { number, serial }
    }
}

impl EntityManager {
    /// Finds or creates the archetype with exactly these components.
    ///
    /// # Panics
    ///
    /// Panics if a type occurs twice, or an entity would be larger than a chunk.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Default)]
    /// struct Health(u32);
    ///
    /// #[derive(Component, Default)]
    /// struct Armour(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let soldiers = world.archetype::<(Health, Armour)>();
    /// let soldier = world.create(soldiers)?;
    /// assert!(world.has::<(Health, Armour)>(soldier));
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    #[track_caller]
    pub fn archetype<S: ComponentSet>(&mut self) -> Archetype {
        let found = self.set_number::<S>().and_then(|set| {
            if self.sets.get(set).requires {
                // The layout includes required components.
                let sorted = self.sets.get(set).sorted.clone();
                return self.find_archetype(&sorted);
            }
            Ok(self.layout(set)?.archetype)
        });
        match found {
            Ok(number) => self.archetype_handle(number),
            Err(error) => panic!("{error}"),
        }
    }

    /// Finds or creates the archetype with exactly these components, given as types.
    ///
    /// # Errors
    ///
    /// Returns an error if a type occurs twice, or an entity would be larger than a chunk.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, ComponentType, World};
    ///
    /// #[derive(Component)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let health = ComponentType::of::<Health>();
    /// assert_eq!(world.archetype_of(&[health])?, world.archetype::<Health>());
    /// assert!(world.archetype_of(&[health, health]).is_err());
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    pub fn archetype_of(&mut self, types: &[ComponentType]) -> Result<Archetype, EntityError> {
        // Users cannot add the tag of despawned entities.
        let mark = ComponentType::of::<CleanupEntity>();
        let mut sorted: Vec<_> = types.iter().copied().filter(|&ty| ty != mark).collect();
        sort(&mut sorted)?;
        let number = self.find_archetype(&sorted)?;
        Ok(self.archetype_handle(number))
    }

    /// Returns the archetype of an entity.
    ///
    /// # Errors
    ///
    /// Returns an error if the entity does not exist.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let (orc, elf, stone) = (world.spawn(Health(20)), world.spawn(Health(30)), world.spawn(()));
    /// assert_eq!(world.entity_archetype(orc)?, world.entity_archetype(elf)?);
    /// assert_ne!(world.entity_archetype(orc)?, world.entity_archetype(stone)?);
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    pub fn entity_archetype(&self, entity: Entity) -> Result<Archetype, EntityError> {
        let location = self.locate(entity)?;
        Ok(self.archetype_handle(self.storage.chunks[location.chunk].archetype))
    }

    /// Returns the number of archetypes, including those without entities. Archetypes are never removed.
    pub fn archetype_count(&self) -> usize {
        self.storage.archetypes.len()
    }

    /// Returns the component types of an archetype, in memory order.
    ///
    /// # Errors
    ///
    /// Returns an error if the archetype belongs to another world.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, ComponentType, World};
    ///
    /// #[derive(Component)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let orc = world.spawn(Health(20));
    /// let archetype = world.entity_archetype(orc)?;
    /// assert_eq!(world.component_types(archetype)?, [ComponentType::of::<Health>()]);
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    pub fn component_types(&self, archetype: Archetype) -> Result<&[ComponentType], EntityError> {
        let number = self.check_archetype(archetype)?;
        Ok(&self.storage.archetypes[number].shape.types)
    }

    /// Returns the number of entities that fit in a chunk of an archetype.
    ///
    /// # Errors
    ///
    /// Returns an error if the archetype belongs to another world.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World, WorldSettings};
    ///
    /// #[derive(Component)]
    /// struct Health(u32);
    ///
    /// let settings = WorldSettings::new().chunk_capacity_limit(128);
    /// let mut world = World::with_settings("Simulation", settings);
    /// let archetype = world.archetype::<Health>();
    /// assert_eq!(world.archetype_capacity(archetype), Ok(128));
    /// ```
    pub fn archetype_capacity(&self, archetype: Archetype) -> Result<usize, EntityError> {
        let number = self.check_archetype(archetype)?;
        Ok(self.storage.archetypes[number].shape.capacity as usize)
    }

    /// Returns a number that increases when entities with this component are created, despawned or moved.
    ///
    /// This is the part of the [`order_version`](Self::order_version) that comes from archetypes with the component. It increases
    /// by one for each chunk of these archetypes that gains or loses entities, so an entity that moves between two of them
    /// increases it by two.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Tree(f32);
    ///
    /// let mut world = World::new("Simulation");
    /// let seen = world.component_order_version::<Tree>();
    /// world.spawn(());
    /// assert_eq!(world.component_order_version::<Tree>(), seen);
    /// world.spawn(Tree(2.5));
    /// assert_ne!(world.component_order_version::<Tree>(), seen);
    /// ```
    pub fn component_order_version<T: Component>(&self) -> u32 {
        let ty = ComponentType::of::<T>();
        self.order_events(|shape| shape.has(ty))
    }

    /// Returns a number that increases with each structural change.
    ///
    /// The number increases by one for each chunk that gains entities, and by one for each chunk that loses entities. So it
    /// increases by one for an entity that is created or despawned, by two for an entity that is moved, and by the number of
    /// chunks for a batch. It wraps around after 2³², so compare it only for equality.
    ///
    /// # Complexity
    ///
    /// Linear in the number of chunks.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, World};
    ///
    /// #[derive(Component, Clone, Copy)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new("Simulation");
    /// let before = world.order_version();
    /// let orc = world.spawn(Health(20));
    /// world.get_mut::<Health>(orc)?.0 = 15;
    /// assert_eq!(world.order_version() - before, 1);
    /// world.remove::<Health>(orc)?;
    /// assert_eq!(world.order_version() - before, 3);
    /// # Ok::<(), ancho_entities::EntityError>(())
    /// ```
    pub fn order_version(&self) -> u32 {
        self.order_events(|_| true)
    }

    fn order_events(&self, counts: impl Fn(&ArchetypeShape) -> bool) -> u32 {
        let all = self.storage.archetypes.iter();
        all.filter(|(_, archetype)| counts(&archetype.shape)).fold(0, |sum: u32, (_, archetype)| {
            let events =
                archetype.chunks.iter().map(|&chunk| self.storage.chunks[chunk].order_events);
            events.fold(sum.wrapping_add(archetype.order_events), u32::wrapping_add)
        })
    }

    pub(super) fn archetype_handle(&self, number: u32) -> Archetype {
        Archetype { number, serial: self.storage.archetypes[number].shape.serial }
    }

    /// Returns the number of an archetype, or an error if it belongs to another world.
    pub(super) fn check_archetype(&self, archetype: Archetype) -> Result<u32, EntityError> {
        match self.storage.archetypes.get(archetype.number) {
            Some(found) if found.shape.serial == archetype.serial => Ok(archetype.number),
            _ => Err(EntityError::ForeignArchetype),
        }
    }

    /// Returns the archetype without the tag of despawned entities, which users cannot add.
    pub(super) fn archetype_of_living(&mut self, number: u32) -> Result<u32, EntityError> {
        let shape = &self.storage.archetypes[number].shape;
        if !shape.is_cleanup_only() {
            return Ok(number);
        }
        let mark = ComponentType::of::<CleanupEntity>();
        // The types are already sorted.
        let others: Vec<_> = shape.types.iter().copied().filter(|&ty| ty != mark).collect();
        self.find_archetype(&others)
    }
}

/// A set of component types, and its layout in its archetype.
pub(crate) struct SetPlan {
    /// The types in the order of the set.
    pub(crate) types: Box<[ComponentType]>,
    /// The types in the order of archetypes.
    pub(crate) sorted: Box<[ComponentType]>,
    pub(crate) layout: Option<SetLayout>,
    /// The types that are removed when those of the set are added. Empty unless the set is part of an exchange.
    pub(crate) removed: Box<[ComponentType]>,
    /// Set if one of the types requires others.
    pub(crate) requires: bool,
}

/// The archetype of entities that are created from a set, and the columns of the set's components.
pub(crate) struct SetLayout {
    pub(crate) archetype: u32,
    /// The columns of the set's components, in the order of the set.
    pub(crate) columns: Box<[u32]>,
    /// The offsets of the columns, in the order of the set.
    pub(crate) offsets: Box<[u32]>,
    /// The source of each shared value of an entity that is created from the set, in the order of the archetype's shared columns.
    pub(crate) shared: Box<[SharedSource]>,
    /// The columns of components that those of the set require. The archetype has them too.
    pub(crate) required: Box<[RequiredColumn]>,
    /// The steps of a visit of these components.
    pub(super) require_steps: Box<[RequireStep]>,
}

/// All component sets of a world, by number.
#[derive(Default)]
pub(crate) struct Sets {
    list: Vec<SetPlan>,
    by_type: HashMap<TypeId, u32, FixedState>,
    by_types: HashMap<Box<[ComponentType]>, u32, FixedState>,
    /// The numbers of exchanges, by the numbers of the removed and the added set.
    exchanges: HashMap<(u32, u32), u32, FixedState>,
    /// A cache of the last sets. Consecutive calls often use the same set, or alternate between a few.
    recent: [Option<(TypeId, u32)>; RECENT],
}

/// The number of sets that are found without a lookup in the map.
const RECENT: usize = 32;

/// Returns a cache key that usually differs between sets. It differs from run to run, so it may affect the speed but not results.
#[inline(always)]
fn set_key<S: ComponentSet>() -> usize {
    let types: fn(&mut dyn FnMut(ComponentType)) = S::types;
    // The lowest bits of the address are zero, because functions are aligned to 16 bytes.
    let address = types as usize;
    (address >> 4) ^ (address >> 8)
}

/// Sorts types into the order of archetypes. Returns an error if a type occurs twice.
pub(super) fn sort(types: &mut [ComponentType]) -> Result<(), EntityError> {
    sort_types(types).map_err(|component| EntityError::DuplicateComponent { component })
}

impl Sets {
    /// Returns the number of a set.
    ///
    /// # Errors
    ///
    /// Returns an error if a type occurs twice.
    #[inline]
    pub(crate) fn number_of<S: ComponentSet>(&mut self) -> Result<u32, EntityError> {
        let id = TypeId::of::<S>();
        let place = set_key::<S>() % RECENT;
        match self.recent[place] {
            Some((recent, number)) if recent == id => Ok(number),
            _ => {
                let types_of = |types: &mut Vec<_>| S::types(&mut |ty| types.push(ty));
                self.look_up(id, place, types_of).map_err(|error| *error)
            }
        }
    }

    // The error is boxed, so that the result is returned in registers.
    #[inline(never)]
    fn look_up(
        &mut self,
        id: TypeId,
        place: usize,
        types_of: fn(&mut Vec<ComponentType>),
    ) -> Result<u32, Box<EntityError>> {
        let number = match self.by_type.get(&id) {
            Some(&number) => number,
            None => {
                let mut types = Vec::new();
                types_of(&mut types);
                let number = self.number_of_types(&types)?;
                self.by_type.insert(id, number);
                number
            }
        };
        self.recent[place] = Some((id, number));
        Ok(number)
    }

    /// Returns the number of a set given as types.
    ///
    /// # Errors
    ///
    /// Returns an error if a type occurs twice.
    pub(crate) fn number_of_types(&mut self, types: &[ComponentType]) -> Result<u32, EntityError> {
        if let Some(&number) = self.by_types.get(types) {
            return Ok(number);
        }
        let mut sorted = types.to_vec();
        sort(&mut sorted)?;
        let number = u32::try_from(self.list.len()).expect("fewer sets than entities");
        let (sorted, removed) = (sorted.into(), Box::default());
        let requires = types.iter().any(|ty| !ty.0.requirements.all.is_empty());
        self.list.push(SetPlan { types: types.into(), sorted, layout: None, removed, requires });
        self.by_types.insert(types.into(), number);
        Ok(number)
    }

    /// Returns the number of an exchange, which removes one set and adds another. It is the number of a set, with the types that are
    /// added.
    pub(super) fn number_of_exchange(&mut self, removed: u32, added: u32) -> u32 {
        if let Some(&number) = self.exchanges.get(&(removed, added)) {
            return number;
        }
        let number = u32::try_from(self.list.len()).expect("fewer sets than entities");
        let &SetPlan { ref types, ref sorted, requires, .. } = self.get(added);
        let (types, sorted) = (types.clone(), sorted.clone());
        let removed_types = self.get(removed).types.clone();
        let plan = SetPlan { types, sorted, layout: None, removed: removed_types, requires };
        self.list.push(plan);
        self.exchanges.insert((removed, added), number);
        number
    }

    #[inline]
    pub(crate) fn get(&self, number: u32) -> &SetPlan {
        &self.list[number as usize]
    }

    pub(super) fn set_layout(&mut self, number: u32, layout: SetLayout) {
        self.list[number as usize].layout = Some(layout);
    }

    /// Returns the archetype and columns of a set, which [`EntityManager::layout`] has found before.
    #[inline]
    pub(super) fn layout(&self, number: u32) -> &SetLayout {
        self.get(number).layout.as_ref().expect("it was found before")
    }
}

impl EntityManager {
    /// Returns the number of a set given as types. The tag of despawned entities is skipped, because users cannot add or remove
    /// it.
    pub(crate) fn set_number_of(&mut self, types: &[ComponentType]) -> Result<u32, EntityError> {
        let mark = ComponentType::of::<CleanupEntity>();
        if types.contains(&mark) {
            let others: Vec<_> = types.iter().copied().filter(|&ty| ty != mark).collect();
            return self.sets.number_of_types(&others);
        }
        self.sets.number_of_types(types)
    }

    /// Returns the number of the transfer for an operation with a set. The transfer is cached.
    pub(super) fn transfer_of<S: ComponentSet>(
        &mut self,
        from: u32,
        change: SetOperation,
    ) -> Result<u32, EntityError> {
        let set = self.set_number::<S>()?;
        self.transfer(from, set, change)
    }

    /// Returns the number of the transfer for an operation with a set given by its number. The transfer is cached.
    pub(super) fn transfer(
        &mut self,
        from: u32,
        set: u32,
        change: SetOperation,
    ) -> Result<u32, EntityError> {
        let edge = Edge { from, set, change };
        match self.transfers.find(edge) {
            Some(number) => Ok(number),
            None => self.find_transfer(edge),
        }
    }

    #[cold]
    fn find_transfer(&mut self, edge: Edge) -> Result<u32, EntityError> {
        let shape = &self.storage.archetypes[edge.from].shape;
        let mut types = shape.types.to_vec();
        let set = &self.sets.get(edge.set).types;
        match edge.change {
            SetOperation::Add | SetOperation::AddMissing => {
                types.extend(set.iter().filter(|&&ty| !shape.has(ty)));
            }
            SetOperation::Remove => types.retain(|ty| !set.contains(ty)),
            SetOperation::Exchange => {
                let removed = &self.sets.get(edge.set).removed;
                types.retain(|ty| !removed.contains(ty) && !set.contains(ty));
                types.extend(set);
            }
            SetOperation::Set => {}
            SetOperation::Despawn => {
                let residue = ComponentType::of::<CleanupEntity>();
                types.retain(|ty| ty.is_cleanup());
                types.push(residue);
            }
            SetOperation::Copy => types.retain(|ty| !ty.is_cleanup() && !set.contains(ty)),
            SetOperation::Instantiate => {
                let group = ComponentType::of_buffer::<LinkedEntityGroup>();
                let omit = ComponentType::of::<OmitLinkedEntityGroup>();
                let omits = types.contains(&omit) && types.contains(&group);
                types.retain(|&ty| {
                    let omitted = omits && (ty == omit || ty == group);
                    let is_dropped = omitted || set.contains(&ty);
                    !ty.is_cleanup() && ty != ComponentType::of::<Prefab>() && !is_dropped
                });
            }
        }
        let mut required = Vec::new();
        if self.sets.get(edge.set).requires && adds(edge.change) {
            let arriving = set.iter().copied().filter(|&ty| !shape.has(ty));
            required = required_by(arriving, |ty| types.contains(&ty));
            types.extend(required.iter().map(|found| found.ty));
            // An exchange keeps a component that it would remove if an added one requires it.
            required.retain(|found| !shape.has(found.ty));
        }
        let broken = if edge.change == SetOperation::Remove {
            broken_requirement(set, types.iter().copied())
        } else {
            None
        };
        sort(&mut types)?;
        let to = self.find_archetype(&types)?;
        let shapes =
            (&self.storage.archetypes[edge.from].shape, &self.storage.archetypes[to].shape);
        let set = &self.sets.get(edge.set).types;
        let transfer = Transfer::new(shapes.0, shapes.1, to, set, edge.change);
        let mut transfer = transfer.with_required(&required, shapes.1);
        transfer.broken = broken;
        Ok(self.transfers.insert(edge, transfer))
    }

    /// Returns the first error that [`add`](Self::add), [`set`](Self::set) or [`remove`](Self::remove) would return for one of
    /// the entities, without changing anything. After a successful check, these methods fail only if there is no memory, or in a
    /// strict world if an entity occurs twice.
    pub(crate) fn check_changes<S: ComponentSet>(
        &mut self,
        entities: &[Entity],
        change: SetOperation,
    ) -> Result<(), EntityError> {
        self.check_each(entities, change, Self::set_number::<S>)
    }

    /// Returns the first error that adding or removing these types would return for one of the entities, without changing
    /// anything.
    pub(crate) fn check_type_changes(
        &mut self,
        entities: &[Entity],
        types: &[ComponentType],
        change: SetOperation,
    ) -> Result<(), EntityError> {
        let set = self.set_number_of(types)?;
        self.check_each(entities, change, |_| Ok(set))
    }

    fn check_each(
        &mut self,
        entities: &[Entity],
        change: SetOperation,
        set: impl Fn(&mut Self) -> Result<u32, EntityError>,
    ) -> Result<(), EntityError> {
        // Consecutive entities often have the same archetype, and so the same result.
        let mut passed = NOWHERE;
        for &entity in entities {
            let Some(location) = self.storage.table.locate(entity) else {
                if change == SetOperation::Remove {
                    // An invalid set is an error even if there is nothing to remove.
                    set(self)?;
                    if !self.strict {
                        continue;
                    }
                }
                return Err(self.no_such(entity));
            };
            let archetype = self.storage.archetype_at(location);
            if archetype != passed {
                let set = set(self)?;
                let transfer = self.transfer(archetype, set, change)?;
                self.check_transfer(entity, transfer, change)?;
                passed = archetype;
            }
        }
        Ok(())
    }

    /// Returns an error if an entity's components do not allow a change. A component to be set must be present. In a strict
    /// world, a component to be added must be missing, and a component to be removed must be present.
    #[inline]
    pub(super) fn check_transfer(
        &self,
        entity: Entity,
        transfer: u32,
        change: SetOperation,
    ) -> Result<(), EntityError> {
        let Transfer { present, missing, broken, .. } = self.transfers[transfer];
        match (change, present, missing) {
            (SetOperation::Add | SetOperation::AddMissing, Some(component), _) if self.strict => {
                Err(EntityError::AlreadyPresent { entity, component })
            }
            (SetOperation::Remove, _, Some(component)) if self.strict => {
                Err(EntityError::MissingComponent { entity, component })
            }
            (SetOperation::Set, _, Some(component)) => {
                Err(EntityError::MissingComponent { entity, component })
            }
            (SetOperation::Remove, ..)
                if self.strict
                    && let Some((component, by)) = broken =>
            {
                Err(EntityError::StillRequired { entity, component, by })
            }
            _ => Ok(()),
        }
    }

    /// Returns an error if an entity does not exist.
    pub(crate) fn check_exists(&self, entity: Entity) -> Result<(), EntityError> {
        self.locate(entity).map(drop)
    }

    /// Returns an error if an entity does not exist, or lacks a component.
    pub(crate) fn check_has_type(
        &self,
        entity: Entity,
        component: ComponentType,
    ) -> Result<(), EntityError> {
        if self.has_type(entity, component) {
            Ok(())
        } else {
            Err(self.not_found(entity, component))
        }
    }
}
