//! A dungeon that is built from prefabs, and explored by torchlight.
//!
//! A prefab is an entity that queries skip. `instantiate` copies all of its components to new entities. Walkers look up
//! the free fields in a buffer of the dungeon's entity, in the job that moves them.

mod board;

use ancho::burst::burst;
use ancho::burst::math::Random;
use ancho::burst::math::sqrt;
use ancho::prelude::*;

use crate::gallery::{Canvas, Color, Kind, Options, Sample, SampleResult, WorldSample};
use board::{Board, Tile};

pub(crate) const SAMPLE: Sample = Sample {
    name: "dungeon",
    summary: "rooms and corridors made of prefabs, explored by torchlight",
    kind: Kind::World(WorldSample {
        counts: "rooms",
        entities: 60,
        most: 10_000,
        frames: 900,
        seed: Some(1),
        build,
        add_systems,
        paint,
        steering: None,
    }),
};

const WIDTH: usize = 120;
const HEIGHT: usize = 80;
const WALKERS: usize = 10;
/// Range of a torch's light.
const TORCH_RANGE: f32 = 7.0;

#[derive(Component, Clone, Copy)]
struct Position(Vec3);

/// Current brightness of a tile, and its maximum so far. It is 0 for a tile that was not seen yet, and at most 1.
#[derive(Component, Clone, Copy, Default)]
struct Light {
    now: f32,
    most: f32,
}

#[derive(Component, Clone, Copy)]
struct Floor;

#[derive(Component, Clone, Copy)]
struct Wall;

/// Request for a dungeon made of these prefabs.
#[derive(Component, Clone, Copy)]
struct DungeonRequest {
    rooms: usize,
    floor: Entity,
    wall: Entity,
    walker: Entity,
    random: Random,
}

/// A field of the board, in the buffer of the dungeon's entity.
#[derive(BufferElement, Clone, Copy)]
struct BoardTile(Tile);

/// Walks from field to field, with a torch.
#[derive(Component, Clone, Copy)]
struct Walker {
    dungeon: Entity,
    from: (u32, u32),
    to: (u32, u32),
    /// Progress towards the next field, from 0 to 1.
    progress: f32,
    random: Random,
}

fn build(options: &Options) -> SampleResult<World> {
    let mut world = options.world("Dungeon");
    let floor = world.spawn((Prefab, Floor, Position(Vec3::ZERO), Light::default()));
    let wall = world.spawn((Prefab, Wall, Position(Vec3::ZERO), Light::default()));
    let walker = Walker {
        dungeon: Entity::NULL,
        from: (0, 0),
        to: (0, 0),
        progress: 0.0,
        random: Random::new(0),
    };
    let walker = world.spawn((Prefab, walker, Position(Vec3::ZERO)));
    let random = Random::new(options.seed);
    world.spawn(DungeonRequest { rooms: options.entities, floor, wall, walker, random });
    Ok(world)
}

fn add_systems(world: &mut World) {
    world.add_system(build_dungeons);
    world.add_system(move_walkers);
    world.add_system(light_tiles);
}

/// Builds the requested dungeons. The entity with the request becomes the dungeon.
fn build_dungeons(mut commands: Commands, requests: Query<(Entity, &DungeonRequest)>) {
    for (dungeon, request) in &requests {
        let mut random = request.random;
        let board = Board::generate(WIDTH, HEIGHT, request.rooms, &mut random);
        for (index, tile) in board.tiles.iter().enumerate() {
            let prefab = match tile {
                Tile::Rock => continue,
                Tile::Wall => request.wall,
                Tile::Floor => request.floor,
            };
            let tile = commands.instantiate(prefab);
            commands.set(tile, Position(tile_center(index % WIDTH, index / WIDTH)));
        }
        let walkers = random.next_u64();
        for number in 0..WALKERS {
            let mut random = Random::from_index(walkers, number as u64);
            let start = board.any_floor(&mut random);
            let walker = commands.instantiate(request.walker);
            commands.set(walker, Walker { dungeon, from: start, to: start, progress: 1.0, random });
        }
        commands.add_buffer(dungeon, board.tiles.iter().map(|&tile| BoardTile(tile)));
        commands.remove::<DungeonRequest>(dungeon);
    }
}

/// Returns the position of a field in the world. The middle of the board is the origin.
fn tile_center(x: usize, y: usize) -> Vec3 {
    Vec3::new(x as f32 - (WIDTH / 2) as f32, 0.0, y as f32 - (HEIGHT / 2) as f32)
}

