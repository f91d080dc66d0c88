//! Breakout: a paddle, a ball, bricks, a score, and the states menu, playing and over. It has no window, plays itself, and ends.
//!
//! Shows components, queries, resources, commands, groups of systems as states, and a list in a resource as a queue of messages.
//!
//! ```toml
//! [dependencies]
//! ancho = { path = "../ancho/crates/ancho" }
//! ```
//!
//! Last line: `won after 4478 frames with 4000 points`

use ancho::prelude::*;

const FIELD: Vec2 = Vec2::new(900.0, 600.0);
const BRICK_SIZE: Vec2 = Vec2::new(90.0, 30.0);
const PADDLE_SIZE: Vec2 = Vec2::new(120.0, 20.0);
const PADDLE_SPEED: f32 = 500.0;
/// The sideways speed of a ball that hits the end of the paddle is half of this number, relative to its upward speed.
const PADDLE_CURVE: f32 = 1.5;
const BALL_RADIUS: f32 = 15.0;
const BALL_SPEED: f32 = 400.0;
const POINTS: u32 = 100;

#[derive(Component, Clone, Copy)]
struct Position(Vec2);

#[derive(Component, Clone, Copy)]
struct Velocity(Vec2);

/// The width and height of what the ball bounces off.
#[derive(Component, Clone, Copy)]
struct Size(Vec2);

#[derive(Component, Clone)]
struct Paddle;

#[derive(Component, Clone)]
struct Ball;

#[derive(Component, Clone)]
struct Brick;

/// The states of the game. The only entity with one of these tags decides which group of systems runs.
#[derive(Component, Clone)]
struct Menu;

#[derive(Component, Clone)]
struct Playing;

#[derive(Component, Clone)]
struct Over {
    won: bool,
}

/// Systems that run while the game is in state [`Playing`].
struct WhilePlaying;

impl SystemGroup for WhilePlaying {}

/// A message: the ball hit a brick.
struct Hit {
    brick: Entity,
}

/// The messages of this frame. `bounce` writes them, `score_hits` takes them.
#[derive(Default)]
struct Hits(Vec<Hit>);

#[derive(Default)]
struct Score(u32);

fn main() {
    let mut world = World::new("Breakout");
    world.insert_resource(Score::default());
    world.insert_resource(Hits::default());
    world.spawn(Menu);

    // Systems run in the order in which they are added, one after the other.
    world.add_system(press_start);
    world.add_system(WhilePlaying.require(QueryDescriptor::of::<&Playing, ()>()));
    world.add_system(move_paddle.in_group(WhilePlaying));
    world.add_system(move_ball.in_group(WhilePlaying));
    world.add_system(bounce.in_group(WhilePlaying));
    world.add_system(score_hits.in_group(WhilePlaying));
    world.add_system(end_game.in_group(WhilePlaying));

    while !world.has_singleton::<Over>().unwrap() {
        // An error of a system panics with its name and a sentence. `try_update` returns it instead.
        world.update(1.0 / 60.0);
    }
    let end = if world.singleton::<Over>().unwrap().won { "won" } else { "lost" };
    let Score(points) = world.resource();
    println!("{end} after {} frames with {points} points", world.time().frame());
}

/// Leaves the menu after half a second, and spawns the field.
fn press_start(time: Time, menu: Option<Single<Entity, With<Menu>>>, mut commands: Commands) {
    let Some(game) = menu else { return };
    if time.elapsed() < 0.5 {
        return;
    }
    commands.remove::<Menu>(*game);
    commands.add(*game, Playing);

    let paddle = Position(Vec2::new(0.0, -250.0));
    commands.spawn((Paddle, paddle, Size(PADDLE_SIZE)));
    let direction = Vec2::new(0.5, -0.5).normalize();
    commands.spawn((Ball, Position(Vec2::ZERO), Velocity(direction * BALL_SPEED)));
    for row in 0..5 {
        for column in 0..8 {
            let place = Vec2::new(column as f32 - 3.5, row as f32) * (BRICK_SIZE + 10.0);
            commands.spawn((Brick, Position(place + Vec2::new(0.0, 80.0)), Size(BRICK_SIZE)));
        }
    }
}

