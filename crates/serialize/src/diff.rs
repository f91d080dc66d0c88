//! Differences between two worlds, keyed by [`EntityGuid`], and patches.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::io::Read;
use std::time::Duration;

use ancho_entities::__parts::{
    ArchetypeParts, ChunkParts, ColumnForm, ColumnLayout, PutError, StateParts, builtin_types,
    is_link_list, put_value,
};
use ancho_entities::{
    Component, ComponentType, Entity, FieldKind, FieldShape, LinkedEntityGroup, Scalar, Shape,
    ValueError, ValuePart, ValueReader, ValueWriter, VariantShape, World,
};

use crate::bytes::{ByteReader, put_text, put_varint};
use crate::error::{SerializeError, SerializeErrorKind as Kind};
use crate::save::check_stream;
use crate::section::{Compression, Payload, SectionReader, SectionWriter, Tag};
use crate::stream::{StreamReader, StreamWriter};
use crate::types::{FileType, Target, TypeRules, find_targets};

/// The first bytes of a difference.
const MAGIC: [u8; 8] = *b"ANCHODIF";

/// The identity of an entity across worlds, programs and editing sessions.
///
/// Ids of entities belong to one world. An editor that sends changes to a running game, or a tool that merges two files, needs an
/// identity that both worlds agree on. Choose random numbers. Zero stands for no entity. This is Unity's `EntityGuid`.
///
/// # Examples
///
/// ```
/// use ancho_entities::World;
/// use ancho_serialize::EntityGuid;
///
/// let mut world = World::new("Level");
/// let door = world.spawn(EntityGuid(0x6f1e_88d2_4c07_b3a1));
/// assert_eq!(world.get(door), Ok(&EntityGuid(0x6f1e_88d2_4c07_b3a1)));
/// ```
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[component(name = "ancho::EntityGuid")]
pub struct EntityGuid(pub u128);

/// The difference between two worlds, which can be applied to a third one.
///
/// Entities are identified by their [`EntityGuid`], and entities without one are ignored. References to other entities are written as
/// guids: a reference to an entity without guid, or to one that the patched world does not have, becomes null. Cleanup components and
/// chunk components are ignored. This is Unity's `EntityDiffer` and `EntityPatcher`.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, World};
/// use ancho_serialize::{EntityGuid, WorldDiff};
///
/// #[derive(Component, Clone, Copy, Debug, PartialEq)]
/// struct Health(u32);
///
/// let mut editor = World::new("Editor");
/// let orc = editor.spawn((EntityGuid(7), Health(20)));
/// let mut game = World::new("Game");
/// game.spawn_many((), 100);
/// let copy = game.spawn((EntityGuid(7), Health(20)));
///
/// let before = editor.fork()?;
/// editor.get_mut::<Health>(orc)?.0 = 35;
/// WorldDiff::between(&before, &editor)?.apply(&mut game)?;
/// assert_eq!(game.get(copy), Ok(&Health(35)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq)]
#[doc(alias = "EntityDiffer")]
#[doc(alias = "EntityPatcher")]
pub struct WorldDiff {
    types: Vec<FileType>,
    /// The guids of despawned entities, in ascending order.
    destroyed: Vec<u128>,
    /// The new and changed entities, by ascending guid.
    changes: Vec<EntityChange>,
}

#[derive(Clone, Debug, PartialEq)]
struct EntityChange {
    guid: u128,
    is_new: bool,
    /// The types of removed components.
    removed: Vec<usize>,
    /// The types and values of new and changed components.
    set: Vec<(usize, Vec<u8>)>,
    /// The types of components that were enabled or disabled.
    enabled: Vec<(usize, bool)>,
    /// The new name. An empty one removes it.
    name: Option<String>,
}

impl WorldDiff {
    /// Computes what has changed from one world to another.
    ///
    /// # Errors
    ///
    /// Returns an error if two entities of a world have the same guid (A0273), or a component cannot be written (A0268).
    pub fn between(before: &World, after: &World) -> Result<Self, SerializeError> {
        let (old, new) = (Guids::of(before)?, Guids::of(after)?);
        let mut types = UsedTypes::default();
        let gone = old.places.keys().filter(|guid| !new.places.contains_key(guid));
        let destroyed = gone.copied().collect();
        let mut changes = Vec::new();
        for (&guid, place) in &new.places {
            let known = old.places.get(&guid);
            let change = types.compare(guid, known.map(|place| (&old, place)), (&new, place))?;
            changes.extend(change);
        }
        Ok(Self { types: types.list, destroyed, changes })
    }

