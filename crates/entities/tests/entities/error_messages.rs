//! The error messages of refused calls, word for word.
#![forbid(unsafe_code)]
#![deny(warnings)]

use std::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};

use ancho_entities::{
    Buffer, ChunkArena, Component, ComponentType, Entity, EntityCommandBuffer, EntityError,
    FieldKind, LinkedEntityGroup, Lookup, OutOfMemory, Query, QueryDescriptor, RegisterError,
    RuntimeType, SharedComponent, Version, With, Without, World, WorldSettings,
};

#[derive(Component, Clone, Copy, Debug, Default)]
#[component(name = "game::Health")]
struct Health(u32);

#[derive(Component, Clone, Copy)]
#[component(name = "game::Terrain")]
struct Terrain([u8; 20_000]);

#[derive(Component)]
#[component(name = "game::Ticket")]
struct Ticket(String);

fn health() -> ComponentType {
    ComponentType::of::<Health>()
}

#[track_caller]
fn reads(error: &dyn Error, message: &str) {
    assert_eq!(error.to_string(), message);
    assert!(error.source().is_none());
}

/// Checks the message of a panic.
#[track_caller]
fn panics<R>(action: impl FnOnce() -> R, message: &str) {
    let Err(panic) = catch_unwind(AssertUnwindSafe(action)) else {
        panic!("did not panic with {message}");
    };
    let said = match panic.downcast_ref::<&str>() {
        Some(literal) => literal,
        None => panic.downcast_ref::<String>().expect("a message").as_str(),
    };
    assert_eq!(said, message);
}

#[test]
fn a0050_no_such_entity() {
    let mut world = World::new("Simulation");
    let dead = world.spawn(());
    world.despawn(dead).unwrap();
    reads(
        &world.get::<Health>(dead).unwrap_err(),
        "A0050: entity 0v1 no longer exists: it was despawned; check stored references with `exists`",
    );
    reads(
        &world.get::<Health>(Entity::NULL).unwrap_err(),
        "A0050: the null entity never exists; check for a reference that was never set",
    );
    let not_yet =
        "does not exist: this world has not created it; check whether it belongs to another world";
    for (entity, name) in [
        (Entity::from_parts(0, 7), "0v7"),
        (Entity::from_parts(1, 1), "1v1"),
        (Entity::from_parts(u32::MAX >> 1, 1), "2147483647v1"),
    ] {
        let refused = world.get::<Health>(entity).unwrap_err();
        reads(&refused, &format!("A0050: entity {name} {not_yet}"));
    }
    let placeholder = EntityCommandBuffer::new().commands().unwrap().spawn(());
    reads(
        &world.get::<Health>(placeholder).unwrap_err(),
        "A0050: placeholder 0.0 is the placeholder of an entity that commands create; play the commands, and call \
         `resolve` of their buffer",
    );
    world.check_invariants().unwrap();
}

#[test]
fn a0051_missing_component() {
    let mut world = World::new("Simulation");
    let entity = world.spawn(());
    reads(
        &world.get::<Health>(entity).unwrap_err(),
        "A0051: entity 0v1 has no `game::Health`; add it first, or check with `has`",
    );
    world.check_invariants().unwrap();
}

#[test]
fn a0052_already_present() {
    let mut world = World::with_settings("Simulation", WorldSettings::new().strict(true));
    let entity = world.spawn(Health(1));
    reads(
        &world.add(entity, Health(2)).unwrap_err().error,
        "A0052: entity 0v1 already has `game::Health`, and the world is strict; use `set` to replace it",
    );
    world.check_invariants().unwrap();
}

#[test]
fn a0053_duplicate_component() {
    let message = "A0053: an entity has at most one component of each type, but the set contains `game::Health` twice; \
                   remove one";
    let mut world = World::new("Simulation");
    let refused = world.archetype_of(&[health(), health()]).unwrap_err();
    reads(&refused, message);
    panics(|| world.spawn((Health(1), Health(2))), message);
    panics(|| world.archetype::<(Health, Health)>(), message);
    world.check_invariants().unwrap();
}

