//! Singletons: components that exist once per world.

use ancho_entities::{Component, EnabledMut, ParamSet, Query, Single, World};

use crate::fixtures::panic_place::panics_of;

#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Score(u32);

#[test]
fn exactly_one_entity_is_read_and_written() {
    let mut world = World::new("Simulation");
    world.spawn(Score(1));
    assert_eq!(world.singleton::<Score>(), Ok(&Score(1)));
    world.singleton_mut::<Score>().unwrap().0 = 5;
    assert_eq!(world.singleton::<Score>(), Ok(&Score(5)));
}

#[test]
fn none_and_several_are_errors_with_counts() {
    let mut world = World::new("Simulation");
    let none = world.singleton::<Score>().unwrap_err().to_string();
    assert!(none.starts_with("A0"), "{none}");
    world.spawn(Score(1));
    world.spawn(Score(2));
    let two = world.singleton::<Score>().unwrap_err().to_string();
    assert!(two.contains('2'), "{two}");
    assert_eq!(world.query::<&Score>().iter().map(|score| score.0).sum::<u32>(), 3);
}

#[test]
fn a_system_has_its_singleton_or_none() {
    let mut world = World::new("Simulation");
    world.add_system(|score: Option<Single<&mut Score>>| {
        if let Some(mut score) = score {
            score.0 += 1;
        }
    });
    world.try_update(0.1).unwrap();
    let one = world.spawn(Score(1));
    world.try_update(0.1).unwrap();
    assert_eq!(world.get(one), Ok(&Score(2)));
    // With several entities, even an `Option` parameter is ambiguous.
    world.spawn(Score(9));
    let told = world.try_update(0.1).unwrap_err().to_string();
    assert!(told.contains("matches 2 entities"), "{told}");
    assert_eq!(world.get(one), Ok(&Score(2)));
}

#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(enableable, name = "Shield")]
struct Shield(u32);

#[test]
fn a_single_that_others_of_its_set_disable_is_refused() {
    fn switch(mut set: ParamSet<(Query<EnabledMut<Shield>>, Single<&Shield>)>) {
        assert_eq!(set.p1().0, 7);
        set.p0().for_each(|mut shield| shield.set(!shield.get()));
        set.p1();
    }

    let mut world = World::new("Simulation");
    world.spawn(Shield(7));
    world.add_system(switch);
    let panics = panics_of(|| drop(world.try_update(0.1)));
    assert_eq!((panics.len(), &*panics[0].file), (1, file!()), "{panics:?}");
    let mut world = World::new("Simulation");
    world.spawn(Shield(7));
    world.add_system(switch);
    let told = world.try_update(0.1).unwrap_err().to_string();
    let (system, sentence) = told.split_once(" panicked: ").unwrap();
    assert!(system.starts_with("A0105: system `") && system.contains("switch"), "{told}");
    assert_eq!(
        sentence,
        "A0136: `Single<&systems::parameters::single::Shield>` now matches 0 entities, but one was expected: another \
         parameter of its `ParamSet` enabled or disabled components; use the single before that, or take a \
         `Query<&systems::parameters::single::Shield>` instead"
    );

    // After the toggle, the single finds two entities.
    let mut world = World::new("Simulation");
    let off: Vec<_> = world.spawn_many(Shield(8), 2).collect();
    for entity in off {
        world.set_component_enabled::<Shield>(entity, false).unwrap();
    }
    world.spawn(Shield(7));
    world.add_system(switch);
    let told = world.try_update(0.1).unwrap_err().to_string();
    assert!(told.contains("now matches 2 entities"), "{told}");
}

#[test]
fn an_optional_single_that_others_of_its_set_disable_is_none() {
    #[expect(
        clippy::type_complexity,
        reason = "it is how parameters that exclude each other are written"
    )]
    fn switch(mut set: ParamSet<(Query<EnabledMut<Shield>>, Option<Single<&Shield>>)>) {
        assert!(set.p1().is_some());
        set.p0().for_each(|mut shield| shield.set(false));
        assert!(set.p1().is_none());
    }

    let mut world = World::new("Simulation");
    world.spawn(Shield(7));
    world.add_system(switch);
    world.try_update(0.1).unwrap();
}
