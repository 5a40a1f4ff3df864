//! A federate of a benchmark, joined to the federation, and the roles of publisher and subscriber.

use hemiola_federate::hla::data::FomModule;
use hemiola_federate::hla::{
    AttributeHandle, Callback, Data, ObjectClassHandle, TimeImplementation,
};
use hemiola_federate::{Calls, Federate, Joining, Options};

use super::{Orders, next_order, report};

/// The name of the federation.
const FEDERATION: &str = "Benchmark";

/// The object model: one class with an attribute of each order type.
const MODEL: &str = r#"<objectModel xmlns="http://standards.ieee.org/IEEE1516-2025">
  <objects><objectClass><name>HLAobjectRoot</name>
    <objectClass><name>Body</name><sharing>PublishSubscribe</sharing>
      <attribute><name>Now</name><dataType>HLAfloat64BE</dataType><order>Receive</order></attribute>
      <attribute><name>Stamped</name><dataType>HLAfloat64BE</dataType><order>TimeStamp</order></attribute>
    </objectClass>
    <objectClass><name>Other</name><sharing>PublishSubscribe</sharing>
      <attribute><name>Now</name><dataType>HLAfloat64BE</dataType><order>Receive</order></attribute>
    </objectClass>
CLASSES  </objectClass></objects>
</objectModel>"#;

/// The object model with this number of further classes, `C0` and so on.
fn model(classes: u64) -> String {
    let class = |number| {
        format!(
            "<objectClass><name>C{number}</name><sharing>PublishSubscribe</sharing><attribute><name>Now</name>\
             <dataType>HLAfloat64BE</dataType><order>Receive</order></attribute></objectClass>\n"
        )
    };
    MODEL.replace("CLASSES", &(0..classes).map(class).collect::<String>())
}

/// A joined federate and the handles it needs.
pub(crate) struct Member {
    pub(crate) federate: Federate,
    pub(crate) body: ObjectClassHandle,
    pub(crate) now: AttributeHandle,
    pub(crate) stamped: AttributeHandle,
}

impl Member {
    /// Joins the federation, which the first federate creates with `classes=` further classes.
    pub(crate) fn join(orders: &Orders) -> Self {
        let calls = match orders.text("waits") {
            Some(_) => Calls::Waiting,
            None => Calls::Pipelined,
        };
        let options = Options { calls, ..Options::default() };
        let mut federate = Federate::connect(&orders.address(), options).expect("the RTI runs");
        let content = model(orders.number("classes", 0)).into();
        let module = FomModule::File { name: "Benchmark.xml".into(), content };
        let time = TimeImplementation::named("HLAinteger64Time").expect("the standard has it");
        let created = federate.create_federation_execution(FEDERATION, &[module], time);
        if let Err(error) = created {
            assert!(error.to_string().contains("FederationExecutionAlreadyExists"), "{error}");
        }
        federate
            .join_federation_execution(Joining::new("Peer", FEDERATION))
            .expect("the federation exists");
        let body =
            federate.get_object_class_handle("HLAobjectRoot.Body").expect("the model has it");
        let attribute = |federate: &mut Federate, name| {
            federate.get_attribute_handle(body, name).expect("the model has it")
        };
        let now = attribute(&mut federate, "Now");
        let stamped = attribute(&mut federate, "Stamped");
        Self { federate, body, now, stamped }
    }

    /// Returns the value to send: `len=` bytes, 64 by default.
    pub(crate) fn value(orders: &Orders) -> Data {
        vec![7; orders.number("len", 64) as usize].into()
    }
}

/// Publishes the ordered number of updates, as fast as the RTI accepts them.
pub(crate) fn publisher(orders: &Orders) {
    let mut member = Member::join(orders);
    let (body, now) = (member.body, member.now);
    member.federate.publish_object_class_attributes(body, &[now]).expect("permitted");
    let object = member.federate.register_object_instance(body).expect("permitted");
    let value = [(now, Member::value(orders))];
    report("joined");
    while let Some(count) = next_order() {
        for _ in 0..count.parse().expect("a number") {
            member.federate.update_attribute_values(object, &value, "").expect("permitted");
        }
        member.federate.confirm().expect("the RTI accepts all updates");
    }
}

/// Receives the ordered number of updates, then reports `done`.
pub(crate) fn subscriber(orders: &Orders) {
    let mut member = Member::join(orders);
    let (body, now) = (member.body, member.now);
    member.federate.subscribe_object_class_attributes(body, &[now]).expect("permitted");
    member.federate.confirm().expect("permitted");
    report("joined");
    while let Some(count) = next_order() {
        report("ready");
        let mut left: u64 = count.parse().expect("a number");
        let look = |_: &mut _, callback| {
            left -= u64::from(matches!(callback, Callback::ReflectAttributeValues { .. }));
            Ok((left == 0).then_some(()))
        };
        member.federate.handle_until(look).expect("the RTI runs");
        report("done");
    }
}
