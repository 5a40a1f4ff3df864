//! A model as one module of the 2025 edition: the federation's object model data (FDD) as text.

use hemiola_hla::{DimensionHandle, InteractionClassHandle, ObjectClassHandle};

use crate::model::{Attribute, Model, Parameter, cardinality_text};
use crate::module::{Alternative, Datatype, Enumerator, Field, Setting};

/// Returns the model as the text of one module that contains everything, also the standard management module. Merging
/// this module gives the model again.
#[must_use]
pub fn fdd(model: &Model) -> String {
    let mut xml = Xml { text: String::new(), depth: 0 };
    xml.text.push_str("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    xml.element("objectModel xmlns=\"http://standards.ieee.org/IEEE1516-2025\"", |xml| {
        xml.element("modelIdentification", |xml| {
            xml.leaf("name", "FDD");
            xml.leaf("type", "FOM");
        });
        // The roots come first, and every model has them.
        xml.element("objects", |xml| object_class(xml, model, 0));
        xml.element("interactions", |xml| interaction_class(xml, model, 0));
        small_tables(xml, model);
        datatypes(xml, model);
    });
    xml.text
}

/// Indented elements.
struct Xml {
    text: String,
    depth: usize,
}

impl Xml {
    fn line(&mut self, parts: &[&str]) {
        (0..self.depth).for_each(|_| self.text.push_str("  "));
        parts.iter().for_each(|part| self.text.push_str(part));
        self.text.push('\n');
    }

    /// Writes an element, with attributes after the name of the tag, around others.
    fn element(&mut self, tag: &str, content: impl FnOnce(&mut Self)) {
        self.line(&["<", tag, ">"]);
        self.depth += 1;
        content(self);
        self.depth -= 1;
        let name = tag.split(' ').next().unwrap_or(tag);
        self.line(&["</", name, ">"]);
    }

    /// Writes an element around a text.
    fn leaf(&mut self, tag: &str, text: &str) {
        let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        self.line(&["<", tag, ">", &text, "</", tag, ">"]);
    }

    /// The same, if there is a text.
    fn column(&mut self, tag: &str, text: Option<&str>) {
        text.filter(|text| !text.is_empty()).into_iter().for_each(|text| self.leaf(tag, text));
    }
}

