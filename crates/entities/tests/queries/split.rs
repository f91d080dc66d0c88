//! Several queries and lookups at once.

use ancho_entities::{
    Absent, Any, Buffer, Changed, ChunkArena, Component, Disabled, EnabledMut, EnabledRef, Entity,
    EntityError, IgnoreEnabled, IncludeDisabled, IsDisabled, Lookup, Managed, Or, Prefab, Present,
    Query, QueryFilter, Shared, SplitParts, With, Without, World, WorldSettings,
};

use crate::common::*;

#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(name = "queries::Target")]
struct Target(Entity);

#[test]
fn loops_nest() {
    let mut world = chunks_of(3);
    world.spawn_batch((0..10).map(|at| (A(at), B(1))));
    world.spawn_batch((0..5).map(|_| B(10)));
    let (mut left, right) = world.split::<(Query<&mut A>, Query<&B>)>();
    left.for_each(|a| {
        for b in &right {
            right.iter().for_each(|other| a.0 += (b.0 * other.0) as u32);
        }
    });
    for a in &mut left {
        a.0 += 1;
    }
    // The sum of all `B` is 60.
    assert!(left.iter_mut().map(|a| a.0).eq((0..10).map(|at| at + 3601)));
    assert_eq!((left.count(), right.count()), (10, 15));
}

#[test]
fn two_parts_write_different_components_of_one_entity() {
    let mut world = chunks_of(4);
    let all: Vec<_> =
        world.spawn_batch((0..10).map(|at| (A(at), B(0), Target(Entity::NULL)))).collect();
    for (at, &entity) in all.iter().enumerate() {
        world.get_mut::<Target>(entity).unwrap().0 = all[(at * 3) % 10];
    }
    let (mut a, mut b, targets) =
        world.split::<(Query<(&mut A, &Target)>, Lookup<&mut B>, Query<&Target>)>();
    let mut kept = Vec::new();
    a.for_each(|(a, target)| {
        b.get_mut(target.0).unwrap().0 += u64::from(a.0) + targets.count() as u64;
        kept.push(a);
    });
    // Items stay valid while other parts are used.
    let total: u64 = all.iter().map(|&entity| b.get_mut(entity).unwrap().0).sum();
    assert_eq!(total, 145);
    kept.into_iter().for_each(|a| a.0 += 100);
    for (at, &entity) in all.iter().enumerate() {
        assert_eq!(world.get(all[at * 3 % 10]), Ok(&B(at as u64 + 10)));
        assert_eq!(world.get(entity), Ok(&A(at as u32 + 100)));
    }
}

#[test]
fn parts_with_other_entities_write_the_same_component() {
    let mut world = chunks_of(4);
    let tagged: Vec<_> = world.spawn_batch((0..10).map(|at| (A(at), Tag))).collect();
    let others: Vec<_> = world.spawn_batch((10..20).map(A)).collect();
    let (mut with, mut without) =
        world.split::<(Query<&mut A, With<Tag>>, Query<(Entity, &mut A), Without<Tag>>)>();
    with.for_each(|a| {
        without.for_each(|(_, b)| {
            a.0 += b.0;
            b.0 += 1;
        });
    });
    assert_eq!(without.get_mut(tagged[0]), None);
    assert_eq!(without.get_mut(others[3]), Some((others[3], &mut A(23))));
    assert_eq!(with.get_mut(tagged[1]), Some(&mut A(156)));
    assert!(without.matches(others[0]) && !without.matches(tagged[0]));
    assert_eq!(without.to_entities(), others);
    let mut pairs = 0;
    without.for_each_pair(|(_, a), (_, b)| {
        assert!(a.0 < b.0);
        pairs += 1;
    });
    assert_eq!(pairs, 45);
    without.for_each_chunk(|(entities, a)| assert_eq!(entities.len(), a.len()));
}

