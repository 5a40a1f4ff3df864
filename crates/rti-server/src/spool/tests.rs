//! The spool against a list of everything that was pushed.

use hemiola_hla::data::Retraction;
use hemiola_hla::{Data, FederateHandle, LogicalTime, MessageRetractionHandle};
use hemiola_units::Random;

use super::*;

fn message(number: u32) -> Message {
    Message { answers: None, body: Data::from(number.to_be_bytes().to_vec()) }
}

fn number(message: &Message) -> u32 {
    u32::from_be_bytes(message.body[..].try_into().unwrap())
}

fn key(instance: u32) -> Key {
    let values = vec![(AttributeHandle::new(1), Data::new())];
    Key::new(ObjectInstanceHandle::new(u64::from(instance)), &values)
}

/// The messages that were pushed, and what the rule of conflation allows to come out.
#[derive(Default)]
struct Oracle {
    pushed: Vec<Option<u32>>,
    popped: Vec<u32>,
}

impl Oracle {
    fn check(&self) {
        assert!(self.popped.is_sorted_by(|a, b| a < b), "a subsequence, in order");
        for (number, key) in (0..).zip(&self.pushed) {
            let has_arrived = self.popped.binary_search(&number).is_ok();
            let is_newest = key.is_some() && !self.pushed[number as usize + 1..].contains(key);
            assert!(has_arrived || (key.is_some() && !is_newest), "{number} with {key:?} is lost");
        }
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
                let of = (random.below(3) > 0).then(|| random.below(5) as u32);
                spool.push(message(oracle.pushed.len() as u32), of.map(key));
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
        assert!(spool.places.is_empty() && (spool.memory(), spool.file_len()) == (0, 0));
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

#[test]
fn an_instance_that_is_updated_all_the_time_is_not_starved() {
    let mut spool = Spool::default();
    spool.push(message(0), None);
    for number in 1..100 {
        spool.push(message(number), Some(key(1)));
    }
    let popped: Vec<u32> = std::iter::from_fn(|| spool.pop()).map(|one| number(&one)).collect();
    assert_eq!(popped, [0, 1, 99]);
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
