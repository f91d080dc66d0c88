//! The component table: the types of a file, and those of the program.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use ancho_entities::__parts::{ColumnForm, ColumnLayout, find_stable, value_shape};
use ancho_entities::{ComponentType, Field, RuntimeType, ValueError, ValueReader, ValueWriter};

use crate::bytes::{ByteReader, put_text, put_varint};
use crate::error::{SerializeError, SerializeErrorKind as Kind};
use crate::schema::{ScalarKind, Schema, SchemaKind};

/// A component type in the table of a file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FileType {
    /// The stable name.
    pub(crate) name: String,
    pub(crate) form: ColumnForm,
    pub(crate) is_enableable: bool,
    pub(crate) is_cleanup: bool,
    /// The schema of a value.
    pub(crate) schema: Schema,
}

const ENABLEABLE: u64 = 1;
const CLEANUP: u64 = 2;

impl FileType {
    pub(crate) fn of(layout: &ColumnLayout) -> Self {
        let ty = layout.component();
        let kept = kept_types().get(ty.stable_name()).cloned();
        Self {
            name: ty.stable_name().to_owned(),
            form: layout.form(),
            is_enableable: ty.is_enableable(),
            is_cleanup: ty.is_cleanup(),
            schema: kept.filter(|_| ty.is_runtime()).unwrap_or_else(|| Schema::of(value_shape(ty))),
        }
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        put_text(out, &self.name);
        out.push(match self.form {
            ColumnForm::Nothing => 0,
            ColumnForm::Bytes => 1,
            ColumnForm::Values => 2,
            ColumnForm::Shared => 3,
            ColumnForm::PerChunk => 4,
        });
        let flag = |is_set: bool, flag: u64| if is_set { flag } else { 0 };
        put_varint(out, flag(self.is_enableable, ENABLEABLE) | flag(self.is_cleanup, CLEANUP));
        self.schema.write(out);
    }

    pub(crate) fn read(from: &mut ByteReader<'_>) -> Option<Self> {
        let name = from.text()?.to_owned();
        let form = match from.byte()? {
            0 => ColumnForm::Nothing,
            1 => ColumnForm::Bytes,
            2 => ColumnForm::Values,
            3 => ColumnForm::Shared,
            4 => ColumnForm::PerChunk,
            _ => return None,
        };
        let flags = from.varint().filter(|flags| flags & !(ENABLEABLE | CLEANUP) == 0)?;
        let schema = Schema::read(from)?;
        let is_valid = match form {
            ColumnForm::Bytes => schema.is_flat() && schema.size > 0,
            ColumnForm::Nothing => schema.size == 0 && schema.is_flat(),
            _ => true,
        };
        let (is_enableable, is_cleanup) = (flags & ENABLEABLE != 0, flags & CLEANUP != 0);
        is_valid.then_some(Self { name, form, is_enableable, is_cleanup, schema })
    }
}

/// The treatment of component types that the program does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnknownTypes {
    /// Loading fails with an error that lists the types.
    #[default]
    Error,
    /// The components are left out.
    Skip,
    /// The components are kept as runtime types, and are written again when the world is saved. Loading fails if a type has more than
    /// numbers and entities, because runtime types cannot hold it.
    Keep,
}

/// Converts values of an old type to values of another one: reads the old value, and writes the new one.
pub(crate) type Migration =
    Box<dyn Fn(&mut dyn ValueReader, &mut dyn ValueWriter) -> Result<(), ValueError> + Send>;

/// The names and migrations by which types of a file become types of the program.
#[derive(Default)]
pub(crate) struct TypeRules {
    pub(crate) renamed: BTreeMap<String, String>,
    pub(crate) migrations: BTreeMap<String, Migration>,
    pub(crate) unknown: UnknownTypes,
}

impl TypeRules {
    pub(crate) fn migrate<Old: Field, New: Field>(
        &mut self,
        name: &str,
        convert: impl Fn(Old) -> New + Send + 'static,
    ) {
        let migration: Migration = Box::new(move |from, out| {
            convert(Old::read_value(from)?).write_value(out);
            Ok(())
        });
        self.migrations.insert(name.to_owned(), migration);
    }
}

/// The type of the program to which the columns of a file's type are loaded.
pub(crate) struct Target {
    pub(crate) layout: ColumnLayout,
    /// True if the columns are the same in the file and in the program.
    pub(crate) is_same: bool,
}

