//! A federate's connection to its federation: joining, and the few services that a cycle uses.

use std::collections::BTreeMap;

use hemiola_federate::{Error, Federate, Joining, Options};
use hemiola_hla::data::{Data, FomModule};
use hemiola_hla::{
    AttributeHandle, Callback, Exception, InteractionClassHandle, LogicalInterval, LogicalTime,
    ObjectClassHandle, ObjectInstanceHandle, ParameterHandle, ResignAction, TimeImplementation,
};
use hemiola_rt::clock::{Clock, MonotonicClock};
use hemiola_scenario::Exchange;
use hemiola_trace::result::Synchronization;
use hemiola_units::{Instant, RtiAddress, Span};

use super::fom;

/// Time limit for connecting to an RTI that was just started.
const CONNECT_WITHIN: Span = Span::from_millis(5_000);
/// Time limit for the other federates to join.
const JOIN_WITHIN: Span = Span::from_millis(15_000);

/// An event that the federation delivers.
pub(super) enum Event {
    /// The master begins a cycle, which was due at this instant of the machine's clock.
    Pulse { number: u64, release: Instant },
    /// The requested logical time is granted.
    Granted,
    /// A message of the exchange with this number arrived.
    Message(usize, Data),
    /// The run is over.
    Over,
}

/// The connection of one federate.
pub(super) struct Link {
    federate: Federate,
    pulse: InteractionClassHandle,
    cycle: ParameterHandle,
    over: InteractionClassHandle,
    /// The instance that this federate updates; `None` when it sends nothing.
    instance: Option<ObjectInstanceHandle>,
    /// The attribute of each outgoing exchange, by the exchange's number.
    outgoing: BTreeMap<usize, AttributeHandle>,
    /// The exchange that the one subscribed attribute of each instance belongs to.
    incoming: BTreeMap<ObjectInstanceHandle, usize>,
}

/// The data that a federate needs to join.
pub(super) struct Membership<'j> {
    pub(super) address: &'j RtiAddress,
    /// The name of the federation execution.
    pub(super) execution: &'j str,
    /// The name of this federate.
    pub(super) name: &'j str,
    pub(super) exchanges: &'j [Exchange],
    pub(super) sync: Synchronization,
    pub(super) is_master: bool,
    /// The lookahead under time management: the federate's cycle.
    pub(super) lookahead: Span,
}

impl Link {
    /// Connects, joins, declares, waits for every sender, and enables time management.
    pub(super) fn join(member: &Membership<'_>) -> Result<Self, String> {
        let mut link = Self::connect(member).map_err(|error| error.to_string())?;
        link.find_senders(member)?;
        if member.sync == Synchronization::TimeManagement {
            link.manage_time(member.lookahead).map_err(|error| error.to_string())?;
        }
        // The other federates' first messages must find this federate's declarations.
        link.federate.confirm().map_err(|error| error.to_string())?;
        Ok(link)
    }

    fn connect(member: &Membership<'_>) -> Result<Self, Error> {
        let options = Options { connect_timeout: CONNECT_WITHIN, ..Options::default() };
        let mut federate = Federate::connect(member.address, options)?;
        let module = FomModule::File {
            name: "formation.xml".into(),
            content: fom::module(member.exchanges).into(),
        };
        let time = TimeImplementation::Integer64;
        match federate.create_federation_execution(member.execution, &[module], time) {
            Err(error)
                if error.exception() == Some(Exception::FederationExecutionAlreadyExists) => {}
            created => created?,
        }
        federate.join_federation_execution(
            Joining::new(member.name, member.execution).named(member.name),
        )?;
        let (pulse, cycle) = fom::PULSE;
        let pulse =
            federate.get_interaction_class_handle(&format!("HLAinteractionRoot.{pulse}"))?;
        let cycle = federate.get_parameter_handle(pulse, cycle)?;
        let over =
            federate.get_interaction_class_handle(&format!("HLAinteractionRoot.{}", fom::OVER))?;
        for interaction_class in [pulse, over] {
            if member.is_master {
                federate.publish_interaction_class(interaction_class)?;
            } else {
                federate.subscribe_interaction_class(interaction_class)?;
            }
        }
        let mut link = Self {
            federate,
            pulse,
            cycle,
            over,
            instance: None,
            outgoing: BTreeMap::new(),
            incoming: BTreeMap::new(),
        };
        link.publish(member)?;
        Ok(link)
    }

    /// Publishes the attributes that this federate sends and registers its instance.
    fn publish(&mut self, member: &Membership<'_>) -> Result<(), Error> {
        for (number, exchange) in member.exchanges.iter().enumerate() {
            if exchange.from == member.name {
                let (_, attribute) = self.attribute(exchange)?;
                self.outgoing.insert(number, attribute);
            }
        }
        if self.outgoing.is_empty() {
            return Ok(());
        }
        let object_class = self.class(member.name)?;
        let attributes: Vec<_> = self.outgoing.values().copied().collect();
        self.federate.publish_object_class_attributes(object_class, &attributes)?;
        self.instance = Some(self.federate.register_object_instance(object_class)?);
        Ok(())
    }