#[test]
fn lookups_find_present_entities() {
    let mut world = world();
    let plain = world.spawn((A(1), Buffer::from([Item(1)]), Managed::new(Script("s".into()))));
    let off = world.spawn((A(2), X(2), Shared::new(Team(3))));
    let disabled = world.spawn((A(3), Disabled));
    let prefab = world.spawn((A(4), Prefab));
    let dead = world.spawn(A(5));
    world.despawn(dead).unwrap();
    world.set_component_enabled::<X>(off, false).unwrap();
    let (a, mut items, mut scripts, mut x, teams, mut on) = world.split::<(
        Lookup<&A>,
        Lookup<&mut Buffer<Item>>,
        Lookup<&mut Managed<Script>>,
        Lookup<(&mut X, Option<&Tag>)>,
        Lookup<(Entity, &Shared<Team>)>,
        Lookup<EnabledMut<X>>,
    )>();
    let found = [plain, off, disabled, prefab].map(|entity| a.get(entity).unwrap().0);
    assert_eq!(found, [1, 2, 3, 4]);
    assert!(a.get(dead).is_none() && a.get(Entity::NULL).is_none());
    assert!(a.has(prefab) && !a.has(dead));
    items.get_mut(plain).unwrap().push(Item(2));
    assert!(items.get_mut(off).is_none());
    scripts.get_mut(plain).unwrap().0.push('!');
    let (x, tag) = x.get_mut(off).unwrap();
    x.0 += 1;
    assert_eq!(tag, None);
    assert_eq!(teams.get(off), Some((off, &Team(3))));
    on.get_mut(off).unwrap().set(true);
    assert_eq!(world.buffer::<Item>(plain), Ok(&[Item(1), Item(2)][..]));
    assert_eq!(world.managed::<Script>(plain).unwrap().0, "s!");
    assert_eq!(world.query::<&X>().single(), Ok(&X(3)));
}

#[track_caller]
fn refused<P: SplitParts>(code: &str, names: &[&str]) {
    let mut world = world();
    world.spawn((A(1), B(1), X(1), Y, Tag));
    let said = panic_message(|| {
        world.split::<P>();
    });
    assert!(said.starts_with(code), "{said}");
    for name in names {
        assert!(said.contains(name), "{name} in: {said}");
    }
}

#[track_caller]
fn allowed<P: SplitParts>() {
    let mut world = world();
    world.spawn((A(1), B(1), X(1), Y, Tag));
    world.spawn((A(1), Tag, Prefab));
    world.spawn((A(1), Disabled));
    world.split::<P>();
}

/// These filters can be passed in 128 ways. All of them require the tag.
type ManyWays = (
    (Or<(With<A>, With<B>)>, Or<(With<A>, With<X>)>, Or<(With<A>, With<Y>)>),
    (Or<(With<B>, With<A>)>, Or<(With<X>, With<A>)>, Or<(With<Y>, With<A>)>),
    Or<(With<Tag>, (With<Tag>, With<B>))>,
);

