//! Implementations for tuples of each length.

/// Calls a macro for the tuples of one to sixteen elements, with the type name and index of each element.
///
/// ```text
/// all_tuples!(implement);
/// // is
/// implement!(A 0,);
/// implement!(A 0, B 1,);
/// // … up to `P 15`
/// ```
macro_rules! all_tuples {
    ($implement:ident) => {
        all_tuples!(
            @grow $implement []
            A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12, N 13, O 14, P 15,
        );
    };
    (@grow $implement:ident [$($done:ident $at:tt,)*]) => {};
    (@grow $implement:ident [$($done:ident $at:tt,)*] $name:ident $index:tt, $($rest:tt)*) => {
        $implement!($($done $at,)* $name $index,);
        all_tuples!(@grow $implement [$($done $at,)* $name $index,] $($rest)*);
    };
}

pub(crate) use all_tuples;
