//! Entities that are neither parents nor children.

use ancho_entities::{
    Any, Buffer, Changed, Entity, EntityError, FilterWriteGroups, OrderChanged, QueryFilter,
    Version, Without, World,
};
use glam::Affine3A;

use crate::compose::{AllInputs, InputData, Inputs, Placing, WithLocal, is_finite};
use crate::freeze::Frozen;
use crate::not_finite::NotFinite;
use crate::outputs::{CustomLocalToWorld, LocalToWorld};
use crate::parent::{Child, Parent, PreviousParent};

/// Entities that are neither parents nor children, and placed by their own values alone.
type Flat =
    (Any<Placing>, Without<(Parent, PreviousParent, Buffer<Child>, Frozen, CustomLocalToWorld)>);

/// Writes the matrices of those that have changed since.
pub(crate) fn update(
    world: &mut World,
    since: Version,
    bad: &NotFinite,
) -> Result<(), EntityError> {
    update_found::<Changed<AllInputs>>(world, since, bad)?;
    // A type that tracks changes does not count as changed when its entity comes from elsewhere. But that may be from among those
    // that were left alone.
    update_found::<OrderChanged>(world, since, bad)
}

fn update_found<F: QueryFilter>(
    world: &mut World,
    since: Version,
    bad: &NotFinite,
) -> Result<(), EntityError> {
    type Data = (Entity, &'static mut LocalToWorld, InputData);
    let found = world.query_filtered_mut::<Data, (Flat, F, FilterWriteGroups)>();
    found.since(since).for_each_picked_chunk_parallel(
        |_| true,
        #[inline(always)]
        |(entities, matrices, inputs)| Inputs::from(inputs).with(Write { entities, matrices, bad }),
    )
}

/// Writes what entities are placed by as their matrices.
struct Write<'a> {
    entities: &'a [Entity],
    matrices: &'a mut [LocalToWorld],
    bad: &'a NotFinite,
}

impl WithLocal for Write<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, local: impl Fn(usize) -> Affine3A) {
        for (row, matrix) in self.matrices.iter_mut().enumerate() {
            let local = local(row);
            if is_finite(&local) {
                *matrix = local.into();
            } else {
                self.bad.note(self.entities[row]);
            }
        }
    }
}
