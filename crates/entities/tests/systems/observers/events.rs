//! The events of each operation.

use ancho_entities::{
    Add, Buffer, BufferElement, Child, Commands, CommandsAt, ComponentType, Disabled,
    EndSimulation, Entity, EntityCommandBuffer, Insert, IntoSystem, Managed, ManagedComponent, On,
    Parent, Prefab, Query, QueryDescriptor, Remove, RemoveCause, Replace, Shared, SharedComponent,
    World,
};

use super::{A, B, Kept, Log, Tag, b, watched};

#[derive(SharedComponent, Clone, Debug, PartialEq, Eq, Hash)]
struct Team(u32);

#[derive(BufferElement, Clone, Copy, Debug, PartialEq)]
struct Item(u32);

#[derive(ManagedComponent, Debug)]
struct Window(u32);

#[test]
fn each_operation_of_one_entity_raises_its_events() {
    let (mut world, log) = watched();
    let orc = world.spawn((A(1), b("orc")));
    assert_eq!(sorted(log.take()), [("+A", orc), ("+B", orc)]);
    world.add(orc, Tag).unwrap();
    assert_eq!(log.take(), [("+Tag", orc)]);
    world.add(orc, A(2)).unwrap();
    assert_eq!(log.take(), [("=A", orc)]);
    world.set(orc, (A(3), b("troll"))).unwrap();
    assert_eq!(sorted(log.take()), [("=A", orc), ("=B", orc)]);
    world.add(orc, Tag).unwrap();
    assert_eq!(log.take(), [("=Tag", orc)]);
    world.remove::<(A, Kept)>(orc).unwrap();
    assert_eq!(log.take(), [("-A", orc)]);
    world.remove::<A>(orc).unwrap();
    assert_eq!(log.take(), []);
    assert_eq!(world.take::<B>(orc), Ok(b("troll")));
    assert_eq!(log.take(), [("-B", orc)]);
    world.add_types(orc, &[ComponentType::of::<A>()]).unwrap();
    assert_eq!(log.take(), [("+A", orc)]);
    let archetype = world.archetype::<Tag>();
    world.set_archetype(orc, archetype).unwrap();
    assert_eq!(log.take(), [("-A", orc)]);
    world.get_mut::<A>(orc).unwrap_err();
    world.despawn(orc).unwrap();
    assert_eq!(sorted(log.take()), [("-Tag", orc), ("gone", orc)]);
}

#[test]
fn writes_through_references_raise_no_events() {
    let (mut world, log) = watched();
    let orc = world.spawn(A(1));
    log.take();
    world.get_mut::<A>(orc).unwrap().0 = 5;
    world.query_mut::<&mut A>().for_each(|a| a.0 += 1);
    world.query_mut::<&mut A>().schedule_parallel(|a| a.0 += 1);
    world.add_system(|mut all: Query<&mut A>| all.for_each(|a| a.0 += 1));
    world.update(0.1);
    assert_eq!(log.take(), []);
}

#[test]
fn operations_on_many_entities_raise_events_in_their_order() {
    let (mut world, log) = watched();
    let ids = |log: &Log<(&'static str, Entity)>, name: &str| -> Vec<Entity> {
        let (these, others): (Vec<_>, Vec<_>) =
            log.take().into_iter().partition(|(event, _)| *event == name);
        assert_eq!(others, []);
        these.into_iter().map(|(_, entity)| entity).collect()
    };
    let many: Vec<_> = world.spawn_many(A(1), 3000).collect();
    assert_eq!(ids(&log, "+A"), many);
    let all = QueryDescriptor::of::<&A, ()>();
    world.batch(&all).add(Tag).unwrap();
    assert_eq!(ids(&log, "+Tag"), many);
    world.batch(&all).add(b("many")).unwrap();
    assert_eq!(sorted_ids(ids(&log, "+B")), many);
    world.batch(&all).add(A(2)).unwrap();
    assert_eq!(sorted_ids(ids(&log, "=A")), many);
    world.batch(&all).add(b("more")).unwrap();
    assert_eq!(sorted_ids(ids(&log, "=B")), many);
    world.batch(&all).remove::<Tag>().unwrap();
    assert_eq!(sorted_ids(ids(&log, "-Tag")), many);
    world.batch(&all).remove::<A>().unwrap();
    assert_eq!(sorted_ids(ids(&log, "-A")), many);
    let some = &many[100..200];
    world.batch(some).add(Tag).unwrap();
    assert_eq!(ids(&log, "+Tag"), some);
    world.batch(&many).remove::<Tag>().unwrap();
    assert_eq!(sorted_ids(ids(&log, "-Tag")), some);
    world.batch(&many[..10]).despawn().unwrap();
    assert_eq!(log.take().len(), 20);
    assert_eq!(world.despawn_all(), Ok(2990));
    assert_eq!(log.take().len(), 2 * 2990);
    let columns: Vec<_> =
        world.spawn_columns((vec![A(1), A(2)], vec![Tag, Tag])).unwrap().collect();
    assert_eq!(log.take().len(), 4);
    let archetype = world.archetype::<A>();
    let created = world.create(archetype).unwrap();
    assert_eq!(ids(&log, "+A"), [created]);
    let instances: Vec<_> = world.instantiate_many(columns[0], 3).unwrap().collect();
    assert_eq!(instances.len(), 3);
    assert_eq!(log.take().len(), 6);
}