    /// Subscribes to what this federate receives, and waits until every sender has joined.
    fn find_senders(&mut self, member: &Membership<'_>) -> Result<(), String> {
        let mut missing: BTreeMap<ObjectClassHandle, (usize, &str)> = BTreeMap::new();
        for (number, exchange) in member.exchanges.iter().enumerate() {
            if exchange.to == member.name {
                let class = self.subscribe(exchange).map_err(|error| error.to_string())?;
                missing.insert(class, (number, &exchange.from));
            }
        }
        let until = MonotonicClock.now() + JOIN_WITHIN;
        while let Some((_, (_, sender))) = missing.first_key_value() {
            let callback = self.federate.evoke_until(until).map_err(|error| error.to_string())?;
            match callback {
                Some(Callback::DiscoverObjectInstance {
                    object_instance, object_class, ..
                }) => {
                    if let Some((number, _)) = missing.remove(&object_class) {
                        self.incoming.insert(object_instance, number);
                    }
                }
                Some(_) => {}
                None => return Err(format!("\"{sender}\" did not join within {JOIN_WITHIN}")),
            }
        }
        Ok(())
    }

    fn subscribe(&mut self, exchange: &Exchange) -> Result<ObjectClassHandle, Error> {
        let (class, attribute) = self.attribute(exchange)?;
        self.federate.subscribe_object_class_attributes(class, &[attribute])?;
        Ok(class)
    }

    /// Becomes regulating and constrained, and accepts messages without a time stamp at any time.
    fn manage_time(&mut self, lookahead: Span) -> Result<(), Error> {
        let lookahead = LogicalInterval::integer(lookahead.nanos())?;
        self.federate.enable_time_regulation_and_wait(lookahead)?;
        self.federate.enable_time_constrained_and_wait()?;
        self.federate.enable_asynchronous_delivery()
    }

    fn class(&mut self, federate: &str) -> Result<ObjectClassHandle, Error> {
        self.federate.get_object_class_handle(&format!("HLAobjectRoot.{}", fom::name(federate)))
    }

    /// The class of an exchange's sender and the attribute in it for the receiver.
    fn attribute(
        &mut self,
        exchange: &Exchange,
    ) -> Result<(ObjectClassHandle, AttributeHandle), Error> {
        let class = self.class(&exchange.from)?;
        let attribute = self.federate.get_attribute_handle(class, &fom::name(&exchange.to))?;
        Ok((class, attribute))
    }

    /// The next event, waiting for it at most this long.
    pub(super) fn next(&mut self, at_most: Span) -> Result<Option<Event>, Error> {
        // Callbacks that are no event are skipped; how many there are is bounded by the queue.
        while let Some(callback) = self.federate.evoke(at_most)? {
            if let Some(event) = self.event(callback) {
                return Ok(Some(event));
            }
        }
        Ok(None)
    }

    fn event(&self, callback: Callback) -> Option<Event> {
        match callback {
            Callback::ReflectAttributeValues { object_instance, attribute_values, .. }
            | Callback::ReflectAttributeValuesWithTime {
                object_instance, attribute_values, ..
            } => {
                let number = self.incoming.get(&object_instance);
                let value = attribute_values.into_iter().next();
                number.zip(value).map(|(number, (_, data))| Event::Message(*number, data))
            }
            Callback::ReceiveInteraction { interaction_class, parameter_values, .. } => {
                if interaction_class == self.over {
                    Some(Event::Over)
                } else if interaction_class == self.pulse {
                    parameter_values.first().and_then(|(_, data)| pulse(data))
                } else {
                    None
                }
            }
            Callback::TimeAdvanceGrant { .. } => Some(Event::Granted),
            _ => None,
        }
    }

    /// Sends the message of an exchange, time-stamped where a time is given.
    pub(super) fn send(
        &mut self,
        exchange: usize,
        message: &[u8],
        time: Option<i64>,
    ) -> Result<(), Error> {
        let (Some(instance), Some(attribute)) = (self.instance, self.outgoing.get(&exchange))
        else {
            return Ok(());
        };
        let values = [(*attribute, Data::copy_from_slice(message))];
        match time {
            None => self.federate.update_attribute_values(instance, &values, Data::new()),
            Some(time) => {
                let time = LogicalTime::integer(time)?;
                self.federate
                    .update_attribute_values_with_time(instance, &values, Data::new(), time)
                    .map(drop)
            }
        }
    }

    /// Announces the beginning of a cycle to the other federates.
    pub(super) fn send_pulse(&mut self, number: u64, release: Instant) -> Result<(), Error> {
        let mut data = [0; 16];
        data[..8].copy_from_slice(&number.to_be_bytes());
        data[8..].copy_from_slice(&release.nanos().to_be_bytes());
        let values = [(self.cycle, Data::copy_from_slice(&data))];
        self.federate.send_interaction(self.pulse, &values, Data::new())?;
        self.federate.flush()
    }

    /// Announces the end of the run to the other federates.
    pub(super) fn send_over(&mut self) -> Result<(), Error> {
        self.federate.send_interaction(self.over, &[], Data::new())?;
        self.federate.flush()
    }

    /// Requests a logical time; everything gathered so far is sent with it.
    pub(super) fn request(&mut self, time: i64) -> Result<(), Error> {
        self.federate.time_advance_request(LogicalTime::integer(time)?)?;
        self.federate.flush()
    }

    /// Sends everything gathered so far.
    pub(super) fn flush(&mut self) -> Result<(), Error> {
        self.federate.flush()
    }

    /// Resigns and disconnects. Errors are ignored: the run is over.
    pub(super) fn leave(mut self) {
        let resigned =
            self.federate.resign_federation_execution(ResignAction::DeleteObjectsThenDivest);
        if resigned.is_ok() {
            let _ = self.federate.disconnect();
        }
    }
}

fn pulse(data: &[u8]) -> Option<Event> {
    let (number, rest) = data.split_first_chunk()?;
    let release = rest.first_chunk()?;
    let release = Instant::from_nanos(u64::from_be_bytes(*release));
    Some(Event::Pulse { number: u64::from_be_bytes(*number), release })
}
