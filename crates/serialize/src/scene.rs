//! Scenes: entities as text, for people and version control.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use ancho_entities::__parts::{
    ArchetypeParts, ColumnForm, ColumnLayout, PutError, StateParts, builtin_types, find_stable,
    is_link_list, put_value, stable_names, write_initial,
};
use ancho_entities::{ComponentType, Entity, World};

use crate::error::{SerializeError, SerializeErrorKind as Kind};
use crate::json::{line_and_column, locate};
use crate::value::{Step, TreeReader, TreeWriter, Value, did_you_mean};

/// The key of the list of disabled components.
const DISABLED: &str = "$disabled";
/// The key of the scene whose first entity this one is.
const PREFAB: &str = "$prefab";
/// The key of the list of components that a prefab has and this entity has not.
const REMOVED: &str = "$removed";
/// The largest depth of nested prefabs.
const MOST_NESTED: usize = 32;

/// Entities as text: made for people, editors and version control.
///
/// In JSON, a scene is a map of entities by name. An entity is a map of components by their stable names. Values are written as
/// [`Value`] describes. A reference to an entity is its name. Fields that have the default of their component are omitted.
///
/// ```json
/// {
///   "entities": {
///     "captain": { "Health": 40 },
///     "soldier": { "Health": 20, "Leader": "captain", "$disabled": ["Leader"] }
///   }
/// }
/// ```
///
/// An entity with the key `$prefab` begins as the first entity of another scene, and changes single fields of it: see
/// [`resolve`](Self::resolve).
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, Entity, World};
/// use ancho_serialize::Scene;
///
/// #[derive(Component, Clone, Copy, Debug, PartialEq)]
/// #[component(name = "Leader", enableable)]
/// struct Leader(Entity);
///
/// let mut world = World::new("Game");
/// let text = r#"{"entities": {"captain": {}, "soldier": {"Leader": "captain"}}}"#;
/// # ancho_entities::ComponentType::of::<Leader>();
/// let entities = Scene::from_json(text)?.spawn(&mut world)?;
/// assert_eq!(world.get(entities["soldier"]), Ok(&Leader(entities["captain"])));
/// assert_eq!(Scene::of(&world)?.spawn(&mut World::new("Other"))?.len(), 2);
/// # Ok::<(), ancho_serialize::SerializeError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Scene {
    entities: Vec<SceneEntity>,
    /// The text that the scene was parsed from, for places in messages.
    source: Option<Arc<str>>,
    /// Other names of entities: the names that the first entities of prefabs have within their scenes.
    aliases: BTreeMap<String, String>,
}

/// An entity of a [`Scene`].
#[derive(Clone, Debug, PartialEq)]
pub struct SceneEntity {
    /// The name of the entity, which is unique in the scene.
    pub name: String,
    /// The components by stable name.
    pub components: Vec<(String, Value)>,
    /// The stable names of disabled components.
    pub disabled: Vec<String>,
    /// The scene whose first entity this one begins as.
    pub prefab: Option<String>,
    /// The stable names of components of the prefab that this entity does not have.
    pub removed: Vec<String>,
    /// The beginning of the names of the prefab that the entity comes from, or empty.
    scope: String,
}

impl SceneEntity {
    /// Creates an entity without components.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            components: Vec::new(),
            disabled: Vec::new(),
            prefab: None,
            removed: Vec::new(),
            scope: String::new(),
        }
    }
}

impl Scene {
    /// Creates a scene without entities.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the entities, in order.
    #[must_use]
    pub fn entities(&self) -> &[SceneEntity] {
        &self.entities
    }

    /// Adds an entity.
    pub fn push(&mut self, entity: SceneEntity) {
        self.entities.push(entity);
    }