#[test]
fn a0054_does_not_fit() {
    let message = "A0054: an entity with these components needs 20012 bytes, but a chunk has 16384; the largest \
                   component is `game::Terrain` with 20000 bytes: box its large fields, or set a larger chunk size";
    let mut world = World::new("Simulation");
    let refused = world.try_spawn((Terrain([0; 20_000]), Health(1)));
    reads(&refused.map_err(|refused| refused.error).unwrap_err(), message);
    panics(|| world.spawn((Terrain([0; 20_000]), Health(1))), message);
    world.check_invariants().unwrap();
}

#[test]
fn a0055_foreign_archetype() {
    let (mut world, mut other) = (World::new("Simulation"), World::new("Other"));
    let archetype = other.archetype::<Health>();
    reads(
        &world.create(archetype).unwrap_err(),
        "A0055: the archetype belongs to another world; create it in this world with `archetype`",
    );
    world.check_invariants().unwrap();
}

#[test]
fn a0056_out_of_memory() {
    let limited = "A0056: cannot allocate a chunk of 16384 bytes: the arena is limited to 1000 bytes in use; despawn \
                   entities, or give the world an arena with a higher limit";
    let settings = WorldSettings::new().arena(ChunkArena::with_limit(1000));
    let mut world = World::with_settings("Simulation", settings);
    let refused = world.try_spawn(Health(1)).unwrap_err();
    reads(&refused.error, limited);
    panics(|| world.spawn(Health(1)), limited);
    let EntityError::OutOfMemory(error) = refused.error else { panic!() };
    reads(&error, limited);
    assert_eq!(format!("{error:?}"), limited);
    reads(
        &EntityError::from(OutOfMemory { requested: 4096, limit: None }),
        "A0056: cannot allocate a chunk of 4096 bytes: the system has no more memory; despawn entities",
    );
    world.check_invariants().unwrap();
}

#[test]
fn a0057_no_initial_value() {
    let mut world = World::new("Simulation");
    let archetype = world.archetype::<Ticket>();
    reads(
        &world.create(archetype).unwrap_err(),
        "A0057: `game::Ticket` has no default value; pass a value, or derive `Default`",
    );
    world.check_invariants().unwrap();
}

#[test]
fn a0058_not_duplicable() {
    let message = "A0058: `game::Ticket` cannot be cloned, because it is neither `Copy` nor `Clone`; derive `Clone` \
                   for it, so that entities and worlds with it can be copied";
    let mut world = World::new("Simulation");
    let entity = world.spawn(Ticket("mine".into()));
    reads(&world.instantiate(entity).unwrap_err(), message);
    reads(&world.fork().unwrap_err(), message);
    reads(&world.duplicate().unwrap_err(), message);
    world.check_invariants().unwrap();
}

#[test]
fn a0059_not_bytes() {
    let mut world = World::new("Simulation");
    let entity = world.spawn(Ticket("mine".into()));
    let ticket = ComponentType::of::<Ticket>();
    reads(
        &world.get_bytes(entity, ticket).unwrap_err(),
        "A0059: the bytes of `game::Ticket` cannot be read, because some of them are padding or pointers; use `get` \
         with its type",
    );
    let bytes = vec![0; ticket.size()];
    reads(
        &world.set_bytes(entity, ticket, &bytes).unwrap_err(),
        "A0059: the bytes of `game::Ticket` cannot be written, because not all bytes are a valid value; use `set` with \
         its type",
    );
    assert_eq!(world.get::<Ticket>(entity).unwrap().0, "mine");
    world.check_invariants().unwrap();
}

#[test]
fn a0060_wrong_length() {
    let mut world = World::new("Simulation");
    let entity = world.spawn(Health(1));
    reads(
        &world.set_bytes(entity, health(), &[0; 3]).unwrap_err(),
        "A0060: expected 4 for `game::Health`, but 3 were passed; all columns must have the same length, and bytes the \
         size of the component",
    );
    let tickets = vec![Ticket("one".into()), Ticket("two".into())];
    reads(
        &world.spawn_columns((tickets, [Health(1)])).unwrap_err().error,
        "A0060: expected 2 for `game::Health`, but 1 were passed; all columns must have the same length, and bytes the \
         size of the component",
    );
    reads(
        &world.query_mut::<&mut Health>().copy_from(&[Health(1), Health(2)]).unwrap_err(),
        "A0060: the query matches 1 entities, but 2 values of `game::Health` were passed; pass as many as `count` \
         returns, or the list of `to_components`",
    );
    world.check_invariants().unwrap();
}

