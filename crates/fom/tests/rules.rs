//! Rules for all modules: the order does not matter, handles do not change, nothing panics.

use std::sync::Arc;

use hemiola_fom::{
    Base, Edition, Known, MemoryMax, Module, ProblemKind, STANDARD_MIM, exception,
    exception_of_mim, fuzzing, merge, merge_with_problems, open, read, render,
};
use hemiola_hla::data::{Data, FomModule};
use hemiola_hla::{Exception, ObjectClassHandle, TransportationTypeHandle};
use proptest::prelude::*;

use crate::small::{bytes, module};

pub(crate) fn parsed(name: &str, text: &str) -> Arc<Module> {
    let (modules, _) = read(name, text.as_bytes()).unwrap_or_else(|problems| {
        panic!("{}", render(&problems));
    });
    Arc::clone(&modules[0])
}

/// Returns the text of a module with these tables.
pub(crate) fn text(edition: &str, tables: &str) -> String {
    format!(
        "<objectModel xmlns=\"http://standards.ieee.org/IEEE1516-{edition}\">{tables}</objectModel>"
    )
}

#[test]
fn standard_module_is_valid_alone() {
    let (model, warnings) = merge(&[], None).unwrap();
    assert_eq!(render(&warnings), "");
    model.check_invariants();
    assert_eq!(model.object_classes().len(), 4);
    assert_eq!(model.interaction_classes().len(), 93);
    assert_eq!((model.attributes().len(), model.parameters().len()), (59, 126));
    assert_eq!(model.dimensions().len(), 5);
    let names: Vec<&str> = model.transportations().iter().map(|kind| kind.name.as_str()).collect();
    assert_eq!(names, ["HLAreliable", "HLAbestEffort"]);
    let root = ObjectClassHandle::new(1);
    let privilege = model.attribute_named(root, "HLAprivilegeToDeleteObject");
    assert!(
        model.object_classes().iter().all(|class| class.attributes.contains(&privilege.unwrap()))
    );
    assert_eq!(model.object_class_named("HLAobjectRoot"), Some(root));
    assert_eq!(model.dimension_named("HLAserviceGroup").map(|_| ()), Some(()));
}

#[test]
fn standard_module_passes_the_checks_of_other_modules() {
    let own = parsed("mim.xml", hemiola_fom::standard_mim_text());
    let (model, problems) = merge_with_problems(&[own], Base::Nothing, None);
    assert_eq!(render(&problems), "");
    model.check_invariants();
    assert_eq!(model.object_classes(), merge(&[], None).unwrap().0.object_classes());
}

#[test]
fn handles_do_not_change_when_modules_are_added() {
    let (before, _) = merge(&[module("trucks.xml"), module("traffic.xml")], None).unwrap();
    let (after, _) = merge(&[module("harbour.xml")], Some(&before)).unwrap();
    after.check_invariants();
    for (at, class) in before.object_classes().iter().enumerate() {
        assert_eq!(after.object_classes()[at].name, class.name);
        assert!(
            class.attributes.iter().all(|one| after.object_classes()[at].attributes.contains(one))
        );
    }
    for (at, class) in before.interaction_classes().iter().enumerate() {
        assert_eq!(after.interaction_classes()[at].name, class.name);
    }
    for (at, attribute) in before.attributes().iter().enumerate() {
        let other = &after.attributes()[at];
        assert_eq!((&other.name, other.class), (&attribute.name, attribute.class));
    }
    assert_eq!(before.dimensions(), &after.dimensions()[..before.dimensions().len()]);
    assert_eq!(before.parameters(), &after.parameters()[..before.parameters().len()]);
    assert!(
        after.object_class_named("Ship").unwrap().index() >= Some(before.object_classes().len())
    );
    assert!(after.object_classes().len() > before.object_classes().len());
}

#[test]
fn module_added_later_cannot_set_a_switch() {
    let (before, _) = merge(&[module("trucks.xml")], None).unwrap();
    let (after, warnings) = merge(&[module("traffic.xml")], Some(&before)).unwrap();
    assert!(!after.is_enabled(hemiola_hla::Switch::AutoProvide));
    assert_eq!(warnings.len(), 2, "{}", render(&warnings));
}

