//! Progress on a terminal: what share of the estimated work is done, at what rate, and for how long still.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A progress bar in estimated work, or nothing where nobody looks.
#[derive(Clone, Debug)]
pub struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// A bar for this many units of estimated work; hidden if `quiet`, or if standard error is no terminal.
    #[must_use]
    pub fn new(units: u64, quiet: bool) -> Self {
        let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(Some(units), target);
        let style = ProgressStyle::with_template(
            "{elapsed_precise} {wide_bar} {percent:>3}% {per_sec} eta {eta} {msg}",
        );
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self { bar }
    }

    /// Says what is under way.
    pub fn say(&self, what: String) {
        self.bar.set_message(what);
    }

    /// So much of the estimated work is done.
    pub fn advance(&self, units: u64) {
        self.bar.inc(units);
    }

    /// Writes a line to standard error without tearing the bar.
    pub fn warn(&self, line: &str) {
        self.bar.suspend(|| eprintln!("{line}"));
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
