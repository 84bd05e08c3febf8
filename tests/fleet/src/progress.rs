//! Shows progress on standard error while the fleet runs: a line that is updated on a terminal, else one every few
//! seconds.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::measure::{Measure, Operation};

/// Interval between lines without a terminal.
const LINE_EVERY: Duration = Duration::from_secs(5);
const RENEW_EVERY: Duration = Duration::from_millis(250);

/// The display.
pub struct Progress {
    bar: Option<ProgressBar>,
    polls_before: u64,
}

impl Progress {
    /// Creates the display for so many inventories.
    pub fn new(inventories: u64) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template("{elapsed_precise} {bar:24} {pos}/{len} known  {msg}");
            ProgressBar::new(inventories).with_style(style.expect("the template is right"))
        });
        Self { bar, polls_before: 0 }
    }

    /// Interval between calls of [`show`](Self::show).
    pub fn every(&self) -> Duration {
        if self.bar.is_some() {
            RENEW_EVERY
        } else {
            LINE_EVERY
        }
    }

    /// Shows the present counts.
    pub fn show(&mut self, measure: &Measure) {
        let (registered, inventories, polls, errors) = measure.counts(|counts| {
            let polls = counts
                .operations
                .get(&Operation::Poll)
                .map_or(0, |timed| timed.count());
            let endings = counts.operations.values().flat_map(|timed| &timed.endings);
            let errors: u64 = endings
                .filter(|(ending, _)| !ending.is_good())
                .map(|(_, count)| count)
                .sum();
            (counts.registered, counts.with_inventory, polls, errors)
        });
        #[expect(clippy::cast_precision_loss, reason = "polls of a moment")]
        let per_second = (polls - self.polls_before) as f64 / self.every().as_secs_f64();
        self.polls_before = polls;
        let lost: u64 = measure
            .phases()
            .iter()
            .filter(|(phase, _)| phase.is_refused())
            .map(|(_, count)| count)
            .sum();
        let text = format!(
            "{registered} registered, {per_second:.0} polls/s, {errors} errors, {lost} lost for ever"
        );
        match &self.bar {
            Some(bar) => {
                bar.set_position(inventories);
                bar.set_message(text);
            }
            None => eprintln!(
                "{:.0} s: {inventories} known, {text}",
                measure.started.elapsed().as_secs_f64()
            ),
        }
    }

    /// Removes the display, before the summary.
    pub fn end(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}