#[test]
fn shared_components_buffers_and_managed_components_raise_events() {
    let (mut world, log) = (World::new("Observed"), Log::new());
    macro_rules! watch {
        ($($ty:ty => $name:literal,)+) => {$(
            let added = log.clone();
            world.add_observer(move |_: On<Add<$ty>>| added.push(concat!("+", $name)));
            let removed = log.clone();
            world.add_observer(move |_: On<Remove<$ty>>| removed.push(concat!("-", $name)));
            let replaced = log.clone();
            world.add_observer(move |_: On<Replace<$ty>>| replaced.push(concat!("=", $name)));
        )+};
    }
    watch! { Shared<Team> => "Team", Buffer<Item> => "Item", Managed<Window> => "Window", }
    let orc = world.spawn(Shared::new(Team(1)));
    assert_eq!(log.take(), ["+Team"]);
    world.set_shared(orc, Team(1)).unwrap();
    assert_eq!(log.take(), [""; 0], "the value is the same");
    world.set_shared(orc, Team(2)).unwrap();
    assert_eq!(log.take(), ["=Team"]);
    world
        .batch(QueryDescriptor::of::<(), ancho_entities::With<Shared<Team>>>())
        .set_shared(Team(3))
        .unwrap();
    assert_eq!(log.take(), ["=Team"]);
    world.add(orc, Buffer::from([Item(1)])).unwrap();
    assert_eq!(log.take(), ["+Item"]);
    world.set(orc, Buffer::from([Item(2)])).unwrap();
    assert_eq!(log.take(), ["=Item"]);
    world.add(orc, Managed::new(Window(1))).unwrap();
    assert_eq!(log.take(), ["+Window"]);
    world.remove::<Buffer<Item>>(orc).unwrap();
    assert_eq!(log.take(), ["-Item"]);
    world.despawn(orc).unwrap();
    let mut last = log.take();
    last.sort_unstable();
    assert_eq!(last, ["-Team", "-Window"]);
}

#[test]
fn a_cleanup_component_is_removed_when_it_is_taken_and_the_entity_is_despawned_once() {
    let (mut world, log) = watched();
    let causes = Log::new();
    let seen = causes.clone();
    world.add_observer(move |e: On<Remove<(A, Kept)>>| e.iter().for_each(|e| seen.push(e.cause())));
    let orc = world.spawn((A(1), Kept(1)));
    log.take();
    world.despawn(orc).unwrap();
    assert_eq!(sorted(log.take()), [("-A", orc), ("gone", orc)]);
    assert_eq!(causes.take(), [RemoveCause::Despawned]);
    world.despawn(orc).unwrap();
    assert_eq!(log.take(), []);
    world.remove::<Kept>(orc).unwrap();
    assert_eq!(log.take(), [("-Kept", orc)]);
    assert_eq!(causes.take(), [RemoveCause::Removed]);
    assert!(!world.exists(orc));
}

