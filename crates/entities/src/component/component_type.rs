//! A component type as a value.

use std::any::type_name;
use std::hash::{Hash, Hasher};
use std::{fmt, ptr};

use super::registry::keep_name;
use super::{Component, RegisterError, RuntimeType, TypeInfo, registry};
use crate::field::Shape;

/// A component type as a runtime value, for code that selects components at run time.
///
/// A `ComponentType` is the same in all worlds of the program. It combines Unity's `ComponentType` and `TypeIndex`.
///
/// # Examples
///
/// ```
/// use ancho_entities::{Component, ComponentType};
///
/// #[derive(Component)]
/// struct Health(u32);
///
/// let health = ComponentType::of::<Health>();
/// assert_eq!(health.size(), 4);
/// assert_eq!(ComponentType::find(health.name()), Some(health));
/// ```
#[derive(Clone, Copy)]
pub struct ComponentType(pub(crate) &'static TypeInfo);

impl ComponentType {
    /// Returns the type `T`, registering it on first use.
    ///
    /// # Panics
    ///
    /// Panics with A0062 if another type has the same name.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, ComponentType};
    ///
    /// #[derive(Component)]
    /// struct Position([f32; 3]);
    ///
    /// let position = ComponentType::of::<Position>();
    /// assert_eq!((position.size(), position.align()), (12, 4));
    /// assert_eq!(position, ComponentType::of::<Position>());
    /// ```
    #[inline]
    #[track_caller]
    pub fn of<T: Component>() -> Self {
        Self(registry::info_of::<T>(T::slot(), TypeInfo::of::<T>))
    }

    /// Registers a component type that is known only at run time, and that has a name and a size in bytes.
    ///
    /// Several worlds or scripts can register the same type.
    ///
    /// # Errors
    ///
    /// Returns an error if another type has the same name, or the layout is invalid.
    pub fn register(runtime: RuntimeType) -> Result<Self, RegisterError> {
        registry::register_runtime(runtime).map(Self)
    }

    /// Returns the registered type with this name.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, ComponentType};
    ///
    /// #[derive(Component)]
    /// #[component(name = "game::Mana")]
    /// struct Mana(u32);
    ///
    /// let mana = ComponentType::of::<Mana>();
    /// assert_eq!(ComponentType::find(mana.name()), Some(mana));
    /// assert_eq!(ComponentType::find("game::Unknown"), None);
    /// ```
    pub fn find(name: &str) -> Option<Self> {
        registry::find(name).map(Self)
    }

    /// Returns the name of the type in messages. This is its path, such as `game::ship::Fuel`, unless the derive sets a name.
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// Returns the size of a value in a chunk, in bytes.
    pub fn size(self) -> usize {
        self.0.size
    }

    /// Returns the alignment of values.
    pub fn align(self) -> usize {
        self.0.align
    }

    /// Returns the name that identifies the type outside the program: in [state hashes](crate::EntityManager::state_hash) and in
    /// files.
    ///
    /// This is the name that `#[component(name = "…")]`, `#[buffer(…)]`, `#[shared(…)]` or `#[managed(…)]` sets, or otherwise the
    /// name of the type without its path. It includes the arguments of a generic type, each without its path. Renaming a crate,
    /// or moving the type to another module or crate, does not change it.
    ///
    /// Two types of a program may have the same stable name. A world that holds both has no state hash (A0154) until one of them is
    /// renamed. A library prefixes the names of its components with its own name, such as `ancho::Parent`.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, ComponentType};
    ///
    /// #[derive(Component)]
    /// struct Health(u32);
    ///
    /// #[derive(Component)]
    /// #[component(name = "game::Slot")]
    /// struct Slot<T: Send + Sync + 'static>(#[field(opaque)] T);
    ///
    /// assert_eq!(ComponentType::of::<Health>().stable_name(), "Health");
    /// assert_eq!(ComponentType::of::<Slot<Vec<u8>>>().stable_name(), "game::Slot<Vec<u8>>");
    /// ```
    pub fn stable_name(self) -> &'static str {
        self.0.stable_name
    }

    /// Returns a hash of the [stable name](Self::stable_name), which is the same in every run and on every machine.
    pub fn stable_hash(self) -> u64 {
        self.0.stable_hash
    }

    /// Returns `true` if the type is a tag, whose values take no memory.
    pub fn is_tag(self) -> bool {
        self.0.size == 0 && !self.is_shared() && self.0.per_chunk.is_none()
    }

    /// Returns `true` if the component is shared, so that all entities of a chunk have the same value.
    pub fn is_shared(self) -> bool {
        self.0.shared.is_some()
    }

    /// Returns `true` if the component can be enabled and disabled per entity.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, ComponentType};
    ///
    /// #[derive(Component)]
    /// #[component(enableable)]
    /// struct Engine;
    ///
    /// #[derive(Component)]
    /// struct Wheel;
    ///
    /// assert!(ComponentType::of::<Engine>().is_enableable());
    /// assert!(!ComponentType::of::<Wheel>().is_enableable());
    /// ```
    pub fn is_enableable(self) -> bool {
        self.0.enableable
    }

    /// Returns `true` if changes are recorded per entity. See [`TRACK_CHANGES`](crate::Component::TRACK_CHANGES).
    pub fn tracks_changes(self) -> bool {
        self.0.tracked
    }

    /// Returns `true` if the component is kept when its entity is despawned. See [`CLEANUP`](crate::Component::CLEANUP).
    pub fn is_cleanup(self) -> bool {
        self.0.cleanup
    }

    /// Returns `true` if the type is a [buffer](crate::BufferElement), which has any number of elements instead of one value.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{BufferElement, ComponentType, Prefab};
    ///
    /// #[derive(BufferElement)]
    /// struct Item(u32);
    ///
    /// assert!(ComponentType::of_buffer::<Item>().is_buffer());
    /// assert!(!ComponentType::of::<Prefab>().is_buffer());
    /// ```
    pub fn is_buffer(self) -> bool {
        self.0.elements.is_some()
    }

    /// Returns `true` if the component is [managed](crate::ManagedComponent). One thread at a time uses such a component, and
    /// jobs never do.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{ComponentType, ManagedComponent};
    ///
    /// #[derive(ManagedComponent)]
    /// struct Script(String);
    ///
    /// assert!(ComponentType::of_managed::<Script>().is_managed());
    /// ```
    pub fn is_managed(self) -> bool {
        !self.0.sync
    }

    /// Returns `true` if the type is a [chunk component](crate::PerChunk), which has one value per chunk.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, ComponentType};
    ///
    /// #[derive(Component, Default)]
    /// struct Bounds([f32; 4]);
    ///
    /// assert!(ComponentType::of_chunk::<Bounds>().is_chunk_component());
    /// assert!(!ComponentType::of::<Bounds>().is_chunk_component());
    /// ```
    pub fn is_chunk_component(self) -> bool {
        self.0.per_chunk.is_some()
    }

    /// Returns whether the type is the source of a [`Relationship`](crate::Relationship), or the buffer of its other direction.
    ///
    /// # Examples
    ///
    /// ```
    /// use ancho_entities::{Component, ComponentType};
    ///
    /// #[derive(Component)]
    /// struct Health(u32);
    ///
    /// assert!(!ComponentType::of::<Health>().is_in_relationship());
    /// ```
    pub fn is_in_relationship(self) -> bool {
        self.0.relationship.is_some() || self.0.reverse_of.is_some()
    }

    /// Returns `true` if the type was [registered](Self::register) at run time.
    pub fn is_runtime(self) -> bool {
        self.0.type_id.is_none()
    }

    /// Returns the id of the Rust type, or `None` if the type was registered at run time.
    pub(crate) fn rust_type(self) -> Option<std::any::TypeId> {
        self.0.type_id
    }

    /// Returns the shape of values: the fields and their offsets.
    pub fn shape(self) -> &'static Shape {
        self.0.shape
    }
}

