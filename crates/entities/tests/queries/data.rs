//! All kinds of query data.

use ancho_entities::{
    Buffer, EnabledMut, EnabledRef, Entity, Managed, PerChunk, Shared, With, World,
};

use crate::common::*;

#[test]
fn buffers() {
    let mut world = chunks_of(3);
    let all: Vec<_> = world
        .spawn_batch((0..10).map(|at| (A(at), Buffer::from(vec![Item(at); at as usize]))))
        .collect();
    for (a, items) in world.query::<(&A, &Buffer<Item>)>() {
        assert!(items.len() == a.0 as usize && items.iter().all(|item| item.0 == a.0));
    }
    for (a, mut items) in world.query_mut::<(&A, &mut Buffer<Item>)>() {
        items.push(Item(100 + a.0));
    }
    world.query_mut::<&mut Buffer<Item>>().for_each_chunk(|mut buffers| {
        buffers.iter_mut().for_each(|mut items| items.push(Item(7)));
    });
    for (at, &entity) in (0..).zip(&all) {
        let items = world.buffer::<Item>(entity).unwrap();
        assert_eq!(items[at as usize..], [Item(100 + at), Item(7)]);
    }
    let mut lengths = Vec::new();
    world
        .query::<&Buffer<Item>>()
        .for_each_chunk(|buffers| lengths.extend(buffers.iter().map(<[_]>::len)));
    assert!(lengths.into_iter().eq(2..12));
    assert_eq!(world.query_filtered::<(), With<Buffer<Item>>>().count(), 10);
}

#[test]
fn shared_values() {
    let mut world = world();
    for at in 0..20 {
        world.spawn((A(at), Shared::new(Team(at % 3)), Shared::new(Mesh(at % 2))));
    }
    world.spawn((A(50), Shared::new(Mesh(50))));
    let mut found = 0;
    for (a, mesh, team) in world.query::<(&A, &Shared<Mesh>, Option<&Shared<Team>>)>() {
        match team {
            Some(team) => assert_eq!((team.0, mesh.0), (a.0 % 3, a.0 % 2)),
            None => assert_eq!((a.0, mesh.0), (50, 50)),
        }
        found += 1;
    }
    assert_eq!(found, 21);
    world.query_mut::<(&mut A, &Shared<Team>)>().for_each_chunk(|(a, team)| {
        a.iter_mut().for_each(|a| a.0 = team.0);
    });
    assert!(world.query::<(&A, &Shared<Team>)>().iter().all(|(a, team)| a.0 == team.0));
}

#[test]
fn chunk_components() {
    let mut world = chunks_of(4);
    let all: Vec<_> = world.spawn_batch((0..10).map(|at| (A(at), PerChunk::<B>::new()))).collect();
    world.set_chunk_component(all[5], B(5)).unwrap();
    let values: Vec<u64> = world.query::<&PerChunk<B>>().iter().map(|b| b.0).collect();
    assert_eq!(values, [0, 0, 0, 0, 5, 5, 5, 5, 0, 0]);
    let mut sums = Vec::new();
    world.query::<(&A, &PerChunk<B>)>().for_each_chunk(|(a, b)| sums.push(a.len() as u64 + b.0));
    assert_eq!(sums, [4, 9, 2]);
}

#[test]
fn managed_components() {
    let mut world = chunks_of(2);
    for at in 0..5_u32 {
        world.spawn((A(at), Managed::new(Script(at.to_string()))));
    }
    for (a, script) in world.query_mut::<(&A, &mut Managed<Script>)>() {
        script.0.push_str(&a.0.to_string());
    }
    let scripts: Vec<&str> =
        world.query::<&Managed<Script>>().iter().map(|script| &*script.0).collect();
    assert_eq!(scripts, ["00", "11", "22", "33", "44"]);
}

