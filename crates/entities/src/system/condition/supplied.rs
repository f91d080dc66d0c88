//! The conditions that the crate supplies.

use super::{BuildCondition, Condition, Not};
use crate::component::Component;
use crate::entity::Entity;
use crate::messages::Message;
use crate::query::{Query, With};
use crate::system::param::{Res, ResourceRemoved, UnreadMessages};
use crate::time::Time;
use crate::world::Resource;

/// Negates a condition.
///
/// If the condition lacks a parameter or panics, its negation is not true either: the system does not run.
///
/// # Examples
///
/// ```
/// use ancho_entities::{IntoSystem, Resource, World, not, resource_exists};
///
/// #[derive(Resource, Clone)]
/// struct Paused;
///
/// let mut world = World::new("Simulation");
/// let tick = world.add_system((|| ()).run_if(not(resource_exists::<Paused>)));
/// world.update(0.1);
/// assert!(world.system_info(tick)?.running);
/// world.insert_resource(Paused);
/// world.update(0.1);
/// assert!(!world.system_info(tick)?.running);
/// # Ok::<(), ancho_entities::SystemError>(())
/// ```
pub fn not<M, C: Condition<M> + BuildCondition<M>>(condition: C) -> Not<C::Test> {
    Not(condition.into_test())
}

/// Condition: the world has the resource.
pub fn resource_exists<T: Resource>(resource: Option<Res<'_, T>>) -> bool {
    resource.is_some()
}

/// Condition: the resource was inserted or written since the guarded system last ran. False if the world does not have it.
///
/// # Examples
///
/// ```
/// use ancho_entities::{IntoSystem, ResMut, Resource, World, resource_changed};
///
/// #[derive(Resource, Clone)]
/// struct Settings(u32);
///
/// #[derive(Resource, Clone)]
/// struct Saves(u32);
///
/// let mut world = World::new("Simulation");
/// world.insert_resource(Settings(1));
/// world.insert_resource(Saves(0));
/// world.add_system((|mut saves: ResMut<Saves>| saves.0 += 1).run_if(resource_changed::<Settings>));
/// world.update(0.1);
/// world.update(0.1);
/// assert_eq!(world.resource::<Saves>().0, 1);
/// ```
pub fn resource_changed<T: Resource>(resource: Option<Res<'_, T>>) -> bool {
    resource.is_some_and(|resource| resource.is_changed())
}

/// Condition: the resource was removed since the guarded system last ran, and not inserted again.
pub fn resource_removed<T: Resource>(resource: ResourceRemoved<T>) -> bool {
    resource.was_removed()
}

/// Condition: the guarded system has unread messages. It reads none of them.
///
/// False if the system has no parameter [`MessageReader<M>`](crate::MessageReader).
///
/// # Examples
///
/// ```
/// use ancho_entities::{IntoSystem, Message, MessageReader, World, on_message};
///
/// #[derive(Message, Clone)]
/// struct Hit(u32);
///
/// fn hurt(mut hits: MessageReader<Hit>) {
///     assert_eq!(hits.read().count(), 1);
/// }
///
/// let mut world = World::new("Simulation");
/// let hurt = world.add_system(hurt.run_if(on_message::<Hit>));
/// world.update(0.1);
/// assert!(!world.system_info(hurt)?.running);
/// world.write_message(Hit(5));
/// world.update(0.1);
/// assert!(world.system_info(hurt)?.running);
/// # Ok::<(), ancho_entities::SystemError>(())
/// ```
pub fn on_message<M: Message>(messages: UnreadMessages<M>) -> bool {
    messages.any
}

/// Condition: an entity has the component. Disabled components and entities do not count.
///
/// To test only whether the component type is present, [`require`](crate::IntoSystem::require) is faster.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, IntoSystem, World, any_with};
///
/// #[derive(Component)]
/// struct Enemy;
///
/// let mut world = World::new("Simulation");
/// let fight = world.add_system((|| ()).run_if(any_with::<Enemy>));
/// world.update(0.1);
/// assert!(!world.system_info(fight)?.running);
/// world.spawn(Enemy);
/// world.update(0.1);
/// assert!(world.system_info(fight)?.running);
/// # Ok::<(), ancho_entities::SystemError>(())
/// ```
#[doc(alias = "any_with_component")]
pub fn any_with<T: Component>(entities: Query<'_, Entity, With<T>>) -> bool {
    !entities.is_empty()
}

/// Condition: true in each step in which the elapsed time reaches a multiple of the interval.
///
/// It is true at most once per step, so a step that is longer than the interval skips multiples. The multiple 0 does not count. The
/// elapsed time is that of the group of the system, as in [`Time`]. The condition has no memory: a system that is
/// skipped by another condition does not run later instead.
///
/// # Panics
///
/// Panics with A0220 if the interval is not positive and finite.
///
/// # Examples
///
/// ```
/// use ancho_entities::{IntoSystem, ResMut, Resource, World, every};
///
/// #[derive(Resource, Clone)]
/// struct Waves(u32);
///
/// let mut world = World::new("Simulation");
/// world.insert_resource(Waves(0));
/// world.add_system((|mut waves: ResMut<Waves>| waves.0 += 1).run_if(every(0.5)));
/// for _ in 0..8 {
///     world.update(0.25);
/// }
/// assert_eq!(world.resource::<Waves>().0, 4);
/// ```
#[doc(alias = "on_timer")]
#[track_caller]
pub fn every(seconds: f64) -> impl Fn(Time) -> bool + Clone + Send + 'static {
    assert!(
        seconds.is_finite() && seconds > 0.0,
        "A0220: a system cannot run every {seconds} seconds; pass a finite number above zero"
    );
    // Elapsed times are sums of steps, and have rounding errors. So a multiple is reached a millionth of the interval early: both
    // sides of the comparison are then on the same side of it, whatever the errors are.
    let multiple = move |elapsed: f64| (elapsed / seconds + 1e-6).floor().max(0.0);
    move |time: Time| multiple(time.elapsed()) > multiple(time.elapsed() - time.delta_f64())
}