/// Moves the paddle below the ball, so that the ball flies to a brick, and no faster than a player could.
fn move_paddle(
    time: Time,
    mut paddle: Single<&mut Position, With<Paddle>>,
    ball: Single<&Position, (With<Ball>, Without<Paddle>)>,
    bricks: Query<&Position, (With<Brick>, Without<Paddle>)>,
) {
    let step = PADDLE_SPEED * time.delta();
    let aim = bricks.iter().next().map_or(0.0, |brick| {
        let way = brick.0 - Vec2::new(ball.0.x, paddle.0.y);
        (way.x / way.y / PADDLE_CURVE).clamp(-0.4, 0.4)
    });
    let target = ball.0.x - aim * PADDLE_SIZE.x;
    let limit = (FIELD.x - PADDLE_SIZE.x) / 2.0;
    paddle.0.x += (target - paddle.0.x).clamp(-step, step);
    paddle.0.x = paddle.0.x.clamp(-limit, limit);
}

/// Moves everything that has a velocity. With many entities, `schedule_parallel` runs the same loop as a job on all cores.
fn move_ball(time: Time, mut movers: Query<(&mut Position, &Velocity)>) {
    let dt = time.delta();
    for (position, velocity) in &mut movers {
        position.0 += velocity.0 * dt;
    }
}

/// Reflects the ball at walls, the paddle and bricks, and writes a message for each brick that it hits.
fn bounce(
    mut ball: Single<(&Position, &mut Velocity), With<Ball>>,
    obstacles: Query<(Entity, &Position, &Size, Option<&Brick>), Without<Ball>>,
    mut hits: ResMut<Hits>,
) {
    let (position, velocity) = &mut *ball;
    let wall = FIELD / 2.0 - BALL_RADIUS;
    if position.0.x.abs() > wall.x {
        velocity.0.x = -velocity.0.x.abs() * position.0.x.signum();
    }
    if position.0.y > wall.y {
        velocity.0.y = -velocity.0.y.abs();
    }
    for (entity, place, size, brick) in &obstacles {
        let nearest = position.0.clamp(place.0 - size.0 / 2.0, place.0 + size.0 / 2.0);
        let offset = position.0 - nearest;
        if offset.length_squared() > BALL_RADIUS * BALL_RADIUS {
            continue;
        }
        if offset.x.abs() > offset.y.abs() {
            velocity.0.x = velocity.0.x.abs() * offset.x.signum();
        } else {
            velocity.0.y = velocity.0.y.abs() * offset.y.signum();
        }
        if brick.is_some() {
            hits.0.push(Hit { brick: entity });
        } else {
            // The paddle turns the ball: the farther from its middle, the flatter.
            let side = (position.0.x - place.0.x) / size.0.x;
            velocity.0 = Vec2::new(side * PADDLE_CURVE, 1.0).normalize() * BALL_SPEED;
        }
    }
}

/// Takes the messages: despawns the bricks, and counts points.
fn score_hits(mut hits: ResMut<Hits>, mut score: ResMut<Score>, mut commands: Commands) {
    for hit in hits.0.drain(..) {
        commands.despawn(hit.brick);
        score.0 += POINTS;
    }
}

fn end_game(
    game: Single<Entity, With<Playing>>,
    ball: Single<&Position, With<Ball>>,
    bricks: Query<&Brick>,
    mut commands: Commands,
) {
    let is_lost = ball.0.y < -FIELD.y / 2.0;
    if is_lost || bricks.is_empty() {
        commands.remove::<Playing>(*game);
        commands.add(*game, Over { won: !is_lost });
    }
}
