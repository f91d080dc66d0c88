//! The order in which systems that are added together are created.

use ancho_collections::FixedState;
use hashbrown::HashMap;

use super::builder::{BuildSystem, IntoSystem, IntoSystemTarget, SystemBuilder};
use super::condition::{BuildCondition, Condition};
use super::set::SystemSet;
use super::state::{States, group_of_value};
use crate::schedule::{OrderError, OrderItem, SystemError, SystemId, SystemTarget, sort};
use crate::world::{ErasedCondition, Phase, Systems, World};

/// Systems that are added together: a tuple of up to 16 systems, or a list of builders.
///
/// The type parameter `Marker` is inferred.
///
/// The methods set options of all systems.
///
/// # Examples
///
/// ```
/// use ancho_entities::{IntoSystems, Presentation, ResMut, Resource, World};
///
/// #[derive(Resource, Clone)]
/// struct Log(Vec<&'static str>);
///
/// let clear = |mut log: ResMut<Log>| log.0.push("clear");
/// let draw = |mut log: ResMut<Log>| log.0.push("draw");
/// let present = |mut log: ResMut<Log>| log.0.push("present");
///
/// let mut world = World::new("Simulation");
/// world.insert_resource(Log(Vec::new()));
/// world.add_systems((clear, draw, present).chain().in_group(Presentation));
/// world.update(0.1);
/// assert_eq!(world.resource::<Log>().0, ["clear", "draw", "present"]);
/// ```
#[doc(alias = "IntoScheduleConfigs")]
pub trait IntoSystems<Marker>: Sized {
    /// Returns the systems in the order in which they are written.
    #[doc(hidden)]
    fn into_builders(self) -> Vec<SystemBuilder>;

    /// Runs each system after the previous one. All of them have to be in one group (A0223).
    ///
    /// Commands of a system are played before the next one runs. If a system is removed or moved to another group, the others stay
    /// in order.
    #[must_use = "nothing is added until `World::add_systems`"]
    fn chain(self) -> Vec<SystemBuilder> {
        let mut builders = self.into_builders();
        builders.iter_mut().skip(1).for_each(|builder| builder.is_chained = true);
        builders
    }

    /// Adds a [condition](IntoSystem::run_if) to each system. Each system tests it separately: if one of them changes the result, the
    /// systems after it see that. To decide for all systems at once, put them in a [group](crate::SystemGroup) with a condition.
    #[must_use = "nothing is added until `World::add_systems`"]
    fn run_if<M, C: Condition<M> + BuildCondition<M>>(self, condition: C) -> Vec<SystemBuilder> {
        let (mut builders, condition) = (self.into_builders(), condition.into_test());
        for builder in &mut builders {
            builder.conditions.push(ErasedCondition::copy(&condition));
        }
        builders
    }

    /// Puts each system in a [set](SystemSet).
    #[must_use = "nothing is added until `World::add_systems`"]
    fn in_set<S: SystemSet>(self, set: S) -> Vec<SystemBuilder> {
        drop(set);
        let mut builders = self.into_builders();
        builders.iter_mut().for_each(SystemBuilder::join_set::<S>);
        builders
    }

    /// Puts each system in a [group](IntoSystem::in_group).
    #[must_use = "nothing is added until `World::add_systems`"]
    fn in_group<M>(self, group: impl IntoSystemTarget<M>) -> Vec<SystemBuilder> {
        let (mut builders, group) = (self.into_builders(), group.into_target());
        builders.iter_mut().for_each(|builder| builder.group = Some(group.clone()));
        builders
    }

    /// Runs each system when a state [enters](IntoSystem::on_enter) a value.
    #[must_use = "nothing is added until `World::add_systems`"]
    fn on_enter<S: States>(self, value: S) -> Vec<SystemBuilder> {
        let mut builders = self.into_builders();
        for builder in &mut builders {
            builder.transition = Some(group_of_value(Phase::Enter, value.clone()));
        }
        builders
    }

    /// Runs each system when a state [leaves](IntoSystem::on_exit) a value.
    #[must_use = "nothing is added until `World::add_systems`"]
    fn on_exit<S: States>(self, value: S) -> Vec<SystemBuilder> {
        let mut builders = self.into_builders();
        for builder in &mut builders {
            builder.transition = Some(group_of_value(Phase::Exit, value.clone()));
        }
        builders
    }

    /// Runs each system [before](IntoSystem::before) another one of its group.
    #[must_use = "nothing is added until `World::add_systems`"]
    fn before<M>(self, other: impl IntoSystemTarget<M>) -> Vec<SystemBuilder> {
        let (mut builders, other) = (self.into_builders(), other.into_target());
        builders.iter_mut().for_each(|builder| builder.before.push(other.clone()));
        builders
    }

    /// Runs each system [after](IntoSystem::after) another one of its group.
    #[must_use = "nothing is added until `World::add_systems`"]
    fn after<M>(self, other: impl IntoSystemTarget<M>) -> Vec<SystemBuilder> {
        let (mut builders, other) = (self.into_builders(), other.into_target());
        builders.iter_mut().for_each(|builder| builder.after.push(other.clone()));
        builders
    }
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
    /// use ancho_entities::{IntoSystem, Resource, System, SystemResult, World};
    ///
    /// #[derive(Resource, Clone)]
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
        let is_chained: Vec<_> = builders.iter().map(|builder| builder.is_chained).collect();
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
        for (at, pair) in ids.windows(2).enumerate() {
            if !is_chained[at + 1] {
                continue;
            }
            if let Err(error) = self.systems.chain(pair[0], pair[1]) {
                order.iter().rev().for_each(|&at| self.remove_or_defer(ids[at]));
                return Err(error);
            }
        }
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
            let (sets, set_constraints) = (&*builder.sets, Vec::new());
            items.push(OrderItem {
                name,
                type_id,
                id,
                first,
                last,
                is_late: false,
                before,
                after,
                sets,
                set_constraints,
            });
        }
        sort("", &items, &|_| None).map_err(OrderError::of_creation)
    }

    /// Orders a system after the previous one of its chain.
    fn chain(&mut self, previous: SystemId, id: SystemId) -> Result<(), SystemError> {
        let name = |id| self.name_of(id).to_string();
        if let Some(patch) = [previous, id].into_iter().find(|&id| self.is_patch(id)) {
            return Err(SystemError::OfPatch { system: name(patch), what: "chain" });
        }
        let group_of = |id| self.record(id).and_then(|record| record.group);
        let [group, other] = [previous, id].map(group_of);
        if group != other {
            let groups = [group, other].map(|group| group.map(name).unwrap_or_default());
            let (first, second) = (name(previous), name(id));
            return Err(SystemError::ChainAcrossGroups { first, second, groups });
        }
        if let Some(record) = self.record_mut(id) {
            record.chained_after = Some(previous);
            record.after.push(SystemTarget::System(previous));
        }
        Ok(())
    }

    /// Takes a system out of its chain, when it leaves its group. The systems before and after it stay in order.
    pub(super) fn leave_chain(&mut self, id: SystemId) {
        let Some(record) = self.record_mut(id) else { return };
        let previous = record.chained_after.take();
        if let Some(previous) = previous {
            record.after.retain(|target| *target != SystemTarget::System(previous));
        }
        for slot in &mut self.slots {
            let Some(record) = &mut slot.record else { continue };
            if record.chained_after != Some(id) {
                continue;
            }
            record.chained_after = previous;
            record.after.retain(|target| *target != SystemTarget::System(id));
            record.after.extend(previous.map(SystemTarget::System));
        }
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
