//! An executable: where its kernels are, and what the functions are called.

use std::collections::BTreeMap;
use std::path::Path;

use object::read::{Object, ObjectSection, ObjectSymbol, ObjectSymbolTable};
use object::{Architecture, File, RelocationTarget, SymbolKind};

use super::InspectError;
use super::code::{self, Function};
use super::report::{Instance, Report, without_closures};
use crate::CpuLevel;

/// The end of the path of the functions in `compiled`, as every mangling spells it.
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

    /// The bytes at an address, if they are in the file.
    pub(super) fn bytes(&self, address: u64, size: u64) -> Option<&'d [u8]> {
        self.file.sections().find_map(|section| section.data_range(address, size).ok().flatten())
    }

    /// The name of the function at an address.
    pub(super) fn function_at(&self, address: u64) -> Option<String> {
        let name = self.names.get(&address)?;
        // The alternate form leaves out the hash.
        Some(format!("{:#}", rustc_demangle::demangle(name)))
    }

    /// The name of the function whose address the loader puts at this address.
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

pub(super) fn reports(executable: &Path) -> Result<Vec<Report>, InspectError> {
    let bytes = std::fs::read(executable)
        .map_err(|error| InspectError::Read(format!("{}: {error}", executable.display())))?;
    let image = Image::parse(&bytes)?;
    let mut reports: BTreeMap<String, Vec<Instance>> = BTreeMap::new();
    for symbol in image.file.symbols() {
        let Ok(name) = symbol.name() else { continue };
        let Some((_, level)) = ENTRIES.iter().find(|(entry, _)| name.contains(entry)) else {
            continue;
        };
        let Some(code) = image.bytes(symbol.address(), symbol.size()) else { continue };
        let function = Function { level: *level, address: symbol.address(), code };
        let (kernel, instance) = code::read(&image, &function);
        // Unoptimised code does not say the name in place.
        if let Some(kernel) = kernel {
            reports.entry(without_closures(&kernel).to_owned()).or_default().push(instance);
        }
    }
    let report = |(name, mut instances): (String, Vec<Instance>)| {
        instances.sort_by_key(|instance| instance.level);
        Report { name, instances }
    };
    Ok(reports.into_iter().map(report).collect())
}