#[test]
fn no_part_reads_the_data_that_another_part_can_write() {
    refused::<(Query<&mut A>, Query<&A>)>(
        "A0092: ",
        &["part 1", "changes", "part 2", "reads", "game::A"],
    );
    refused::<(Query<&A>, Query<&B>, Query<&mut A>)>("A0092: ", &["part 1", "part 3"]);
    refused::<(Query<&mut A>, Query<&mut A>)>("A0092: ", &["game::A"]);
    refused::<(Query<&mut A>, Lookup<&A>)>("A0092: ", &["Query<", "Lookup<"]);
    refused::<(Lookup<&mut A>, Lookup<&mut A>)>("A0092: ", &["game::A"]);
    refused::<(Query<Option<&mut A>>, Query<(Entity, Option<&A>)>)>("A0092: ", &["game::A"]);
    refused::<(Query<EnabledMut<X>>, Query<EnabledRef<X>>)>("A0092: ", &["the enabled bit of"]);
    refused::<(Query<&mut Buffer<Item>>, Query<&Buffer<Item>>)>("A0092: ", &["game::Item"]);
    refused::<(Query<&mut Managed<Script>>, Lookup<&Managed<Script>>)>(
        "A0092: ",
        &["game::Script"],
    );
    // Chunks that do not match now may match later.
    refused::<(Query<&mut A, Changed<B>>, Query<&A>)>("A0092: ", &["game::A"]);
    refused::<((Query<&A>, Query<&B>), Query<&mut B>)>("A0092: ", &["part 2", "part 3"]);
    // Both may match an entity with `A` and `B`.
    refused::<(Query<&mut A, Or<(With<Tag>, With<B>)>>, Query<&A, Without<Tag>>)>("A0092: ", &[]);
    refused::<(Query<&mut A, Any<(Tag, B)>>, Query<&A, Without<Tag>>)>("A0092: ", &[]);
    // More than 64 ways are not compared one by one. Filters beside them still count.
    refused::<(Query<&mut A, ManyWays>, Query<&A, Without<Tag>>)>(
        "A0092: ",
        &["the filters of part 1 have more than 64 alternatives"],
    );
    allowed::<(Query<&mut A, (ManyWays, With<Tag>)>, Query<&A, Without<Tag>>)>();
    // A lookup finds disabled entities.
    refused::<(Query<&mut A, With<Disabled>>, Lookup<&A>)>("A0092: ", &[]);

    allowed::<(Query<&A>, Query<&A>, Lookup<&A>)>();
    allowed::<(Query<&mut A>, Query<&mut B>, Lookup<(&mut X, &Y)>)>();
    allowed::<(Query<(&mut X, EnabledMut<Y>)>, Query<(EnabledRef<X>, &Y)>)>();
    allowed::<(Query<&mut A, With<Tag>>, Query<&mut A, Without<Tag>>)>();
    allowed::<(Query<&mut A, Absent<X>>, Query<(&mut A, &X)>)>();
    allowed::<(Query<&mut A, Absent<X>>, Query<&mut A, Present<X>>, Lookup<&mut B>)>();
    allowed::<(Query<&mut A, Absent<X>>, Query<&mut A, IsDisabled<X>>)>();
    allowed::<(Query<&mut A, With<Disabled>>, Query<&mut A>)>();
    allowed::<(Lookup<&mut A, With<Tag>>, Query<&A, Without<Tag>>)>();
    // In a lookup, `Without` means absent.
    allowed::<(Lookup<&mut A, Without<X>>, Query<(&A, &X)>)>();
    allowed::<(Query<&mut A, Or<(With<Tag>, With<B>)>>, Query<&A, Without<(Tag, B)>>)>();
    allowed::<(Query<&mut A, Any<(Tag, B)>>, Query<&A, Without<(Tag, B)>>)>();
    allowed::<(
        Query<&mut A, Or<(With<Prefab>, With<Tag>)>>,
        Query<&A, (Without<Tag>, Absent<Prefab>)>,
    )>();
}

#[test]
fn enabled_filters_do_not_make_parts_disjoint() {
    type On = Query<'static, &'static mut A, With<X>>;
    refused::<(On, Query<&A, Without<X>>)>(
        "A0093: ",
        &[
            "part 1",
            "part 2",
            "game::A",
            "only the enableable component `queries::X`",
            "Absent<queries::X>",
        ],
    );
    refused::<(Query<&A, Without<X>>, On)>("A0093: ", &["queries::X"]);
    refused::<(On, Query<&A, IsDisabled<X>>)>("A0093: ", &["queries::X"]);
    refused::<(Query<(&mut A, &X)>, Query<&A, Or<(Without<X>, IsDisabled<X>)>>)>(
        "A0093: ",
        &["queries::X"],
    );
    allowed::<(Query<&mut A, (With<X>, With<Tag>)>, Query<&A, (Without<X>, Without<Tag>)>)>();

    // If both parts ignore enabled state, `With` and `Without` are disjoint.
    let mut world = world();
    type Ignoring<'w> = Query<'w, &'static mut A, (With<X>, IgnoreEnabled)>;
    type Off<'w> = Query<'w, &'static mut A, (Without<X>, IgnoreEnabled)>;
    world.spawn((A(1), X(1)));
    world.spawn(A(2));
    let (mut on, mut off) = world.split::<(Ignoring, Off)>();
    assert_eq!((on.single_mut(), off.single_mut()), (Ok(&mut A(1)), Ok(&mut A(2))));
    // One alone is not enough: the other still matches disabled components.
    let said = panic_message(|| {
        let _ = world.split::<(Ignoring, Query<&mut A, Without<X>>)>();
    });
    assert!(said.starts_with("A0093: "), "{said}");
}