impl PartialEq for ComponentType {
    fn eq(&self, other: &Self) -> bool {
        ptr::eq(self.0, other.0)
    }
}

impl Eq for ComponentType {}

impl Hash for ComponentType {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.0.stable_hash);
    }
}

impl fmt::Display for ComponentType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.0.name)
    }
}

impl fmt::Debug for ComponentType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.0.name)
    }
}

/// Returns the stable name of the component type `T`, whose `name()` is `name`.
///
/// This is `name` if it was set, and otherwise the name of the type without paths.
pub(crate) fn stable_name<T>(name: &'static str) -> &'static str {
    if name == type_name::<T>() { keep_name(without_paths(name)) } else { name }
}

/// Returns the name of a generic type `T` whose derive sets a name: the given name, followed by the type's arguments without
/// paths.
#[doc(hidden)]
#[must_use]
pub fn generic_name<T>(given: &str) -> &'static str {
    let own = without_paths(type_name::<T>());
    let arguments = own.find('<').map_or("", |at| &own[at..]);
    keep_name(format!("{given}{arguments}"))
}

/// Removes the path before each type in the name of a type: `game::Slot<game::Sword>` becomes `Slot<Sword>`.
fn without_paths(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    // The start of the current path in `out`, for each open bracket.
    let mut begins = vec![0];
    let mut rest = name;
    while let Some(next) = rest.chars().next() {
        let begin = begins.last_mut().expect("the outermost place is never removed");
        let mut taken = next.len_utf8();
        match next {
            ':' if rest.starts_with("::") => {
                out.truncate(*begin);
                rest = &rest[2..];
                continue;
            }
            '<' | '(' | '[' | '{' => begins.push(out.len() + 1),
            '>' | ')' | ']' | '}' => {
                if begins.len() > 1 {
                    begins.pop();
                }
            }
            '-' if rest.starts_with("->") => {
                taken = 2;
                *begin = out.len() + taken;
            }
            // An argument of type `char` may be a bracket, so the literal is skipped.
            '\'' => taken = char_literal(rest),
            _ if next.is_alphanumeric() || next == '_' || next == '#' => {}
            _ => *begin = out.len() + taken,
        }
        out.push_str(&rest[..taken]);
        rest = &rest[taken..];
    }
    out
}

