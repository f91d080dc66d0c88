//! Write groups: queries that skip entities with another member of the group.
//!
//! ```text
//! Out  <── First, Second, Switch (can be switched off), List (a buffer), Object (managed)
//! First <── Deeper
//! Deeper <── Deepest, and Deepest <── Deeper: a circle
//! ```

use ancho_entities::{
    Absent, Any, Buffer, BufferElement, Changed, Component, ComponentType, EnabledMut, Entity,
    FilterWriteGroups, IsDisabled, Managed, ManagedComponent, Or, Present, Query, QueryData,
    QueryDescriptor, QueryFilter, With, Without, World, WriteGroup,
};

use crate::common::*;

#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(name = "queries::Out")]
struct Out(u32);

#[derive(Component, Clone, Copy)]
#[component(name = "queries::First", write_group(Out))]
struct First(u32);

#[derive(Component, Clone, Copy)]
#[component(name = "queries::Second", write_group(Out, A))]
struct Second;

#[derive(Component, Clone, Copy)]
#[component(name = "queries::Switch", enableable, write_group(Out))]
struct Switch(u32);

#[derive(BufferElement, Clone, Copy)]
#[buffer(name = "queries::List", write_group(Out))]
struct List(u32);

#[derive(ManagedComponent, Clone)]
#[managed(name = "queries::Object", write_group(Out))]
struct Object;

#[derive(Component, Clone, Copy)]
#[component(name = "queries::Deeper", write_group(First), write_group(Deepest))]
struct Deeper;

#[derive(Component, Clone, Copy)]
#[component(name = "queries::Deepest", write_group(Deeper))]
struct Deepest;

/// Returns the names of the entities that a query finds, among all combinations of interest.
fn found<D: QueryData, F: QueryFilter>() -> String {
    let mut world = world();
    let all = [
        ("plain", world.spawn(Out(0))),
        ("first", world.spawn((Out(0), First(0)))),
        ("second", world.spawn((Out(0), Second))),
        ("both", world.spawn((Out(0), First(0), Second))),
        ("on", world.spawn((Out(0), Switch(0)))),
        ("off", world.spawn((Out(0), Switch(0)))),
        ("list", world.spawn((Out(0), Buffer::from([List(1)])))),
        ("object", world.spawn((Out(0), Managed::new(Object)))),
        ("deeper", world.spawn((Out(0), First(0), Deeper))),
        ("a", world.spawn((A(0), Second))),
    ];
    world.set_component_enabled::<Switch>(all[5].1, false).unwrap();
    let query = world.query_filtered_mut::<D, (F, FilterWriteGroups)>();
    let mut names = Vec::new();
    for (name, entity) in all {
        assert_eq!(query.matches(entity), query.to_entities().contains(&entity), "{name}");
        names.extend(query.matches(entity).then_some(name));
    }
    names.join(" ")
}

#[test]
fn members_that_the_query_does_not_name_exclude_entities() {
    assert_eq!(found::<&mut Out, ()>(), "plain off");
    assert_eq!(found::<(&mut Out, &First), ()>(), "first deeper");
    assert_eq!(found::<(&mut Out, Option<&First>), ()>(), "plain first off deeper");
    assert_eq!(found::<(&mut Out, &First, &Second), ()>(), "both");
    assert_eq!(found::<&mut Out, Any<(First, Second)>>(), "first second both deeper");
    assert_eq!(found::<&mut Out, With<Second>>(), "second");
    assert_eq!(found::<(&mut Out, &Buffer<List>), ()>(), "list");
    assert_eq!(found::<(&mut Out, &mut Managed<Object>), ()>(), "object");
    assert_eq!(found::<&mut Out, Changed<First>>(), "first deeper");
}

#[test]
fn a_disabled_member_does_not_exclude() {
    assert_eq!(found::<(&mut Out, &Switch), ()>(), "on");
    assert_eq!(found::<&mut Out, Present<Switch>>(), "on off");
    assert_eq!(found::<&mut Out, IsDisabled<Switch>>(), "off");
    assert_eq!(found::<&mut Out, Without<Switch>>(), "plain off");
    assert_eq!(found::<&mut Out, Absent<Switch>>(), "plain");
    assert_eq!(found::<(&mut Out, EnabledMut<Switch>), ()>(), "on off");
    let mut world = world();
    let off = world.spawn((Out(0), Switch(0)));
    world.set_component_enabled::<Switch>(off, false).unwrap();
    let query = QueryDescriptor::of::<&mut Out, ()>().filter_write_groups();
    assert_eq!(query.query(&world).count(), 1);
    assert_eq!(query.ignore_enabled().query(&world).count(), 0, "it is there");
}

