//! The code of one instance of a kernel, decoded and counted.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::ops::Range;

use iced_x86::{
    Code, Decoder, DecoderOptions, FlowControl, Formatter, Instruction, IntelFormatter, Mnemonic,
    OpKind, Register,
};

use super::flow;
use super::image::Image;
use super::report::{Call, Counts, Instance};
use crate::CpuLevel;

/// Maximum length of a type name. Longer ones are not names.
const LONGEST_NAME: u64 = 1 << 14;

/// A function that is an instance of a kernel.
pub(super) struct Function<'d> {
    pub(super) level: CpuLevel,
    pub(super) address: u64,
    pub(super) code: &'d [u8],
}

/// Decodes an instance. Returns the type name in it, and its content.
pub(super) fn read(image: &Image<'_>, function: &Function<'_>) -> (Option<String>, Instance) {
    let instructions = decode(function);
    let inside = function.address..function.address + function.code.len() as u64;
    let in_loop = in_innermost_loop(&instructions, &inside);

    let mut counts = Counts::default();
    let mut calls = Vec::new();
    for (instruction, &in_loop) in instructions.iter().zip(&in_loop) {
        count(instruction, &mut counts);
        let Some(target) = call_target(instruction, &inside) else { continue };
        let name = target.and_then(|address| callee(image, address));
        let name = name.unwrap_or_else(|| "a pointer".to_owned());
        if is_panic(&name) {
            counts.panics += 1;
        } else {
            calls.push(Call { name, in_loop });
        }
    }
    let instance = Instance {
        level: function.level,
        bytes: function.code.len(),
        counts,
        calls,
        assembly: assembly(image, &instructions, &inside),
    };
    (name_in(image, &instructions), instance)
}

/// Returns the type name in an instance, and the addresses of its instructions.
pub(super) fn addresses(image: &Image<'_>, function: &Function<'_>) -> (Option<String>, Vec<u64>) {
    let instructions = decode(function);
    let addresses = instructions.iter().map(Instruction::ip).collect();
    (name_in(image, &instructions), addresses)
}

fn decode(function: &Function<'_>) -> Vec<Instruction> {
    Decoder::with_ip(64, function.code, function.address, DecoderOptions::NONE).iter().collect()
}

/// Returns the name that `mark` has left: the address of a text, and its length beside it.
fn name_in(image: &Image<'_>, instructions: &[Instruction]) -> Option<String> {
    instructions.iter().enumerate().find_map(|(index, instruction)| {
        if instruction.mnemonic() != Mnemonic::Lea || !instruction.is_ip_rel_memory_operand() {
            return None;
        }
        let address = instruction.ip_rel_memory_address();
        let near = index.saturating_sub(4)..(index + 5).min(instructions.len());
        instructions[near].iter().find_map(|beside| {
            let stores = matches!(beside.code(), Code::Mov_rm64_imm32 | Code::Mov_r32_imm32);
            let length = if stores { beside.immediate(1) } else { return None };
            if !(4..=LONGEST_NAME).contains(&length) {
                return None;
            }
            let text = str::from_utf8(image.bytes(address, length)?).ok()?;
            (text.contains("::") && !text.contains(char::is_control)).then(|| text.to_owned())
        })
    })
}

/// Returns for each instruction whether it is in an innermost loop.
fn in_innermost_loop(instructions: &[Instruction], inside: &Range<u64>) -> Vec<bool> {
    let jump = |instruction: &Instruction| {
        let target = near_target(instruction).filter(|target| inside.contains(target))?;
        let jumps = matches!(
            instruction.flow_control(),
            FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch
        );
        jumps.then_some(target)
    };
    // A block starts at the target of a jump, and after each instruction that does not simply continue.
    let targets: BTreeSet<u64> = instructions.iter().filter_map(jump).collect();
    let goes_on = |instruction: &Instruction| {
        use FlowControl::{Call, IndirectCall, Next};
        matches!(instruction.flow_control(), Next | Call | IndirectCall)
    };
    let mut blocks: BTreeMap<u64, usize> = BTreeMap::new();
    let mut block_of = Vec::with_capacity(instructions.len());
    let mut starts = true;
    for instruction in instructions {
        if starts || targets.contains(&instruction.ip()) {
            blocks.insert(instruction.ip(), blocks.len());
        }
        block_of.push(blocks.len() - 1);
        starts = !goes_on(instruction);
    }
    let mut successors = vec![Vec::new(); blocks.len()];
    for (index, instruction) in instructions.iter().enumerate() {
        let block = block_of[index];
        let falls_through =
            goes_on(instruction) || instruction.flow_control() == FlowControl::ConditionalBranch;
        match block_of.get(index + 1) {
            Some(&next) if next != block && falls_through => successors[block].push(next),
            _ => {}
        }
        if let Some(target) = jump(instruction) {
            successors[block].extend(blocks.get(&target));
        }
    }
    let in_loop = flow::in_innermost_loop(&successors);
    block_of.into_iter().map(|block| in_loop[block]).collect()
}

fn near_target(instruction: &Instruction) -> Option<u64> {
    (instruction.op_count() == 1 && instruction.op0_kind() == OpKind::NearBranch64)
        .then(|| instruction.near_branch_target())
}

