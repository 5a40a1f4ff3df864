//! How far the mean of a value may be from that of its samples.

use super::predicted::{Errors, Predicted};

impl Predicted {
    /// How far the true mean may be from [`Predicted::mean`], for any systematic offset, the finite number of samples,
    /// and at least so many recorded `jobs` behind a figure; infinite if the samples do not tell.
    pub(crate) fn mean_within(&self, jobs: Option<u64>) -> f64 {
        let [least, greatest] = self.ends();
        if self.lacks_tail() || least.undefined() + greatest.undefined() > 0 {
            return f64::INFINITY;
        }
        let error = Errors::of_samples(self.central.count()).below(self.std);
        let of_jobs = jobs.map_or(0.0, |jobs| Errors::of_jobs(jobs).below(self.std));
        let missed = self.search.as_ref().map_or(0.0, |search| search.slack);
        let above = greatest.mean().most() - self.mean;
        let below = self.mean - least.mean().value + error;
        let within = above.max(below) + of_jobs + missed;
        if within.is_finite() { within.max(0.0) } else { f64::INFINITY }
    }
}
