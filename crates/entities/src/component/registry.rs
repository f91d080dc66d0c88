//! The registry of all component types of the program.
use std::any::TypeId;
use std::collections::{BTreeSet, HashMap};
use std::error::Error;
use std::fmt;
use std::hash::BuildHasher;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{LazyLock, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use ancho_collections::FixedState;

use super::info::TypeSlot;
use super::{RuntimeType, TypeInfo};
use crate::debug_as_display::debug_as_display;

/// All registered component types, by Rust type, name and stable hash. Types are never removed.
#[derive(Default)]
struct Registry {
    by_type: HashMap<TypeId, &'static TypeInfo>,
    by_name: HashMap<&'static str, &'static TypeInfo>,
    by_stable_hash: HashMap<u64, &'static TypeInfo>,
}

static REGISTRY: LazyLock<RwLock<Registry>> = LazyLock::new(RwLock::default);

// A poisoned lock is ignored, because no code panics while the registry is half changed.
fn read() -> RwLockReadGuard<'static, Registry> {
    REGISTRY.read().unwrap_or_else(PoisonError::into_inner)
}

fn write() -> RwLockWriteGuard<'static, Registry> {
    REGISTRY.write().unwrap_or_else(PoisonError::into_inner)
}

impl Registry {
    fn next_index(&self) -> u32 {
        u32::try_from(self.by_name.len()).expect("fewer component types than numbers for them")
    }

    /// Adds a type. Returns an error if another type has its name.
    fn insert(&mut self, info: TypeInfo) -> Result<&'static TypeInfo, RegisterError> {
        let same_hash = self.by_stable_hash.get(&info.stable_hash).copied();
        let collides = same_hash.filter(|other| other.stable_name != info.stable_name);
        if let Some(other) = self.by_name.get(info.name).copied().or(collides) {
            return Err(RegisterError::NameTaken { name: info.name, by: other.name });
        }
        if let Some(other) = same_hash {
            // Relaxed suffices: a thread that has both types got the second one from the registry or from a slot, after this
            // store.
            info.shares_stable_name.store(true, Relaxed);
            other.shares_stable_name.store(true, Relaxed);
        }
        let info: &'static TypeInfo = Box::leak(Box::new(info));
        self.by_name.insert(info.name, info);
        self.by_stable_hash.entry(info.stable_hash).or_insert(info);
        if let Some(id) = info.type_id {
            self.by_type.insert(id, info);
        }
        Ok(info)
    }
}

/// A cache for generic types, which have no [`TypeSlot`](super::TypeSlot). It is indexed by bits of the type's id.
///
/// Types whose ids have the same bits evict each other, which only costs time.
static RECENT: [TypeSlot<()>; 512] = [const { TypeSlot::new() }; 512];

/// Returns the metadata of a type, and registers the type on first use. `slot` is the slot of the type, if it has one.
#[inline(always)]
#[track_caller]
pub(crate) fn info_of<T: 'static>(
    slot: Option<&'static TypeSlot<T>>,
    describe: fn(u32) -> TypeInfo,
) -> &'static TypeInfo {
    match slot {
        Some(slot) => match slot.get() {
            Some(info) => info,
            None => {
                let info = register(TypeId::of::<T>(), describe);
                slot.set(info);
                info
            }
        },
        None => find_or_register(TypeId::of::<T>(), describe),
    }
}

/// Returns the metadata of a type that has no slot, and registers the type on first use.
#[track_caller]
fn find_or_register(id: TypeId, describe: fn(u32) -> TypeInfo) -> &'static TypeInfo {
    let recent = &RECENT[FixedState::with_seed(0).hash_one(id) as usize % RECENT.len()];
    match recent.get() {
        Some(info) if info.type_id == Some(id) => info,
        _ => {
            let info = register(id, describe);
            recent.set(info);
            info
        }
    }
}

