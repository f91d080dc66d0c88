//! 200 chains of 100 links each hang from anchors that move up and down.
//!
//! A link reads the position of the link before it, which may be any entity. A single job therefore visits all links in
//! order, and looks up positions. It runs in the background, like other jobs.

use std::f32::consts::TAU;
use std::hash::{Hash, Hasher};

use ancho::burst::math::sincos;
use ancho::prelude::*;
use ancho::transforms::{AddTransforms, LocalToWorld, Position};

use crate::gallery::{Canvas, Color, Kind, Options, Sample, SampleResult, WorldSample};

pub(crate) const SAMPLE: Sample = Sample {
    name: "chain",
    summary: "200 chains of 100 links, each attached to the previous one, in one job",
    kind: Kind::World(WorldSample {
        counts: "links of chains",
        entities: 20_000,
        most: 1_000_000,
        frames: 300,
        seed: None,
        build,
        add_systems,
        paint,
        steering: None,
    }),
};

/// Number of links in a chain.
const LINKS: usize = 100;
/// Distance of the anchors from the center.
const RADIUS: f32 = 100.0;
/// Amplitude of an anchor's vertical motion.
const HEIGHT: f32 = 10.0;

/// Moves along a circle, and up and down.
#[derive(Component, Clone, Copy)]
struct Anchor {
    /// Position on the circle, in radians.
    angle: f32,
    /// Phase of the vertical motion, in radians.
    phase: f32,
}

/// Request for a chain that hangs from this anchor. The anchor loses it once the chain exists. Most anchors share one
/// value.
#[derive(SharedComponent, Clone, Copy, Debug)]
struct SpawnChain {
    link: Entity,
    count: usize,
    min_distance: f32,
    max_distance: f32,
}

impl SpawnChain {
    fn bits(&self) -> (Entity, usize, [u32; 2]) {
        let Self { link, count, min_distance, max_distance } = *self;
        (link, count, [min_distance, max_distance].map(f32::to_bits))
    }
}

impl PartialEq for SpawnChain {
    fn eq(&self, other: &Self) -> bool {
        self.bits() == other.bits()
    }
}

impl Eq for SpawnChain {}

impl Hash for SpawnChain {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.bits().hash(state);
    }
}

/// Limits the distance to another entity, the holder.
#[derive(Component, Clone, Copy)]
struct PositionConstraint {
    holder: Entity,
    max_distance: f32,
}

fn build(options: &Options) -> SampleResult<World> {
    let mut world = options.world("Chain");
    let nobody = PositionConstraint { holder: Entity::NULL, max_distance: 0.0 };
    let link = world.spawn((Prefab, Position(Vec3::ZERO), nobody));
    let anchors = options.entities.div_ceil(LINKS);
    world.spawn_batch((0..anchors).map(|index| {
        let angle = index as f32 / anchors as f32 * TAU;
        let anchor = Anchor { angle, phase: 5.0 * angle };
        let left = options.entities - index * LINKS;
        let chain =
            SpawnChain { link, count: LINKS.min(left), min_distance: 1.0, max_distance: 2.0 };
        (anchor, Position(anchor.place()), Shared::new(chain))
    }));
    Ok(world)
}

fn add_systems(world: &mut World) {
    world.add_system(spawn_chains);
    world.add_system(move_anchors);
    world.add_system(constrain_positions.after(move_anchors));
    world.add_transforms();
}

impl Anchor {
    fn place(self) -> Vec3 {
        let (sin, cos) = sincos(self.angle);
        RADIUS * Vec3::new(cos, 0.0, sin) + HEIGHT * Vec3::Y * sincos(self.phase).0
    }
}

/// Spawns the requested chains. Links hang below each other, the first one at the anchor.
fn spawn_chains(mut commands: Commands, anchors: Query<(Entity, &Position, &Shared<SpawnChain>)>) {
    for (anchor, center, chain) in &anchors {
        let links = commands.instantiate_many(chain.link, chain.count).to_vec();
        let mut holder = anchor;
        for (index, link) in links.into_iter().enumerate() {
            let place = center.0 - chain.min_distance * index as f32 * Vec3::Y;
            let constraint = PositionConstraint { holder, max_distance: chain.max_distance };
            commands.set(link, (Position(place), constraint));
            holder = link;
        }
        commands.remove::<Shared<SpawnChain>>(anchor);
    }
}

fn move_anchors(time: Time, mut anchors: Query<(&mut Position, &mut Anchor)>) {
    let dt = time.delta();
    anchors.schedule_parallel(move |(position, anchor)| {
        anchor.angle = (anchor.angle + 0.2 * dt) % TAU;
        anchor.phase = (anchor.phase + 2.0 * dt) % TAU;
        position.0 = anchor.place();
    });
}

