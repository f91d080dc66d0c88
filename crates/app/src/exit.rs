//! The request to end an app.

use ancho_entities::Resource;

/// A resource with which systems end the app. The app inserts it into each of its worlds.
///
/// The app reads it after each frame, in which all worlds are updated to their end. The request is not part of the state: a rollback
/// keeps it.
///
/// # Examples
///
/// ```
/// use ancho_app::{App, Exit};
/// use ancho_entities::{ResMut, World};
///
/// let mut world = World::new("Game");
/// world.add_system(|mut exit: ResMut<Exit>| exit.request_code(3));
/// assert_eq!(App::new(world).run().exit, Some(3));
/// ```
#[derive(Resource, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[resource(local)]
#[doc(alias = "AppExit")]
pub struct Exit {
    code: Option<u8>,
}

impl Exit {
    /// Requests the end of the app, with success: exit code 0.
    pub const fn request(&mut self) {
        self.request_code(0);
    }

    /// Requests the end of the app with an exit code of the process. Codes other than 0 mean failure.
    ///
    /// If there are several requests, the first failure is kept.
    pub const fn request_code(&mut self, code: u8) {
        if matches!(self.code, None | Some(0)) {
            self.code = Some(code);
        }
    }

    /// Withdraws the request.
    pub const fn cancel(&mut self) {
        self.code = None;
    }

    /// Returns the exit code, if the end was requested.
    #[must_use]
    pub const fn requested(&self) -> Option<u8> {
        self.code
    }
}
