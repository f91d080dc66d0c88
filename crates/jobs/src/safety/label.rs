//! Labels of containers in error messages.

use std::any::type_name;
use std::fmt;
use std::panic::Location;

/// The label of a container in error messages: its name, if any, its type, and its source location.
///
/// # Examples
///
/// ```
/// let cell = ancho_jobs::JobCell::new(5_u32).named("score");
/// let label = cell.label().to_string();
/// assert!(label.starts_with("`score` (JobCell<u32> made at "));
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ContainerLabel {
    name: Option<&'static str>,
    type_name: &'static str,
    made: &'static Location<'static>,
}

impl ContainerLabel {
    /// Creates a label for a container of type `C`, with the location of the calling function's caller.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_jobs::ContainerLabel;
    ///
    /// struct Deck(ContainerLabel);
    ///
    /// #[track_caller]
    /// fn deck() -> Deck {
    ///     Deck(ContainerLabel::of::<Deck>())
    /// }
    ///
    /// let (deck, line) = (deck(), line!());
    /// assert!(deck.0.to_string().starts_with("the Deck made at "));
    /// assert_eq!(deck.0.made().line(), line);
    /// ```
    #[track_caller]
    pub fn of<C: ?Sized>() -> Self {
        Self { name: None, type_name: type_name::<C>(), made: Location::caller() }
    }

    /// Adds a name.
    ///
    /// # Examples
    ///
    /// ```
    /// let label = ancho_jobs::ContainerLabel::of::<u32>().named("score");
    /// assert!(label.to_string().starts_with("`score` (u32 made at "));
    /// ```
    #[must_use]
    pub fn named(self, name: &'static str) -> Self {
        Self { name: Some(name), ..self }
    }

    /// Returns the source location where the container was created.
    ///
    /// # Examples
    ///
    /// ```
    /// let (cell, line) = (ancho_jobs::JobCell::new(5), line!());
    /// assert_eq!(cell.label().made().line(), line);
    /// ```
    pub fn made(&self) -> &'static Location<'static> {
        self.made
    }
}

impl fmt::Display for ContainerLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let short = ShortTypeName(self.type_name);
        match self.name {
            Some(name) => write!(f, "`{name}` ({short} made at {})", self.made),
            None => write!(f, "the {short} made at {}", self.made),
        }
    }
}

impl fmt::Debug for ContainerLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The name of a type without paths: `alloc::vec::Vec<my::Thing>` becomes `Vec<Thing>`.
struct ShortTypeName(&'static str);

impl fmt::Display for ShortTypeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
        let mut rest = self.0;
        while !rest.is_empty() {
            let (path, after) = rest.split_at(rest.find(|c| !is_word(c)).unwrap_or(rest.len()));
            f.write_str(path.rsplit("::").next().unwrap_or(path))?;
            let (between, after) = after.split_at(after.find(is_word).unwrap_or(after.len()));
            f.write_str(between)?;
            rest = after;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::ShortTypeName;

    #[test]
    fn paths_are_left_out() {
        let short = |name| ShortTypeName(name).to_string();
        assert_eq!(short("f32"), "f32");
        assert_eq!(
            short("a::b::Slice<core::option::Option<(u8, x::Y)>>"),
            "Slice<Option<(u8, Y)>>"
        );
        assert_eq!(short("[a::B; 4]"), "[B; 4]");
        assert_eq!(short("&'static str"), "&'static str");
    }
}
