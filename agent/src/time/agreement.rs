//! Chooses the time sources to trust: the largest group with overlapping intervals, if it is a majority. States
//! are chrony's, which the protocol uses (docs/protocol/agent-protocol.md#6, `ntp-synchronizer`).

use muster_api::steps::NtpSourceState;

/// Error allowed beyond half of the round trip, seconds: dispersion that a single measurement does not show.
const ALLOWED: f64 = 0.1;
/// A source this many times less certain than the best one is not combined with it.
const COMBINE_LIMIT: f64 = 3.0;

/// The measurement of one source.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measurement {
    /// Seconds that the local clock is behind the source.
    pub offset: f64,
    /// Round trip, seconds.
    pub delay: f64,
    /// Distance from a reference clock, 1 to 15.
    pub stratum: u8,
}

impl Measurement {
    fn uncertainty(&self) -> f64 {
        self.delay.abs() / 2.0 + ALLOWED
    }

    fn claims(&self, offset: f64) -> bool {
        (self.offset - offset).abs() <= self.uncertainty()
    }

    /// Smaller is better: a stratum weighs as much as a second of uncertainty.
    fn distance(&self) -> f64 {
        f64::from(self.stratum) + self.uncertainty()
    }
}

/// The state of each source, in the order given. `None` is a source that did not respond.
pub fn states(measurements: &[Option<Measurement>]) -> Vec<NtpSourceState> {
    let chosen = best(measurements);
    measurements
        .iter()
        .enumerate()
        .map(|(index, measurement)| match (measurement, chosen) {
            (None, _) => NtpSourceState::Unreachable,
            (Some(_), Some(best)) if best == index => NtpSourceState::Synced,
            (Some(one), Some(best)) => match measurements[best] {
                Some(best) if !agree(one, &best) => NtpSourceState::Error,
                Some(best) if one.uncertainty() > COMBINE_LIMIT * best.uncertainty() => {
                    NtpSourceState::NotCombined
                }
                _ => NtpSourceState::Combined,
            },
            (Some(_), None) => NtpSourceState::Error,
        })
        .collect()
}

/// The source to follow: the best one of a majority that agrees; `None` without a majority.
pub fn best(measurements: &[Option<Measurement>]) -> Option<usize> {
    let answered: Vec<(usize, Measurement)> = measurements
        .iter()
        .enumerate()
        .filter_map(|(index, one)| one.map(|one| (index, one)))
        .collect();
    // The point that most intervals cover is an edge of one of them.
    let edges = answered.iter().flat_map(|(_, one)| {
        [
            one.offset - one.uncertainty(),
            one.offset + one.uncertainty(),
            one.offset,
        ]
    });
    let group = edges
        .map(|edge| {
            answered
                .iter()
                .filter(|(_, one)| one.claims(edge))
                .copied()
                .collect::<Vec<_>>()
        })
        .max_by_key(Vec::len)?;
    if group.len() * 2 <= answered.len() {
        return None;
    }
    group
        .into_iter()
        .min_by(|(_, a), (_, b)| a.distance().total_cmp(&b.distance()))
        .map(|(index, _)| index)
}

fn agree(a: &Measurement, b: &Measurement) -> bool {
    (a.offset - b.offset).abs() <= a.uncertainty() + b.uncertainty()
}

#[cfg(test)]
mod tests {
    use NtpSourceState::{Combined, Error, NotCombined, Synced, Unreachable};

    use super::*;

    fn says(offset: f64, delay: f64, stratum: u8) -> Option<Measurement> {
        Some(Measurement {
            offset,
            delay,
            stratum,
        })
    }

    #[test]
    fn the_lowest_stratum_of_those_that_agree_is_followed() {
        let measurements = [says(1.0, 0.02, 3), says(1.01, 0.05, 2), says(1.0, 0.9, 2), None];
        assert_eq!(
            states(&measurements),
            [Combined, Synced, NotCombined, Unreachable]
        );
    }

    #[test]
    fn one_that_lies_is_an_error() {
        let measurements = [says(900.0, 0.01, 1), says(0.0, 0.02, 3), says(0.01, 0.02, 2)];
        assert_eq!(states(&measurements), [Error, Combined, Synced]);
    }

    #[test]
    fn without_a_majority_no_source_is_trusted() {
        assert_eq!(
            states(&[says(900.0, 0.01, 1), says(0.0, 0.02, 3)]),
            [Error, Error]
        );
    }

    #[test]
    fn one_source_alone_is_believed_and_none_is_nothing() {
        assert_eq!(states(&[says(900.0, 0.01, 4)]), [Synced]);
        assert_eq!(states(&[None, None]), [Unreachable, Unreachable]);
        assert!(states(&[]).is_empty());
    }
}