#[test]
fn disabled_entities_raise_events_and_prefabs_raise_none() {
    let (mut world, log) = watched();
    let prefabs = Log::new();
    let (added, removed) = (prefabs.clone(), prefabs.clone());
    world.add_observer(move |e: On<Add<Prefab>>| added.push(("+", e.len())));
    world.add_observer(move |e: On<Remove<Prefab>>| removed.push(("-", e.len())));
    let (disabled, enabled) = (prefabs.clone(), prefabs.clone());
    world.add_observer(move |e: On<Add<Disabled>>| disabled.push(("off", e.len())));
    world.add_observer(move |e: On<Remove<Disabled>>| enabled.push(("on", e.len())));

    let orc = world.spawn((A(1), Disabled));
    assert_eq!((log.take(), prefabs.take()), (vec![("+A", orc)], vec![("off", 1)]));
    world.set_enabled(orc, true).unwrap();
    assert_eq!((log.take(), prefabs.take()), (vec![], vec![("on", 1)]));

    let prefab = world.spawn((A(1), Prefab));
    assert_eq!((log.take(), prefabs.take()), (vec![], vec![("+", 1)]));
    world.add(prefab, Tag).unwrap();
    world.set(prefab, A(2)).unwrap();
    world.remove::<Tag>(prefab).unwrap();
    assert_eq!(log.take(), []);
    let instance = world.instantiate(prefab).unwrap();
    assert_eq!((log.take(), prefabs.take()), (vec![("+A", instance)], vec![]));
    world.remove::<Prefab>(prefab).unwrap();
    assert_eq!((log.take(), prefabs.take()), (vec![], vec![("-", 1)]));
    world.add(prefab, Prefab).unwrap();
    world.despawn(prefab).unwrap();
    assert_eq!((log.take(), prefabs.take()), (vec![], vec![("+", 1), ("-", 1)]));
}

#[test]
fn one_observer_of_a_tuple_gets_one_call_with_an_event_for_each_type() {
    let (mut world, log) = (World::new("Observed"), Log::new());
    let calls = log.clone();
    world.add_observer(move |e: On<Insert<(A, B)>>| {
        calls.push(e.iter().map(|e| e.component().unwrap()).collect::<Vec<_>>());
    });
    let orc = world.spawn((A(1), b("x")));
    assert_eq!(log.take()[0].len(), 2);
    world.set(orc, A(2)).unwrap();
    assert_eq!(log.take(), [[ComponentType::of::<A>()]]);
}

#[test]
fn the_net_effect_of_a_system_is_delivered_after_its_commands() {
    let (mut world, log) = watched();
    let [orc, elf, dwarf] = [(); 3].map(|()| world.spawn(A(1)));
    let ent = world.spawn((A(1), Tag));
    log.take();
    let mut is_done = false;
    let seen = log.clone();
    world.add_system(move |mut commands: Commands| {
        if std::mem::replace(&mut is_done, true) {
            return;
        }
        commands.add(orc, Tag);
        commands.remove::<Tag>(orc);
        commands.remove::<A>(elf);
        commands.add(elf, A(2));
        commands.set(dwarf, A(2));
        commands.set(dwarf, A(3));
        let never = commands.spawn(A(4));
        commands.despawn(never);
        commands.remove::<Tag>(ent);
        commands.despawn(ent);
        assert_eq!(seen.take(), []);
    });
    world.update(0.1);
    let expected = [("-A", ent), ("-Tag", ent), ("=A", elf), ("=A", dwarf), ("gone", ent)];
    assert_eq!(sorted(log.take()), expected);
}

#[test]
fn events_of_a_point_are_delivered_after_all_its_buffers() {
    let (mut world, log) = watched();
    let orc = world.spawn(A(1));
    log.take();
    let (one, other) = (log.clone(), log.clone());
    world.add_system(
        (move |mut commands: CommandsAt<EndSimulation>| {
            commands.commands().add(orc, Tag);
            one.push(("one", orc));
        })
        .named("one"),
    );
    world.add_system(
        (move |mut commands: CommandsAt<EndSimulation>| {
            commands.commands().remove::<Tag>(orc);
            commands.commands().set(orc, A(2));
            other.push(("other", orc));
        })
        .after("one"),
    );
    world.update(0.1);
    assert_eq!(log.take(), [("one", orc), ("other", orc), ("=A", orc)]);
}

#[test]
fn a_buffer_that_the_program_plays_is_one_delivery() {
    let (mut world, log) = watched();
    let orc = world.spawn(A(1));
    log.take();
    let mut buffer = EntityCommandBuffer::new();
    let commands = buffer.commands().unwrap();
    commands.remove::<A>(orc);
    let seen = log.clone();
    commands.run("spawn", move |world| {
        world.add(orc, Tag)?;
        assert_eq!(seen.take(), []);
        Ok(())
    });
    commands.add(orc, A(2));
    world.play(&mut buffer).unwrap();
    assert_eq!(sorted(log.take()), [("+Tag", orc), ("=A", orc)]);
}

#[test]
fn an_index_that_is_reused_in_one_delivery_has_events_of_both_entities() {
    let (mut world, log) = watched();
    let old = world.spawn(A(1));
    log.take();
    let news = Log::new();
    let spawned = news.clone();
    world.add_system(move |world: &mut World| {
        if world.exists(old) {
            world.despawn(old).unwrap();
            spawned.push(world.spawn(A(2)));
        }
    });
    world.update(0.1);
    let new = news.take()[0];
    assert_eq!(old.index(), new.index());
    assert_eq!(sorted(log.take()), [("+A", new), ("-A", old), ("gone", old)]);
}

