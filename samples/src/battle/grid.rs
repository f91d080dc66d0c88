//! A spatial grid of an army's units, for finding nearby units without visiting all of them.

use ancho::prelude::*;

/// Width and height of a cell.
const CELL: f32 = 4.0;

/// The units of an army, sorted by the cell of the field that they stand in.
///
/// Units are [added](Self::add), then [sorted](Self::sort) with a counting sort: the counts of the cells yield the
/// start of each cell. Units of one cell keep the order in which they were added. The result is therefore the same on
/// any number of threads.
#[derive(Debug, Default)]
pub(super) struct Grid {
    /// Numbers of columns and rows. Cells along the edges stay empty, so that every other cell has eight neighbours.
    columns: usize,
    rows: usize,
    added: Vec<Unit>,
    /// Number of units in each cell.
    counts: Vec<u32>,
    /// Start of each cell in the sorted units, followed by the end of the last cell.
    starts: Vec<u32>,
    positions: Vec<Vec2>,
    entities: Vec<Entity>,
    /// Index of the nearest non-empty cell, for each cell.
    nearest: Vec<u32>,
}

/// A unit of the grid.
#[derive(Clone, Copy, Debug)]
struct Unit {
    cell: u32,
    position: Vec2,
    entity: Entity,
}

impl Grid {
    /// Clears the grid, for a field from zero to `corner`.
    pub(super) fn begin(&mut self, corner: Vec2) {
        (self.columns, self.rows) =
            ((corner.x / CELL) as usize + 3, (corner.y / CELL) as usize + 3);
        let cells = self.columns * self.rows;
        self.added.clear();
        self.counts.clear();
        self.counts.resize(cells, 0);
        self.starts.resize(cells + 1, 0);
        self.nearest.resize(cells, 0);
    }

    pub(super) fn add(&mut self, entity: Entity, position: Vec2) {
        let cell = self.cell_of(position);
        self.counts[cell] += 1;
        self.added.push(Unit { cell: cell as u32, position, entity });
    }

    /// Sorts the added units. Searches find these units until the next call.
    pub(super) fn sort(&mut self) {
        let mut sum = 0;
        for (start, count) in self.starts.iter_mut().zip(&self.counts) {
            *start = sum;
            sum += count;
        }
        self.positions.resize(self.added.len(), Vec2::ZERO);
        self.entities.resize(self.added.len(), Entity::NULL);
        // Each start advances to the end of its cell, which is the start of the next cell.
        for &Unit { cell, position, entity } in &self.added {
            let place = &mut self.starts[cell as usize];
            self.positions[*place as usize] = position;
            self.entities[*place as usize] = entity;
            *place += 1;
        }
        self.starts.rotate_right(1);
        self.starts[0] = 0;
        self.find_nearest_cells();
    }

    /// Returns the index of the cell that contains a position.
    pub(super) fn cell_of(&self, position: Vec2) -> usize {
        let (column, row) = ((position.x / CELL) as usize + 1, (position.y / CELL) as usize + 1);
        row.min(self.rows - 2) * self.columns + column.min(self.columns - 2)
    }

    /// Returns the nearest unit in the cell of a position and in the cells around it.
    pub(super) fn nearest_unit(&self, position: Vec2) -> Option<(Entity, Vec2)> {
        let cell = self.cell_of(position);
        let mut best = (u32::MAX, 0..0);
        for row in [cell - self.columns, cell, cell + self.columns] {
            // Three adjacent cells of a row are contiguous in the sorted units.
            let units = self.starts[row - 1] as usize..self.starts[row + 2] as usize;
            let distance = nearest_distance(position, &self.positions[units.clone()]);
            if distance < best.0 {
                best = (distance, units);
            }
        }
        let (distance, units) = best;
        let is_nearest = |&at: &usize| distance_bits(position, self.positions[at]) == distance;
        let at = units.into_iter().find(is_nearest)?;
        Some((self.entities[at], self.positions[at]))
    }

    /// Returns the offset from the cell of a position to the nearest non-empty cell.
    pub(super) fn offset_to_nearest_cell(&self, position: Vec2) -> Vec2 {
        let cell = self.cell_of(position);
        let place =
            |cell: usize| Vec2::new((cell % self.columns) as f32, (cell / self.columns) as f32);
        (place(self.nearest[cell] as usize) - place(cell)) * CELL
    }

    /// Returns the direction of falling density, scaled by the difference in unit counts.
    pub(super) fn direction_out_of_crowd(&self, position: Vec2) -> Vec2 {
        let cell = self.cell_of(position);
        let count = |cell: usize| self.counts[cell] as f32;
        // Beyond the edge, the count of the edge cell is used, so that nothing pushes units outside.
        let (column, row) = (cell % self.columns, cell / self.columns);
        let beside = |is_edge: bool, other: usize| count(if is_edge { cell } else { other });
        Vec2::new(
            beside(column == 1, cell - 1) - beside(column == self.columns - 2, cell + 1),
            beside(row == 1, cell - self.columns)
                - beside(row == self.rows - 2, cell + self.columns),
        )
    }

