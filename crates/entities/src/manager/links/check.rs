//! The check that both directions of all links agree.

use std::collections::BTreeMap;

use super::{LinkChange, lists_in, sources_in};
use crate::entity::Entity;
use crate::manager::EntityManager;
use crate::storage::Location;

impl EntityManager {
    /// Checks the links of entities that come from a file: both directions agree, and new links would be allowed.
    ///
    /// # Errors
    ///
    /// Returns a description of the first mistake.
    pub(crate) fn check_rebuilt_links(&self) -> Result<(), String> {
        if !self.storage.chunks.iter().any(|(_, chunk)| chunk.shape().has_links()) {
            return Ok(());
        }
        self.check_lists()?;
        let mut links = Vec::new();
        for (number, chunk) in self.storage.chunks.iter() {
            for relationship in sources_in(chunk.shape()) {
                for (row, &source) in (0..).zip(chunk.entities()) {
                    let target = self.link_target_at(relationship, Location { chunk: number, row });
                    let target = target.unwrap_or(Entity::NULL);
                    links.push(LinkChange { relationship, source, old: target, new: target });
                }
            }
        }
        self.check_links(&links).map_err(|error| error.to_string())
    }

    /// Compares the list of each target with its sources.
    ///
    /// # Errors
    ///
    /// Returns a description of the first difference.
    pub(in crate::manager) fn check_lists(&self) -> Result<(), String> {
        // The sources by type and target, sorted.
        let mut expected = BTreeMap::<(&str, Entity), Vec<Entity>>::new();
        let mut found = BTreeMap::new();
        for (number, chunk) in self.storage.chunks.iter() {
            if !chunk.shape().has_links() {
                continue;
            }
            for (row, &entity) in (0..).zip(chunk.entities()) {
                for relationship in sources_in(chunk.shape()) {
                    let name = (relationship.source)().name();
                    let location = Location { chunk: number, row };
                    let Some(target) = self.link_target_at(relationship, location) else {
                        return Err(format!("{entity} has no value of `{name}`"));
                    };
                    if !self.exists(target) {
                        return Err(format!(
                            "`{name}` of {entity} refers to {target}, which does not exist"
                        ));
                    }
                    expected.entry((name, target)).or_default().push(entity);
                }
                for relationship in lists_in(chunk.shape()) {
                    let name = (relationship.source)().name();
                    let mut sources = self.link_sources(relationship, entity).to_vec();
                    sources.sort_unstable();
                    if !sources.is_empty() {
                        found.insert((name, entity), sources);
                    }
                }
            }
        }
        expected.values_mut().for_each(|sources| sources.sort_unstable());
        if expected == found {
            return Ok(());
        }
        let mut targets = expected.keys().chain(found.keys());
        let differs = |key: &&(&str, Entity)| expected.get(*key) != found.get(*key);
        let key = targets.find(differs).expect("the maps differ");
        Err(format!(
            "the sources of {} by `{}` are {:?}, but its list has {:?}",
            key.1,
            key.0,
            expected.get(key),
            found.get(key)
        ))
    }
}
