//! Differences in resources, messages and the time.

use ancho_bisect::{Difference, DivergedAt};
use ancho_entities::{IntoSystem, Message, MessageWriter, ResMut, Resource, Time};

use super::{parted, world};

#[derive(Resource, Clone)]
struct Score {
    points: u32,
    lives: Option<u32>,
}

#[test]
fn a_resource_is_found_with_its_field() {
    let found = parted(|differs| {
        let mut world = world("game", 0);
        world.insert_resource(Score { points: 1, lives: Some(3) });
        let count = move |mut score: ResMut<Score>, time: Time| {
            score.points += 1;
            if differs && time.frame() == 3 {
                score.lives = score.lives.map(|lives| lives - 1);
            }
        };
        world.add_system(count.named("count"));
        world
    });
    assert_eq!((found.frame, &found.at), (2, &DivergedAt::System("count".into())));
    let Difference::Resource { resource, values, .. } = &found.difference else {
        panic!("{found}");
    };
    assert_eq!((&**resource, values), ("Score", &["3".to_owned(), "2".to_owned()]));
    let line = found.to_string();
    assert!(line.contains("resource `Score` `lives"), "{line}");
    assert!(line.contains(" is 3 in the first, 2 in the second"), "{line}");
}

#[test]
fn a_resource_that_one_run_lacks_is_found() {
    let found = parted(|differs| {
        let mut world = world("game", 0);
        if differs {
            world.insert_resource(Score { points: 1, lives: None });
        }
        world
    });
    assert!(
        found
            .to_string()
            .contains("resource `Score` is absent in the first, present in the second")
    );
}

#[test]
fn a_different_time_is_found() {
    let found = parted(|differs| {
        let mut world = world("game", 0);
        world.set_time_scale(if differs { 0.5 } else { 1.0 }).unwrap();
        world
    });
    let line = found.to_string();
    assert!(
        line.contains("`time_scale` of the time is 1 in the first, 0.5 in the second"),
        "{line}"
    );
}

#[test]
fn different_messages_are_found() {
    #[derive(Message, Clone)]
    struct Hit(u32);

    let found = parted(|differs| {
        let mut world = world("game", 0);
        let write = move |mut hits: MessageWriter<Hit>| hits.write(Hit(u32::from(differs)));
        world.add_system(write.named("write"));
        world
    });
    assert_eq!(found.at, DivergedAt::System("write".into()));
    assert!(
        found.to_string().contains("the messages `Hit` or the positions of their readers differ")
    );
}
