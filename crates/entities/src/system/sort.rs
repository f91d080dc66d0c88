//! In which order the systems of groups run.

use super::error::{SystemFault, UpdateErrors};
use super::id::SystemId;
use super::order::latency::lengthen_waits;
use super::order::{Constraints, Elsewhere, OrderError, OrderItem, Target};
use super::table::{Flags, Record, Systems};
use crate::world::World;

impl World {
    /// Sorts all groups, which otherwise happens when they are updated.
    ///
    /// # Errors
    ///
    /// With A0097 or A0123 to A0128 if the systems of a group cannot be put in an order. It is not updated then.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{IntoSystem, World};
    ///
    /// fn hen() {}
    ///
    /// fn egg() {}
    ///
    /// let mut world = World::new("Simulation");
    /// world.add_system(hen.before(egg));
    /// world.add_system(egg.before(hen));
    /// assert!(world.sort_systems().unwrap_err().to_string().starts_with("A0123"));
    /// ```
    pub fn sort_systems(&mut self) -> Result<(), UpdateErrors> {
        self.add_default_groups();
        let before = self.systems.errors.len();
        let all: Vec<_> = self.systems.ids().collect();
        for id in all {
            if self.systems.slot(id).is_some_and(|slot| slot.flags.has(Flags::GROUP)) {
                self.sort(id);
            }
        }
        self.errors_since(before)
    }

    /// Sees to it that the systems of a group are in their order, if there is one, and tells whether it is.
    pub(super) fn sort(&mut self, id: SystemId) -> bool {
        let Some(record) = self.systems.record(id) else { return false };
        if record.children.is_stale || record.children.sorted.is_none() {
            return self.sort_anew(id);
        }
        true
    }

    #[cold]
    fn sort_anew(&mut self, id: SystemId) -> bool {
        match self.systems.sorted(id) {
            Ok(sorted) => {
                let is_point = |&child: &SystemId| {
                    self.systems.slot(child).is_some_and(|slot| slot.flags.has(Flags::POINT))
                };
                let only_points = sorted.iter().all(is_point);
                if let Some(Record { children, .. }) = self.systems.record_mut(id) {
                    children.sorted = Some(sorted);
                    children.is_stale = false;
                    children.only_points = only_points;
                }
                true
            }
            Err(error) => {
                self.systems.fail(id, SystemFault::Order(error));
                false
            }
        }
    }
}

impl Systems {
    /// The systems of a group in the order in which they run.
    pub(super) fn sorted(&self, id: SystemId) -> Result<Box<[SystemId]>, OrderError> {
        let Some(group) = self.record(id) else { return Ok(Box::default()) };
        let added = &group.children.added;
        if !group.children.sorts {
            return Ok(added.as_slice().into());
        }
        let item = |&id: &SystemId| {
            let record = self.record(id)?;
            Some(OrderItem {
                name: &record.name,
                type_id: record.type_id,
                id,
                first: record.first,
                last: record.last,
                before: &record.before,
                after: &record.after,
            })
        };
        let items: Vec<_> = added.iter().filter_map(item).collect();
        let elsewhere = |target: &Target| {
            let id = self.meant_by(target)?;
            if self.is_patch(id) {
                return Some(Elsewhere::AmongPatches);
            }
            let group = self.record(id)?.group.map(|group| self.name_of(group).to_string());
            Some(Elsewhere::InGroup(group.unwrap_or_else(|| "no group".to_owned())))
        };
        let constraints = Constraints::resolve(&group.name, &items, &elsewhere)?;
        let mut order = constraints.sort(&group.name, &items)?;
        if self.is_for_latency(group) {
            let uses = |item: &OrderItem<'_>| self.record(item.id).map(|record| &record.uses);
            let uses: Vec<_> = items.iter().filter_map(uses).collect();
            order = lengthen_waits(&constraints, order, &uses);
        }
        Ok(order.into_iter().map(|at| items[at].id).collect())
    }
}