/// Finds the type of the program for each type of a file. `None` means that its columns are skipped.
pub(crate) fn find_targets(
    types: &[FileType],
    rules: &TypeRules,
) -> Result<Vec<Option<Target>>, SerializeError> {
    let mut targets = Vec::with_capacity(types.len());
    let mut unknown = Vec::new();
    for file in types {
        let name = rules.renamed.get(&file.name).unwrap_or(&file.name);
        let found = match find_stable(name) {
            Some((_, true)) => {
                let message = format!(
                    "two component types of the program have the stable name `{name}`; give one of them another name, \
                     with `#[component(name = \"…\")]`"
                );
                return Err(SerializeError::new(Kind::IncompatibleType, message));
            }
            Some((ty, false)) => Some(ty),
            None if rules.unknown == UnknownTypes::Keep => keep(file)?,
            None => None,
        };
        let Some(ty) = found else {
            if rules.unknown == UnknownTypes::Skip {
                targets.push(None);
            } else {
                unknown.push(format!("`{name}`"));
            }
            continue;
        };
        let layout = ColumnLayout::of(ty);
        check_kind(file, &layout)?;
        let program = FileType::of(&layout);
        let is_same = file.schema == program.schema && file.form == program.form;
        targets.push(Some(Target { layout, is_same }));
    }
    if unknown.is_empty() {
        return Ok(targets);
    }
    let message = format!(
        "the program has no component types {}; register them with `LoadOptions::component` and its siblings, rename them with \
         `LoadOptions::rename`, or choose `LoadOptions::unknown_types`",
        unknown.join(", ")
    );
    Err(SerializeError::new(Kind::UnknownTypes, message))
}

/// Checks that a type is a shared component, a chunk component or neither in both the file and the program.
fn check_kind(file: &FileType, program: &ColumnLayout) -> Result<(), SerializeError> {
    let is_kind = |form| (file.form == form) == (program.form() == form);
    if is_kind(ColumnForm::Shared) && is_kind(ColumnForm::PerChunk) {
        return Ok(());
    }
    let message = format!(
        "the component `{}` is shared or a chunk component either in the file or in the program, not in both; give the new \
         type another name",
        file.name
    );
    Err(SerializeError::new(Kind::IncompatibleType, message))
}

/// The schemas of types that were kept as runtime types, by stable name.
fn kept_types() -> std::sync::MutexGuard<'static, BTreeMap<String, Schema>> {
    static KEPT: Mutex<BTreeMap<String, Schema>> = Mutex::new(BTreeMap::new());
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Registers a runtime type for a type of a file. Returns `None` if a runtime type cannot hold the values.
fn keep(file: &FileType) -> Result<Option<ComponentType>, SerializeError> {
    let is_plain = matches!(file.form, ColumnForm::Bytes | ColumnForm::Nothing);
    let (Ok(size), false, true) = (usize::try_from(file.schema.size), file.is_cleanup, is_plain)
    else {
        return Ok(None);
    };
    let mut runtime = RuntimeType::new(&*file.name, size, file.schema.align as usize);
    if file.is_enableable {
        runtime = runtime.enableable();
    }
    let mut fields = Vec::new();
    if list_scalars(&file.schema, 0, String::new(), &mut fields).is_none() {
        return Ok(None);
    }
    for (name, offset, kind) in fields {
        runtime = runtime.field(name, offset as usize, kind.field_kind());
    }
    let registered = ComponentType::register(runtime);
    let ty = registered.map_err(|error| {
        SerializeError::corrupt(format!("the type `{}` cannot be kept: {error}", file.name))
    })?;
    kept_types().insert(file.name.clone(), file.schema.clone());
    Ok(Some(ty))
}

/// Lists the numbers and entities of a flat type. Returns `None` if there are too many.
fn list_scalars(
    schema: &Schema,
    offset: u64,
    name: String,
    out: &mut Vec<(String, u64, ScalarKind)>,
) -> Option<()> {
    match &schema.kind {
        // These have invalid bit patterns, which runtime types do not check, or no bytes.
        SchemaKind::Scalar(ScalarKind::Bool | ScalarKind::Char | ScalarKind::Unit) => {}
        SchemaKind::Scalar(ScalarKind::Usize | ScalarKind::Isize)
            if schema.size != size_of::<usize>() as u64 => {}
        SchemaKind::Scalar(kind) => out.push((name, offset, *kind)),
        SchemaKind::Struct(fields) | SchemaKind::Tuple(fields) => {
            for field in fields {
                let dot = if name.is_empty() { "" } else { "." };
                let name = format!("{name}{dot}{}", field.name);
                list_scalars(&field.schema, offset.checked_add(field.offset)?, name, out)?;
            }
        }
        SchemaKind::Array(element, len) => {
            for index in 0..*len {
                let offset = offset.checked_add(index.checked_mul(element.size)?)?;
                list_scalars(element, offset, format!("{name}[{index}]"), out)?;
            }
        }
        _ => {}
    }
    (out.len() <= 4096).then_some(())
}
