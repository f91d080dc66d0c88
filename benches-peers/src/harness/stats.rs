//! Minimum and median.

/// Minimum and median of a set of figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Summary {
    pub(crate) min: f64,
    pub(crate) median: f64,
}

impl Summary {
    /// Summarises the samples of one process.
    ///
    /// # Panics
    ///
    /// Panics when the list is empty.
    pub(crate) fn of(samples: &[f64]) -> Summary {
        Summary { min: min(samples.iter().copied()), median: median(samples.to_vec()) }
    }

    /// Summarises processes: the least of their minima, the median of their medians.
    ///
    /// # Panics
    ///
    /// Panics when the list is empty.
    pub(crate) fn of_processes(processes: &[Summary]) -> Summary {
        Summary {
            min: min(processes.iter().map(|process| process.min)),
            median: median(processes.iter().map(|process| process.median).collect()),
        }
    }
}

fn min(figures: impl Iterator<Item = f64>) -> f64 {
    figures.min_by(f64::total_cmp).expect("a figure at least")
}

/// Returns the middle figure, or the mean of the two in the middle.
fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    let middle = figures.len() / 2;
    if figures.len() % 2 == 1 {
        figures[middle]
    } else {
        f64::midpoint(figures[middle - 1], figures[middle])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_process() {
        assert_eq!(Summary::of(&[3.0, 1.0, 2.0]), Summary { min: 1.0, median: 2.0 });
        assert_eq!(Summary::of(&[4.0, 1.0]), Summary { min: 1.0, median: 2.5 });
    }

    #[test]
    fn several_processes() {
        let processes = [
            Summary { min: 1.0, median: 9.0 },
            Summary { min: 2.0, median: 3.0 },
            Summary { min: 0.5, median: 4.0 },
        ];
        assert_eq!(Summary::of_processes(&processes), Summary { min: 0.5, median: 4.0 });
    }
}
