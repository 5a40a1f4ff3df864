//! Modules that are read before their call, with the same result as without.

use hemiola_hla::call::{DeclarationCall, FederationCall, ObjectCall, SupportCall};
use hemiola_hla::{Call, Exception, Refusal, Reply};
use hemiola_rti::{Input, Kernel, Limits, Preparation, Room};

use crate::world::{Fed, MODEL, World, YARD, module};

fn create(text: &str, mim: Option<&str>) -> FederationCall {
    let (federation_name, fom_modules) = (YARD.to_owned(), vec![module(text)]);
    match mim {
        None => {
            FederationCall::CreateFederationExecutionWithModules { federation_name, fom_modules }
        }
        Some(mim) => FederationCall::CreateFederationExecutionWithMIM {
            federation_name,
            fom_modules,
            mim_module: module(mim),
        },
    }
}

fn join(name: &str, text: &str) -> FederationCall {
    FederationCall::JoinFederationExecutionWithNameAndModules {
        federate_name: name.into(),
        federate_type: "test".into(),
        federation_name: YARD.into(),
        additional_fom_modules: vec![module(text)],
    }
}

fn preparation(w: &World, fed: Fed, call: &FederationCall) -> Option<Preparation> {
    w.kernel.preparation(fed.session, &Call::from(call.clone()))
}

/// Returns the reply to a prepared call.
fn prepared(w: &mut World, fed: Fed, call: FederationCall) -> Result<Reply, Refusal> {
    let preparation = preparation(w, fed, &call).expect("it brings modules");
    assert!(preparation.memory() > 0);
    w.input(Input::Prepared(on_another_thread(preparation).run()));
    w.call(fed, call)
}

/// The shell could move it to another thread.
fn on_another_thread<T: Send + 'static>(sent: T) -> T {
    sent
}

/// An additional module of the same federation, with its own name.
fn more() -> String {
    MODEL.replace("<name>Car</name>", "<name>Bicycle</name>")
}

#[test]
fn preparation_does_not_change_the_reply() {
    let clash = MODEL.replace("<order>TimeStamp</order>", "<order>Receive</order>");
    let invalid = MODEL.replace("<name>Load</name>", "<name>Position</name>");
    let mim = hemiola_fom::standard_mim_text();
    for text in [MODEL, "<a>", &invalid, &MODEL.replace("HLAfloat64BE", "Nothing")] {
        for mim in [None, Some(mim), Some("<a>"), Some(invalid.as_str())] {
            let [with, without] = [true, false].map(|is_prepared| {
                let mut w = World::empty(Limits::default(), MODEL);
                let fed = w.connect();
                let call = create(text, mim);
                if is_prepared { prepared(&mut w, fed, call) } else { w.call(fed, call) }
            });
            assert_eq!(with, without);
        }
    }
    for text in [MODEL, &more(), "<a>", &clash] {
        let [with, without] = [true, false].map(|is_prepared| {
            let mut w = World::new();
            let fed = w.connect();
            let call = join("a", text);
            if is_prepared { prepared(&mut w, fed, call) } else { w.call(fed, call) }
        });
        assert_eq!(with, without);
    }
}

#[test]
fn an_irregular_module_creates_a_federation_and_its_places_are_reported() {
    let irregular = MODEL.replace(
        "<order>TimeStamp</order>",
        "<order>TimeStamp</order><updateType>On change</updateType>",
    );
    assert_ne!(irregular, MODEL);
    let mut w = World::empty(Limits::default(), MODEL);
    let fed = w.connect();
    let call = create(&irregular, None);
    let ready = preparation(&w, fed, &call).unwrap().run();
    let lines = ready.irregularities();
    assert!(lines[0].ends_with(": On change is not a valid updateType"), "{lines:?}");
    w.input(Input::Prepared(ready));
    w.ok(fed, call);
    // What harms nobody is not listed in the refusal of what does.
    let invalid = irregular.replace("<order>TimeStamp</order>", "<order>Never</order>");
    let (mut w, call) = (World::empty(Limits::default(), MODEL), create(&invalid, None));
    let fed = w.connect();
    let details = w.call(fed, call).unwrap_err().details;
    assert!(details.contains("Never") && !details.contains("updateType\n"), "{details}");
}

#[test]
fn a_preparation_for_something_else_is_not_used() {
    let mut w = World::new();
    let (a, b) = (w.connect(), w.connect());
    let (call_a, call_b) = (join("a", &more()), join("b", MODEL));
    let ready = preparation(&w, a, &call_a).unwrap().run();
    // Another call with other modules comes first; then the federation has changed.
    w.input(Input::Prepared(ready.clone()));
    w.ok(b, call_b);
    let other = MODEL.replace("Vehicle", "Ship");
    let c = w.connect();
    let mut call_c = join("c", &other);
    if let FederationCall::JoinFederationExecutionWithNameAndModules {
        additional_fom_modules,
        ..
    } = &mut call_c
    {
        *additional_fom_modules = vec![hemiola_hla::data::FomModule::File {
            name: "ships.xml".into(),
            content: other.into_bytes().into(),
        }];
    }
    w.ok(c, call_c);
    assert!(!w.kernel.is_current(a.session, &Call::from(call_a.clone()), &ready));
    let unprepared = w.kernel.unprepared();
    w.input(Input::Prepared(ready));
    w.ok(a, call_a);
    assert_eq!(w.kernel.unprepared(), unprepared + 1);
    for name in ["Vehicle.Bicycle", "Vehicle.Car", "Ship.Car"] {
        let object_class_name = name.to_owned();
        w.ok(a, hemiola_hla::call::SupportCall::GetObjectClassHandle { object_class_name });
    }
}