#[test]
fn options_of_a_query_apply_in_a_split() {
    let mut world = chunks_of(2);
    world.spawn_batch((0..4).map(|at| (A(at), Shared::new(Team(at / 2)))));
    world.spawn((A(9), Disabled, Shared::new(Team(0))));
    let (team, all) = world.split::<(Query<&A, IncludeDisabled>, Query<(), With<A>>)>();
    let mut team = team.with_shared(Team(0));
    assert_eq!(team.iter().map(|a| a.0).collect::<Vec<_>>(), [0, 1, 9]);
    assert_eq!((team.count(), all.count()), (3, 4));
    assert!(!team.is_empty());
    assert!(matches!(team.single(), Err(EntityError::NotSingle { found: 3, .. })));
    assert!(matches!(team.single_mut(), Err(EntityError::NotSingle { found: 3, .. })));
    assert!(format!("{team:?}").contains("Query<"));

    let seen = world.version();
    world.advance_version();
    let (mut a, changed) = world.split::<(Query<&mut A>, Query<(), Changed<A>>)>();
    let changed = changed.since(seen);
    assert!(changed.is_empty());
    a.iter_mut().next().unwrap().0 += 1;
    // Only the chunk of the yielded item has changed.
    assert_eq!(changed.count(), 2);
}

#[test]
fn mutable_lookups_count_as_changes() {
    let mut world = chunks_of(2);
    let all: Vec<_> = world.spawn_batch((0..6).map(|at| (A(at), B(0), X(0)))).collect();
    let seen = world.version();
    world.advance_version();
    let (mut a, b) = world.split::<(Lookup<(&mut A, &X)>, Lookup<&B>)>();
    a.get_mut(all[2]).unwrap().0.0 += 1;
    assert!(b.get(all[5]).is_some() && a.has(all[5]));
    let changed = |entity| world.lookup::<&A>().did_change(entity, seen);
    assert_eq!(
        all.iter().map(|&entity| changed(entity)).collect::<Vec<_>>(),
        [false, false, true, true, false, false]
    );
    let x = world.lookup::<&X>();
    assert!(!all.iter().any(|&entity| x.did_change(entity, seen)));
}

#[test]
fn forks_are_unchanged() {
    let mut world = chunks_of(2);
    let all: Vec<_> =
        world.spawn_batch((0..6).map(|at| (A(at), Text(at.to_string()), X(at)))).collect();
    world.set_component_enabled::<X>(all[0], false).unwrap();
    world.set_component_enabled::<X>(all[1], false).unwrap();
    let fork = Checked(world.fork().unwrap());
    let before = fork.state_hash();
    let (texts, mut a, mut on) =
        world.split::<(Query<(Entity, &mut Text)>, Lookup<&mut A>, Query<EnabledMut<X>>)>();
    let mut texts = texts;
    let mut kept = Vec::new();
    for (entity, text) in &mut texts {
        a.get_mut(entity).unwrap().0 += 10;
        kept.push(text);
        // Enables components during the loop.
        on.iter_mut().for_each(|mut x| x.set(true));
    }
    kept.into_iter().for_each(|text| text.0.push('!'));
    assert_eq!(fork.state_hash(), before);
    assert_eq!(world.get::<Text>(all[3]).unwrap().0, "3!");
    assert_eq!(fork.get::<Text>(all[3]).unwrap().0, "3");
    assert_eq!(world.query::<&X>().count(), 6);
    assert_eq!(world.query::<&A>().iter().map(|a| a.0).sum::<u32>(), 75);
}

