//! Your first federate: two vehicles move in step, and each prints the position of the other.
use hemiola_federate::hla::encoding::HLAfloat64BE;
use hemiola_federate::hla::{Callback, Exception, LogicalInterval, TimeImplementation};
use hemiola_federate::hla::{ResignAction, data::FomModule};
use hemiola_federate::{Federate, Joining, Options, RtiAddress};

type Done = Result<(), Box<dyn std::error::Error + Send + Sync>>;

fn main() -> Done {
    let name = std::env::args().nth(1).ok_or("usage: first_federate NAME [ADDRESS]")?;
    let rti = std::env::args().nth(2).map_or(Ok(RtiAddress::default()), |text| text.parse())?;
    run(&rti, &name, &mut std::io::stdout())
}

pub(crate) fn run(rti: &RtiAddress, name: &str, out: &mut impl std::io::Write) -> Done {
    // The first of the two creates the federation.
    let mut federate = Federate::connect(rti, Options::default())?;
    let road =
        FomModule::File { name: "road.xml".into(), content: include_str!("road.xml").into() };
    match federate.create_federation_execution("Road", &[road], TimeImplementation::Integer64) {
        Err(error) if error.exception() == Some(Exception::FederationExecutionAlreadyExists) => {}
        created => created?,
    }
    federate.join_federation_execution(Joining::new("Vehicle", "Road").named(name))?;

    // It publishes and subscribes to one attribute, which the object model names.
    let vehicle = federate.get_object_class_handle("Vehicle")?;
    let position = federate.attribute::<HLAfloat64BE>(vehicle, "Position")?;
    federate.publish_object_class_attributes(vehicle, &[position.handle()])?;
    federate.subscribe_object_class_attributes(vehicle, &[position.handle()])?;

    // From here on, neither federate can run ahead of the other in logical time.
    let second = LogicalInterval::integer(1)?;
    federate.enable_time_regulation_and_wait(second)?;
    federate.enable_time_constrained_and_wait()?;
    federate.enable_asynchronous_delivery()?;
    let mine = federate.register_object_instance(vehicle)?;
    federate.wait_for(|callback| {
        matches!(callback, Callback::DiscoverObjectInstance { .. }).then_some(())
    })?;

    let mut now = federate.query_logical_time()?;
    for metres in 1..=10 {
        let then = now.plus(second)?;
        let values = [position.with(&HLAfloat64BE(f64::from(metres)))];
        federate.update_attribute_values_with_time(mine, &values, "", then)?;
        let mut seen = Vec::new();
        now = federate.advance(then, |_, callback| {
            if let Callback::ReflectAttributeValuesWithTime { attribute_values, .. } = callback {
                seen.extend(position.of(&attribute_values)?);
            }
            Ok(())
        })?;
        for HLAfloat64BE(metres) in seen {
            writeln!(out, "{name} at {now} s: the other one is at {metres} m")?;
        }
    }
    federate.resign_federation_execution(ResignAction::DeleteObjectsThenDivest)?;
    Ok(federate.disconnect()?)
}
