//! A pipelined federate and one whose calls wait make the same random calls, each in a federation of its own beside the
//! same other federate: replies, exceptions and callbacks must be the same.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;

use hemiola_federate::hla::call::{
    DeclarationCall, FederationCall, ObjectCall, OwnershipCall, Shape, SupportCall, TimeCall,
};
use hemiola_federate::hla::data::FomModule;
use hemiola_federate::hla::{
    AttributeHandle, Call, Callback, Data, EncodedTime, Exception, InteractionClassHandle,
    LogicalInterval, LogicalTime, ObjectClassHandle, ObjectInstanceHandle, ParameterHandle,
    ResignAction, TimeImplementation,
};
use hemiola_federate::{Calls, Error, Federate, Joining, Options, RtiAddress, Span};
use hemiola_units::Random;

use crate::rti::{Rti, Transport};

const MODEL: &str = r#"<objectModel xmlns="http://standards.ieee.org/IEEE1516-2025">
  <objects><objectClass><name>HLAobjectRoot</name>
    <objectClass><name>Body</name><sharing>PublishSubscribe</sharing>
      <attribute><name>P</name><dataType>HLAfloat64BE</dataType><order>TimeStamp</order></attribute>
      <attribute><name>Q</name><dataType>HLAfloat64BE</dataType><order>Receive</order></attribute>
      <objectClass><name>Car</name><sharing>PublishSubscribe</sharing>
        <attribute><name>R</name><dataType>HLAfloat64BE</dataType><order>TimeStamp</order></attribute>
      </objectClass>
    </objectClass>
  </objectClass></objects>
  <interactions><interactionClass><name>HLAinteractionRoot</name>
    <interactionClass><name>Fire</name><sharing>PublishSubscribe</sharing><order>TimeStamp</order>
      <parameter><name>X</name><dataType>HLAfloat64BE</dataType></parameter>
      <interactionClass><name>Big</name><sharing>PublishSubscribe</sharing><order>TimeStamp</order>
        <parameter><name>Y</name><dataType>HLAfloat64BE</dataType></parameter>
      </interactionClass>
    </interactionClass>
  </interactionClass></interactions>
</objectModel>"#;

const CLASSES: [&str; 2] = ["HLAobjectRoot.Body", "HLAobjectRoot.Body.Car"];
const ATTRIBUTES: [&str; 4] = ["P", "Q", "R", "HLAprivilegeToDeleteObject"];
const INTERACTIONS: [&str; 2] = ["HLAinteractionRoot.Fire", "HLAinteractionRoot.Fire.Big"];
const PARAMETERS: [&str; 2] = ["X", "Y"];

/// The handles of the object model, in the order of the names above; the last is not defined.
struct Handles {
    classes: Vec<ObjectClassHandle>,
    attributes: Vec<AttributeHandle>,
    interactions: Vec<InteractionClassHandle>,
    parameters: Vec<ParameterHandle>,
}

impl Handles {
    fn look_up(federate: &mut Federate) -> Self {
        let classes = CLASSES.map(|name| federate.get_object_class_handle(name).unwrap());
        let car = classes[1];
        let attributes = ATTRIBUTES.map(|name| federate.get_attribute_handle(car, name).unwrap());
        let interactions =
            INTERACTIONS.map(|name| federate.get_interaction_class_handle(name).unwrap());
        let big = interactions[1];
        let parameters = PARAMETERS.map(|name| federate.get_parameter_handle(big, name).unwrap());
        Self {
            classes: [&classes[..], &[ObjectClassHandle::new(999)]].concat(),
            attributes: [&attributes[..], &[AttributeHandle::new(999)]].concat(),
            interactions: [&interactions[..], &[InteractionClassHandle::new(999)]].concat(),
            parameters: [&parameters[..], &[ParameterHandle::new(999)]].concat(),
        }
    }
}

/// Draws calls.
struct Draw<'a> {
    random: Random,
    handles: &'a Handles,
}

