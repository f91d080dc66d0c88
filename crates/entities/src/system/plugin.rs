//! Plugins: functions and types that add systems and data to a world.

use std::any::{TypeId, type_name};
use std::panic::{AssertUnwindSafe, Location, catch_unwind};

use crate::panics::discard;
use crate::schedule::{SystemError, SystemId, SystemResult, panic_message};
use crate::world::{PluginRecord, World};

/// A type that adds systems, resources and entities to a world.
///
/// A world has at most one plugin of each type. A plugin without settings can be a function instead: `fn(&mut World)`.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Plugin, Res, Resource, SystemResult, World};
///
/// #[derive(Resource, Clone)]
/// struct Gravity(f32);
///
/// struct Physics {
///     gravity: f32,
/// }
///
/// impl Plugin for Physics {
///     fn build(self, world: &mut World) -> SystemResult {
///         world.insert_resource(Gravity(self.gravity));
///         world.add_system(|gravity: Res<Gravity>| assert!(gravity.0 > 0.0));
///         Ok(())
///     }
/// }
///
/// let mut world = World::new("Simulation");
/// world.add_plugin(Physics { gravity: 9.8 });
/// world.update(0.1);
/// ```
pub trait Plugin: Sized + 'static {
    /// Returns the name that errors show.
    fn name() -> &'static str {
        type_name::<Self>()
    }

    /// Adds systems and data to the world.
    ///
    /// # Errors
    ///
    /// If it returns an error or panics, then the systems, states and plugins that it added are removed, and
    /// [`World::add_plugin`] reports the error (A0225). Resources and entities stay.
    fn build(self, world: &mut World) -> SystemResult;
}

/// A plugin: a [type](Plugin), or a function `fn(&mut World)`, which may return a `Result`.
///
/// The type parameter `Marker` is inferred.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a plugin",
    label = "neither a `Plugin` nor a function `fn(&mut World)`",
    note = "write `impl Plugin for {Self}`, or pass a function that takes `&mut World` and returns nothing or a `SystemResult`"
)]
pub trait IntoPlugin<Marker> {
    /// The type of a plugin that can be added once, with its name. `None` for functions.
    #[doc(hidden)]
    fn unique() -> Option<TypeId>;

    /// Returns the name that errors show.
    #[doc(hidden)]
    fn plugin_name() -> &'static str;

    /// Adds systems and data to the world.
    #[doc(hidden)]
    fn build_plugin(self, world: &mut World) -> SystemResult;
}

/// Marker of types in [`IntoPlugin`].
#[derive(Debug)]
pub struct IsPlugin;

impl<P: Plugin> IntoPlugin<IsPlugin> for P {
    fn unique() -> Option<TypeId> {
        Some(TypeId::of::<P>())
    }

    fn plugin_name() -> &'static str {
        P::name()
    }

    fn build_plugin(self, world: &mut World) -> SystemResult {
        self.build(world)
    }
}

impl<F: FnOnce(&mut World)> IntoPlugin<fn()> for F {
    fn unique() -> Option<TypeId> {
        None
    }

    fn plugin_name() -> &'static str {
        type_name::<F>()
    }

    fn build_plugin(self, world: &mut World) -> SystemResult {
        self(world);
        Ok(())
    }
}

impl<F: FnOnce(&mut World) -> SystemResult> IntoPlugin<fn() -> SystemResult> for F {
    fn unique() -> Option<TypeId> {
        None
    }

    fn plugin_name() -> &'static str {
        type_name::<F>()
    }

    fn build_plugin(self, world: &mut World) -> SystemResult {
        self(world)
    }
}

impl World {
    /// Adds a plugin: a [type](Plugin), or a function `fn(&mut World)`. Its systems exist when the method returns.
    ///
    /// Plugins can be added in any order: systems that `before` and `after` name may be added later, up to the next update.
    ///
    /// # Panics
    ///
    /// Panics with the error of [`try_add_plugin`](Self::try_add_plugin).
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::World;
    ///
    /// fn audio(world: &mut World) {
    ///     world.add_system(|| ());
    /// }
    ///
    /// let mut world = World::new("Simulation");
    /// world.add_plugin(audio);
    /// ```
    #[track_caller]
    #[doc(alias = "add_plugins")]
    pub fn add_plugin<M, P: IntoPlugin<M>>(&mut self, plugin: P) {
        if let Err(error) = self.try_add_plugin(plugin) {
            panic!("{error}");
        }
    }

