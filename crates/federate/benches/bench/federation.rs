//! A federate of a benchmark: joined to the federation, with what it publishes and subscribes.

use hemiola_federate::hla::data::FomModule;
use hemiola_federate::hla::{
    AttributeHandle, Callback, Data, ObjectClassHandle, TimeImplementation,
};
use hemiola_federate::{Bytes, Federate, Joining, Options};

use super::relay::GATHER;
use super::{Orders, say, told};

/// The one federation of a benchmark.
const FEDERATION: &str = "Benchmark";

/// One class, with an attribute for each order.
const MODEL: &str = r#"<objectModel xmlns="http://standards.ieee.org/IEEE1516-2025">
  <objects><objectClass><name>HLAobjectRoot</name>
    <objectClass><name>Body</name><sharing>PublishSubscribe</sharing>
      <attribute><name>Now</name><dataType>HLAfloat64BE</dataType><order>Receive</order></attribute>
      <attribute><name>Stamped</name><dataType>HLAfloat64BE</dataType><order>TimeStamp</order></attribute>
    </objectClass>
    <objectClass><name>Other</name><sharing>PublishSubscribe</sharing>
      <attribute><name>Now</name><dataType>HLAfloat64BE</dataType><order>Receive</order></attribute>
    </objectClass>
  </objectClass></objects>
</objectModel>"#;

/// A joined federate and the handles it needs.
pub(crate) struct Member {
    pub(crate) federate: Federate,
    pub(crate) body: ObjectClassHandle,
    pub(crate) now: AttributeHandle,
    pub(crate) stamped: AttributeHandle,
}

impl Member {
    /// Joins, after creating the federation if it is the first.
    pub(crate) fn join(orders: &Orders) -> Self {
        Self::join_gathering(orders, 0)
    }

    /// As [`join`](Self::join), collecting so many bytes of updates before they are sent.
    pub(crate) fn join_gathering(orders: &Orders, gather: usize) -> Self {
        let pipelined = orders.text("waits").is_none();
        let options = Options { pipelined, gather: Bytes(gather as u64), ..Options::default() };
        let mut federate = Federate::connect(&orders.address(), options).expect("the RTI is there");
        let module = FomModule::File { name: "Benchmark.xml".into(), content: MODEL.into() };
        let time = TimeImplementation::named("HLAinteger64Time").expect("the standard has it");
        let created = federate.create_federation_execution(FEDERATION, &[module], time);
        if let Err(error) = created {
            assert!(error.to_string().contains("FederationExecutionAlreadyExists"), "{error}");
        }
        federate
            .join_federation_execution(Joining::new("Peer", FEDERATION))
            .expect("the federation is there");
        let body =
            federate.get_object_class_handle("HLAobjectRoot.Body").expect("the model has it");
        let attribute = |federate: &mut Federate, name| {
            federate.get_attribute_handle(body, name).expect("the model has it")
        };
        let now = attribute(&mut federate, "Now");
        let stamped = attribute(&mut federate, "Stamped");
        Self { federate, body, now, stamped }
    }

    /// The value it sends: `len=` bytes, 64 unless told.
    pub(crate) fn value(orders: &Orders) -> Data {
        vec![7; orders.number("len", 64) as usize].into()
    }
}

/// Publishes so many updates, as fast as they are taken.
pub(crate) fn publisher(orders: &Orders) {
    let mut member = Member::join_gathering(orders, GATHER);
    let (body, now) = (member.body, member.now);
    member.federate.publish_object_class_attributes(body, &[now]).expect("it may");
    let object = member.federate.register_object_instance(body).expect("it may");
    let value = [(now, Member::value(orders))];
    say("joined");
    while let Some(count) = told() {
        for _ in 0..count.parse().expect("a number") {
            member.federate.update_attribute_values(object, &value, "").expect("it may");
        }
        member.federate.flush().expect("the RTI is there");
        // Answers are taken in, and what the RTI could not take yet is sent.
        member.federate.list_federation_executions().expect("the RTI is there");
    }
}

/// Takes so many updates, and says when all have come.
pub(crate) fn subscriber(orders: &Orders) {
    let mut member = Member::join(orders);
    let (body, now) = (member.body, member.now);
    member.federate.subscribe_object_class_attributes(body, &[now]).expect("it may");
    say("joined");
    while let Some(count) = told() {
        say("ready");
        let mut left: u64 = count.parse().expect("a number");
        let look = |_: &mut _, callback| {
            left -= u64::from(matches!(callback, Callback::ReflectAttributeValues { .. }));
            Ok((left == 0).then_some(()))
        };
        member.federate.handle_until(look).expect("the RTI is there");
        say("done");
    }
}
