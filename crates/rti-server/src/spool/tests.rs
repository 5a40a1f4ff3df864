//! The spool against a list of everything that was pushed.

use hemiola_hla::data::Retraction;
use hemiola_hla::{Data, FederateHandle, LogicalTime, MessageRetractionHandle};
use hemiola_units::Random;

use super::*;

fn message(number: u32) -> Message {
    Message { answers: None, body: Data::from(number.to_be_bytes().to_vec()).into() }
}

fn number(message: &Message) -> u32 {
    u32::from_be_bytes(message.body.first()[..].try_into().unwrap())
}

/// A message of a test.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Of {
    /// Best-effort values of an attribute of an instance.
    Value(u64, u32),
    /// A reliable update of an instance.
    Update(u64),
    Interaction,
    /// Anything else.
    Other,
}

impl Of {
    fn any(random: &mut Random) -> Self {
        match random.below(16) {
            of @ 0..9 => Self::Value(of, 1),
            of @ 9..12 => Self::Value(1, of as u32),
            12 => Self::Update(1),
            13 => Self::Update(2),
            14 => Self::Interaction,
            _ => Self::Other,
        }
    }

    fn passing(self) -> Passing {
        match self {
            Self::Value(instance, attribute) => {
                let values = vec![(AttributeHandle::new(attribute), Data::new())];
                Passing::Value(Key::new(ObjectInstanceHandle::new(instance), &values))
            }
            Self::Update(instance) => Passing::Others(Some(ObjectInstanceHandle::new(instance))),
            Self::Interaction => Passing::Others(None),
            Self::Other => Passing::Never,
        }
    }

    const fn is_value(self) -> bool {
        matches!(self, Self::Value(..))
    }

    /// Whether this value may arrive before a message that was sent earlier.
    const fn may_overtake(self, earlier: Self) -> bool {
        match (self, earlier) {
            (Self::Value(one, _), Self::Value(other, _) | Self::Update(other)) => one != other,
            (Self::Value(..), Self::Interaction) => true,
            _ => false,
        }
    }
}

/// The messages that were pushed, and what the rule of conflation allows to come out.
#[derive(Default)]
struct Oracle {
    pushed: Vec<Of>,
    popped: Vec<u32>,
}

impl Oracle {
    fn check(&self) {
        for (number, of) in (0..).zip(&self.pushed) {
            let has_arrived = self.popped.contains(&number);
            let is_newest = !self.pushed[number as usize + 1..].contains(of);
            assert!(has_arrived || (of.is_value() && !is_newest), "{number}, a {of:?}, is lost");
        }
        for (at, later) in self.popped.iter().enumerate() {
            for sooner in self.popped[..at].iter().filter(|sooner| *sooner >= later) {
                assert!(self.may_overtake(*sooner, *later), "{sooner} overtakes {later}");
            }
        }
    }

    /// Whether a message may arrive before one that was pushed earlier, and everything that was pushed between them.
    fn may_overtake(&self, number: u32, earlier: u32) -> bool {
        let value = self.pushed[number as usize];
        let between = &self.pushed[earlier as usize..number as usize];
        let may_be_overtaken = |one: &Of| value.may_overtake(*one) || *one == value;
        number > earlier && value.may_overtake(between[0]) && between.iter().all(may_be_overtaken)
    }
}

#[test]
fn a_spool_loses_nothing_but_updates_that_a_newer_one_follows() {
    for seed in 0..2000 {
        let mut random = Random::from_seed(seed);
        let (mut spool, mut oracle) = (Spool::default(), Oracle::default());
        let mut file: BTreeMap<u64, (SpoolChunk, bool)> = BTreeMap::new();
        let pop_every = 1 + random.below(4);
        for step in 0..300 {
            if step < 250 {
                let of = Of::any(&mut random);
                spool.push(message(oracle.pushed.len() as u32), of.passing());
                oracle.pushed.push(of);
            }
            if step >= 250 || random.below(pop_every) == 0 {
                oracle.popped.extend(spool.pop().iter().map(number));
            }
            if random.below(8) == 0
                && let Some((chunk, messages)) = spool.take_chunk(500)
            {
                file.insert(chunk, (messages, false));
            }
            for (chunk, (_, is_written)) in &mut file {
                if !*is_written && random.below(3) == 0 {
                    spool.stored(*chunk);
                    *is_written = true;
                }
            }
            read(&mut spool, &mut file);
            spool.check_invariants();
        }
        while !spool.is_empty() {
            for (chunk, (_, is_written)) in &mut file {
                if !std::mem::replace(is_written, true) {
                    spool.stored(*chunk);
                }
            }
            read(&mut spool, &mut file);
            oracle.popped.extend(spool.pop().iter().map(number));
        }
        assert!(spool.places.is_empty() && spool.latest.is_empty());
        assert_eq!((spool.memory(), spool.file_len()), (0, 0));
        oracle.check();
    }
}

