//! The error of saving, loading and comparing worlds.

use std::error::Error;
use std::{fmt, io};

use ancho_entities::EntityError;

/// The error of a world that cannot be saved, loaded, compared or patched.
///
/// `Display` prints a sentence with a code, the section of the file, and the names involved. [`kind`](Self::kind) is for programs.
///
/// # Examples
///
/// ```
/// use ancho_serialize::{LoadOptions, SerializeErrorKind};
///
/// let refused = ancho_serialize::load(&b"not a world"[..], LoadOptions::new()).unwrap_err();
/// assert_eq!(refused.kind(), SerializeErrorKind::NotAWorldFile);
/// assert!(refused.to_string().starts_with("A0260: "));
/// ```
pub struct SerializeError(Box<Inner>);

struct Inner {
    kind: SerializeErrorKind,
    /// The section of the file, or empty.
    section: String,
    message: String,
    source: Option<io::Error>,
}

/// The kind of a [`SerializeError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SerializeErrorKind {
    /// A0260: the data does not begin like a world file or a delta, or has another byte order.
    NotAWorldFile,
    /// A0261: a newer version of ancho has written the file.
    NewerFormat,
    /// A0262: the data ends before its end mark.
    Truncated,
    /// A0263: a checksum differs, so that the data has changed since it was written.
    Checksum,
    /// A0264: the contents of a section are invalid, although the checksum is right.
    Corrupt,
    /// A0265: the program does not have the component types of the file.
    UnknownTypes,
    /// A0266: a component type of the program differs from that of the file, and values cannot be converted.
    IncompatibleType,
    /// A0267: the data exceeds a limit of the caller.
    LimitExceeded,
    /// A0268: values of a component type cannot be written.
    Unsavable,
    /// A0269: the reader or the writer failed.
    Io,
    /// A0270: the caller has cancelled the operation.
    Cancelled,
    /// A0271: a delta was applied to another state than the one it was made from.
    WrongBase,
    /// A0272: a history does not have the frame.
    NoSuchFrame,
    /// A0273: two entities have the same `EntityGuid`.
    DuplicateGuid,
    /// A0274: a change of a patch cannot be applied.
    Unpatchable,
    /// A0275: a text is not valid JSON, or not a valid scene.
    Text,
    /// The world refused an operation, with a code of its own.
    World,
}

impl SerializeErrorKind {
    fn code(self) -> &'static str {
        match self {
            Self::NotAWorldFile => "A0260: ",
            Self::NewerFormat => "A0261: ",
            Self::Truncated => "A0262: ",
            Self::Checksum => "A0263: ",
            Self::Corrupt => "A0264: ",
            Self::UnknownTypes => "A0265: ",
            Self::IncompatibleType => "A0266: ",
            Self::LimitExceeded => "A0267: ",
            Self::Unsavable => "A0268: ",
            Self::Io => "A0269: ",
            Self::Cancelled => "A0270: ",
            Self::WrongBase => "A0271: ",
            Self::NoSuchFrame => "A0272: ",
            Self::DuplicateGuid => "A0273: ",
            Self::Unpatchable => "A0274: ",
            Self::Text => "A0275: ",
            Self::World => "",
        }
    }
}

impl SerializeError {
    pub(crate) fn new(kind: SerializeErrorKind, message: impl Into<String>) -> Self {
        let (section, message) = (String::new(), message.into());
        Self(Box::new(Inner { kind, section, message, source: None }))
    }

    pub(crate) fn corrupt(message: impl Into<String>) -> Self {
        Self::new(SerializeErrorKind::Corrupt, message)
    }

    pub(crate) fn truncated() -> Self {
        Self::new(
            SerializeErrorKind::Truncated,
            "the data ends early; it was not written completely",
        )
    }

    pub(crate) fn cancelled() -> Self {
        Self::new(SerializeErrorKind::Cancelled, "the caller has cancelled the operation")
    }

    /// Adds the name of the section, unless the error has one.
    pub(crate) fn in_section(mut self, section: &str) -> Self {
        if self.0.section.is_empty() {
            section.clone_into(&mut self.0.section);
        }
        self
    }

    /// Returns the kind of the error.
    #[must_use]
    pub fn kind(&self) -> SerializeErrorKind {
        self.0.kind
    }

    /// Returns the section of the file in which the error was found, or an empty text.
    #[must_use]
    pub fn section(&self) -> &str {
        &self.0.section
    }
}

impl From<io::Error> for SerializeError {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::UnexpectedEof {
            return Self::truncated();
        }
        let mut new = Self::new(SerializeErrorKind::Io, error.to_string());
        new.0.source = Some(error);
        new
    }
}

impl From<EntityError> for SerializeError {
    fn from(error: EntityError) -> Self {
        Self::new(SerializeErrorKind::World, error.to_string())
    }
}

impl fmt::Display for SerializeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { kind, section, message, .. } = &*self.0;
        f.write_str(kind.code())?;
        if !section.is_empty() {
            write!(f, "{section}: ")?;
        }
        f.write_str(message)
    }
}

impl fmt::Debug for SerializeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error for SerializeError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source.as_ref().map(|source| source as _)
    }
}
