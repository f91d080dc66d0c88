#![doc = include_str!("../README.md")]

mod bytes;
mod delta;
mod diff;
mod error;
mod history;
mod info;
mod json;
mod load;
mod save;
mod scene;
mod schema;
mod section;
#[cfg(feature = "serde")]
mod serde_impls;
mod stream;
mod types;
mod value;

pub use delta::Delta;
pub use diff::{EntityGuid, WorldDiff};
pub use error::{SerializeError, SerializeErrorKind};
pub use history::History;
pub use info::{FileComponent, FileInfo};
pub use load::{LoadOptions, load, load_file, load_into, load_metadata, merge};
pub use save::{BackgroundSave, Progress, SaveOptions, save, save_file, save_in_background};
pub use scene::{Scene, SceneEntity};
pub use schema::{ScalarKind, Schema, SchemaField, SchemaKind, SchemaVariant};
pub use section::Compression;
pub use types::UnknownTypes;
pub use value::Value;
