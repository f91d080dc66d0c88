//! An executable: the locations of its kernels, and the names of its functions.

use std::collections::BTreeMap;
use std::path::Path;

use addr2line::{Context, gimli};
use object::read::{Object, ObjectSection, ObjectSymbol, ObjectSymbolTable};
use object::{Architecture, File, RelocationTarget, SymbolKind};

use super::InspectError;
use super::code::{self, Function};
use super::reason::Lines;
use super::report::{Instance, Report, without_closures};
use crate::CpuLevel;

/// The ends of the paths of the functions in `compiled`, each with its level. They are the same in
/// all mangling schemes.
const ENTRIES: [(&str, CpuLevel); 3] = [
    ("11ancho_burst8compiled11at_baseline", CpuLevel::Baseline),
    ("11ancho_burst8compiled5at_v3", CpuLevel::V3),
    ("11ancho_burst8compiled5at_v4", CpuLevel::V4),
];

/// The functions of an executable, and its bytes.
pub(super) struct Image<'d> {
    file: File<'d>,
    names: BTreeMap<u64, &'d str>,
}

impl<'d> Image<'d> {
    fn parse(bytes: &'d [u8]) -> Result<Self, InspectError> {
        const KINDS: &str = "the inspector reads ELF executables for x86-64 only";
        let file = File::parse(bytes).map_err(|_| InspectError::Unsupported(KINDS))?;
        if file.architecture() != Architecture::X86_64 {
            return Err(InspectError::Unsupported(KINDS));
        }
        let names = file
            .symbols()
            .filter(|symbol| symbol.kind() == SymbolKind::Text)
            .filter_map(|symbol| Some((symbol.address(), symbol.name().ok()?)))
            .collect();
        Ok(Self { file, names })
    }

    /// Returns the instances of kernels.
    fn functions(&self) -> impl Iterator<Item = Function<'d>> {
        self.file.symbols().filter_map(|symbol| {
            let name = symbol.name().ok()?;
            let (_, level) = ENTRIES.iter().find(|(entry, _)| name.contains(entry))?;
            let code = self.bytes(symbol.address(), symbol.size())?;
            Some(Function { level: *level, address: symbol.address(), code })
        })
    }

    /// Returns the bytes at an address, if they are in the file.
    pub(super) fn bytes(&self, address: u64, size: u64) -> Option<&'d [u8]> {
        self.file.sections().find_map(|section| section.data_range(address, size).ok().flatten())
    }

    /// Returns the name of the function at an address.
    pub(super) fn function_at(&self, address: u64) -> Option<String> {
        let name = self.names.get(&address)?;
        // The alternate form omits the hash.
        Some(format!("{:#}", rustc_demangle::demangle(name)))
    }

    /// Returns the name of the function whose address the loader writes to this address.
    pub(super) fn import_at(&self, address: u64) -> Option<String> {
        let (_, relocation) = self.file.dynamic_relocations()?.find(|(at, _)| *at == address)?;
        match relocation.target() {
            RelocationTarget::Symbol(index) => {
                let symbol = self.file.dynamic_symbol_table()?.symbol_by_index(index).ok()?;
                symbol.name().ok().map(str::to_owned)
            }
            _ => self.function_at(u64::try_from(relocation.addend()).ok()?),
        }
    }
}

/// Returns a report of each kernel, ordered by name.
pub(super) fn reports(executable: &Path) -> Result<Vec<Report>, InspectError> {
    let bytes = read(executable)?;
    let image = Image::parse(&bytes)?;
    let mut reports: BTreeMap<String, Vec<Instance>> = BTreeMap::new();
    for function in image.functions() {
        // Unoptimised code does not contain the name.
        if let (Some(kernel), instance) = code::read(&image, &function) {
            reports.entry(without_closures(&kernel).to_owned()).or_default().push(instance);
        }
    }
    let report = |(name, mut instances): (String, Vec<Instance>)| {
        instances.sort_by_key(|instance| instance.level);
        Report { name, instances }
    };
    Ok(reports.into_iter().map(report).collect())
}

/// Returns the source lines of the instructions of each kernel, by its name.
pub(super) fn lines(executable: &Path) -> Result<BTreeMap<String, Lines>, InspectError> {
    let bytes = read(executable)?;
    let image = Image::parse(&bytes)?;
    let bad = |error| InspectError::Read(format!("{}: {error}", executable.display()));
    let section = |id: gimli::SectionId| {
        let data = image.file.section_by_name(id.name()).and_then(|section| section.data().ok());
        Ok(gimli::EndianSlice::new(data.unwrap_or_default(), gimli::LittleEndian))
    };
    let context = gimli::Dwarf::load(section).and_then(Context::from_dwarf).map_err(bad)?;
    let mut kernels: BTreeMap<String, Lines> = BTreeMap::new();
    for function in image.functions() {
        let (Some(kernel), addresses) = code::addresses(&image, &function) else { continue };
        let lines = kernels.entry(without_closures(&kernel).to_owned()).or_default();
        for address in addresses {
            let mut frames = context.find_frames(address).skip_all_loads().map_err(bad)?;
            let mut stack = Vec::new();
            while let Some(frame) = frames.next().map_err(bad)? {
                let line = frame.location.and_then(|at| Some((at.file?.to_owned(), at.line?)));
                stack.extend(line);
            }
            lines.add(&stack);
        }
    }
    Ok(kernels)
}

fn read(executable: &Path) -> Result<Vec<u8>, InspectError> {
    std::fs::read(executable)
        .map_err(|error| InspectError::Read(format!("{}: {error}", executable.display())))
}