/// Returns the last part of a full name.
fn short(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

fn object_class(xml: &mut Xml, model: &Model, index: usize) {
    let class = &model.object_classes()[index];
    let handle = ObjectClassHandle::of_index(index);
    xml.element("objectClass", |xml| {
        xml.leaf("name", short(&class.name));
        xml.column("sharing", class.sharing.map(|one| one.name()));
        let parent = class.parent.and_then(|parent| model.object_class(parent));
        let inherited = parent.map_or(&[][..], |parent| &parent.dimensions);
        dimensions(xml, model, &class.dimensions, inherited);
        xml.column("semantics", Some(&class.semantics));
        for (interaction, sharing) in &class.directed_interactions {
            let name = model.interaction_class(*interaction).map_or("", |one| &one.name);
            xml.element("directedInteraction", |xml| {
                xml.leaf("name", name);
                xml.leaf("sharing", sharing.name());
            });
        }
        for attribute in class.attributes.iter().filter_map(|one| model.attribute(*one)) {
            if attribute.class == handle {
                write_attribute(xml, model, attribute);
            }
        }
        for child in &class.children {
            object_class(xml, model, child.index().expect("classes have valid handles"));
        }
    });
}

/// Writes the dimensions that a class does not inherit.
fn dimensions(
    xml: &mut Xml,
    model: &Model,
    all: &[DimensionHandle],
    inherited: &[DimensionHandle],
) {
    let own = all.iter().filter(|one| !inherited.contains(one));
    let own: Vec<&str> =
        own.filter_map(|one| model.dimension(*one)).map(|one| one.name.as_str()).collect();
    if !own.is_empty() {
        xml.element("dimensions", |xml| {
            own.into_iter().for_each(|name| xml.leaf("dimension", name));
        });
    }
}

fn write_attribute(xml: &mut Xml, model: &Model, attribute: &Attribute) {
    xml.element("attribute", |xml| {
        xml.leaf("name", &attribute.name);
        xml.column("dataType", attribute.datatype.as_deref());
        xml.column("updateType", attribute.update_type.map(|one| one.name()));
        xml.column("updateCondition", attribute.update_condition.as_deref());
        xml.leaf("valueRequired", if attribute.value_required { "true" } else { "false" });
        xml.leaf("ownership", attribute.ownership.name());
        xml.column("sharing", attribute.sharing.map(|one| one.name()));
        let transportation = model.transportation(attribute.transportation);
        xml.column("transportation", transportation.map(|one| one.name.as_str()));
        xml.leaf("order", attribute.order.name());
        xml.column("semantics", Some(&attribute.semantics));
    });
}

fn interaction_class(xml: &mut Xml, model: &Model, index: usize) {
    let class = &model.interaction_classes()[index];
    let handle = InteractionClassHandle::of_index(index);
    xml.element("interactionClass", |xml| {
        xml.leaf("name", short(&class.name));
        xml.column("sharing", class.sharing.map(|one| one.name()));
        let parent = class.parent.and_then(|parent| model.interaction_class(parent));
        let inherited = parent.map_or(&[][..], |parent| &parent.dimensions);
        dimensions(xml, model, &class.dimensions, inherited);
        let transportation = model.transportation(class.transportation);
        xml.column("transportation", transportation.map(|one| one.name.as_str()));
        xml.leaf("order", class.order.name());
        xml.column("semantics", Some(&class.semantics));
        for parameter in class.parameters.iter().filter_map(|one| model.parameter(*one)) {
            if parameter.class == handle {
                write_parameter(xml, parameter);
            }
        }
        for child in &class.children {
            interaction_class(xml, model, child.index().expect("classes have valid handles"));
        }
    });
}

fn write_parameter(xml: &mut Xml, parameter: &Parameter) {
    xml.element("parameter", |xml| {
        xml.leaf("name", &parameter.name);
        xml.column("dataType", parameter.datatype.as_deref());
        xml.column("semantics", Some(&parameter.semantics));
    });
}

/// Writes everything but classes and data types.
fn small_tables(xml: &mut Xml, model: &Model) {
    xml.element("dimensions", |xml| {
        for dimension in model.dimensions() {
            xml.element("dimension", |xml| {
                xml.leaf("name", &dimension.name);
                xml.column("dataType", dimension.datatype.as_deref());
                let bound = dimension.upper_bound.map(|bound| bound.to_string());
                xml.column("upperBound", bound.as_deref());
                xml.column("normalization", dimension.normalization.as_deref());
                xml.column("value", dimension.default.as_deref());
            });
        }
    });
    for (table, entries) in [("time", &model.time), ("tags", &model.tags)] {
        xml.element(table, |xml| {
            for (name, datatype) in entries {
                xml.element(name, |xml| xml.column("dataType", datatype.as_deref()));
            }
        });
    }
    xml.element("synchronizations", |xml| {
        for (label, point) in model.synchronization_points() {
            xml.element("synchronizationPoint", |xml| {
                xml.leaf("label", label);
                xml.column("dataType", point.value.datatype.as_deref());
                xml.column("capability", point.value.capability.map(|one| one.name()));
                xml.column("semantics", Some(&point.semantics));
            });
        }
    });
    xml.element("transportations", |xml| {
        for transportation in model.transportations() {
            xml.element("transportation", |xml| {
                xml.leaf("name", &transportation.name);
                xml.leaf("reliable", if transportation.reliable { "Yes" } else { "No" });
            });
        }
    });
    xml.element("switches", |xml| {
        for (switch, setting) in &model.switches {
            let setting = match setting {
                Setting::Enabled(on) => format!("isEnabled=\"{on}\""),
                Setting::Directive(action) => format!("resignAction=\"{action}\""),
            };
            xml.line(&["<", switch.name(), " ", &setting, "/>"]);
        }
    });
    xml.element("updateRates", |xml| {
        for (name, rate) in model.update_rates() {
            xml.element("updateRate", |xml| {
                xml.leaf("name", name);
                xml.leaf("rate", &rate.to_string());
            });
        }
    });
}

/// The tables of data types, in the standard's order: the table, and its rows.
const DATATYPES: [(&str, &str); 7] = [
    ("basicDataRepresentations", "basicData"),
    ("simpleDataTypes", "simpleData"),
    ("referenceDataTypes", "referenceDataType"),
    ("enumeratedDataTypes", "enumeratedData"),
    ("arrayDataTypes", "arrayData"),
    ("fixedRecordDataTypes", "fixedRecordData"),
    ("variantRecordDataTypes", "variantRecordData"),
];

/// The place of a data type's table.
const fn table_of(datatype: &Datatype) -> usize {
    match datatype {
        Datatype::Basic { .. } => 0,
        Datatype::Simple { .. } => 1,
        Datatype::Reference { .. } => 2,
        Datatype::Enumerated { .. } => 3,
        Datatype::Array { .. } => 4,
        Datatype::FixedRecord { .. } => 5,
        Datatype::VariantRecord { .. } => 6,
    }
}

fn datatypes(xml: &mut Xml, model: &Model) {
    xml.element("dataTypes", |xml| {
        for (place, (table, row)) in DATATYPES.into_iter().enumerate() {
            let rows = model.datatypes().iter().filter(|(_, one)| table_of(&one.value) == place);
            xml.element(table, |xml| {
                for (name, datatype) in rows {
                    xml.element(row, |xml| {
                        xml.leaf("name", name);
                        columns(xml, &datatype.value);
                        xml.column("semantics", Some(&datatype.semantics));
                    });
                }
            });
        }
    });
}

fn columns(xml: &mut Xml, datatype: &Datatype) {
    match datatype {
        Datatype::Basic { size, interpretation, endian, encoding } => {
            xml.column("size", size.map(|size| size.to_string()).as_deref());
            xml.column("interpretation", interpretation.as_deref());
            xml.column("endian", endian.map(|one| one.name()));
            xml.column("encoding", encoding.as_deref());
        }
        Datatype::Simple { representation, units, resolution, accuracy } => {
            xml.column("representation", representation.as_deref());
            xml.column("units", units.as_deref());
            xml.column("resolution", resolution.as_deref());
            xml.column("accuracy", accuracy.as_deref());
        }
        Datatype::Reference { representation, class, attribute } => {
            xml.column("representation", representation.as_deref());
            xml.column("referenceClass", class.as_deref());
            xml.column("referencedAttribute", attribute.as_deref());
        }
        Datatype::Enumerated { representation, enumerators } => {
            xml.column("representation", representation.as_deref());
            enumerators.iter().for_each(|one| enumerator(xml, one));
        }
        Datatype::Array { datatype, cardinality, encoding } => {
            xml.column("dataType", datatype.as_deref());
            xml.column("cardinality", Some(&cardinality_text(cardinality)));
            xml.column("encoding", encoding.as_deref());
        }
        Datatype::FixedRecord { encoding, include, fields } => {
            xml.column("include", include.as_deref());
            xml.column("encoding", encoding.as_deref());
            fields.iter().for_each(|one| field(xml, one));
        }
        Datatype::VariantRecord { discriminant, datatype, alternatives, encoding } => {
            xml.column("discriminant", discriminant.as_deref());
            xml.column("dataType", datatype.as_deref());
            xml.column("encoding", encoding.as_deref());
            alternatives.iter().for_each(|one| alternative(xml, one));
        }
    }
}

fn enumerator(xml: &mut Xml, enumerator: &Enumerator) {
    xml.element("enumerator", |xml| {
        xml.leaf("name", &enumerator.name);
        enumerator.values.iter().for_each(|value| xml.leaf("value", value));
    });
}

fn field(xml: &mut Xml, field: &Field) {
    xml.element("field", |xml| {
        xml.leaf("name", &field.name);
        xml.column("dataType", field.datatype.as_deref());
    });
}

fn alternative(xml: &mut Xml, alternative: &Alternative) {
    xml.element("alternative", |xml| {
        xml.leaf("enumerator", &alternative.enumerators.join(", "));
        xml.column("name", Some(&alternative.name));
        xml.column("dataType", alternative.datatype.as_deref());
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::{Contents, tree};
    use crate::{merge, read, standard_mim_text};

    fn check(text: &str) {
        let (modules, _) = read("model.xml", text.as_bytes()).unwrap();
        let (model, _) = merge(&modules, None).unwrap();
        let text = fdd(&model);
        let (again, _) =
            read("fdd.xml", text.as_bytes()).unwrap_or_else(|all| panic!("{all:?}\n{text}"));
        let (again, _) = merge(&again, None).unwrap_or_else(|all| panic!("{all:?}\n{text}"));
        // The tree begins with the modules.
        let content = |model| tree(model, Contents::All).split_once("\n\n").unwrap().1.to_owned();
        assert_eq!(content(&again), content(&model));
        assert_eq!(again.datatypes(), model.datatypes());
        assert_eq!(again.attributes(), model.attributes());
        assert_eq!(again.parameters(), model.parameters());
        assert_eq!(again.dimensions(), model.dimensions());
        assert_eq!(again.switches, model.switches);
        assert_eq!((again.tags, again.time), (model.tags, model.time));
    }

    #[test]
    fn the_text_of_a_model_gives_the_model_again() {
        check(standard_mim_text());
        check(
            r#"<objectModel xmlns="http://standards.ieee.org/IEEE1516-2025">
  <objects><objectClass><name>HLAobjectRoot</name>
    <objectClass><name>Car</name><sharing>PublishSubscribe</sharing>
      <dimensions><dimension>Lane</dimension></dimensions>
      <semantics>a car with &lt;2 &amp; more axles</semantics>
      <directedInteraction><name>HLAinteractionRoot.Stop</name></directedInteraction>
      <attribute><name>Speed</name><dataType>Pair</dataType><updateType>Periodic</updateType>
        <updateCondition>10 Hz</updateCondition><ownership>Divest</ownership>
        <transportation>HLAbestEffort</transportation><order>TimeStamp</order></attribute>
      <objectClass><name>Truck</name><attribute><name>Load</name><dataType>Either</dataType></attribute></objectClass>
    </objectClass></objectClass></objects>
  <interactions><interactionClass><name>HLAinteractionRoot</name>
    <interactionClass><name>Stop</name><order>TimeStamp</order>
      <parameter><name>Why</name><dataType>Lanes</dataType></parameter></interactionClass>
  </interactionClass></interactions>
  <dimensions><dimension><name>Lane</name><dataType>HLAinteger32BE</dataType><upperBound>8</upperBound>
    <normalization>linear</normalization><value>[0..8)</value></dimension></dimensions>
  <time><timeStamp><dataType>HLAinteger64Time</dataType></timeStamp></time>
  <tags><updateReflectTag><dataType>HLAunicodeString</dataType></updateReflectTag></tags>
  <synchronizations><synchronizationPoint><label>Go</label><capability>Register</capability></synchronizationPoint></synchronizations>
  <switches><autoProvide isEnabled="true"/><automaticResignAction resignAction="DeleteObjects"/></switches>
  <updateRates><updateRate><name>Slow</name><rate>2.5</rate></updateRate></updateRates>
  <dataTypes>
    <enumeratedDataTypes><enumeratedData><name>Which</name><representation>HLAinteger32BE</representation>
      <enumerator><name>One</name><value>1</value><value>3</value></enumerator></enumeratedData></enumeratedDataTypes>
    <arrayDataTypes><arrayData><name>Lanes</name><dataType>HLAinteger32BE</dataType>
      <cardinality>2,[1..4]</cardinality><encoding>HLAvariableArray</encoding></arrayData></arrayDataTypes>
    <fixedRecordDataTypes><fixedRecordData><name>Pair</name><encoding>HLAfixedRecord</encoding>
      <field><name>A</name><dataType>HLAfloat64BE</dataType></field></fixedRecordData></fixedRecordDataTypes>
    <variantRecordDataTypes><variantRecordData><name>Either</name><discriminant>Kind</discriminant>
      <dataType>Which</dataType><encoding>HLAvariantRecord</encoding>
      <alternative><enumerator>One</enumerator><name>Count</name><dataType>HLAinteger32BE</dataType></alternative>
      <alternative><enumerator>HLAother</enumerator></alternative></variantRecordData></variantRecordDataTypes>
  </dataTypes>
</objectModel>"#,
        );
    }
}
