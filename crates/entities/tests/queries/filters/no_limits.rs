//! Queries have no small limit on enableable types, shared values or change filters.

use ancho_entities::{Any, Changed, Component, Entity, OrderChanged, Shared, With, Without};

use crate::common::*;

macro_rules! enableable {
    ($($name:ident)+) => {$(
        #[derive(Component, Clone, Copy)]
        #[component(enableable)]
        struct $name(u32);
    )+};
}

enableable!(E0 E1 E2 E3 E4 E5 E6 E7 E8 E9);

type All = (E0, E1, E2, E3, E4, E5, E6, E7, E8, E9);

/// Creates entities with all ten components, enabled by the bits of the entity's number.
fn crowd_of_ten() -> (Checked, Vec<(Entity, u32)>) {
    let mut world = chunks_of(50);
    let mut all = Vec::new();
    for bits in (0..1024).step_by(3).chain([0, 1023]) {
        let values = (E0(0), E1(1), E2(2), E3(3), E4(4), E5(5), E6(6), E7(7), E8(8), E9(9));
        let entity = world.spawn(values);
        macro_rules! switch {
            ($($at:literal $name:ident)+) => {$(
                world.set_component_enabled::<$name>(entity, bits >> $at & 1 != 0).unwrap();
            )+};
        }
        switch!(0 E0 1 E1 2 E2 3 E3 4 E4 5 E5 6 E6 7 E7 8 E8 9 E9);
        all.push((entity, bits));
    }
    (world, all)
}

#[test]
fn a_query_can_have_ten_enableable_types() {
    let (world, all) = crowd_of_ten();
    let expected = |matches: fn(u32) -> bool| -> Vec<Entity> {
        all.iter().filter(|(_, bits)| matches(*bits)).map(|&(entity, _)| entity).collect()
    };
    assert_eq!(
        world.query_filtered::<Entity, With<All>>().to_entities(),
        expected(|bits| bits == 1023)
    );
    assert_eq!(
        world.query_filtered::<Entity, Without<All>>().to_entities(),
        expected(|bits| bits == 0)
    );
    assert_eq!(
        world.query_filtered::<Entity, Any<All>>().to_entities(),
        expected(|bits| bits != 0)
    );
    type Mixed = (With<(E0, E2, E4)>, Without<(E1, E3, E9)>, Any<(E5, E6, E7, E8)>);
    let mixed =
        |bits: u32| bits & 0b10101 == 0b10101 && bits & 0b10_0000_1010 == 0 && bits >> 5 & 15 != 0;
    assert_eq!(world.query_filtered::<Entity, Mixed>().to_entities(), expected(mixed));
    assert!(!expected(mixed).is_empty());
    type Data<'a> =
        (&'a E0, &'a E1, &'a E2, &'a E3, &'a E4, &'a E5, &'a E6, &'a E7, &'a E8, &'a E9);
    let given = world.query::<Data<'_>>();
    assert_eq!(given.iter().count(), expected(|bits| bits == 1023).len());
    for (a, b, c, d, e, f, g, h, i, j) in &given {
        let values = [a.0, b.0, c.0, d.0, e.0, f.0, g.0, h.0, i.0, j.0];
        assert!(values.into_iter().eq(0..10));
    }
}

#[test]
fn a_query_can_filter_several_shared_values() {
    let mut world = chunks_of(10);
    for at in 0..64 {
        world.spawn((A(at), Shared::new(Team(at % 2)), Shared::new(Mesh(at % 4))));
    }
    let query = world.query::<&A>().with_shared(Team(1)).with_shared(Mesh(3));
    let found: Vec<_> = query.iter().map(|a| a.0).collect();
    assert!(found.iter().copied().eq((0..64).filter(|at| at % 4 == 3)), "{found:?}");
    assert!(world.query::<&A>().with_shared(Team(0)).with_shared(Mesh(3)).is_empty());
}

#[test]
fn change_filters_of_several_types_combine_with_order_filters() {
    let mut world = chunks_of(10);
    let team = |at| Shared::new(Team(at / 20));
    let all: Vec<_> = world.spawn_batch((0..40).map(|at| (A(at), B(0), X(0), team(at)))).collect();
    let since = world.version();
    world.advance_version();
    world.get_mut::<A>(all[0]).unwrap().0 += 1;
    world.get_mut::<B>(all[10]).unwrap().0 += 1;
    world.get_mut::<X>(all[20]).unwrap().0 += 1;
    assert_eq!(
        world.query_filtered::<Entity, Changed<(A, B, X)>>().since(since).to_entities(),
        all[..30]
    );
    assert_eq!(
        world.query_filtered::<Entity, (Changed<A>, Changed<B>)>().since(since).to_entities(),
        []
    );

    // Despawning two entities reorders the first chunk and the last.
    world.despawn(all[5]).unwrap();
    world.despawn(all[35]).unwrap();
    let reordered = world.query_filtered::<Entity, OrderChanged>().since(since).to_entities();
    assert_eq!(reordered.len(), 18);
    assert!(reordered.contains(&all[0]) && reordered.contains(&all[30]));
    let both =
        world.query_filtered::<Entity, (Changed<X>, OrderChanged)>().since(since).to_entities();
    assert_eq!(both, [], "the third chunk has changed, and not in order");
    let both =
        world.query_filtered::<Entity, (Changed<A>, OrderChanged)>().since(since).to_entities();
    assert!(both.len() == 9 && both.contains(&all[0]), "the first is both");
    let of_team = world
        .query_filtered::<Entity, OrderChanged>()
        .since(since)
        .with_shared(Team(1))
        .to_entities();
    assert!(of_team.len() == 9 && of_team.contains(&all[30]));
}
