//! A federate for tests: a session of the Federate Protocol over a real connection, one step at a time.

use std::collections::{BTreeMap, VecDeque};
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::thread::JoinHandle;
use std::time::Duration;

use hemiola_fedpro::session::End;
use hemiola_fedpro::{Client, Event, Session, Settings, Ticket, message};
use hemiola_hla::call::{DeclarationCall, FederationCall, ObjectCall, SupportCall};
use hemiola_hla::data::FomModule;
use hemiola_hla::{
    AttributeHandle, Call, Callback, Data, ObjectClassHandle, ObjectInstanceHandle, Refusal, Reply,
};
use hemiola_rt::clock::{Clock, MonotonicClock};
use hemiola_rtid::{Options, ServeError, Server, Stopper, Summary};
use hemiola_units::{Instant, Span};

use crate::carrier::{Address, Carrier};

/// The time within which every expected event arrives.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(20);

pub(crate) fn now() -> Instant {
    MonotonicClock.now()
}

/// An RTI in a thread of its own. Dropping it stops the RTI.
pub(crate) struct Rti {
    pub(crate) address: SocketAddr,
    pub(crate) stopper: Stopper,
    thread: Option<JoinHandle<Result<Summary, ServeError>>>,
}

pub(crate) fn on_loopback() -> Options {
    Options { listen: vec!["127.0.0.1:0".parse().unwrap()], local: None, ..Options::default() }
}

impl Rti {
    pub(crate) fn start(options: Options) -> Self {
        let server = Server::bind(options).unwrap();
        let (address, stopper) = (server.addresses().tcp[0], server.stopper());
        Self { address, stopper, thread: Some(std::thread::spawn(|| server.run())) }
    }

    pub(crate) fn stop(mut self) -> Summary {
        self.stopper.stop();
        self.thread.take().unwrap().join().unwrap().unwrap()
    }
}

impl Drop for Rti {
    fn drop(&mut self) {
        self.stopper.stop();
    }
}

/// A federate.
pub(crate) struct Peer {
    pub(crate) session: Session<Client>,
    address: Address,
    pub(crate) carrier: Option<Carrier>,
    calls: BTreeMap<Ticket, Call>,
    pub(crate) replies: BTreeMap<Ticket, Result<Reply, Refusal>>,
    pub(crate) callbacks: VecDeque<Callback>,
    pub(crate) end: Option<End>,
}

impl Peer {
    /// Opens a session and connects.
    pub(crate) fn connect(address: impl Into<Address>) -> Self {
        let mut peer = Self::open(address);
        assert_eq!(peer.call(FederationCall::Connect), Ok(Reply::Configured(Default::default())));
        peer
    }

    /// Opens a session.
    pub(crate) fn open(address: impl Into<Address>) -> Self {
        let mut peer = Self::new(address);
        while !peer.session.is_running() {
            peer.step();
        }
        peer
    }

    /// Creates a federate that has not opened its session.
    pub(crate) fn new(address: impl Into<Address>) -> Self {
        let settings = Settings { retry_every: Span::from_millis(10), ..Settings::default() };
        Self {
            session: Session::open(now(), settings),
            address: address.into(),
            carrier: None,
            calls: BTreeMap::new(),
            replies: BTreeMap::new(),
            callbacks: VecDeque::new(),
            end: None,
        }
    }

    /// Connects and joins a federation, which the first federate creates.
    pub(crate) fn join(address: impl Into<Address>, federation: &str) -> Self {
        Self::connect(address).joined(federation)
    }

    /// As [`enter`](Self::enter), by value.
    pub(crate) fn joined(mut self, federation: &str) -> Self {
        self.enter(federation);
        self
    }

