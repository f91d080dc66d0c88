//! Dynamic buffers: any number of elements for each entity.

mod accessor;
mod column;
mod dynamic;
mod edit;
mod element;
mod header;
mod owned;
mod refuse;
mod untyped;

pub use accessor::{BufferAccessor, BufferAccessorMut};
pub use dynamic::DynamicBuffer;
pub use element::BufferElement;
pub use owned::Buffer;
pub use untyped::UntypedBuffer;

pub(crate) use column::{elements_of, write_empty};
pub(crate) use header::{BufferLayout, Header};
