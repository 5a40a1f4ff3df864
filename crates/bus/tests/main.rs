//! Every backend passes the conformance suite; impossible requests are refused.

mod refusals;

use hemiola_bus::conformance;
use hemiola_units::{Delivery, Endpoint};

/// The other end of a channel, when the suite runs this binary again.
#[test]
fn child() {
    conformance::child();
}

fn latest() -> Delivery {
    Delivery::Latest
}

fn queue() -> Delivery {
    // The longest queue that every kernel allows by default (fs.mqueue.msg_max).
    Delivery::Queue(10.try_into().unwrap())
}

/// One test per rule of the suite, for one backend and delivery.
macro_rules! passes {
    ($module:ident, $endpoint:literal, $delivery:ident: $($rule:ident)*) => {
        mod $module {
            $(#[test]
            fn $rule() {
                let endpoint: super::Endpoint = $endpoint.parse().unwrap();
                super::conformance::$rule(&endpoint, super::$delivery());
            })*
        }
    };
}

/// The rules for channels within one process or between several.
macro_rules! passes_latest {
    ($module:ident, $endpoint:literal $($rule:ident)*) => {
        passes!($module, $endpoint, latest: empty_gives_nothing warming_up_moves_nothing latest_gives_the_newest_once
            wrong_sizes_are_refused wait_times_out wait_wakes torn_messages_are_never_seen
            two_runs_do_not_meet $($rule)*);
    };
}

macro_rules! passes_queue {
    ($module:ident, $endpoint:literal $($rule:ident)*) => {
        passes!($module, $endpoint, queue: empty_gives_nothing warming_up_moves_nothing queue_keeps_order
            full_queue_refuses_and_loses_nothing wrong_sizes_are_refused wait_times_out wait_wakes
            torn_messages_are_never_seen two_runs_do_not_meet $($rule)*);
    };
}

passes_latest!(local_latest, "local:it");
passes_queue!(local_queue, "local:it");

passes_latest!(shm_latest, "shm:it" every_receiver_gets_the_newest successor_of_a_killed_sender_takes_over
    successor_of_a_killed_receiver_takes_over leftovers_of_a_killed_run_are_swept);
passes_queue!(shm_queue, "shm:it" successor_of_a_killed_sender_takes_over successor_of_a_killed_receiver_takes_over
    leftovers_of_a_killed_run_are_swept);
passes_latest!(mq_latest, "mq:it" successor_of_a_killed_sender_takes_over successor_of_a_killed_receiver_takes_over
    leftovers_of_a_killed_run_are_swept);
passes_queue!(mq_queue, "mq:it" successor_of_a_killed_sender_takes_over successor_of_a_killed_receiver_takes_over
    leftovers_of_a_killed_run_are_swept);
#[cfg(feature = "pubsub")]
passes_latest!(pubsub_latest, "pubsub:it" every_receiver_gets_the_newest successor_of_a_killed_sender_takes_over
    successor_of_a_killed_receiver_takes_over leftovers_of_a_killed_run_are_swept);
#[cfg(feature = "pubsub")]
passes_queue!(pubsub_queue, "pubsub:it" successor_of_a_killed_sender_takes_over
    successor_of_a_killed_receiver_takes_over leftovers_of_a_killed_run_are_swept);
