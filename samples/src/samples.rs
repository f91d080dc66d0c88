//! The list of samples.

use crate::gallery::{Kind, Sample, WorldSample};
use crate::{
    battle, boids, chain, dungeon, first_job, galactic_conquest, gravity, hierarchy, life,
    mandelbrot, native_counter, phyllotaxis, rotation, two_stick_shooter,
};

/// All samples: worlds first, then those about jobs alone, each in the order to read them.
pub(crate) const SAMPLES: &[&Sample] = &[
    &battle::SAMPLE,
    &rotation::SAMPLE,
    &two_stick_shooter::SAMPLE,
    &boids::SAMPLE,
    &gravity::SAMPLE,
    &galactic_conquest::SAMPLE,
    &phyllotaxis::SAMPLE,
    &hierarchy::SAMPLE,
    &chain::SAMPLE,
    &dungeon::SAMPLE,
    &native_counter::SAMPLE,
    &first_job::SAMPLE,
    &life::SAMPLE,
    &mandelbrot::SAMPLE,
];

/// Sample that is shown if no name is given.
pub(crate) const DEFAULT: &Sample = &battle::SAMPLE;

/// Finds a sample by name, or returns a sentence that lists all names.
pub(crate) fn find(name: &str) -> Result<&'static Sample, String> {
    SAMPLES.iter().find(|sample| sample.name == name).copied().ok_or_else(|| {
        let names: Vec<_> = SAMPLES.iter().map(|sample| sample.name).collect();
        format!("There is no sample `{name}`; there are {}.", names.join(", "))
    })
}

/// Returns the names and descriptions of all samples.
pub(crate) fn list() -> String {
    let line = |sample: &&Sample| format!("  {:<20}{}\n", sample.name, sample.summary);
    SAMPLES.iter().map(line).collect()
}

/// Returns the meaning, the default and the maximum of `--entities` for each sample.
pub(crate) fn counts() -> String {
    let lines = SAMPLES.iter().filter_map(|sample| {
        let Kind::World(WorldSample { counts, entities, most, .. }) = &sample.kind else {
            return None;
        };
        Some(format!("  {:<20}{counts}: {entities} by default, up to {most}\n", sample.name))
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use ancho::entities::assert_replays;
    use ancho::jobs::JobPool;

    use super::SAMPLES;
    use crate::gallery::{Kind, Options};

    #[test]
    fn names_are_unique_and_can_be_typed() {
        let names: BTreeSet<_> = SAMPLES.iter().map(|sample| sample.name).collect();
        assert_eq!(names.len(), SAMPLES.len());
        for name in names {
            assert!(name.bytes().all(|byte| byte == b'_' || byte.is_ascii_lowercase()), "{name}");
        }
    }

    #[test]
    fn the_help_lists_defaults_and_maxima_of_entities() {
        let counts = super::counts();
        assert!(counts.contains("  dungeon             rooms: 60 by default, up to 10000\n"));
        for sample in SAMPLES {
            let Kind::World(world) = &sample.kind else { continue };
            assert!(world.entities * 10 <= world.most, "{}", sample.name);
        }
    }

    #[test]
    fn each_world_has_the_same_states_after_a_rollback() {
        for workers in [0, 2] {
            let pool = JobPool::builder().workers(workers).build().unwrap();
            for sample in SAMPLES {
                let Kind::World(world) = &sample.kind else { continue };
                let (entities, seed) = (world.entities.min(200), world.seed.unwrap_or_default());
                let mut world =
                    world.world(&Options { entities, seed, pool: pool.clone() }).unwrap();
                (0..5).for_each(|_| world.update(1.0 / 60.0));
                assert_replays(&mut world, 10);
            }
        }
    }

    #[test]
    fn summaries_fit_in_a_line() {
        for sample in SAMPLES {
            assert!(sample.summary.len() <= 80, "{}", sample.name);
        }
    }
}
