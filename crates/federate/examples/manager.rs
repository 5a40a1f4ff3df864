//! A manager: it lists the federates of a federation, and makes one of them resign if asked to.
use hemiola_federate::hla::encoding::{HLAboolean, HLAinteger32BE, HLAunicodeString};
use hemiola_federate::hla::{Callback, FederateHandle, ResignAction};
use hemiola_federate::{Federate, Joining, Options, RtiAddress};

type Done = Result<(), Box<dyn std::error::Error + Send + Sync>>;

fn main() -> Done {
    let mut arguments = std::env::args().skip(1);
    let federation = arguments.next().ok_or("usage: manager FEDERATION [FEDERATE]")?;
    let unwanted = arguments.next();
    run(&RtiAddress::default(), &federation, unwanted.as_deref(), &mut std::io::stdout())
}

pub(crate) fn run(
    rti: &RtiAddress,
    federation: &str,
    unwanted: Option<&str>,
    out: &mut impl std::io::Write,
) -> Done {
    let mut manager = Federate::connect(rti, Options::default())?;
    manager.join_federation_execution(Joining::new("Manager", federation).named("manager"))?;

    // The RTI has registered an instance for the federation and one for each federate.
    let class = manager.get_object_class_handle("HLAmanager.HLAfederate")?;
    let name = manager.attribute::<HLAunicodeString>(class, "HLAfederateName")?;
    let handle = manager.attribute::<FederateHandle>(class, "HLAfederateHandle")?;
    let regulates = manager.attribute::<HLAboolean>(class, "HLAtimeRegulating")?;
    let whole = manager.get_object_class_handle("HLAmanager.HLAfederation")?;
    let title = manager.attribute::<HLAunicodeString>(whole, "HLAfederationName")?;
    let of_federate = [name.handle(), handle.handle(), regulates.handle()];
    for (class, attributes) in [(class, &of_federate[..]), (whole, &[title.handle()])] {
        manager.subscribe_object_class_attributes(class, attributes)?;
        manager.request_class_attribute_value_update(class, attributes, "")?;
    }

    // The values arrive in the order of the requests, those of the federation last.
    let mut federates = Vec::new();
    let title = manager.handle_until(|_, callback| {
        let Callback::ReflectAttributeValues { attribute_values: values, .. } = callback else {
            return Ok(None);
        };
        federates.extend(name.of(&values)?.zip(handle.of(&values)?).zip(regulates.of(&values)?));
        title.of(&values).map_err(Into::into)
    })?;
    writeln!(out, "{}:", title.0)?;
    federates.sort_by(|((one, _), _), ((other, _), _)| one.cmp(other));
    for ((name, _), regulates) in &federates {
        let state = if regulates.0 { "regulates time" } else { "does not regulate time" };
        writeln!(out, "  {} {state}", name.0)?;
    }

    let found = federates.iter().find(|((name, _), _)| Some(name.0.as_str()) == unwanted);
    if let Some(((name, unwanted), _)) = found {
        let services = "HLAinteractionRoot.HLAmanager.HLAfederate.HLAservice";
        let service = format!("{services}.HLAresignFederationExecution");
        let resign = manager.get_interaction_class_handle(&service)?;
        let whom = manager.parameter::<FederateHandle>(resign, "HLAfederate")?;
        let action = manager.parameter::<HLAinteger32BE>(resign, "HLAresignAction")?;
        let directive = HLAinteger32BE(ResignAction::CancelThenDeleteThenDivest.number());
        manager.publish_interaction_class(resign)?;
        let values = [whom.with(unwanted), action.with(&directive)];
        manager.send_interaction(resign, &values, "")?;
        manager.wait_for(|callback| {
            matches!(callback, Callback::RemoveObjectInstance { .. }).then_some(())
        })?;
        writeln!(out, "{} has resigned", name.0)?;
    }
    manager.resign_federation_execution(ResignAction::NoAction)?;
    Ok(manager.disconnect()?)
}
