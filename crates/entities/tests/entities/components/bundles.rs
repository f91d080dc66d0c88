//! Structs of components: `#[derive(Bundle)]`.

use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use ancho_entities::{
    Buffer, Bundle, CloneSet, Component, ComponentSet, Entity, EntityCommandBuffer, EntityError,
    Managed, Shared,
};

use crate::common::{A, B, Given, Item, Link, Mesh, Owned, Script, Tag, Text, world};

#[derive(Bundle, Clone, Debug, PartialEq)]
struct Inner {
    b: B,
    text: Text,
}

#[derive(Bundle, Clone, Debug, PartialEq)]
struct Outer {
    a: A,
    inner: Inner,
    rest: (Tag, Given),
}

#[derive(Bundle, Debug, PartialEq)]
struct Pair<T: Component, U: ComponentSet>(T, U);

#[derive(Bundle)]
struct Kinds {
    items: Buffer<Item>,
    mesh: Shared<Mesh>,
    script: Managed<Script>,
}

#[derive(Bundle, Debug, PartialEq)]
struct Marked<T: 'static> {
    a: A,
    #[bundle(ignore)]
    count: u32,
    #[bundle(ignore)]
    of: PhantomData<fn() -> T>,
}

#[derive(Bundle, Debug, PartialEq)]
struct Nothing;

#[derive(Bundle)]
struct Unclonable {
    a: A,
    only: Only,
}

#[derive(Component, Debug, PartialEq)]
struct Only(u32);

fn outer(number: u32) -> Outer {
    let inner = Inner { b: B(number + 1), text: Text(number.to_string()) };
    Outer { a: A(number), inner, rest: (Tag, Given(number + 2)) }
}

#[test]
fn a_bundle_is_the_set_of_its_fields() {
    let mut world = world();
    let id = world.spawn(outer(1));
    assert_eq!(world.entity_archetype(id), Ok(world.archetype::<(A, B, Text, Tag, Given)>()));
    assert_eq!((world.get(id), world.get(id)), (Ok(&A(1)), Ok(&B(2))));
    assert!(world.has::<Outer>(id) && world.has::<Inner>(id));
    world.set(id, Inner { b: B(9), text: Text("set".into()) }).unwrap();
    assert_eq!(world.take::<Inner>(id), Ok(Inner { b: B(9), text: Text("set".into()) }));
    assert!(!world.has::<Outer>(id) && world.has::<A>(id));
    world.add(id, (Inner { b: B(1), text: Text("add".into()) }, Link(id))).unwrap();
    assert_eq!(world.remove::<Outer>(id), Ok(true));
    assert!(world.has::<Link>(id) && !world.has::<A>(id));
}

#[test]
fn many_entities_are_created_of_bundles() {
    fn is_clone_set<S: CloneSet>(_: &S) {}
    let mut world = world();
    is_clone_set(&outer(1));
    let clones: Vec<_> = world.spawn_many(outer(5), 100).collect();
    assert!(clones.iter().all(|&id| world.get(id) == Ok(&Text("5".into()))));
    let each: Vec<_> = world.spawn_batch((0..100).map(outer)).collect();
    assert_eq!(world.take::<Outer>(each[42]), Ok(outer(42)));
    let mut buffer = EntityCommandBuffer::reusable();
    let commands = buffer.commands().unwrap();
    let first = commands.spawn(outer(7));
    commands.spawn(Pair(Link(first), outer(8)));
    for _ in 0..2 {
        world.play(&mut buffer).unwrap();
        let first = buffer.resolve(first).unwrap();
        assert_eq!(world.get(first), Ok(&A(7)));
        assert_eq!(world.query::<&Link>().iter().last(), Some(&Link(first)));
    }
}

