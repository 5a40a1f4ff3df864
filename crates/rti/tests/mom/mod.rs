//! The management object model (clause 11), seen by federates that manage.

mod adjust;
mod encoded;
mod objects;
mod reporting;
mod requests;
mod service;

use std::collections::BTreeMap;
use std::sync::Arc;

use hemiola_fom::{Model, merge, read};
use hemiola_hla::call::{DeclarationCall, ObjectCall};
use hemiola_hla::data::Data;
use hemiola_hla::encoding::{Element, decode};
use hemiola_hla::{Callback, InteractionClassHandle, ObjectInstanceHandle};
use hemiola_rti::Notice;

use crate::world::{Fed, MODEL, World};

const FEDERATE: &str = "HLAobjectRoot.HLAmanager.HLAfederate";
const FEDERATION: &str = "HLAobjectRoot.HLAmanager.HLAfederation";
const INTERACTIONS: &str = "HLAinteractionRoot.HLAmanager";

/// The object model of the tests, in either edition: that of 2010 also has the names which 2025 no longer has.
fn editions() -> [(&'static str, String); 2] {
    let of_2010 = MODEL.replace("IEEE1516-2025", "IEEE1516-2010");
    [("2025", MODEL.to_owned()), ("2010", of_2010)]
}

fn model(text: &str) -> Model {
    let (modules, _) = read("world.xml", text.as_bytes()).unwrap();
    merge(&modules, None).unwrap().0
}

/// An interaction or a reflection that a manager has received: its class and its values by name.
#[derive(Clone, Debug)]
struct Received {
    /// The name of an interaction class, without what all names begin with; empty for a reflection.
    class: String,
    values: BTreeMap<String, Data>,
}

impl Received {
    /// Decodes a value.
    fn get<T: Element>(&self, name: &str) -> T {
        let value = self.values.get(name).unwrap_or_else(|| panic!("{name} in {self:?}"));
        decode(value).unwrap_or_else(|error| panic!("{name}: {error}"))
    }
}

impl World {
    /// Subscribes to all attributes of an object class of the model.
    fn watch(&mut self, fed: Fed, class: &str) {
        let object_class = self.class(class);
        let attributes = self.model.object_class(object_class).unwrap().attributes.clone();
        self.ok(fed, DeclarationCall::SubscribeObjectClassAttributes { object_class, attributes });
    }

    /// Requests the values of all attributes of all instances of a class.
    fn request(&mut self, fed: Fed, class: &str) {
        let object_class = self.class(class);
        let attributes = self.model.object_class(object_class).unwrap().attributes.clone();
        let user_supplied_tag = Data::new();
        let call = ObjectCall::RequestClassAttributeValueUpdate {
            object_class,
            attributes,
            user_supplied_tag,
        };
        self.ok(fed, call);
    }

    /// The handle of an interaction class below `HLAmanager`.
    fn mom_class(&self, class: &str) -> InteractionClassHandle {
        self.interaction(&format!("{INTERACTIONS}.{class}"))
    }

    /// Publishes an interaction class below `HLAmanager` and sends an interaction of it.
    fn ask(&mut self, fed: Fed, class: &str, values: &[(&str, Data)]) {
        let interaction_class = self.mom_class(class);
        self.ok(fed, DeclarationCall::PublishInteractionClass { interaction_class });
        let parameter = |name| self.model.parameter_named(interaction_class, name).unwrap();
        let values = values.iter().map(|(name, value)| (parameter(name), value.clone()));
        let (parameter_values, user_supplied_tag) = (values.collect(), Data::new());
        let call =
            ObjectCall::SendInteraction { interaction_class, parameter_values, user_supplied_tag };
        self.ok(fed, call);
    }

    /// Subscribes to all reports, each at its own class.
    fn listen_to_reports(&mut self, fed: Fed) {
        let classes = self.model.interaction_classes().iter().map(|class| class.name.clone());
        let reports: Vec<String> = classes.filter(|name| name.contains(".HLAreport.")).collect();
        for report in reports {
            self.subscribe_interaction(fed, &report);
        }
    }

    /// Takes what a federate has received of the model since the last time.
    fn received(&mut self, fed: Fed) -> Vec<Received> {
        let notices = self.notices(fed);
        notices.iter().filter_map(|notice| self.of_mom(notice)).collect()
    }

    fn of_mom(&self, notice: &Arc<Notice>) -> Option<Received> {
        match notice.callback() {
            Callback::ReflectAttributeValues { attribute_values, .. } => {
                let name = |attribute| self.model.attribute(attribute).unwrap().name.clone();
                let values =
                    attribute_values.iter().map(|(one, value)| (name(*one), value.clone()));
                let (class, values) = (String::new(), values.collect());
                Some(Received { class, values })
            }
            Callback::ReceiveInteraction { interaction_class, parameter_values, .. } => {
                let class = &self.model.interaction_class(*interaction_class).unwrap().name;
                let class = class.strip_prefix(INTERACTIONS)?.trim_start_matches('.').to_owned();
                let name = |one| self.model.parameter(one).unwrap().name.clone();
                let values =
                    parameter_values.iter().map(|(one, value)| (name(*one), value.clone()));
                Some(Received { class, values: values.collect() })
            }
            _ => None,
        }
    }

    /// The instances that a federate has discovered, by class, from the notices that it has not taken yet.
    fn discovered(&mut self, fed: Fed, class: &str) -> Vec<ObjectInstanceHandle> {
        let class = self.class(class);
        let notices = self.notices(fed);
        let of_class = |notice: &Arc<Notice>| match notice.callback() {
            Callback::DiscoverObjectInstance { object_instance, object_class, .. } => {
                (*object_class == class).then_some(*object_instance)
            }
            _ => None,
        };
        notices.iter().filter_map(of_class).collect()
    }
}
