//! The order in which systems that are added together are created.

use ancho_collections::FixedState;
use hashbrown::HashMap;

use super::builder::{BuildSystem, IntoSystem, SystemBuilder};
use crate::schedule::{OrderError, OrderItem, SystemError, SystemId, SystemTarget, sort};
use crate::world::{Systems, World};

/// Systems that are added together: a tuple of up to 16 systems, or a list of builders.
///
/// The type parameter `Marker` is inferred.
pub trait IntoSystems<Marker> {
    /// Returns the systems in the order in which they are written.
    #[doc(hidden)]
    fn into_builders(self) -> Vec<SystemBuilder>;
}

impl IntoSystems<()> for Vec<SystemBuilder> {
    fn into_builders(self) -> Self {
        self
    }
}

/// Implements [`IntoSystems`] for the tuple of these systems and markers, and for shorter tuples.
macro_rules! implement {
    () => {};
    ($system:ident $marker:ident, $($systems:ident $markers:ident,)*) => {
        #[expect(non_snake_case, reason = "values are named as their types are")]
        impl<$system, $marker, $($systems, $markers),*> IntoSystems<($marker, $($markers,)*)>
            for ($system, $($systems,)*)
        where
            $system: IntoSystem<$marker> + BuildSystem<$marker>,
            $($systems: IntoSystem<$markers> + BuildSystem<$markers>,)*
        {
            fn into_builders(self) -> Vec<SystemBuilder> {
                let ($system, $($systems,)*) = self;
                vec![$system.into_builder(), $($systems.into_builder(),)*]
            }
        }

        implement!($($systems $markers,)*);
    };
}

implement!(
    A MA, B MB, C MC, D MD, E ME, F MF, G MG, H MH, I MI, J MJ, K MK, L ML, M MM, N MN, O MO, P MP,
);

impl World {
    /// Adds several systems. Returns their ids in the order in which the systems are written.
    ///
    /// Systems are created in the written order, with two exceptions: groups are created before their members, and
    /// [`create_before`](IntoSystem::create_before) and [`create_after`](IntoSystem::create_after) are respected. The order of
    /// creation does not change the order of updates, which is the same as if the systems had been added one by one. Systems are
    /// destroyed in the reverse order of creation.
    ///
    /// # Panics
    ///
    /// Panics with the error of [`try_add_systems`](Self::try_add_systems).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{IntoSystem, System, SystemResult, World};
    ///
    /// struct Map(u32);
    ///
    /// struct Paths;
    ///
    /// struct Terrain;
    ///
    /// impl System for Paths {
    ///     fn on_create(&mut self, world: &mut World) -> SystemResult {
    ///         world.resource_mut::<Map>().0 += 1;
    ///         Ok(())
    ///     }
    ///
    ///     fn on_update(&mut self, _: &mut World) -> SystemResult {
    ///         Ok(())
    ///     }
    /// }
    ///
    /// impl System for Terrain {
    ///     fn on_create(&mut self, world: &mut World) -> SystemResult {
    ///         world.insert_resource(Map(0));
    ///         Ok(())
    ///     }
    ///
    ///     fn on_update(&mut self, _: &mut World) -> SystemResult {
    ///         Ok(())
    ///     }
    /// }
    ///
    /// let mut world = World::new("Simulation");
    /// world.add_systems((Paths.create_after(Terrain), Terrain));
    /// assert_eq!(world.resource::<Map>().0, 1);
    /// ```
    #[track_caller]
    pub fn add_systems<M>(&mut self, systems: impl IntoSystems<M>) -> Vec<SystemId> {
        match self.try_add_systems(systems) {
            Ok(ids) => ids,
            Err(error) => panic!("{error}"),
        }
    }