#[test]
fn generic_and_tuple_bundles() {
    let mut world = world();
    let id = world.spawn(Pair(A(1), (B(2), Pair(Tag, Text("x".into())))));
    assert!(world.has::<(A, B, Tag, Text)>(id));
    assert_eq!(world.take::<Pair<A, B>>(id), Ok(Pair(A(1), B(2))));
    let id = world.spawn(Nothing);
    assert_eq!((world.has::<Nothing>(id), world.take::<Nothing>(id)), (true, Ok(Nothing)));
    let id = world.spawn(Unclonable { a: A(1), only: Only(2) });
    assert_eq!(world.take::<Unclonable>(id).unwrap().only, Only(2));
}

#[test]
fn all_kinds_of_components_are_fields() {
    let mut world = world();
    let kinds = || Kinds {
        items: Buffer::from([Item(1), Item(2), Item(3)]),
        mesh: Shared::new(Mesh(4)),
        script: Managed::new(Script("five".into())),
    };
    let one = world.spawn(kinds());
    let many: Vec<_> = world.spawn_many(kinds(), 3).collect();
    for id in many.into_iter().chain([one]) {
        let Kinds { items, mesh, script } = world.take(id).unwrap();
        assert_eq!((*items).len(), 3);
        assert_eq!((*mesh, script.into_inner()), (Mesh(4), Script("five".into())));
    }
}

#[test]
fn an_ignored_field_is_no_component_and_returns_as_its_default() {
    let mut world = world();
    let id = world.spawn(Marked::<Only> { a: A(1), count: 7, of: PhantomData });
    assert_eq!(world.entity(id).unwrap().component_types().len(), 1);
    let taken = world.take::<Marked<Only>>(id).unwrap();
    assert_eq!(taken, Marked { a: A(1), count: 0, of: PhantomData });
}

#[test]
fn a_type_twice_is_an_error_when_the_bundle_is_used() {
    #[derive(Bundle, Clone)]
    struct Twice {
        a: A,
        inner: Pair2,
    }

    #[derive(Bundle, Clone)]
    struct Pair2(B, A);

    let mut world = world();
    let rejected = world.try_spawn(Twice { a: A(1), inner: Pair2(B(2), A(3)) });
    let error = rejected.unwrap_err().error;
    assert!(matches!(error, EntityError::DuplicateComponent { .. }), "{error}");
}

#[test]
fn values_are_dropped_once() {
    #[derive(Bundle, Clone)]
    struct Owners {
        owned: Owned,
        a: A,
    }

    let mut world = world();
    let count = Arc::new(());
    let owners = || Owners { owned: Owned(count.clone()), a: A(1) };
    let id = world.spawn(owners());
    world.add(id, owners()).unwrap();
    assert!(world.add(Entity::NULL, owners()).is_err());
    drop(world.take::<Owners>(id).unwrap());
    world.spawn_many(owners(), 5);
    assert_eq!(Arc::strong_count(&count), 6);
    drop(world);
    assert_eq!(Arc::strong_count(&count), 1);
}

/// A value whose default panics.
#[derive(Debug)]
struct NoDefault;

impl Default for NoDefault {
    fn default() -> Self {
        panic!("no default")
    }
}

#[derive(Bundle, Debug)]
struct Panicking {
    text: Text,
    #[bundle(ignore)]
    _ignored: NoDefault,
}

#[test]
fn a_default_of_an_ignored_field_that_panics_leaves_all_values_with_their_entity() {
    let mut world = world();
    let text = |name: &str| Text(name.to_owned());
    let id = world.spawn((
        A(1),
        Owned(Arc::new(())),
        Panicking { text: text("own"), _ignored: NoDefault },
    ));
    let mut panics = |change: &dyn Fn(&mut ancho_entities::World)| {
        let result = catch_unwind(AssertUnwindSafe(|| change(&mut world)));
        assert!(result.is_err());
        world.check_invariants().unwrap();
        assert_eq!(world.get(id), Ok(&text("own")));
    };
    panics(&|world| drop(world.take::<Panicking>(id)));
    panics(&|world| drop(world.take::<(Owned, Panicking)>(id)));
    panics(&|world| drop(world.set(id, Panicking { text: text("set"), _ignored: NoDefault })));
    assert_eq!(world.take::<Text>(id), Ok(text("own")));
}
