//! `Debug` of errors is their message, so that `unwrap` shows it.

use std::fmt::{Debug, Display};

use ancho_entities::{
    CommandError, CommandFault, ComponentType, Entity, EntityCommandBuffer, EntityError,
    IntoSystem, OutOfMemory, RegisterError, SystemError, TimeError, World,
};
use ancho_jobs::ContainerLabel;

use crate::common::{A, world};

fn check(error: impl Debug + Display) {
    let message = error.to_string();
    assert!(message.starts_with("A0"), "{message}");
    assert_eq!(format!("{error:?}"), message);
    assert_eq!(format!("{error:#?}"), message);
}

#[test]
fn unwrap_shows_the_message_of_each_entity_error() {
    let (component, entity) = (ComponentType::of::<A>(), World::new("test").spawn(()));
    let (expected, found) = (1, 2);
    let memory = OutOfMemory { requested: 16384, limit: None };
    check(memory);
    for error in [
        EntityError::NoSuchEntity { entity, slot_version: Some(2) },
        EntityError::NoSuchEntity { entity, slot_version: None },
        EntityError::NoSuchEntity { entity: Entity::NULL, slot_version: None },
        EntityError::MissingComponent { entity, component },
        EntityError::AlreadyPresent { entity, component },
        EntityError::DuplicateComponent { component },
        EntityError::DoesNotFit { entity_bytes: 20_000, chunk_bytes: 16_384, largest: component },
        EntityError::ForeignArchetype,
        EntityError::OutOfMemory(memory),
        EntityError::NoInitialValue { component },
        EntityError::NotDuplicable { component },
        EntityError::NotBytes { component, write: true },
        EntityError::WrongLength { component, expected, found },
        EntityError::WrongCount { component, expected, found },
        EntityError::NotABuffer { component },
        EntityError::NotEnableable { component },
        EntityError::WouldLoseCleanup { entity, component },
        EntityError::CleanupOnly { entity },
        EntityError::GroupWithoutRoot { root: entity, first: entity },
        EntityError::NotInQuery { component },
        EntityError::NotGiven { component, to_change: true },
        EntityError::SingletonExists { component, entity },
        EntityError::NotSingle { query: "&A", found },
        EntityError::NotSingleton { component, found },
        EntityError::DifferentChunks,
        EntityError::DifferentArchetypes { left: entity, right: entity },
    ] {
        check(error);
        check(CommandFault::Entity(error));
    }
    let name = "game::A";
    check(RegisterError::NameTaken { name, by: "game::B" });
    check(RegisterError::BadLayout { size: 3, align: 2 });
    check(RegisterError::BadField { offset: 4, field_size: 4, size: 4 });
    let rejected = world().set(entity, A(1)).unwrap_err();
    assert_eq!(format!("{rejected:?}").split(':').next(), Some("A0050"), "{rejected:?}");
}

#[test]
fn unwrap_shows_the_message_of_each_command_error() {
    let (component, entity) = (ComponentType::of::<A>(), World::new("test").spawn(()));
    for fault in [
        CommandFault::ForeignPlaceholder { placeholder: entity },
        CommandFault::NotCreatedYet { placeholder: entity },
        CommandFault::NotDuplicable { component },
        CommandFault::TouchesPrefab { entity },
        CommandFault::CreatesPrefab,
        CommandFault::PromiseBroken { entity },
        CommandFault::NeedsWorld,
        CommandFault::EntitiesReplaced,
        CommandFault::NotCloneable { command: "insert resource", value: "Score" },
    ] {
        check(fault);
    }
    let buffer = ContainerLabel::of::<EntityCommandBuffer>();
    check(CommandError::AlreadyPlayed { buffer });
    check(CommandError::OtherWorld { buffer });
    check(CommandError::Reusable { buffer });
    let mut commands = EntityCommandBuffer::new();
    commands.commands().unwrap().add(Entity::NULL, A(1));
    check(world().play(&mut commands).unwrap_err());
}

#[test]
fn unwrap_shows_the_message_of_each_system_error() {
    let (system, target, group) = (|| "a".to_owned(), || "b".to_owned(), || "g".to_owned());
    let seconds = -1.0;
    for error in [
        TimeError::Delta { seconds },
        TimeError::Elapsed { seconds },
        TimeError::MaximumDelta { seconds },
        TimeError::NothingPushed,
        TimeError::Timestep { seconds },
        TimeError::NoTimestep { seconds },
    ] {
        check(error);
    }
    for error in [
        SystemError::Parameters { system: system(), conflict: "A0100: both".to_owned() },
        SystemError::NoSuchSystem { system: system() },
        SystemError::NotAGroup { what: system(), target: target() },
        SystemError::GroupInItself { group: group() },
        SystemError::OnlyForGroups { system: system(), what: "rate" },
        SystemError::OfPatch { system: system(), what: "before" },
        SystemError::OnlyForFunctions { system: system(), what: "in_jobs" },
        SystemError::NotCreated { system: system(), reason: "`on_create` failed: x".to_owned() },
        SystemError::NoSuchPoint { point: "End" },
        SystemError::AlreadyThere { system: system() },
        SystemError::WorldEnds { system: system() },
        SystemError::Order { message: "A0131: a cycle".to_owned() },
        SystemError::Rate { group: group(), error: TimeError::Timestep { seconds } },
        SystemError::NoAutoSystem { path: system() },
        SystemError::TwoBootstraps { first: "a", second: "b" },
        SystemError::FailedToEnd { system: system(), errors: "x".to_owned() },
    ] {
        check(error);
    }
    let mut world = world();
    world.add_system((|| Err::<(), _>("no fuel")).named("a"));
    world.add_system((|| panic!("boom")).named("b"));
    let errors = world.try_update(0.1).unwrap_err();
    check(&errors);
    errors.iter().for_each(check);
}
