//! Systems that worlds find by themselves.
//!
//! `#[system]` notes a system in a list that the linker and the start of the program put together, so its order is nobody's.
//! Whoever reads the list sorts it by path first: the same program has the same systems in the same order, however it was
//! linked.

use std::error::Error;
use std::fmt;

use super::builder::{Kind, SystemBuilder};
use super::error::SystemError;
use crate::world::{World, WorldSettings};

/// A system that was marked with `#[system]`, for worlds to find.
///
/// The mark is for functions, and for structs that are systems, [groups](crate::SystemGroup) or
/// [points](crate::CommandPoint) and have a `Default`, or no fields. In brackets it takes what can be said of a system when it is
/// added, the methods of [`IntoSystem`](crate::IntoSystem): `#[system(first)]`,
/// `#[system(in_group(Presentation), after(draw))]`.
///
/// A system that is not to be found by itself is not marked. One that some worlds are not to have they
/// [leave out](Bootstrap::without). Unity finds all, but for those with `DisableAutoCreation`.
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
    /// All of the program, in the order of their paths.
    ///
    /// Only what is linked is found: a crate that is named in a manifest and nowhere else is not part of the program.
    pub fn all() -> Vec<&'static Self> {
        let mut all: Vec<_> = inventory::iter::<Self>.into_iter().collect();
        // One path can be there twice, in the bodies of two functions.
        all.sort_by_key(|system| (system.path, system.place));
        all
    }

    /// Its crate, modules and name, such as `game::physics::drift`.
    pub fn path(&self) -> &'static str {
        self.path
    }

    /// The system itself, set up as its mark says, to be added to a world.
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

/// What `#[system]` makes.
#[doc(hidden)]
pub const fn auto_system(
    path: &'static str,
    file: &'static str,
    line: u32,
    make: fn() -> SystemBuilder,
) -> AutoSystem {
    AutoSystem { path, place: (file, line), make }
}

/// A world in the making, with all systems that were marked with `#[system]`.
///
/// Groups are created first, then points, then all others, each in the order of their paths, but for what is said with
/// [`create_before`](crate::IntoSystem::create_before) and [`create_after`](crate::IntoSystem::create_after).
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
    /// A world of this name, with all systems that were marked.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            settings: WorldSettings::new(),
            systems: AutoSystem::all(),
            unknown: None,
        }
    }

    /// The world is set up in this way.
    pub fn settings(self, settings: WorldSettings) -> Self {
        Self { settings, ..self }
    }

    /// What the world is to be called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The systems that it is to have, in the order in which they are added.
    pub fn systems(&self) -> &[&'static AutoSystem] {
        &self.systems
    }

    /// The world has only those systems for which the function says so.
    pub fn retain(mut self, mut keep: impl FnMut(&AutoSystem) -> bool) -> Self {
        self.systems.retain(|system| keep(system));
        self
    }

    /// The world does not have the system of this path, such as `game::physics::drift`. If there is none, it cannot be built.
    pub fn without(mut self, path: &str) -> Self {
        let count = self.systems.len();
        self.systems.retain(|system| system.path != path);
        if self.systems.len() == count && self.unknown.is_none() {
            self.unknown = Some(path.into());
        }
        self
    }

    /// Makes the world, and adds the systems to it.
    ///
    /// # Panics
    ///
    /// If a system cannot be added.
    #[track_caller]
    pub fn build(self) -> World {
        self.try_build().unwrap_or_else(|refused| panic!("{refused}"))
    }

    /// [`build`](Self::build), for systems of which some may not fit.
    ///
    /// # Errors
    ///
    /// If a system cannot be added, or was to be left out and is not there.
    pub fn try_build(self) -> Result<World, BootstrapError> {
        if let Some(path) = self.unknown {
            return Err(BootstrapError::UnknownSystem { path });
        }
        let mut world = World::with_settings(self.name, self.settings);
        let systems = in_order_of_need(self.systems.iter().map(|system| system.make()));
        world.try_add_systems(systems).map_err(BootstrapError::System)?;
        Ok(world)
    }
}

