//! A healthy pair of federates beside each attack: their updates arrive in time, and nothing is kept for the attackers.

use hemiola_hla::Reply;
use hemiola_hla::call::{FederationCall, ObjectCall};
use hemiola_rti_server::Settings;
use hemiola_units::Span;

use crate::federate::{Federate, fom, update};
use crate::world::{World, host};

/// Numbers of updates from here on belong to an attacker.
const FLOOD: u32 = 1 << 20;

/// A publisher that sends one update every five turns, and its subscriber.
pub(crate) struct Pair {
    publisher: Federate,
    subscriber: Federate,
    object: (hemiola_hla::ObjectInstanceHandle, hemiola_hla::AttributeHandle),
    sent: u32,
    /// The turn in which each update was sent.
    sent_in: Vec<u32>,
    turn: u32,
    /// The most turns that an update needed.
    slowest: u32,
}

impl Pair {
    pub(crate) fn join(world: &mut World) -> Self {
        let mut publisher = Federate::join(world, "Healthy");
        let object = publisher.register(world);
        let mut subscriber = Federate::join(world, "Healthy");
        subscriber.subscribe(world);
        subscriber.until(world, |one| one.discovered == 1);
        let (sent_in, turn) = (Vec::new(), 0);
        Self { publisher, subscriber, object, sent: 0, sent_in, turn, slowest: 0 }
    }

    /// Runs one turn of both.
    fn step(&mut self, world: &mut World) {
        self.turn += 1;
        if self.turn.is_multiple_of(5) {
            let call = update(self.object, self.sent, 64);
            self.publisher.send(world, call).expect("the session runs");
            self.sent += 1;
            self.sent_in.push(self.turn);
        }
        self.publisher.step(world);
        self.subscriber.step(world);
        let received = self.received().count();
        if let Some(sent_in) = self.sent_in.get(received) {
            self.slowest = self.slowest.max(self.turn - sent_in);
        }
    }

    /// The numbers of its own updates that have arrived.
    fn received(&self) -> impl Iterator<Item = u32> {
        self.subscriber.values.iter().copied().filter(|number| *number < FLOOD)
    }

    /// Every update arrived exactly once and in order, and each within this many turns.
    pub(crate) fn check(&mut self, world: &mut World, turns_max: u32) {
        for _ in 0..2000 {
            if self.received().count() == self.sent as usize {
                break;
            }
            self.publisher.step(world);
            self.subscriber.step(world);
            world.turn();
        }
        assert!(self.received().eq(0..self.sent), "each update arrives once and in order");
        assert!(self.slowest <= turns_max, "an update took {} turns", self.slowest);
    }
}

pub(crate) fn run(
    world: &mut World,
    pair: &mut Pair,
    turns: u32,
    mut each: impl FnMut(&mut World, u32),
) {
    for turn in 0..turns {
        pair.step(world);
        each(world, turn);
        world.turn();
    }
}

pub(crate) fn settings() -> Settings {
    Settings {
        memory_max: 64 << 20,
        congested_len: 256 << 10,
        backlog_len_max: 4 << 20,
        stall_max: Span::from_millis(500),
        hold_max: Span::from_millis(50),
        idle_resume_window: Span::from_millis(200),
        ..Settings::default()
    }
}

#[test]
fn pipelined_requests_with_long_replies_are_carried_out_only_as_far_as_they_are_read() {
    let mut world = World::new(1, settings());
    let mut pair = Pair::join(&mut world);
    let mut creator = Federate::connect(&mut world);
    for number in 0..64 {
        let federation_name = format!("{number:0>250}");
        let create =
            FederationCall::CreateFederationExecution { federation_name, fom_module: fom() };
        assert_eq!(creator.call(&mut world, create), Ok(Reply::Done));
    }
    let mut attackers: Vec<Federate> = (0..30).map(|_| Federate::connect(&mut world)).collect();
    for attacker in &mut attackers {
        for _ in 0..1500 {
            attacker.send(&world, FederationCall::ListFederationExecutions);
        }
        attacker.appetite = 0;
    }
    let produced = |world: &World| {
        let sessions = world.server.report().sessions;
        let queued: usize = sessions.iter().map(|one| one.backlog_bytes).sum();
        queued as u64 + world.links.written
    };
    let mut before = produced(&world);
    run(&mut world, &mut pair, 400, |world, turn| {
        let now = produced(world);
        assert!(now <= before + (1 << 20), "{} bytes of lists in one turn", now - before);
        before = now;
        for attacker in &mut attackers {
            if turn < 200 {
                attacker.step(world);
            } else {
                attacker.cut(world);
            }
        }
    });
    pair.check(&mut world, 5);
    world.turns(1000);
    let sessions = world.server.report().sessions;
    assert_eq!(sessions.len(), 3, "the attackers' sessions are gone");
    assert!(sessions.iter().all(|session| session.backlog_bytes < 1 << 10));
}

