//! What a world remembers of the sets of components it was given.

use std::any::TypeId;

use ancho_collections::FixedState;
use hashbrown::HashMap;

use crate::component::ComponentType;
use crate::set::ComponentSet;
use crate::storage::{SharedSource, sort_types};

/// A set of types, with the place of entities that have just these.
pub(crate) struct SetPlan {
    /// In the order of the set.
    pub(crate) types: Box<[ComponentType]>,
    /// In the order of archetypes.
    pub(crate) sorted: Box<[ComponentType]>,
    pub(crate) home: Option<Home>,
}

/// The archetype of a set.
pub(crate) struct Home {
    pub(crate) archetype: u32,
    /// Which columns the components have, in the order of the set.
    pub(crate) columns: Box<[u32]>,
    /// Where those begin.
    pub(crate) offsets: Box<[u32]>,
}

/// All sets, by the numbers they were given.
#[derive(Default)]
pub(crate) struct Sets {
    list: Vec<SetPlan>,
    /// For each set with a home, which of its shared values is that of each shared type, in the order of the archetype's
    /// columns. Not in the plans, which most sets need without.
    shared: Vec<Box<[SharedSource]>>,
    by_type: HashMap<TypeId, u32, FixedState>,
    by_types: HashMap<Box<[ComponentType]>, u32, FixedState>,
    /// Those that were asked for last: mostly an entity after another has the same components, or a few take turns.
    recent: [Option<(TypeId, u32)>; RECENT],
}

/// How many sets are found again without a map.
const RECENT: usize = 32;

/// A number that tells sets apart, mostly. It differs from run to run, and may decide what is quick, and nothing else.
#[inline(always)]
fn set_key<S: ComponentSet>() -> usize {
    let types: fn(&mut dyn FnMut(ComponentType)) = S::types;
    // Functions begin at multiples of 16.
    let address = types as usize;
    (address >> 4) ^ (address >> 8)
}

impl Sets {
    /// The number of a set.
    ///
    /// # Errors
    ///
    /// If a type is there twice: that one.
    #[inline]
    pub(crate) fn number_of<S: ComponentSet>(&mut self) -> Result<u32, ComponentType> {
        let id = TypeId::of::<S>();
        let place = set_key::<S>() % RECENT;
        match self.recent[place] {
            Some((recent, number)) if recent == id => Ok(number),
            _ => self.look_up(id, place, |types| S::types(&mut |ty| types.push(ty))),
        }
    }

    #[inline(never)]
    fn look_up(
        &mut self,
        id: TypeId,
        place: usize,
        types_of: fn(&mut Vec<ComponentType>),
    ) -> Result<u32, ComponentType> {
        let number = match self.by_type.get(&id) {
            Some(&number) => number,
            None => {
                let mut types = Vec::new();
                types_of(&mut types);
                let number = self.number_of_types(&types)?;
                self.by_type.insert(id, number);
                number
            }
        };
        self.recent[place] = Some((id, number));
        Ok(number)
    }

    /// The number of a set that is given as a list of types.
    ///
    /// # Errors
    ///
    /// If a type is there twice: that one.
    pub(crate) fn number_of_types(
        &mut self,
        types: &[ComponentType],
    ) -> Result<u32, ComponentType> {
        if let Some(&number) = self.by_types.get(types) {
            return Ok(number);
        }
        let mut sorted = types.to_vec();
        sort_types(&mut sorted)?;
        let number = u32::try_from(self.list.len()).expect("fewer sets than entities");
        self.list.push(SetPlan { types: types.into(), sorted: sorted.into(), home: None });
        self.shared.push(Box::default());
        self.by_types.insert(types.into(), number);
        Ok(number)
    }

    #[inline]
    pub(crate) fn get(&self, number: u32) -> &SetPlan {
        &self.list[number as usize]
    }

    /// Where the values of shared types come from when an entity is made of a set that has a home.
    pub(crate) fn shared_sources(&self, number: u32) -> &[SharedSource] {
        &self.shared[number as usize]
    }

    /// Gives a set its home.
    pub(crate) fn set_home(&mut self, number: u32, home: Home, shared: Box<[SharedSource]>) {
        self.list[number as usize].home = Some(home);
        self.shared[number as usize] = shared;
    }
}