    /// Joins a federation, which the first federate creates. It must be connected.
    pub(crate) fn enter(&mut self, federation: &str) {
        let created = self.call(FederationCall::CreateFederationExecution {
            federation_name: federation.into(),
            fom_module: fom(),
        });
        assert!(created.is_ok() || created.unwrap_err().to_string().contains("AlreadyExists"));
        let joined = self.call(FederationCall::JoinFederationExecution {
            federate_type: "Test".into(),
            federation_name: federation.into(),
        });
        assert!(matches!(joined, Ok(Reply::Joined(_))), "{joined:?}");
    }

    /// Makes a call without waiting for its reply.
    pub(crate) fn send(&mut self, call: impl Into<Call>) -> Ticket {
        let call = call.into();
        let ticket = self.session.request(now(), message::encode_call(&call)).unwrap();
        self.calls.insert(ticket, call);
        ticket
    }

    /// Makes a call and waits for its reply.
    pub(crate) fn call(&mut self, call: impl Into<Call>) -> Result<Reply, Refusal> {
        let ticket = self.send(call);
        self.reply(ticket)
    }

    pub(crate) fn reply(&mut self, ticket: Ticket) -> Result<Reply, Refusal> {
        loop {
            if let Some(reply) = self.replies.remove(&ticket) {
                return reply;
            }
            self.step();
        }
    }

    /// Waits for the next callback.
    pub(crate) fn callback(&mut self) -> Callback {
        loop {
            if let Some(callback) = self.callbacks.pop_front() {
                return callback;
            }
            self.step();
        }
    }

    /// Connects if necessary, sends pending bytes, and waits for received ones.
    pub(crate) fn step(&mut self) {
        assert!(self.end.is_none(), "the session has ended: {:?}", self.end);
        self.events();
        self.write();
        if self.session.has_output() {
            return;
        }
        if self.carrier.is_none() {
            // The next attempt to connect is not due yet.
            let deadline = self.session.deadline().expect("a session always has a deadline");
            std::thread::sleep((deadline - now()).max(Span::ZERO).to_duration());
            self.session.tick(now());
            return;
        }
        self.read();
        self.events();
        self.write();
    }

    /// Sends all pending bytes.
    pub(crate) fn write(&mut self) {
        let mut bytes = Vec::new();
        self.session.transmit(now(), &mut bytes, usize::MAX);
        if let Some(carrier) = &mut self.carrier
            && carrier.write(&bytes).is_err()
        {
            self.cut();
        }
    }

    fn read(&mut self) {
        let mut bytes = vec![0; 1 << 16];
        let Some(carrier) = &mut self.carrier else { return };
        match carrier.read(&mut bytes) {
            Ok(0) => self.cut(),
            Ok(len) => self.session.receive(now(), &bytes[..len]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                panic!("nothing received within the timeout")
            }
            Err(_) => self.cut(),
        }
    }

    /// Breaks the connection.
    pub(crate) fn cut(&mut self) {
        self.carrier = None;
        self.session.disconnected(now());
    }

    pub(crate) fn events(&mut self) {
        while let Some(event) = self.session.poll() {
            match event {
                Event::Connect => {
                    self.carrier = Some(Carrier::connect(&self.address));
                    self.session.connected(now());
                }
                Event::Running => {}
                Event::Request { id, body } => {
                    self.callbacks.push_back(message::decode_callback(&body).unwrap());
                    self.session.respond(now(), id, message::encode_taken(&Ok(())));
                }
                Event::Response { to, body } => {
                    let call = self.calls.remove(&to).expect("a reply belongs to one call");
                    let entry = call.entry();
                    let reply = message::decode_reply(entry.number, entry.shape, &body).unwrap();
                    self.replies.insert(to, reply);
                }
                Event::Done { .. } | Event::Requests { .. } | Event::Posted { .. } => {
                    panic!("this client has not agreed to shared frames")
                }
                Event::Ended(end) => self.end = Some(end),
                Event::Disconnect => self.carrier = None,
            }
        }
    }

    /// Terminates the session and receives until that is confirmed.
    pub(crate) fn terminate(mut self) -> End {
        self.session.terminate(now());
        while self.end.is_none() {
            self.step();
        }
        self.end.unwrap()
    }

