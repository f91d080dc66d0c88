//! Components of every kind, each made from one number and read back as one.

use std::sync::LazyLock;
use std::sync::atomic::AtomicIsize;
use std::sync::atomic::Ordering::Relaxed;

use ancho_entities::{
    BufferElement, Component, ComponentType, Disabled, Entity, FieldKind, LinkedEntityGroup,
    OmitLinkedEntityGroup, RuntimeType,
};

use crate::storage_model::managed::{Memo, Page};
use crate::storage_model::shared::{Banner, Mesh, Registry, Team};

/// The number of live values that have a destructor.
pub(crate) static LIVE: AtomicIsize = AtomicIsize::new(0);

/// A counter of its instances.
pub(crate) struct Live;

impl Live {
    pub(crate) fn new() -> Self {
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

/// 128 bytes, aligned to cache lines.
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

/// A zero-sized, enableable component with a destructor.
#[derive(Component, Clone, Default)]
#[component(enableable)]
pub(crate) struct Ghost(#[field(opaque)] Live);

/// An enableable component with padding that refers to an entity.
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

/// A component that can be neither duplicated nor created without a value.
#[derive(Component)]
pub(crate) struct Only(u32, #[field(opaque)] Live);

/// A component that stays when its entity is despawned.
#[derive(Component, Clone, Default)]
#[component(cleanup)]
pub(crate) struct Stays(u32, #[field(opaque)] Live);

/// A buffer element. Refers to an entity, and has a destructor; the buffer is enableable.
#[derive(BufferElement, Clone)]
#[buffer(inline = 3, enableable)]
pub(crate) struct Item(pub(crate) Entity, #[field(opaque)] Live);

impl Item {
    pub(crate) fn new(number: u64) -> Self {
        Self(Entity::from_bits(number), Live::new())
    }
}

/// An element of a cleanup buffer.
#[derive(BufferElement, Clone)]
#[buffer(inline = 2, cleanup)]
pub(crate) struct Remain(pub(crate) u32, #[field(opaque)] Live);

impl Remain {
    pub(crate) fn new(number: u64) -> Self {
        Self(number as u32, Live::new())
    }
}

/// 24 bytes, the middle ones an entity; enableable.
pub(crate) static SCRIPT: LazyLock<ComponentType> = LazyLock::new(|| {
    let script = RuntimeType::new("model::Script", 24, 8).field("target", 8, FieldKind::Entity);
    ComponentType::register(script.enableable()).unwrap()
});

/// Returns the bytes of the runtime type.
pub(crate) fn script_bytes(number: u64) -> [u8; 24] {
    let mut bytes = [0; 24];
    bytes[8..16].copy_from_slice(&number.to_ne_bytes());
    bytes
}

pub(crate) const SMALL: usize = 0;
pub(crate) const TAG: usize = 2;
pub(crate) const NAME: usize = 3;
pub(crate) const GHOST: usize = 4;
pub(crate) const FOLLOW: usize = 5;
pub(crate) const LARGE: usize = 6;
pub(crate) const ONLY: usize = 7;
pub(crate) const STAYS: usize = 8;
/// The runtime type. The kinds before it are typed components.
pub(crate) const RUNTIME: usize = 9;
/// The mark of cleanup-only entities, which cannot be named.
pub(crate) const MARK: usize = 10;
/// Buffers, and built-in components.
pub(crate) const ITEMS: usize = 11;
pub(crate) const GROUP: usize = 12;
pub(crate) const DISABLED: usize = 13;
pub(crate) const OMIT: usize = 14;
pub(crate) const REMAINS: usize = 15;
pub(crate) const TEAM: usize = 16;
pub(crate) const MESH: usize = 17;
pub(crate) const REGISTRY: usize = 18;
pub(crate) const PAGE: usize = 19;
pub(crate) const MEMO: usize = 20;
pub(crate) const PER_NAME: usize = 21;
pub(crate) const PER_FOLLOW: usize = 22;
pub(crate) const BANNER: usize = 23;

/// All kinds that can be named.
pub(crate) const NAMED: [usize; 23] =
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23];
/// Enableable kinds.
pub(crate) const ENABLEABLE: [usize; 5] = [GHOST, FOLLOW, RUNTIME, ITEMS, PAGE];
/// Cleanup kinds.
pub(crate) const CLEANUP: [usize; 4] = [STAYS, REMAINS, REGISTRY, MEMO];
/// Shared kinds, whose value selects the chunk.
pub(crate) const SHARED: [usize; 4] = [TEAM, MESH, REGISTRY, BANNER];
/// Chunk components.
pub(crate) const PER_CHUNK: [usize; 2] = [PER_NAME, PER_FOLLOW];
/// Kinds without a default.
pub(crate) const NO_DEFAULT: [usize; 2] = [ONLY, MESH];

/// A component that is made from a number, and returns it.
pub(crate) trait Kind: Component + ancho_entities::Mutable {
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

/// Returns a text long enough to be on the heap. That of zero is the default.
fn text(number: u64) -> String {
    if number == 0 { String::new() } else { format!("number {number}") }
}

/// Returns the number of a kind's value in a set that is made from a number. Some kinds have only one value, shared
/// ones few.
pub(crate) fn number_of(kind: usize, number: u64) -> u64 {
    match kind {
        TAG | GHOST => 0,
        TEAM => number % 5,
        MESH => number % 3,
        REGISTRY | BANNER => number % 4,
        _ => (number * 31 + kind as u64) & 0xffff,
    }
}

/// Returns the list of a kind's value for a number: the elements of buffers, and the entities of pages.
pub(crate) fn list_of(kind: usize, number: u64) -> Vec<u64> {
    match kind {
        ITEMS | REMAINS => (0..number % 6).map(|at| number + at).collect(),
        PAGE => vec![number, 0],
        _ => Vec::new(),
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
        REMAINS => ComponentType::of_buffer::<Remain>(),
        TEAM => ComponentType::of_shared::<Team>(),
        MESH => ComponentType::of_shared::<Mesh>(),
        REGISTRY => ComponentType::of_shared::<Registry>(),
        BANNER => ComponentType::of_shared::<Banner>(),
        PAGE => ComponentType::of_managed::<Page>(),
        MEMO => ComponentType::of_managed::<Memo>(),
        PER_NAME => ComponentType::of_chunk::<Name>(),
        PER_FOLLOW => ComponentType::of_chunk::<Follow>(),
        RUNTIME => *SCRIPT,
        _ => unreachable!("it cannot be named"),
    }
}
