//! Scenes in JSON, and prefabs.

use ancho_entities::{Component, Entity, World};
use ancho_serialize::{Scene, SerializeErrorKind as Kind, Value, WorldDiff};

use crate::common::*;

#[derive(Component, Clone, Debug, PartialEq)]
#[component(name = "scenes::Soldier")]
struct Soldier {
    health: u32,
    speed: f32,
    leader: Entity,
    mood: Mood,
}

impl Default for Soldier {
    fn default() -> Self {
        Self { health: 20, speed: 1.5, leader: Entity::NULL, mood: Mood::Calm }
    }
}

fn scene(text: &str) -> Scene {
    ancho_entities::ComponentType::of::<Soldier>();
    _ = all_types();
    Scene::from_json(text).unwrap()
}

#[test]
fn a_world_is_the_same_after_a_round_trip_as_text() {
    let mut world = World::new("Game");
    let varied = varied_world();
    world.copy_entities_from(&varied).unwrap();
    // Cleanup components and chunk components are not part of scenes, and runtime types have no text.
    for entity in world.iter_entities().collect::<Vec<_>>() {
        let types = world.component_types_of(entity);
        if types.iter().any(|ty| ty.is_cleanup() || ty.is_chunk_component() || ty.is_runtime()) {
            let cleanup: Vec<_> = types.iter().copied().filter(|ty| ty.is_cleanup()).collect();
            world.remove_types(entity, &cleanup).unwrap();
            if world.exists(entity) {
                world.despawn(entity).unwrap();
            }
        }
    }
    let text = Scene::of(&world).unwrap().to_json();
    let mut again = World::new("Again");
    let entities = Scene::from_json(&text).unwrap().spawn(&mut again).unwrap();
    assert_eq!(entities.len(), world.entity_count());
    assert!(Scene::of(&again).unwrap().to_json() == text, "the text is stable");
    let tank = entities["Tank"];
    assert_eq!(again.buffer::<ancho_entities::LinkedEntityGroup>(tank).unwrap()[0].0, tank);
}

trait TypesOf {
    fn component_types_of(&self, entity: Entity) -> Vec<ancho_entities::ComponentType>;
}

impl TypesOf for World {
    fn component_types_of(&self, entity: Entity) -> Vec<ancho_entities::ComponentType> {
        let chunk = self.chunks().find(|chunk| chunk.entities().contains(&entity));
        chunk.map_or(Vec::new(), |chunk| chunk.component_types().to_vec())
    }
}

#[test]
fn fields_with_their_default_are_omitted() {
    let mut world = World::new("Game");
    let captain = world.spawn(Soldier { health: 40, ..Soldier::default() });
    let mood = Mood::Angry { at: captain, since: 0.5 };
    let soldier = world.spawn((Soldier { leader: captain, mood, ..Soldier::default() }, Engine(3)));
    world.set_name(captain, "captain").unwrap();
    world.set_component_enabled::<Engine>(soldier, false).unwrap();
    assert_eq!(
        Scene::of(&world).unwrap().to_json(),
        r##"{
  "entities": {
    "captain": {
      "scenes::Soldier": {
        "health": 40
      }
    },
    "#1": {
      "Engine": 3,
      "scenes::Soldier": {
        "leader": "captain",
        "mood": {
          "Angry": {
            "at": "captain",
            "since": 0.5
          }
        }
      },
      "$disabled": ["Engine"]
    }
  }
}
"##
    );
}

#[test]
fn errors_have_the_line_the_names_and_the_nearest_name() {
    let refused = |text: &str| {
        let mut world = World::new("Game");
        world.spawn_many((), 3);
        let refused = scene(text).spawn(&mut world).unwrap_err();
        assert_eq!((refused.kind(), world.entity_count()), (Kind::Text, 3));
        refused.to_string()
    };
    assert_eq!(
        refused("{\"entities\": {\n  \"orc\": {\"scenes::Soldier\": {\n    \"helth\": 3}}}}"),
        "A0275: line 3, column 14: entity `orc`, component `scenes::Soldier`, field `helth`: there is no field `helth`; did you mean \
         `health`?"
    );
    assert_eq!(
        refused("{\"entities\": {\"orc\": {\"scenes::Soldier\": {\"health\": \"many\"}}}}"),
        "A0275: line 1, column 53: entity `orc`, component `scenes::Soldier`, field `health`: expected `u32`, found text"
    );
    assert_eq!(
        refused("{\"entities\": {\"orc\": {\"scenes::Soldier\": {\"health\": 5000000000}}}}"),
        "A0275: line 1, column 53: entity `orc`, component `scenes::Soldier`, field `health`: 5000000000 does not fit in `u32`"
    );
    assert_eq!(
        refused("{\"entities\": {\"orc\": {\"scenes::Soldier\": {\"mood\": {\"Angri\": {}}}}}}"),
        "A0275: line 1, column 51: entity `orc`, component `scenes::Soldier`, field `mood`: there is no variant `Angri`; did you mean \
         `Angry`?"
    );
    assert_eq!(
        refused(
            "{\"entities\": {\"orc\": {\"scenes::Soldier\": {\"leader\": \"captan\"}},\n\"captain\": {}}}"
        ),
        "A0275: line 1, column 53: entity `orc`, component `scenes::Soldier`, field `leader`: there is no entity `captan` in the \
         scene; did you mean `captain`?"
    );
    assert_eq!(
        refused("{\"entities\": {\"orc\": {\"scenes::Soldir\": {}}}}"),
        "A0275: line 1, column 41: entity `orc`: there is no component `scenes::Soldir`; did you mean `scenes::Soldier`?"
    );
}

