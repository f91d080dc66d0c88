//! Operations of a world's thread, by the data they use.

use super::*;

pub(crate) type Operation = (&'static str, fn(&mut Stage));

/// Creates another world, with an entity without `A`.
fn elsewhere() -> Checked {
    let mut world = World::with_settings("Elsewhere", WorldSettings::new().chunk_capacity_limit(4));
    world.spawn((B(1), Text("elsewhere".into())));
    Checked(world)
}

/// Operations that use only the values of `A`, or the archetypes with `A`.
pub(crate) const NEAR: &[Operation] = &[
    ("get", |stage| assert_eq!(stage.a_of(stage.pair[0]), stage.a)),
    ("get_mut", |stage| {
        let a = stage.world.get_mut::<A>(stage.pair[0]).unwrap();
        assert_eq!(a.0, stage.a);
        a.0 = 7;
    }),
    ("set", |stage| {
        stage.world.set(stage.pair[0], A(7)).unwrap();
        assert_eq!((stage.a_of(stage.pair[0]), stage.a_of(stage.pair[1])), (7, stage.a));
    }),
    ("add of what is there", |stage| {
        assert!(!stage.world.add(stage.pair[0], A(7)).unwrap());
        assert_eq!((stage.a_of(stage.pair[0]), stage.a_of(stage.pair[1])), (7, stage.a));
    }),
    ("get_bytes", |stage| {
        let bytes = stage.world.get_bytes(stage.alone, ComponentType::of::<A>());
        assert_eq!(bytes.unwrap(), stage.a.to_ne_bytes());
    }),
    ("set_bytes", |stage| {
        let (ty, bytes) = (ComponentType::of::<A>(), 7_u32.to_ne_bytes());
        stage.world.set_bytes(stage.alone, ty, &bytes).unwrap();
        assert_eq!(stage.a_of(stage.alone), 7);
    }),
    ("add_bytes", |stage| {
        let (ty, bytes) = (ComponentType::of::<A>(), 7_u32.to_ne_bytes());
        assert!(!stage.world.add_bytes(stage.alone, ty, &bytes).unwrap());
        assert_eq!(stage.a_of(stage.alone), 7);
    }),
    ("lookup", |stage| {
        let lookup = stage.world.lookup::<&A>();
        assert_eq!(lookup.get(stage.alone).unwrap().0, stage.a);
        let many = [stage.alone, stage.pair[0]];
        assert!(lookup.get_many(&many).flatten().all(|a| a.0 == stage.a));
    }),
    ("lookup of changes", |stage| {
        let before = stage.world.version();
        let lookup = stage.world.lookup::<&A>();
        assert!(!lookup.did_change(stage.alone, before));
    }),
    ("swap_components", |stage| {
        let [one, other] = stage.pair;
        stage.world.set(one, B(5)).unwrap();
        stage.world.swap_components(one, other).unwrap();
        assert_eq!((stage.a_of(one), stage.a_of(other)), (stage.a, stage.a));
        assert_eq!(stage.world.get::<B>(other), Ok(&B(5)));
    }),
    ("spawn", |stage| {
        let new = stage.world.spawn((A(1), B(1)));
        assert_eq!((stage.a_of(new), stage.a_of(stage.pair[0])), (1, stage.a));
    }),
    ("spawn with a shared value", |stage| {
        let new = stage.world.spawn((A(1), Shared::new(Team(2))));
        assert_eq!((stage.a_of(new), stage.a_of(stage.of_team)), (1, stage.a));
    }),
    ("spawn_many", |stage| {
        let new: Vec<_> = stage.world.spawn_many((A(1), B(1)), 9).collect();
        assert!(new.iter().all(|&new| stage.a_of(new) == 1));
    }),
    ("spawn_batch", |stage| {
        let new: Vec<_> = stage.world.spawn_batch([(A(1), B(1)); 9]).collect();
        assert!(new.iter().all(|&new| stage.a_of(new) == 1));
    }),
    ("spawn_batch with shared values", |stage| {
        let new = [1, 2].map(|team| (A(1), Shared::new(Team(team))));
        let new: Vec<_> = stage.world.spawn_batch(new).collect();
        assert!(new.iter().all(|&new| stage.a_of(new) == 1));
    }),
    ("spawn_columns", |stage| {
        let new: Vec<_> = stage.world.spawn_columns(([A(1); 9], [B(1); 9])).unwrap().collect();
        assert!(new.iter().all(|&new| stage.a_of(new) == 1));
    }),
    ("create", |stage| {
        let archetype = stage.world.archetype::<(A, B)>();
        let new = stage.world.create(archetype).unwrap();
        assert_eq!(stage.a_of(new), 0);
    }),
    ("instantiate", |stage| {
        let new = stage.world.instantiate(stage.pair[0]).unwrap();
        assert_eq!(stage.a_of(new), stage.a);
    }),
    ("instantiate a group", |stage| {
        let new = stage.world.instantiate(stage.root).unwrap();
        let members = stage.world.buffer::<LinkedEntityGroup>(new).unwrap();
        assert!(members.iter().all(|member| stage.a_of(member.0) == stage.a));
    }),
    ("despawn", |stage| {
        let left = stage.world.entity_count() - 1;
        assert!(stage.world.despawn(stage.pair[0]).unwrap());
        assert_eq!((stage.world.entity_count(), stage.a_of(stage.pair[1])), (left, stage.a));
    }),
    ("despawn what stays", |stage| {
        assert!(stage.world.despawn(stage.stays).unwrap());
        assert!(!stage.world.has::<A>(stage.stays));
    }),
    ("despawn what has to be dropped", |stage| {
        assert!(stage.world.despawn(stage.with_text).unwrap());
    }),
    ("despawn a group", |stage| {
        assert!(stage.world.despawn(stage.root).unwrap());
        assert!(!stage.world.exists(stage.member));
    }),
    ("despawn_slice", |stage| {
        let gone = [stage.pair[1], stage.alone, stage.root];
        assert_eq!(stage.world.batch(&gone).despawn(), Ok(4));
        assert_eq!(stage.a_of(stage.pair[0]), stage.a);
    }),
    ("add", |stage| {
        assert!(stage.world.add(stage.alone, B(9)).unwrap());
        assert_eq!(stage.a_of(stage.alone), stage.a);
    }),
    ("add of a new kind", |stage| {
        assert!(stage.world.add(stage.pair[0], Text("2".into())).unwrap());
        assert_eq!(stage.a_of(stage.pair[0]), stage.a);
    }),
    ("add_types", |stage| {
        let ty = ComponentType::of::<B>();
        assert_eq!(stage.world.add_types(stage.alone, &[ty]), Ok(true));
        assert_eq!(stage.a_of(stage.alone), stage.a);
    }),
    ("add_buffer", |stage| {
        stage.world.add_buffer::<Item>(stage.alone).unwrap().push(Item(2));
        assert_eq!(stage.a_of(stage.alone), stage.a);
    }),
    ("add_shared", |stage| {
        assert_eq!(
            stage.world.add(stage.alone, Shared::new(Team(3))).map_err(|rejected| rejected.error),
            Ok(true)
        );
        assert_eq!(stage.a_of(stage.alone), stage.a);
    }),
    ("remove", |stage| {
        assert_eq!(stage.world.remove::<B>(stage.pair[0]), Ok(true));
        assert_eq!(stage.a_of(stage.pair[0]), stage.a);
    }),
    ("remove_types", |stage| {
        let ty = ComponentType::of::<B>();
        assert_eq!(stage.world.remove_types(stage.pair[0], &[ty]), Ok(true));
        assert_eq!(stage.a_of(stage.pair[0]), stage.a);
    }),
    ("remove_shared", |stage| {
        assert_eq!(stage.world.remove::<Shared<Team>>(stage.of_team), Ok(true));
        assert_eq!(stage.a_of(stage.of_team), stage.a);
    }),
    ("take", |stage| assert_eq!(stage.world.take::<A>(stage.pair[0]), Ok(A(stage.a)))),
    ("set_archetype", |stage| {
        let archetype = stage.world.entity_archetype(stage.pair[0]).unwrap();
        stage.world.set_archetype(stage.alone, archetype).unwrap();
        assert_eq!(stage.a_of(stage.alone), stage.a);
    }),
    ("set_shared", |stage| {
        assert_eq!(stage.world.set_shared(stage.of_team, Team(2)), Ok(true));
        assert_eq!(stage.a_of(stage.of_team), stage.a);
    }),
    ("set of a shared value", |stage| {
        stage.world.set(stage.of_team, (A(7), Shared::new(Team(2)))).unwrap();
        assert_eq!(stage.a_of(stage.of_team), 7);
    }),
    ("set_shared_slice", |stage| {
        stage.world.batch(&[stage.of_team]).set_shared(Team(2)).unwrap();
        assert_eq!(stage.a_of(stage.of_team), stage.a);
    }),
    ("set_enabled", |stage| {
        assert_eq!(stage.world.set_enabled(stage.disabled, true), Ok(true));
        assert_eq!(stage.a_of(stage.disabled), stage.a);
    }),
    ("set_enabled of a group", |stage| {
        assert_eq!(stage.world.set_enabled(stage.root, false), Ok(true));
        assert_eq!((stage.a_of(stage.root), stage.a_of(stage.member)), (stage.a, stage.a));
    }),
    ("despawn by query", |stage| {
        assert_eq!(stage.world.batch(QueryDescriptor::of::<&Text, ()>()).despawn(), Ok(1));
    }),
    ("add by query", |stage| {
        assert_eq!(stage.world.batch(QueryDescriptor::of::<&Text, ()>()).add(B(3)).unwrap(), 1);
        assert_eq!(stage.a_of(stage.with_text), stage.a);
    }),
    ("add by query of what is there", |stage| {
        assert_eq!(stage.world.batch(QueryDescriptor::of::<&Text, ()>()).add(A(7)).unwrap(), 0);
        assert_eq!(stage.a_of(stage.with_text), 7);
    }),
    ("add_types by query", |stage| {
        let ty = ComponentType::of::<B>();
        assert_eq!(stage.world.batch(QueryDescriptor::of::<&Text, ()>()).add_types(&[ty]), Ok(1));
        assert_eq!(stage.a_of(stage.with_text), stage.a);
    }),
    ("remove by query", |stage| {
        assert_eq!(stage.world.batch(QueryDescriptor::of::<&Text, ()>()).remove::<Text>(), Ok(1));
        assert_eq!(stage.a_of(stage.with_text), stage.a);
    }),
    ("remove_types by query", |stage| {
        let ty = ComponentType::of::<Text>();
        assert_eq!(
            stage.world.batch(QueryDescriptor::of::<&Text, ()>()).remove_types(&[ty]),
            Ok(1)
        );
        assert_eq!(stage.a_of(stage.with_text), stage.a);
    }),
    ("set_shared by query", |stage| {
        let teams = stage.world.batch(QueryDescriptor::of::<(), With<Shared<Team>>>());
        assert_eq!(teams.set_shared(Team(2)), Ok(11));
        assert_eq!(stage.a_of(stage.of_team), stage.a);
    }),
    ("set_enabled by query", |stage| {
        assert_eq!(stage.world.batch(QueryDescriptor::of::<&Text, ()>()).set_enabled(false), Ok(1));
        assert_eq!(stage.a_of(stage.with_text), stage.a);
    }),
    ("a query that reads", |stage| {
        assert!(stage.world.query::<&A>().iter().all(|a| a.0 == stage.a));
    }),
    ("a query that writes", |stage| {
        let expected = stage.a;
        stage.world.query_mut::<&mut A>().for_each(|a| assert_eq!(a.0, expected));
    }),
    ("a loop with structural changes", |stage| {
        let expected = stage.a;
        stage.world.batch(QueryDescriptor::of::<&Text, ()>()).for_each(|entities, entity| {
            assert_eq!(entities.take::<A>(entity), Ok(A(expected)));
        });
    }),
    ("move_to another world", |stage| {
        let mut other = elsewhere();
        let moved = stage.world.batch(QueryDescriptor::of::<&A, ()>()).move_to(&mut other).unwrap();
        assert!(moved.len() > 30 && other.query::<&A>().iter().all(|a| a.0 == stage.a));
        assert_eq!(stage.world.query::<&A>().count(), 0);
    }),
    ("copy_to another world", |stage| {
        let mut other = elsewhere();
        let copied = QueryDescriptor::of::<&A, ()>().copy_to(&stage.world, &mut other).unwrap();
        assert!(copied.len() > 30 && other.query::<&A>().iter().all(|a| a.0 == stage.a));
    }),
    ("move_to and back", |stage| {
        let mut other = elsewhere();
        let moved = stage.world.batch(&stage.pair).move_to(&mut other).unwrap();
        let there = stage.pair.map(|old| moved.get(old).unwrap());
        assert!(there.iter().all(|&entity| other.get(entity) == Ok(&A(stage.a))));
        let back = other.batch(&there).move_to(&mut stage.world).unwrap();
        assert_eq!(stage.a_of(back.get(there[0]).unwrap()), stage.a);
    }),
];

/// Operations that use everything.
pub(crate) const WHOLE: &[Operation] = &[
    ("chunks", |stage| {
        let chunks = stage.world.chunks();
        let all: Vec<A> =
            chunks.filter_map(|chunk| chunk.slice::<A>()).flatten().copied().collect();
        assert!(!all.is_empty() && all.iter().all(|a| a.0 == stage.a));
    }),
    ("for_each_chunk_mut", |stage| {
        let expected = stage.a;
        stage.world.for_each_chunk_mut(|mut chunk| {
            let all = chunk.slice_mut::<A>().map(|all| all.iter().all(|a| a.0 == expected));
            assert!(all.unwrap_or(true));
        });
    }),
    ("a chunk of storage_info", |stage| {
        let info = stage.world.storage_info().get(stage.alone).unwrap();
        assert_eq!(info.chunk().slice::<A>().unwrap()[info.row()].0, stage.a);
    }),
    ("a dynamic query", |stage| {
        let query = QueryDescriptor::new().all([ComponentType::of::<A>()]).include_disabled();
        let found = query.chunks(&stage.world);
        assert!(
            found.flat_map(|found| found.chunk().slice::<A>().unwrap()).all(|a| a.0 == stage.a)
        );
    }),
    ("check_invariants", |stage| stage.world.check_invariants().unwrap()),
    ("remap_references", |stage| {
        stage.world.remap_references(|entity| entity).unwrap();
    }),
    ("fork", |stage| {
        let fork = stage.world.fork().unwrap();
        assert_eq!(fork.get::<A>(stage.alone).unwrap().0, stage.a);
        assert_eq!(fork.state_hash(), stage.world.state_hash());
    }),
    ("duplicate", |stage| {
        let copy = stage.world.duplicate().unwrap();
        assert_eq!(copy.get::<A>(stage.alone).unwrap().0, stage.a);
    }),
    ("state_hash", |stage| {
        let before = stage.world.state_hash();
        stage.world.set(stage.alone, A(stage.a)).unwrap();
        assert_eq!(stage.world.state_hash(), before);
    }),
    ("move_entities_from", |stage| {
        let mut other = elsewhere();
        assert!(other.move_entities_from(&mut stage.world).unwrap().len() > 50);
        assert!(other.query::<&A>().iter().all(|a| a.0 == stage.a));
    }),
    ("copy_entities_from", |stage| {
        let mut other = elsewhere();
        assert!(other.copy_entities_from(&stage.world).unwrap().len() > 50);
        assert!(other.query::<&A>().iter().all(|a| a.0 == stage.a));
    }),
    ("copy_and_replace_from, as the source", |stage| {
        let mut other = elsewhere();
        other.copy_and_replace_from(&mut stage.world).unwrap();
        assert!(other.query::<&A>().iter().all(|a| a.0 == stage.a));
    }),
    ("copy_and_replace_from, as the destination", |stage| {
        stage.world.copy_and_replace_from(&mut elsewhere()).unwrap();
        assert_eq!(stage.world.entity_count(), 1);
    }),
    ("a transaction", |stage| {
        let world = std::mem::replace(&mut *stage.world, World::new("Nothing"));
        let transaction = world.begin_transaction();
        let all = transaction.entities().unwrap().query::<&A>();
        assert!(!all.is_empty() && all.iter().all(|a| a.0 == stage.a));
        *stage.world = transaction.end().unwrap();
    }),
    ("despawn_all", |stage| {
        assert!(stage.world.despawn_all().unwrap() > 50);
        stage.world.remove::<Stays>(stage.stays).unwrap();
        assert_eq!(stage.world.entity_count(), 0);
    }),
];

/// Operations that do not conflict with a job that writes `A`.
pub(crate) const OTHER: &[Operation] = &[
    ("what only the world changes", |stage| {
        let entities = &stage.world;
        assert!(entities.exists(stage.alone) && entities.has::<A>(stage.alone));
        assert!(entities.is_enabled(stage.alone) && !entities.is_enabled(stage.disabled));
        assert_eq!(entities.all_entities().len(), entities.entity_count());
        assert!(entities.iter_entities().all(|entity| entities.exists(entity)));
        let archetype = entities.entity_archetype(stage.alone).unwrap();
        assert_eq!(entities.component_types(archetype).unwrap().len(), 1);
        assert_eq!(entities.shared::<Team>(stage.of_team), Ok(&Team(1)));
        assert!(entities.storage_info().get(stage.alone).is_some());
    }),
    ("get", |stage| assert_eq!(stage.world.get::<B>(stage.pair[1]), Ok(&B(2)))),
    ("set_bytes", |stage| {
        let (ty, bytes) = (ComponentType::of::<B>(), 7_u64.to_ne_bytes());
        stage.world.set_bytes(stage.pair[0], ty, &bytes).unwrap();
        assert_eq!(stage.world.get::<B>(stage.pair[0]), Ok(&B(7)));
    }),
    ("get_mut", |stage| stage.world.get_mut::<B>(stage.pair[0]).unwrap().0 += 1),
    ("get_mut of what is dropped", |stage| {
        stage.world.get_mut::<Text>(stage.with_text).unwrap().0.push('2');
    }),
    ("get_mut of what is tracked", |stage| {
        stage.world.get_mut::<T>(stage.tracked).unwrap().0 += 1;
    }),
    ("set", |stage| stage.world.set(stage.pair[0], B(4)).unwrap()),
    ("buffers", |stage| {
        stage.world.buffer_mut::<Item>(stage.with_items).unwrap().push(Item(2));
        stage.world.add_buffer::<Item>(stage.with_items).unwrap().push(Item(3));
        assert_eq!(stage.world.buffer::<Item>(stage.with_items).unwrap().len(), 3);
        let items = stage.world.lookup::<&Buffer<Item>>();
        assert_eq!(items.get(stage.with_items).unwrap().len(), 3);
    }),
    ("managed", |stage| {
        stage.world.managed_mut::<Script>(stage.with_script).unwrap().0.push('2');
        assert_eq!(stage.world.managed::<Script>(stage.with_script).unwrap().0, "12");
    }),
    ("values of chunks", |stage| {
        stage.world.set_chunk_component(stage.with_detail, Detail(2)).unwrap();
        assert_eq!(stage.world.chunk_component(stage.with_detail), Ok(&Detail(2)));
    }),
    ("switching", |stage| {
        let entities = &mut stage.world;
        entities.set_component_enabled::<X>(stage.switched, false).unwrap();
        assert_eq!(entities.is_component_enabled::<X>(stage.switched), Ok(false));
    }),
    ("switching by query", |stage| {
        let all = stage.world.batch(QueryDescriptor::of::<(), Present<X>>());
        assert_eq!(all.set_component_enabled::<X>(false), Ok(11));
        assert_eq!(stage.world.query::<&X>().count(), 0);
    }),
    ("spawn and despawn elsewhere", |stage| {
        let new = stage.world.spawn((B(1), Text("new".into())));
        stage.world.add(new, X(1)).unwrap();
        assert_eq!(stage.world.take::<B>(new), Ok(B(1)));
        let many: Vec<_> = stage.world.spawn_many(B(1), 1000).collect();
        stage.world.batch(&many).despawn().unwrap();
        assert!(stage.world.despawn(new).unwrap());
    }),
    ("changes by query elsewhere", |stage| {
        stage.world.spawn_many(B(1), 9);
        let others = stage.world.batch(QueryDescriptor::of::<&B, ancho_entities::Absent<A>>());
        assert_eq!(others.add(Text("new".into())).unwrap(), 9);
    }),
    ("names, versions and archetypes", |stage| {
        let entities = &mut stage.world;
        entities.set_name(stage.alone, "alone").unwrap();
        entities.advance_version();
        entities.archetype::<(A, B, X, Text)>();
    }),
    ("entities that come from another world", |stage| {
        let mut other = elsewhere();
        let copied = stage.world.copy_entities_from(&other).unwrap();
        let moved = stage.world.move_entities_from(&mut other).unwrap();
        let back = moved.iter().chain(copied.iter()).map(|(_, new)| new).collect::<Vec<_>>();
        assert_eq!(stage.world.batch(&back).move_to(&mut other).unwrap().len(), 2);
    }),
    ("entity_changes", |stage| {
        let changes = stage.world.entity_changes(&mut EntityTracker::new());
        assert_eq!(changes.created.len(), stage.world.entity_count());
    }),
    ("a query of another component", |stage| {
        assert!(stage.world.query::<&B>().iter().all(|b| b.0 > 0));
        stage.world.query_mut::<&mut B>().for_each(|b| b.0 += 1);
        assert!(stage.world.query::<&A>().count() > 0, "how many there are is known");
    }),
];
