//! Components of every kind, each made of one number and read as that.

use std::sync::LazyLock;
use std::sync::atomic::AtomicIsize;
use std::sync::atomic::Ordering::Relaxed;

use ancho_entities::{
    BufferElement, CloneSet, Component, ComponentSet, ComponentType, Disabled, Entity, FieldKind,
    LinkedEntityGroup, OmitLinkedEntityGroup, RuntimeType,
};

/// How many values there are that must be dropped.
pub(crate) static LIVE: AtomicIsize = AtomicIsize::new(0);

/// Counts itself.
pub(crate) struct Live;

impl Live {
    fn new() -> Self {
        LIVE.fetch_add(1, Relaxed);
        Self
    }
}

impl Default for Live {
    fn default() -> Self {
        Self::new()
    }
}

impl Clone for Live {
    fn clone(&self) -> Self {
        Self::new()
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        LIVE.fetch_sub(1, Relaxed);
    }
}

#[derive(Component, Clone, Copy, Default)]
pub(crate) struct Small(u32);

/// 128 bytes, at lines of the cache.
#[derive(Component, Clone, Copy, Default)]
#[repr(align(64))]
pub(crate) struct Wide([u64; 16]);

#[derive(Component, Clone, Copy, Default)]
pub(crate) struct Tag;

#[derive(Component, Clone, Default)]
pub(crate) struct Name {
    text: String,
    #[field(opaque)]
    _live: Live,
}