    /// Returns whether the worlds are equal, as far as they are compared.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.destroyed.is_empty() && self.changes.is_empty()
    }

    /// Returns the guids of new entities.
    pub fn created(&self) -> impl Iterator<Item = EntityGuid> {
        let new = self.changes.iter().filter(|change| change.is_new);
        new.map(|change| EntityGuid(change.guid))
    }

    /// Returns the guids of despawned entities.
    pub fn destroyed(&self) -> impl Iterator<Item = EntityGuid> {
        self.destroyed.iter().copied().map(EntityGuid)
    }

    /// Returns the guids of entities whose components, names or enabled bits have changed.
    pub fn changed(&self) -> impl Iterator<Item = EntityGuid> {
        let changed = self.changes.iter().filter(|change| !change.is_new);
        changed.map(|change| EntityGuid(change.guid))
    }

    /// Applies the difference to a world. Entities that were despawned already are skipped.
    ///
    /// # Errors
    ///
    /// Returns an error if two entities of the world have the same guid (A0273), a changed entity is missing, a new one exists already,
    /// or a component cannot be added (A0274). Also returns an error if the world cannot be forked. The world is then unchanged.
    pub fn apply(&self, world: &mut World) -> Result<(), SerializeError> {
        builtin_types();
        let targets = find_targets(&self.types, &TypeRules::default())?;
        if let Some((file, _)) = self
            .types
            .iter()
            .zip(&targets)
            .find(|(_, target)| target.as_ref().is_none_or(|target| !target.is_same))
        {
            let message =
                format!("the component type `{}` differs from that of the difference", file.name);
            return Err(SerializeError::new(Kind::IncompatibleType, message));
        }
        let targets: Vec<Target> = targets.into_iter().flatten().collect();
        // The changes are made to a fork, so that an error changes nothing.
        let mut patched = world.fork()?;
        self.apply_to(&mut patched, &targets)?;
        world.copy_and_replace_from(&mut patched)?;
        Ok(())
    }

    fn apply_to(&self, world: &mut World, targets: &[Target]) -> Result<(), SerializeError> {
        let mut entities = Guids::of(world)?.entities();
        let refused = |guid: u128, message: String| {
            let message = format!("entity {guid:#034x}: {message}");
            SerializeError::new(Kind::Unpatchable, message)
        };
        let group = ComponentType::of_buffer::<LinkedEntityGroup>();
        let gone: Vec<Entity> =
            self.destroyed.iter().filter_map(|guid| entities.remove(guid)).collect();
        for change in &self.changes {
            let EntityChange { guid, is_new, .. } = *change;
            match (is_new, entities.contains_key(&guid)) {
                (true, true) => {
                    return Err(refused(guid, "the new entity exists already".into()));
                }
                (false, false) => {
                    return Err(refused(guid, "the changed entity does not exist".into()));
                }
                (true, false) => {
                    entities.insert(guid, world.spawn(EntityGuid(guid)));
                }
                (false, true) => {}
            }
        }
        for change in &self.changes {
            let entity = entities[&change.guid];
            let removed: Vec<ComponentType> =
                change.removed.iter().map(|&ty| targets[ty].layout.component()).collect();
            if !removed.is_empty() {
                world.remove_types(entity, &removed)?;
            }
            for (index, value) in &change.set {
                let ty = targets[*index].layout.component();
                let inner = StreamReader::same(value);
                let mut reader = GuidReader { inner, entities: &entities };
                put_value(world, entity, ty, &mut reader).map_err(|error| match error {
                    PutError::Value(error) => {
                        refused(change.guid, format!("a value of `{ty}` cannot be read: {error}"))
                    }
                    PutError::Entity(error) => refused(change.guid, error.to_string()),
                })?;
            }
            for &(index, enabled) in &change.enabled {
                world.set_type_enabled(entity, targets[index].layout.component(), enabled)?;
            }
            if let Some(name) = &change.name {
                world.set_name(entity, name)?;
            }
        }
        // Entities are despawned last, when those that stay were detached from them.
        for entity in gone {
            if world.exists(entity) {
                // Members of the group that were despawned too have guids of their own.
                world.remove_types(entity, &[group])?;
                world.despawn(entity)?;
            }
        }
        Ok(())
    }

    /// Returns the difference as bytes, for a file or a network.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut payload = Payload::default();
        payload.fill(|out| {
            put_varint(out, self.types.len() as u64);
            self.types.iter().for_each(|ty| ty.write(out));
            put_varint(out, self.destroyed.len() as u64);
            self.destroyed.iter().for_each(|guid| out.extend(guid.to_le_bytes()));
            put_varint(out, self.changes.len() as u64);
            self.changes.iter().for_each(|change| change.write(out));
        });
        let mut bytes = Vec::new();
        let writer = SectionWriter::new(&mut bytes, MAGIC, Compression::None, [0; 3]);
        let written = writer.and_then(|mut writer| {
            writer.write(Tag::DIFF, [0; 4], &payload)?;
            writer.finish()
        });
        debug_assert!(written.is_ok(), "a vector does not fail");
        bytes
    }

    /// Reads a difference that [`to_bytes`](Self::to_bytes) has returned. The data is not trusted.
    ///
    /// # Errors
    ///
    /// Returns an error if the data is not a difference.
    pub fn from_reader(from: impl Read) -> Result<Self, SerializeError> {
        let mut sections = SectionReader::new(from, MAGIC, "a difference", u64::MAX)?;
        let section = sections.next()?;
        let bad = || SerializeError::corrupt("the contents are invalid").in_section("difference");
        let diff = (section.tag == Tag::DIFF).then(|| Self::read(sections.data())).flatten();
        let diff = diff.ok_or_else(bad)?;
        if sections.next()?.tag != Tag::END {
            return Err(bad());
        }
        Ok(diff)
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let mut from = ByteReader::new(bytes);
        let mut types = Vec::new();
        for _ in 0..from.count(8)? {
            types.push(FileType::read(&mut from)?);
        }
        let mut destroyed = Vec::new();
        for _ in 0..from.count(16)? {
            destroyed.push(from.array().map(u128::from_le_bytes)?);
        }
        let mut changes: Vec<EntityChange> = Vec::new();
        for _ in 0..from.count(16)? {
            let change = EntityChange::read(&mut from, types.len())?;
            // Guids ascend, so that none occurs twice.
            if changes.last().is_some_and(|last| last.guid >= change.guid) || change.guid == 0 {
                return None;
            }
            changes.push(change);
        }
        (from.left() == 0).then_some(Self { types, destroyed, changes })
    }
}

