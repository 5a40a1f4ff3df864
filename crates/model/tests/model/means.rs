//! Limits of the mean of many runs.

use hemiola_model::summary::Summary;
use hemiola_model::uncertain::Verdict::{Kept, Missed, Undecided};

use crate::limits::{jobs, recorded};
use crate::with;

/// A chain of an operation that takes 0.2 ms to 0.3 ms, and has a limit and a measurement `of` it.
fn measured(of: &str, limit: &str, keys: &str) -> String {
    format!(
        "title = \"t\"\n[figures]\nt = {{ low = \"0.2 ms\", high = \"0.3 ms\", source = \"guess\", reason = \"r\" }}\n\
         [components.c.operations.f]\ncost = \"t\"\n[chains.k]\ncalls = [{{ to = \"c.f\" }}]\nprobability = \"60 %\"\n\
         {limit}\n{keys}\nmeasured = [{{ {of}circumstances = \"here\", measured = \"jobs.work.response\" }}]\n"
    )
}

#[test]
fn a_measured_mean_of_jobs_counts_for_a_limit_of_the_mean() {
    // Six of ten jobs take 0.22 ms, the others more: the mean is longer than the time that 60 % keep.
    let longer = jobs(200, 340.0, 0.2, 5);
    let times: Vec<f64> =
        longer.chunks(2).flat_map(|two| [220.0, two[0], 220.0, two[1], 220.0]).collect();
    let mean = times.iter().sum::<f64>() / 500.0;
    assert!((268.0..282.0).contains(&mean), "{mean}");
    let recording = recorded(&times);
    let found = |summary: &Summary, line: usize| {
        let line = &summary.chains[0].budget.lines[line];
        (line.verdict.unwrap(), line.measured_ns.unwrap() / 1e3, line.margin_ns)
    };
    for (of, line, limit) in [
        ("", 0, "deadline = \"LIMIT us\""),
        ("of = \"c.f\", ", 1, "budget = { \"c.f\" = \"LIMIT us\" }"),
    ] {
        let verdict = |us: f64, keys: &str| {
            let limit = limit.replace("LIMIT", &us.to_string());
            found(&with(&measured(of, &limit, keys), Some(&recording)), line)
        };
        let (of_each, time, _) = verdict(265.0, "");
        assert_eq!((of_each, time), (Kept, 220.0));
        let (of_mean, time, margin) = verdict(265.0, "of_mean = true");
        assert_eq!(of_mean, Missed);
        assert!((time - mean).abs() < 0.01 && margin.unwrap() < 0.0, "{time} {margin:?}");
        // The mean keeps it, but its interval does not.
        assert_eq!(verdict(mean + 1.0, "of_mean = true").0, Undecided);
        assert_eq!(verdict(mean + 15.0, "of_mean = true").0, Kept);
        // A mean that keeps the limit does not help if too few jobs do.
        let keys = "of_mean = true".to_owned();
        let of_most = measured(of, &limit.replace("LIMIT", "310"), &keys);
        let of_most = of_most.replace("60 %", "90 %");
        let (of_share, time, _) = found(&with(&of_most, Some(&recording)), line);
        assert_eq!(of_share, Missed);
        assert!(time > mean, "{time}");
    }
}
