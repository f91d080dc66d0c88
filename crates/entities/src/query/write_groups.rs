//! Which components exclude an entity, since somebody else writes what a query writes.

use std::any::TypeId;

use super::plan::{Part, Term};
use crate::component::{ComponentType, WriteGroup};
use crate::storage::ArchetypeShape;

/// What a query writes and what it knows of, by which it leaves entities to others.
///
/// It asks the types that an archetype has for the groups they are in, and not the written types for their members: types
/// that nobody has used yet cannot be asked.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KnownGroups {
    /// What is written.
    written: Box<[ComponentType]>,
    /// What the query names. Whether it is only read comes second.
    named: Box<[(TypeId, bool)]>,
}

/// What excludes entities of one archetype.
pub(super) struct Excluded<'k> {
    /// What is written of the archetype.
    written: Vec<TypeId>,
    named: &'k [(TypeId, bool)],
}

impl KnownGroups {
    /// What is known to a query of these parts and conditions.
    pub(super) fn new(parts: &[Part], terms: &[Term]) -> Self {
        let writes = parts.iter().filter(|part| part.write);
        let written: Box<[_]> = writes.map(|part| part.ty).collect();
        let mut named = Vec::new();
        let mut name = |ty: ComponentType, is_asked_for: bool| {
            let is_read = is_asked_for && !written.contains(&ty);
            named.extend(ty.0.type_id.map(|id| (id, is_read)));
        };
        for part in parts {
            name(part.ty, true);
        }
        name_terms(terms, &mut name);
        Self { named: named.into(), written }
    }

    /// What excludes entities of an archetype.
    pub(super) fn excluded_of(&self, shape: &ArchetypeShape) -> Excluded<'_> {
        let of_archetype = self.written.iter().filter(|&&ty| shape.has(ty));
        let written = of_archetype.filter_map(|ty| ty.0.type_id).collect();
        Excluded { written, named: &self.named }
    }
}

impl Excluded<'_> {
    /// Whether a component excludes the entities that have it.
    pub(super) fn has(&self, ty: ComponentType) -> bool {
        let groups = ty.0.write_groups;
        let is_named = self.named.iter().any(|&(id, _)| Some(id) == ty.0.type_id);
        groups.iter().any(|group| self.written.contains(&group.target()))
            && !is_named
            && !self.reads_target_of(groups, &mut Vec::new())
    }

    /// Whether the query reads a component that has one of these groups, or from which one of them is reached: then it
    /// knows of the members.
    fn reads_target_of(&self, groups: &[WriteGroup], seen: &mut Vec<TypeId>) -> bool {
        groups.iter().any(|group| {
            let target = group.target();
            if seen.contains(&target) {
                return false;
            }
            seen.push(target);
            self.named.contains(&(target, true)) || self.reads_target_of(group.beyond(), seen)
        })
    }
}

/// Names the types of conditions, and whether what has them is asked for.
fn name_terms(terms: &[Term], name: &mut impl FnMut(ComponentType, bool)) {
    for term in terms {
        match term {
            Term::With(ty) | Term::Present(ty) | Term::Disabled(ty) => name(*ty, true),
            Term::Any(types) | Term::Changed(types) => types.iter().for_each(|&ty| name(ty, true)),
            // What must not be there is not read.
            Term::Without(ty) | Term::Absent(ty) => name(*ty, false),
            Term::Or(alternatives) => alternatives.iter().for_each(|terms| name_terms(terms, name)),
            Term::OrderChanged | Term::NotOfOthers(_) => {}
        }
    }
}