    /// Receives until the connection breaks or the session ends; does not connect again.
    pub(crate) fn wait_for_end(&mut self) {
        while self.carrier.is_some() && self.end.is_none() {
            self.read();
            if self.carrier.is_some() {
                self.events();
                self.write();
            }
        }
    }

    fn object_class(&mut self) -> ObjectClassHandle {
        let name = "HLAobjectRoot.Car".into();
        let call = SupportCall::GetObjectClassHandle { object_class_name: name };
        match self.call(call) {
            Ok(Reply::ObjectClass(class)) => class,
            other => panic!("{other:?}"),
        }
    }

    fn attribute(&mut self, object_class: ObjectClassHandle, name: &str) -> AttributeHandle {
        let call = SupportCall::GetAttributeHandle { object_class, attribute_name: name.into() };
        match self.call(call) {
            Ok(Reply::Attribute(attribute)) => attribute,
            other => panic!("{other:?}"),
        }
    }

    /// Publishes the class with the speed, and registers an instance of it.
    pub(crate) fn register(&mut self) -> (ObjectInstanceHandle, AttributeHandle) {
        self.register_with("Speed")
    }

    /// Publishes the class with this attribute, and registers an instance of it.
    pub(crate) fn register_with(&mut self, name: &str) -> (ObjectInstanceHandle, AttributeHandle) {
        let object_class = self.object_class();
        let attribute = self.attribute(object_class, name);
        let attributes = vec![attribute];
        let published =
            self.call(DeclarationCall::PublishObjectClassAttributes { object_class, attributes });
        assert_eq!(published, Ok(Reply::Done));
        match self.call(ObjectCall::RegisterObjectInstance { object_class }) {
            Ok(Reply::ObjectInstance(instance)) => (instance, attribute),
            other => panic!("{other:?}"),
        }
    }

    /// Subscribes to the speed and waits for the discovery of the one instance.
    pub(crate) fn subscribe(&mut self) {
        self.subscribe_to("Speed");
    }

    /// Subscribes to this attribute and waits for the discovery of the one instance.
    pub(crate) fn subscribe_to(&mut self, name: &str) {
        let object_class = self.object_class();
        let attributes = vec![self.attribute(object_class, name)];
        let subscribed =
            self.call(DeclarationCall::SubscribeObjectClassAttributes { object_class, attributes });
        assert_eq!(subscribed, Ok(Reply::Done));
        let callback = self.callback();
        assert_eq!(callback.name(), "DiscoverObjectInstance", "{callback:?}");
    }
}

/// Returns an update of one attribute.
pub(crate) fn update(
    (object_instance, attribute): (ObjectInstanceHandle, AttributeHandle),
    value: impl Into<Data>,
) -> ObjectCall {
    ObjectCall::UpdateAttributeValues {
        object_instance,
        attribute_values: vec![(attribute, value.into())],
        user_supplied_tag: Data::new(),
    }
}

/// Returns the value in a reflection of one attribute.
pub(crate) fn value(callback: Callback) -> Data {
    match callback {
        Callback::ReflectAttributeValues { mut attribute_values, .. } => {
            attribute_values.pop().unwrap().1
        }
        other => panic!("{other:?}"),
    }
}

fn fom() -> FomModule {
    let content = r#"<objectModel xmlns="http://standards.ieee.org/IEEE1516-2025">
  <objects><objectClass><name>HLAobjectRoot</name>
    <objectClass><name>Car</name><sharing>PublishSubscribe</sharing>
      <attribute><name>Speed</name><dataType>HLAfloat64BE</dataType><order>Receive</order></attribute>
      <attribute><name>Position</name><dataType>HLAfloat64BE</dataType>
        <transportation>HLAbestEffort</transportation><order>Receive</order></attribute>
    </objectClass>
  </objectClass></objects>
</objectModel>"#;
    FomModule::File { name: "Car.xml".into(), content: content.into() }
}
