//! The object model of the harness, and a joined federate.

use std::time::{Duration, Instant};

use hemiola_federate::hla::Callback;
use hemiola_federate::hla::data::FomModule;
use hemiola_federate::hla::{
    AttributeHandle, Exception, ObjectClassHandle, ObjectInstanceHandle, TimeImplementation,
};
use hemiola_federate::{Calls, Error, Federate, Joining, Options};
use hemiola_units::RtiAddress;

use super::process::{Orders, give_up, report};

/// The federation of the healthy pair.
pub(crate) const HEALTHY: &str = "Healthy";

/// The attribute of every class.
pub(crate) const VALUE: &str = "Value";

/// `Body` belongs to the healthy pair; `Loud` and `Noise` are for floods, `Stamped` for time-stamped updates.
pub(crate) const MODEL: &str = r#"<objectModel xmlns="http://standards.ieee.org/IEEE1516-2025">
  <objects><objectClass><name>HLAobjectRoot</name>
    <objectClass><name>Body</name><sharing>PublishSubscribe</sharing><attribute><name>Value</name>
      <dataType>HLAfloat64BE</dataType><transportation>HLAreliable</transportation><order>Receive</order></attribute>
    </objectClass>
    <objectClass><name>Loud</name><sharing>PublishSubscribe</sharing><attribute><name>Value</name>
      <dataType>HLAfloat64BE</dataType><transportation>HLAreliable</transportation><order>Receive</order></attribute>
    </objectClass>
    <objectClass><name>Noise</name><sharing>PublishSubscribe</sharing><attribute><name>Value</name>
      <dataType>HLAfloat64BE</dataType><transportation>HLAbestEffort</transportation><order>Receive</order></attribute>
    </objectClass>
    <objectClass><name>Stamped</name><sharing>PublishSubscribe</sharing><attribute><name>Value</name>
      <dataType>HLAfloat64BE</dataType><transportation>HLAreliable</transportation><order>TimeStamp</order></attribute>
    </objectClass>
  </objectClass></objects>
</objectModel>"#;

/// Returns the object model as a module.
pub(crate) fn model() -> FomModule {
    FomModule::File { name: "Attack.xml".into(), content: MODEL.into() }
}

/// A joined federate, and the class that it works with.
pub(crate) struct Member {
    pub(crate) federate: Federate,
    pub(crate) class: ObjectClassHandle,
    pub(crate) value: AttributeHandle,
}

impl Member {
    /// Connects and joins a federation, which the first federate creates.
    pub(crate) fn join(
        address: &RtiAddress,
        federation: &str,
        class: &str,
        options: Options,
    ) -> Result<Self, Error> {
        let mut federate = Federate::connect(address, options)?;
        create(&mut federate, federation)?;
        federate.join_federation_execution(Joining::new("Member", federation))?;
        let class = federate.get_object_class_handle(&format!("HLAobjectRoot.{class}"))?;
        let value = federate.get_attribute_handle(class, VALUE)?;
        Ok(Self { federate, class, value })
    }

    /// Publishes the class and registers an instance of it.
    pub(crate) fn register(&mut self) -> Result<ObjectInstanceHandle, Error> {
        self.federate.publish_object_class_attributes(self.class, &[self.value])?;
        self.federate.register_object_instance(self.class)
    }

    pub(crate) fn subscribe(&mut self) -> Result<(), Error> {
        self.federate.subscribe_object_class_attributes(self.class, &[self.value])?;
        self.federate.confirm()
    }
}

/// Creates a federation unless it exists.
pub(crate) fn create(federate: &mut Federate, federation: &str) -> Result<(), Error> {
    let time = TimeImplementation::Integer64;
    match federate.create_federation_execution(federation, &[model()], time) {
        Err(error) if error.exception() == Some(Exception::FederationExecutionAlreadyExists) => {
            Ok(())
        }
        created => created,
    }
}

/// Returns options for calls that wait for their replies.
pub(crate) fn waiting() -> Options {
    Options { calls: Calls::Waiting, ..Options::default() }
}

/// How long the janitor waits for federates of the attacker to be resigned.
const DEPARTURES_MAX: Duration = Duration::from_secs(4);

/// The role of the janitor: destroys the federations without federates and reports how many. With `full` it waits until
/// all but the healthy one have none.
pub(crate) fn janitor(orders: &Orders) {
    let patience = if orders.has("full") { DEPARTURES_MAX } else { Duration::ZERO };
    match destroy_empty(&orders.address("rti"), patience) {
        Ok(count) => report(count),
        Err(error) => give_up(error),
    }
}

fn destroy_empty(address: &RtiAddress, patience: Duration) -> Result<usize, Error> {
    let mut federate = Federate::connect(address, Options::default())?;
    let until = Instant::now() + patience;
    let mut destroyed = 0;
    loop {
        let names = others(&mut federate)?;
        // A federation with federates refuses.
        let gone = names.iter().filter(|name| federate.destroy_federation_execution(name).is_ok());
        let count = gone.count();
        destroyed += count;
        if count == names.len() || Instant::now() >= until {
            return Ok(destroyed);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Lists the federations but the healthy one.
fn others(federate: &mut Federate) -> Result<Vec<String>, Error> {
    federate.list_federation_executions()?;
    let report = federate.handle_until(|_, callback| match callback {
        Callback::ReportFederationExecutions { report } => Ok(Some(report)),
        _ => Ok(None),
    })?;
    let names = report.into_iter().map(|one| one.federation_name);
    Ok(names.filter(|name| name != HEALTHY).collect())
}
