//! Breakout: a paddle, a ball, bricks, a score, and the states menu, playing and over. It has no window, plays itself, and ends.
//!
//! Shows components, queries, resources, commands, states with systems that run when they change, and messages between systems.
//!
//! ```toml
//! [dependencies]
//! ancho = { path = "../ancho/crates/ancho" }
//! ```
//!
//! Last line: `won after 4480 frames with 4000 points`

use ancho::entities::{
    DespawnOnExit, Message, MessageReader, MessageWriter, NextState, States, in_state,
};
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

#[derive(States, Clone, Debug, PartialEq)]
enum Game {
    Menu,
    Playing,
    Won,
    Lost,
}

/// Systems that run while the game is played.
struct WhilePlaying;

impl SystemGroup for WhilePlaying {}

/// A message: the ball hit a brick.
#[derive(Message, Clone)]
struct Hit {
    brick: Entity,
}

#[derive(Resource, Clone, Default)]
struct Score(u32);

fn main() {
    let mut world = World::new("Breakout");
    world.insert_resource(Score::default());
    world.add_state(Game::Menu);

    // Systems run in the order in which they are added, one after the other.
    world.add_system(press_start.run_if(in_state(Game::Menu)));
    world.add_system(spawn_field.on_enter(Game::Playing));
    world.add_system(WhilePlaying.run_if(in_state(Game::Playing)));
    world.add_system(move_paddle.in_group(WhilePlaying));
    world.add_system(move_ball.in_group(WhilePlaying));
    world.add_system(bounce.in_group(WhilePlaying));
    world.add_system(score_hits.in_group(WhilePlaying));
    world.add_system(end_game.in_group(WhilePlaying));

    while !matches!(world.state(), Some(Game::Won | Game::Lost)) {
        // An error of a system panics with its name and a sentence. `try_update` returns it instead.
        world.update(1.0 / 60.0);
    }
    let end = if world.state() == Some(&Game::Won) { "won" } else { "lost" };
    let Score(points) = world.resource();
    let left = world.query::<&Position>().count();
    println!("{left} entities are left");
    println!("{end} after {} frames with {points} points", world.time().frame());
}

/// Leaves the menu after half a second.
fn press_start(time: Time, mut game: NextState<Game>) {
    if time.elapsed() >= 0.5 {
        game.set(Game::Playing);
    }
}

/// Spawns the field. It is despawned when the game ends.
fn spawn_field(mut commands: Commands) {
    let while_playing = DespawnOnExit(Game::Playing);
    let paddle = Position(Vec2::new(0.0, -250.0));
    commands.spawn((Paddle, paddle, Size(PADDLE_SIZE), while_playing.clone()));
    let velocity = Velocity(Vec2::new(0.5, -0.5).normalize() * BALL_SPEED);
    commands.spawn((Ball, Position(Vec2::ZERO), velocity, while_playing.clone()));
    for row in 0..5 {
        for column in 0..8 {
            let place = Vec2::new(column as f32 - 3.5, row as f32) * (BRICK_SIZE + 10.0);
            let position = Position(place + Vec2::new(0.0, 80.0));
            commands.spawn((Brick, position, Size(BRICK_SIZE), while_playing.clone()));
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
    mut hits: MessageWriter<Hit>,
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
            hits.write(Hit { brick: entity });
        } else {
            // The paddle turns the ball: the farther from its middle, the flatter.
            let side = (position.0.x - place.0.x) / size.0.x;
            velocity.0 = Vec2::new(side * PADDLE_CURVE, 1.0).normalize() * BALL_SPEED;
        }
    }
}

/// Reads the messages: despawns the bricks, and counts points.
fn score_hits(mut hits: MessageReader<Hit>, mut score: ResMut<Score>, mut commands: Commands) {
    for hit in hits.read() {
        commands.despawn(hit.brick);
        score.0 += POINTS;
    }
}

fn end_game(ball: Single<&Position, With<Ball>>, bricks: Query<&Brick>, mut game: NextState<Game>) {
    if ball.0.y < -FIELD.y / 2.0 {
        game.set(Game::Lost);
    } else if bricks.is_empty() {
        game.set(Game::Won);
    }
}
