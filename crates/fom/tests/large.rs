//! Large modules: reading and merging take time in proportion to their size. Each test would run for minutes if a step
//! were quadratic.

use std::fmt::Write;
use std::sync::Arc;

use hemiola_fom::limits::{ATTRIBUTES_MAX, INHERITED_MAX, PREFIXES_MAX};
use hemiola_fom::model::Model;
use hemiola_fom::{Base, Module, Problem, ProblemKind, exception, merge_with_problems, read};
use hemiola_hla::Exception;

use crate::rules::{parsed, text};

/// Returns the texts of `count` elements.
fn repeat(count: usize, element: impl Fn(usize) -> String) -> String {
    (0..count).fold(String::new(), |mut text, number| {
        text.write_str(&element(number)).unwrap();
        text
    })
}

fn objects(classes: &str) -> String {
    format!("<objects><objectClass><name>HLAobjectRoot</name>{classes}</objectClass></objects>")
}

fn records(datatypes: &str) -> String {
    let table = "fixedRecordDataTypes";
    format!("<dataTypes><{table}>{datatypes}</{table}></dataTypes>")
}

fn record(name: &str, parts: &[String]) -> String {
    let fields = repeat(parts.len(), |at| {
        format!("<field><name>F{at}</name><dataType>{}</dataType></field>", parts[at])
    });
    format!("<fixedRecordData><name>{name}</name>{fields}</fixedRecordData>")
}

fn module(tables: &str) -> Arc<Module> {
    parsed("large.xml", &text("2025", tables))
}

fn combined(modules: &[Arc<Module>]) -> (Model, Vec<Problem>) {
    let (model, problems) = merge_with_problems(modules, Base::Standard, None);
    if !problems.iter().any(Problem::is_error) {
        model.check_invariants();
    }
    (model, problems)
}

#[test]
fn hundred_thousand_classes_are_merged() {
    let classes = repeat(1000, |parent| {
        let children = repeat(99, |child| {
            let attribute = format!("<attribute><name>A{child}</name></attribute>");
            let directed =
                "<directedInteraction><name>HLAinteractionRoot</name></directedInteraction>";
            format!("<objectClass><name>C{child}</name>{attribute}{directed}</objectClass>")
        });
        let attribute = "<attribute><name>Own</name></attribute>";
        format!("<objectClass><name>P{parent}</name>{attribute}{children}</objectClass>")
    });
    let (model, problems) = combined(&[module(&objects(&classes))]);
    assert!(problems.is_empty(), "{}", problems[0].message);
    assert!(model.object_classes().len() > 100_000);
    let class = model.object_class_named("P7.C42").unwrap();
    assert!(model.attribute_named(class, "Own").is_some());
    assert!(model.attribute_named(class, "A42").is_some());
    assert_eq!(model.attribute_named(class, "A43"), None);
    assert_eq!(model.object_class(class).unwrap().directed_interactions.len(), 1);
}

#[test]
fn fifty_thousand_attributes_name_as_many_dimensions() {
    let dimension = |at| format!("<dimension><name>D{at}</name></dimension>");
    let attribute = |at| {
        let dimension = format!("<dimensions><dimension>D{at}</dimension></dimensions>");
        format!("<attribute><name>A{at}</name>{dimension}</attribute>")
    };
    let class = format!("<objectClass><name>C</name>{}</objectClass>", repeat(50_000, attribute));
    let dimensions = repeat(50_000, dimension);
    let tables = format!("{}<dimensions>{dimensions}</dimensions>", objects(&class));
    let (model, problems) = combined(&[parsed("large.xml", &text("2010", &tables))]);
    assert!(!problems.iter().any(Problem::is_error), "{}", problems[0].message);
    let class = model.object_class_named("C").unwrap();
    assert_eq!(model.object_class(class).unwrap().dimensions.len(), 50_000);
}

#[test]
fn every_group_of_types_that_contain_themselves_is_reported_once() {
    // A chain of 50,000 types, each of which contains the next and the first; the last ones form a second cycle.
    let chain = repeat(50_000, |at| {
        let next = if at == 49_999 { "T0".to_owned() } else { format!("T{}", at + 1) };
        record(&format!("T{at}"), &[next, "T0".to_owned()])
    });
    let own = record("Own", &["Own".to_owned()]);
    let above = record("Above", &["T5".to_owned(), "Own".to_owned()]);
    let (_, problems) = combined(&[module(&records(&(chain + &own + &above)))]);
    let messages: Vec<&str> = problems.iter().map(|problem| problem.message.as_str()).collect();
    assert_eq!(messages, ["data type T0 contains itself", "data type Own contains itself"]);
}

#[test]
fn fifty_thousand_undefined_names_are_reported() {
    let types = repeat(50_000, |at| record(&format!("T{at}"), &[format!("Missing{at}")]));
    let (_, problems) = combined(&[module(&records(&types))]);
    assert_eq!(problems.len(), 50_000);
    assert_eq!(problems[0].message, "data type Missing0 is not defined");
}

