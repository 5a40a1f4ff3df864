//! A federate in the world: a session of the protocol over a virtual link.

use std::collections::BTreeMap;

use hemiola_fedpro::session::End;
use hemiola_fedpro::{Client, Event, RequestId, Session, Settings, Ticket, message};
use hemiola_hla::call::{DeclarationCall, FederationCall, ObjectCall, SupportCall};
use hemiola_hla::data::{ANSWERS_GATHERED, CALLBACKS_TOGETHER, FomModule, RtiConfiguration};
use hemiola_hla::{AttributeHandle, Call, Callback, Data, ObjectInstanceHandle, Refusal, Reply};
use hemiola_rti::Milestone;
use hemiola_rti_server::{ConnectionId, PeerAddress};
use hemiola_units::Span;

use crate::world::{HERE, World};

/// How long a federate waits for a response, in turns.
const WAIT_MAX: u32 = 20_000;

pub(crate) struct Federate {
    pub(crate) session: Session<Client>,
    /// The address that it connects from.
    pub(crate) address: PeerAddress,
    pub(crate) connection: Option<ConnectionId>,
    calls: BTreeMap<Ticket, Call>,
    pub(crate) replies: BTreeMap<Ticket, Result<Reply, Refusal>>,
    /// How many frames have brought replies.
    pub(crate) reply_frames: u32,
    /// How many frames have brought callbacks.
    pub(crate) callback_frames: u32,
    /// Whether it asks for gathered answers and callbacks when it connects.
    gathers: bool,
    /// The values of received updates, in order.
    pub(crate) values: Vec<u32>,
    pub(crate) discovered: u32,
    pub(crate) removed: u32,
    /// The other callbacks.
    others: Vec<Callback>,
    pub(crate) is_regulating: bool,
    /// Whether it keeps the answers to callbacks back.
    pub(crate) answers_later: bool,
    kept_back: Vec<RequestId>,
    /// All callbacks in order, if they are to be kept.
    pub(crate) log: Option<Vec<Callback>>,
    pub(crate) end: Option<End>,
    /// Bytes it reads per turn.
    pub(crate) appetite: usize,
    unsent: Vec<u8>,
}

impl Federate {
    pub(crate) fn new(world: &World) -> Self {
        let settings = Settings { retry_every: Span::from_millis(3), ..Settings::default() };
        Self {
            session: Session::open(world.now, settings),
            address: HERE,
            connection: None,
            calls: BTreeMap::new(),
            replies: BTreeMap::new(),
            reply_frames: 0,
            callback_frames: 0,
            gathers: false,
            values: Vec::new(),
            discovered: 0,
            removed: 0,
            others: Vec::new(),
            is_regulating: false,
            answers_later: false,
            kept_back: Vec::new(),
            log: None,
            end: None,
            appetite: 1 << 20,
            unsent: Vec::new(),
        }
    }

    /// The same from this address.
    pub(crate) fn at(world: &World, address: PeerAddress) -> Self {
        Self { address, ..Self::new(world) }
    }

    /// A federate that asks for gathered answers and callbacks.
    pub(crate) fn gathering(world: &World) -> Self {
        let mut federate = Self { gathers: true, ..Self::new(world) };
        federate.session.offer_gathering();
        federate.session.share_frames();
        federate
    }

    /// Sends no more than this many of the bytes that are due.
    pub(crate) fn step_until_byte(&mut self, world: &mut World, len: usize) {
        self.events(world);
        if let Some(id) = self.connection {
            if self.unsent.is_empty() {
                self.session.transmit(world.now, &mut self.unsent, 64 << 10);
            }
            world.send(id, &self.unsent[..len.min(self.unsent.len())]);
        }
    }

    /// Does what is due without waiting.
    pub(crate) fn step(&mut self, world: &mut World) {
        if self.session.deadline().is_some_and(|deadline| deadline <= world.now) {
            self.session.tick(world.now);
        }
        if let Some(id) = self.connection {
            match world.take(id, self.appetite) {
                Some(bytes) => self.session.receive(world.now, &bytes),
                None => self.lose(world),
            }
        }
        self.events(world);
        if let Some(id) = self.connection {
            if self.unsent.is_empty() {
                self.session.transmit(world.now, &mut self.unsent, 64 << 10);
            }
            let sent = world.send(id, &self.unsent);
            self.unsent.drain(..sent);
        }
    }

    fn lose(&mut self, world: &World) {
        self.connection = None;
        self.unsent.clear();
        self.session.disconnected(world.now);
    }

    /// Breaks its own connection.
    pub(crate) fn cut(&mut self, world: &mut World) {
        if let Some(id) = self.connection {
            world.cut(id);
            self.lose(world);
        }
    }