#[test]
fn calls_refused_before_reading_modules_need_no_preparation() {
    let mut w = World::new();
    let (stranger, fed) = (w.open(), w.connect());
    assert!(preparation(&w, stranger, &join("a", MODEL)).is_none(), "not connected");
    assert!(preparation(&w, fed, &create(MODEL, None)).is_none(), "it exists");
    let fed = w.join(fed, "a");
    assert!(preparation(&w, fed, &join("b", MODEL)).is_none(), "it has joined");
    let list = FederationCall::ListFederationExecutions;
    assert!(preparation(&w, fed, &list).is_none(), "it brings none");
    let none = FederationCall::JoinFederationExecutionWithModules {
        federate_type: "test".into(),
        federation_name: YARD.into(),
        additional_fom_modules: Vec::new(),
    };
    let other = w.connect();
    assert!(preparation(&w, other, &none).is_none(), "it brings none");
}

#[test]
fn modules_are_checked_before_the_federation_exists() {
    let mut w = World::empty(Limits::default(), MODEL);
    let fed = w.connect();
    let answer = prepared(&mut w, fed, join("a", "<a>"));
    assert_eq!(answer.unwrap_err().exception, Exception::ErrorReadingFOM);
    let answer = prepared(&mut w, fed, join("a", MODEL));
    assert_eq!(answer.unwrap_err().exception, Exception::FederationExecutionDoesNotExist);
}

#[test]
fn memory_and_number_of_modules_are_limited() {
    let refused = |limits: Limits, call: FederationCall| {
        let mut w = World::empty(limits, MODEL);
        let fed = w.connect();
        let refusal = prepared(&mut w, fed, call).unwrap_err();
        assert_eq!(w.kernel.unprepared(), 0);
        refusal
    };
    let few = Limits { modules: 1, ..Limits::default() };
    let call = FederationCall::CreateFederationExecutionWithModules {
        federation_name: YARD.into(),
        fom_modules: vec![module(MODEL), module(&more())],
    };
    let mut w = World::empty(few, MODEL);
    let fed = w.connect();
    assert!(preparation(&w, fed, &call).is_none(), "it is refused before its modules are read");
    let refusal = w.call(fed, call).unwrap_err();
    assert_eq!((refusal.exception, w.kernel.unprepared()), (Exception::RTIinternalError, 0));
    assert!(refusal.details.contains("1 modules"), "{refusal}");
    // Enough to parse it, but not to keep it.
    let little = Limits { model_memory: 100_000, ..Limits::default() };
    let refusal = refused(little, create(MODEL, None));
    assert_eq!(refusal.exception, Exception::RTIinternalError);
    assert!(refusal.details.contains("100000 bytes of memory"), "{refusal}");
    let refusal = refused(Limits { model_memory: 1000, ..little }, create(MODEL, None));
    assert_eq!(refusal.exception, Exception::RTIinternalError);
    assert!(refusal.details.contains("at most 1000 bytes are allowed"), "{refusal}");
}

#[test]
fn a_module_is_not_parsed_if_its_federation_would_exceed_a_quota() {
    let mut w = World::empty(Limits::default(), MODEL);
    let fed = w.connect();
    w.input(Input::Room(Room { session: 1000, ..Room::default() }));
    let refusal = prepared(&mut w, fed, create(MODEL, None)).unwrap_err();
    assert_eq!((refusal.exception, w.kernel.unprepared()), (Exception::RTIinternalError, 0));
    assert!(refusal.details.contains("at most 1000 bytes are allowed"), "{refusal}");
    let quota = "this session holds 0 and may hold 1000 (--session-memory-max): ";
    assert!(refusal.details.contains(quota), "{refusal}");
    assert_eq!(w.kernel.refusals().session, 1);
    // Enough to parse it, but not to keep it.
    w.input(Input::Room(Room { kernel: 68_571, ..Room::default() }));
    let refusal = prepared(&mut w, fed, create(MODEL, None)).unwrap_err();
    assert!(refusal.details.contains(" and may hold 52500 (--memory-max)"), "{refusal}");
    assert_eq!(w.kernel.refusals().process, 1);
    w.input(Input::Room(Room::default()));
    assert_eq!(prepared(&mut w, fed, create(MODEL, None)), Ok(Reply::Done));
}