#[test]
fn enumerators_and_alternatives_of_two_modules_are_merged() {
    let types = |count: usize| {
        let enumerator =
            |at| format!("<enumerator><name>E{at}</name><value>{at}</value></enumerator>");
        let alternative = |at| format!("<alternative><enumerator>E{at}</enumerator></alternative>");
        let (enumerators, alternatives) = (repeat(count, enumerator), repeat(count, alternative));
        module(&format!(
            "<dataTypes><enumeratedDataTypes><enumeratedData><name>E</name>{enumerators}</enumeratedData>
             </enumeratedDataTypes><variantRecordDataTypes><variantRecordData><name>V</name>
             <dataType>E</dataType><encoding>HLAextendableVariantRecord</encoding>{alternatives}
             </variantRecordData></variantRecordDataTypes></dataTypes>"
        ))
    };
    let (model, problems) = combined(&[types(50_000), types(50_001)]);
    assert!(problems.is_empty(), "{}", problems[0].message);
    let sizes = ["E", "V"].map(|name| match model.datatype(name) {
        Some(hemiola_fom::module::Datatype::Enumerated { enumerators, .. }) => enumerators.len(),
        Some(hemiola_fom::module::Datatype::VariantRecord { alternatives, .. }) => {
            alternatives.len()
        }
        _ => 0,
    });
    assert_eq!(sizes, [50_001, 50_001]);
}

#[test]
fn notes_and_reference_types_are_found_by_name() {
    let attribute = |at| format!("<attribute notes='N{at}'><name>A{at}</name></attribute>");
    let class = format!("<objectClass><name>C</name>{}</objectClass>", repeat(50_000, attribute));
    let notes = repeat(50_000, |at| format!("<note><label>N{at}</label></note>"));
    let reference = |at| {
        format!(
            "<referenceDataType><name>R{at}</name><representation>HLAunicodeString</representation>
             <referenceClass>C</referenceClass><referencedAttribute>A{at}</referencedAttribute>
             </referenceDataType>"
        )
    };
    let types = repeat(50_000, reference);
    let (_, problems) = combined(&[module(&format!(
        "{}<dataTypes><referenceDataTypes>{types}</referenceDataTypes></dataTypes><notes>{notes}</notes>",
        objects(&class)
    ))]);
    assert!(problems.is_empty(), "{}", problems[0].message);
}

#[test]
fn inherited_members_are_limited() {
    let attributes = repeat(10_000, |at| format!("<attribute><name>A{at}</name></attribute>"));
    let children = repeat(10_000, |at| format!("<objectClass><name>C{at}</name></objectClass>"));
    let class = format!("<objectClass><name>P</name>{attributes}{children}</objectClass>");
    let (_, problems) = combined(&[module(&objects(&class))]);
    assert_eq!(exception(&problems), Some(Exception::InvalidFOM));
    assert!(problems[0].message.contains(&INHERITED_MAX.to_string()), "{}", problems[0].message);
}

#[test]
fn full_names_are_limited() {
    let name = "N".repeat(1 << 20);
    let children = repeat(10_000, |at| format!("<objectClass><name>C{at}</name></objectClass>"));
    let class = format!("<objectClass><name>{name}</name>{children}</objectClass>");
    let problems = read("long.xml", text("2025", &objects(&class)).as_bytes()).unwrap_err();
    assert_eq!((problems.len(), problems[0].kind), (1, ProblemKind::Invalid));
    assert_eq!(problems[0].message, "the full names of all classes are longer than 64 MiB");
}

#[test]
fn attributes_of_one_element_are_limited() {
    let check = |count: usize| {
        let attributes = repeat(count, |at| format!(" a{at}='<!-- \"'"));
        let before = "<!-- <a b='--><?a '?><![CDATA[<a b=']]>";
        read("tag.xml", text("2025", &format!("{before}<notes{attributes}/>")).as_bytes())
    };
    assert_eq!(exception(&check(1_000_000).unwrap_err()), Some(Exception::ErrorReadingFOM));
    let problems = check(ATTRIBUTES_MAX + 1).unwrap_err();
    assert_eq!(problems[0].message, "an element has more than 100 attributes");
    assert_eq!(problems[0].places[0].0.line_column().0, 1);
    // `<` is not allowed in the value of an attribute; the XML parser reports it.
    assert!(check(ATTRIBUTES_MAX).unwrap_err()[0].message.starts_with("not XML"));
}

#[test]
fn tags_that_never_end_are_looked_at_once() {
    for end in ["", ">", "'", "' >"] {
        let text = text("2025", "") + &"<".repeat(2_000_000) + end;
        let problems = read("open.xml", text.as_bytes()).unwrap_err();
        assert!(problems[0].message.starts_with("not XML"), "{}", problems[0].message);
    }
}

#[test]
fn nested_declarations_of_namespaces_are_limited() {
    let nested = |depth: usize| {
        let open = repeat(depth, |at| format!("<n xmlns:p{at}='u'>"));
        let text = text("2025", &format!("{open}{}", "</n>".repeat(depth)));
        read("deep.xml", text.as_bytes())
    };
    assert_eq!(exception(&nested(100_000).unwrap_err()), Some(Exception::ErrorReadingFOM));
    let problems = nested(PREFIXES_MAX + 1).unwrap_err();
    let message = "more than 32 prefixes are declared for XML namespaces";
    assert_eq!(problems[0].message, message);
    nested(PREFIXES_MAX).unwrap();
}

#[test]
fn members_of_deep_classes_with_long_names_are_compared_by_their_own_names() {
    // Each full name has 60 names of 500 bytes in front.
    let attributes = repeat(2000, |at| format!("<attribute><name>A{at}</name></attribute>"));
    let depth = 60;
    let open = repeat(depth, |at| {
        let name = format!("{at}{}", "N".repeat(500));
        format!("<objectClass><name>{name}</name><sharing>Neither</sharing>")
    });
    let close = "</objectClass>".repeat(depth);
    let (_, problems) = combined(&[module(&objects(&format!("{open}{attributes}{close}")))]);
    assert!(problems.is_empty(), "{}", problems[0].message);
}
