#![doc = include_str!("../README.md")]

mod aspect;
mod attributes;
mod blob;
mod bounds;
mod bundle;
mod burst;
mod component;
mod field;
mod float_bits;
mod job;
mod lifetime;
mod manifest;
mod relationship;
mod roots;
mod state;
mod states;
mod system;
mod system_param;

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

/// Derives `ancho_entities::ComponentSet`, for structs whose fields are components or other sets.
///
/// See `ancho_entities::ComponentSet` for the requirements and examples.
#[proc_macro_derive(Bundle, attributes(bundle))]
pub fn derive_bundle(input: TokenStream) -> TokenStream {
    derive(input, bundle::derive)
}

/// Derives `ancho_entities::Component`, and `ancho_entities::Field` with it.
///
/// See `ancho_entities::Component` for the requirements and examples.
#[proc_macro_derive(Component, attributes(component, field, relationship))]
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

/// Derives `ancho_entities::Message`, and `ancho_entities::Field` with it, unless the message is local.
///
/// See `ancho_entities::Message` for the requirements and examples.
#[proc_macro_derive(Message, attributes(message, field))]
pub fn derive_message(input: TokenStream) -> TokenStream {
    derive(input, |input| state::derive(input, state::Kind::Message))
}

/// Derives `ancho_jobs::ParallelJobStruct`, for structs that are parallel jobs.
///
/// Generates structs `<Name>Batch` and `<Name>Item` in the same module. See `ancho_jobs::ParallelFor` for an example.
#[proc_macro_derive(ParallelJobStruct)]
pub fn derive_parallel_job_struct(input: TokenStream) -> TokenStream {
    derive(input, job::derive_parallel)
}

/// Derives `ancho_entities::Resource`, and `ancho_entities::Field` with it, unless the resource is local.
///
/// See `ancho_entities::Resource` for the requirements and examples.
#[proc_macro_derive(Resource, attributes(resource, field))]
pub fn derive_resource(input: TokenStream) -> TokenStream {
    derive(input, |input| state::derive(input, state::Kind::Resource))
}

/// Derives `ancho_entities::SharedComponent`, and `ancho_entities::Field` with it.
///
/// See `ancho_entities::SharedComponent` for the requirements and examples.
#[proc_macro_derive(SharedComponent, attributes(shared, field))]
pub fn derive_shared_component(input: TokenStream) -> TokenStream {
    derive(input, |input| component::derive(input, Kind::Shared))
}

/// Derives `States`, `Field`, and the traits of its kind, for an enum.
///
/// Options: `#[sub_state(of = Parent::Value)]` makes it a sub-state, which exists while its parent has this value, and starts at its
/// default. `#[computed_state]` makes it a computed state; implement `ComputedState` too. `#[state(name = "…")]` sets the name that
/// errors show.
#[proc_macro_derive(States, attributes(state, sub_state, computed_state, field))]
pub fn derive_states(input: TokenStream) -> TokenStream {
    derive(input, states::derive)
}

/// Derives `SystemParam` for a struct of parameters.
///
/// Each field is a parameter. The lifetimes of the struct are `'w`, for data of the world, and `'s`, for data of the system. A struct
/// whose fields are read-only is a parameter of run conditions, too.
///
/// ```text
/// #[derive(SystemParam)]
/// struct Combat<'w, 's> {
///     units: Query<'w, (&'static mut Health, &'static Armour)>,
///     score: ResMut<'w, Score>,
///     rounds: Local<'s, u32>,
/// }
/// ```
#[proc_macro_derive(SystemParam)]
pub fn derive_system_param(input: TokenStream) -> TokenStream {
    derive(input, system_param::derive)
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