    fn events(&mut self, world: &mut World) {
        while let Some(event) = self.session.poll() {
            match event {
                Event::Connect => match world.connect_from(self.address) {
                    Some(id) => {
                        self.connection = Some(id);
                        self.session.connected(world.now);
                    }
                    None => self.session.disconnected(world.now),
                },
                Event::Running => {}
                Event::Request { id, body } => self.take_callbacks(id, [body]),
                Event::Requests { id, bodies } => self.take_callbacks(id, bodies),
                Event::Posted { .. } => panic!("the RTI posts no callbacks"),
                Event::Response { to, body } => {
                    let call = self.calls.remove(&to).expect("each call is answered once");
                    let entry = call.entry();
                    let reply = message::decode_reply(entry.number, entry.shape, &body).unwrap();
                    self.replies.insert(to, reply);
                    self.reply_frames += 1;
                }
                Event::Done { through } => {
                    let later = self.calls.split_off(&Ticket(through.0 + 1));
                    let done = std::mem::replace(&mut self.calls, later);
                    self.replies.extend(done.into_keys().map(|to| (to, Ok(Reply::Done))));
                    self.reply_frames += 1;
                }
                Event::Ended(end) => self.end = Some(end),
                Event::Disconnect => self.cut(world),
            }
        }
        if !self.answers_later {
            for id in self.kept_back.drain(..) {
                self.session.respond_done(world.now, id, || message::encode_taken(&Ok(())));
            }
        }
    }

    /// Takes the callbacks of one frame.
    fn take_callbacks(&mut self, id: RequestId, bodies: impl IntoIterator<Item = Data>) {
        let mut is_over = false;
        for body in bodies {
            assert!(!is_over, "a callback that ends a transition is the last one in its frame");
            let callback = message::decode_callback(&body).unwrap();
            is_over = Milestone::of_callback(callback.number()).is_some();
            self.take_callback(callback);
        }
        self.callback_frames += 1;
        self.kept_back.push(id);
    }

    fn take_callback(&mut self, callback: Callback) {
        if let Some(log) = &mut self.log {
            log.push(callback.clone());
        }
        match callback {
            Callback::ReflectAttributeValues { attribute_values, .. } => {
                let value = &attribute_values[0].1;
                self.values.push(u32::from_be_bytes(value[..4].try_into().unwrap()));
            }
            Callback::DiscoverObjectInstance { .. } => self.discovered += 1,
            Callback::RemoveObjectInstance { .. } => self.removed += 1,
            other => {
                self.is_regulating |= matches!(other, Callback::TimeRegulationEnabled { .. });
                self.others.push(other);
            }
        }
    }

    /// Makes a call without waiting; `None` once the session has ended.
    pub(crate) fn send(&mut self, world: &World, call: impl Into<Call>) -> Option<Ticket> {
        let call = call.into();
        let ticket = self.session.request(world.now, message::encode_call(&call))?;
        self.calls.insert(ticket, call);
        Some(ticket)
    }

    /// Makes a call without waiting, whose result it does not want.
    pub(crate) fn post(&mut self, world: &World, call: impl Into<Call>) -> Option<Ticket> {
        let call = call.into();
        let ticket = self.session.post(world.now, message::encode_call(&call))?;
        self.calls.insert(ticket, call);
        Some(ticket)
    }

    /// Whether it has received a callback other than an update or a discovery for which this holds.
    pub(crate) fn has_had(&self, holds: impl Fn(&Callback) -> bool) -> bool {
        self.others.iter().any(holds)
    }

    /// The number of calls without a response.
    pub(crate) fn unanswered(&self) -> usize {
        self.calls.len()
    }

    /// Makes a call and waits for its response.
    pub(crate) fn call(
        &mut self,
        world: &mut World,
        call: impl Into<Call>,
    ) -> Result<Reply, Refusal> {
        let ticket = self.send(world, call).expect("the session runs");
        for _ in 0..WAIT_MAX {
            self.step(world);
            if let Some(reply) = self.replies.remove(&ticket) {
                return reply;
            }
            world.turn();
        }
        panic!("no response: {:?}", self.end);
    }

    /// Waits until something holds.
    pub(crate) fn until(&mut self, world: &mut World, holds: impl Fn(&Self) -> bool) {
        for _ in 0..WAIT_MAX {
            self.step(world);
            if holds(self) {
                return;
            }
            world.turn();
        }
        panic!("it never held; the session: {:?}", self.end);
    }

    fn connect_call(&self) -> FederationCall {
        if !self.gathers {
            return FederationCall::Connect;
        }
        let additional_settings = [ANSWERS_GATHERED, CALLBACKS_TOGETHER].join("\n");
        let rti_configuration = RtiConfiguration { additional_settings, ..Default::default() };
        FederationCall::ConnectWithConfiguration { rti_configuration }
    }

    /// Opens a session and connects.
    pub(crate) fn connect(world: &mut World) -> Self {
        Self::new(world).connected(world)
    }

