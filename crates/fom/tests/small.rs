//! The models of `data/fom`: their contents and their problems.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use hemiola_fom::model::Model;
use hemiola_fom::module::{Cardinality, Datatype};
use hemiola_fom::{Edition, Module, Problem, merge, read, render, tree};
use hemiola_hla::{OrderType, ResignAction, Switch, TransportationTypeHandle};

/// Reads a module of `data/fom`, which gives no warnings.
pub(crate) fn module(name: &str) -> Arc<Module> {
    let (modules, warnings) = read(name, &bytes(name)).unwrap_or_else(|problems| {
        panic!("{}", render(&problems));
    });
    assert_eq!(render(&warnings), "");
    Arc::clone(&modules[0])
}

pub(crate) fn bytes(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/fom");
    fs::read(folder.join(name)).unwrap()
}

fn merged(names: &[&str]) -> (Model, Vec<Problem>) {
    let modules: Vec<Arc<Module>> = names.iter().map(|name| module(name)).collect();
    let (model, warnings) =
        merge(&modules, None).unwrap_or_else(|problems| panic!("{}", render(&problems)));
    model.check_invariants();
    (model, warnings)
}

#[test]
fn every_table_reaches_the_model() {
    let (model, warnings) = merged(&["traffic.xml"]);
    assert_eq!(render(&warnings), "");
    let identification = &model.modules().last().unwrap().identification;
    assert_eq!((&*identification.name, &*identification.version), ("Traffic", "1.0"));
    assert_eq!(identification.contacts[0].name, "Hemiola");
    assert_eq!(identification.keywords[0].1, "road");

    let car = model.object_class_named("Vehicle.Car").unwrap();
    assert_eq!(model.object_class_named("HLAobjectRoot.Vehicle.Car"), Some(car));
    assert_eq!(model.object_class_named("Car"), None);
    let vehicle = model.object_class(car).unwrap().parent.unwrap();
    let position = model.attribute_named(car, "Position").unwrap();
    assert_eq!(model.attribute_named(vehicle, "Position"), Some(position));
    let driver = model.attribute_named(car, "Driver").unwrap();
    assert!(model.has_attribute(car, driver) && !model.has_attribute(vehicle, driver));
    let position = model.attribute(position).unwrap();
    assert_eq!(position.class, vehicle);
    assert_eq!(position.transportation, TransportationTypeHandle::BEST_EFFORT);
    assert_eq!((position.order, position.value_required), (OrderType::TimeStamp, true));
    assert_eq!(position.semantics, "Where its centre is");
    assert!(model.is_object_class(car, vehicle) && !model.is_object_class(vehicle, car));

    let command = model.interaction_class_named("Command").unwrap();
    let stop = model.interaction_class_named("HLAinteractionRoot.Command.Stop").unwrap();
    let directed = &model.object_class(car).unwrap().directed_interactions;
    assert_eq!(directed.iter().map(|(class, _)| *class).collect::<Vec<_>>(), [command]);
    assert!(model.parameter_named(stop, "Vehicle").is_some());
    assert_eq!(model.parameter_named(command, "Within"), None);
    let radio = model.transportation_named("Radio").unwrap();
    assert_eq!(model.interaction_class(command).unwrap().transportation, radio);
    assert!(!model.transportation(radio).unwrap().reliable);

    let lane = model.dimension_named("Lane").unwrap();
    assert_eq!(model.dimension(lane).unwrap().upper_bound, Some(8));
    assert_eq!(model.object_class(car).unwrap().dimensions, [lane]);
    assert_eq!(model.interaction_class(stop).unwrap().dimensions, [lane]);

    assert_eq!(model.time(), [Some("HLAinteger64Time"); 2]);
    assert_eq!(model.tag("updateReflectTag"), Some("HLAASCIIstring"));
    assert_eq!(model.tag("sendReceiveTag"), None);
    assert!(model.synchronization_points().contains_key("Ready"));
    assert_eq!(model.update_rates()["Slow"], 2.5);
    assert!(model.is_enabled(Switch::AutoProvide) && !model.is_enabled(Switch::ServiceReporting));
    assert_eq!(model.automatic_resign_action(), ResignAction::CancelThenDeleteThenDivest);
    let Some(Datatype::Array { cardinality, .. }) = model.datatype("Names") else { panic!() };
    assert_eq!(cardinality[..], [Cardinality::Between(1, 9)]);
    let kinds = ["Integer24", "Metres", "VehicleReference", "LoadKind", "Position", "Load"];
    let kinds = kinds.map(|name| model.datatype(name).unwrap().kind());
    assert!(kinds.is_sorted_by(|one, other| one != other), "seven kinds of data types");
    let module = model.modules().last().unwrap();
    assert_eq!(module.notes[0].value.text, "In the plane of the map.");
}