impl fmt::Debug for WorldDiff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorldDiff")
            .field("created", &self.created().count())
            .field("destroyed", &self.destroyed.len())
            .field("changed", &self.changed().count())
            .finish()
    }
}

impl EntityChange {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend(self.guid.to_le_bytes());
        out.push(u8::from(self.is_new) | u8::from(self.name.is_some()) << 1);
        put_varint(out, self.removed.len() as u64);
        self.removed.iter().for_each(|&ty| put_varint(out, ty as u64));
        put_varint(out, self.set.len() as u64);
        for (ty, value) in &self.set {
            put_varint(out, *ty as u64);
            put_varint(out, value.len() as u64);
            out.extend_from_slice(value);
        }
        put_varint(out, self.enabled.len() as u64);
        for &(ty, enabled) in &self.enabled {
            put_varint(out, ty as u64);
            out.push(enabled.into());
        }
        if let Some(name) = &self.name {
            put_text(out, name);
        }
    }

    fn read(from: &mut ByteReader<'_>, types: usize) -> Option<Self> {
        let ty = |from: &mut ByteReader<'_>| {
            usize::try_from(from.varint()?).ok().filter(|&ty| ty < types)
        };
        let guid = from.array().map(u128::from_le_bytes)?;
        let flags = from.byte().filter(|flags| flags & !3 == 0)?;
        let (mut removed, mut set, mut enabled) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..from.count(1)? {
            removed.push(ty(from)?);
        }
        for _ in 0..from.count(2)? {
            let ty = ty(from)?;
            let len = from.count(1)?;
            set.push((ty, from.take(len)?.to_vec()));
        }
        for _ in 0..from.count(2)? {
            enabled.push((ty(from)?, from.byte().filter(|&bit| bit < 2)? == 1));
        }
        let name = if flags & 2 != 0 { Some(from.text()?.to_owned()) } else { None };
        Some(Self { guid, is_new: flags & 1 != 0, removed, set, enabled, name })
    }
}

