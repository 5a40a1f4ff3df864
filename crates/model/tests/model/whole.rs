//! Verdicts on each run where formulas hold parts of calls or several requests to one cache.

use hemiola_model::uncertain::Verdict::{self, Kept, Undecided};

use crate::model;

/// The verdict on a chain of one step with this cost; `c.b` takes 10 ms.
fn verdict(cost: &str, deadline: &str) -> Verdict {
    let source = format!(
        "title = \"t\"\nsamples = 2000\n\
         [figures]\nn = {{ low = 0.3, high = 0.5, source = \"guess\", reason = \"r\" }}\n\
         [caches.q]\nalgorithm = \"lru\"\nsize = \"100 B\"\nobject = \"1 B\"\nhit = \"1 ms\"\nmiss = \"10 ms\"\n\
         simulate = 20000\nrequests = {{ distribution = \"uniform\", objects = 200 }}\n\
         [components.c.operations]\nb = {{ cost = \"10 ms\" }}\nhalf = {{ cost = \"0.5 * c.b\" }}\n\
         some = {{ calls = [{{ to = \"c.b\", times = \"n\" }}] }}\n\
         first = {{ calls = [{{ to = \"q.request\" }}] }}\nsecond = {{ calls = [{{ to = \"q.request\" }}] }}\n\
         [chains.k]\ncalls = [{{ name = \"s\", cost = \"{cost}\" }}]\ndeadline = \"{deadline}\"\n\
         [chains.z]\ncalls = [{{ to = \"c.b\" }}]\n"
    );
    model(&source).chains[0].budget.lines[0].verdict.unwrap()
}

#[test]
fn part_of_a_call_is_none_where_its_time_is_saved() {
    for (cost, deadline) in [
        // Without the call, each takes 20 ms.
        ("20 ms - 40 % * c.b", "17 ms"),
        ("20 ms - n * c.b", "17.5 ms"),
        ("20 ms - c.b / 2", "17 ms"),
        ("20 ms - c.half", "17 ms"),
        ("20 ms - c.some", "17.5 ms"),
        ("20 ms - 0.4 * chain.z", "17 ms"),
        ("20 ms / (1 + 0.4 * c.b / 10 ms)", "15 ms"),
        ("max(20 ms - 0.4 * c.b, 1 ms)", "17 ms"),
        ("20 ms + -(0.4 * c.b)", "17 ms"),
        ("c.b - 0.4 * c.b + 1 ms", "8 ms"),
        // One call saves 15 ms, and two save 30 ms.
        ("min(20 ms, 30 ms - 1.5 * c.b)", "19 ms"),
        // Neither a call nor none is the longest of all.
        ("abs(4 ms - 0.4 * c.b) + 1 ms", "2 ms"),
        // In 60 % of the runs, the limit is 16 ms.
        ("19 ms", "16 ms + 0.4 * c.b"),
        ("19 ms", "16 ms + c.half"),
    ] {
        assert_eq!(verdict(cost, deadline), Undecided, "{cost} within {deadline}");
    }
    for (cost, deadline) in [
        ("20 ms - 40 % * c.b", "20 ms"),
        ("20 ms - c.half", "20 ms"),
        ("20 ms - (10 ms - 0.4 * c.b)", "20 ms"),
        ("20 ms - 2 * c.b", "1 ms"),
        ("10 ms + 0.4 * c.b", "20 ms"),
        ("15 ms", "16 ms + 0.4 * c.b"),
        ("(1 - n) * c.b", "10 ms"),
    ] {
        assert_eq!(verdict(cost, deadline), Kept, "{cost} within {deadline}");
    }
}

#[test]
fn one_of_several_requests_to_a_cache_can_hit_and_another_one_miss() {
    for (cost, deadline) in [
        // Half of the runs have one hit and one miss.
        ("abs(c.first - c.second)", "2 ms"),
        ("max(c.first, c.second) - min(c.first, c.second)", "2 ms"),
        ("q.request + (11 ms - q.request)", "12 ms"),
        // Half of the runs do without the request.
        ("20 ms - 0.5 * q.request", "19.8 ms"),
    ] {
        assert_eq!(verdict(cost, deadline), Undecided, "{cost} within {deadline}");
    }
    for (cost, deadline) in [
        ("c.first + c.second", "20 ms"),
        ("max(c.first, c.second)", "10 ms"),
        ("20 ms - min(c.first, c.second)", "19 ms"),
        ("10 ms - 9 ms * q.hit_ratio", "10 ms"),
    ] {
        assert_eq!(verdict(cost, deadline), Kept, "{cost} within {deadline}");
    }
}
