//! States that are functions of other states.

use ancho_entities::{ComputedState, IntoSystem, States, in_state};

use super::{Game, Phase, update, world};
use crate::common::{say, take};

#[derive(States, Clone, Debug, PartialEq)]
#[computed_state]
enum Light {
    Bright,
    Dark,
}

impl ComputedState for Light {
    type Sources = (Game, Phase);

    fn compute((game, phase): (Option<&Game>, Option<&Phase>)) -> Option<Self> {
        match (game?, phase) {
            (Game::Menu, _) => Some(Self::Bright),
            (_, Some(Phase::Day)) => Some(Self::Bright),
            (_, Some(Phase::Night)) => Some(Self::Dark),
            _ => None,
        }
    }
}

#[test]
fn a_computed_state_follows_its_sources() {
    let mut world = world();
    world.add_computed_state::<Light>();
    world.add_system(say("bright").on_enter(Light::Bright));
    world.add_system(say("dark").on_enter(Light::Dark));
    world.add_system(say("exit dark").on_exit(Light::Dark));
    world.add_system(say("is dark").run_if(in_state(Light::Dark)));
    assert_eq!(update(&mut world), ["bright"]);
    world.set_state(Game::Running).unwrap();
    assert!(update(&mut world).is_empty(), "the value stays the same");
    world.set_state(Phase::Night).unwrap();
    assert_eq!(update(&mut world), ["dark", "is dark"]);
    world.set_state(Game::Over(1)).unwrap();
    assert_eq!(update(&mut world), ["exit dark"]);
    assert_eq!(world.state::<Light>(), None);
}

#[test]
fn a_sub_state_of_a_computed_state() {
    #[derive(States, Clone, Debug, Default, PartialEq)]
    #[sub_state(of = Light::Dark)]
    struct Lamp(bool);

    let mut world = world();
    world.add_sub_state::<Lamp>();
    world.set_state(Game::Running).unwrap();
    world.set_state(Phase::Night).unwrap();
    world.update(0.1);
    assert_eq!(world.state(), Some(&Lamp(false)));
    world.set_state(Phase::Day).unwrap();
    world.update(0.1);
    assert_eq!(world.state::<Lamp>(), None);
    take(&mut world);
}

#[derive(States, Clone, Debug, PartialEq)]
#[computed_state]
#[state(name = "Hen")]
struct Hen;

#[derive(States, Clone, Debug, PartialEq)]
#[computed_state]
#[state(name = "Egg")]
struct Egg;

impl ComputedState for Hen {
    type Sources = Egg;

    fn compute(egg: Option<&Egg>) -> Option<Self> {
        egg.map(|_| Self)
    }
}

impl ComputedState for Egg {
    type Sources = Hen;

    fn compute(hen: Option<&Hen>) -> Option<Self> {
        hen.map(|_| Self)
    }
}

#[test]
#[should_panic(
    expected = "A0229: states depend on each other in a cycle: `Hen` depends on `Egg` depends on `Hen`"
)]
fn a_cycle_of_states_is_refused() {
    world().add_computed_state::<Hen>();
}

#[test]
#[should_panic(expected = "A0228: state `Game` has to be added before states that depend on it")]
fn the_states_that_it_depends_on_have_to_be_added() {
    crate::common::world().add_computed_state::<Light>();
}