/// Groups before all others, and points before who records for them; otherwise as they come.
fn in_order_of_need(systems: impl Iterator<Item = SystemBuilder>) -> Vec<SystemBuilder> {
    let mut systems: Vec<_> = systems.collect();
    systems.sort_by_key(|system| match system.kind {
        Kind::Group => 0,
        Kind::Point(_) => 1,
        _ => 2,
    });
    systems
}

/// Why a world could not be made by itself.
#[derive(Debug)]
#[non_exhaustive]
pub enum BootstrapError {
    /// A0129: a system was to be left out, and there is none of this path.
    UnknownSystem {
        /// The path.
        path: String,
    },
    /// A0129: two functions were marked with `#[bootstrap]`.
    TwoHooks {
        /// The path of one of them.
        first: &'static str,
        /// The path of another.
        second: &'static str,
    },
    /// A system could not be added.
    System(SystemError),
}

impl fmt::Display for BootstrapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownSystem { path } => write!(
                f,
                "A0129: the system `{path}` cannot be left out, since none of this path was marked with `#[system]`; \
                 `AutoSystem::all` gives the paths of all that were"
            ),
            Self::TwoHooks { first, second } => write!(
                f,
                "A0129: `{first}` and `{second}` are both marked with `#[bootstrap]`, and one function makes the default \
                 world; take the mark of one of them away"
            ),
            Self::System(error) => error.fmt(f),
        }
    }
}

impl Error for BootstrapError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::System(error) => Some(error),
            _ => None,
        }
    }
}

/// A function that makes the default world.
#[doc(hidden)]
#[derive(Debug)]
#[expect(unnameable_types, reason = "only what `#[bootstrap]` makes has it")]
pub struct BootstrapHook {
    path: &'static str,
    make: fn(Bootstrap) -> World,
}

inventory::collect!(BootstrapHook);

/// What `#[bootstrap]` makes.
#[doc(hidden)]
pub const fn bootstrap_hook(path: &'static str, make: fn(Bootstrap) -> World) -> BootstrapHook {
    BootstrapHook { path, make }
}

impl World {
    /// A world called `Default World`, with all systems of the program that were marked with `#[system]`.
    ///
    /// If a function was marked with `#[bootstrap]`, it makes the world.
    ///
    /// # Panics
    ///
    /// If a system cannot be added, or two functions were marked with `#[bootstrap]`; and if the function that was marked panics.
    ///
    /// # Determinism
    ///
    /// Systems are added in the order of their paths, so a program has the same world whatever the linker did.
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
        Self::try_default_world().unwrap_or_else(|refused| panic!("{refused}"))
    }

    /// [`default_world`](Self::default_world), for systems of which some may not fit.
    ///
    /// # Errors
    ///
    /// If a system cannot be added. With A0129 if two functions were marked with `#[bootstrap]`.
    ///
    /// # Panics
    ///
    /// If a function was marked with `#[bootstrap]`, and panics: as with [`Bootstrap::build`], if a system cannot be added.
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
    ///     "game::start` are both marked with `#[bootstrap]`, and one function makes the default world; take the mark of one of \
    ///      them away"
    /// ));
    /// # }
    /// ```
    pub fn try_default_world() -> Result<Self, BootstrapError> {
        let mut hooks: Vec<_> = inventory::iter::<BootstrapHook>.into_iter().collect();
        hooks.sort_by_key(|hook| hook.path);
        let bootstrap = Bootstrap::new("Default World");
        match hooks[..] {
            [] => bootstrap.try_build(),
            [hook] => Ok((hook.make)(bootstrap)),
            [first, second, ..] => {
                Err(BootstrapError::TwoHooks { first: first.path, second: second.path })
            }
        }
    }
}
