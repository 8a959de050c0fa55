//! The bounds of the timings, from the plan and the machine.

use chash_metrics::timing::Timing;

use super::machine;
use crate::plan::Plan;

/// The plan's bounds, with `cold_bytes = 0` replaced by 8 times the second-level cache. What `null`
/// takes is not known yet.
#[must_use]
pub fn of(plan: &Plan) -> Timing {
    let bounds = &plan.timing;
    let cold_bytes = match bounds.cold_bytes {
        0 => 8 * machine::second_level_cache_bytes(),
        bytes => bytes,
    };
    Timing {
        samples: bounds.samples as usize,
        sample_ns: bounds.sample_ns,
        warm_up_ns: bounds.warm_up_ns,
        setting_ns: bounds.setting_ns,
        percentile_samples: bounds.percentile_samples as usize,
        percentile_ns: bounds.percentile_ns,
        update_samples: bounds.update_samples as usize,
        update_ns: bounds.update_ns,
        cold_lookups: bounds.cold_lookups as usize,
        cold_bytes: cold_bytes as usize,
        threads: bounds.threads.iter().map(|threads| *threads as usize).collect(),
        ..Timing::default()
    }
}