/// The entities of a world with a guid.
struct Guids<'w> {
    world: &'w World,
    places: BTreeMap<u128, (ChunkParts<'w>, usize)>,
    of_entity: HashMap<Entity, u128>,
}

impl<'w> Guids<'w> {
    fn of(world: &'w World) -> Result<Self, SerializeError> {
        let (mut places, mut of_entity) = (BTreeMap::new(), HashMap::new());
        for chunk in StateParts::of(world).archetypes().flat_map(ArchetypeParts::chunks) {
            if !chunk.types().contains(&ComponentType::of::<EntityGuid>()) {
                continue;
            }
            for (row, &entity) in chunk.entities().iter().enumerate() {
                let EntityGuid(guid) = *world.get::<EntityGuid>(entity)?;
                if guid == 0 {
                    continue;
                }
                if let Some((other, row)) = places.insert(guid, (chunk, row)) {
                    let other: Entity = other.entities()[row];
                    let message = format!(
                        "the entities {other} and {entity} of world `{}` have the same `EntityGuid`, {guid:#034x}; give one of \
                         them another",
                        world.name()
                    );
                    return Err(SerializeError::new(Kind::DuplicateGuid, message));
                }
                of_entity.insert(entity, guid);
            }
        }
        Ok(Self { world, places, of_entity })
    }

    fn entities(&self) -> HashMap<u128, Entity> {
        self.of_entity.iter().map(|(&entity, &guid)| (guid, entity)).collect()
    }

    /// Returns the bytes of a component, with guids instead of entities.
    fn value(
        &self,
        (chunk, row): (ChunkParts<'_>, usize),
        column: usize,
    ) -> Result<Vec<u8>, SerializeError> {
        let inner = StreamWriter::default();
        let mut out = GuidWriter { inner, guids: &self.of_entity };
        chunk.write_value(column, row, &mut out);
        check_stream(&out.inner, "component", chunk.types()[column].name())?;
        Ok(out.inner.out)
    }
}

/// The component types that occur in a difference.
#[derive(Default)]
struct UsedTypes {
    list: Vec<FileType>,
    indices: HashMap<ComponentType, usize>,
}

impl UsedTypes {
    fn index(&mut self, ty: ComponentType) -> usize {
        *self.indices.entry(ty).or_insert_with(|| {
            self.list.push(FileType::of(&ColumnLayout::of(ty)));
            self.list.len() - 1
        })
    }

    /// Returns what has changed of an entity, if anything.
    fn compare(
        &mut self,
        guid: u128,
        old: Option<(&Guids<'_>, &(ChunkParts<'_>, usize))>,
        (new, &(chunk, row)): (&Guids<'_>, &(ChunkParts<'_>, usize)),
    ) -> Result<Option<EntityChange>, SerializeError> {
        let is_compared = |ty: &ComponentType| {
            let form = ColumnLayout::of(*ty).form();
            !ty.is_cleanup()
                && !is_link_list(*ty)
                && form != ColumnForm::PerChunk
                && *ty != ComponentType::of::<EntityGuid>()
                && ty.stable_name() != "ancho::CleanupEntity"
        };
        let (mut removed, mut set, mut enabled) = (Vec::new(), Vec::new(), Vec::new());
        let old_types = old.map_or(&[][..], |(_, (chunk, _))| chunk.types());
        for ty in old_types.iter().filter(|ty| is_compared(ty)) {
            if !chunk.types().contains(ty) {
                removed.push(self.index(*ty));
            }
        }
        for (column, ty) in chunk.types().iter().enumerate().filter(|(_, ty)| is_compared(ty)) {
            let value = new.value((chunk, row), column)?;
            let is_enabled = chunk.is_enabled(column, row);
            let known = old.and_then(|(old, &place)| {
                let column = old_types.iter().position(|old| old == ty)?;
                Some((old.value(place, column), place.0.is_enabled(column, place.1)))
            });
            let (is_same, was_enabled) = match known {
                Some((old, was_enabled)) => (old? == value, was_enabled),
                None => (false, true),
            };
            if !is_same {
                set.push((self.index(*ty), value));
            }
            if was_enabled != is_enabled {
                enabled.push((self.index(*ty), is_enabled));
            }
        }
        let name_of = |guids: &Guids<'_>, (chunk, row): (ChunkParts<'_>, usize)| {
            let entity = chunk.entities()[row];
            guids.world.entity_name(entity).unwrap_or_default().to_owned()
        };
        let name = name_of(new, (chunk, row));
        let old_name = old.map_or(String::new(), |(old, &place)| name_of(old, place));
        let name = (name != old_name).then_some(name);
        let is_new = old.is_none();
        let is_changed = is_new
            || !(removed.is_empty() && set.is_empty() && enabled.is_empty() && name.is_none());
        Ok(is_changed.then_some(EntityChange { guid, is_new, removed, set, enabled, name }))
    }
}