/// Returns the length of the character literal at the beginning of `text`, or of the quote if it belongs to a lifetime.
fn char_literal(text: &str) -> usize {
    let mut chars = text.char_indices().skip(1);
    match chars.next() {
        Some((_, '\\')) => {
            chars.next();
            chars.find(|&(_, next)| next == '\'').map_or(1, |(at, _)| at + 1)
        }
        Some(_) => chars.next().filter(|&(_, next)| next == '\'').map_or(1, |(at, _)| at + 1),
        None => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::without_paths;

    #[test]
    fn paths_are_removed_before_types_and_their_arguments() {
        for (name, expected) in [
            ("game::ship::Fuel", "Fuel"),
            ("Fuel", "Fuel"),
            ("game::Slot<game::Sword, alloc::vec::Vec<u8>>", "Slot<Sword, Vec<u8>>"),
            ("game::Pair<(a::B, &c::D), [e::F; 4]>", "Pair<(B, &D), [F; 4]>"),
            ("game::Call<fn(a::B) -> c::D>", "Call<fn(B) -> D>"),
            ("game::Any<dyn a::B<C = d::E> + f::G>", "Any<dyn B<C = E> + G>"),
            ("game::<impl game::Ship>::new::Fuel", "Fuel"),
            ("<game::Ship as a::B<c::D>>::new::Fuel", "Fuel"),
            ("game::new::{{closure}}::Fuel<-1>", "Fuel<-1>"),
            ("game::Key<'<', a::B>", "Key<'<', B>"),
            ("game::Key<'\\'', a::B>", "Key<'\\'', B>"),
            ("game::Key<'\\u{e9}', a::B>", "Key<'\\u{e9}', B>"),
            ("game::Lent<'_, a::B>", "Lent<'_, B>"),
        ] {
            assert_eq!(without_paths(name), expected);
        }
    }
}