/// Has no bytes, has to be dropped, and can be switched off.
#[derive(Component, Clone, Default)]
#[component(enableable)]
pub(crate) struct Ghost(#[field(opaque)] Live);

/// Refers to an entity, has padding, and can be switched off.
#[derive(Component, Clone, Copy, Default)]
#[component(enableable)]
pub(crate) struct Follow {
    target: Entity,
    steps: u16,
}

/// Too large for a chunk of 4 KiB.
#[derive(Component, Clone, Copy)]
pub(crate) struct Large([u64; 600]);

impl Default for Large {
    fn default() -> Self {
        Self([0; 600])
    }
}

/// Neither duplicated nor created without a value.
#[derive(Component)]
pub(crate) struct Only(u32, #[field(opaque)] Live);

/// Stays when its entity is despawned.
#[derive(Component, Clone, Default)]
#[component(cleanup)]
pub(crate) struct Stays(u32, #[field(opaque)] Live);

/// An element of a buffer. Refers to an entity, and has to be dropped.
#[derive(BufferElement, Clone)]
#[buffer(inline = 3)]
pub(crate) struct Item(pub(crate) Entity, #[field(opaque)] Live);

impl Item {
    pub(crate) fn new(number: u64) -> Self {
        Self(Entity::from_bits(number), Live::new())
    }
}

/// 24 bytes, the middle ones an entity; can be switched off.
pub(crate) static SCRIPT: LazyLock<ComponentType> = LazyLock::new(|| {
    let script = RuntimeType::new("model::Script", 24, 8).field("target", 8, FieldKind::Entity);
    ComponentType::register(script.enableable()).unwrap()
});

/// The bytes of the runtime type.
pub(crate) fn script_bytes(number: u64) -> [u8; 24] {
    let mut bytes = [0; 24];
    bytes[8..16].copy_from_slice(&number.to_ne_bytes());
    bytes
}

/// How many kinds there are. The runtime type is the last.
pub(crate) const KINDS: usize = 10;
pub(crate) const SMALL: usize = 0;
pub(crate) const NAME: usize = 3;
pub(crate) const GHOST: usize = 4;
pub(crate) const FOLLOW: usize = 5;
pub(crate) const LARGE: usize = 6;
pub(crate) const ONLY: usize = 7;
pub(crate) const STAYS: usize = 8;
pub(crate) const RUNTIME: usize = 9;
/// What entities have that were despawned and are still there. It is no kind to be named.
pub(crate) const MARK: usize = KINDS;
/// Kinds that have calls of their own: buffers, and what ancho itself knows.
pub(crate) const ITEMS: usize = MARK + 1;
pub(crate) const GROUP: usize = MARK + 2;
pub(crate) const DISABLED: usize = MARK + 3;
pub(crate) const OMIT: usize = MARK + 4;
pub(crate) const OTHERS: [usize; 4] = [ITEMS, GROUP, DISABLED, OMIT];

/// Which of them can be switched off.
pub(crate) const ENABLEABLE: [usize; 3] = [GHOST, FOLLOW, RUNTIME];

/// A component that is made of a number, and knows which.
pub(crate) trait Kind: Component {
    const KIND: usize;

    fn make(number: u64) -> Self;

    fn number(&self) -> u64;
}

macro_rules! kinds {
    ($($kind:literal $ty:ident, $number:ident => $make:expr, $value:ident => $read:expr;)*) => {$(
        impl Kind for $ty {
            const KIND: usize = $kind;

            fn make($number: u64) -> Self {
                $make
            }

            fn number(&self) -> u64 {
                let $value = self;
                assert!(std::ptr::from_ref(self).is_aligned());
                $read
            }
        }
    )*};
}

kinds! {
    0 Small, n => Self(n as u32), value => value.0.into();
    1 Wide, n => Self([n; 16]), value => {
        assert_eq!(value.0, [value.0[0]; 16]);
        value.0[0]
    };
    2 Tag, _n => Self, _value => 0;
    3 Name, n => Self { text: text(n), _live: Live::new() }, value => {
        value.text.strip_prefix("number ").map_or(0, |number| number.parse().unwrap())
    };
    4 Ghost, _n => Self(Live::new()), _value => 0;
    5 Follow, n => Self { target: Entity::from_bits(n), steps: 0 }, value => {
        assert_eq!(value.steps, 0);
        value.target.to_bits()
    };
    6 Large, n => Self([n; 600]), value => {
        assert_eq!(value.0, [value.0[0]; 600]);
        value.0[0]
    };
    7 Only, n => Self(n as u32, Live::new()), value => value.0.into();
    8 Stays, n => Self(n as u32, Live::new()), value => value.0.into();
}

/// Long enough to be on the heap. That of zero is the default.
fn text(number: u64) -> String {
    if number == 0 { String::new() } else { format!("number {number}") }
}

/// The number of a kind's value in a set that is made of a number. Some have only one value.
pub(crate) fn number_of(kind: usize, number: u64) -> u64 {
    match kind {
        2 | 4 => 0,
        _ => (number * 31 + kind as u64) & 0xffff,
    }
}

pub(crate) fn type_of(kind: usize) -> ComponentType {
    match kind {
        0 => ComponentType::of::<Small>(),
        1 => ComponentType::of::<Wide>(),
        2 => ComponentType::of::<Tag>(),
        3 => ComponentType::of::<Name>(),
        4 => ComponentType::of::<Ghost>(),
        5 => ComponentType::of::<Follow>(),
        6 => ComponentType::of::<Large>(),
        7 => ComponentType::of::<Only>(),
        8 => ComponentType::of::<Stays>(),
        ITEMS => ComponentType::of_buffer::<Item>(),
        GROUP => ComponentType::of_buffer::<LinkedEntityGroup>(),
        DISABLED => ComponentType::of::<Disabled>(),
        OMIT => ComponentType::of::<OmitLinkedEntityGroup>(),
        _ => *SCRIPT,
    }
}

/// A set of components of a number.
pub(crate) trait Set: ComponentSet {
    fn kinds(into: &mut Vec<usize>);

    fn make(number: u64) -> Self;
}

impl<T: Kind> Set for T {
    fn kinds(into: &mut Vec<usize>) {
        into.push(T::KIND);
    }

    fn make(number: u64) -> Self {
        <T as Kind>::make(number_of(T::KIND, number))
    }
}

macro_rules! sets {
    ($(($($name:ident),*))*) => {$(
        impl<$($name: Set),*> Set for ($($name,)*) {
            #[expect(clippy::allow_attributes, reason = "used by all tuples but the empty one")]
            fn kinds(#[allow(unused_variables, reason = "as above")] into: &mut Vec<usize>) {
                $($name::kinds(into);)*
            }

            #[expect(clippy::allow_attributes, reason = "used by all tuples but the empty one")]
            #[allow(clippy::unused_unit, reason = "as above")]
            fn make(#[allow(unused_variables, reason = "as above")] number: u64) -> Self {
                ($($name::make(number),)*)
            }
        }
    )*};
}

sets! { () (A) (A, B) (A, B, C) (A, B, C, D, E) }

/// The kinds of a set, in its order.
pub(crate) fn kinds_of<S: Set>() -> Vec<usize> {
    let mut kinds = Vec::new();
    S::kinds(&mut kinds);
    kinds
}

/// Calls a method with one of the sets: `call!(which, S => self.method::<S>())`.
macro_rules! any_set {
    ($which:expr, $set:ident => $call:expr) => {
        match $which % 18 {
            14 => { type $set = Only; $call }
            15 => { type $set = (Only, (Small, Name)); $call }
            16 => { type $set = (Small, (Tag, Small)); $call }
            17 => { type $set = ((Name,), Tag, Name); $call }
            which => $crate::components::clone_set!(which, $set => $call),
        }
    };
}

/// The same, of those that can be cloned and have no type twice.
macro_rules! clone_set {
    ($which:expr, $set:ident => $call:expr) => {
        match $which % 14 {
            0 => {
                type $set = Small;
                $call
            }
            1 => {
                type $set = (Tag, Small);
                $call
            }
            2 => {
                type $set = (Name, Small);
                $call
            }
            3 => {
                type $set = (Wide, Ghost);
                $call
            }
            4 => {
                type $set = (Follow, Name, Tag);
                $call
            }
            5 => {
                type $set = ((Small, Follow), (Ghost, Name));
                $call
            }
            6 => {
                type $set = ();
                $call
            }
            7 => {
                type $set = Large;
                $call
            }
            8 => {
                type $set = (Wide, Small, Name, (Ghost, Follow), Tag);
                $call
            }
            9 => {
                type $set = Name;
                $call
            }
            10 => {
                type $set = (Follow, Small);
                $call
            }
            11 => {
                type $set = Stays;
                $call
            }
            12 => {
                type $set = (Name, Stays, Small);
                $call
            }
            _ => {
                type $set = (Ghost, (), Tag);
                $call
            }
        }
    };
}

/// Calls a method with one of the typed kinds.
macro_rules! any_kind {
    ($which:expr, $kind:ident => $call:expr) => {
        match $which % 9 {
            0 => {
                type $kind = Small;
                $call
            }
            1 => {
                type $kind = Wide;
                $call
            }
            2 => {
                type $kind = Tag;
                $call
            }
            3 => {
                type $kind = Name;
                $call
            }
            4 => {
                type $kind = Ghost;
                $call
            }
            5 => {
                type $kind = Follow;
                $call
            }
            6 => {
                type $kind = Large;
                $call
            }
            7 => {
                type $kind = Only;
                $call
            }
            _ => {
                type $kind = Stays;
                $call
            }
        }
    };
}

pub(crate) use {any_kind, any_set, clone_set};

/// What is needed of sets that are cloned.
pub(crate) trait Cloned: Set + CloneSet {}

impl<S: Set + CloneSet> Cloned for S {}
