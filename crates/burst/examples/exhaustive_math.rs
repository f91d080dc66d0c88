//! Compares every function of `math` with a reference, for all 2^32 arguments.
//!
//! `cargo xtask math` runs this. Functions of two arguments are tested with 2^30 pairs. The results of all CPU levels are
//! compared as well. Names select functions. A number n selects one in n blocks of arguments.
#![expect(clippy::print_stdout, reason = "the table is what this is for")]

#[path = "../tests/math/common/mod.rs"]
mod common;

use std::process::ExitCode;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use ancho_burst::CpuLevel;
use common::{BINARY, Binary, UNARY, Unary, error_in_ulp};

/// Number of arguments in a block, the unit of work of a thread.
const BLOCK: usize = 1 << 16;
/// Number of blocks that contain all arguments.
const BLOCKS: u32 = 1 << 16;
/// Number of blocks of pairs.
const PAIR_BLOCKS: u32 = 1 << 14;

/// The largest error, and its arguments.
#[derive(Clone, Copy, Debug, Default)]
struct Worst {
    error: f64,
    arguments: [f32; 2],
}

fn main() -> ExitCode {
    let (steps, names): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|word| word.parse::<u32>().is_ok());
    let step = steps.first().and_then(|word| word.parse().ok()).unwrap_or(1);
    let known = || UNARY.iter().map(|case| case.name).chain(BINARY.iter().map(|case| case.name));
    if let Some(name) = names.iter().find(|name| known().all(|known| known != *name)) {
        println!("no function `{name}`; there are: {}", known().collect::<Vec<_>>().join(", "));
        return ExitCode::FAILURE;
    }
    let chosen = |name: &str| names.is_empty() || names.iter().any(|chosen| chosen == name);
    println!("{:<14} {:>8} {:>6}  {:<28} {:>7}  levels", "function", "max ulp", "bound", "at", "s");
    let mut passed = true;
    for case in UNARY.iter().filter(|case| chosen(case.name)) {
        passed &=
            report(case.name, case.bound, BLOCKS, step, &|block, worst| unary(case, block, worst));
    }
    for case in BINARY.iter().filter(|case| chosen(case.name)) {
        passed &= report(case.name, case.bound, PAIR_BLOCKS, step, &|block, worst| {
            binary(case, block, worst)
        });
    }
    if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Computes a block of a function, and updates its largest error if requested. Returns a hash.
type Block<'a> = &'a (dyn Fn(u32, Option<&mut Worst>) -> u64 + Sync);

/// Prints the line of a function. Returns whether it is within its bound, and the same at every level.
fn report(name: &str, bound: f64, blocks: u32, step: u32, block: Block) -> bool {
    let start = Instant::now();
    let mut hashes = Vec::new();
    let mut worst = Worst::default();
    for level in CpuLevel::ALL {
        if level.limit() == level {
            // Errors are measured at the baseline. The other levels only have to agree with it.
            let measured = level == CpuLevel::Baseline;
            let (hash, found) = all_blocks(blocks, step, block, measured);
            hashes.push(hash);
            worst = larger(worst, found);
        }
    }
    let same = hashes.iter().all(|hash| *hash == hashes[0]);
    let levels = if same { format!("{} the same", hashes.len()) } else { "DIFFER".to_owned() };
    let passed = worst.error <= bound && same;
    println!(
        "{name:<14} {:>8.4} {bound:>6.2}  {:<28} {:>7.1}  {levels}{}",
        worst.error,
        format!("{:e} {:e}", worst.arguments[0], worst.arguments[1]),
        start.elapsed().as_secs_f64(),
        if passed { "" } else { "  FAILED" },
    );
    passed
}

/// Runs the blocks on every core.
fn all_blocks(blocks: u32, step: u32, block: Block, measured: bool) -> (u64, Worst) {
    let next = AtomicU32::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let work = || {
        let (mut hash, mut worst) = (0_u64, Worst::default());
        loop {
            // Relaxed: no other data is shared.
            let index = next.fetch_add(step, Ordering::Relaxed);
            if index >= blocks {
                return (hash, worst);
            }
            // A sum, so that the order of the blocks does not matter.
            hash = hash.wrapping_add(block(index, measured.then_some(&mut worst)));
        }
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().fold((0_u64, Worst::default()), |(hash, worst), worker| {
            let (its_hash, its_worst) = worker.join().expect("a worker panicked");
            (hash.wrapping_add(its_hash), larger(worst, its_worst))
        })
    })
}

fn unary(case: &Unary, block: u32, worst: Option<&mut Worst>) -> u64 {
    let first = block * BLOCK as u32;
    let inputs: Vec<f32> = (0..BLOCK as u32).map(|step| f32::from_bits(first + step)).collect();
    let mut outputs = vec![0.0; BLOCK];
    (case.ours)(&inputs, &mut outputs);
    if let Some(worst) = worst {
        for (input, output) in inputs.iter().zip(&outputs) {
            let error = error_in_ulp(*output, (case.reference)(f64::from(*input)));
            *worst = larger(*worst, Worst { error, arguments: [*input, 0.0] });
        }
    }
    hash(block, &outputs)
}

fn binary(case: &Binary, block: u32, worst: Option<&mut Worst>) -> u64 {
    let mut random = u64::from(block).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let (first, second): (Vec<f32>, Vec<f32>) =
        (0..BLOCK).map(|index| pair(index, &mut random)).unzip();
    let mut outputs = vec![0.0; BLOCK];
    (case.ours)(&first, &second, &mut outputs);
    if let Some(worst) = worst {
        for ((first, second), output) in first.iter().zip(&second).zip(&outputs) {
            let truth = (case.reference)(f64::from(*first), f64::from(*second));
            let arguments = [*first, *second];
            *worst = larger(*worst, Worst { error: error_in_ulp(*output, truth), arguments });
        }
    }
    hash(block, &outputs)
}

/// Returns two arguments: any, or of about the same magnitude, or of a magnitude near 1, or with a finite power.
fn pair(index: usize, random: &mut u64) -> (f32, f32) {
    let (first, second) = (any(random), any(random));
    match index % 4 {
        0 => (first, second),
        1 => (first, sized(second, first)),
        2 => (sized(first, 1.0), sized(second, 1.0)),
        _ => (first, (f64::from(sized(second, 8.0)) * 9.0 / f64::from(first.abs()).log2()) as f32),
    }
}

/// Returns any bits of an `f32`, by a linear congruence.
fn any(random: &mut u64) -> f32 {
    *random =
        random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    f32::from_bits((*random >> 32) as u32)
}

/// Returns a number with the exponent of another, or with one up to four higher or lower.
fn sized(number: f32, size: f32) -> f32 {
    let bits = number.to_bits();
    let near = ((size.to_bits() >> 23) & 0xff) + ((bits >> 23) & 7);
    f32::from_bits((bits & 0x807f_ffff) | (near.clamp(4, 258) - 4) << 23)
}

fn larger(one: Worst, other: Worst) -> Worst {
    if other.error > one.error { other } else { one }
}

/// Returns a sum of hashes rather than a chain, so that hashing is not slower than the functions.
fn hash(block: u32, outputs: &[f32]) -> u64 {
    let place = |index: usize| ((u64::from(block) << 16) | index as u64) * 2 + 1;
    let terms = outputs.iter().enumerate();
    terms.fold(0, |sum: u64, (index, output)| {
        sum.wrapping_add(
            place(index).wrapping_mul(0x9e37_79b9_7f4a_7c15 ^ u64::from(output.to_bits())),
        )
    })
}