#[test]
fn reading_the_target_excludes_nothing() {
    let everything = "plain first second both on off list object deeper";
    assert_eq!(found::<&Out, ()>(), everything);
    assert_eq!(found::<(), With<Out>>(), everything);
    assert_eq!(found::<&mut First, With<Out>>(), "first both deeper");
}

#[test]
fn reading_a_target_names_its_members() {
    // `Deeper` is in the group of `First`, which is written.
    assert_eq!(found::<&mut First, ()>(), "first both");
    // `Out` is read, `First` is one of its members, and `Deeper` a member of that.
    assert_eq!(found::<(&mut First, &Out), ()>(), "first both deeper");
    // An excluded component is not read.
    assert_eq!(found::<&mut First, Without<Out>>(), "");
    assert_eq!(found::<&mut A, ()>(), "");
    // `Second` is in the groups of both.
    assert_eq!(found::<(&mut A, Option<&Out>), ()>(), "a");
    assert_eq!(found::<(&mut A, Option<&mut Out>), ()>(), "");
}

#[test]
fn an_optional_mutable_target_excludes_only_entities_that_have_it() {
    assert_eq!(found::<Option<&mut Out>, ()>(), "plain off a");
}

#[test]
fn write_groups_can_be_cyclic() {
    let mut world = world();
    let circle = world.spawn((Deeper, Deepest));
    let alone = world.spawn(Deeper);
    let query = |world: &World| {
        QueryDescriptor::of::<&mut Deeper, FilterWriteGroups>().query(world).to_entities()
    };
    assert_eq!(query(&world), [alone]);
    let known = world.query_filtered_mut::<(&mut Deeper, &Deepest), FilterWriteGroups>();
    assert_eq!(known.to_entities(), [circle]);
}

#[test]
fn members_that_are_first_used_later_exclude() {
    #[derive(Component)]
    #[component(write_group(Out))]
    struct Late;

    let mut world = world();
    world.spawn(Out(0));
    world.query_filtered_mut::<&mut Out, FilterWriteGroups>().for_each(|out| out.0 += 1);
    let late = world.spawn((Out(0), Late));
    world.query_filtered_mut::<&mut Out, FilterWriteGroups>().for_each(|out| out.0 += 1);
    assert_eq!(world.get::<Out>(late), Ok(&Out(0)));
    assert_eq!(world.query::<&Out>().iter().map(|out| out.0).sum::<u32>(), 2);
}

#[test]
fn dynamic_queries_apply_write_groups() {
    let mut world = world();
    let plain = world.spawn(Out(0));
    let first = world.spawn((Out(0), First(0)));
    let [out, known] = [ComponentType::of::<Out>(), ComponentType::of::<First>()];
    let query = QueryDescriptor::new().all_mut([out]).filter_write_groups();
    assert_eq!(query.query(&world).to_entities(), [plain]);
    assert_eq!(query.clone().all([known]).query(&world).to_entities(), [first]);
    assert_eq!(query.any([known, out]).query(&world).to_entities(), [plain, first]);
    let reading = QueryDescriptor::new().all([out]).filter_write_groups();
    assert_eq!(reading.query(&world).count(), 2);
}

/// Checks that a union finds exactly the matches of both queries, in either order. Returns the matches.
#[track_caller]
fn union_of(world: &World, left: &QueryDescriptor, right: &QueryDescriptor) -> Vec<Entity> {
    let (of_left, of_right) = (left.query(world).to_entities(), right.query(world).to_entities());
    let mut expected = world.all_entities();
    expected.retain(|entity| of_left.contains(entity) || of_right.contains(entity));
    for both in [left.clone().or(right.clone()), right.clone().or(left.clone())] {
        assert_eq!(both.query(world).to_entities(), expected);
        assert_eq!(both.query(world).count(), expected.len());
    }
    expected
}

