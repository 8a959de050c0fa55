//! Progress on a terminal: what share of the estimated work is done, at what rate, and for how long still.

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

/// A progress bar in estimated work, or nothing where nobody looks.
#[derive(Clone, Debug)]
pub struct Progress {
    bar: ProgressBar,
    /// Cases done.
    cases: Arc<AtomicU64>,
}

impl Progress {
    /// A bar for this many units of estimated work; hidden if `quiet`, or if standard error is no terminal.
    #[must_use]
    pub fn new(units: u64, quiet: bool) -> Self {
        let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(Some(units), target);
        let cases = Arc::new(AtomicU64::new(0));
        let done = Arc::clone(&cases);
        let rate = move |state: &ProgressState, out: &mut dyn Write| {
            let per_second = done.load(Ordering::Relaxed) as f64 / state.elapsed().as_secs_f64().max(1e-3);
            // A bar that cannot be drawn is not worth failing for.
            let _ = write!(out, "{per_second:.1} cases/s");
        };
        let template = "{elapsed_precise} {bar:30} {percent:>3}%  {rate}  {eta} left  {wide_msg}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.with_key("rate", rate));
        }
        Self { bar, cases }
    }

    /// Says what is under way.
    pub fn say(&self, what: String) {
        self.bar.set_message(what);
    }

    /// A case of so many units of estimated work is done.
    pub fn advance(&self, units: u64) {
        self.cases.fetch_add(1, Ordering::Relaxed);
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
