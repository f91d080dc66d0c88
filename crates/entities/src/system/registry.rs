//! Automatic registration of systems.
//!
//! `#[system]` registers a system in a list that the linker and the start of the program assemble, so the order of the list is
//! unspecified. The list is sorted by path before use: the same program has the same systems in the same order, regardless of how
//! it was linked.

use std::fmt;

use super::builder::{BuildSystem, BuilderKind, IntoSystem, SystemBuilder};
use crate::schedule::SystemError;
use crate::world::{World, WorldSettings};

/// A system that is marked with `#[system]`, and added to worlds automatically.
///
/// The attribute is for functions and structs. A struct has to be a system, a [group](crate::SystemGroup) or a
/// [point](crate::CommandPoint), and needs a `Default` unless it has no fields. The attribute takes the options of
/// [`IntoSystem`](crate::IntoSystem): `#[system(first)]`, `#[system(in_group(Presentation), after(draw))]`.
///
/// To keep a system out of some worlds, use [`Bootstrap::without`]. Unity registers all systems, except those with
/// `DisableAutoCreation`.
///
/// # Examples
///
/// ```standalone_crate
/// use ancho_entities::{AutoSystem, system};
///
/// #[system]
/// fn drift() {}
///
/// #[system(after(drift))]
/// fn draw() {}
///
/// let found = AutoSystem::all();
/// assert!(found[0].path().ends_with("::draw"));
/// assert!(found[1].path().ends_with("::drift"));
/// ```
pub struct AutoSystem {
    path: &'static str,
    place: (&'static str, u32),
    make: fn() -> SystemBuilder,
}

impl AutoSystem {
    /// Lists all registered systems of the program, sorted by path.
    ///
    /// Only systems of linked crates are listed: a dependency that the program never uses is not linked.
    pub fn all() -> Vec<&'static Self> {
        let mut all: Vec<_> = inventory::iter::<Self>.into_iter().collect();
        // Systems in the bodies of two functions can have the same path.
        all.sort_by_key(|system| (system.path, system.place));
        all
    }

    /// Returns the crate, modules and name, such as `game::physics::drift`.
    pub fn path(&self) -> &'static str {
        self.path
    }

    /// Creates the system with the options of its attribute.
    pub fn make(&self) -> SystemBuilder {
        (self.make)()
    }
}

impl fmt::Debug for AutoSystem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AutoSystem").field(&self.path).finish()
    }
}

inventory::collect!(AutoSystem);

/// Creates the registration of a system. Called by the expansion of `#[system]`.
#[doc(hidden)]
pub const fn auto_system(
    path: &'static str,
    file: &'static str,
    line: u32,
    make: fn() -> SystemBuilder,
) -> AutoSystem {
    AutoSystem { path, place: (file, line), make }
}

/// Converts a system into a builder. Called by the expansion of `#[system]`.
#[doc(hidden)]
pub fn builder_of<M, S: IntoSystem<M> + BuildSystem<M>>(system: S) -> SystemBuilder {
    system.into_builder()
}

/// A builder for a world with all systems that are marked with `#[system]`.
///
/// Groups are created first, then points, then all others, each sorted by path.
/// [`create_before`](crate::IntoSystem::create_before) and [`create_after`](crate::IntoSystem::create_after) are respected.
///
/// # Examples
///
/// ```standalone_crate
/// use ancho_entities::{Bootstrap, WorldSettings, system};
///
/// #[system]
/// fn drift() {}
///
/// #[system]
/// fn draw() {}
///
/// let mut world = Bootstrap::new("Server")
///     .settings(WorldSettings::new().strict(true))
///     .retain(|system| !system.path().ends_with("::draw"))
///     .build();
/// world.update(1.0 / 60.0);
/// ```
#[derive(Debug)]
#[must_use = "it is no world until it is built"]
pub struct Bootstrap {
    name: String,
    settings: WorldSettings,
    systems: Vec<&'static AutoSystem>,
    unknown: Option<String>,
}

impl Bootstrap {
    /// Creates a builder with all registered systems.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            settings: WorldSettings::new(),
            systems: AutoSystem::all(),
            unknown: None,
        }
    }

    /// Sets the settings of the world.
    pub fn settings(self, settings: WorldSettings) -> Self {
        Self { settings, ..self }
    }

    /// Returns the name of the world.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Keeps only the systems for which the function returns true.
    pub fn retain(mut self, mut keep: impl FnMut(&AutoSystem) -> bool) -> Self {
        self.systems.retain(|system| keep(system));
        self
    }

    /// Leaves out the system with this path, such as `game::physics::drift`. Building the world fails if no system has the path.
    pub fn without(mut self, path: &str) -> Self {
        let count = self.systems.len();
        self.systems.retain(|system| system.path != path);
        if self.systems.len() == count && self.unknown.is_none() {
            self.unknown = Some(path.into());
        }
        self
    }

    /// Creates the world, and adds the systems.
    ///
    /// # Panics
    ///
    /// Panics if a system cannot be added.
    #[track_caller]
    pub fn build(self) -> World {
        match self.try_build() {
            Ok(world) => world,
            Err(error) => panic!("{error}"),
        }
    }

    /// Creates the world, or returns an error.
    ///
    /// # Errors
    ///
    /// Returns an error if a system cannot be added. Returns A0129 if a system to be left out is not registered.
    pub fn try_build(self) -> Result<World, SystemError> {
        if let Some(path) = self.unknown {
            return Err(SystemError::NoAutoSystem { path });
        }
        let mut world = World::with_settings(self.name, self.settings);
        let systems = in_order_of_need(self.systems.iter().map(|system| system.make()));
        world.try_add_systems(systems)?;
        Ok(world)
    }
}

