//! A federate's line to its federation: joining it, and the few services a cycle uses.

use std::collections::BTreeMap;

use hemiola_federate::{Error, Federate, Options};
use hemiola_hla::call::{DeclarationCall, FederationCall, ObjectCall, SupportCall, TimeCall};
use hemiola_hla::data::{Data, FomModule};
use hemiola_hla::{
    AttributeHandle, Call, Callback, Exception, InteractionClassHandle, LogicalInterval,
    LogicalTime, ObjectClassHandle, ObjectInstanceHandle, ParameterHandle, Reply, ResignAction,
};
use hemiola_scenario::Exchange;
use hemiola_trace::result::Synchronization;
use hemiola_units::{Bytes, Instant, RtiAddress, Span};

use super::fom;

/// How long an RTI that was just started is looked for.
const PATIENCE: Span = Span::from_millis(5_000);
/// How long to wait for the others to join.
const JOIN_WITHIN: Span = Span::from_millis(15_000);
/// What a cycle sends is one write: more than all messages of a cycle.
const GATHER: Bytes = Bytes(1 << 20);

/// What comes from the federation.
pub(super) enum Event {
    /// The master begins a cycle, which is due at an instant of the machine's clock.
    Pulse { number: u64, release: Instant },
    /// The logical time that was asked for has been granted.
    Granted,
    /// A message of the exchange with this number.
    Message(usize, Data),
    /// The run is over.
    Over,
}

/// The line.
pub(super) struct Link {
    federate: Federate,
    pulse: InteractionClassHandle,
    cycle: ParameterHandle,
    over: InteractionClassHandle,
    /// The instance this federate updates; nothing when it sends nothing.
    instance: Option<ObjectInstanceHandle>,
    /// The attribute of each outgoing exchange, by its number.
    outgoing: BTreeMap<usize, AttributeHandle>,
    /// The exchange that each instance's one subscribed attribute belongs to.
    incoming: BTreeMap<ObjectInstanceHandle, usize>,
}

/// Who joins what.
pub(super) struct Joining<'j> {
    pub(super) address: &'j RtiAddress,
    pub(super) execution: &'j str,
    pub(super) name: &'j str,
    pub(super) exchanges: &'j [Exchange],
    pub(super) sync: Synchronization,
    pub(super) is_master: bool,
    /// The lookahead under time management: the federate's cycle.
    pub(super) lookahead: Span,
}

impl Link {
    /// Connects, joins, declares everything, finds everybody it receives from, and enables time management.
    pub(super) fn join(joining: &Joining<'_>) -> Result<Self, String> {
        let mut link = Self::connected(joining).map_err(|error| error.to_string())?;
        link.find_senders(joining)?;
        if joining.sync == Synchronization::TimeManagement {
            link.manage_time(joining).map_err(|error| error.to_string())?;
        }
        Ok(link)
    }