fn read(spool: &mut Spool, file: &mut BTreeMap<u64, (SpoolChunk, bool)>) {
    if let Some(chunk) = spool.next_to_read() {
        let (messages, is_written) = file.remove(&chunk).unwrap();
        assert!(is_written);
        let copy = SpoolChunk::from_bytes(messages.to_bytes()).unwrap();
        assert!(spool.loaded(chunk, &copy));
    }
}

/// Pushes messages numbered from 0, and returns what comes out.
fn pushed(messages: &[Of]) -> Vec<u32> {
    let mut spool = Spool::default();
    for (number, of) in (0..).zip(messages) {
        spool.push(message(number), of.passing());
        spool.check_invariants();
    }
    std::iter::from_fn(|| spool.pop()).map(|one| number(&one)).collect()
}

const ONE: Of = Of::Value(1, 1);

#[test]
fn the_oldest_unsent_value_is_dropped_and_the_newest_has_its_place() {
    assert_eq!(pushed(&[Of::Other, ONE, ONE, ONE, Of::Other]), [0, 3, 4]);
    let other = Of::Value(2, 1);
    assert_eq!(pushed(&[ONE, other, ONE, other, ONE]), [4, 3]);
    assert_eq!(pushed(&[ONE, Of::Interaction, Of::Update(2), ONE]), [3, 1, 2]);
}

#[test]
fn a_value_overtakes_no_update_of_its_instance_and_nothing_but_updates_and_interactions() {
    assert_eq!(pushed(&[ONE, Of::Other, ONE, ONE, Of::Other, ONE]), [0, 1, 4, 5]);
    assert_eq!(pushed(&[ONE, Of::Update(1), ONE, ONE]), [0, 1, 3]);
    let heading = Of::Value(1, 2);
    assert_eq!(pushed(&[ONE, heading, ONE, ONE, heading]), [0, 1, 3, 4]);
}

#[test]
fn a_value_that_leaves_is_the_newest_unless_a_newer_one_had_to_stay_behind_something() {
    for seed in 0..500 {
        let mut random = Random::from_seed(seed);
        let (mut spool, mut oracle) = (Spool::default(), Oracle::default());
        for _ in 0..300 {
            for _ in 0..random.below(8) {
                let of = Of::any(&mut random);
                spool.push(message(oracle.pushed.len() as u32), of.passing());
                oracle.pushed.push(of);
            }
            let Some(left) = spool.pop().map(|one| number(&one) as usize) else { continue };
            let (of, after) = (oracle.pushed[left], &oracle.pushed[left + 1..]);
            let newer = after.iter().position(|one| *one == of).filter(|_| of.is_value());
            let has_passed =
                newer.is_some_and(|at| after[..at].iter().all(|one| of.may_overtake(*one)));
            assert!(!has_passed, "{left} is stale, seed {seed}");
        }
    }
}

#[test]
fn instances_that_are_updated_faster_than_the_queue_drains_are_served_in_turn() {
    const INSTANCES: u32 = 100;
    let mut spool = Spool::default();
    let mut popped = Vec::new();
    for number in 0..50 * INSTANCES {
        let of = Of::Value(u64::from(number % INSTANCES), 1);
        spool.push(message(number), of.passing());
        if number % 10 == 9 {
            popped.extend(spool.pop().map(|one| self::number(&one) % INSTANCES));
        }
    }
    for turn in popped.chunks_exact(INSTANCES as usize) {
        let mut served = turn.to_vec();
        served.sort_unstable();
        assert!(served.into_iter().eq(0..INSTANCES), "not each once: {turn:?}");
    }
}

#[test]
fn the_order_of_attributes_does_not_matter_for_a_key() {
    let values = |attributes: [u32; 2]| -> AttributeValues {
        attributes.map(|one| (AttributeHandle::new(one), Data::new())).to_vec()
    };
    let instance = ObjectInstanceHandle::new(1);
    assert_eq!(Key::new(instance, &values([1, 2])), Key::new(instance, &values([2, 1])));
    assert_ne!(Key::new(instance, &values([1, 2])), Key::new(instance, &values([1, 3])));
}

#[test]
fn what_is_sent_in_time_stamp_order_must_arrive() {
    let reflect =
        |sent_order_type, retraction: Retraction| Callback::ReflectAttributeValuesWithTime {
            object_instance: ObjectInstanceHandle::new(1),
            attribute_values: vec![],
            user_supplied_tag: Data::new(),
            transportation_type: TransportationTypeHandle::new(2),
            producing_federate: FederateHandle::new(1),
            sent_regions: None,
            time: LogicalTime::float(1.0).unwrap().into(),
            sent_order_type,
            received_order_type: OrderType::Receive,
            retraction,
        };
    let retraction = Some(MessageRetractionHandle::new(1));
    assert!(Dispensable::new(&reflect(OrderType::Receive, None)).is_some());
    assert!(Dispensable::new(&reflect(OrderType::TimeStamp, None)).is_none());
    assert!(Dispensable::new(&reflect(OrderType::TimeStamp, retraction)).is_none());
}