    /// Adds a plugin, or returns an error.
    ///
    /// # Errors
    ///
    /// Returns A0224 if the world already has a plugin of this type. Nothing is added then. Functions can be added repeatedly.
    /// Returns A0225 if the plugin fails or panics: the systems, states and plugins that it added are removed, and its resources and
    /// entities stay. Returns A0109 if the world is being updated.
    #[track_caller]
    pub fn try_add_plugin<M, P: IntoPlugin<M>>(&mut self, plugin: P) -> Result<(), SystemError> {
        let location = Location::caller();
        self.refuse_in_update("add_plugin")?;
        let name = P::plugin_name();
        let is_same = |known: &&PluginRecord| Some(known.type_id) == P::unique();
        if let Some(first) = self.systems.plugins.iter().find(is_same) {
            let (plugin, first) = (name.to_owned(), first.location);
            return Err(SystemError::PluginTwice { plugin, first, second: location });
        }
        self.build_plugin(plugin, location)
    }

    /// Adds the plugin `P::default()`, unless the world already has a plugin of this type. Plugins call it to add the plugins that
    /// they need.
    ///
    /// While a plugin is being built, it counts as added. So two plugins can require each other.
    ///
    /// # Panics
    ///
    /// Panics with A0225 if the plugin fails, and with A0109 if the world is being updated.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Plugin, SystemResult, World};
    ///
    /// #[derive(Default)]
    /// struct Physics;
    ///
    /// impl Plugin for Physics {
    ///     fn build(self, world: &mut World) -> SystemResult {
    ///         world.add_system(|| ());
    ///         Ok(())
    ///     }
    /// }
    ///
    /// let mut world = World::new("Simulation");
    /// world.require_plugin::<Physics>();
    /// world.require_plugin::<Physics>();
    /// assert!(world.has_plugin::<Physics>());
    /// ```
    #[track_caller]
    pub fn require_plugin<P: Plugin + Default>(&mut self) {
        if let Err(error) = self.refuse_in_update("require_plugin") {
            panic!("{error}");
        }
        if self.has_plugin::<P>() {
            return;
        }
        let location = Location::caller();
        let plugin = catch_unwind(AssertUnwindSafe(P::default));
        let built = match plugin {
            Ok(plugin) => self.build_plugin::<IsPlugin, P>(plugin, location),
            Err(payload) => {
                let reason = panic_message(&*payload);
                discard(payload);
                Err(SystemError::PluginFailed { plugin: P::name().to_owned(), reason })
            }
        };
        if let Err(error) = built {
            panic!("{error}");
        }
    }

    /// Tests whether the world has a plugin of a type.
    #[doc(alias = "is_plugin_added")]
    pub fn has_plugin<P: Plugin>(&self) -> bool {
        self.systems.plugins.iter().any(|known| known.type_id == TypeId::of::<P>())
    }

    fn build_plugin<M, P: IntoPlugin<M>>(
        &mut self,
        plugin: P,
        location: &'static Location<'static>,
    ) -> Result<(), SystemError> {
        // The built-in groups do not belong to the plugin.
        self.add_default_groups();
        let (world, created) = (self.systems.id, self.systems.created);
        let states = self.systems.states.order.len();
        let known = self.systems.plugins.len();
        self.systems.plugins.extend(P::unique().map(|type_id| PluginRecord { type_id, location }));
        let built = catch_unwind(AssertUnwindSafe(|| plugin.build_plugin(self)));
        let reason = match built {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(error)) => error.to_string(),
            Err(payload) => {
                let message = panic_message(&*payload);
                discard(payload);
                format!("it panicked: {message}")
            }
        };
        if self.systems.id == world {
            self.systems.plugins.truncate(known);
            self.remove_systems_since(created);
            self.remove_states_since(states);
        }
        Err(SystemError::PluginFailed { plugin: P::plugin_name().to_owned(), reason })
    }

    /// Removes all systems that were added after a number of others, the last one first.
    fn remove_systems_since(&mut self, created: u64) {
        let created_at = |id: SystemId| self.systems.record(id).map(|record| record.created);
        let is_new = |&id: &SystemId| created_at(id).is_some_and(|at| at >= created);
        let mut added: Vec<_> = self.systems.ids().filter(is_new).collect();
        added.sort_by_key(|&id| created_at(id));
        added.into_iter().rev().for_each(|id| self.remove_or_defer(id));
    }
}
