//! Steps that create entities from columns, given or computed.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use ancho_entities::{Columns, Entity, EntityError};

use crate::storage_model::components::{
    FOLLOW, Follow, GHOST, Ghost, Kind, LARGE, Large, NAME, Name, ONLY, Only, SMALL, STAYS, Small,
    Stays, TAG, Tag, Wide, number_of,
};
use crate::storage_model::plain::Row;
use crate::storage_model::script::{Run, Step};
use crate::storage_model::structure::error_of;

/// Returns the value of the entity with this number.
fn value<T: Kind>(number: u64) -> T {
    <T as Kind>::make(number_of(T::KIND, number))
}

impl Run {
    pub(crate) fn spawn_columns(&mut self, step: &Step) {
        let count = step.count;
        let numbers = || (0..count as u64).map(|at| step.number + at);
        let at = |index: usize| step.number + index as u64;
        let world = &mut self.pairs.last_mut().unwrap().world;
        let small = || numbers().map(value::<Small>).collect::<Vec<_>>();
        let (kinds, result): (&[usize], Result<Vec<Entity>, EntityError>) = match step.set % 10 {
            0 => (&[SMALL, NAME], {
                let names: Vec<Name> = numbers().map(value).collect();
                error_of(world.spawn_columns((small(), names)).map(Vec::from_iter))
            }),
            1 => (&[Wide::KIND, FOLLOW], {
                let wide: Vec<Wide> = numbers().map(value).collect();
                let follow: Box<[Follow]> = numbers().map(value).collect();
                error_of(world.spawn_columns((&wide[..], follow)).map(Vec::from_iter))
            }),
            2 if count > 2 => (&[NAME, TAG, SMALL], {
                let names: Vec<Name> = numbers().take(2).map(value).collect();
                let names: [Name; 2] = names.try_into().ok().unwrap();
                let tags = vec![<Tag as Kind>::make(0); 2];
                error_of(world.spawn_columns((names, tags, small())).map(Vec::from_iter))
            }),
            3 => (&[SMALL, NAME], {
                let columns = Columns::new(count).with(|index| value::<Small>(at(index)));
                let columns = columns.with(|index| value::<Name>(at(index)));
                error_of(world.spawn_columns(columns).map(Vec::from_iter))
            }),
            4 => (&[ONLY, GHOST, FOLLOW], {
                let columns = Columns::new(count).with(|index| value::<Only>(at(index)));
                let columns = columns.with(|index| value::<Ghost>(at(index)));
                let columns = columns.with(|index| value::<Follow>(at(index)));
                error_of(world.spawn_columns(columns).map(Vec::from_iter))
            }),
            5 => (&[SMALL, SMALL], {
                let columns = Columns::new(count).with(|index| value::<Small>(at(index)));
                let columns = columns.with(|index| value::<Small>(at(index)));
                error_of(world.spawn_columns(columns).map(Vec::from_iter))
            }),
            6 => (&[LARGE], {
                let columns = Columns::new(count).with(|index| value::<Large>(at(index)));
                error_of(world.spawn_columns(columns).map(Vec::from_iter))
            }),
            7 => (&[STAYS, NAME], {
                let stays: Vec<Stays> = numbers().map(value).collect();
                let names: Box<[Name]> = numbers().map(value).collect();
                error_of(world.spawn_columns((stays, names)).map(Vec::from_iter))
            }),
            8 => return self.spawn_columns_that_panic(step),
            _ => (&[NAME], {
                let names: Box<[Name]> = numbers().map(value).collect();
                error_of(world.spawn_columns((names,)).map(Vec::from_iter))
            }),
        };
        let expected = match self.refused(kinds) {
            Ok(()) if step.set % 10 == 2 && count > 2 => Err("A0060"),
            refused => refused,
        };
        let found = result.as_ref().map(|_| ()).map_err(|&error| error);
        if self.agrees(found, expected) {
            let created = result.unwrap();
            assert_eq!(created.len(), count);
            for (number, entity) in numbers().zip(created) {
                let plain = &mut self.current().plain;
                let row = plain.row(kinds, |kind| number_of(kind, number));
                assert_eq!(plain.create(row), entity);
            }
        }
    }

    /// Creates nothing if one of the columns panics. The ids of the entities are used up.
    fn spawn_columns_that_panic(&mut self, step: &Step) {
        let world = &mut self.current().world;
        let make = |index: usize| -> Name {
            if index + 1 == step.count {
                resume_unwind(Box::new("told to"));
            }
            value(step.number)
        };
        let columns = Columns::new(step.count).with(|_| value::<Ghost>(0)).with(make);
        let spawn = || error_of(world.spawn_columns(columns).map(|created| created.len()));
        match catch_unwind(AssertUnwindSafe(spawn)) {
            Ok(found) => assert!(self.agrees(found, Ok(0)) || step.count > 0),
            Err(_) => {
                let plain = &mut self.current().plain;
                let used: Vec<Entity> = (0..step.count).map(|_| plain.create(Row::new())).collect();
                assert!(used.into_iter().all(|entity| plain.destroy(entity)));
            }
        }
    }
}
