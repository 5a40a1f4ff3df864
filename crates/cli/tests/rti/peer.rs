//! A federate for tests: a session of the Federate Protocol over TCP, stepped explicitly, and bytes that a correct
//! session would not send.

use std::collections::{BTreeMap, VecDeque};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};

use hemiola_fedpro::{Client, Event, Session, Settings, Ticket, message};
use hemiola_hla::call::{DeclarationCall, FederationCall, ObjectCall, SupportCall};
use hemiola_hla::data::FomModule;
use hemiola_hla::{
    AttributeHandle, Call, Callback, Data, ObjectClassHandle, ObjectInstanceHandle, Refusal, Reply,
};
use hemiola_rt::clock::{Clock, MonotonicClock};
use hemiola_units::Instant;

use crate::machine::PATIENCE;

fn now() -> Instant {
    MonotonicClock.now()
}

/// A federate. It ends when the RTI closes the connection, and does not resume.
pub(super) struct Peer {
    pub(super) session: Session<Client>,
    pub(super) stream: TcpStream,
    answers: BTreeMap<Ticket, Data>,
    pub(super) callbacks: VecDeque<Callback>,
    /// Whether it answers callbacks.
    pub(super) answers_callbacks: bool,
    pub(super) is_closed: bool,
}

impl Peer {
    /// With a session.
    pub(super) fn open(address: SocketAddr) -> Self {
        let mut session = Session::open(now(), Settings::default());
        let stream = connect(address);
        session.connected(now());
        let mut peer = Self {
            session,
            stream,
            answers: BTreeMap::new(),
            callbacks: VecDeque::new(),
            answers_callbacks: true,
            is_closed: false,
        };
        while !peer.session.is_running() {
            assert!(!peer.is_closed, "the RTI gives no session");
            peer.step();
        }
        peer
    }

    /// With a session, and connected.
    pub(super) fn connected(address: SocketAddr) -> Self {
        let mut peer = Self::open(address);
        assert!(matches!(peer.call(FederationCall::Connect), Ok(Reply::Configured(_))));
        peer
    }

    /// Joined to a federation, which it creates if it is the first.
    pub(super) fn joined(address: SocketAddr, federation: &str) -> Self {
        let mut peer = Self::connected(address);
        assert!(peer.create(federation).is_ok_and_already());
        peer.join(federation);
        peer
    }

    pub(super) fn create(&mut self, federation: &str) -> Result<Reply, Refusal> {
        self.call(FederationCall::CreateFederationExecution {
            federation_name: federation.into(),
            fom_module: fom(),
        })
    }

    pub(super) fn try_join(&mut self, federation: &str) -> Result<Reply, Refusal> {
        self.call(FederationCall::JoinFederationExecution {
            federate_type: "Test".into(),
            federation_name: federation.into(),
        })
    }

    pub(super) fn join(&mut self, federation: &str) {
        let joined = self.try_join(federation);
        assert!(matches!(joined, Ok(Reply::Joined(_))), "{joined:?}");
    }

    /// Sends the body of a call and does not wait.
    pub(super) fn send(&mut self, body: Data) -> Ticket {
        let ticket = self.session.request(now(), body).expect("the session runs");
        self.write();
        ticket
    }

    /// The body of the answer; `None` if the RTI closes the connection before.
    pub(super) fn answer(&mut self, ticket: Ticket) -> Option<Data> {
        loop {
            if let Some(answer) = self.answers.remove(&ticket) {
                return Some(answer);
            }
            if self.is_closed {
                return None;
            }
            self.step();
        }
    }

    /// Sends the body of a call and waits for the answer to the call of this number.
    pub(super) fn ask(&mut self, call: &Call, body: Data) -> Result<Reply, Refusal> {
        let ticket = self.send(body);
        let answer = self.answer(ticket).unwrap_or_else(|| panic!("closed by {call:?}"));
        let entry = call.entry();
        message::decode_reply(entry.number, entry.shape, &answer).unwrap()
    }

    /// Makes a call and waits for its answer.
    pub(super) fn call(&mut self, call: impl Into<Call>) -> Result<Reply, Refusal> {
        let call = call.into();
        self.ask(&call, message::encode_call(&call))
    }

    /// The next callback.
    pub(super) fn callback(&mut self) -> Callback {
        loop {
            if let Some(callback) = self.callbacks.pop_front() {
                return callback;
            }
            assert!(!self.is_closed, "the RTI has closed the connection");
            self.step();
        }
    }

    /// Terminates the session and waits for the confirmation of the RTI.
    pub(super) fn terminate(mut self) {
        self.session.terminate(now());
        while !self.is_closed {
            self.step();
        }
    }

    /// Sends pending data, then receives data or waits for some.
    pub(super) fn step(&mut self) {
        self.events();
        self.write();
        let mut bytes = vec![0; 1 << 16];
        match self.stream.read(&mut bytes) {
            Ok(0) => self.is_closed = true,
            Ok(len) => self.session.receive(now(), &bytes[..len]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                panic!("nothing comes for {} s", PATIENCE.as_secs())
            }
            Err(_) => self.is_closed = true,
        }
        self.events();
        self.write();
    }

    fn write(&mut self) {
        let mut bytes = Vec::new();
        self.session.transmit(now(), &mut bytes, usize::MAX);
        if self.stream.write_all(&bytes).is_err() {
            self.is_closed = true;
        }
    }

