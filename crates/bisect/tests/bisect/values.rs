//! Differences in values.

use ancho_bisect::{Difference, DivergedAt};
use ancho_collections::{BlobAsset, BlobBuilder};
use ancho_entities::{
    Buffer, BufferElement, Component, ComponentType, Entity, Field, FieldKind, IntoSystem, Managed,
    ManagedComponent, PerChunk, Query, ResMut, Resource, RuntimeType, Shared, SharedComponent,
    World,
};

use super::{parted, world};

#[derive(Component, Clone, Copy)]
#[component(name = "Place")]
struct Place {
    at: (f32, f32),
    _mark: u8,
}

#[derive(Component, Clone, Copy, Default)]
#[component(name = "Weight")]
struct Weight(u32);

#[derive(Component, Clone, Copy)]
#[component(name = "Speed", enableable)]
struct Speed(i16);

#[derive(Resource, Clone)]
struct Turn(u32);

#[test]
fn a_field_written_by_a_job_is_found_with_frame_system_job_chunk_and_entity() {
    let make = |differs: bool| {
        let mut world = world(if differs { "second" } else { "first" }, 2);
        let all: Vec<_> =
            world.spawn_many((Place { at: (0.0, 0.0), _mark: 0 }, Weight(1)), 5000).collect();
        world.set_name(all[4000], "culprit").unwrap();
        let culprit = all[4000];
        world.insert_resource(Turn(0));
        let weigh = |all: Query<&mut Weight>| {
            all.job().named("weigh all").schedule_parallel(|weight| weight.0 += 1);
        };
        let step = move |all: Query<(Entity, &mut Place)>, mut turn: ResMut<Turn>| {
            turn.0 += 1;
            let turn = turn.0;
            all.job().named("step all").schedule_parallel(move |(entity, place)| {
                let aside = differs && turn == 4 && entity == culprit;
                place.at.1 += if aside { 2.0 } else { 1.0 };
            });
        };
        world.add_system(weigh.named("weigh"));
        world.add_system(step.named("step"));
        world.add_system((|_: Query<&mut Place>| ()).named("rest"));
        world
    };
    let found = parted(make);
    assert_eq!((found.frame, &found.at), (3, &DivergedAt::System("step".into())));
    assert_eq!((&found.jobs[..], found.entity().unwrap().index()), (&["step all"][..], 4000));
    assert_eq!(found.component(), Some(ComponentType::of::<Place>()));
    let Difference::Value { place, field, values, .. } = &found.difference else {
        panic!("{found}");
    };
    let capacity = make(false).chunks().next().unwrap().len();
    assert_eq!((place.chunk, place.differing_chunks), (4000 / capacity, 1));
    assert_eq!((field.as_str(), values), ("at.1", &["4.0".to_owned(), "5.0".to_owned()]));
    let expected = format!(
        "A0075: the runs diverge in frame 3, after system `step`: `Place` `at.1` of entity 4000v1 `culprit` is 4.0 in \
         the first, 5.0 in the second\n  archetype: {}\n  chunk: {}\n  jobs that write it: step all\n  worlds: `first` \
         and `second`",
        place.archetype.iter().map(|ty| ty.name()).collect::<Vec<_>>().join(", "),
        place.chunk
    );
    assert_eq!(found.to_string(), expected);
}

/// Returns the difference between two worlds that are created with different component sets.
fn of_sets<S: ancho_entities::ComponentSet>(sets: fn(bool) -> S) -> (String, [String; 2]) {
    let found = parted(|differs| {
        let mut world = World::new("made");
        world.spawn(sets(differs));
        world
    });
    assert_eq!(found.at, DivergedAt::Made);
    match found.difference {
        Difference::Value { field, values, .. } => (field, values),
        _ => panic!("{found}"),
    }
}

fn told(field: &str, first: &str, second: &str) -> (String, [String; 2]) {
    (field.to_owned(), [first.to_owned(), second.to_owned()])
}

#[derive(Field, Clone)]
enum State {
    Idle,
    Walks { to: Option<Entity>, steps: Vec<u16> },
}

#[derive(Component, Clone)]
struct Mind {
    state: State,
    says: String,
    seen: std::collections::BTreeMap<u8, char>,
    since: std::time::Duration,
    goal: BlobAsset<u8>,
}

fn mind() -> Mind {
    let state = State::Walks { to: Some(Entity::from_parts(7, 1)), steps: vec![1, 2, 3] };
    let seen = [(1, 'a'), (2, 'b')].into();
    let since = std::time::Duration::from_millis(1500);
    Mind { state, says: "hum".into(), seen, since, goal: blob(1) }
}

fn blob(number: u8) -> BlobAsset<u8> {
    BlobBuilder::new(number).build().unwrap()
}