#[test]
fn tags_and_values_with_destructors() {
    let mut world = chunks_of(2);
    world.spawn_many((Text("a".into()), Tag), 5);
    world.query_mut::<(&mut Text, &Tag)>().for_each(|(text, Tag)| text.0.push('b'));
    world.query_mut::<&mut Text>().for_each(|text| *text = Text(format!("{}c", text.0)));
    assert!(world.query::<&Text>().iter().all(|text| text.0 == "abc"));
    let mut tags = 0;
    world.query_mut::<(&mut Tag, Entity)>().for_each_chunk(|(slice, _)| tags += slice.len());
    assert_eq!(tags, 5);
}

#[test]
fn tuples_of_sixteen_and_nested_ones() {
    let mut world = world();
    world.spawn((A(1), B(2), X(3), Tag));
    type Four<'a> = (&'a A, &'a B, &'a X, &'a Tag);
    let query = world.query::<(
        Four,
        Four,
        Four,
        Four,
        Four,
        Four,
        Four,
        Four,
        Four,
        Four,
        Four,
        Four,
        Four,
        Four,
        Four,
        Entity,
    )>();
    let found = query.single().unwrap();
    assert_eq!((found.0.0, found.14.2), (&A(1), &X(3)));
    let mut query = world.query_mut::<(((&mut A, ()), &B), Option<(&mut X, &Tag)>)>();
    let (((a, ()), b), x) = query.single_mut().unwrap();
    a.0 += b.0 as u32 + x.unwrap().0.0;
    assert_eq!(world.query::<&A>().single(), Ok(&A(6)));
}

fn on(world: &World) -> Vec<bool> {
    world.query::<EnabledRef<X>>().iter().map(|x| x.get()).collect()
}

#[test]
fn enabled_bits_can_be_changed_during_a_loop() {
    let mut world = chunks_of(100);
    let all: Vec<_> = world.spawn_batch((0..250).map(X)).collect();
    // Yields the value together with the bit that selects it, while the loop clears the bit.
    let mut given = 0;
    for (x, mut on) in world.query_mut::<(&mut X, EnabledMut<X>)>() {
        assert!(on.get());
        on.set(x.0 % 3 == 0);
        given += 1;
    }
    assert_eq!(given, 250);
    assert_eq!(on(&world), (0..250).map(|at| at % 3 == 0).collect::<Vec<_>>());
    assert_eq!(world.query::<&X>().count(), 84);
    let mut again = 0;
    world.query_mut::<(EnabledMut<X>, ())>().for_each(|(mut on, ())| {
        on.set(!on.get());
        again += 1;
    });
    assert_eq!(again, 250, "given whether on or off");
    assert_eq!(on(&world), (0..250).map(|at| at % 3 != 0).collect::<Vec<_>>());
    assert!(!world.is_component_enabled::<X>(all[0]).unwrap());
    assert!(
        format!("{:?}", world.query_mut::<EnabledMut<X>>().get_mut(all[0]).unwrap())
            .contains("false")
    );
}

#[test]
fn collected_enabled_references_are_independent() {
    let mut world = chunks_of(40);
    world.spawn_batch((0..100).map(X));
    let mut all: Vec<EnabledMut<X>> = world.query_mut::<EnabledMut<X>>().into_iter().collect();
    all.iter_mut().for_each(|bit| bit.set(false));
    for bit in all.iter_mut().step_by(2) {
        bit.set(true);
    }
    drop(all);
    assert_eq!(on(&world), (0..100).map(|at| at % 2 == 0).collect::<Vec<_>>());
}

#[test]
fn enabling_counts_as_a_change() {
    let mut world = world();
    world.spawn(X(0));
    let seen = world.version();
    world.advance_version();
    let changed = |world: &World| {
        world.query_filtered::<(), ancho_entities::Changed<X>>().since(seen).count()
    };
    assert!(on(&world)[0] && changed(&world) == 0);
    world.query_mut::<EnabledMut<X>>().for_each(|_| ());
    assert_eq!(changed(&world), 1);
}
