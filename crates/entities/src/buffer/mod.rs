//! Dynamic buffers: components with any number of elements per entity.

mod accessor;
mod column;
mod dynamic;
mod element;
mod owned;

pub use accessor::{BufferAccessor, BufferAccessorMut, UntypedBuffer};
pub use dynamic::DynamicBuffer;
pub use element::BufferElement;
pub use owned::Buffer;

pub(crate) use column::{BufferLayout, Header, elements_of, place_of_elements, write_empty};
