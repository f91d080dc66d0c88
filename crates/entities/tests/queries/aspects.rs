//! Aspects.

use ancho_entities::{
    Aspect, Buffer, BufferElement, Component, DynamicBuffer, EnabledMut, Entity, Managed, PerChunk,
    ReadOnlyData, Shared, With, Without,
};

use crate::common::*;

#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
#[component(name = "queries::Bounds")]
struct Bounds(u32);

#[derive(BufferElement, Clone, Copy, Debug, PartialEq)]
#[buffer(name = "queries::Mark", inline = 2)]
struct Mark(u32);

/// An aspect with every kind of field.
#[derive(Aspect)]
#[aspect(read_only = EverythingView)]
struct Everything<'w> {
    entity: Entity,
    a: &'w mut A,
    b: &'w B,
    tag: Option<&'w Tag>,
    text: Option<&'w mut Text>,
    items: DynamicBuffer<'w, Item>,
    marks: &'w [Mark],
    y: EnabledMut<'w, Y>,
    inner: Inner<'w>,
    #[aspect(shared)]
    team: &'w Team,
    #[aspect(chunk)]
    bounds: &'w Bounds,
    #[aspect(managed)]
    script: &'w mut Script,
    #[aspect(managed)]
    maybe: Option<&'w mut Script2>,
}

#[derive(ancho_entities::ManagedComponent, Clone, Debug, PartialEq)]
#[managed(name = "queries::Script2")]
struct Script2(String);

#[derive(Aspect)]
#[aspect(read_only = InnerView)]
struct Inner<'w> {
    x: &'w mut X,
}

impl Everything<'_> {
    fn step(&mut self) {
        self.a.0 += self.b.0 as u32 + self.team.0 + self.bounds.0;
        if let Some(text) = &mut self.text {
            text.0.push('!');
        }
        self.items.push(Item(self.marks.len() as u32));
        self.y.set(self.tag.is_some());
        self.inner.x.0 += 1;
        self.script.0.push('?');
        if let Some(maybe) = &mut self.maybe {
            maybe.0.clear();
        }
    }
}

fn everything() -> impl ancho_entities::ComponentSet {
    (
        (A(1), B(10), X(5), Y, Buffer::from([Item(7)]), Buffer::from([Mark(1), Mark(2)])),
        (Shared::new(Team(100)), PerChunk::<Bounds>::default(), Managed::new(Script("s".into()))),
    )
}

#[test]
fn every_kind_of_field_can_be_read_and_written() {
    let mut world = world();
    let entity = world.spawn(everything());
    let with_all =
        world.spawn((everything(), Tag, Text("t".into()), Managed::new(Script2("m".into()))));
    world.set_chunk_component(entity, Bounds(1000)).unwrap();
    let mut given = Vec::new();
    world.query_mut::<Everything>().for_each(|mut all| {
        all.step();
        given.push(all.entity);
    });
    assert_eq!(given, [entity, with_all]);
    assert_eq!(world.get::<A>(entity), Ok(&A(1111)));
    assert_eq!(world.get::<A>(with_all), Ok(&A(111)));
    assert_eq!(world.get::<Text>(with_all).unwrap().0, "t!");
    assert_eq!(world.buffer::<Item>(entity), Ok(&[Item(7), Item(2)][..]));
    assert_eq!(world.get::<X>(entity), Ok(&X(6)));
    assert_eq!(world.managed::<Script>(entity).unwrap().0, "s?");
    assert_eq!(world.managed::<Script2>(with_all).unwrap().0, "");
    assert_eq!(world.query::<&Y>().count(), 1);

    let query = world.query::<EverythingView>();
    let view = query.get(with_all).unwrap();
    let EverythingView { a, b, items, y, inner, script, maybe, .. } = view;
    assert_eq!((a, b, items, y.get()), (&A(111), &B(10), &[Item(7), Item(2)][..], true));
    assert_eq!((inner.x, &*script.0, &*maybe.unwrap().0), (&X(6), "s?", ""));
    assert_eq!((view.entity, view.team, view.bounds), (with_all, &Team(100), &Bounds(0)));
    assert_eq!((view.tag, view.text.unwrap().0.as_str(), view.marks.len()), (Some(&Tag), "t!", 2));
}

#[test]
fn an_aspect_requires_the_components_of_its_fields() {
    #[derive(Aspect)]
    struct Outer<'w> {
        a: &'w mut A,
        inner: Inner<'w>,
        maybe: Option<Pair<'w>>,
    }

    #[derive(Aspect)]
    struct Pair<'w> {
        b: &'w B,
        text: &'w Text,
    }

    let mut world = world();
    let whole = world.spawn((A(1), X(2), B(3), Text("whole".into())));
    let half = world.spawn((A(1), X(2), B(3)));
    let off = world.spawn((A(1), X(2)));
    let without_inner = world.spawn((A(1), B(3)));
    world.spawn(X(1));
    world.set_component_enabled::<X>(off, false).unwrap();
    let found = world.query_mut::<Outer>().to_entities();
    assert_eq!(found, [whole, half]);
    assert_eq!(found, world.query::<(&A, &X)>().to_entities());
    assert!(world.query_mut::<Outer>().get_mut(without_inner).is_none());
    assert!(world.query_mut::<Outer>().get_mut(off).is_none());
    let texts: Vec<_> = world
        .query_mut::<Outer>()
        .into_iter()
        .map(|outer| {
            outer.a.0 += outer.inner.x.0;
            outer.maybe.map(|pair| (pair.b.0, pair.text.0.clone()))
        })
        .collect();
    assert_eq!(texts, [Some((3, "whole".to_owned())), None]);
    assert_eq!(world.get::<A>(half), Ok(&A(3)));
    let mut tagged = world.query_filtered_mut::<Outer, (With<B>, Without<Text>)>();
    assert_eq!(tagged.single_mut().unwrap().a.0, 3);
}

