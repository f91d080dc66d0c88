//! Keeps `Child` buffers, by what has become of each `Parent`.
//!
//! What a program has done since the last update is found by comparing each [`Parent`] with the [`PreviousParent`] beside it, and
//! by what stays of entities that were despawned. In this order:
//!
//! 1. orders to attach are carried out
//! 2. parents that are gone: their children lose their `Parent`; and buffers that do not agree with the children are put right
//! 3. children that were detached, or are gone, leave the buffers they are in
//! 4. others get a `PreviousParent` to begin with, and every `Parent` that is another than that becomes an [`Edit`]
//! 5. edits that would make an entity its own ancestor are undone, the others are carried out

mod attach;
mod buffers;
mod cycles;
mod mend;
mod rest;
mod seen;

use ancho_entities::{
    Buffer, Changed, Disabled, Entity, EntityError, OrderChanged, Prefab, QueryDescriptor,
    QueryFilter, Version, With, Without, World,
};

use crate::error::{TransformError, TransformErrors};
use crate::hierarchy::Hierarchy;
use crate::matrices::add_matrices;
use crate::outputs::{CustomLocalToWorld, LocalToWorld};
use crate::parent::{Child, Parent, PreviousParent};
use crate::reused::Reused;
use crate::state::{Placement, State, end_moment};
use attach::Given;
use mend::Census;
use seen::Seen;

/// A child that goes from one parent to another. Both may be null.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Edit {
    child: Entity,
    old: Entity,
    new: Entity,
}

/// What is remembered of parents and children from one update to the next.
#[derive(Clone, Debug, Default)]
pub(crate) struct Links {
    /// Children whose parents are disabled, so that they wait for them. Each is there once.
    waiting: Vec<Entity>,
    /// How many there were at the end of the last update.
    census: Census,
    edits: Reused<Vec<Edit>>,
    /// Children from which cycles are looked for.
    starts: Reused<Vec<Entity>>,
    /// Children that may be in no buffer, after their parents.
    suspects: Reused<Vec<(Entity, Entity)>>,
    seen: Reused<Seen>,
    /// Those that were last listed, with none above them that rests.
    pub(crate) awake: Reused<Vec<Entity>>,
    /// What orders to attach have given in this update.
    given: Reused<Vec<Given>>,
    /// Whether an entity has another parent than when somebody last asked.
    pub(crate) changed: bool,
}

/// Has the buffers of children follow their parents.
pub(crate) fn update(world: &mut World, state: &mut State) -> Result<(), TransformErrors> {
    let mut errors = TransformErrors::default();
    // Before they get others.
    Placement::forget_lost(&mut state.placement, world);
    let State { links, placement, linked, .. } = state;
    // The hierarchy follows the links when matrices are made.
    let was_changed = std::mem::take(&mut links.changed);
    let hierarchy = (!was_changed).then_some(&placement.hierarchy);
    let done = update_all(world, links, hierarchy, *linked, &mut errors);
    links.changed |= was_changed;
    let now = end_moment(world);
    // What an update that failed has not looked at is still to be found.
    if done.is_ok() {
        state.linked = now;
    }
    errors.extend(done.err().map(TransformError::Entities));
    errors.into_result()
}

fn update_all(
    world: &mut World,
    links: &mut Links,
    hierarchy: Option<&Hierarchy>,
    since: Version,
    errors: &mut TransformErrors,
) -> Result<(), EntityError> {
    let is_disturbed = Census::of(world) != links.census
        || mend::links_disagree(world, hierarchy, since, &mut links.seen, &mut links.suspects);
    attach::carry_out(world, &mut links.given, errors)?;
    begin_links(world)?;
    // From here on all that should have a matrix have one, and parents that have none are gone.
    add_matrices(world)?;
    let mut edits = std::mem::take(&mut links.edits);
    edits.clear();
    links.changed |= forget_gone_parents(world, &mut edits)?;
    if is_disturbed {
        links.changed = true;
        mend::mend(world, &mut links.seen, &mut links.waiting)?;
    }
    attach::detach(world)?;
    leave_parents(world, &mut edits)?;
    links.changed |= !edits.is_empty();
    buffers::leave(world, &edits, &mut links.seen, errors)?;
    edits.clear();

    type NewChild = (With<Parent>, Without<PreviousParent>);
    let new = world.batch(QueryDescriptor::of::<(), NewChild>());
    new.add(PreviousParent(Entity::NULL)).map_err(|rejected| rejected.error)?;
    // Both may have been written, as when entities exchange their components.
    links.changed |= find_edits::<Changed<Parent>>(world, since, &mut edits);
    // Who was disabled and is not any more has not changed.
    find_edits::<OrderChanged>(world, since, &mut edits);
    let Links { waiting, seen, .. } = links;
    let round = seen.next_round();
    waiting.retain(|&child| match edit_of(world, child) {
        Some(edit) if edit.old == Entity::NULL && rests(world, edit.new) => {
            // It goes on waiting, however it was found.
            seen.see(child, round);
            true
        }
        edit => {
            edits.extend(edit);
            false
        }
    });
    // An entity may have been found more than once. What is found first decides on the order.
    edits.retain(|edit| seen.see(edit.child, round) != round);
    if !edits.is_empty() {
        links.changed = true;
        refuse_missing(world, &mut edits, &mut links.waiting)?;
        let mut undone = Vec::new();
        let Links { starts, seen, .. } = &mut *links;
        cycles::undo_cycles(world, &mut edits, starts, seen, &mut undone, errors)?;
        attach::take_back(world, &links.given, &undone, &mut links.seen)?;
        // Some have just lost their parents.
        attach::detach(world)?;
        buffers::leave(world, &edits, &mut links.seen, errors)?;
        buffers::enter(world, &mut edits)?;
    }
    edits.clear();
    links.edits = edits;
    // A frame at rest is counted once.
    if links.changed {
        links.census = Census::of(world);
    }
    Ok(())
}

