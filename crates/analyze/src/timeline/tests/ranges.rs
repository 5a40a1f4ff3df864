//! The figures of a stretch of time, and the jobs that lie in it.

use super::*;

#[test]
fn a_long_job_is_listed_wherever_it_is_open() {
    let job = |release, finish| {
        let (deadline, cycle, track) = (Some(release + 50), None, None);
        jobs::Job { release, start: release, finish, deadline, cycle, track, whole: true }
    };
    // One job around all others.
    let short = (0..1000).map(|number| job(100 * number + 10, 100 * number + 20));
    let list: List = [job(0, 100_000)].into_iter().chain(short).collect();
    let numbers = |found: Vec<(usize, Job)>| found.iter().map(|(at, _)| *at).collect::<Vec<_>>();
    assert_eq!(numbers(list.foremost(90_000, 90_200, 9)), [0, 901, 902]);
    assert_eq!(numbers(list.foremost(90_000, 100_001, 4)), [0, 901, 902, 903]);
}