    /// Returns all entities of a world as a scene, without cleanup components, chunk components and resources.
    ///
    /// Entities without a name, or with the name of another entity, are called `#` and a number.
    ///
    /// # Errors
    ///
    /// Returns A0268 if a component has fields without reflection.
    pub fn of(world: &World) -> Result<Self, SerializeError> {
        let state = StateParts::of(world);
        let chunks = || state.archetypes().flat_map(ArchetypeParts::chunks);
        let (mut names, mut used) = (HashMap::new(), HashSet::new());
        for (number, &entity) in chunks().flat_map(|chunk| chunk.entities()).enumerate() {
            let own = world.entity_name(entity).filter(|name| !name.starts_with('#'));
            let own = own.filter(|name| used.insert((*name).to_owned()));
            names.insert(entity, own.map_or_else(|| format!("#{number}"), str::to_owned));
        }
        let name_of = |entity: Entity| names.get(&entity).cloned().map_or(Value::Null, Value::Text);
        #[expect(clippy::mutable_key_type, reason = "types are compared by address")]
        let mut defaults: HashMap<ComponentType, Option<Value>> = HashMap::new();
        let mut entities = Vec::with_capacity(names.len());
        for chunk in chunks() {
            for (row, &entity) in chunk.entities().iter().enumerate() {
                let mut new = SceneEntity::new(names[&entity].clone());
                for (column, &ty) in chunk.types().iter().enumerate() {
                    let is_left_out = ty.is_cleanup()
                        || is_link_list(ty)
                        || ColumnLayout::of(ty).form() == ColumnForm::PerChunk
                        || ty.stable_name() == "ancho::CleanupEntity";
                    if is_left_out {
                        continue;
                    }
                    let mut out = TreeWriter::new(&name_of);
                    chunk.write_value(column, row, &mut out);
                    if let Some(field) = out.opaque {
                        let message = format!(
                            "the component `{ty}` of entity {entity} cannot be written, because `{field}` has no reflection"
                        );
                        return Err(SerializeError::new(Kind::Unsavable, message));
                    }
                    let mut value = out.result.unwrap_or(Value::Null);
                    let default = defaults.entry(ty).or_insert_with(|| {
                        let mut out = TreeWriter::new(&name_of);
                        write_initial(ty, &mut out);
                        out.result
                    });
                    if let (Value::Map(fields), Some(default)) = (&mut value, default) {
                        fields.retain(|(name, value)| default.get(name) != Some(value));
                    }
                    new.components.push((ty.stable_name().to_owned(), value));
                    if !chunk.is_enabled(column, row) {
                        new.disabled.push(ty.stable_name().to_owned());
                    }
                }
                // The order of columns depends on alignments. In a text, the order of names is easier to compare.
                new.components.sort_by(|(one, _), (other, _)| one.cmp(other));
                entities.push(new);
            }
        }
        Ok(Self { entities, source: None, aliases: BTreeMap::new() })
    }

