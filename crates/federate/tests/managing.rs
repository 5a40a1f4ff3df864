//! The management object model through a real RTI: the manager of the guide, every value, and periodic updates.

use std::collections::BTreeMap;

use hemiola_federate::hla::data::{Data, FomModule};
use hemiola_federate::hla::encoding::{HLAinteger32BE, HLAunicodeString, decode};
use hemiola_federate::hla::{
    AttributeHandle, Callback, FederateHandle, LogicalInterval, ResignAction, TimeImplementation,
};
use hemiola_federate::{Federate, Joining, Options};

use crate::rti::{Rti, Transport};

#[path = "../examples/manager.rs"]
#[allow(dead_code, reason = "the example is a program of its own")]
mod manager;

/// Two vehicles on a road; the first regulates time.
fn vehicles(rti: &Rti) -> [Federate; 2] {
    let road = include_str!("../examples/road.xml");
    let road = FomModule::File { name: "road.xml".into(), content: road.into() };
    let mut ann = rti.connect(Transport::Tcp, Options::default());
    let time = TimeImplementation::Integer64;
    ann.create_federation_execution("Road", &[road], time).unwrap();
    let mut ben = rti.connect(Transport::SharedMemory, Options::default());
    for (federate, name) in [(&mut ann, "ann"), (&mut ben, "ben")] {
        let joining = Joining::new("Vehicle", "Road").named(name);
        federate.join_federation_execution(joining).unwrap();
    }
    ann.enable_time_regulation_and_wait(LogicalInterval::integer(1).unwrap()).unwrap();
    [ann, ben]
}

#[test]
fn the_manager_of_the_guide_lists_federates_and_makes_one_resign() {
    let rti = Rti::start();
    let [_ann, mut ben] = vehicles(&rti);
    let mut out = Vec::new();
    manager::run(&rti.tcp, "Road", Some("ben"), &mut out).unwrap();
    let expected = "Road:\n  ann regulates time\n  ben does not regulate time\n  \
                    manager does not regulate time\nben has resigned\n";
    assert_eq!(String::from_utf8(out).unwrap(), expected);
    let resigned = ben
        .wait_for(|callback| matches!(callback, Callback::FederateResigned { .. }).then_some(()));
    resigned.unwrap();
}

#[test]
fn the_guide_contains_the_code_of_the_manager() {
    let guide = include_str!("../../../docs/guide/rti.md");
    let code = include_str!("../examples/manager.rs");
    assert!(guide.contains(&format!("```rust\n{code}```")), "copy the example into the guide");
}

/// The attributes of a class of the standard management module, by name.
fn attributes(
    manager: &mut Federate,
    class: &str,
    names: &[&str],
) -> BTreeMap<AttributeHandle, String> {
    let class = manager.get_object_class_handle(class).unwrap();
    let named = names
        .iter()
        .map(|name| (manager.get_attribute_handle(class, name).unwrap(), (*name).to_owned()));
    named.collect()
}

/// The attributes of a federate that `hemiola rti status` shows too.
const STATUS: [&str; 9] = [
    "HLAfederateName",
    "HLAfederateType",
    "HLAfederateHost",
    "HLAlogicalTime",
    "HLAlookahead",
    "HLAtimeConstrained",
    "HLAGALT",
    "HLATSOlength",
    "HLAROlength",
];

#[test]
fn values_arrive_on_request_and_periodically() {
    let rti = Rti::start();
    let [ann, _ben] = vehicles(&rti);
    let mut manager = rti.connect(Transport::Tcp, Options::default());
    manager.join_federation_execution(Joining::new("Manager", "Road")).unwrap();
    let federate = manager.get_object_class_handle("HLAmanager.HLAfederate").unwrap();
    let names = attributes(&mut manager, "HLAmanager.HLAfederate", &STATUS);
    let handles: Vec<AttributeHandle> = names.keys().copied().collect();
    manager.subscribe_object_class_attributes(federate, &handles).unwrap();
    manager.request_class_attribute_value_update(federate, &handles, "").unwrap();
    let mut hosts = BTreeMap::new();
    while hosts.len() < 3 {
        let values = reflected(&mut manager, &names);
        assert_eq!(values.len(), STATUS.len(), "{values:?}");
        let name: HLAunicodeString = decode(&values["HLAfederateName"]).unwrap();
        let host: HLAunicodeString = decode(&values["HLAfederateHost"]).unwrap();
        hosts.insert(name.0, host.0);
    }
    assert!(hosts["ann"].starts_with("tcp:127.0.0.1:"), "{hosts:?}");
    // From now on, the periodic values of one federate come every second without being requested.
    let timing = "HLAinteractionRoot.HLAmanager.HLAfederate.HLAadjust.HLAsetTiming";
    let timing = manager.get_interaction_class_handle(timing).unwrap();
    let whom = manager.parameter::<FederateHandle>(timing, "HLAfederate").unwrap();
    let period = manager.parameter::<HLAinteger32BE>(timing, "HLAreportPeriod").unwrap();
    manager.publish_interaction_class(timing).unwrap();
    let values = [whom.with(&ann.federate().unwrap()), period.with(&HLAinteger32BE(1))];
    manager.send_interaction(timing, &values, "").unwrap();
    for _ in 0..2 {
        let values = reflected(&mut manager, &names);
        let periodic = ["HLAGALT", "HLAROlength", "HLATSOlength", "HLAlogicalTime", "HLAlookahead"];
        assert_eq!(values.keys().collect::<Vec<_>>(), periodic);
    }
    manager.resign_federation_execution(ResignAction::NoAction).unwrap();
}

/// Waits for a reflection. Returns its values by name.
fn reflected(
    manager: &mut Federate,
    names: &BTreeMap<AttributeHandle, String>,
) -> BTreeMap<String, Data> {
    let values = manager.wait_for(|callback| match callback {
        Callback::ReflectAttributeValues { attribute_values, .. } => Some(attribute_values.clone()),
        _ => None,
    });
    values.unwrap().into_iter().map(|(one, value)| (names[&one].clone(), value)).collect()
}
