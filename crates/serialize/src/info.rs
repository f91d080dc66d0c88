//! The contents of a world file, read without the types of the program.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Read;

use ancho_entities::__parts::ColumnForm;

use crate::error::SerializeError;
use crate::load::{FileWorld, read_archetypes, read_types};
use crate::save::MAGIC;
use crate::schema::Schema;
use crate::section::{SectionReader, Tag};

/// A summary of a world file. Reading it checks all checksums, and needs none of the program's types.
///
/// `Display` prints the summary.
///
/// # Examples
///
/// ```
/// use ancho_entities::World;
/// use ancho_serialize::{FileInfo, SaveOptions, save};
///
/// let mut world = World::new("Game");
/// world.spawn_many((), 100);
/// let mut bytes = Vec::new();
/// save(&world, &mut bytes, SaveOptions::new())?;
/// let info = FileInfo::read(&bytes[..])?;
/// assert_eq!((info.name.as_str(), info.entities, info.chunks), ("Game", 100, 1));
/// # Ok::<(), ancho_serialize::SerializeError>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FileInfo {
    /// The name of the world.
    pub name: String,
    /// The texts that the file carries.
    pub metadata: BTreeMap<String, String>,
    /// The number of entities.
    pub entities: u64,
    /// The number of chunks.
    pub chunks: u64,
    /// The number of archetypes, including those without entities.
    pub archetypes: u64,
    /// The number of sections.
    pub sections: u64,
    /// The number of bytes of all sections, after decompression.
    pub bytes: u64,
    /// The component types.
    pub components: Vec<FileComponent>,
    /// The stable names of resources.
    pub resources: Vec<String>,
}

/// A component type of a world file.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FileComponent {
    /// The stable name.
    pub name: String,
    /// The fields of a value.
    pub schema: Schema,
    /// The number of entities that have the component.
    pub entities: u64,
    /// True if the component is shared.
    pub is_shared: bool,
    /// True if a chunk has one value.
    pub is_per_chunk: bool,
    /// True if the component can be enabled and disabled.
    pub is_enableable: bool,
}

impl FileInfo {
    /// Reads a file to its end, and checks all checksums. The contents of columns are not checked, because that needs the types of
    /// the program.
    ///
    /// # Errors
    ///
    /// Returns an error that names the section if the data is not a complete world file.
    pub fn read(from: impl Read) -> Result<Self, SerializeError> {
        let mut sections = SectionReader::new(from, MAGIC, "a world file", u64::MAX)?;
        let mut info = Self {
            name: String::new(),
            metadata: BTreeMap::new(),
            entities: 0,
            chunks: 0,
            archetypes: 0,
            sections: 0,
            bytes: 0,
            components: Vec::new(),
            resources: Vec::new(),
        };
        let mut archetypes = Vec::new();
        loop {
            let section = sections.next()?;
            let data = sections.data();
            let bad = || {
                let error = SerializeError::corrupt("the contents are invalid");
                error.in_section(&crate::section::section_name(section.tag, section.numbers))
            };
            info.sections += 1;
            info.bytes += data.len() as u64;
            match section.tag {
                Tag::WORLD => {
                    let world = FileWorld::read(data).ok_or_else(bad)?;
                    (info.name, info.metadata) = (world.name, world.metadata);
                }
                Tag::TYPES => {
                    let types = read_types(data).ok_or_else(bad)?;
                    let components = types.into_iter().map(|file| FileComponent {
                        name: file.name,
                        schema: file.schema,
                        entities: 0,
                        is_shared: file.form == ColumnForm::Shared,
                        is_per_chunk: file.form == ColumnForm::PerChunk,
                        is_enableable: file.is_enableable,
                    });
                    info.components = components.collect();
                }
                Tag::ARCHETYPES => {
                    archetypes = read_archetypes(data, info.components.len()).ok_or_else(bad)?;
                    info.archetypes = archetypes.len() as u64;
                }
                Tag::CHUNK => {
                    let [archetype, _, rows, _] = section.numbers;
                    let archetype = archetypes.get(archetype as usize).ok_or_else(bad)?;
                    info.chunks += 1;
                    info.entities += u64::from(rows);
                    for &column in &archetype.columns {
                        info.components[column].entities += u64::from(rows);
                    }
                }
                Tag::RESOURCE => {
                    let name = crate::bytes::ByteReader::new(data).text().ok_or_else(bad)?;
                    info.resources.push(name.to_owned());
                }
                Tag::END => return Ok(info),
                _ => {}
            }
        }
    }
}

impl fmt::Display for FileInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, entities, chunks, archetypes, sections, bytes, .. } = self;
        writeln!(
            f,
            "world `{name}`: {entities} entities in {chunks} chunks of {archetypes} archetypes"
        )?;
        write!(f, "{sections} sections, {bytes} bytes")?;
        for (key, value) in &self.metadata {
            write!(f, "\n{key}: {value}")?;
        }
        for component in &self.components {
            let FileComponent { name, schema, entities, .. } = component;
            write!(f, "\ncomponent `{name}`: {entities} entities, {} bytes each", schema.size)?;
            for field in schema.fields() {
                write!(f, "\n  {}: {}", field.name, field.schema)?;
            }
        }
        for name in &self.resources {
            write!(f, "\nresource `{name}`")?;
        }
        Ok(())
    }
}
