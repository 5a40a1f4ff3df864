//! Regions: a radar receives the updates of a ship only while the ship is within its range.
use hemiola_federate::hla::data::{AttributeRegions, FomModule, RangeBounds};
use hemiola_federate::hla::encoding::HLAfloat64BE;
use hemiola_federate::hla::{Callback, Exception, RegionHandle, ResignAction, TimeImplementation};
use hemiola_federate::{Error, Federate, Joining, Options, RtiAddress};

type Done = Result<(), Box<dyn std::error::Error + Send + Sync>>;

fn main() -> Done {
    run(&RtiAddress::default(), &mut std::io::stdout())
}

pub(crate) fn run(rti: &RtiAddress, out: &mut impl std::io::Write) -> Done {
    let (mut ship, mut radar) = (join(rti, "ship")?, join(rti, "radar")?);
    let class = ship.get_object_class_handle("Ship")?;
    let position = ship.attribute::<HLAfloat64BE>(class, "Position")?;
    let attributes = vec![position.handle()];

    // The radar sees from kilometre 100 up to 200.
    let regions = vec![region(&mut radar)?];
    place(&mut radar, regions[0], 100, 200)?;
    let within = AttributeRegions { attributes: attributes.clone(), regions };
    radar.subscribe_object_class_attributes_with_regions(class, &[within], true)?;
    radar.confirm()?;

    // The region of the ship is the kilometre where it is.
    ship.publish_object_class_attributes(class, &attributes)?;
    let here = region(&mut ship)?;
    place(&mut ship, here, 98, 99)?;
    let within = AttributeRegions { attributes, regions: vec![here] };
    let mine = ship.register_object_instance_with_regions(class, &[within])?;
    for kilometre in 98..=102 {
        place(&mut ship, here, kilometre, kilometre + 1)?;
        let values = [position.with(&HLAfloat64BE(f64::from(kilometre)))];
        ship.update_attribute_values(mine, &values, "")?;
    }
    ship.resign_federation_execution(ResignAction::DeleteObjectsThenDivest)?;

    loop {
        match radar.wait_for(|callback| Some(callback.clone()))? {
            Callback::ReflectAttributeValues { attribute_values, .. } => {
                if let Some(HLAfloat64BE(kilometre)) = position.of(&attribute_values)? {
                    writeln!(out, "the ship is at kilometre {kilometre}")?;
                }
            }
            Callback::RemoveObjectInstance { .. } => break,
            _ => {}
        }
    }
    radar.resign_federation_execution(ResignAction::NoAction)?;
    Ok(radar.disconnect()?)
}

fn join(rti: &RtiAddress, name: &str) -> Result<Federate, Error> {
    let mut federate = Federate::connect(rti, Options::default())?;
    let sea = FomModule::File { name: "sea.xml".into(), content: include_str!("sea.xml").into() };
    match federate.create_federation_execution("Sea", &[sea], TimeImplementation::Integer64) {
        Err(error) if error.exception() == Some(Exception::FederationExecutionAlreadyExists) => {}
        created => created?,
    }
    federate.join_federation_execution(Joining::new("Vessel", "Sea").named(name))?;
    Ok(federate)
}

fn region(federate: &mut Federate) -> Result<RegionHandle, Error> {
    let east = federate.get_dimension_handle("East")?;
    federate.create_region(&[east])
}

/// A region has an effect from its commit.
fn place(
    federate: &mut Federate,
    region: RegionHandle,
    lower: u32,
    upper: u32,
) -> Result<(), Error> {
    let east = federate.get_dimension_handle("East")?;
    federate.set_range_bounds(region, east, RangeBounds { lower, upper })?;
    federate.commit_region_modifications(&[region])
}