#[test]
fn an_aspect_with_read_only_fields_is_read_only() {
    #[derive(Aspect)]
    struct Reader<'w> {
        entity: Entity,
        a: &'w A,
        id: Id,
        #[aspect(shared)]
        team: Option<&'w Team>,
    }

    /// An aspect that borrows nothing.
    #[derive(Aspect)]
    struct Id {
        entity: Entity,
    }

    fn read_only<D: ReadOnlyData>() {}
    read_only::<Reader>();
    read_only::<Id>();
    read_only::<<Everything as Aspect>::ReadOnly>();
    read_only::<<Reader as Aspect>::ReadOnly>();

    let mut world = world();
    let entity = world.spawn(A(3));
    let reader = world.query::<Reader>().single().unwrap();
    assert_eq!((reader.entity, reader.a, reader.id.entity), (entity, &A(3), entity));
    assert!(reader.team.is_none());
}

#[test]
fn aspects_can_be_generic() {
    #[derive(Aspect)]
    #[aspect(read_only = BothView)]
    pub(crate) struct Both<'w, T: Component + ancho_entities::Mutable + 'w, U, const N: usize>
    where
        U: Component + Clone,
        &'w U: Sized,
    {
        pub(crate) first: &'w mut T,
        pub(crate) second: &'w U,
        pub(crate) array: Option<&'w Array<N>>,
    }

    #[derive(Component, Clone, Copy, Debug)]
    struct Array<const N: usize>([u8; N]);

    let mut world = world();
    world.spawn((A(1), B(2), Array([1, 2, 3])));
    world.query_mut::<Both<A, B, 3>>().for_each(|both| {
        both.first.0 += both.second.0 as u32 + u32::from(both.array.unwrap().0[2]);
    });
    let view = world.query::<BothView<A, B, 4>>().single().unwrap();
    assert_eq!((view.first, view.second, view.array.is_none()), (&A(6), &B(2), true));
}

#[test]
fn an_aspect_can_be_more_public_than_its_components() {
    mod inside {
        #![expect(unreachable_pub, reason = "what is public is what is tested")]

        use ancho_entities::{Aspect, Component};

        #[derive(Component, Clone, Copy, Default)]
        struct Hidden(u32);

        #[derive(Aspect)]
        #[aspect(read_only = CounterView)]
        pub struct Counter<'w> {
            hidden: &'w mut Hidden,
        }

        impl Counter<'_> {
            pub fn count(&mut self) -> u32 {
                self.hidden.0 += 1;
                self.hidden.0
            }
        }

        impl CounterView<'_> {
            pub fn count(&self) -> u32 {
                self.hidden.0
            }
        }

        pub fn spawn(world: &mut ancho_entities::World) {
            world.spawn(Hidden::default());
        }
    }

    let mut world = world();
    inside::spawn(&mut world);
    world.query_mut::<inside::Counter>().for_each(|mut counter| assert_eq!(counter.count(), 1));
    assert_eq!(world.query::<inside::CounterView>().single().unwrap().count(), 1);
}

#[test]
fn aspects_can_have_more_fields_than_a_tuple() {
    #[derive(Aspect)]
    struct Many<'w> {
        e0: Entity,
        e1: Entity,
        e2: Entity,
        e3: Entity,
        e4: Entity,
        e5: Entity,
        e6: Entity,
        e7: Entity,
        e8: Entity,
        e9: Entity,
        e10: Entity,
        e11: Entity,
        e12: Entity,
        e13: Entity,
        e14: Entity,
        e15: Entity,
        a: &'w mut A,
        b: &'w B,
    }

    #[derive(Aspect)]
    struct None {}

    let mut world = world();
    let entity = world.spawn((A(1), B(2)));
    for many in world.query_mut::<Many>() {
        let Many { e0, e1, e2, e3, e4, e5, e6, e7, e8, e9, e10, e11, e12, e13, e14, e15, a, b } =
            many;
        let all = [e0, e1, e2, e3, e4, e5, e6, e7, e8, e9, e10, e11, e12, e13, e14, e15];
        assert_eq!(all, [entity; 16]);
        a.0 += b.0 as u32;
    }
    assert_eq!(world.get::<A>(entity), Ok(&A(3)));
    assert_eq!(world.query::<None>().iter().count(), 1);
}

#[test]
fn a_component_in_two_fields_is_refused_if_one_is_mutable() {
    #[derive(Aspect)]
    struct Twice<'w> {
        _x: &'w X,
        _inner: Inner<'w>,
    }

    let mut world = world();
    let said = panic_message(|| world.query_mut::<Twice>().for_each(|_| ()));
    assert!(said.starts_with("A0086: ") && said.contains("Twice"), "{said}");
}

#[test]
fn user_types_that_shadow_the_prelude_do_not_conflict() {
    mod shadowed {
        #![allow(dead_code, reason = "these names conflict with generated code")]

        struct Option;
        struct Copy;
        trait Clone {}
        struct QueryData;

        #[derive(ancho_entities::Aspect)]
        #[aspect(read_only = ShadowView)]
        pub(super) struct Shadow<'w> {
            pub(super) a: core::option::Option<&'w mut super::A>,
        }
    }

    let mut world = world();
    world.spawn(A(1));
    world.query_mut::<shadowed::Shadow>().for_each(|shadow| shadow.a.unwrap().0 += 1);
    assert_eq!(world.query::<shadowed::ShadowView>().single().unwrap().a, Some(&A(2)));
}