#[test]
fn texts_that_are_not_scenes_are_errors() {
    for (text, expected) in [
        ("", "A0275: line 1, column 1: expected a value"),
        ("{\"entities\": [}", "A0275: line 1, column 15: expected a value"),
        ("{\n\"entities\": {}", "A0275: line 2, column 15: expected `,` or `}`"),
        ("[]", "A0275: line 1, column 1: expected a map with `entities`"),
        (
            "{\"entitis\": {}}",
            "A0275: line 1, column 13: a scene has no key `entitis`; did you mean `entities`?",
        ),
        (
            "{\"entities\": {\"a\": {}, \"a\": {}}}",
            "A0275: line 1, column 20: two entities are called `a`",
        ),
        (
            "{\"entities\": {\"a\": 7}}",
            "A0275: line 1, column 20: entity `a`: expected a map of components",
        ),
    ] {
        assert_eq!(Scene::from_json(text).unwrap_err().to_string(), expected, "{text}");
    }
    let deep = "[".repeat(100_000);
    assert!(deep.parse::<Value>().is_err());
}

#[test]
fn prefabs_nest_and_override_fields() {
    let gun = scene(r#"{"entities": {"gun": {"scenes::Soldier": {"health": 1, "speed": 9}}}}"#);
    let tank = scene(
        r#"{"entities": {
            "tank": {"scenes::Soldier": {"health": 100}, "Tag": {}},
            "turret": {"$prefab": "gun", "scenes::Soldier": {"leader": "tank"}}
        }}"#,
    );
    let level = scene(
        r#"{"entities": {
            "base": {},
            "first": {"$prefab": "tank", "scenes::Soldier": {"leader": "base"}},
            "second": {"$prefab": "tank", "$removed": ["Tag"], "scenes::Soldier": {"speed": 3}}
        }}"#,
    );
    let mut load = |name: &str| Ok(if name == "gun" { gun.clone() } else { tank.clone() });
    let mut world = World::new("Game");
    assert!(level.spawn(&mut world).unwrap_err().to_string().contains("call `Scene::resolve`"));
    let entities = level.resolve(&mut load).unwrap().spawn(&mut world).unwrap();
    let names: Vec<&str> = entities.keys().map(String::as_str).collect();
    assert_eq!(names, ["base", "first", "first/turret", "second", "second/turret"]);
    let get = |name: &str| world.get::<Soldier>(entities[name]).unwrap().clone();
    assert_eq!((get("first").health, get("first").leader), (100, entities["base"]));
    assert_eq!((get("second").health, get("second").speed), (100, 3.0));
    assert_eq!((get("first/turret").speed, get("first/turret").leader), (9.0, entities["first"]));
    assert_eq!(get("second/turret").leader, entities["second"]);
    assert!(world.has::<Tag>(entities["first"]) && !world.has::<Tag>(entities["second"]));

    let endless = scene(r#"{"entities": {"a": {"$prefab": "a"}}}"#);
    let refused = endless.resolve(&mut |_| Ok(endless.clone())).unwrap_err();
    assert!(refused.to_string().contains("nested too deeply"), "{refused}");
}

#[test]
fn numbers_are_read_back_as_they_were() {
    for text in ["0", "-7", "340282366920938463463374607431768211455", "1e-7", "0.1", "-0.0"] {
        let value: Value = text.parse().unwrap();
        assert_eq!(value.to_string(), text);
    }
    let mut world = World::new("Game");
    let position = Position([f32::MIN_POSITIVE, -0.0, f32::INFINITY]);
    world.spawn(position);
    let mut again = World::new("Again");
    let entities = Scene::of(&world).unwrap().spawn(&mut again).unwrap();
    let text = Scene::of(&again).unwrap().to_json();
    let mut third = World::new("Third");
    let parsed = scene(&text).spawn(&mut third).unwrap();
    assert_eq!(again.get(entities["#0"]), Ok(&position));
    assert_eq!(third.get(parsed["#0"]), Ok(&position));
    assert!(WorldDiff::between(&again, &third).unwrap().is_empty());
}

#[cfg(feature = "serde")]
#[test]
fn scenes_are_data_of_serde() {
    let mut world = World::new("Game");
    let captain = world.spawn((Soldier::default(), Position([0.1, f32::MAX, -3.0])));
    world.spawn(Soldier { leader: captain, ..Soldier::default() });
    let scene = Scene::of(&world).unwrap();
    let text = serde_json::to_string(&scene).unwrap();
    let again: Scene = serde_json::from_str(&text).unwrap();
    let mut other = World::new("Other");
    again.spawn(&mut other).unwrap();
    assert_eq!(Scene::of(&other).unwrap().to_json(), scene.to_json());
    let refused = serde_json::from_str::<Scene>("{\"entities\": 7}").unwrap_err();
    assert!(refused.to_string().starts_with("A0275: expected a map of entities"), "{refused}");
}