impl Draw<'_> {
    fn below(&mut self, bound: u64) -> u64 {
        self.random.below(bound)
    }

    /// Draws one of these; the last, which is not defined, rarely.
    fn one<T: Copy>(&mut self, all: &[T]) -> T {
        let bound = if self.below(12) == 0 { all.len() } else { all.len() - 1 };
        all[self.below(bound as u64) as usize]
    }

    fn class(&mut self) -> ObjectClassHandle {
        let handles = self.handles;
        self.one(&handles.classes)
    }

    fn interaction(&mut self) -> InteractionClassHandle {
        let handles = self.handles;
        self.one(&handles.interactions)
    }

    fn attributes(&mut self) -> Vec<AttributeHandle> {
        let handles = self.handles;
        let mut attributes: Vec<_> =
            (0..self.below(3)).map(|_| self.one(&handles.attributes)).collect();
        attributes.sort_unstable();
        attributes.dedup();
        attributes
    }

    fn instance(&mut self) -> ObjectInstanceHandle {
        ObjectInstanceHandle::new(1 + self.below(6))
    }

    fn time(&mut self) -> EncodedTime {
        match self.below(20) {
            0 => EncodedTime::new(&[1, 2, 3]),
            1 => EncodedTime::new(&[0xff; 8]),
            _ => LogicalTime::integer(self.below(12) as i64).unwrap().into(),
        }
    }

    fn any(&mut self) -> Call {
        match self.below(12) {
            0 | 1 => self.declaration().into(),
            2..=5 => self.object().into(),
            6..=8 => self.time_call().into(),
            9 => self.ownership().into(),
            _ => self.look_up().into(),
        }
    }

    fn declaration(&mut self) -> DeclarationCall {
        use DeclarationCall as C;
        let (object_class, attributes) = (self.class(), self.attributes());
        match self.below(10) {
            0..=3 => C::PublishObjectClassAttributes { object_class, attributes },
            4 => C::UnpublishObjectClassAttributes { object_class, attributes },
            5 => C::UnpublishObjectClass { object_class },
            6 | 7 => C::PublishInteractionClass { interaction_class: self.interaction() },
            8 => C::UnpublishInteractionClass { interaction_class: self.interaction() },
            _ => C::SubscribeObjectClassAttributes { object_class, attributes },
        }
    }

    fn object(&mut self) -> ObjectCall {
        use ObjectCall as C;
        let handles = self.handles;
        let (object_instance, time) = (self.instance(), self.time());
        let user_supplied_tag = Data::new();
        let attribute_values =
            self.attributes().into_iter().map(|one| (one, Data::new())).collect();
        let interaction_class = self.interaction();
        let parameter_values: Vec<_> =
            (0..self.below(2)).map(|_| (self.one(&handles.parameters), Data::new())).collect();
        match self.below(20) {
            0..=3 => C::RegisterObjectInstance { object_class: self.class() },
            4..=7 => {
                C::UpdateAttributeValues { object_instance, attribute_values, user_supplied_tag }
            }
            8..=11 => C::UpdateAttributeValuesWithTime {
                object_instance,
                attribute_values,
                user_supplied_tag,
                time,
            },
            12..=14 => {
                C::SendInteraction { interaction_class, parameter_values, user_supplied_tag }
            }
            15..=17 => C::SendInteractionWithTime {
                interaction_class,
                parameter_values,
                user_supplied_tag,
                time,
            },
            18 => match self.below(3) {
                0 => C::DeleteObjectInstance { object_instance, user_supplied_tag },
                1 => C::DeleteObjectInstanceWithTime { object_instance, user_supplied_tag, time },
                _ => C::LocalDeleteObjectInstance { object_instance },
            },
            _ => C::RequestInstanceAttributeValueUpdate {
                object_instance,
                attributes: self.attributes(),
                user_supplied_tag,
            },
        }
    }

    fn time_call(&mut self) -> TimeCall {
        use TimeCall as C;
        let time = self.time();
        let lookahead = LogicalInterval::integer(self.below(4) as i64).unwrap().into();
        match self.below(18) {
            0..=2 => C::EnableTimeRegulation { lookahead },
            3 => C::DisableTimeRegulation,
            4 | 5 => C::EnableTimeConstrained,
            6 => C::DisableTimeConstrained,
            7 => C::EnableAsynchronousDelivery,
            8 => C::DisableAsynchronousDelivery,
            9 => C::ModifyLookahead { lookahead },
            10 => C::QueryLogicalTime,
            11 => C::QueryLookahead,
            12 | 13 => C::TimeAdvanceRequest { time },
            14 => C::TimeAdvanceRequestAvailable { time },
            15 => C::NextMessageRequest { time },
            16 => C::NextMessageRequestAvailable { time },
            _ => C::FlushQueueRequest { time },
        }
    }

    fn ownership(&mut self) -> OwnershipCall {
        use OwnershipCall as C;
        let (object_instance, attributes) = (self.instance(), self.attributes());
        let user_supplied_tag = Data::new();
        match self.below(5) {
            0 => C::UnconditionalAttributeOwnershipDivestiture {
                object_instance,
                attributes,
                user_supplied_tag,
            },
            1 => C::AttributeOwnershipAcquisition {
                object_instance,
                desired_attributes: attributes,
                user_supplied_tag,
            },
            2 => C::AttributeOwnershipAcquisitionIfAvailable {
                object_instance,
                desired_attributes: attributes,
                user_supplied_tag,
            },
            3 => C::AttributeOwnershipDivestitureIfWanted {
                object_instance,
                attributes,
                user_supplied_tag,
            },
            _ => C::NegotiatedAttributeOwnershipDivestiture {
                object_instance,
                attributes,
                user_supplied_tag,
            },
        }
    }

    fn look_up(&mut self) -> SupportCall {
        use SupportCall as C;
        match self.below(4) {
            0 | 1 => C::GetAttributeHandle {
                object_class: self.class(),
                attribute_name: ATTRIBUTES[self.below(4) as usize].into(),
            },
            2 => C::GetInteractionClassHandle {
                interaction_class_name: INTERACTIONS[self.below(2) as usize].into(),
            },
            _ => C::GetParameterHandle {
                interaction_class: self.interaction(),
                parameter_name: PARAMETERS[self.below(2) as usize].into(),
            },
        }
    }
}