/// Returns the target of a call, with `None` as the address of a call through a pointer. A jump out of the function is a tail
/// call.
#[expect(clippy::option_option, reason = "no call differs from a call to an unknown address")]
fn call_target(instruction: &Instruction, inside: &Range<u64>) -> Option<Option<u64>> {
    let through = || {
        if let Some(target) = near_target(instruction) {
            Some(target)
        } else if instruction.is_ip_rel_memory_operand() {
            Some(instruction.ip_rel_memory_address())
        } else {
            None
        }
    };
    match instruction.flow_control() {
        FlowControl::Call | FlowControl::IndirectCall => Some(through()),
        FlowControl::UnconditionalBranch | FlowControl::ConditionalBranch => {
            let target = near_target(instruction)?;
            (!inside.contains(&target)).then_some(Some(target))
        }
        // A jump through a register is the table of a `match`. One through memory is a call.
        FlowControl::IndirectBranch if instruction.is_ip_rel_memory_operand() => Some(through()),
        _ => None,
    }
}

fn callee(image: &Image<'_>, address: u64) -> Option<String> {
    image.function_at(address).or_else(|| image.import_at(address))
}

/// Returns whether a function only starts a panic, or ends the process.
fn is_panic(name: &str) -> bool {
    ["core::panicking::", "std::panicking::", "core::slice::index::", "core::option::unwrap_failed"]
        .iter()
        .any(|prefix| name.starts_with(prefix))
        || name.contains("_fail")
        || name.contains("panic")
        || name.starts_with("_Unwind_Resume")
}

/// Counts an instruction if it computes.
fn count(instruction: &Instruction, counts: &mut Counts) {
    let name = format!("{:?}", instruction.mnemonic()).to_lowercase();
    let plain = name.strip_prefix('v').unwrap_or(&name);
    let fma = ["fmadd", "fmsub", "fnmadd", "fnmsub"].iter().any(|start| plain.starts_with(start));
    let registers = (0..instruction.op_count()).map(|operand| instruction.op_register(operand));
    let width = registers.filter_map(vector_bits).max();
    let Some(width) = width else { return };
    let zeroing = instruction.op_count() >= 2
        && plain.contains("xor")
        && instruction.op_register(instruction.op_count() - 1)
            == instruction.op_register(instruction.op_count() - 2);
    match kind(plain, fma) {
        Some(Kind::Packed) if !zeroing => {
            match width {
                512 => counts.packed_512 += 1,
                256 => counts.packed_256 += 1,
                _ => counts.packed_128 += 1,
            }
            counts.fma += usize::from(fma);
        }
        Some(Kind::Scalar) => {
            counts.scalar += 1;
            counts.fma += usize::from(fma);
        }
        _ => {}
    }
}

enum Kind {
    Packed,
    Scalar,
}

/// Returns the kind of a vector instruction that computes, by its name without the `v`.
fn kind(name: &str, fma: bool) -> Option<Kind> {
    const FLOAT: &[&str] = &[
        "add", "sub", "mul", "div", "min", "max", "sqrt", "and", "or", "xor", "cmp", "blend",
        "round", "cvt", "rndscale", "hadd",
    ];
    const INTEGER: &[&str] = &[
        "padd", "psub", "pmul", "pmadd", "pmin", "pmax", "pcmp", "pand", "por", "pxor", "psll",
        "psrl", "psra", "pabs", "pblend", "pavg", "psad", "ptern",
    ];
    let float = fma || FLOAT.iter().any(|start| name.starts_with(start));
    if float && (name.ends_with("ps") || name.ends_with("pd")) {
        Some(Kind::Packed)
    } else if (float || name.starts_with("ucomi") || name.starts_with("comi"))
        && (name.ends_with("ss") || name.ends_with("sd"))
    {
        Some(Kind::Scalar)
    } else {
        INTEGER.iter().any(|start| name.starts_with(start)).then_some(Kind::Packed)
    }
}

fn vector_bits(register: Register) -> Option<usize> {
    if register.is_zmm() {
        Some(512)
    } else if register.is_ymm() {
        Some(256)
    } else if register.is_xmm() {
        Some(128)
    } else {
        None
    }
}

fn assembly(image: &Image<'_>, instructions: &[Instruction], inside: &Range<u64>) -> String {
    let targets: Vec<u64> = instructions.iter().filter_map(near_target).collect();
    let mut formatter = IntelFormatter::new();
    let mut text = String::new();
    for instruction in instructions {
        let mark = if targets.contains(&instruction.ip()) { '>' } else { ' ' };
        let _ = write!(text, "  {mark} {:6x}  ", instruction.ip() - inside.start);
        formatter.format(instruction, &mut text);
        match near_target(instruction) {
            Some(target) if inside.contains(&target) => {
                let _ = write!(text, "  ; to {:x}", target - inside.start);
            }
            _ => {
                if let Some(Some(target)) = call_target(instruction, inside)
                    && let Some(name) = callee(image, target)
                {
                    let _ = write!(text, "  ; {name}");
                }
            }
        }
        text.push('\n');
    }
    text
}