#[test]
fn chunks_that_match_later_are_already_unshared() {
    let mut world = chunks_of(2);
    // The elements are on the heap, and are freed with the buffer's memory.
    let items = |at| Buffer::from([Item(at); 5]);
    world.spawn_batch((0..4).map(|at| (items(at), B(0), Text(at.to_string()), Y)));
    let all = world.query::<()>().to_entities();
    for &entity in &all {
        world.set_component_enabled::<Y>(entity, false).unwrap();
    }
    let seen = world.version();
    world.advance_version();
    let fork = world.fork().unwrap();
    type Texts<'w> = Query<'w, &'static mut Text, (With<Y>, Changed<B>)>;
    type Switches<'w> = Query<'w, (&'static mut B, EnabledMut<'static, Y>)>;
    let (texts, mut b, items) = world.split::<(Texts, Switches, Query<&Buffer<Item>>)>();
    let mut texts = texts.since(seen);
    assert!(texts.is_empty());
    let values: Vec<&[Item]> = items.iter().collect();
    b.for_each(|(b, mut y)| {
        b.0 = 1;
        y.set(true);
    });
    drop(fork);
    texts.for_each(|text| text.0.push('!'));
    assert!(values.into_iter().map(|items| items[4].0).eq(0..4));
    assert!(world.query::<&Text>().iter().all(|text| text.0.ends_with('!')));
}

#[test]
fn without_memory_for_copies_a_world_is_not_split() {
    let settings = WorldSettings::new().arena(ChunkArena::with_limit(16 * 1024));
    let mut world = Checked(World::with_settings("Simulation", settings));
    world.spawn((A(1), B(2)));
    let _fork = Checked(world.fork().unwrap());
    let refused = world.try_split::<(Query<&mut A>,)>();
    assert!(matches!(refused.map(drop), Err(EntityError::OutOfMemory(_))));
    panic_message(|| drop(world.split::<(Lookup<&mut B>, Query<&A>)>()));
    assert_eq!(world.split::<(Query<&A>,)>().0.single(), Ok(&A(1)));
}

#[test]
fn a_panic_inside_nested_loops_leaves_nothing_borrowed() {
    let mut world = chunks_of(3);
    world.spawn_batch((0..10).map(|at| (A(at), B(0))));
    panic_message(|| {
        let (mut a, mut b) = world.split::<(Query<&mut A>, Query<&mut B>)>();
        a.for_each(|a| {
            a.0 += 100;
            b.for_each(|b| {
                b.0 += 1;
                assert!(b.0 < 5, "enough");
            });
        });
    });
    world.spawn((A(1), B(2), Tag));
    assert_eq!(world.query::<&A>().iter().filter(|a| a.0 >= 100).count(), 5);
    assert_eq!(world.split::<(Query<&mut A>, Query<&B>)>().1.count(), 11);
}

#[test]
fn parts_are_one_or_many() {
    let mut world = world();
    let entity = world.spawn(A(1));
    assert_eq!(world.split::<Query<&A>>().get(entity), Some(&A(1)));
    let ((mut a, entities), b) = world.split::<((Query<&mut A>, Query<Entity>), Lookup<&B>)>();
    a.for_each(|a| a.0 += 1);
    assert_eq!((entities.single(), b.get(entity)), (Ok(entity), None));
    assert_eq!(world.get(entity), Ok(&A(2)));
    let lookup = world.split::<Lookup<&A>>();
    assert_eq!(format!("{lookup:?}"), "Lookup<&queries::fixtures::components::A, ()>");
}

/// Creates an entity of every archetype of a few components, with some enableable ones disabled.
fn every_archetype() -> Checked {
    let mut world = world();
    for at in 0..64 {
        let entity = world.spawn(A(at));
        if at & 1 != 0 {
            world.add(entity, B(0)).unwrap();
        }
        if at & 2 != 0 {
            world.add(entity, Tag).unwrap();
        }
        if at & 4 != 0 {
            world.add(entity, X(0)).unwrap();
            world.set_component_enabled::<X>(entity, at & 32 != 0).unwrap();
        }
        if at & 8 != 0 {
            world.add(entity, Disabled).unwrap();
        }
        if at & 16 != 0 {
            world.add(entity, Prefab).unwrap();
        }
    }
    world
}