/// Gives new children all that they need in one step, so that they move to another chunk once, and not twice.
fn begin_links(world: &mut World) -> Result<(), EntityError> {
    type New = (With<Parent>, Without<(PreviousParent, LocalToWorld, CustomLocalToWorld)>);
    let new = world.batch(QueryDescriptor::of::<(), New>());
    let needed = (LocalToWorld::IDENTITY, PreviousParent(Entity::NULL));
    new.add(needed).map_err(|rejected| rejected.error)?;
    Ok(())
}

/// Children of those that are gone lose their parents, and the buffers of those go. Returns whether there were any.
///
/// Edits are what is listed meanwhile: there is nothing else to do for them.
fn forget_gone_parents(world: &mut World, edits: &mut Vec<Edit>) -> Result<bool, EntityError> {
    type Gone = (With<Buffer<Child>>, Without<(LocalToWorld, CustomLocalToWorld)>);
    let mut gone = world.query_filtered::<(Entity, &Buffer<Child>), Gone>();
    if gone.is_empty() {
        return Ok(false);
    }
    gone.for_each(|(old, children)| {
        edits.extend(children.iter().map(|&Child(child)| Edit { child, old, new: Entity::NULL }));
    });
    for Edit { child, old, .. } in edits.drain(..) {
        if world.get::<PreviousParent>(child).is_ok_and(|previous| previous.0 == old) {
            // It has been given another parent already, unless it is the same.
            match world.get::<Parent>(child) {
                Ok(&Parent(parent)) if parent == old => {
                    world.remove::<(Parent, PreviousParent)>(child)?;
                }
                _ => world.get_mut::<PreviousParent>(child)?.0 = Entity::NULL,
            }
        }
    }
    world.batch(QueryDescriptor::of::<(), Gone>()).remove::<Buffer<Child>>()?;
    Ok(true)
}

/// Children that have no parent any more, or are gone, are to leave the buffers of those that they had.
fn leave_parents(world: &mut World, edits: &mut Vec<Edit>) -> Result<(), EntityError> {
    type Left = (With<PreviousParent>, Without<Parent>);
    let before = edits.len();
    let mut left = world.query_filtered::<(Entity, &PreviousParent), Without<Parent>>();
    left.for_each(|(child, previous)| {
        edits.push(Edit { child, old: previous.0, new: Entity::NULL });
    });
    if edits.len() > before {
        world.batch(QueryDescriptor::of::<(), Left>()).remove::<PreviousParent>()?;
    }
    Ok(())
}

/// Finds children that have another parent than before, among those that pass a filter. Returns whether some do.
fn find_edits<F: QueryFilter>(world: &World, since: Version, edits: &mut Vec<Edit>) -> bool {
    let mut children = world.query_filtered::<(Entity, &Parent, &PreviousParent), F>().since(since);
    let mut are_some = false;
    children.for_each(|(child, parent, previous)| {
        are_some = true;
        if parent.0 != previous.0 || parent.0.is_null() {
            edits.push(Edit { child, old: previous.0, new: parent.0 });
        }
    });
    are_some
}

/// What has become of the parent of a child.
fn edit_of(world: &World, child: Entity) -> Option<Edit> {
    let (parent, previous) =
        world.query::<(&Parent, &PreviousParent)>().get(child).map(|(p, q)| (p.0, q.0))?;
    (parent != previous).then_some(Edit { child, old: previous, new: parent })
}

