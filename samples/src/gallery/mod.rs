//! Shared code of all samples: their definition, and running, checking and showing them.

mod bisect;
mod canvas;
mod check;
mod picture;
mod quiet;
mod run;
mod sample;
mod show;
mod summary;
mod terminal;
#[cfg(test)]
pub(crate) mod tests;
mod world_file;

pub(crate) use bisect::bisect;
pub(crate) use canvas::{Canvas, Color};
pub(crate) use check::check;
#[cfg(test)]
pub(crate) use check::{hash_in_all_cases, same_hash_in_all_cases};
pub(crate) use run::{Run, STEP};
pub(crate) use sample::{
    JobSample, Key, Kind, Options, Sample, SampleResult, Stage, Steering, WorldSample,
};
pub(crate) use show::{Show, View, show};
pub(crate) use summary::Summary;