type Left<'w, F> = Query<'w, (Entity, &'static mut A), F>;
type Right<'w, F> = Query<'w, &'static A, F>;

/// Returns the entities that the left part yields, and the addresses of their values. Separate from [`check_pair`], so
/// that the compiler generates a loop for each filter and not for each pair.
fn yielded<F: QueryFilter>(left: &mut Left<'_, F>) -> (Vec<Entity>, Vec<*const A>) {
    let mut all = (Vec::new(), Vec::new());
    left.for_each(|(entity, a)| {
        all.0.push(entity);
        all.1.push(std::ptr::from_ref(a));
    });
    all
}

/// Returns whether the right part yields one of the entities or addresses.
fn yields_any<F: QueryFilter>(
    right: &mut Right<'_, F>,
    left: &(Vec<Entity>, Vec<*const A>),
) -> bool {
    let mut any = left.0.iter().any(|&entity| right.get(entity).is_some());
    right.for_each(|a| any |= left.1.contains(&std::ptr::from_ref(a)));
    any
}

/// Checks that two parts are refused exactly if an archetype exists that both match.
fn check_pair<F: QueryFilter, G: QueryFilter>(world: &mut World, meet: &mut [usize; 2]) {
    let all = world.all_entities();
    let (left, right) = (world.query_filtered::<&A, F>(), world.query_filtered::<&A, G>());
    let (left, right) = (left.mask(), right.mask());
    let together = all.iter().any(|&entity| left.matches(entity) && right.matches(entity));
    meet[usize::from(together)] += 1;
    let names = std::any::type_name::<(F, G)>();
    if together {
        let said = panic_message(|| drop(world.split::<(Left<'_, F>, Right<'_, G>)>()));
        assert!(said.starts_with("A0092: ") || said.starts_with("A0093: "), "{names}: {said}");
        return;
    }
    let (mut left, mut right) = world.split::<(Left<'_, F>, Right<'_, G>)>();
    assert!(!yields_any(&mut right, &yielded(&mut left)), "{names}");
}

#[test]
fn parts_are_refused_only_if_an_archetype_matches_both() {
    let mut world = every_archetype();
    let mut meet = [0; 2];
    macro_rules! each_pair {
        ([$($filter:ty),*]) => { each_pair!(@each [$($filter),*] [$($filter),*]) };
        (@each [$($filter:ty),*] $all:tt) => { $(each_pair!(@with $filter, $all);)* };
        (@with $left:ty, [$($right:ty),*]) => {
            $(check_pair::<$left, $right>(&mut world, &mut meet);)*
        };
    }
    each_pair!([
        (),
        With<Tag>,
        Without<Tag>,
        Absent<Tag>,
        Present<X>,
        Absent<X>,
        With<X>,
        Without<X>,
        IsDisabled<X>,
        Any<(Tag, B)>,
        Without<(Tag, B)>,
        (With<X>, Without<Tag>),
        With<Disabled>,
        With<(Disabled, Prefab)>,
        Changed<B>,
        Or<(With<Tag>, With<B>)>,
        Or<(With<Disabled>, Absent<X>)>,
        Or<((With<Tag>, Without<B>), (With<B>, Without<Tag>))>
    ]);
    // Both outcomes are frequent.
    assert!(meet.iter().all(|&pairs| pairs > 90), "{meet:?}");
}

#[test]
fn chunks_without_the_optional_component_are_unshared() {
    let mut world = chunks_of(2);
    world.spawn_batch((0..4).map(|at| (Text(at.to_string()), B(0))));
    let fork = world.fork().unwrap();
    let (mut b, texts) = world.split::<(Query<(Option<&mut A>, &B)>, Query<&Text>)>();
    let kept: Vec<&Text> = texts.iter().collect();
    b.for_each(|(a, _)| assert!(a.is_none()));
    b.iter_mut().for_each(|(a, _)| assert!(a.is_none()));
    drop(fork);
    assert!(kept.into_iter().map(|text| &*text.0).eq(["0", "1", "2", "3"]));
}