    /// Adds several systems, or returns an error.
    ///
    /// # Errors
    ///
    /// Returns an error if creation constraints cannot hold (A0131 to A0134), or a system cannot be
    /// [added](Self::try_add_system). Then no system was added: systems that were created before the error are removed again, in
    /// reverse order.
    pub fn try_add_systems<M>(
        &mut self,
        systems: impl IntoSystems<M>,
    ) -> Result<Vec<SystemId>, SystemError> {
        self.add_default_groups();
        let builders = systems.into_builders();
        let order = self.systems.creation_order(&builders)?;
        let mut builders: Vec<_> = builders.into_iter().map(Some).collect();
        let mut ids = vec![None; builders.len()];
        for (created, &at) in order.iter().enumerate() {
            let Some(builder) = builders[at].take() else { continue };
            match self.add_built(builder) {
                Ok(id) => ids[at] = Some(id),
                Err(error) => {
                    let added = order[..created].iter().rev().filter_map(|&at| ids[at]);
                    added.for_each(|id| self.remove_or_defer(id));
                    return Err(error);
                }
            }
        }
        let ids: Vec<_> = ids.into_iter().flatten().collect();
        self.systems.put_as_written(&ids);
        Ok(ids)
    }
}

impl Systems {
    /// Computes the order in which systems that are added together are created.
    pub(super) fn creation_order(
        &self,
        builders: &[SystemBuilder],
    ) -> Result<Vec<usize>, OrderError> {
        let is_added =
            |target: &SystemTarget| builders.iter().any(|builder| builder.is_named_by(target));
        let mut constraints = Vec::with_capacity(builders.len());
        for builder in builders {
            let mut before = builder.create_before.clone();
            let mut others = before.iter().filter(|target| !is_added(target));
            if let Some(there) = others.find_map(|target| self.find(target)) {
                let (system, target) = (builder.name.clone(), self.name_of(there).to_string());
                return Err(OrderError::CreateBeforeExisting { system, target });
            }
            // Targets that do not exist yet are created later in any case.
            before.retain(is_added);
            let mut after = builder.create_after.clone();
            after.retain(|target| is_added(target) || self.find(target).is_none());
            let is_itself = |group: &&SystemTarget| builder.is_named_by(group);
            after.extend(
                builder.group.iter().filter(|group| is_added(group) && !is_itself(group)).cloned(),
            );
            constraints.push((before, after));
        }
        let mut items = Vec::with_capacity(builders.len());
        for (at, (builder, (before, after))) in builders.iter().zip(&constraints).enumerate() {
            // The systems have no ids yet, so no target names one by id.
            let id = SystemId::new(0, at as u32, u32::MAX);
            let (name, type_id, first, last) = (&*builder.name, builder.type_id, false, false);
            items.push(OrderItem { name, type_id, id, first, last, is_late: false, before, after });
        }
        sort("", &items, &|_| None).map_err(OrderError::of_creation)
    }

    /// Sorts the new systems of each group by the order in `ids`, so that they run as if they had been added in this order.
    fn put_as_written(&mut self, ids: &[SystemId]) {
        let positions: Positions = ids.iter().enumerate().map(|(at, &id)| (id, at)).collect();
        let group_of = |&id: &SystemId| self.record(id)?.group;
        let mut groups: Vec<_> = ids.iter().filter_map(group_of).collect();
        groups.sort_unstable_by_key(|group| group.index());
        groups.dedup();
        for group in groups {
            if let Some(record) = self.record_mut(group) {
                put_in_order(&mut record.children.added, &positions);
            }
        }
        if self.patches.iter().any(|patch| positions.contains_key(patch)) {
            let mut patches = self.patches.to_vec();
            put_in_order(&mut patches, &positions);
            self.patches = patches.into();
        }
    }
}

/// The position of each system among those that are added together.
type Positions = HashMap<SystemId, usize, FixedState>;

/// Sorts the systems of a list that have a position. Other systems keep their places.
fn put_in_order(list: &mut [SystemId], positions: &Positions) {
    let mut own: Vec<_> = list.iter().copied().filter(|id| positions.contains_key(id)).collect();
    own.sort_unstable_by_key(|id| positions.get(id));
    let places = list.iter_mut().filter(|id| positions.contains_key(*id));
    for (place, id) in places.zip(own) {
        *place = id;
    }
}