/// Returns the metadata of the type with this id. Registers the type with the result of `describe` if it is new.
#[cold]
#[track_caller]
fn register(id: TypeId, describe: fn(u32) -> TypeInfo) -> &'static TypeInfo {
    let known = read().by_type.get(&id).copied();
    if let Some(known) = known {
        return known;
    }
    // `describe` runs user code, so it is not called while the registry is locked.
    let mut info = describe(0);
    debug_assert!(info.type_id == Some(id));
    let mut registry = write();
    if let Some(known) = registry.by_type.get(&id) {
        return known;
    }
    info.index = registry.next_index();
    let registered = registry.insert(info);
    drop(registry);
    match registered {
        Ok(info) => info,
        Err(error) => panic!("{error}"),
    }
}

/// Interns a name. Each distinct name is leaked once, for all calls and threads.
pub(crate) fn keep_name(name: String) -> &'static str {
    static KEPT: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = kept.get(&*name) {
        return known;
    }
    let name = Box::leak(name.into_boxed_str());
    kept.insert(name);
    name
}

/// Returns the metadata of a runtime type, and registers the type if it is new.
pub(super) fn register_runtime(runtime: RuntimeType) -> Result<&'static TypeInfo, RegisterError> {
    runtime.check()?;
    let mut registry = write();
    if let Some(known) = registry.by_name.get(runtime.name()) {
        return if runtime.is_described_by(known) {
            Ok(known)
        } else {
            Err(RegisterError::NameTaken { name: known.name, by: known.name })
        };
    }
    let index = registry.next_index();
    registry.insert(runtime.into_info(index))
}

/// Returns the metadata of the type with a name.
pub(super) fn find(name: &str) -> Option<&'static TypeInfo> {
    read().by_name.get(name).copied()
}

/// Returns the stable names of all types, in ascending order.
pub(crate) fn stable_names() -> Vec<&'static str> {
    let mut names: Vec<_> = read().by_name.values().map(|info| info.stable_name).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Returns the metadata of a type with a stable name, and whether other types have the same stable name.
pub(crate) fn find_stable(stable_name: &str) -> Option<(&'static TypeInfo, bool)> {
    let hash = super::info::stable_hash(stable_name);
    let info = read().by_stable_hash.get(&hash).copied()?;
    (info.stable_name == stable_name).then(|| (info, info.shares_stable_name.load(Relaxed)))
}

/// The error of a component type that cannot be registered.
///
/// # Examples
///
/// ```
/// use ancho_entities::{ComponentType, RuntimeType};
///
/// ComponentType::register(RuntimeType::new("mod::Fuel", 4, 4)).unwrap();
/// let refused = ComponentType::register(RuntimeType::new("mod::Fuel", 8, 8)).unwrap_err();
/// assert!(refused.to_string().starts_with("A0062: "));
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RegisterError {
    /// A0062: another type has the same name, or a name with the same hash.
    NameTaken {
        /// The name of the type that could not be registered.
        name: &'static str,
        /// The name of the type that is already registered.
        by: &'static str,
    },
    /// A0063: the layout is invalid.
    BadLayout {
        /// The requested size of a value in bytes.
        size: usize,
        /// The requested alignment.
        align: usize,
    },
    /// A0063: a field is not inside of the type, or its kind does not allow the offset.
    BadField {
        /// The offset of the field.
        offset: usize,
        /// The size of the field, in bytes.
        field_size: usize,
        /// The size of the type, in bytes.
        size: usize,
    },
}

impl fmt::Display for RegisterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NameTaken { name, by } if name == by => write!(
                f,
                "A0062: two different component types are named `{name}`; rename one of them, with `#[component(name = \
                 \"…\")]` if it is derived"
            ),
            Self::NameTaken { name, by } => write!(
                f,
                "A0062: the names of the component types `{name}` and `{by}` have the same hash; rename one of them, \
                 with `#[component(name = \"…\")]` if it is derived"
            ),
            Self::BadLayout { size, align } => write!(
                f,
                "A0063: a component cannot have {size} bytes and an alignment of {align}; the alignment must be a \
                 power of two up to 4096, and the size a multiple of it"
            ),
            Self::BadField { offset, field_size, size } => write!(
                f,
                "A0063: a field of {field_size} bytes cannot start at byte {offset} of a component of {size} bytes; \
                 fields must have a kind with a size, be inside the component, and not overlap"
            ),
        }
    }
}

impl Error for RegisterError {}

debug_as_display!(RegisterError);
