//! Required components: components that arrive together with another one.
//!
//! A derive lists the direct requirements of a component. The registration of the type adds the requirements of these, in order of
//! their distance, so that an operation finds all requirements of a type in one list.

#![expect(unsafe_code, reason = "constructors write values whose type is erased")]

use std::any::{TypeId, type_name};
use std::cell::RefCell;
use std::fmt;

use super::{Component, ComponentType, Written};

/// A value that a component can require: a component, a buffer or a managed component.
///
/// # Safety
///
/// - `write_to` writes a value of the component type
#[doc(hidden)]
pub unsafe trait RequiredValue: Sized + 'static {
    /// Returns the type, registering it on first use.
    fn component_type() -> ComponentType;

    /// Writes the value.
    ///
    /// # Safety
    ///
    /// - the address has room for a value of the component type
    unsafe fn write_to(self, to: *mut u8);

    /// Visits the direct requirements of the type.
    fn require<V: RequireVisitor>(visitor: &mut V);
}

/// A receiver of requirements.
#[doc(hidden)]
pub trait RequireVisitor {
    /// Visits a direct requirement and its constructor.
    fn require<T: RequiredValue>(&mut self, make: fn() -> T);
}

/// A component that another one requires, with its constructor.
#[derive(Clone, Copy)]
pub(crate) struct Requirement {
    pub(crate) ty: ComponentType,
    /// 1 for a direct requirement, 2 for a requirement of such a component, and so on.
    pub(crate) depth: u32,
    fill: &'static (dyn Fn(*mut u8, usize) + Send + Sync),
}

impl Requirement {
    fn new<T: RequiredValue>(make: fn() -> T) -> Self {
        let ty = T::component_type();
        let fill = move |to: *mut u8, count: usize| {
            let write = |index: usize| {
                let value = make();
                // SAFETY: the caller of `fill` has room for `count` values, and the index is lower.
                unsafe { value.write_to(to.wrapping_add(index * ty.size())) };
            };
            // SAFETY: each call of `write` writes a value at its index, and the function of the type drops leading values.
            unsafe { Written::fill_with(to, count, ty.0.drop, write) };
        };
        Self { ty, depth: 1, fill: Box::leak(Box::new(fill)) }
    }

    /// Writes `count` new values to an address. Runs user code. If it panics, no value remains.
    ///
    /// # Safety
    ///
    /// - the address has room for `count` values of the type
    pub(crate) unsafe fn fill(&self, to: *mut u8, count: usize) {
        (self.fill)(to, count);
    }
}

impl fmt::Debug for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", self.ty, self.depth)
    }
}

/// The requirements of a component type.
#[derive(Default)]
pub(crate) struct Requirements {
    /// The direct requirements, in the order of their declaration.
    pub(crate) direct: Box<[Requirement]>,
    /// All requirements, direct ones first.
    pub(crate) all: Box<[Requirement]>,
}

thread_local! {
    /// The types whose requirements are being listed, to find cycles.
    static LISTING: RefCell<Vec<(TypeId, &'static str)>> = const { RefCell::new(Vec::new()) };
}

/// Type whose requirements are being listed.
struct Listing;

impl Listing {
    #[track_caller]
    fn begin<T: 'static>() -> Self {
        let (id, name) = (TypeId::of::<T>(), type_name::<T>());
        let cycle = LISTING.with_borrow_mut(|listing| {
            let first = listing.iter().position(|&(other, _)| other == id);
            let cycle: Option<Vec<_>> =
                first.map(|first| listing[first..].iter().map(|&(_, name)| name).collect());
            if cycle.is_none() {
                listing.push((id, name));
            }
            cycle
        });
        if let Some(cycle) = cycle {
            let chain: String =
                cycle[1..].iter().map(|name| format!("`{name}`, which requires ")).collect();
            panic!(
                "A0242: component `{name}` requires itself: it requires {chain}`{name}`; remove one of these requirements"
            );
        }
        Self
    }
}

impl Drop for Listing {
    fn drop(&mut self) {
        LISTING.with_borrow_mut(Vec::pop);
    }
}

/// Lists the requirements of a type, and registers all required types.
///
/// # Panics
///
/// Panics with A0242 if the type requires itself.
#[track_caller]
pub(super) fn requirements_of<T: Component>() -> Requirements {
    struct Direct(Vec<Requirement>);

    impl RequireVisitor for Direct {
        fn require<T: RequiredValue>(&mut self, make: fn() -> T) {
            self.0.push(Requirement::new(make));
        }
    }

    if !T::REQUIRES {
        return Requirements::default();
    }
    let _listing = Listing::begin::<T>();
    let mut direct = Direct(Vec::new());
    T::require(&mut direct);
    let mut all: Vec<Requirement> = Vec::new();
    let mut next = direct.0.clone();
    while !next.is_empty() {
        let first = all.len();
        for requirement in next.drain(..) {
            if all.iter().all(|known| known.ty != requirement.ty) {
                all.push(requirement);
            }
        }
        for &Requirement { ty, depth, .. } in &all[first..] {
            let theirs = ty.0.requirements.direct.iter();
            next.extend(theirs.map(|their| Requirement { depth: depth + 1, ..*their }));
        }
    }
    Requirements { direct: direct.0.into(), all: all.into() }
}

/// Returns the components that types require when they arrive at an entity that has other components, with the constructors to use.
///
/// A direct requirement wins over an indirect one, and among equals the one of the first type.
pub(crate) fn required_by(
    arriving: impl Iterator<Item = ComponentType>,
    is_present: impl Fn(ComponentType) -> bool,
) -> Vec<Requirement> {
    let mut all: Vec<Requirement> = Vec::new();
    for ty in arriving {
        for &requirement in &ty.0.requirements.all {
            match all.iter_mut().find(|known| known.ty == requirement.ty) {
                Some(known) if known.depth > requirement.depth => *known = requirement,
                Some(_) => {}
                None if is_present(requirement.ty) => {}
                None => all.push(requirement),
            }
        }
    }
    all.sort_by_key(|requirement| requirement.depth);
    all
}

/// Lists the steps of a visit of all requirements of a set. A step is a required type, or `None` if the set or another step has the
/// type. A skipped step has no further steps for its own requirements.
pub(crate) fn visits_of(
    set: &[ComponentType],
    required: &[Requirement],
) -> Vec<Option<ComponentType>> {
    fn visit(
        ty: ComponentType,
        depth: u32,
        left: &mut Vec<Requirement>,
        visits: &mut Vec<Option<ComponentType>>,
    ) {
        for requirement in &ty.0.requirements.direct {
            let is_chosen =
                |other: &Requirement| other.ty == requirement.ty && other.depth == depth;
            match left.iter().position(is_chosen) {
                Some(at) => {
                    left.remove(at);
                    visits.push(Some(requirement.ty));
                    visit(requirement.ty, depth + 1, left, visits);
                }
                None => visits.push(None),
            }
        }
    }

    let (mut left, mut visits) = (required.to_vec(), Vec::new());
    set.iter().for_each(|&ty| visit(ty, 1, &mut left, &mut visits));
    debug_assert!(left.is_empty(), "each requirement has a step");
    visits
}

/// Finds a component that is removed although a remaining one requires it. Returns both.
pub(crate) fn broken_requirement(
    removed: &[ComponentType],
    mut remaining: impl Iterator<Item = ComponentType>,
) -> Option<(ComponentType, ComponentType)> {
    remaining.find_map(|by| {
        let all = by.0.requirements.all.iter().map(|requirement| requirement.ty);
        all.into_iter().find(|ty| removed.contains(ty)).map(|component| (component, by))
    })
}
