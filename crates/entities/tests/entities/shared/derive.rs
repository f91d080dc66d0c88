//! Properties that `#[derive(SharedComponent)]` derives from types, and types without the derive.
#![forbid(unsafe_code)]
#![deny(warnings)]

use std::sync::Arc;

use super::components::chunk_of;
use ancho_entities::{
    ComponentType, Duplicate, Entity, EntityCommandBuffer, Field, Initial, Shared, SharedComponent,
    World,
};

fn initial<T: SharedComponent>() -> String {
    format!("{:?}", T::initial())
}

#[derive(SharedComponent, Debug, Default, PartialEq, Eq, Hash)]
#[shared(name = "a team")]
struct Team(u32);

#[derive(SharedComponent, Debug, PartialEq, Eq, Hash)]
#[shared(cleanup)]
struct Stays {
    _name: String,
}

#[derive(SharedComponent, Debug, Default, PartialEq, Eq, Hash)]
struct Pair<T>(T, u8);

#[test]
fn the_derive_detects_the_traits_of_a_type() {
    assert_eq!((initial::<Team>(), initial::<Stays>()), ("default".into(), "none".into()));
    assert_eq!((Team::CLEANUP, Stays::CLEANUP), (false, true));
    assert_eq!((Team::name(), Stays::name()), ("a team", std::any::type_name::<Stays>()));
    assert_eq!(Stays::SHAPE.fields()[0].name, "_name");
    assert!(Team::slot().is_some() && Pair::<u8>::slot().is_none());
    // The derive cannot see whether the parameter has a default.
    assert_eq!(initial::<Pair<u8>>(), "none");
}

#[derive(SharedComponent, Clone, Debug, PartialEq, Eq, Hash)]
struct Squad<T: Clone> {
    leader: Entity,
    what: T,
}

/// A type that implements the trait by hand, with its own duplication.
#[derive(Field, Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct SquadByHand(Entity);

impl SharedComponent for SquadByHand {
    const DUPLICATE: Duplicate<Self> = Duplicate::<Self>::bytes();
}

#[test]
fn the_derive_detects_whether_values_can_be_cloned() {
    #[derive(SharedComponent, Clone, Debug, PartialEq, Eq, Hash)]
    struct Flag(String);

    #[derive(SharedComponent, Clone, Debug, PartialEq, Eq, Hash)]
    struct Unbound<T>(T);

    fn duplicate<T: SharedComponent>() -> String {
        format!("{:?}", T::DUPLICATE)
    }

    assert_eq!([duplicate::<Flag>(), duplicate::<Squad<u8>>()], ["clone", "clone"]);
    // The derive cannot see the bounds of the parameter.
    assert_eq!([duplicate::<Team>(), duplicate::<Unbound<u8>>()], ["none", "none"]);
    assert_eq!([duplicate::<ByHand>(), duplicate::<SquadByHand>()], ["none", "bytes"]);
}

#[test]
fn entity_references_are_found_in_all_types_that_can_be_duplicated() {
    let mut world = World::new("Simulation");
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    let leader = commands.spawn(());
    let shared = Shared::new(Squad { leader, what: 'x' });
    let squad = commands.spawn((shared.clone(), Shared::new(SquadByHand(leader))));
    let hidden = commands.spawn(Shared::new(shadowed::Crew(leader)));
    world.play(&mut buffer).unwrap();
    let [leader, squad, hidden] = [leader, squad, hidden].map(|who| buffer.resolve(who).unwrap());
    assert_eq!(world.shared(squad), Ok(&Squad { leader, what: 'x' }));
    assert_eq!(world.shared(squad), Ok(&SquadByHand(leader)));
    assert!(world.shared(hidden) == Ok(&shadowed::Crew(leader)));
    world.check_invariants().unwrap();
}

#[test]
fn generic_types_are_distinct_for_each_parameter() {
    let mut world = World::new("Simulation");
    let set = (Shared::new(Pair(1_u8, 2)), Shared::new(Pair('x', 2)));
    let entity = world.spawn(set);
    assert_eq!(world.shared(entity), Ok(&Pair(1_u8, 2)));
    assert_eq!(world.shared(entity), Ok(&Pair('x', 2)));
    assert_ne!(ComponentType::of_shared::<Pair<u8>>(), ComponentType::of_shared::<Pair<char>>());
    world.check_invariants().unwrap();
}

/// A type that implements the trait by hand, with an initial value other than zero.
#[derive(Field, Debug, PartialEq, Eq, Hash)]
struct ByHand(u32);

impl SharedComponent for ByHand {
    fn initial() -> Initial<Self> {
        Initial::<Self>::default()
    }
}

impl Default for ByHand {
    fn default() -> Self {
        Self(9)
    }
}