#[test]
fn a0061_different_archetypes() {
    let mut world = World::new("Simulation");
    let (left, right) = (world.spawn(Health(1)), world.spawn(()));
    reads(
        &world.swap_components(left, right).unwrap_err(),
        "A0061: entities 0v1 and 1v1 have different components, so they cannot be swapped; add the missing components \
         first",
    );
    world.check_invariants().unwrap();
}

#[derive(Component, Clone, Copy)]
#[component(name = "game::Debt", cleanup)]
struct Debt(u32);

#[test]
fn a0070_not_enableable() {
    let mut world = World::new("Simulation");
    let entity = world.spawn(Health(1));
    reads(
        &world.set_component_enabled::<Health>(entity, false).unwrap_err(),
        "A0070: `game::Health` cannot be enabled or disabled; write `#[component(enableable)]` on the type",
    );
    world.check_invariants().unwrap();
}

#[test]
fn a0071_would_lose_cleanup() {
    let mut world = World::new("Simulation");
    let entity = world.spawn(Debt(1));
    let empty = world.archetype::<()>();
    reads(
        &world.set_archetype(entity, empty).unwrap_err(),
        "A0071: entity 0v1 would lose its cleanup component `game::Debt`; remove it first, or use an archetype that \
         has it",
    );
    assert_eq!(world.get::<Debt>(entity).unwrap().0, 1);
    world.check_invariants().unwrap();
}

#[test]
fn a0072_only_residue() {
    let mut world = World::new("Simulation");
    let entity = world.spawn((Debt(1), Health(1)));
    world.despawn(entity).unwrap();
    reads(
        &world.instantiate(entity).unwrap_err(),
        "A0072: entity 0v1 was despawned, and only its cleanup components are left; instantiate it, or set its \
         archetype, before it is despawned",
    );
    world.check_invariants().unwrap();
}

#[test]
fn a0073_group_without_root() {
    let mut world = World::new("Simulation");
    let member = world.spawn(());
    let root = world.spawn(Buffer::from([LinkedEntityGroup(member)]));
    reads(
        &world.instantiate(root).unwrap_err(),
        "A0073: the linked group of entity 1v1 begins with 0v1; the first member of a `LinkedEntityGroup` must be the \
         entity that has it",
    );
    world.check_invariants().unwrap();
}

#[test]
fn a0086_a_component_twice() {
    panics(
        || {
            let twice = QueryDescriptor::of::<(&mut Health, Entity, &Health), ()>();
            twice.query(&World::new("Simulation")).count()
        },
        "A0086: the query `(&mut entities::error_messages::Health, ancho_entities::entity::Entity, \
         &entities::error_messages::Health)` accesses `game::Health` as component 1 and again as component 2, at least \
         once mutably; remove one of them",
    );
}

#[test]
fn a0087_not_in_the_query() {
    let world = World::new("Simulation");
    reads(
        &world.query::<Entity>().to_components::<Health>().unwrap_err(),
        "A0087: the query does not require `game::Health`, so it may match entities without it; filter by \
         `With<game::Health>`",
    );
}

#[test]
fn a0088_not_one() {
    let mut world = World::new("Simulation");
    reads(
        &world.query::<&Health>().single().unwrap_err(),
        "A0088: the query `&entities::error_messages::Health` matches no entity, but one was expected; check with \
         `is_empty`, or use `iter().next()`",
    );
    world.spawn_many(Health(1), 3);
    reads(
        &world.query::<&Health>().single().unwrap_err(),
        "A0088: the query `&entities::error_messages::Health` matches 3 entities, but one was expected; filter out the \
         others, or use `iter`",
    );
}

#[test]
fn a0064_not_a_buffer() {
    let mut world = World::new("Simulation");
    let entity = world.spawn(Health(1));
    reads(
        &world.untyped_buffer(entity, health()).unwrap_err(),
        "A0064: `game::Health` is not a buffer and has no elements; check with `is_buffer` first, or use `get_bytes`",
    );
}

#[test]
fn a0062_name_taken() {
    #[derive(Component)]
    #[component(name = "game::Health")]
    struct AnotherHealth;

    health();
    let taken = "A0062: two different component types are named `game::Health`; rename one of them, with \
                 `#[component(name = \"…\")]` if it is derived";
    reads(&ComponentType::register(RuntimeType::new("game::Health", 4, 4)).unwrap_err(), taken);
    panics(ComponentType::of::<AnotherHealth>, taken);
    reads(
        &RegisterError::NameTaken { name: "one", by: "other" },
        "A0062: the names of the component types `one` and `other` have the same hash; rename one of them, with \
         `#[component(name = \"…\")]` if it is derived",
    );
}