fn sorted(mut events: Vec<(&'static str, Entity)>) -> Vec<(&'static str, Entity)> {
    events.sort_unstable();
    events
}

fn sorted_ids(mut ids: Vec<Entity>) -> Vec<Entity> {
    ids.sort_unstable();
    ids
}

#[test]
fn each_method_of_a_borrowed_entity_delivers() {
    let (mut world, log) = watched();
    let orc = world.spawn(A(1));
    log.take();
    let mut entity = world.entity_mut(orc).unwrap();
    entity.add(Tag).unwrap();
    assert_eq!(log.take(), [("+Tag", orc)]);
    entity.set(A(2)).unwrap();
    assert_eq!(log.take(), [("=A", orc)]);
    entity.exchange::<(A, Tag), _>(b("x")).unwrap();
    assert_eq!(sorted(log.take()), [("+B", orc), ("-A", orc), ("-Tag", orc)]);
    entity.despawn().unwrap();
    assert_eq!(sorted(log.take()), [("-B", orc), ("gone", orc)]);
}

#[test]
fn an_added_buffer_is_delivered_before_it_is_returned() {
    let (mut world, log) = (World::new("Observed"), Log::new());
    let seen = log.clone();
    world.add_observer(move |events: On<Add<Buffer<Item>>>, world: &mut World| {
        for event in events.iter() {
            let entity = event.entity();
            seen.push(entity);
            world.buffer_mut::<Item>(entity).unwrap().push(Item(1));
            if world.has::<A>(entity) {
                world.despawn(entity).unwrap();
            } else if world.has::<Tag>(entity) {
                world.remove::<Buffer<Item>>(entity).unwrap();
            }
        }
    });
    let orc = world.spawn(());
    let mut items = world.add_buffer::<Item>(orc).unwrap();
    assert_eq!(log.take(), [orc]);
    items.push(Item(2));
    assert_eq!(*world.add_buffer::<Item>(orc).unwrap(), [Item(1), Item(2)]);
    assert_eq!(log.take(), [], "the entity has the buffer");

    let elf = world.spawn(());
    let mut entity = world.entity_mut(elf).unwrap();
    entity.add_buffer::<Item>().unwrap().push(Item(3));
    assert_eq!(log.take(), [elf]);
    assert_eq!(entity.buffer::<Item>(), Ok(&[Item(1), Item(3)][..]));

    // The observer despawns one entity, and removes the buffer of the other.
    let [gone, without] = [world.spawn(A(1)), world.spawn(Tag)];
    let error = world.add_buffer::<Item>(gone).map(drop).unwrap_err().to_string();
    assert!(error.starts_with("A0050: "), "{error}");
    let mut entity = world.entity_mut(without).unwrap();
    let error = entity.add_buffer::<Item>().map(drop).unwrap_err().to_string();
    assert!(error.starts_with("A0051: "), "{error}");
    assert_eq!(log.take(), [gone, without]);
}

#[test]
fn links_and_their_reverse_buffers_raise_events() {
    let (mut world, log) = (World::new("Observed"), Log::new());
    macro_rules! watch {
        ($($event:ty => $name:literal,)+) => {$(
            let seen = log.clone();
            world.add_observer(move |events: On<$event>| {
                events.entities().for_each(|entity| seen.push(($name, entity)));
            });
        )+};
    }
    watch! {
        Add<Parent> => "+Parent", Remove<Parent> => "-Parent", Replace<Parent> => "=Parent",
        Add<Buffer<Child>> => "+Child", Remove<Buffer<Child>> => "-Child",
    }
    let [ship, other, gun] = [(); 3].map(|()| world.spawn(()));
    world.add(gun, Parent(ship)).unwrap();
    assert_eq!(sorted(log.take()), [("+Child", ship), ("+Parent", gun)]);
    world.set(gun, Parent(other)).unwrap();
    assert_eq!(sorted(log.take()), [("+Child", other), ("-Child", ship), ("=Parent", gun)]);
    world.remove::<Parent>(gun).unwrap();
    assert_eq!(sorted(log.take()), [("-Child", other), ("-Parent", gun)]);
    world.add_child(ship, gun).unwrap();
    log.take();
    world.despawn(ship).unwrap();
    assert_eq!(sorted(log.take()), [("-Child", ship), ("-Parent", gun)]);
    assert!(!world.exists(gun));
}