    /// Returns the scene as JSON, with line breaks.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut text = String::new();
        self.to_value().write_pretty(0, &mut text);
        text.push('\n');
        text
    }

    /// Returns the scene as a tree.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let names =
            |names: &[String]| Value::List(names.iter().cloned().map(Value::Text).collect());
        let entity = |entity: &SceneEntity| {
            let mut entries = Vec::new();
            let prefab = entity.prefab.clone().map(|path| (PREFAB.to_owned(), Value::Text(path)));
            entries.extend(prefab);
            if !entity.removed.is_empty() {
                entries.push((REMOVED.to_owned(), names(&entity.removed)));
            }
            entries.extend(entity.components.iter().cloned());
            if !entity.disabled.is_empty() {
                entries.push((DISABLED.to_owned(), names(&entity.disabled)));
            }
            (entity.name.clone(), Value::Map(entries))
        };
        let entities = Value::Map(self.entities.iter().map(entity).collect());
        Value::Map(vec![("entities".to_owned(), entities)])
    }

    /// Parses a scene in JSON.
    ///
    /// # Errors
    ///
    /// Returns A0275 with the line and the column if the text is not JSON, or not a scene.
    pub fn from_json(text: &str) -> Result<Self, SerializeError> {
        Self::parse(&text.parse()?, Some(text.into()))
    }

    /// Creates a scene from a tree, as [`to_value`](Self::to_value) returns it.
    ///
    /// # Errors
    ///
    /// Returns A0275 if the tree is not a scene.
    pub fn from_value(value: &Value) -> Result<Self, SerializeError> {
        Self::parse(value, None)
    }

    fn parse(value: &Value, source: Option<Arc<str>>) -> Result<Self, SerializeError> {
        let scene = Self { source, ..Self::new() };
        let key = |key: &str| Step::Key(key.to_owned());
        let Value::Map(entries) = value else {
            return Err(scene.error(&[], "expected a map with `entities`"));
        };
        if let Some((other, _)) = entries.iter().find(|(key, _)| key != "entities") {
            let hint = did_you_mean(other, ["entities"].into_iter());
            let message = format!("a scene has no key `{other}`{hint}");
            return Err(scene.error(&[key(other)], &message));
        }
        let Some(Value::Map(list)) = value.get("entities") else {
            return Err(scene.error(&[key("entities")], "expected a map of entities by name"));
        };
        let (mut entities, mut used) = (Vec::new(), HashSet::new());
        for (name, components) in list {
            let path = [key("entities"), key(name)];
            if !used.insert(name) {
                return Err(scene.error(&path, &format!("two entities are called `{name}`")));
            }
            let Value::Map(components) = components else {
                let message = format!("entity `{name}`: expected a map of components");
                return Err(scene.error(&path, &message));
            };
            let mut entity = SceneEntity::new(name.clone());
            for (component, value) in components {
                let path = [key("entities"), key(name), key(component)];
                let texts = || {
                    let Value::List(values) = value else { return None };
                    let text = |value: &Value| match value {
                        Value::Text(text) => Some(text.clone()),
                        _ => None,
                    };
                    values.iter().map(text).collect::<Option<Vec<String>>>()
                };
                let message =
                    format!("entity `{name}`: `{component}` is a list of component names");
                match (&**component, value) {
                    (DISABLED, _) => {
                        entity.disabled = texts().ok_or_else(|| scene.error(&path, &message))?;
                    }
                    (REMOVED, _) => {
                        entity.removed = texts().ok_or_else(|| scene.error(&path, &message))?;
                    }
                    (PREFAB, Value::Text(path)) => entity.prefab = Some(path.clone()),
                    (PREFAB, _) => {
                        let message = format!("entity `{name}`: `{PREFAB}` is the name of a scene");
                        return Err(scene.error(&path, &message));
                    }
                    _ if entity.components.iter().any(|(known, _)| known == component) => {
                        let message =
                            format!("entity `{name}` has the component `{component}` twice");
                        return Err(scene.error(&path, &message));
                    }
                    _ => entity.components.push((component.clone(), value.clone())),
                }
            }
            entities.push(entity);
        }
        Ok(Self { entities, ..scene })
    }

    /// Replaces all prefabs of the scene with the entities of their scenes, which `load` returns by name.
    ///
    /// An entity with a prefab becomes the first entity of that scene. Its own components replace those of the prefab; in maps, single
    /// fields are replaced. Other entities of the prefab are added with the name of this one, a slash, and their own name. Prefabs may
    /// have prefabs.
    ///
    /// # Errors
    ///
    /// Returns the errors of `load`. Also returns A0275 if a prefab has no entities, or prefabs contain each other.
    pub fn resolve(
        &self,
        load: &mut dyn FnMut(&str) -> Result<Self, SerializeError>,
    ) -> Result<Self, SerializeError> {
        self.resolve_nested(load, 0)
    }

    fn resolve_nested(
        &self,
        load: &mut dyn FnMut(&str) -> Result<Self, SerializeError>,
        depth: usize,
    ) -> Result<Self, SerializeError> {
        let mut resolved = Self {
            entities: Vec::new(),
            source: self.source.clone(),
            aliases: self.aliases.clone(),
        };
        for entity in &self.entities {
            let Some(prefab) = &entity.prefab else {
                resolved.entities.push(entity.clone());
                continue;
            };
            let path = [Step::Key("entities".into()), Step::Key(entity.name.clone())];
            if depth >= MOST_NESTED {
                let message = format!("entity `{}`: prefabs are nested too deeply", entity.name);
                return Err(self.error(&path, &message));
            }
            let scene = load(prefab)?.resolve_nested(load, depth + 1)?;
            let Some((root, others)) = scene.entities.split_first() else {
                let message =
                    format!("entity `{}`: the prefab `{prefab}` has no entities", entity.name);
                return Err(self.error(&path, &message));
            };
            let scope = format!("{}/", entity.name);
            let mut new = root.clone();
            new.scope = scope.clone() + &root.scope;
            new.name.clone_from(&entity.name);
            new.components.retain(|(name, _)| !entity.removed.contains(name));
            for (name, value) in &entity.components {
                match new.components.iter_mut().find(|(known, _)| known == name) {
                    Some((_, known)) => replace_fields(known, value),
                    None => new.components.push((name.clone(), value.clone())),
                }
            }
            new.disabled.extend(entity.disabled.iter().cloned());
            resolved.aliases.insert(format!("{scope}{}", root.name), entity.name.clone());
            resolved.entities.push(new);
            for (alias, name) in &scene.aliases {
                let name =
                    if *name == root.name { entity.name.clone() } else { format!("{scope}{name}") };
                resolved.aliases.insert(format!("{scope}{alias}"), name);
            }
            for other in others {
                let mut other = other.clone();
                other.scope = scope.clone() + &other.scope;
                other.name = format!("{scope}{}", other.name);
                resolved.entities.push(other);
            }
        }
        Ok(resolved)
    }

    /// Adds the entities of the scene to a world. Returns the entities by name.
    ///
    /// The entities have their names of the scene, except those that begin with `#`.
    ///
    /// # Errors
    ///
    /// Returns A0275 if a component is unknown, or a value is not one of its type. The message has the entity, the component and the
    /// field, and also the line and the column if the scene was parsed from JSON. The world is then unchanged.
    pub fn spawn(&self, world: &mut World) -> Result<BTreeMap<String, Entity>, SerializeError> {
        builtin_types();
        // The entities are built aside, so that an error changes nothing.
        let mut aside = World::with_settings(world.name(), world.settings().clone());
        let mut entities: HashMap<&str, Entity> = HashMap::new();
        for entity in &self.entities {
            entities.insert(&entity.name, aside.spawn(()));
        }
        for entity in &self.entities {
            self.fill(entity, &entities, &mut aside)?;
        }
        let map = world.move_entities_from(&mut aside)?;
        let named =
            entities.into_iter().filter_map(|(name, entity)| Some((name, map.get(entity)?)));
        Ok(named.map(|(name, entity)| (name.to_owned(), entity)).collect())
    }

    fn fill(
        &self,
        scene_entity: &SceneEntity,
        entities: &HashMap<&str, Entity>,
        world: &mut World,
    ) -> Result<(), SerializeError> {
        let SceneEntity { name, components, disabled, prefab, scope, .. } = scene_entity;
        let entity = entities[&**name];
        let path = |component: &str, rest: Vec<Step>| {
            let mut path = vec![Step::Key("entities".into()), Step::Key(name.clone())];
            path.push(Step::Key(component.to_owned()));
            path.extend(rest);
            path
        };
        if prefab.is_some() {
            let message = format!("entity `{name}` has a prefab; call `Scene::resolve` first");
            return Err(self.error(&path(PREFAB, Vec::new()), &message));
        }
        let find = |wanted: &str| {
            // The names of a prefab hide those of the scene around it.
            let mut scope = &scope[..];
            loop {
                let full = format!("{scope}{wanted}");
                let full = self.aliases.get(&full).unwrap_or(&full);
                if let Some(&found) = entities.get(&**full) {
                    return Ok(found);
                }
                let Some(outer) = scope.strip_suffix('/') else { break };
                scope = outer.rfind('/').map_or("", |at| &scope[..=at]);
            }
            let hint = did_you_mean(wanted, entities.keys().copied());
            Err(format!("there is no entity `{wanted}` in the scene{hint}"))
        };
        let type_of = |component: &str| match find_stable(component) {
            Some((ty, false)) => Ok(ty),
            Some((_, true)) => Err(format!("entity `{name}`: two types are called `{component}`")),
            None => {
                let hint = did_you_mean(component, stable_names().into_iter());
                Err(format!("entity `{name}`: there is no component `{component}`{hint}"))
            }
        };
        for (component, value) in components {
            let ty = type_of(component)
                .map_err(|message| self.error(&path(component, Vec::new()), &message))?;
            if ty.is_chunk_component() {
                let message = format!("entity `{name}`: `{component}` is a chunk component");
                return Err(self.error(&path(component, Vec::new()), &message));
            }
            let mut reader = TreeReader::new(value, &find);
            put_value(world, entity, ty, &mut reader).map_err(|error| {
                let message = match error {
                    PutError::Value(error) if error.place().is_empty() => {
                        format!("entity `{name}`, component `{component}`: {error}")
                    }
                    PutError::Value(error) => {
                        let (field, message) = (error.place(), error.message());
                        format!(
                            "entity `{name}`, component `{component}`, field `{field}`: {message}"
                        )
                    }
                    PutError::Entity(error) => format!("entity `{name}`: {error}"),
                };
                self.error(&path(component, reader.path()), &message)
            })?;
        }
        for component in disabled {
            let refuse = |message: &str| self.error(&path(DISABLED, Vec::new()), message);
            let ty = type_of(component).map_err(|message| refuse(&message))?;
            world
                .set_type_enabled(entity, ty, false)
                .map_err(|error| refuse(&format!("entity `{name}`: {error}")))?;
        }
        if !name.starts_with('#') {
            world.set_name(entity, name)?;
        }
        Ok(())
    }

    /// Creates an error at a place of the text, if there is one.
    fn error(&self, path: &[Step], message: &str) -> SerializeError {
        match &self.source {
            Some(text) => {
                let (line, column) = line_and_column(text, locate(text, path));
                SerializeError::new(Kind::Text, format!("line {line}, column {column}: {message}"))
            }
            None => SerializeError::new(Kind::Text, message),
        }
    }
}

/// Replaces a value. In maps, single entries are replaced.
fn replace_fields(known: &mut Value, new: &Value) {
    // The names of variants begin with a capital, and those of fields do not.
    let is_variant = |entries: &[(String, Value)]| {
        entries.len() == 1 && entries[0].0.starts_with(char::is_uppercase)
    };
    match (known, new) {
        (Value::Map(known), Value::Map(new))
            if !(is_variant(new) && known.first().map(|(key, _)| key) != Some(&new[0].0)) =>
        {
            for (key, value) in new {
                match known.iter_mut().find(|(known, _)| known == key) {
                    Some((_, known)) => replace_fields(known, value),
                    None => known.push((key.clone(), value.clone())),
                }
            }
        }
        (known, new) => known.clone_from(new),
    }
}