/// Writes guids instead of entities.
struct GuidWriter<'a> {
    inner: StreamWriter,
    guids: &'a HashMap<Entity, u128>,
}

impl ValueWriter for GuidWriter<'_> {
    fn scalar(&mut self, value: Scalar) {
        let value = match value {
            Scalar::Entity(entity) => {
                Scalar::U128(self.guids.get(&entity).copied().unwrap_or_default())
            }
            value => value,
        };
        self.inner.scalar(value);
    }

    fn text(&mut self, text: &str) {
        self.inner.text(text);
    }

    fn duration(&mut self, value: Duration) {
        self.inner.duration(value);
    }

    fn blob(&mut self, bytes: &[u8]) {
        self.inner.blob(bytes);
    }

    fn begin(&mut self, part: ValuePart) {
        self.inner.begin(part);
    }

    fn field(&mut self, name: &'static str) {
        self.inner.field(name);
    }

    fn element(&mut self) {
        self.inner.element();
    }

    fn end(&mut self) {
        self.inner.end();
    }

    fn raw(&mut self, shape: &'static Shape, bytes: &[u8]) -> bool {
        !shape.has_entities && self.inner.raw(shape, bytes)
    }

    fn opaque(&mut self, type_name: &'static str) {
        self.inner.opaque(type_name);
    }
}

/// Reads guids as entities of a world. Guids that the world does not have are null.
struct GuidReader<'a, 'b, 's> {
    inner: StreamReader<'b, 's>,
    entities: &'a HashMap<u128, Entity>,
}

impl ValueReader for GuidReader<'_, '_, '_> {
    fn scalar(&mut self, kind: FieldKind) -> Result<Scalar, ValueError> {
        if !matches!(kind, FieldKind::Entity) {
            return self.inner.scalar(kind);
        }
        let Scalar::U128(guid) = self.inner.scalar(FieldKind::U128)? else {
            return Err(self.error("expected a guid"));
        };
        Ok(Scalar::Entity(self.entities.get(&guid).copied().unwrap_or(Entity::NULL)))
    }

    fn text(&mut self) -> Result<&str, ValueError> {
        self.inner.text()
    }

    fn duration(&mut self) -> Result<Duration, ValueError> {
        self.inner.duration()
    }

    fn blob(&mut self) -> Result<&[u8], ValueError> {
        self.inner.blob()
    }

    fn begin_struct(&mut self, fields: &'static [FieldShape]) -> Result<(), ValueError> {
        self.inner.begin_struct(fields)
    }

    fn begin_variant(&mut self, variants: &'static [VariantShape]) -> Result<usize, ValueError> {
        self.inner.begin_variant(variants)
    }

    fn next_field(&mut self) -> Result<Option<usize>, ValueError> {
        self.inner.next_field()
    }

    fn begin_option(&mut self) -> Result<bool, ValueError> {
        self.inner.begin_option()
    }

    fn begin_boxed(&mut self, size: usize) -> Result<(), ValueError> {
        self.inner.begin_boxed(size)
    }

    fn begin_list(
        &mut self,
        array: Option<usize>,
        size: usize,
    ) -> Result<Option<usize>, ValueError> {
        self.inner.begin_list(array, size)
    }

    fn next_element(&mut self) -> Result<bool, ValueError> {
        self.inner.next_element()
    }

    fn end(&mut self) -> Result<(), ValueError> {
        self.inner.end()
    }

    fn raw(&mut self, shape: &'static Shape, bytes: usize) -> Result<Option<&[u8]>, ValueError> {
        if shape.has_entities { Ok(None) } else { self.inner.raw(shape, bytes) }
    }

    fn error(&self, message: &str) -> ValueError {
        self.inner.error(message)
    }
}