#[test]
fn management_module_of_a_federate_is_merged_like_any_other() {
    let mim = hemiola_fom::standard_mim_text();
    let switches = "<switches><autoProvide isEnabled='false'/></switches></objectModel>";
    let mim = parsed("my-mim.xml", &mim.replace("</objectModel>", switches));
    let (model, warnings) = merge(&[mim, module("traffic.xml")], None).unwrap();
    assert_eq!(render(&warnings), "");
    model.check_invariants();
    assert!(
        model.is_enabled(hemiola_hla::Switch::AutoProvide),
        "the switch of the other module applies"
    );
    let refused = exception_of_mim(Exception::InvalidFOM);
    assert_eq!(refused, Exception::InvalidMIM);
}

#[test]
fn modules_are_opened_in_all_three_forms() {
    let content = Data::from(bytes("traffic.xml"));
    let file = FomModule::File { name: "some/traffic.xml".into(), content: content.clone() };
    assert_eq!(
        open(&file, &Known::default(), MemoryMax::NONE).unwrap().0[0].name(),
        "some/traffic.xml"
    );
    let refused =
        |module| exception(&open(&module, &Known::default(), MemoryMax::NONE).unwrap_err());
    assert_eq!(refused(FomModule::Compressed(content)), Some(Exception::ErrorReadingFOM));
    assert_eq!(refused(FomModule::Url("https://x.y/z".into())), Some(Exception::CouldNotOpenFOM));
    assert_eq!(refused(FomModule::Url(STANDARD_MIM.into())), Some(Exception::CouldNotOpenFOM));
    let broken = FomModule::File { name: "b".into(), content: bytes("broken.xml").into() };
    assert_eq!(refused(broken), Some(Exception::InvalidFOM));
    let modules = [module("traffic.xml"), module("contrary.xml")];
    assert_eq!(exception(&merge(&modules, None).unwrap_err()), Some(Exception::InconsistentFOM));
}