    /// Finds the nearest non-empty cell for each cell. Results spread from neighbour to neighbour, once down the rows
    /// and once up.
    fn find_nearest_cells(&mut self) {
        let columns = self.columns;
        let cells = self.nearest.len();
        let far = u32::MAX;
        for (cell, nearest) in self.nearest.iter_mut().enumerate() {
            *nearest = if self.counts[cell] > 0 { cell as u32 } else { far };
        }
        let offset = |cell: usize, other: u32| {
            let other = other as usize;
            let across = (cell % columns).abs_diff(other % columns);
            let down = (cell / columns).abs_diff(other / columns);
            across * across + down * down
        };
        let mut spread = |cell: usize, neighbours: [usize; 4]| {
            let mut best = self.nearest[cell];
            let mut least = if best == far { usize::MAX } else { offset(cell, best) };
            for neighbour in neighbours {
                let other = self.nearest[neighbour];
                if least > 0 && other != far && offset(cell, other) < least {
                    (best, least) = (other, offset(cell, other));
                }
            }
            self.nearest[cell] = best;
        };
        for cell in columns + 1..cells - columns - 1 {
            spread(cell, [cell - 1, cell - columns - 1, cell - columns, cell - columns + 1]);
        }
        for cell in (columns + 1..cells - columns - 1).rev() {
            spread(cell, [cell + 1, cell + columns - 1, cell + columns, cell + columns + 1]);
        }
    }
}

/// Returns the square of a distance, as bits, which sort in the same order. The compiler vectorises comparisons of
/// integers, but not of floats that may be NaN.
#[inline(always)]
fn distance_bits(position: Vec2, other: Vec2) -> u32 {
    position.distance_squared(other).to_bits()
}

#[inline(always)]
fn nearest_distance(position: Vec2, others: &[Vec2]) -> u32 {
    others.iter().map(|&other| distance_bits(position, other)).fold(u32::MAX, u32::min)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ancho::burst::math::Random;

    const FIELD: Vec2 = Vec2::new(64.0, 32.0);

    /// Returns scattered positions, derived from the index.
    fn positions(count: usize) -> Vec<Vec2> {
        let mut random = Random::new(7);
        let mut position = |_| Vec2::new(random.range(0.0..FIELD.x), random.range(0.0..FIELD.y));
        (0..count).map(&mut position).collect()
    }

    fn grid_of(world: &mut World, positions: &[Vec2]) -> (Grid, Vec<Entity>) {
        let mut grid = Grid::default();
        grid.begin(FIELD);
        let entities: Vec<_> = positions.iter().map(|_| world.spawn(())).collect();
        for (&entity, &position) in entities.iter().zip(positions) {
            grid.add(entity, position);
        }
        grid.sort();
        (grid, entities)
    }

    #[test]
    fn the_nearest_unit_is_the_same_as_in_a_full_search() {
        let mut world = World::new("Test");
        let units = positions(500);
        let (grid, entities) = grid_of(&mut world, &units);
        for &from in &positions(100) {
            let by_distance = |&a: &usize, &b: &usize| {
                units[a].distance_squared(from).total_cmp(&units[b].distance_squared(from))
            };
            let nearest = (0..units.len()).min_by(by_distance).unwrap();
            assert!(
                units[nearest].distance(from) < CELL,
                "else it may be too far away to be found"
            );
            assert_eq!(grid.nearest_unit(from), Some((entities[nearest], units[nearest])));
        }
    }

    #[test]
    fn without_a_unit_nearby_the_nearest_cell_is_found() {
        let mut world = World::new("Test");
        let (grid, _) = grid_of(&mut world, &[Vec2::new(2.0, 30.0), Vec2::new(62.0, 2.0)]);
        assert_eq!(grid.nearest_unit(Vec2::new(30.0, 16.0)), None);
        assert_eq!(grid.offset_to_nearest_cell(Vec2::new(21.0, 21.0)), Vec2::new(-20.0, 8.0));
        assert_eq!(grid.offset_to_nearest_cell(Vec2::new(50.0, 10.0)), Vec2::new(12.0, -8.0));
    }

    #[test]
    fn the_direction_leads_away_from_the_crowd() {
        let mut world = World::new("Test");
        let (grid, _) = grid_of(&mut world, &[Vec2::new(2.0, 2.0); 3]);
        assert_eq!(grid.direction_out_of_crowd(Vec2::new(6.0, 2.0)), Vec2::new(3.0, 0.0));
        assert_eq!(
            grid.direction_out_of_crowd(Vec2::new(2.0, 2.0)),
            Vec2::new(3.0, 3.0),
            "not over the edge"
        );
    }
}