/// What a federate experiences, by the number of the step.
#[derive(Default)]
struct Log {
    /// The reply of each call that waited for it.
    replies: BTreeMap<usize, String>,
    /// The exceptions that calls raised themselves.
    raised: BTreeMap<usize, (&'static str, Exception)>,
    /// The exceptions that came later.
    earlier: Vec<(&'static str, Exception)>,
    callbacks: Vec<Callback>,
}

/// The federate under test and another one, in a federation of their own.
struct World {
    federation: String,
    subject: Federate,
    other: Federate,
    is_pipelined: bool,
    log: Log,
}

impl World {
    fn new(rti: &Rti, federation: String, mut subject: Federate, calls: Calls) -> Self {
        let waiting = Options { calls: Calls::Waiting, ..Options::default() };
        let mut other = rti.connect(Transport::InProcess, waiting);
        let module = FomModule::File { name: "Mirror.xml".into(), content: MODEL.into() };
        let time = TimeImplementation::Integer64;
        other.create_federation_execution(&federation, &[module], time).unwrap();
        other.join_federation_execution(Joining::new("Other", &*federation)).unwrap();
        subject.join_federation_execution(Joining::new("Subject", &*federation)).unwrap();
        let is_pipelined = calls == Calls::Pipelined;
        Self { federation, subject, other, is_pipelined, log: Log::default() }
    }

    /// Makes a call of the subject, again after each exception of an earlier one.
    fn call(&mut self, step: usize, call: &Call) {
        let has_result = !matches!(call.entry().shape, Shape::Done | Shape::Retraction);
        loop {
            let made = if has_result || !self.is_pipelined {
                self.subject.call(call.clone()).map(|reply| format!("{reply:?}"))
            } else {
                self.subject.post(call.clone()).map(|()| String::new())
            };
            match made {
                Ok(reply) if has_result => drop(self.log.replies.insert(step, reply)),
                Ok(_) => {}
                Err(Error::Exception { call, refusal }) => {
                    self.log.raised.insert(step, (call, refusal.exception));
                }
                Err(Error::Earlier { call, refusal }) => {
                    self.log.earlier.push((call, refusal.exception));
                    continue;
                }
                Err(error) => panic!("{call:?}: {error}"),
            }
            return;
        }
    }

    /// Waits until the RTI has carried out the subject's calls.
    fn confirm(&mut self) {
        while let Err(error) = self.subject.confirm() {
            match error {
                Error::Earlier { call, refusal } => {
                    self.log.earlier.push((call, refusal.exception));
                }
                error => panic!("{error}"),
            }
        }
    }

    /// Makes a call of the other federate, which takes its callbacks.
    fn call_other(&mut self, step: usize, call: &Call) {
        self.confirm();
        let reply = self.other.call(call.clone());
        self.log.replies.insert(step, format!("{reply:?}"));
        while self.other.evoke(Span::ZERO).unwrap().is_some() {}
    }

    /// Evokes at most this many callbacks of the subject. All that the RTI has sent have arrived.
    fn evoke(&mut self, count: u64) {
        self.confirm();
        // Joined or not, the reply comes after the callbacks.
        let _ = self.subject.call(SupportCall::GetAutomaticResignDirective);
        for _ in 0..count {
            self.log.callbacks.extend(self.subject.evoke(Span::ZERO).unwrap());
        }
    }

    fn resign(&mut self, step: usize) {
        let resign_action = Some(ResignAction::DeleteObjectsThenDivest);
        self.call(step, &FederationCall::ResignFederationExecution { resign_action }.into());
    }

    fn rejoin(&mut self) {
        self.confirm();
        let joining = Joining::new("Subject", &*self.federation);
        match self.subject.join_federation_execution(joining) {
            Ok(_) => {}
            Err(error) => {
                assert_eq!(error.exception(), Some(Exception::FederateAlreadyExecutionMember));
            }
        }
    }
}

/// Runs one sequence in both worlds. Returns the exceptions that the pipelined federate raised itself.
fn run(rti: &Rti, pipelined: Federate, seed: u64, steps: usize) -> Vec<Exception> {
    let options = Options { calls: Calls::Waiting, ..Options::default() };
    let subject = rti.connect(Transport::InProcess, options);
    let mut waiting = World::new(rti, format!("waiting {seed}"), subject, Calls::Waiting);
    let mut mirrored = World::new(rti, format!("mirrored {seed}"), pipelined, Calls::Pipelined);
    let handles = Handles::look_up(&mut waiting.other);
    let mut draw = Draw { random: Random::from_seed(seed), handles: &handles };
    for step in 0..steps {
        let (kind, count) = (draw.below(40), draw.below(6));
        let call = draw.any();
        for world in [&mut waiting, &mut mirrored] {
            match kind {
                0..=25 => world.call(step, &call),
                26..=30 => world.call_other(step, &call),
                31..=37 => world.evoke(count),
                38 => world.resign(step),
                _ => world.rejoin(),
            }
        }
    }
    for world in [&mut waiting, &mut mirrored] {
        world.confirm();
        world.evoke(1000);
    }
    compare(&waiting.log, &mirrored.log, seed)
}

fn compare(waiting: &Log, mirrored: &Log, seed: u64) -> Vec<Exception> {
    assert!(waiting.earlier.is_empty(), "seed {seed}");
    assert_eq!(waiting.replies, mirrored.replies, "seed {seed}");
    assert_eq!(waiting.callbacks, mirrored.callbacks, "seed {seed}");
    for (step, raised) in &mirrored.raised {
        assert_eq!(waiting.raised.get(step), Some(raised), "seed {seed}, step {step}");
    }
    let later = waiting.raised.iter().filter(|(step, _)| !mirrored.raised.contains_key(step));
    let later: Vec<_> = later.map(|(_, raised)| *raised).collect();
    assert_eq!(later, mirrored.earlier, "seed {seed}");
    mirrored.raised.values().map(|(_, exception)| *exception).collect()
}

#[test]
fn a_mirrored_exception_is_one_that_the_rti_raises() {
    use Exception::*;
    let rti = Rti::start();
    let connect = || rti.connect(Transport::InProcess, Options::default());
    let raised: BTreeSet<_> =
        (0..200).flat_map(|seed| run(&rti, connect(), seed, 400)).map(|one| one.name()).collect();
    let mirrored = [
        AsynchronousDeliveryAlreadyDisabled,
        AsynchronousDeliveryAlreadyEnabled,
        AttributeNotOwned,
        FederateNotExecutionMember,
        InteractionClassNotPublished,
        InvalidLogicalTime,
        LogicalTimeAlreadyPassed,
        TimeConstrainedAlreadyEnabled,
        TimeConstrainedIsNotEnabled,
        TimeRegulationAlreadyEnabled,
        TimeRegulationIsNotEnabled,
    ];
    for exception in mirrored {
        assert!(raised.contains(exception.name()), "{exception} was never raised");
    }
}

#[test]
fn broken_connections_change_no_reply_exception_or_callback() {
    let rti = Rti::start();
    for seed in 1000..1020 {
        let mut options = Options::default();
        options.session.retry_every = Span::from_millis(5);
        let pipelined = Federate::connect(&cutter(&rti.tcp, seed), options).unwrap();
        run(&rti, pipelined, seed, 300);
    }
}

/// Returns an address that leads to the RTI. Each connection breaks after a random number of bytes.
fn cutter(rti: &RtiAddress, seed: u64) -> RtiAddress {
    let RtiAddress::Tcp { host, port } = rti.clone() else {
        panic!("the address is a TCP address")
    };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let own = listener.local_addr().unwrap().port();
    let mut random = Random::from_seed(seed);
    thread::spawn(move || {
        for client in listener.incoming() {
            let client = client.unwrap();
            let Ok(server) = TcpStream::connect((host.as_str(), port)) else { return };
            let (client_too, server_too) =
                (client.try_clone().unwrap(), server.try_clone().unwrap());
            let len = 500 + random.below(4000) as usize;
            thread::spawn(move || pass(client_too, server_too, len));
            thread::spawn(move || pass(server, client, usize::MAX));
        }
    });
    RtiAddress::Tcp { host: "127.0.0.1".into(), port: own }
}

/// Passes this many bytes on, and then breaks both connections.
fn pass(mut from: TcpStream, mut to: TcpStream, mut left: usize) {
    to.set_nodelay(true).unwrap();
    let mut buffer = [0; 512];
    while left > 0 {
        let len = left.min(buffer.len());
        match from.read(&mut buffer[..len]) {
            Ok(len @ 1..) if to.write_all(&buffer[..len]).is_ok() => left -= len,
            _ => break,
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}
