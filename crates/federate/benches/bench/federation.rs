//! A federate of a benchmark: joined to the federation, with what it publishes and subscribes.

use hemiola_federate::hla::data::FomModule;
use hemiola_federate::hla::{AttributeHandle, Data, ObjectClassHandle, TimeImplementation};
use hemiola_federate::{Bytes, Federate, Joining, Options};

use super::Orders;

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