#[test]
fn each_part_of_a_union_applies_its_own_write_groups() {
    let mut world = world();
    let plain = world.spawn(Out(0));
    let first = world.spawn((Out(0), First(0)));
    let tagged = world.spawn((Out(0), First(0), Tag));
    let both = world.spawn((Out(0), First(0), Second));
    let [on, off] = [(); 2].map(|()| world.spawn((Out(0), Switch(0))));
    world.set_component_enabled::<Switch>(off, false).unwrap();
    let [out, of_first, of_second, tag, switch] = [
        ComponentType::of::<Out>(),
        ComponentType::of::<First>(),
        ComponentType::of::<Second>(),
        ComponentType::of::<Tag>(),
        ComponentType::of::<Switch>(),
    ];
    let query = QueryDescriptor::new;
    let writing = || query().all_mut([out]).filter_write_groups();
    // A member named by the other alternative is not named by this one.
    let other = || query().all([of_first, tag]);
    assert_eq!(union_of(&world, &writing(), &other()), [plain, tagged, off]);
    assert_eq!(union_of(&world, &writing(), &other().filter_write_groups()), [plain, tagged, off]);
    // The matches of the other alternative are found despite the excluding member.
    assert_eq!(union_of(&world, &writing(), &query().all([of_second])), [plain, both, off]);
    let switched = query().present([switch]);
    assert_eq!(union_of(&world, &writing(), &switched), [plain, on, off]);
    // Both write, and each names another member.
    let of_both = union_of(&world, &writing().all([of_first]), &writing().all([of_second]));
    assert_eq!(of_both, [first, tagged]);
    let all = writing().or(writing()).ignore_enabled();
    assert_eq!(all.query(&world).to_entities(), [plain]);
    // Later options apply to both alternatives.
    let later = query().all_mut([out]).or(query().all_mut([out]).all([of_first]));
    assert_eq!(
        later.filter_write_groups().query(&world).to_entities(),
        [plain, first, tagged, off]
    );
}

#[test]
fn a_filter_in_a_union_names_members_for_all_parts() {
    assert_eq!(found::<&mut Out, Or<(With<First>, With<Second>)>>(), "first second both deeper");
    assert_eq!(found::<&mut Out, Or<(With<First>, With<Tag>)>>(), "first deeper");
    assert_eq!(found::<&mut Out, Or<(Without<First>, With<Tag>)>>(), "plain off");
    assert_eq!(found::<&mut Out, Or<(IsDisabled<Switch>, With<First>)>>(), "first off deeper");
    assert_eq!(found::<&mut Out, Or<((), With<Second>)>>(), "plain second off");
}

#[test]
fn write_groups_of_generic_types() {
    #[derive(Component)]
    struct Target<T: Send + Sync + 'static>(#[field(opaque)] std::marker::PhantomData<T>);

    #[derive(Component)]
    #[component(write_group(Target<T>))]
    struct Member<T: Send + Sync + 'static>(#[field(opaque)] std::marker::PhantomData<T>);

    assert_eq!(Member::<u8>::WRITE_GROUPS, [WriteGroup::of::<Target<u8>>()]);
    assert_ne!(Member::<u8>::WRITE_GROUPS, [WriteGroup::of::<Target<u16>>()]);
}

#[test]
fn a_read_only_view_of_a_mutable_query_matches_the_same() {
    let mut world = world();
    world.spawn_batch([Out(1), Out(2)]);
    world.spawn((Out(3), First(0)));
    let mut all = world.split::<Query<&mut Out, FilterWriteGroups>>();
    let found =
        |all: &Query<&Out, FilterWriteGroups>| all.iter().map(|out| out.0).collect::<Vec<_>>();
    assert_eq!(found(&all.as_read_only()), [1, 2]);
    assert_eq!(found(&all.as_read_only().as_read_only()), [1, 2]);
    assert_eq!(all.iter_mut().count(), 2);
    let (all,) = world.split::<(Query<&mut Out>,)>();
    assert_eq!(all.as_read_only().iter().map(|out| out.0).collect::<Vec<_>>(), [1, 2, 3]);
}
