//! Stable names: names of component types that stay the same when a crate is renamed or a type is moved.

use std::any::type_name;

use super::registry::keep_name;

/// Returns the stable name of a component type `T` whose `name()` is given: that name if it was set, and otherwise the name
/// of the type without paths.
pub(crate) fn stable_name<T>(name: &'static str) -> &'static str {
    if name == type_name::<T>() { keep_name(without_paths(name)) } else { name }
}

/// Returns the name of a generic type `T` whose derive was given a name: that name, and the type's arguments without paths.
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
    // The place in `out` at which the current path begins, for each open bracket.
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
            // An argument of type `char` may be a bracket.
            '\'' => taken = char_literal(rest),
            _ if next.is_alphanumeric() || next == '_' || next == '#' => {}
            _ => *begin = out.len() + taken,
        }
        out.push_str(&rest[..taken]);
        rest = &rest[taken..];
    }
    out
}

/// The length of the literal that the text begins with, or of the quote alone if that is the quote of a lifetime.
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