    fn events(&mut self) {
        while let Some(event) = self.session.poll() {
            match event {
                Event::Request { id, body } => {
                    self.callbacks.push_back(message::decode_callback(&body).unwrap());
                    if self.answers_callbacks {
                        self.session.respond(now(), id, message::encode_taken(&Ok(())));
                    }
                }
                Event::Response { to, body } => drop(self.answers.insert(to, body)),
                Event::Disconnect | Event::Ended(_) => self.is_closed = true,
                Event::Done { .. } | Event::Requests { .. } | Event::Posted { .. } => {
                    panic!("this client has not agreed to shared frames")
                }
                Event::Connect | Event::Running => {}
            }
        }
    }

    fn object_class(&mut self) -> ObjectClassHandle {
        let object_class_name = "HLAobjectRoot.Car".into();
        match self.call(SupportCall::GetObjectClassHandle { object_class_name }) {
            Ok(Reply::ObjectClass(class)) => class,
            other => panic!("{other:?}"),
        }
    }

    fn attribute(&mut self, object_class: ObjectClassHandle) -> AttributeHandle {
        let attribute_name = "Speed".into();
        match self.call(SupportCall::GetAttributeHandle { object_class, attribute_name }) {
            Ok(Reply::Attribute(attribute)) => attribute,
            other => panic!("{other:?}"),
        }
    }

    /// Publishes the class and registers an instance of it.
    pub(super) fn register(&mut self) -> Instance {
        let object_class = self.object_class();
        let attribute = self.attribute(object_class);
        let attributes = vec![attribute];
        let call = DeclarationCall::PublishObjectClassAttributes { object_class, attributes };
        assert_eq!(self.call(call), Ok(Reply::Done));
        match self.call(ObjectCall::RegisterObjectInstance { object_class }) {
            Ok(Reply::ObjectInstance(instance)) => (instance, attribute),
            other => panic!("{other:?}"),
        }
    }

    /// Subscribes to the class.
    pub(super) fn subscribe(&mut self) {
        let object_class = self.object_class();
        let attributes = vec![self.attribute(object_class)];
        let call = DeclarationCall::SubscribeObjectClassAttributes { object_class, attributes };
        assert_eq!(self.call(call), Ok(Reply::Done));
    }
}

/// An object instance and its attribute.
pub(super) type Instance = (ObjectInstanceHandle, AttributeHandle);

trait IsThere {
    /// Whether the federation was created now, or existed already.
    fn is_ok_and_already(&self) -> bool;
}

impl IsThere for Result<Reply, Refusal> {
    fn is_ok_and_already(&self) -> bool {
        let already = hemiola_hla::Exception::FederationExecutionAlreadyExists;
        self.as_ref().map_or_else(|refusal| refusal.exception == already, |_| true)
    }
}

/// An update of the attribute.
pub(super) fn update((object_instance, attribute): Instance, value: impl Into<Data>) -> Call {
    let (attribute_values, user_supplied_tag) = (vec![(attribute, value.into())], Data::new());
    ObjectCall::UpdateAttributeValues { object_instance, attribute_values, user_supplied_tag }
        .into()
}

/// The value of a reflection.
pub(super) fn value(callback: Callback) -> Data {
    match callback {
        Callback::ReflectAttributeValues { mut attribute_values, .. } => {
            attribute_values.pop().unwrap().1
        }
        other => panic!("{other:?}"),
    }
}

/// One class with one attribute.
pub(super) const FOM: &str = r#"<objectModel xmlns="http://standards.ieee.org/IEEE1516-2025">
  <objects><objectClass><name>HLAobjectRoot</name>
    <objectClass><name>Car</name><sharing>PublishSubscribe</sharing>
      <attribute><name>Speed</name><dataType>HLAfloat64BE</dataType><order>Receive</order></attribute>
    </objectClass>
  </objectClass></objects>
</objectModel>"#;

pub(super) fn fom() -> FomModule {
    FomModule::File { name: "Car.xml".into(), content: FOM.into() }
}

/// A connection with timeouts.
pub(super) fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// The header value for "no sequence number".
pub(super) const NO_NUMBER: u32 = 0x8000_0000;

/// An arbitrary frame with unchecked numbers and the length given by `size`.
pub(super) fn frame(size: u32, sequence: u32, session: u64, kind: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = size.to_be_bytes().to_vec();
    bytes.extend(sequence.to_be_bytes());
    bytes.extend(session.to_be_bytes());
    bytes.extend(NO_NUMBER.to_be_bytes());
    bytes.extend(kind.to_be_bytes());
    bytes.extend(payload);
    bytes
}

/// A frame with the correct length.
pub(super) fn whole(sequence: u32, session: u64, kind: u32, payload: &[u8]) -> Vec<u8> {
    frame(24 + payload.len() as u32, sequence, session, kind, payload)
}

/// A session opened by hand: its connection and its id.
pub(super) fn opened(address: SocketAddr) -> (TcpStream, u64) {
    let mut stream = connect(address);
    stream.write_all(&whole(0, 0, 1, &1_u32.to_be_bytes())).unwrap();
    let mut status = [0; 28];
    stream.read_exact(&mut status).unwrap();
    assert_eq!(status[24..], [0; 4], "the RTI gives a session");
    (stream, u64::from_be_bytes(status[8..16].try_into().unwrap()))
}

/// Everything that comes until the RTI closes the connection.
pub(super) fn until_closed(mut stream: &TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    match stream.read_to_end(&mut bytes) {
        Ok(_) => bytes,
        // The RTI stops reading after invalid data.
        Err(error) if error.kind() == ErrorKind::ConnectionReset => bytes,
        Err(error) => panic!("the connection stays open: {error}"),
    }
}