/// Children of nobody lose their parents; children of who is disabled wait. Both leave where they are.
///
/// The others have their new parents as the previous ones from here on.
fn refuse_missing(
    world: &mut World,
    edits: &mut [Edit],
    waiting: &mut Vec<Entity>,
) -> Result<(), EntityError> {
    // Those of one parent mostly follow each other.
    let mut last = (Entity::NULL, Fate::Gone);
    for edit in edits {
        if edit.new != last.0 {
            last = (edit.new, fate(world, edit.new));
        }
        match last.1 {
            Fate::Gone => {
                edit.new = Entity::NULL;
                world.remove::<(Parent, PreviousParent)>(edit.child)?;
                continue;
            }
            Fate::Rests => {
                edit.new = Entity::NULL;
                waiting.push(edit.child);
            }
            Fate::TakesPart => {}
        }
        world.get_mut::<PreviousParent>(edit.child)?.0 = edit.new;
    }
    Ok(())
}

/// What has become of one that is to be a parent.
#[derive(Clone, Copy)]
enum Fate {
    Gone,
    Rests,
    TakesPart,
}

fn fate(world: &World, parent: Entity) -> Fate {
    match parent {
        parent if is_gone(world, parent) => Fate::Gone,
        parent if rests(world, parent) => Fate::Rests,
        _ => Fate::TakesPart,
    }
}

/// Whether an entity takes no part, so that it gets no children.
fn rests(world: &World, entity: Entity) -> bool {
    world.has::<Disabled>(entity) || world.has::<Prefab>(entity)
}

/// Whether an entity is not there, or was despawned and only what stays of it is there.
pub(crate) fn is_gone(world: &World, entity: Entity) -> bool {
    !world.exists(entity) || world.is_cleanup_only(entity)
}

#[cfg(test)]
mod tests {
    use ancho_entities::{Disabled, World};
    use glam::Vec3;

    use super::mend::{Census, links_disagree};
    use super::seen::Seen;
    use super::update;
    use crate::freeze::Static;
    use crate::inputs::Position;
    use crate::matrices;
    use crate::parent::Parent;
    use crate::state::State;

    /// Whether the next update looks at all links.
    fn is_disturbed(world: &World, state: &State) -> bool {
        let hierarchy = Some(&state.placement.hierarchy);
        let (mut seen, mut suspects) = (Seen::default(), Vec::new());
        Census::of(world) != state.links.census
            || links_disagree(world, hierarchy, state.linked, &mut seen, &mut suspects)
    }

    #[test]
    fn ordinary_changes_do_not_have_all_links_looked_at() {
        let mut world = World::new("Simulation");
        let mut state = State::default();
        let parents = [(); 4].map(|()| world.spawn(Position(Vec3::X)));
        let child = (Position(Vec3::Y), Parent(parents[0]));
        let children: Vec<_> = (0..20)
            .map(|number| world.spawn((Position(Vec3::Y), Parent(parents[number % 4]))))
            .collect();
        let update_all = |world: &mut World, state: &mut State| {
            update(world, state).unwrap();
            matrices::update(world, state).unwrap();
            assert_eq!(state.links.census, Census::of(world));
            assert!(!is_disturbed(world, state));
        };
        update_all(&mut world, &mut state);
        for number in 0..9 {
            match number {
                0 => _ = world.spawn(child),
                1 => _ = world.despawn(children[0]).unwrap(),
                2 => _ = world.despawn(parents[3]).unwrap(),
                3 => world.set(children[1], Parent(parents[2])).unwrap(),
                4 => _ = world.remove::<Parent>(children[2]).unwrap(),
                5 => _ = world.add(children[4], Disabled).unwrap(),
                6 => _ = world.add(parents[0], Disabled).unwrap(),
                7 => _ = world.remove::<Disabled>(children[4]).unwrap(),
                _ => _ = world.add(parents[1], Static).unwrap(),
            }
            assert!(!is_disturbed(&world, &state), "change {number}");
            update_all(&mut world, &mut state);
        }
        world.swap_components(children[5], children[6]).unwrap();
        assert!(is_disturbed(&world, &state));
        update_all(&mut world, &mut state);
    }

    #[test]
    fn t5_who_waits_for_a_parent_waits_once() {
        let mut world = World::new("Simulation");
        let mut state = State::default();
        let parent = world.spawn((Position(Vec3::X), Disabled));
        let child = world.spawn((Position(Vec3::Y), Parent(parent)));
        update(&mut world, &mut state).unwrap();
        assert_eq!(state.links.waiting, [child]);
        for number in 0..100 {
            // Others come to its chunk, or its parent is written.
            if number % 2 == 0 {
                world.spawn((Position(Vec3::Y), Parent(child)));
            } else {
                world.get_mut::<Parent>(child).unwrap().0 = parent;
            }
            update(&mut world, &mut state).unwrap();
            assert_eq!(state.links.waiting, [child]);
        }
        world.remove::<Disabled>(parent).unwrap();
        update(&mut world, &mut state).unwrap();
        assert!(state.links.waiting.is_empty());
    }
}