/// Pulls each link towards its holder if it is too far away. Links of a chain are ordered from the anchor on, so one
/// pass is enough.
fn constrain_positions(
    links: Query<(Entity, &PositionConstraint)>,
    positions: Lookup<&mut Position>,
) -> JobHandle {
    links.job().with(positions.into_job()).schedule(|(link, constraint), positions| {
        let Some(&mut Position(holder)) = positions.get_mut(constraint.holder) else { return };
        let Some(position) = positions.get_mut(link) else { return };
        let way = position.0 - holder;
        let distance = way.length();
        if distance > 1e-4 {
            position.0 = holder + way * (distance.min(constraint.max_distance) / distance);
        }
    })
}

fn paint(world: &World, canvas: &mut Canvas) {
    canvas.look_at(Vec3::ZERO, Vec2::splat(2.4 * RADIUS));
    for (matrix, _) in &world.query::<(&LocalToWorld, &PositionConstraint)>() {
        let place = matrix.position();
        canvas.point(place, Color::ORANGE.mixed(Color::BLUE, -place.y / LINKS as f32));
    }
    for (matrix, _) in &world.query::<(&LocalToWorld, &Anchor)>() {
        canvas.square(matrix.position(), 1.5, Color::YELLOW);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::gallery::tests::{go_on, hash, options, run};

    #[test]
    fn the_state_is_the_same_in_all_cases() {
        hash(&SAMPLE, 1050, 20);
    }

    #[test]
    fn chains_are_made_once_and_hang_from_their_anchors() {
        let world = run(&SAMPLE, &options(20_000), 2);
        assert_eq!(world.query::<&Anchor>().count(), 200);
        assert_eq!(world.query::<&PositionConstraint>().count(), 20_000);
        assert_eq!(world.query::<&Shared<SpawnChain>>().count(), 0);
        let held_by_anchors = world
            .query::<&PositionConstraint>()
            .iter()
            .filter(|constraint| world.has::<Anchor>(constraint.holder))
            .count();
        assert_eq!(held_by_anchors, 200);
    }

    #[test]
    fn anchors_share_what_their_chains_are_like() {
        let world = build(&options(1_050)).unwrap();
        let anchors = world.query::<&Shared<SpawnChain>>();
        let counts: Vec<_> = anchors.iter().map(|chain| chain.count).collect();
        assert_eq!(counts, [[LINKS; 10].as_slice(), &[50]].concat());
        // One chunk for the anchors of 100 links, and one for the last anchor.
        let mut chunks = world.query_filtered::<Entity, With<Shared<SpawnChain>>>();
        let mut lengths = Vec::new();
        chunks.for_each_chunk(|anchors| lengths.push(anchors.len()));
        assert_eq!(lengths, [10, 1]);
    }

    #[test]
    fn anchors_are_100_from_the_middle_and_links_begin_a_unit_below_each_other() {
        // No time passes: the update only spawns the chains.
        let mut world = build(&options(20_000)).unwrap();
        world.add_system(spawn_chains);
        go_on(&mut world, 1);
        let links = world.query::<(Entity, &Position, &PositionConstraint)>();
        let held: HashMap<Entity, (Entity, Vec3)> =
            links.iter().map(|(link, place, held)| (held.holder, (link, place.0))).collect();
        let anchors = world.query_filtered::<(Entity, &Position), With<Anchor>>();
        assert_eq!((anchors.count(), held.len()), (200, 20_000));
        for (anchor, place) in &anchors {
            assert!((place.0.with_y(0.0).length() - 100.0).abs() < 1e-3, "{place:?}");
            let mut holder = anchor;
            for number in 0..100 {
                let (link, link_place) = held[&holder];
                assert_eq!(link_place, place.0 - number as f32 * Vec3::Y, "link {number}");
                holder = link;
            }
        }
        let limits = world.query::<&PositionConstraint>();
        assert!(limits.iter().all(|constraint| constraint.max_distance == 2.0));
    }

    #[test]
    fn links_are_drawn_to_their_holders_and_never_pushed_away() {
        let world = run(&SAMPLE, &options(1000), 200);
        let (mut drawn, mut loose) = (0, 0);
        for (position, constraint) in &world.query::<(&Position, &PositionConstraint)>() {
            let holder = world.get::<Position>(constraint.holder).unwrap();
            let distance = holder.0.distance(position.0);
            assert!(distance <= constraint.max_distance + 1e-3, "{distance}");
            if distance > constraint.max_distance - 1e-3 { drawn += 1 } else { loose += 1 }
        }
        // The anchors have pulled the first links. The last links have not moved apart yet.
        assert!(drawn > 10 && loose > 10, "{drawn} drawn, {loose} loose");
    }

    #[test]
    fn what_is_drawn_has_a_matrix_there() {
        let world = run(&SAMPLE, &options(300), 30);
        for (position, matrix) in &world.query::<(&Position, &LocalToWorld)>() {
            assert_eq!(matrix.position(), position.0);
        }
    }
}