/// Moves walkers, mostly straight ahead while the next field is free, and turns them at random otherwise.
fn move_walkers(
    time: Time,
    walkers: Query<(&mut Walker, &mut Position)>,
    dungeons: Lookup<&Buffer<BoardTile>>,
) -> JobHandle {
    let step = time.delta() * 8.0;
    let job = walkers.job().with(dungeons.into_job());
    job.schedule_parallel(move |(walker, position), dungeons| {
        let Some(board) = dungeons.get(walker.dungeon) else { return };
        walker.progress += step;
        if walker.progress >= 1.0 {
            walker.progress -= 1.0;
            walker.choose_way(board);
        }
        let (from, to) = (walker.from, walker.to);
        let place = |(x, y): (u32, u32)| tile_center(x as usize, y as usize);
        position.0 = place(from).lerp(place(to), walker.progress);
    })
}

impl Walker {
    fn choose_way(&mut self, board: &[BoardTile]) {
        let is_free = |(x, y): (u32, u32)| board[y as usize * WIDTH + x as usize].0 == Tile::Floor;
        let (x, y) = self.to;
        let ahead = (2 * x - self.from.0.min(2 * x), 2 * y - self.from.1.min(2 * y));
        let ways = [(x + 1, y), (x, y + 1), (x - 1, y), (x, y - 1)];
        let way = self.random.range(0..ways.len());
        self.from = self.to;
        if ahead != self.to && is_free(ahead) && self.random.chance(0.85) {
            self.to = ahead;
        } else if let Some(turn) =
            (0..4).map(|next| ways[(way + next) % 4]).find(|way| is_free(*way))
        {
            self.to = turn;
        }
    }
}

/// Lights the tiles near torches, and remembers the maximum for each tile.
#[burst]
fn light_tiles(walkers: Query<&Position, With<Walker>>, mut tiles: Query<(&Position, &mut Light)>) {
    let torches: Vec<Vec3> = walkers.iter().map(|position| position.0).collect();
    tiles.schedule_parallel(move |(position, light)| {
        light.now = 0.0;
        for torch in &torches {
            let distance = sqrt(torch.distance_squared(position.0));
            light.now = light.now.max(1.0 - distance / TORCH_RANGE);
        }
        light.most = light.most.max(light.now);
    });
}

fn paint(world: &World, canvas: &mut Canvas) {
    canvas.look_at(Vec3::ZERO, Vec2::new(WIDTH as f32, HEIGHT as f32));
    let dark = Color(16, 16, 20);
    let shade = |light: &Light, color| dark.mixed(color, light.now + 0.35 * light.most.sqrt());
    for (position, light, floor) in &world.query::<(&Position, &Light, Option<&Floor>)>() {
        if light.most == 0.0 {
            continue;
        }
        let color = if floor.is_some() { Color::ORANGE } else { Color::GREY };
        canvas.square(position.0, 1.0, shade(light, color));
    }
    for (position, _) in &world.query::<(&Position, &Walker)>() {
        canvas.square(position.0, 1.0, Color::WHITE);
    }
    let (mut seen, mut all) = (0, 0);
    for light in &world.query::<&Light>() {
        all += 1;
        seen += u32::from(light.most > 0.0);
    }
    canvas.caption(format!("{seen} of {all} tiles seen"));
}

#[cfg(test)]
mod tests {
    use ancho::entities::IncludePrefabs;

    use super::*;
    use crate::gallery::tests::{hash, options, run};

    #[test]
    fn the_state_is_the_same_in_all_cases() {
        hash(&SAMPLE, 60, 60);
    }

    #[test]
    fn there_is_an_entity_for_each_tile_and_prefabs_are_not_among_them() {
        let world = run(&SAMPLE, &options(40), 1);
        let expected = Board::generate(WIDTH, HEIGHT, 40, &mut Random::new(1));
        let count = |kind| expected.tiles.iter().filter(|tile| **tile == kind).count();
        assert_eq!(world.query::<&Floor>().count(), count(Tile::Floor));
        assert_eq!(world.query::<&Wall>().count(), count(Tile::Wall));
        assert_eq!(world.query::<&Walker>().count(), WALKERS);
        assert_eq!(world.query_filtered::<&Prefab, IncludePrefabs>().count(), 3);
        assert_eq!(world.query::<&DungeonRequest>().count(), 0);
    }

    #[test]
    fn walkers_stay_on_floors_and_see_ever_more() {
        let mut seen = 0;
        for frames in [10, 200, 600] {
            let world = run(&SAMPLE, &options(40), frames);
            let board = world.query::<&Buffer<BoardTile>>().single().unwrap();
            for walker in &world.query::<&Walker>() {
                for (x, y) in [walker.from, walker.to] {
                    assert_eq!(board[y as usize * WIDTH + x as usize].0, Tile::Floor);
                }
            }
            let now = world.query::<&Light>().iter().filter(|light| light.most > 0.0).count();
            assert!(now > seen, "{now} after {frames} frames, {seen} before");
            seen = now;
        }
    }
}