#[test]
fn text_that_is_not_a_module_is_rejected_with_its_place() {
    let kind_of = |text: &str| read("x", text.as_bytes()).unwrap_err()[0].kind;
    assert_eq!(kind_of(""), ProblemKind::Unreadable);
    assert_eq!(kind_of("<objectModel>"), ProblemKind::Unreadable);
    assert_eq!(kind_of("<objectModel/>"), ProblemKind::Invalid);
    assert_eq!(
        kind_of("<fdd xmlns='http://standards.ieee.org/IEEE1516-2025'/>"),
        ProblemKind::Invalid
    );
    assert_eq!(
        kind_of("<objectModel xmlns='http://standards.ieee.org/IEEE1516-2000'/>"),
        ProblemKind::Invalid
    );
    let bomb =
        "<!DOCTYPE x [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;'>]><objectModel>&b;</objectModel>";
    let problems = read("bomb.xml", bomb.as_bytes()).unwrap_err();
    insta::assert_snapshot!(render(&problems), @r"
    error: not XML: XML with DTD detected
     --> bomb.xml:1:1
      |
    1 | <!DOCTYPE x [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;'>]><objectModel>&b;</objectModel>
      | ^
      = hint: remove the document type: modules need neither it nor entities
    ");
    let deep = "<objectClass><name>HLAobjectRoot</name>".to_owned()
        + &"<objectClass><name>C</name>".repeat(300_000);
    let deep = deep + &"</objectClass>".repeat(300_001);
    let deep = text("2025", &format!("<objects>{deep}</objects>"));
    let problems = read("deep.xml", deep.as_bytes()).unwrap_err();
    assert!(problems[0].message.contains("nested more than 64 deep"));
}

#[test]
fn elements_of_other_namespaces_are_skipped() {
    let tables = "<x:own xmlns:x='urn:x'><objectClass/></x:own><notes x:y='1' xmlns:x='urn:x'/>";
    parsed("own.xml", &text("2025", tables));
}

#[test]
fn unknown_element_is_ignored_and_a_misspelled_one_rejected() {
    let module = text("2025", "<colours><red/></colours>");
    let (_, warnings) = read("c.xml", module.as_bytes()).unwrap();
    assert_eq!(warnings[0].message, "<colours> in <objectModel> is unknown and ignored");
    let module = text("2025", "<object/>");
    assert_eq!(read("o.xml", module.as_bytes()).unwrap_err()[0].hint, "did you mean <objects>?");
}

#[test]
fn undefined_class_is_reported_with_the_missing_module() {
    let problems = merge(&[module("trucks.xml")], None);
    let (model, _) = problems.unwrap();
    // The module declares an attribute of the class, and so defines it.
    assert!(model.object_class_named("Vehicle").is_some());
    let tables = "<modelIdentification><name>B</name>
<reference><type>Dependency</type><identification>Base</identification></reference>
</modelIdentification>
<objects><objectClass><name>HLAobjectRoot</name><objectClass><name>Thing</name>
<objectClass><name>Part</name><sharing>Publish</sharing>
<attribute><name>Size</name><dataType>Length</dataType></attribute>
</objectClass></objectClass></objectClass></objects>";
    let problems = merge(&[parsed("b.xml", &text("2025", tables))], None).unwrap_err();
    insta::assert_snapshot!(render(&problems), @r"
    error: object class HLAobjectRoot.Thing is named but not defined by any module
     --> b.xml:4:68
      |
    4 | <objects><objectClass><name>HLAobjectRoot</name><objectClass><name>Thing</name>
      |                                                                    ^^^^^
      = hint: b.xml depends on modules that were not given: Base

    error: data type Length is not defined
     --> b.xml:6:39
      |
    6 | <attribute><name>Size</name><dataType>Length</dataType></attribute>
      |                                       ^^^^^^
      = hint: b.xml depends on modules that were not given: Base
    ");
}

#[test]
fn record_that_contains_itself_gives_a_warning() {
    let tables = "<dataTypes><fixedRecordDataTypes><fixedRecordData><name>Node</name>
<field><name>Next</name><dataType>Nodes</dataType></field></fixedRecordData></fixedRecordDataTypes>
<arrayDataTypes><arrayData><name>Nodes</name><dataType>Node</dataType><cardinality>Dynamic</cardinality>
</arrayData></arrayDataTypes></dataTypes>";
    let (_, warnings) = merge(&[parsed("n.xml", &text("2025", tables))], None).unwrap();
    assert_eq!(warnings.len(), 1);
    assert_eq!(warnings[0].message, "data type Node contains itself");
}

/// Generates the text of a small, valid module whose names occur in other modules, too.
fn some_module() -> impl Strategy<Value = String> {
    let column = |options: &'static [&'static str]| prop::sample::select(options);
    let attribute = (
        column(&["A", "B", "C"]),
        column(&["HLAboolean", "HLAoctet", "Kind", "Missing"]),
        column(&["", "<order>Receive</order>", "<order>TimeStamp</order>"]),
        column(&[
            "",
            "<transportation>HLAreliable</transportation>",
            "<transportation>Radio</transportation>",
        ]),
        column(&["", "<dimensions><dimension>Lane</dimension></dimensions>"]),
    )
        .prop_map(|(name, datatype, order, transportation, dimensions)| {
            let columns =
                format!("<dataType>{datatype}</dataType>{order}{transportation}{dimensions}");
            (name, format!("<attribute><name>{name}</name>{columns}</attribute>"))
        });
    let attributes = prop::collection::btree_map(
        column(&["X", "X.Y", "X.Z", "W"]),
        prop::collection::vec(attribute, 0..3),
        0..4,
    );
    let enumerators = prop::collection::btree_map(column(&["One", "Two", "Three"]), 1..3_u8, 0..3);
    let tables = column(&[
        "",
        "<dimensions><dimension><name>Lane</name><upperBound>4</upperBound></dimension></dimensions>",
        "<dimensions><dimension><name>Lane</name><upperBound>5</upperBound></dimension></dimensions>",
        "<transportations><transportation><name>Radio</name><reliable>No</reliable></transportation></transportations>",
        "<switches><autoProvide isEnabled='true'/></switches>",
        "<switches><autoProvide isEnabled='false'/></switches>",
        "<updateRates><updateRate><name>Slow</name><rate>2</rate></updateRate></updateRates>",
    ]);
    let edition = column(&["2010", "2025"]);
    (attributes, enumerators, tables, edition).prop_map(|(classes, enumerators, tables, edition)| {
        let class = |path: &str| {
            let mut seen = Vec::new();
            let mut text = String::new();
            for (name, attribute) in classes.get(path).into_iter().flatten() {
                if !seen.contains(name) {
                    seen.push(*name);
                    text += attribute;
                }
            }
            text
        };
        let kinds: String = enumerators
            .iter()
            .map(|(name, value)| format!("<enumerator><name>{name}</name><value>{value}</value></enumerator>"))
            .collect();
        text(
            edition,
            &format!(
                "<objects><objectClass><name>HLAobjectRoot</name>
<objectClass><name>X</name>{}<objectClass><name>Y</name><sharing>Publish</sharing>{}</objectClass>
<objectClass><name>Z</name>{}</objectClass></objectClass>
<objectClass><name>W</name>{}</objectClass></objectClass></objects>{tables}
<dataTypes><enumeratedDataTypes><enumeratedData><name>Kind</name><representation>HLAoctet</representation>
{kinds}</enumeratedData></enumeratedDataTypes></dataTypes>",
                class("X"), class("X.Y"), class("X.Z"), class("W"),
            ),
        )
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn order_of_modules_does_not_matter(
        texts in prop::collection::vec(some_module(), 1..5),
        seed in any::<prop::sample::Index>(),
    ) {
        let modules: Vec<Arc<Module>> = texts
            .iter()
            .enumerate()
            .map(|(at, text)| parsed(&format!("{at}.xml"), text))
            .collect();
        let (model, problems) = merge_with_problems(&modules, Base::Standard, None);
        model.check_invariants();
        let mut permuted = modules;
        let count = permuted.len();
        permuted.rotate_left(seed.index(count));
        permuted.swap(0, seed.index(count));
        // A module that is given twice is merged once.
        permuted.push(Arc::clone(&permuted[0]));
        let (again, others) = merge_with_problems(&permuted, Base::Standard, None);
        prop_assert_eq!(render(&others), render(&problems));
        prop_assert_eq!(again, model);
    }

    #[test]
    fn classes_and_attributes_keep_their_handles(
        first in some_module(), second in some_module(),
    ) {
        let (before, _) = merge_with_problems(&[parsed("1.xml", &first)], Base::Standard, None);
        let (after, _) = merge_with_problems(&[parsed("0.xml", &second)], Base::Standard, Some(&before));
        after.check_invariants();
        for (one, other) in before.attributes().iter().zip(after.attributes()) {
            prop_assert_eq!((&one.name, one.class), (&other.name, other.class));
        }
        for (one, other) in before.object_classes().iter().zip(after.object_classes()) {
            prop_assert_eq!(&one.name, &other.name);
        }
        let two = &after.transportations()[..2];
        prop_assert_eq!(&two[0].name, "HLAreliable");
        prop_assert!(after.transportation(TransportationTypeHandle::BEST_EFFORT).is_some());
    }

    #[test]
    fn any_bytes_are_read_or_rejected(bytes in any::<Vec<u8>>()) {
        fuzzing::modules(&bytes);
        fuzzing::modules(&[b"PK\x03\x04", &bytes[..]].concat());
        fuzzing::modules(&[b"<objectModel xmlns='http://standards.ieee.org/IEEE1516-2025'>", &bytes[..]].concat());
    }

    #[test]
    fn mutated_modules_are_read_or_rejected(
        name in prop::sample::select(&["traffic.xml", "harbour.xml", "contrary.xml"][..]),
        cuts in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..4),
        copy in any::<bool>(),
    ) {
        let mut text = bytes(name);
        for (at, to) in cuts {
            let (at, to) = (at.index(text.len()), to.index(text.len()));
            let (from, until) = (at.min(to), at.max(to).min(at.min(to) + 60));
            if copy {
                let piece = text[from..until].to_vec();
                let at = to.min(text.len());
                text.splice(at..at, piece);
            } else {
                text.drain(from..until);
            }
            if text.is_empty() {
                break;
            }
        }
        fuzzing::modules(&text);
    }
}

#[test]
fn module_known_by_name_and_text_is_not_read_again() {
    let text = br#"<objectModel xmlns="http://standards.ieee.org/IEEE1516-2025"/>"#;
    let named = |name: &str| FomModule::File { name: name.into(), content: text.to_vec().into() };
    let (known, _) = open(&named("a.xml"), &Known::default(), MemoryMax::NONE).unwrap();
    let (same, _) = open(&named("a.xml"), &Known::of(&known), MemoryMax::NONE).unwrap();
    assert!(Arc::ptr_eq(&same[0], &known[0]));
    let (other, _) = open(&named("b.xml"), &Known::of(&known), MemoryMax::NONE).unwrap();
    assert_eq!(other[0].name(), "b.xml");
    assert!(!Arc::ptr_eq(&other[0], &known[0]));
}

/// Modules that violate the template, although their meaning is beyond doubt: a check reports an error, and a
/// federation is created.
#[test]
fn irregular_modules_are_errors_and_still_make_a_federation() {
    let datatype =
        |table: &str, rows: &str| format!("<dataTypes><{table}>{rows}</{table}></dataTypes>");
    let attribute = |columns: &str| {
        format!(
            "<objects><objectClass><name>HLAobjectRoot</name><objectClass><name>Car</name>\
             <attribute><name>Speed</name><dataType>HLAoctet</dataType>{columns}</attribute>\
             </objectClass></objectClass></objects>"
        )
    };
    let enumerators = |list: &str| {
        let rows = format!(
            "<enumeratedData><name>E</name><representation>HLAoctet</representation>{list}</enumeratedData>"
        );
        datatype("enumeratedDataTypes", &rows)
    };
    let array = |columns: &str| {
        datatype("arrayDataTypes", &format!("<arrayData><name>A</name>{columns}</arrayData>"))
    };
    let simple =
        |table: &str, row: &str| datatype(table, &format!("<{row}><name>B</name></{row}>"));
    let cases: [(&str, String); 14] = [
        ("On change is not a valid updateType", attribute("<updateType>On change</updateType>")),
        ("Anyone is not a valid ownership", attribute("<ownership>Anyone</ownership>")),
        (
            "enumerator One is declared twice",
            enumerators(
                "<enumerator><name>One</name><value>1</value></enumerator>\
                 <enumerator><name>One</name><value>1</value></enumerator>",
            ),
        ),
        (
            "the value one of the enumerator One is not a number",
            enumerators("<enumerator><name>One</name><value>one</value></enumerator>"),
        ),
        ("<enumeratedData> E has no <enumerator>", enumerators("")),
        (
            "the range (2..5) is in round brackets",
            array("<dataType>HLAoctet</dataType><cardinality>(2..5)</cardinality>"),
        ),
        ("<arrayData> A has no <cardinality>", array("<dataType>HLAoctet</dataType>")),
        ("<arrayData> A has no <dataType>", array("<cardinality>3</cardinality>")),
        ("<basicData> B has no <size>", simple("basicDataRepresentations", "basicData")),
        ("<simpleData> B has no <representation>", simple("simpleDataTypes", "simpleData")),
        (
            "<field> F has no <dataType>",
            datatype(
                "fixedRecordDataTypes",
                "<fixedRecordData><name>R</name><field><name>F</name></field></fixedRecordData>",
            ),
        ),
        (
            "<variantRecordData> B has no <discriminant>",
            simple("variantRecordDataTypes", "variantRecordData"),
        ),
        (
            "this name is an XML attribute",
            "<objects><objectClass name='HLAobjectRoot'/></objects>".to_owned(),
        ),
        (
            "this name and 1 more columns are XML attributes",
            "<objects><objectClass name='HLAobjectRoot' sharing='Neither'/></objects>".to_owned(),
        ),
    ];
    for (message, tables) in cases {
        let module = text("2025", &tables);
        let (modules, problems) = read("m.xml", module.as_bytes())
            .unwrap_or_else(|problems| panic!("{}", render(&problems)));
        let kinds: Vec<(ProblemKind, &str)> =
            problems.iter().map(|problem| (problem.kind, &*problem.message)).collect();
        assert!(kinds.contains(&(ProblemKind::Irregular, message)), "{message}: {kinds:?}");
        assert!(problems.iter().all(|problem| problem.is_error() && !problem.is_fatal()));
        assert_eq!(exception(&problems), None);
        merge(&modules, None).unwrap_or_else(|problems| panic!("{}", render(&problems)));
    }
}

#[test]
fn module_without_a_namespace_has_the_edition_of_its_elements() {
    let class = |inner: &str| {
        format!("<objects><objectClass><name>HLAobjectRoot</name>{inner}</objectClass></objects>")
    };
    let with_directed =
        class("<directedInteraction><name>HLAinteractionRoot</name></directedInteraction>");
    for (tables, edition) in [(class(""), Edition::E2010), (with_directed, Edition::E2025)] {
        let text = format!("<objectModel>{tables}</objectModel>");
        let (modules, problems) = read("m.xml", text.as_bytes()).unwrap();
        assert_eq!(modules[0].edition, edition);
        assert_eq!(problems[0].kind, ProblemKind::Irregular);
        let message =
            format!("the object model has no namespace: read as one of {}", edition.name());
        assert_eq!(problems[0].message, message);
    }
}

#[test]
fn document_type_without_entities_is_ignored_with_its_place() {
    let model =
        text("2010", "<objects><objectClass><name>HLAobjectRoot</name></objectClass></objects>");
    for (before, is_read) in [
        ("<!DOCTYPE objectModel SYSTEM 'HLA.dtd'>", true),
        ("<?xml version='1.0'?>\n<!-- <!DOCTYPE x> -->\n<!DOCTYPE objectModel>\n", true),
        ("<!DOCTYPE objectModel [<!ENTITY a 'b'>]>", false),
        ("<!DOCTYPE objectModel SYSTEM 'HLA.dtd' [<!ENTITY a 'b'>]>", false),
    ] {
        let read = read("m.xml", format!("{before}{model}").as_bytes());
        assert_eq!(read.is_ok(), is_read, "{before}");
    }
    let (_, problems) = read("m.xml", format!("<!DOCTYPE é\n x>{model}").as_bytes()).unwrap();
    insta::assert_snapshot!(render(&problems), @r"
    error: the document type is ignored: object models of this edition have none
     --> m.xml:1:1
      |
    1 | <!DOCTYPE é
      | ^^^^^^^^^^^
    ");
}

#[test]
fn dimensions_as_an_xml_attribute_are_not_lost_silently() {
    let class = "<objects><objectClass><name>HLAobjectRoot</name>\
                 <attribute name='A' dimensions='D'/></objectClass></objects>";
    let problems = read("m.xml", text("2010", class).as_bytes()).unwrap_err();
    let fatal = problems.iter().find(|problem| problem.is_fatal()).unwrap();
    assert_eq!(fatal.message, "the dimensions of <attribute> are an XML attribute");
}

/// More problems than are reported: the one that decides is among them.
#[test]
fn fatal_problem_behind_many_others_is_not_forgotten() {
    let rows = "<basicData><name>B</name></basicData>".repeat(2000);
    let tables = format!(
        "<dataTypes><basicDataRepresentations>{rows}</basicDataRepresentations>\
         <arrayDataTypes><arrayData/></arrayDataTypes></dataTypes>"
    );
    let problems = read("m.xml", text("2025", &tables).as_bytes()).unwrap_err();
    assert!(problems.iter().any(|problem| problem.message == "<arrayData> has no <name>"));
}
