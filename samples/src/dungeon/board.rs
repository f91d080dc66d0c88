//! Layout of a dungeon: rooms, and corridors from one to the next, by a random walk.

use ancho::burst::math::Random;
use ancho::entities::Field;

/// Content of a field of the board.
#[derive(Field, Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Tile {
    Rock,
    Wall,
    Floor,
}

/// A board of tiles, row by row.
#[derive(Clone, Debug)]
pub(super) struct Board {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) tiles: Vec<Tile>,
}

/// Directions of a corridor.
const DIRECTIONS: [(i64, i64); 4] = [(1, 0), (0, 1), (-1, 0), (0, -1)];

impl Board {
    /// Generates a dungeon with `rooms` rooms. Each new room is at the end of a corridor that begins in the previous
    /// room.
    pub(super) fn generate(width: usize, height: usize, rooms: usize, random: &mut Random) -> Self {
        let mut board = Self { width, height, tiles: vec![Tile::Rock; width * height] };
        let (mut x, mut y) = (width as i64 / 2, height as i64 / 2);
        for _ in 0..rooms {
            board.dig_room(x, y, random.range(3..11), random.range(3..9));
            let (dx, dy) = DIRECTIONS[random.range(0..DIRECTIONS.len())];
            for _ in 0..random.range(5..17) {
                (x, y) = board.inside(x + dx, y + dy);
                board.dig(x, y);
            }
        }
        board.put_up_walls();
        board
    }

    pub(super) fn tile(&self, x: i64, y: i64) -> Option<Tile> {
        let (x, y) = (usize::try_from(x).ok()?, usize::try_from(y).ok()?);
        if x < self.width { self.tiles.get(y * self.width + x).copied() } else { None }
    }

    /// Returns a random field of floor, or the middle of the board before the first room.
    pub(super) fn any_floor(&self, random: &mut Random) -> (u32, u32) {
        let is_floor = |&place: &usize| self.tiles[place] == Tile::Floor;
        let from = random.range(0..self.tiles.len());
        let place = (from..self.tiles.len()).chain(0..from).find(is_floor);
        let place = place.unwrap_or(self.height / 2 * self.width + self.width / 2);
        ((place % self.width) as u32, (place / self.width) as u32)
    }

    /// Returns the nearest place that is not on the edge, which is reserved for walls.
    fn inside(&self, x: i64, y: i64) -> (i64, i64) {
        (x.clamp(1, self.width as i64 - 2), y.clamp(1, self.height as i64 - 2))
    }

    fn dig(&mut self, x: i64, y: i64) {
        self.tiles[y as usize * self.width + x as usize] = Tile::Floor;
    }

    fn dig_room(&mut self, x: i64, y: i64, width: i64, height: i64) {
        let (left, top) = self.inside(x - width / 2, y - height / 2);
        let (right, bottom) = self.inside(left + width - 1, top + height - 1);
        for y in top..=bottom {
            for x in left..=right {
                self.dig(x, y);
            }
        }
    }

    /// Turns rock next to a floor into wall.
    fn put_up_walls(&mut self) {
        for y in 0..self.height as i64 {
            for x in 0..self.width as i64 {
                let around = (-1..=1).flat_map(|dy| (-1..=1).map(move |dx| (x + dx, y + dy)));
                let is_seen = around.into_iter().any(|(x, y)| self.tile(x, y) == Some(Tile::Floor));
                if is_seen && self.tile(x, y) == Some(Tile::Rock) {
                    self.tiles[y as usize * self.width + x as usize] = Tile::Wall;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn board(seed: u64) -> Board {
        Board::generate(80, 60, 40, &mut Random::new(seed))
    }

    #[test]
    fn every_floor_can_be_reached() {
        for seed in 0..20 {
            let board = board(seed);
            let start = (board.width as i64 / 2, board.height as i64 / 2);
            let (mut seen, mut ahead) = (vec![false; board.tiles.len()], vec![start]);
            while let Some((x, y)) = ahead.pop() {
                let place = y as usize * board.width + x as usize;
                if board.tile(x, y) == Some(Tile::Floor) && !seen[place] {
                    seen[place] = true;
                    ahead.extend(DIRECTIONS.map(|(dx, dy)| (x + dx, y + dy)));
                }
            }
            let floors = board.tiles.iter().map(|tile| *tile == Tile::Floor);
            assert!(floors.eq(seen), "seed {seed}");
        }
    }

    #[test]
    fn walls_are_all_around() {
        let board = board(7);
        for y in 0..board.height as i64 {
            for x in 0..board.width as i64 {
                if board.tile(x, y) == Some(Tile::Floor) {
                    for (dx, dy) in DIRECTIONS {
                        let next = board.tile(x + dx, y + dy);
                        assert!(matches!(next, Some(Tile::Floor | Tile::Wall)), "{x} {y}");
                    }
                }
            }
        }
    }

    #[test]
    fn another_seed_is_another_dungeon() {
        assert_eq!(board(1).tiles, board(1).tiles);
        assert_ne!(board(1).tiles, board(2).tiles);
    }
}