#[test]
fn reading_and_merging_take_no_more_memory_than_the_shell_allows() {
    let mut w = World::empty(Limits::default(), MODEL);
    let fed = w.connect();
    let mut answer = |work_memory: usize| {
        let ready = preparation(&w, fed, &create(MODEL, None)).unwrap().within(work_memory).run();
        w.input(Input::Prepared(ready));
        w.call(fed, create(MODEL, None))
    };
    let refusal = answer(10_000).unwrap_err();
    assert_eq!(refusal.exception, Exception::RTIinternalError);
    assert!(refusal.details.contains("reading it takes"), "{refusal}");
    assert!(refusal.details.contains("half of the memory that is left"), "{refusal}");
    // Enough to read it, but not to merge it.
    let refusal = answer(200_000).unwrap_err();
    assert_eq!(refusal.exception, Exception::RTIinternalError);
    assert!(refusal.details.contains("merging the modules takes"), "{refusal}");
    assert!(refusal.details.contains("half of the memory that is left"), "{refusal}");
    let enough = preparation(&w, fed, &create(MODEL, None)).unwrap().work_memory();
    w.input(Input::Prepared(
        preparation(&w, fed, &create(MODEL, None)).unwrap().within(enough).run(),
    ));
    assert_eq!(w.call(fed, create(MODEL, None)), Ok(Reply::Done));
    assert_eq!((w.kernel.unprepared(), w.kernel.refusals().process), (0, 2));
}

#[test]
fn what_is_no_longer_needed_is_handed_out() {
    let mut w = World::empty(Limits::default(), MODEL);
    let fed = w.connect();
    prepared(&mut w, fed, create(MODEL, None)).unwrap();
    w.kernel.take_retired();
    // The model before, and the result.
    let joining = w.connect();
    prepared(&mut w, joining, join("a", &more())).unwrap();
    assert_eq!(w.kernel.take_retired().len(), 2);
    w.input(Input::Lost(joining.session));
    w.ok(fed, FederationCall::DestroyFederationExecution { federation_name: YARD.into() });
    assert_eq!(w.kernel.take_retired().len(), 1, "the federation");
}

/// A part of the object model: it names a class and a dimension that it does not define.
const PART: &str = r#"<objectModel xmlns="http://standards.ieee.org/IEEE1516-2025"><objects>
  <objectClass><name>HLAobjectRoot</name><objectClass><name>Vehicle</name><objectClass><name>Car</name>
    <dimensions><dimension>Level</dimension></dimensions>
    <attribute><name>Driver</name><dataType>HLAunicodeString</dataType>
      <transportation>HLAreliable</transportation><order>TimeStamp</order></attribute>
  </objectClass></objectClass></objectClass>
</objects></objectModel>"#;

#[test]
fn what_only_a_later_module_defines_may_be_named_where_the_rti_allows_it() {
    let mut w = World::empty(Limits::default(), MODEL);
    let fed = w.connect();
    assert_eq!(w.refused(fed, create(PART, None)), Exception::InconsistentFOM);
    w.kernel = Kernel::new(Limits::default()).with_partial_models(true);
    let creator = w.connect();
    let call = create(PART, None);
    let ready = preparation(&w, creator, &call).unwrap().run();
    let lines = ready.irregularities().to_vec();
    let undefined = "object class HLAobjectRoot.Vehicle is named but not defined by any module";
    assert!(lines.iter().any(|line| line.ends_with(undefined)), "{lines:?}");
    w.input(Input::Prepared(ready));
    w.ok(creator, call);
    let early = w.join(creator, "early");
    let class = |name: &str| SupportCall::GetObjectClassHandle { object_class_name: name.into() };
    let Reply::ObjectClass(vehicle) = w.ok(early, class("Vehicle")) else { panic!() };
    let Reply::ObjectClass(car) = w.ok(early, class("Vehicle.Car")) else { panic!() };
    let position = SupportCall::GetAttributeHandle {
        object_class: vehicle,
        attribute_name: "Position".into(),
    };
    assert_eq!(w.refused(early, position.clone()), Exception::NameNotFound);
    // What contradicts a definition is refused as ever.
    let late = w.connect();
    let clash = join("late", &MODEL.replace("<order>TimeStamp</order>", "<order>Receive</order>"));
    assert_eq!(w.refused(late, clash), Exception::InconsistentFOM);
    let Reply::Joined(joined) = w.ok(late, join("late", MODEL)) else { panic!() };
    let late = Fed { handle: joined.federate, ..late };
    let Reply::Attribute(position) = w.ok(early, position) else { panic!() };
    assert_eq!(w.ok(late, class("Vehicle.Car")), Reply::ObjectClass(car), "handles stay");
    let attributes = vec![position];
    let publish = DeclarationCall::PublishObjectClassAttributes {
        object_class: car,
        attributes: attributes.clone(),
    };
    w.ok(late, publish);
    w.ok(
        early,
        DeclarationCall::SubscribeObjectClassAttributes { object_class: vehicle, attributes },
    );
    let Reply::ObjectInstance(instance) =
        w.ok(late, ObjectCall::RegisterObjectInstance { object_class: car })
    else {
        panic!()
    };
    let update = ObjectCall::UpdateAttributeValues {
        object_instance: instance,
        attribute_values: vec![(position, b"here".to_vec().into())],
        user_supplied_tag: "".into(),
    };
    w.ok(late, update);
    assert_eq!(w.notices(early).len(), 2, "discover and reflect");
}
