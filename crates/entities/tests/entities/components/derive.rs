//! Properties that `#[derive(Component)]` and `#[derive(ManagedComponent)]` derive from types.
#![forbid(unsafe_code)]
#![deny(warnings)]

use std::cell::Cell;
use std::marker::PhantomData;
use std::rc::Rc;

use ancho_entities::{Component, ComponentType, Entity, Field, Managed, ManagedComponent};

/// Returns how the type is duplicated and initialized.
fn abilities<T: Component>() -> (String, String) {
    (format!("{:?}", T::duplicate()), format!("{:?}", T::initial()))
}

fn is(abilities: (String, String), duplicate: &str, initial: &str) {
    assert_eq!((abilities.0.as_str(), abilities.1.as_str()), (duplicate, initial));
}

#[derive(Component, Clone, Copy, Default)]
struct Position {
    _place: [f32; 3],
}

#[derive(Component, Clone)]
#[component(name = "hero name")]
struct Name(String);

#[derive(Component, Default)]
struct Inventory {
    _items: Vec<Entity>,
}

#[derive(Component)]
struct Tag;

#[test]
fn the_derive_detects_the_traits_of_a_type() {
    is(abilities::<Position>(), "bytes", "default");
    is(abilities::<Name>(), "clone", "none");
    is(abilities::<Inventory>(), "none", "default");
    is(abilities::<Tag>(), "none", "none");
}

#[test]
fn components_have_the_name_of_their_type_or_a_custom_name() {
    assert_eq!(Position::name(), std::any::type_name::<Position>());
    assert_eq!(Name::name(), "hero name");
}

#[test]
fn components_are_fields() {
    assert_eq!(Inventory::SHAPE.fields()[0].shape.to_string(), "Vec<Entity>");
    assert_eq!(Position::SHAPE.fields()[0].shape.to_string(), "[f32; 3]");
}

#[derive(Component, Clone, Copy, Default)]
struct Pair<T>(T);

#[derive(Component, Clone, Copy)]
struct CopyPair<T: Copy>(T);

#[derive(Component, Clone)]
struct Sized<const N: usize>([u8; N]);

/// A component that crosses threads only if its parameter does.
#[derive(Component)]
struct Marked<T> {
    _of: PhantomData<T>,
}

#[test]
fn generic_types_follow_their_bounds() {
    is(abilities::<Pair<u8>>(), "none", "none");
    is(abilities::<CopyPair<u8>>(), "bytes", "none");
    is(abilities::<Sized<4>>(), "clone", "none");
    is(abilities::<Marked<Tag>>(), "none", "none");
    // Types that cannot be sent can still be named and created.
    let _ = Marked::<Rc<u8>> { _of: PhantomData };
}

#[test]
fn types_without_parameters_have_a_static_slot() {
    assert!(Position::slot().is_some());
    assert!(std::ptr::eq(Tag::slot().unwrap(), Tag::slot().unwrap()));
    assert!(Pair::<u8>::slot().is_none());
    assert!(Sized::<4>::slot().is_none());
}

#[test]
fn components_may_be_defined_in_functions() {
    #[derive(Component, Clone)]
    enum State {
        Idle,
    }

    is(abilities::<State>(), "clone", "none");
    let _ = State::Idle;
}

/// A component that can be sent only if its parameter can.
#[derive(ManagedComponent)]
struct Cache<T>(#[field(opaque)] Cell<T>);

#[derive(ManagedComponent)]
#[managed(name = "derive::Window", cleanup)]
struct Window {
    owner: Entity,
}

#[test]
fn managed_components_are_derived_like_others() {
    fn abilities<T: ManagedComponent>() -> (String, String) {
        (format!("{:?}", T::duplicate()), format!("{:?}", T::initial()))
    }

    is(abilities::<Cache<u8>>(), "none", "none");
    is(abilities::<Window>(), "none", "none");
    is(abilities::<shadowed::Managed>(), "bytes", "default");
    assert!(Cache::<u8>::slot().is_none() && Window::slot().is_some());
    assert_eq!(Window::SHAPE.fields()[0].name, "owner");
    let window = ComponentType::of_managed::<Window>();
    assert_eq!((window.name(), window.is_cleanup()), ("Managed<derive::Window>", true));
    assert_ne!(ComponentType::of_managed::<Cache<u8>>(), ComponentType::of_managed::<Cache<u16>>());
    // Types that cannot be sent can still be named and created.
    let _ = Cache(Cell::new(Rc::new(0)));
    let _ = Managed::new(Rc::new(0));
}

/// A module that shadows the names of the prelude.
mod shadowed {
    #![allow(dead_code, non_camel_case_types, reason = "only to be in the way")]

    struct Option;
    struct Some;
    struct str;
    struct Component;
    struct Duplicate;
    struct Probe;
    trait Send {}
    trait Sync {}
    trait Copy {}
    trait Clone {}
    trait Default {}
    trait Blanket {
        fn duplicate(&self) {}
        fn initial(&self) {}
        fn clone(&self) {}
        fn default(&self) {}
        fn describe(&self) {}
    }
    impl<T: ?::core::marker::Sized> Blanket for T {}
    mod core {}
    mod std {}
    mod ancho_entities {}

    #[derive(
        ::ancho_entities::Component,
        ::core::clone::Clone,
        ::core::marker::Copy,
        ::core::default::Default,
    )]
    #[component(name = "position")]
    pub(crate) struct Position {
        x: f32,
    }

    #[derive(
        ::ancho_entities::ManagedComponent,
        ::core::clone::Clone,
        ::core::marker::Copy,
        ::core::default::Default,
    )]
    #[managed(name = "managed position")]
    pub(crate) struct Managed {
        x: f32,
    }

    #[derive(::ancho_entities::Component)]
    pub(crate) struct Both<T>(T, #[field(opaque)] Option);
}

#[test]
fn user_types_that_shadow_the_prelude_do_not_conflict() {
    is(abilities::<shadowed::Position>(), "bytes", "default");
    is(abilities::<shadowed::Both<u8>>(), "none", "none");
}
