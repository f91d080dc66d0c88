//! Panics have the line of the caller, and happen once.

use ancho_collections::NativeList;
use ancho_entities::{
    Component, ComponentType, FixedRateCatchUp, FixedRateSimple, IntoSystem, Local, Query,
    QueryDescriptor, ResMut, System, SystemResult, World, WorldSettings,
};

use crate::common::{A, B, Number, world};
use crate::fixtures::panic_place::{Caught, panics_of};

/// Checks that a call panics once, with this code, in this file.
fn check(code: &str, call: impl FnOnce(&mut World)) -> Caught {
    let mut world = world();
    let panics = panics_of(|| call(&mut world));
    let [panic] = &panics[..] else { panic!("{code}: {panics:?}") };
    assert!(panic.message.starts_with(code), "{panic:?}");
    assert_eq!(panic.file, file!(), "{panic:?}");
    panic.clone()
}

#[test]
fn panics_have_the_place_of_the_caller() {
    #[derive(Component)]
    #[component(name = "game::A")]
    struct Double;

    check("A0086", |world| _ = world.query_mut::<(&mut A, &A)>());
    check("A0086", |world| _ = world.query_mut::<(&mut A, Option<&mut A>)>().iter_mut().count());
    check("A0086", |world| {
        let query = QueryDescriptor::of::<(&mut A, &A), ()>();
        _ = query.query(world).count();
    });
    check("A0070", |_| _ = QueryDescriptor::new().disabled([ComponentType::of::<A>()]));
    check("A0096", |_| {
        let since = QueryDescriptor::of::<&A, ()>().since(ancho_entities::Version::NEVER.next());
        _ = since.or(QueryDescriptor::of::<&B, ()>());
    });
    check("A0062", |_| {
        _ = (ComponentType::of::<A>(), ComponentType::of::<Double>());
    });
    check("A0103", |world| _ = world.resource::<Number>());
    check("A0103", |world| world.resource_mut::<Number>().0 = 1);
    check("A0121", |_| _ = FixedRateCatchUp::new(0.0));
    check("A0121", |_| _ = FixedRateSimple::new(-1.0));
    check("A0065", |_| _ = WorldSettings::new().chunk_size(5));
    check("A0065", |_| _ = WorldSettings::new().chunk_capacity_limit(0));
    check("A0100", |world| _ = world.add_system(|_: Query<&mut A>, _: Query<&A>| {}));
    check("A0102", |world| _ = world.add_system(|_: ResMut<Number>, _: ResMut<Number>| {}));
    check("A0110", |world| _ = world.add_system((|| {}).in_group("nowhere")));
    check("A0111", |world| _ = world.add_system((|| {}).unsorted()));
    check("A0131", |world| {
        let hen = (|| {}).named("hen").create_after("egg");
        _ = world.add_systems((hen, (|| {}).named("egg").create_after("hen")));
    });
    check("A0120", |world| world.update(-1.0));
    check("A0106", |world| {
        world.add_system(|| Err::<(), _>("no fuel"));
        world.update(0.1);
    });
    check("A0001", |world| {
        world.spawn(A(1));
        let mut list = NativeList::<u32>::new();
        world.query::<&A>().job().with(list.write()).schedule(|_, list| list.push(1));
        world.query::<&A>().job().with(list.write()).schedule(|_, list| list.push(1));
    });
}

#[test]
fn a0086_of_a_system_is_one_panic_about_the_system() {
    let add = |world: &mut World| {
        world.add_system((|_: Query<(&mut A, &mut A)>| {}).named("both"));
    };
    assert_eq!(
        check("A0086", add).message,
        "A0086: system `both` cannot be added: the query `(&mut systems::fixtures::components::A, &mut \
         systems::fixtures::components::A)` accesses `game::A` as component 1 and again as component 2, at least once \
         mutably; remove one of them"
    );
}

#[test]
fn a0086_of_a_required_query_is_reported_when_the_system_is_added() {
    let add = |world: &mut World| {
        let query = QueryDescriptor::of::<(&mut A, &A), ()>();
        world.add_system((|| {}).named("waits").require(query));
    };
    assert!(check("A0086", add).message.starts_with("A0086: system `waits` cannot be added: "));
    let mut world = world();
    let query = QueryDescriptor::of::<(&mut A, &A), ()>();
    assert!(world.try_add_system((|| {}).named("waits").require(query)).is_err());
    assert_eq!(world.find_system("waits"), None);
}

#[test]
fn a0112_says_what_failed() {
    struct Fragile;

    impl Default for Fragile {
        fn default() -> Self {
            panic!("no default");
        }
    }

    struct Sound;

    impl System for Sound {
        fn on_create(&mut self, _: &mut World) -> SystemResult {
            panic!("no device");
        }

        fn on_update(&mut self, _: &mut World) -> SystemResult {
            Ok(())
        }
    }

    let mut world = world();
    let error = world.try_add_system((|_: Local<Fragile>| {}).named("fragile")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "A0112: system `fragile` was not added, because a parameter panicked: no default"
    );
    let error = world.try_add_system(Sound.named("sound")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "A0112: system `sound` was not added, because `on_create` failed: no device"
    );
}