#[test]
fn fields_of_every_kind_are_found_by_their_paths() {
    let of_minds = |change: fn(&mut Mind)| {
        let found = parted(|differs| {
            let mut mind = mind();
            if differs {
                change(&mut mind);
            }
            let mut world = World::new("made");
            world.spawn(mind);
            world
        });
        match found.difference {
            Difference::Value { field, values, .. } => (field, values),
            _ => panic!("{found}"),
        }
    };
    assert_eq!(of_minds(|mind| mind.state = State::Idle), told("state", "Walks", "Idle"));
    assert_eq!(
        of_minds(|mind| if let State::Walks { to, .. } = &mut mind.state {
            *to = None;
        }),
        told("state.to", "Some", "None")
    );
    assert_eq!(
        of_minds(|mind| if let State::Walks { to, .. } = &mut mind.state {
            *to = Some(Entity::from_parts(8, 1));
        }),
        told("state.to", "7v1", "8v1")
    );
    assert_eq!(
        of_minds(|mind| if let State::Walks { steps, .. } = &mut mind.state {
            steps[2] = 9;
        }),
        told("state.steps[2]", "3", "9")
    );
    assert_eq!(
        of_minds(|mind| if let State::Walks { steps, .. } = &mut mind.state {
            steps.push(4);
        }),
        told("state.steps.len()", "3", "4")
    );
    assert_eq!(of_minds(|mind| mind.says.push('!')), told("says", "\"hum\"", "\"hum!\""));
    assert_eq!(
        of_minds(|mind| {
            mind.seen.insert(2, 'c');
        }),
        told("seen[1].value", "'b'", "'c'")
    );
    assert_eq!(
        of_minds(|mind| mind.since += std::time::Duration::from_nanos(1)),
        told("since", "1.500000000s", "1.500000001s")
    );
    let [one, two] = [1, 2].map(|number| format!("blob {:016x}", blob(number).content_hash()));
    assert_eq!(of_minds(|mind| mind.goal = blob(2)), told("goal", &one, &two));
    assert_eq!(of_sets(|differs| Weight(u32::from(differs))), told("0", "0", "1"));
    assert_eq!(
        of_sets(|differs| Place { at: (if differs { -0.0 } else { 0.0 }, 1.0), _mark: 0 }),
        told("at.0", "0.0", "-0.0")
    );
}

#[derive(BufferElement, Clone, Copy)]
#[buffer(name = "Item")]
struct Item {
    amount: u8,
}

#[derive(ManagedComponent, Clone)]
struct Sheet {
    lines: Vec<String>,
}

#[derive(SharedComponent, Clone, PartialEq, Eq, Hash)]
#[shared(name = "Team")]
struct Team {
    color: u8,
}

#[test]
fn fields_of_buffers_managed_and_shared_values_are_compared() {
    assert_eq!(
        of_sets(|differs| Buffer::from([
            Item { amount: 1 },
            Item { amount: 2 + u8::from(differs) }
        ])),
        told("[1].amount", "2", "3")
    );
    assert_eq!(
        of_sets(|differs| Buffer::from(vec![Item { amount: 1 }; 1 + usize::from(differs)])),
        told("len()", "1", "2")
    );
    assert_eq!(
        of_sets(|differs| Managed::new(Sheet { lines: vec!["one".into(), format!("{differs}")] })),
        told("lines[1]", "\"false\"", "\"true\"")
    );
    assert_eq!(
        of_sets(|differs| Shared::new(Team { color: 4 + u8::from(differs) })),
        told("color", "4", "5")
    );
}

#[test]
fn shared_values_and_chunk_components_are_reported_for_their_chunk() {
    let shared = parted(|differs| {
        let mut world = World::new("made");
        world.spawn((Weight(1), Shared::new(Team { color: u8::from(differs) })));
        world
    });
    assert_eq!(shared.entity(), None);
    let text = shared.to_string();
    assert!(text.contains("`Shared<Team>` `color` of chunk 0 is 0 in the first, 1"), "{text}");
    let of_chunk = parted(|differs| {
        let mut world = World::new("made");
        let entity = world.spawn((Place { at: (0.0, 0.0), _mark: 0 }, PerChunk::<Weight>::new()));
        world.set_chunk_component(entity, Weight(3 + u32::from(differs))).unwrap();
        world
    });
    let text = of_chunk.to_string();
    assert!(text.contains(" `0` of chunk 0 is 3 in the first, 4 in the second"), "{text}");
    assert!(of_chunk.component().unwrap().name().contains("Weight"), "{text}");
}

#[test]
fn an_enabled_bit_that_differs_is_found_with_its_job() {
    let found = parted(|differs| {
        let mut world = world("switch", 0);
        world.spawn_many(Speed(1), 100);
        let switch = move |all: Query<(Entity, ancho_entities::EnabledMut<Speed>)>| {
            let job = all.job().named("switch all");
            job.schedule_parallel(move |(entity, mut speed)| {
                speed.set(!(differs && entity.index() == 70));
            });
        };
        world.add_system(switch.named("switch"));
        world
    });
    assert_eq!(found.jobs, ["switch all"]);
    let text = found.to_string();
    let expected = "A0075: the runs diverge in frame 0, after system `switch`: `Speed` of entity 70v1 is enabled in \
                    the first, disabled in the second";
    assert_eq!(text.lines().next(), Some(expected));
}

#[test]
fn types_without_fields_are_reported_as_bytes() {
    let bytes = ComponentType::register(RuntimeType::new("bisect::Bytes", 12, 4)).unwrap();
    let with_fields = RuntimeType::new("bisect::Fields", 12, 4)
        .field("small", 0, FieldKind::U8)
        .field("large", 8, FieldKind::U32);
    let fields = ComponentType::register(with_fields).unwrap();
    let of_bytes = |ty: ComponentType, value: [u8; 12]| {
        let found = parted(move |differs| {
            let mut world = World::new("made");
            let entity = world.spawn(());
            let value = if differs { value } else { [0; 12] };
            world.add_bytes(entity, ty, &value).unwrap();
            world
        });
        match found.difference {
            Difference::Value { field, values, .. } => (field, values),
            _ => panic!("{found}"),
        }
    };
    let value = [0, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0];
    assert_eq!(of_bytes(bytes, value), told("byte 8", "00 00 00 00", "05 00 00 00"));
    assert_eq!(of_bytes(fields, value), told("large", "0", "5"));
    let between = [0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let expected = told("byte 2", "00 00 00 00 00 00 00 00", "03 00 00 00 00 00 00 00");
    assert_eq!(of_bytes(fields, between), expected);
}