    /// Connects.
    pub(crate) fn connected(self, world: &mut World) -> Self {
        let mut federate = self;
        let answer = federate.call(world, federate.connect_call());
        assert!(matches!(answer, Ok(Reply::Configured(_))), "{answer:?}");
        federate
    }

    /// Connects and joins a federation, which it creates if it does not exist.
    pub(crate) fn join(world: &mut World, federation: &str) -> Self {
        Self::new(world).joined(world, federation)
    }

    /// Connects and joins a federation, which it creates if it does not exist.
    pub(crate) fn joined(self, world: &mut World, federation: &str) -> Self {
        let mut federate = self.connected(world);
        let federation_name = federation.to_owned();
        let _ = federate.call(
            world,
            FederationCall::CreateFederationExecution { federation_name, fom_module: fom() },
        );
        let federation_name = federation.to_owned();
        let federate_type = "Test".to_owned();
        let joined = federate.call(
            world,
            FederationCall::JoinFederationExecution { federate_type, federation_name },
        );
        assert!(matches!(joined, Ok(Reply::Joined(_))), "{joined:?}");
        federate
    }

    pub(crate) fn class(
        &mut self,
        world: &mut World,
    ) -> (hemiola_hla::ObjectClassHandle, AttributeHandle) {
        self.attribute(world, "Speed")
    }

    /// The class of cars, and one of its attributes: the reliable "Speed" or the best-effort "Position".
    pub(crate) fn attribute(
        &mut self,
        world: &mut World,
        name: &str,
    ) -> (hemiola_hla::ObjectClassHandle, AttributeHandle) {
        let object_class_name = "HLAobjectRoot.Car".to_owned();
        let class = SupportCall::GetObjectClassHandle { object_class_name };
        let Ok(Reply::ObjectClass(object_class)) = self.call(world, class) else { panic!() };
        let attribute_name = name.to_owned();
        let attribute = SupportCall::GetAttributeHandle { object_class, attribute_name };
        let Ok(Reply::Attribute(attribute)) = self.call(world, attribute) else { panic!() };
        (object_class, attribute)
    }

    /// Publishes the class and registers an instance.
    pub(crate) fn register(
        &mut self,
        world: &mut World,
    ) -> (ObjectInstanceHandle, AttributeHandle) {
        let (object_class, attribute) = self.class(world);
        let attributes = vec![attribute];
        let publish = DeclarationCall::PublishObjectClassAttributes { object_class, attributes };
        assert_eq!(self.call(world, publish), Ok(Reply::Done));
        let register = ObjectCall::RegisterObjectInstance { object_class };
        let Ok(Reply::ObjectInstance(instance)) = self.call(world, register) else { panic!() };
        (instance, attribute)
    }

    /// Subscribes to the class.
    pub(crate) fn subscribe(&mut self, world: &mut World) {
        let (object_class, attribute) = self.class(world);
        let attributes = vec![attribute];
        let subscribe =
            DeclarationCall::SubscribeObjectClassAttributes { object_class, attributes };
        assert_eq!(self.call(world, subscribe), Ok(Reply::Done));
    }
}

/// A numbered update of this length.
pub(crate) fn update(
    (object_instance, attribute): (ObjectInstanceHandle, AttributeHandle),
    number: u32,
    len: usize,
) -> ObjectCall {
    let mut value = vec![0; len.max(4)];
    value[..4].copy_from_slice(&number.to_be_bytes());
    ObjectCall::UpdateAttributeValues {
        object_instance,
        attribute_values: vec![(attribute, Data::from(value))],
        user_supplied_tag: Data::new(),
    }
}

pub(crate) fn fom() -> FomModule {
    let content = r#"<objectModel xmlns="http://standards.ieee.org/IEEE1516-2025">
  <objects><objectClass><name>HLAobjectRoot</name>
    <objectClass><name>Car</name><sharing>PublishSubscribe</sharing>
      <attribute><name>Speed</name><dataType>HLAfloat64BE</dataType><order>Receive</order></attribute>
      <attribute><name>Position</name><dataType>HLAfloat64BE</dataType>
        <transportation>HLAbestEffort</transportation><order>Receive</order></attribute>
      <attribute><name>Heading</name><dataType>HLAfloat64BE</dataType>
        <transportation>HLAbestEffort</transportation><order>TimeStamp</order></attribute>
    </objectClass>
  </objectClass></objects>
  <interactions><interactionClass><name>HLAinteractionRoot</name>
    <interactionClass><name>Horn</name><sharing>PublishSubscribe</sharing>
      <transportation>HLAbestEffort</transportation><order>Receive</order></interactionClass>
    <interactionClass><name>Crash</name><sharing>PublishSubscribe</sharing>
      <transportation>HLAreliable</transportation><order>Receive</order></interactionClass>
  </interactionClass></interactions>
</objectModel>"#;
    FomModule::File { name: "Car.xml".into(), content: content.into() }
}