#[test]
fn a0063_bad_layout_and_fields() {
    reads(
        &ComponentType::register(RuntimeType::new("game::odd", 5, 3)).unwrap_err(),
        "A0063: a component cannot have 5 bytes and an alignment of 3; the alignment must be a power of two up to \
         4096, and the size a multiple of it",
    );
    let outside = RuntimeType::new("game::outside", 4, 4).field("far", 4, FieldKind::U32);
    reads(
        &ComponentType::register(outside).unwrap_err(),
        "A0063: a field of 4 bytes cannot start at byte 4 of a component of 4 bytes; fields must have a kind with a \
         size, be inside the component, and not overlap",
    );
}

#[test]
fn a0065_settings() {
    panics(
        || WorldSettings::new().chunk_size(5000),
        "A0065: a chunk cannot have 5000 bytes; use a power of two from 4096 to 1048576",
    );
    panics(
        || WorldSettings::new().chunk_capacity_limit(0),
        "A0065: a chunk holds one entity at least; use a limit above zero",
    );
}

#[test]
fn entities_and_types_print_as_they_are_called() {
    assert_eq!(Entity::from_parts(12, 3).to_string(), "12v3");
    assert_eq!(format!("{:?}", Entity::from_parts(12, 3)), "12v3");
    assert_eq!(Entity::NULL.to_string(), "null");
    assert_eq!(format!("[{:>6}]", Entity::from_parts(1, 2)), "[   1v2]");
    assert_eq!(health().to_string(), "game::Health");
}

#[derive(Component, Clone, Copy)]
#[component(name = "game::Awake", enableable)]
struct Awake;

#[test]
fn a0092_a_part_that_writes_data_of_another() {
    let mut world = World::new("Simulation");
    panics(
        || drop(world.split::<(Query<&mut Health>, Lookup<&Health>)>()),
        "A0092: the world cannot be split this way: part 1, `Query<&mut entities::error_messages::Health, ()>`, changes \
         and part 2, `Lookup<&entities::error_messages::Health, ()>`, reads the values of `game::Health`, possibly of the \
         same entity; access it in one part, or filter one by `With<T>` and the other by `Without<T>`, with a \
         component that separates their entities",
    );
}

#[test]
fn a0093_parts_that_only_an_enabled_bit_separates() {
    let mut world = World::new("Simulation");
    panics(
        || drop(world.split::<(Query<&mut Health, With<Awake>>, Query<&Health, Without<Awake>>)>()),
        "A0093: the world cannot be split this way: part 1, `Query<&mut entities::error_messages::Health, \
         ancho_entities::query::filter::With<entities::error_messages::Awake>>`, changes and part 2, \
         `Query<&entities::error_messages::Health, ancho_entities::query::filter::Without<entities::error_messages::Awake>>`, \
         reads the values of `game::Health`, and only the enableable component `game::Awake` separates their entities; \
         filter by `Absent<game::Awake>` instead of `Without<game::Awake>`, or by a component that is not enableable",
    );
}

#[test]
fn a0094_queries_that_disagree_on_ignoring_enabled_state() {
    panics(
        || QueryDescriptor::new().or(QueryDescriptor::new().ignore_enabled()),
        "A0094: in a union of two queries, only the second ignores enabled bits; call `ignore_enabled` on both or on \
         neither",
    );
}

#[test]
fn a0096_queries_with_different_shared_filters() {
    #[derive(SharedComponent, PartialEq, Eq, Hash)]
    #[shared(name = "game::Team")]
    struct Team(u32);

    let query = QueryDescriptor::new;
    panics(
        || query().or(query().with_shared(Team(1))),
        "A0096: in a union of two queries, the second filters by a value of `Shared<game::Team>`; call `with_shared` \
         on the result of `or`",
    );
    panics(
        || query().since(Version::from_number(7)).or(query().since(Version::from_number(9))),
        "A0096: in a union of two queries, the first compares with version 7, and the second with 9; call `since` on \
         the result of `or`",
    );
}
