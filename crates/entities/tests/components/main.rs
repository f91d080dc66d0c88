//! Component types: derives, fields, hashes, buffers and shared values.

#[cfg(feature = "derive")]
#[path = "../common/model.rs"]
mod cases;

mod buffer_elements;
mod buffer_hostile;
mod buffer_model;
mod buffers;
mod component_derive;
mod field_derive;
mod field_hash;
mod field_hasher;
mod field_padding;
mod field_remap;
mod field_shape;
mod hostile_components;
mod messages;
mod shared_derive;