    fn connected(joining: &Joining<'_>) -> Result<Self, Error> {
        let options =
            Options { pipelined: true, gather: GATHER, patience: PATIENCE, ..Options::default() };
        let mut federate = Federate::connect(joining.address, options)?;
        let created = federate.call(FederationCall::CreateFederationExecutionWithTime {
            federation_name: joining.execution.into(),
            fom_module: FomModule::File {
                name: "formation.xml".into(),
                content: fom::module(joining.exchanges).into(),
            },
            logical_time_implementation_name: "HLAinteger64Time".into(),
        });
        match created {
            Err(error)
                if error.exception() == Some(Exception::FederationExecutionAlreadyExists) => {}
            created => drop(created?),
        }
        federate.call(FederationCall::JoinFederationExecutionWithName {
            federate_name: joining.name.into(),
            federate_type: joining.name.into(),
            federation_name: joining.execution.into(),
        })?;
        let (pulse, cycle) = fom::PULSE;
        let pulse = interaction_class(&mut federate, pulse)?;
        let over = interaction_class(&mut federate, fom::OVER)?;
        let cycle = match federate.call(SupportCall::GetParameterHandle {
            interaction_class: pulse,
            parameter_name: cycle.into(),
        })? {
            Reply::Parameter(cycle) => cycle,
            other => unreachable!("the answer has the call's shape: {other:?}"),
        };
        for interaction_class in [pulse, over] {
            federate.call(match joining.is_master {
                true => Call::from(DeclarationCall::PublishInteractionClass { interaction_class }),
                false => DeclarationCall::SubscribeInteractionClass { interaction_class }.into(),
            })?;
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
        link.publish(joining)?;
        Ok(link)
    }

    /// Publishes what this federate sends, and registers the instance it sends it of.
    fn publish(&mut self, joining: &Joining<'_>) -> Result<(), Error> {
        let sends = |exchange: &&(usize, &Exchange)| exchange.1.from == joining.name;
        let numbered: Vec<(usize, &Exchange)> = joining.exchanges.iter().enumerate().collect();
        for (number, exchange) in numbered.iter().filter(sends) {
            let (_, attribute) = self.attribute(&exchange.from, &exchange.to)?;
            self.outgoing.insert(*number, attribute);
        }
        if self.outgoing.is_empty() {
            return Ok(());
        }
        let object_class = self.class(joining.name)?;
        let attributes = self.outgoing.values().copied().collect();
        self.federate
            .call(DeclarationCall::PublishObjectClassAttributes { object_class, attributes })?;
        let registered = self.federate.call(ObjectCall::RegisterObjectInstance { object_class })?;
        if let Reply::ObjectInstance(instance) = registered {
            self.instance = Some(instance);
        }
        Ok(())
    }

    /// Subscribes to what this federate receives, and waits until everybody who sends it is there.
    fn find_senders(&mut self, joining: &Joining<'_>) -> Result<(), String> {
        let mut missing: BTreeMap<ObjectClassHandle, (usize, &str)> = BTreeMap::new();
        for (number, exchange) in joining.exchanges.iter().enumerate() {
            if exchange.to != joining.name {
                continue;
            }
            let subscribed = self.attribute(&exchange.from, &exchange.to).and_then(|found| {
                let (object_class, attribute) = found;
                let attributes = vec![attribute];
                let call =
                    DeclarationCall::SubscribeObjectClassAttributes { object_class, attributes };
                self.federate.call(call).map(|_| object_class)
            });
            let class = subscribed.map_err(|error| error.to_string())?;
            missing.insert(class, (number, &exchange.from));
        }
        let until = now() + JOIN_WITHIN;
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

    /// Becomes regulating and constrained, and open to what is not time-stamped at any time.
    fn manage_time(&mut self, joining: &Joining<'_>) -> Result<(), Error> {
        let lookahead = LogicalInterval::integer(joining.lookahead.nanos())?;
        self.federate.call(TimeCall::EnableTimeRegulation { lookahead: lookahead.into() })?;
        self.federate.wait_for(|_, callback| {
            Ok(matches!(callback, Callback::TimeRegulationEnabled { .. }).then_some(()))
        })?;
        self.federate.call(TimeCall::EnableTimeConstrained)?;
        self.federate.wait_for(|_, callback| {
            Ok(matches!(callback, Callback::TimeConstrainedEnabled { .. }).then_some(()))
        })?;
        self.federate.call(TimeCall::EnableAsynchronousDelivery)?;
        Ok(())
    }

    fn class(&mut self, federate: &str) -> Result<ObjectClassHandle, Error> {
        let object_class_name = format!("HLAobjectRoot.{}", fom::name(federate));
        match self.federate.call(SupportCall::GetObjectClassHandle { object_class_name })? {
            Reply::ObjectClass(class) => Ok(class),
            other => unreachable!("the answer has the call's shape: {other:?}"),
        }
    }

    fn attribute(
        &mut self,
        from: &str,
        to: &str,
    ) -> Result<(ObjectClassHandle, AttributeHandle), Error> {
        let object_class = self.class(from)?;
        let attribute_name = fom::name(to);
        let call = SupportCall::GetAttributeHandle { object_class, attribute_name };
        match self.federate.call(call)? {
            Reply::Attribute(attribute) => Ok((object_class, attribute)),
            other => unreachable!("the answer has the call's shape: {other:?}"),
        }
    }

    /// The next thing that comes, waiting for it at most so long.
    pub(super) fn next(&mut self, at_most: Span) -> Result<Option<Event>, Error> {
        // Until something comes that means something; what means nothing is bounded by what waits.
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

    /// Sends the message of an exchange, stamped where a time is given.
    pub(super) fn send(
        &mut self,
        exchange: usize,
        message: &[u8],
        time: Option<i64>,
    ) -> Result<(), Error> {
        let (Some(object_instance), Some(attribute)) =
            (self.instance, self.outgoing.get(&exchange))
        else {
            return Ok(());
        };
        let attribute_values = vec![(*attribute, Data::copy_from_slice(message))];
        let user_supplied_tag = Data::new();
        self.federate.post(match time {
            None => ObjectCall::UpdateAttributeValues {
                object_instance,
                attribute_values,
                user_supplied_tag,
            },
            Some(time) => ObjectCall::UpdateAttributeValuesWithTime {
                object_instance,
                attribute_values,
                user_supplied_tag,
                time: LogicalTime::integer(time)?.into(),
            },
        })
    }

    /// Tells the others that a cycle begins.
    pub(super) fn pulse(&mut self, number: u64, release: Instant) -> Result<(), Error> {
        let mut data = [0; 16];
        data[..8].copy_from_slice(&number.to_be_bytes());
        data[8..].copy_from_slice(&release.nanos().to_be_bytes());
        let parameter_values = vec![(self.cycle, Data::copy_from_slice(&data))];
        self.interaction(self.pulse, parameter_values)
    }

    /// Tells the others that the run is over.
    pub(super) fn say_over(&mut self) -> Result<(), Error> {
        self.interaction(self.over, Vec::new())
    }

    fn interaction(
        &mut self,
        interaction_class: InteractionClassHandle,
        parameter_values: Vec<(ParameterHandle, Data)>,
    ) -> Result<(), Error> {
        let user_supplied_tag = Data::new();
        self.federate.post(ObjectCall::SendInteraction {
            interaction_class,
            parameter_values,
            user_supplied_tag,
        })?;
        self.federate.flush()
    }

    /// Asks for a logical time; what was gathered goes out with it.
    pub(super) fn request(&mut self, time: i64) -> Result<(), Error> {
        let time = LogicalTime::integer(time)?.into();
        self.federate.post(TimeCall::TimeAdvanceRequest { time })?;
        self.federate.flush()
    }

    /// Sends what was gathered.
    pub(super) fn flush(&mut self) -> Result<(), Error> {
        self.federate.flush()
    }

    /// Resigns and disconnects. Nobody waits for what goes wrong now: the run is over.
    pub(super) fn leave(mut self) {
        let resigned =
            self.federate.resign_federation_execution(ResignAction::DeleteObjectsThenDivest);
        if resigned.is_ok() {
            let _ = self.federate.disconnect();
        }
    }
}

fn interaction_class(federate: &mut Federate, name: &str) -> Result<InteractionClassHandle, Error> {
    let interaction_class_name = format!("HLAinteractionRoot.{name}");
    match federate.call(SupportCall::GetInteractionClassHandle { interaction_class_name })? {
        Reply::InteractionClass(class) => Ok(class),
        other => unreachable!("the answer has the call's shape: {other:?}"),
    }
}

fn pulse(data: &[u8]) -> Option<Event> {
    let (number, rest) = data.split_first_chunk()?;
    let release = rest.first_chunk()?;
    let release = Instant::from_nanos(u64::from_be_bytes(*release));
    Some(Event::Pulse { number: u64::from_be_bytes(*number), release })
}

fn now() -> Instant {
    use hemiola_rt::clock::{Clock, MonotonicClock};
    MonotonicClock.now()
}