#[test]
fn a_flood_to_a_slow_viewer_does_not_delay_the_other_publisher() {
    let mut world = World::new(2, settings());
    let mut pair = Pair::join(&mut world);
    let mut viewer = Federate::join(&mut world, "Healthy");
    viewer.subscribe(&mut world);
    viewer.appetite = 300; // bytes per millisecond
    let mut flooder = Federate::join(&mut world, "Healthy");
    let object = flooder.register(&mut world);
    let mut number = FLOOD;
    run(&mut world, &mut pair, 3000, |world, _| {
        while flooder.unanswered() < 256 && flooder.end.is_none() {
            flooder.send(world, update(object, number, 256));
            number += 1;
        }
        flooder.step(world);
        viewer.step(world);
    });
    pair.check(&mut world, 5);
    assert_eq!(pair.publisher.unanswered(), 0, "the healthy publisher was not held");
    assert!(number > FLOOD + 3000, "the flood went on: {}", number - FLOOD);
}

#[test]
fn a_call_that_concerns_many_instances_takes_many_turns_and_delays_no_other_session() {
    const INSTANCES: u32 = 5_000;
    let mut world = World::new(6, settings());
    let mut pair = Pair::join(&mut world);
    let mut owner = Federate::join(&mut world, "Bulk");
    let object = owner.register(&mut world);
    let class = owner.class(&mut world).0;
    for _ in 1..INSTANCES {
        let register = ObjectCall::RegisterObjectInstance { object_class: class };
        owner.send(&world, register).expect("the session runs");
    }
    owner.until(&mut world, |owner| owner.unanswered() == 0);
    let mut viewer = Federate::join(&mut world, "Bulk");
    viewer.subscribe(&mut world);
    let mut callbacks = world.server.summary().callbacks;
    let mut bounded = |world: &World| {
        let before = std::mem::replace(&mut callbacks, world.server.summary().callbacks);
        // A turn's work allows for a quarter of its units; the pair and the calls themselves cause a few.
        assert!(callbacks - before <= 700, "{} callbacks in a turn", callbacks - before);
    };
    run(&mut world, &mut pair, 300, |world, _| {
        bounded(world);
        viewer.step(world);
        owner.step(world);
    });
    assert_eq!(viewer.discovered, INSTANCES, "each instance is discovered once");
    let resign_action = Some(hemiola_hla::ResignAction::DeleteObjects);
    let resign = FederationCall::ResignFederationExecution { resign_action };
    let resigned = owner.send(&world, resign).expect("the session runs");
    let late = owner.send(&world, update(object, 1, 4)).unwrap();
    run(&mut world, &mut pair, 300, |world, _| {
        bounded(world);
        viewer.step(world);
        owner.step(world);
    });
    assert_eq!(owner.replies.remove(&resigned), Some(Ok(Reply::Done)));
    assert!(owner.replies.remove(&late).is_some_and(|reply| reply.is_err()), "it has resigned");
    assert_eq!(viewer.removed, INSTANCES, "each instance is removed once");
    pair.check(&mut world, 2);
}

#[test]
fn calls_that_look_at_many_instances_and_tell_nobody_count_as_their_work() {
    const CALLS: u32 = 200;
    let mut world = World::new(9, settings());
    let mut pair = Pair::join(&mut world);
    let mut owner = Federate::join(&mut world, "Bulk");
    let (_, attribute) = owner.register(&mut world);
    let object_class = owner.class(&mut world).0;
    for _ in 1..400 {
        let register = ObjectCall::RegisterObjectInstance { object_class };
        owner.send(&world, register).expect("the session runs");
    }
    owner.until(&mut world, |owner| owner.unanswered() == 0);
    // It owns all of them, so nobody is asked for values.
    for _ in 0..CALLS {
        let request = ObjectCall::RequestClassAttributeValueUpdate {
            object_class,
            attributes: vec![attribute],
            user_supplied_tag: hemiola_hla::Data::new(),
        };
        owner.send(&world, request).expect("the session runs");
    }
    let mut calls = world.server.summary().calls;
    run(&mut world, &mut pair, 50, |world, _| {
        let before = std::mem::replace(&mut calls, world.server.summary().calls);
        // Each looks at 400 instances, which is the work of 20 short calls. The pair makes one call.
        assert!(calls - before <= 256 / 20 + 4, "{} calls in a turn", calls - before);
        owner.step(world);
    });
    assert_eq!(owner.unanswered(), 0, "all are carried out");
    pair.check(&mut world, 2);
}

