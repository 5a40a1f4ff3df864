//! How far the mean of a value may be from that of its samples.

use hemiola_stats::student_quantile;

use super::predicted::{CONFIDENCE, MEAN_SCORE, Predicted};

impl Predicted {
    /// How far the true mean may be from [`Predicted::mean`], for any systematic offset, the finite number of samples,
    /// and at least so many recorded `jobs` behind a figure; infinite if the samples do not tell.
    pub(crate) fn mean_within(&self, jobs: Option<u64>) -> f64 {
        let [least, greatest] = match &self.extremes {
            Some([least, greatest]) => [least, greatest],
            None => [&self.central, &self.central],
        };
        if self.lacks_tail() || least.undefined() + greatest.undefined() > 0 {
            return f64::INFINITY;
        }
        let error = MEAN_SCORE * self.std / (self.central.count() as f64).sqrt();
        let of_jobs = jobs.map_or(0.0, |jobs| {
            let freedom = jobs.saturating_sub(1) as f64;
            let is_known = freedom > 0.0;
            let score = if is_known {
                student_quantile(f64::midpoint(1.0, CONFIDENCE), freedom)
            } else {
                f64::INFINITY
            };
            if self.std == 0.0 { 0.0 } else { score * self.std / (jobs.max(1) as f64).sqrt() }
        });
        let missed = self.search.as_ref().map_or(0.0, |search| search.slack);
        let above = greatest.mean().most() - self.mean;
        let below = self.mean - least.mean().value + error;
        let within = above.max(below) + of_jobs + missed;
        if within.is_finite() { within.max(0.0) } else { f64::INFINITY }
    }
}