#[test]
fn types_can_be_shared_without_the_derive() {
    let mut world = World::new("Simulation");
    let archetype = world.archetype::<Shared<ByHand>>();
    let entity = world.create(archetype).unwrap();
    assert_eq!(world.shared(entity), Ok(&ByHand(9)));
    assert_eq!(ComponentType::of_shared::<ByHand>().name(), {
        format!("Shared<{}>", std::any::type_name::<ByHand>())
    });
    world.set_shared(entity, ByHand(1)).unwrap();
    world.check_invariants().unwrap();
}

#[test]
fn shared_values_convert_from_and_to_arc_without_a_copy() {
    let value = Arc::new(Team(3));
    let shared = Shared::<Team>::from(Arc::clone(&value));
    let mut world = World::new("Simulation");
    let entity = world.spawn(shared.clone());
    // The world stores this allocation, and not a copy of the value.
    assert!(std::ptr::eq(world.shared::<Team>(entity).unwrap(), &raw const *value));
    assert_eq!((shared.clone(), format!("{shared:?}")), (Team(3).into(), "Team(3)".into()));
    let back: Arc<Team> = world.take::<Shared<Team>>(entity).unwrap().into();
    assert!(Arc::ptr_eq(&back, &value));
    assert_eq!(*Shared::<Team>::default(), Team(0));
}

/// A module that shadows the names of the prelude.
mod shadowed {
    #![allow(dead_code, non_camel_case_types, reason = "only to be in the way")]

    struct Option;
    struct Some;
    struct str;
    struct bool;
    struct Shared;
    struct SharedComponent;
    struct Initial;
    struct Probe;
    struct Duplicate;
    trait Clone {}
    trait Send {}
    trait Sync {}
    trait Eq {}
    trait Hash {}
    trait Default {}
    trait Blanket {
        fn initial(&self) {}
        fn default(&self) {}
        fn slot(&self) {}
    }
    impl<T: ?::core::marker::Sized> Blanket for T {}
    mod core {}
    mod std {}
    mod ancho_entities {}

    #[derive(
        ::ancho_entities::SharedComponent,
        ::core::cmp::PartialEq,
        ::core::cmp::Eq,
        ::core::hash::Hash,
        ::core::default::Default,
    )]
    #[shared(name = "shadowed team", cleanup)]
    pub(crate) struct Team {
        number: u32,
    }

    #[derive(
        ::ancho_entities::SharedComponent,
        ::core::cmp::PartialEq,
        ::core::cmp::Eq,
        ::core::hash::Hash,
    )]
    pub(crate) struct Both<T>(T, u8);

    #[derive(
        ::ancho_entities::SharedComponent,
        ::core::clone::Clone,
        ::core::cmp::PartialEq,
        ::core::cmp::Eq,
        ::core::hash::Hash,
        ::core::fmt::Debug,
    )]
    pub(crate) struct Crew(pub(crate) ::ancho_entities::Entity);
}

#[test]
fn user_types_that_shadow_the_prelude_do_not_conflict() {
    assert_eq!(initial::<shadowed::Team>(), "default");
    assert_eq!(initial::<shadowed::Both<u8>>(), "none");
}

#[derive(SharedComponent, Clone, Debug)]
#[shared(float_bits)]
struct Flock {
    speed: f32,
    radii: [f64; 2],
    wind: Option<f32>,
    species: String,
}

#[derive(SharedComponent, Clone, Debug)]
#[shared(float_bits)]
enum Material {
    Plain,
    Metal { roughness: f32, layers: Vec<f32> },
    Glass(f32, u8),
}

fn flock(speed: f32) -> Flock {
    Flock { speed, radii: [1.0, f64::NAN], wind: None, species: "goose".into() }
}

#[test]
fn values_with_floats_are_compared_by_bits() {
    let mut world = World::new("World");
    let [zero, negative, same] =
        [0.0, -0.0, 0.0].map(|speed| world.spawn(Shared::new(flock(speed))));
    let windy = world.spawn(Shared::new(Flock { wind: Some(0.0), ..flock(0.0) }));
    let duck = world.spawn(Shared::new(Flock { species: "duck".into(), ..flock(0.0) }));
    let of = |entity| chunk_of(&world, entity);
    assert_eq!(of(zero), of(same));
    assert!([negative, windy, duck].iter().all(|&other| of(other) != of(zero)));
    assert_eq!(flock(f32::NAN), flock(f32::NAN));
}

#[test]
fn variants_with_floats_are_compared_by_bits() {
    let metal = |roughness| Material::Metal { roughness, layers: vec![0.5, roughness] };
    assert_eq!(metal(0.25), metal(0.25));
    assert_ne!(metal(0.25), metal(0.5));
    assert_eq!(Material::Plain, Material::Plain);
    assert_ne!(Material::Plain, metal(0.25));
    assert_ne!(Material::Glass(1.0, 2), Material::Glass(1.0, 3));
    let mut world = World::new("World");
    world.spawn(Shared::new(Material::Glass(1.0, 2)));
    world.spawn(Shared::new(Material::Glass(1.0, 2)));
    assert_eq!(world.chunks().count(), 1);
}