#[test]
fn federates_that_die_at_once_are_resigned_over_several_turns() {
    let mut world = World::new(7, settings());
    let mut pair = Pair::join(&mut world);
    let mut crowd: Vec<Federate> = (0..60).map(|_| Federate::join(&mut world, "Healthy")).collect();
    for session in world.server.report().sessions.iter().skip(2) {
        world.server.process_ended(hemiola_rti::SessionId(session.number));
    }
    crowd.iter_mut().for_each(|one| one.cut(&mut world));
    let mut count = 62;
    run(&mut world, &mut pair, 60, |world, _| {
        let before = std::mem::replace(&mut count, world.server.report().sessions.len());
        assert!(before - count <= 4, "{} federates are resigned in one turn", before - count);
    });
    assert_eq!(count, 2, "only the pair is left");
    pair.check(&mut world, 2);
}

#[test]
fn sessions_that_are_opened_and_left_do_not_lock_out_newcomers() {
    let mut world = World::new(3, Settings { sessions_max: 16, ..settings() });
    let mut pair = Pair::join(&mut world);
    for _ in 0..100 {
        let mut visitor = Federate::connect(&mut world);
        visitor.cut(&mut world);
        world.turn();
    }
    run(&mut world, &mut pair, 50, |_, _| {});
    Federate::join(&mut world, "Healthy");
    pair.check(&mut world, 2);
}

#[test]
fn connections_that_say_nothing_do_not_lock_out_newcomers() {
    let mut world = World::new(4, Settings { connections_max: 16, ..settings() });
    let mut pair = Pair::join(&mut world);
    for _ in 0..200 {
        assert!(world.connect().is_some());
    }
    Federate::join(&mut world, "Healthy");
    run(&mut world, &mut pair, 50, |_, _| {});
    pair.check(&mut world, 2);
}

#[test]
fn connections_that_end_together_delay_no_session() {
    let mut world = World::new(8, settings());
    let wave: Vec<_> = (0..2000).filter_map(|_| world.connect_from(host(2))).collect();
    let mut pair = Pair::join(&mut world);
    run(&mut world, &mut pair, 50, |_, _| {});
    wave.iter().for_each(|id| world.cut(*id));
    let open = |world: &World| wave.iter().filter(|id| world.is_open(**id)).count();
    let mut before = wave.len();
    run(&mut world, &mut pair, 100, |world, _| {
        let now = open(world);
        assert!(before - now <= 32, "{} connections are closed in one turn", before - now);
        before = now;
    });
    assert_eq!(before, 0, "all are closed");
    pair.check(&mut world, 2);
}

#[test]
fn the_operator_evicts_a_federate_and_destroys_a_federation() {
    let mut world = World::new(5, settings());
    let mut stuck = Federate::join(&mut world, "Stuck");
    stuck.cut(&mut world);
    let ask = |world: &mut World, line: &str| {
        let id = world.connect_locally().unwrap();
        world.send(id, line.as_bytes());
        world.turns(3);
        String::from_utf8(world.take(id, 1 << 16).unwrap_or_default()).unwrap()
    };
    assert!(
        ask(&mut world, "evict 1 nobody\n").starts_with("error there is no session or federate")
    );
    assert!(ask(&mut world, "destroy 1 Nowhere\n").starts_with("error there is no federation"));
    assert_eq!(world.server.report().sessions.len(), 1);
    assert!(ask(&mut world, "destroy 1 Stuck\n").starts_with("ok federation Stuck, 1 federates"));
    world.turns(3);
    let report = world.server.report();
    assert_eq!((report.sessions.len(), report.federations.len()), (0, 0));
    let joined = Federate::join(&mut world, "Other");
    let session = world.server.report().sessions[0].number;
    assert!(ask(&mut world, &format!("evict 1 {session}\n")).starts_with("ok session"));
    world.turns(3);
    assert_eq!(world.server.report().sessions.len(), 0);
    drop(joined);
}