#[test]
fn module_extends_the_definitions_of_another() {
    let (model, warnings) = merged(&["traffic.xml", "trucks.xml"]);
    assert_eq!(render(&warnings), "");
    let car = model.object_class_named("Vehicle.Car").unwrap();
    assert!(model.attribute_named(car, "Axles").is_some());
    let Some(Datatype::Enumerated { enumerators, .. }) = model.datatype("LoadKind") else {
        panic!()
    };
    let names: Vec<&str> = enumerators.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["Nothing", "People", "Goods", "Fuel"]);
    let Some(Datatype::VariantRecord { alternatives, .. }) = model.datatype("Load") else {
        panic!()
    };
    assert_eq!(alternatives.len(), 2);
}

#[test]
fn modules_of_2010_and_2025_are_merged() {
    let (model, warnings) = merged(&["traffic.xml", "harbour.xml"]);
    assert_eq!(module("harbour.xml").edition, Edition::E2010);
    let ship = model.object_class_named("Ship").unwrap();
    let basin = model.dimension_named("Basin").unwrap();
    // In 2010, attributes have dimensions.
    assert_eq!(model.object_class(ship).unwrap().dimensions, [basin]);
    assert!(model.datatype("HLAhandle").is_some());
    assert!(
        model
            .interaction_class_named("HLAmanager.HLAfederate.HLAadjust.HLAsetServiceReporting")
            .is_some()
    );
    insta::assert_snapshot!(render(&warnings), @r"
    warning: data type HLAorderType differs from the standard of 2025, which applies
      --> harbour.xml:54:15
       |
    54 | <name>HLAorderType</name>
       |       ^^^^^^^^^^^^ ignored
       = hint: 1 more names of this module are ignored
    ");
    let (model, _) = merged(&["traffic.xml"]);
    assert_eq!(model.datatype("HLAhandle"), None);
}

#[test]
fn all_problems_of_a_module_are_reported_at_once() {
    let problems = read("broken.xml", &bytes("broken.xml")).unwrap_err();
    insta::assert_snapshot!(render(&problems), @r#"
    error: the class Thing is outside the root class
     --> broken.xml:5:13
      |
    5 | <name>Thing</name>
      |       ^^^^^
      = hint: put it inside HLAobjectRoot

    warning: Publishsubscribe should be written PublishSubscribe
      --> broken.xml:11:18
       |
    11 | <sharing>Publishsubscribe</sharing>
       |          ^^^^^^^^^^^^^^^^

    error: the name "Top Speed" contains a full stop or a space
      --> broken.xml:13:17
       |
    13 | <name>Top Speed</name>
       |       ^^^^^^^^^
       = hint: use letters, digits, - and _

    error: <datatype> is not allowed in <attribute>
      --> broken.xml:17:11
       |
    17 | <datatype>HLAfloat64BE</datatype>
       | ^^^^^^^^^
       = hint: did you mean <dataType>?

    error: Sometimes is not a valid order
      --> broken.xml:18:18
       |
    18 | <order>Sometimes</order>
       |        ^^^^^^^^^
       = hint: one of: Receive, TimeStamp

    error: attribute Speed is declared twice
      --> broken.xml:21:17
       |
    21 | <name>Speed</name>
       |       ^^^^^ again here
      ::: broken.xml:16:17
       |
    16 | <name>Speed</name>
       |       ^^^^^ first here

    error: <order> occurs twice in <attribute>
      --> broken.xml:23:11
       |
    23 | <order>TimeStamp</order>
       | ^^^^^^

    error: <attribute> has no <name>
      --> broken.xml:25:9
       |
    25 | <attribute>
       | ^^^^^^^^^^

    error: -1 is not a number of points
      --> broken.xml:32:45
       |
    32 | <dimension><name>Lane</name><upperBound>-1</upperBound></dimension>
       |                                         ^^

    error: "perhaps" is not a setting of autoProvide
      --> broken.xml:35:29
       |
    35 | <autoProvide isEnabled="perhaps"/>
       |                         ^^^^^^^
       = hint: true or false

    error: an update rate must be positive
      --> broken.xml:38:40
       |
    38 | <updateRate><name>Slow</name><rate>0</rate></updateRate>
       |                                    ^
       = hint: give updates per second

    error: the enumerator One has no value
      --> broken.xml:45:27
       |
    45 | <enumerator><name>One</name></enumerator>
       |                   ^^^

    error: [4..2] is not a number of elements
      --> broken.xml:49:76
       |
    49 | <arrayData><name>Row</name><dataType>HLAoctet</dataType><cardinality>[4..2]</cardinality></arrayData>
       |                                                                      ^^^^^^
       = hint: give Dynamic, a number, a range such as [1..4], or several separated by commas
    "#);
}

#[test]
fn contradictions_are_shown_with_both_places() {
    let modules = [module("traffic.xml"), module("contrary.xml")];
    let problems = merge(&modules, None).unwrap_err();
    insta::assert_snapshot!(render(&problems), @r"
    error: attribute HLAobjectRoot.Vehicle.Car.Load is already inherited from HLAobjectRoot.Vehicle
      --> contrary.xml:15:19
       |
    15 | <name>Load</name>
       |       ^^^^ this
      ::: traffic.xml:41:17
       |
    41 | <name>Load</name>
       |       ^^^^ contradicts this

    error: object class HLAobjectRoot.Building is named but not defined by any module
      --> contrary.xml:21:15
       |
    21 | <name>Building</name>
       |       ^^^^^^^^

    error: data type Meters is not defined
      --> contrary.xml:27:23
       |
    27 | <dataType>Meters</dataType>
       |           ^^^^^^
       = hint: did you mean Metres?

    error: Metres is a simple data type, but a basic data representation is required
      --> contrary.xml:35:53
       |
    35 | <simpleData><name>Speed</name><representation>Metres</representation></simpleData>
       |                                               ^^^^^^

    error: data type HLAboolean is declared as two kinds: enumerated data type, simple data type
        --> contrary.xml:36:25
         |
      36 | <simpleData><name>HLAboolean</name><representation>HLAoctet</representation></simpleData>
         |                   ^^^^^^^^^^ this
        ::: HLAstandardMIM:1581:15
         |
    1581 | <name>HLAboolean</name>
         |       ^^^^^^^^^^ contradicts this
         = hint: names that begin with HLA belong to the standard

    error: LoadKind has no enumerator Gods, which an alternative of Freight names
      --> contrary.xml:47:15
       |
    47 | <name>Freight</name>
       |       ^^^^^^^
       = hint: did you mean Goods?

    error: attribute HLAobjectRoot.Vehicle.Position has two different transportations
      --> traffic.xml:36:27
       |
    36 | <transportation>HLAbestEffort</transportation>
       |                 ^^^^^^^^^^^^^ this
      ::: contrary.xml:10:27
       |
    10 | <transportation>HLAreliable</transportation>
       |                 ^^^^^^^^^^^ contradicts this

    error: data type LoadKind has two different enumerators Goods (7; 2)
       --> traffic.xml:144:15
        |
    144 | <name>LoadKind</name>
        |       ^^^^^^^^ this
       ::: contrary.xml:40:15
        |
     40 | <name>LoadKind</name>
        |       ^^^^^^^^ contradicts this
    ");
}

#[test]
fn tree_shows_what_the_modules_define() {
    let (model, _) = merged(&["traffic.xml", "trucks.xml"]);
    insta::assert_snapshot!(tree::tree(&model, tree::Contents::Modules), @r"
    modules
      traffic.xml  1516-2025  Traffic 1.0
      trucks.xml  1516-2025  Trucks 1.0

    object classes
      HLAobjectRoot  Neither
      └─ Vehicle  PublishSubscribe  [Lane]
         │   Axles: HLAcount, HLAreliable, Receive
         │   Load: Load, HLAreliable, Receive
         │   Position: Position, HLAbestEffort, TimeStamp
         │   ← HLAinteractionRoot.Command, PublishSubscribe
         ├─ Car  PublishSubscribe  [Lane]
         │      Driver: HLAunicodeString, HLAreliable, Receive
         └─ Truck  PublishSubscribe  [Lane]

    interaction classes
      HLAinteractionRoot  Neither
      └─ Command  PublishSubscribe, Radio, Receive  [Lane]
         │   Vehicle: VehicleReference
         └─ Stop  PublishSubscribe, HLAreliable, TimeStamp  [Lane]
                Within: Metres

    array data types (1)
      Names: [1..9] of HLAunicodeString

    basic data representations (1)
      Integer24: 24 bits

    enumerated data types (1)
      LoadKind: 4 enumerators as HLAoctet

    fixed record data types (1)
      Position: X, Y

    reference data types (1)
      VehicleReference: Driver of HLAobjectRoot.Vehicle.Car

    simple data types (1)
      Metres: HLAfloat64BE, in m

    variant record data types (1)
      Load: 2 alternatives by LoadKind

    dimensions
      Lane: 0 to 8

    transportations
      Radio: best effort

    update rates
      Slow: 2.5 Hz

    synchronization points
      Ready: NA, RegisterAchieve

    tags
      updateReflectTag: HLAASCIIstring

    time
      lookahead: HLAinteger64Time
      timeStamp: HLAinteger64Time

    switches
      autoProvide: on
      automaticResignAction: CancelThenDeleteThenDivest
    ");
}