/// Sorts groups before points, and points before other systems. Otherwise keeps the order.
fn in_order_of_need(systems: impl Iterator<Item = SystemBuilder>) -> Vec<SystemBuilder> {
    let mut systems: Vec<_> = systems.collect();
    systems.sort_by_key(|system| match system.kind {
        BuilderKind::Group(_) => 0,
        BuilderKind::Point(_) => 1,
        _ => 2,
    });
    systems
}

/// A function that creates the default world.
#[doc(hidden)]
#[derive(Debug)]
#[expect(unnameable_types, reason = "only what `#[bootstrap]` makes has it")]
pub struct BootstrapHook {
    path: &'static str,
    make: fn(Bootstrap) -> World,
}

inventory::collect!(BootstrapHook);

/// Creates the registration of a bootstrap function. Called by the expansion of `#[bootstrap]`.
#[doc(hidden)]
pub const fn bootstrap_hook(path: &'static str, make: fn(Bootstrap) -> World) -> BootstrapHook {
    BootstrapHook { path, make }
}

impl World {
    /// Creates a world named `Default World`, with all systems of the program that are marked with `#[system]`.
    ///
    /// If a function is marked with `#[bootstrap]`, that function creates the world instead.
    ///
    /// # Panics
    ///
    /// Panics if a system cannot be added, if two functions are marked with `#[bootstrap]`, or if the marked function panics.
    ///
    /// # Determinism
    ///
    /// Systems are added sorted by path, independent of the linker.
    ///
    /// # Examples
    ///
    /// ```standalone_crate
    /// use ancho_entities::{Bootstrap, World, bootstrap, system};
    ///
    /// #[system]
    /// fn drift() {}
    ///
    /// #[bootstrap]
    /// fn game(bootstrap: Bootstrap) -> World {
    ///     let mut world = bootstrap.build();
    ///     world.spawn_many((), 100);
    ///     world
    /// }
    ///
    /// let mut world = World::default_world();
    /// assert_eq!(world.entity_count(), 100);
    /// world.update(1.0 / 60.0);
    /// ```
    #[track_caller]
    pub fn default_world() -> Self {
        match Self::try_default_world() {
            Ok(world) => world,
            Err(error) => panic!("{error}"),
        }
    }

    /// Creates the default world, or returns an error.
    ///
    /// # Errors
    ///
    /// Returns an error if a system cannot be added. Returns A0129 if two functions are marked with `#[bootstrap]`.
    ///
    /// # Panics
    ///
    /// Panics if a function that is marked with `#[bootstrap]` panics, as [`Bootstrap::build`] does if a system cannot be added.
    ///
    /// # Examples
    ///
    /// ```standalone_crate
    /// mod game {
    ///     use ancho_entities::{Bootstrap, World, bootstrap};
    ///
    ///     #[bootstrap]
    ///     fn start(bootstrap: Bootstrap) -> World {
    ///         bootstrap.build()
    ///     }
    /// }
    ///
    /// mod editor {
    ///     use ancho_entities::{Bootstrap, World, bootstrap};
    ///
    ///     #[bootstrap]
    ///     fn start(bootstrap: Bootstrap) -> World {
    ///         bootstrap.build()
    ///     }
    /// }
    ///
    /// # fn main() {
    /// let refused = ancho_entities::World::try_default_world().unwrap_err().to_string();
    /// assert!(refused.starts_with("A0129: `"));
    /// assert!(refused.contains("editor::start` and `"));
    /// assert!(refused.ends_with(
    ///     "game::start` are both marked with `#[bootstrap]`, but one function builds the default world; remove the attribute from \
    ///      one of them"
    /// ));
    /// # }
    /// ```
    pub fn try_default_world() -> Result<Self, SystemError> {
        let mut hooks: Vec<_> = inventory::iter::<BootstrapHook>.into_iter().collect();
        hooks.sort_by_key(|hook| hook.path);
        let bootstrap = Bootstrap::new("Default World");
        match hooks[..] {
            [] => bootstrap.try_build(),
            [hook] => Ok((hook.make)(bootstrap)),
            [first, second, ..] => {
                Err(SystemError::TwoBootstraps { first: first.path, second: second.path })
            }
        }
    }
}
