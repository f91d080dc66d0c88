#![doc = include_str!("../README.md")]

mod aspect;
mod attributes;
mod blob;
mod bounds;
mod burst;
mod component;
mod field;
mod job;
mod lifetime;
mod manifest;
mod roots;
mod system;

use component::Kind;
use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Derives `ancho_entities::Aspect`, for structs that queries yield.
///
/// See `ancho_entities::Aspect` for the requirements and examples.
#[proc_macro_derive(Aspect, attributes(aspect))]
pub fn derive_aspect(input: TokenStream) -> TokenStream {
    derive(input, aspect::derive)
}

/// Derives `ancho_collections::BlobData`, for structs and enums that can be stored in a blob.
///
/// See `ancho_collections::BlobData` for an example.
#[proc_macro_derive(BlobData)]
pub fn derive_blob_data(input: TokenStream) -> TokenStream {
    derive(input, blob::derive)
}

/// Derives `ancho_entities::BufferElement`, and `ancho_entities::Field` with it.
///
/// See `ancho_entities::BufferElement` for the requirements and examples.
#[proc_macro_derive(BufferElement, attributes(buffer, field))]
pub fn derive_buffer_element(input: TokenStream) -> TokenStream {
    derive(input, |input| component::derive(input, Kind::Buffer))
}

/// Derives `ancho_entities::Component`, and `ancho_entities::Field` with it.
///
/// See `ancho_entities::Component` for the requirements and examples.
#[proc_macro_derive(Component, attributes(component, field))]
pub fn derive_component(input: TokenStream) -> TokenStream {
    derive(input, |input| component::derive(input, Kind::Component))
}

/// Derives `ancho_entities::Field`, for structs and enums that are used in components.
///
/// See `ancho_entities::Field` for the requirements and examples.
#[proc_macro_derive(Field, attributes(field))]
pub fn derive_field(input: TokenStream) -> TokenStream {
    derive(input, field::derive)
}

/// Derives `ancho_jobs::JobStruct`, for structs that are single jobs.
///
/// Generates a struct `<Name>View` in the same module. See `ancho_jobs::Job` for an example.
#[proc_macro_derive(JobStruct)]
pub fn derive_job_struct(input: TokenStream) -> TokenStream {
    derive(input, job::derive_single)
}

/// Derives `ancho_entities::ManagedComponent`, and `ancho_entities::Field` with it.
///
/// See `ancho_entities::ManagedComponent` for the requirements and examples.
#[proc_macro_derive(ManagedComponent, attributes(managed, field))]
pub fn derive_managed_component(input: TokenStream) -> TokenStream {
    derive(input, |input| component::derive(input, Kind::Managed))
}

/// Derives `ancho_jobs::ParallelJobStruct`, for structs that are parallel jobs.
///
/// Generates structs `<Name>Batch` and `<Name>Item` in the same module. See `ancho_jobs::ParallelFor` for an example.
#[proc_macro_derive(ParallelJobStruct)]
pub fn derive_parallel_job_struct(input: TokenStream) -> TokenStream {
    derive(input, job::derive_parallel)
}

/// Derives `ancho_entities::SharedComponent`, and `ancho_entities::Field` with it.
///
/// See `ancho_entities::SharedComponent` for the requirements and examples.
#[proc_macro_derive(SharedComponent, attributes(shared, field))]
pub fn derive_shared_component(input: TokenStream) -> TokenStream {
    derive(input, |input| component::derive(input, Kind::Shared))
}

/// Compiles a function for each CPU level, or marks the closures in it as always inlined.
///
/// See `ancho_burst::burst` for the requirements and examples.
#[proc_macro_attribute]
pub fn burst(options: TokenStream, item: TokenStream) -> TokenStream {
    attribute(burst::attribute(options.into(), item.clone().into()), item)
}

/// Marks a function that creates the default world.
///
/// See `ancho_entities::World::default_world` for an example.
#[proc_macro_attribute]
pub fn bootstrap(options: TokenStream, item: TokenStream) -> TokenStream {
    attribute(system::bootstrap(&options.into(), item.clone().into()), item)
}

/// Registers a function or a struct as a system that worlds add automatically.
///
/// See `ancho_entities::AutoSystem` for the requirements and examples.
#[proc_macro_attribute]
pub fn system(options: TokenStream, item: TokenStream) -> TokenStream {
    attribute(system::attribute(options.into(), item.clone().into()), item)
}

/// Returns the tokens of a derive, or its error.
fn derive(
    input: TokenStream,
    derive: impl FnOnce(&DeriveInput) -> syn::Result<proc_macro2::TokenStream>,
) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    derive(&input).map_or_else(syn::Error::into_compile_error, roots::resolve).into()
}

/// Returns the tokens of an attribute. After an error, keeps the unchanged item, so that code that uses the item causes no further
/// errors.
fn attribute(written: syn::Result<proc_macro2::TokenStream>, item: TokenStream) -> TokenStream {
    written.map_or_else(
        |error| TokenStream::from_iter([error.into_compile_error().into(), item]),
        |tokens| roots::resolve(tokens).into(),
    )
}
