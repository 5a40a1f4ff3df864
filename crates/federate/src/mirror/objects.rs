//! Publications and instances of a federate, and the part of the object model that it has looked up.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hemiola_hla::call::{
    DeclarationCall, DistributionCall, ObjectCall, OwnershipCall, SupportCall,
};
use hemiola_hla::{
    AttributeHandle, Call, Data, Exception, InteractionClassHandle, ObjectClassHandle,
    ObjectInstanceHandle, ParameterHandle, Refusal, Reply,
};

/// Whether something that the federate has requested has certainly been granted.
type IsCertain = bool;

/// Attributes that a federate may publish or own. All others are certainly not published or owned.
type Attributes = BTreeMap<AttributeHandle, IsCertain>;

#[derive(Debug, Default)]
pub(super) struct Objects {
    model: Model,
    classes: BTreeMap<ObjectClassHandle, Class>,
    /// Interaction classes that the federate may publish.
    interactions: BTreeMap<InteractionClassHandle, IsCertain>,
    /// Instances that the federate has registered, and that only it can delete.
    instances: BTreeMap<ObjectInstanceHandle, Instance>,
}

/// The object model, as far as it has been looked up, without the privilege to delete.
#[derive(Debug, Default)]
struct Model {
    attributes: BTreeSet<(ObjectClassHandle, AttributeHandle)>,
    interactions: BTreeSet<InteractionClassHandle>,
    parameters: BTreeSet<(InteractionClassHandle, ParameterHandle)>,
}

/// An object class that a federate has published.
#[derive(Debug, Default)]
struct Class {
    published: Arc<Attributes>,
    /// Whether the federate has unpublished attributes since. It may then register instances that others can delete.
    is_unpublished: bool,
}

#[derive(Debug)]
struct Instance {
    class: ObjectClassHandle,
    /// Instances that were registered under the same publications share them.
    owned: Arc<Attributes>,
}

impl Objects {
    /// Whether this federate has registered the instance, and only it can delete the instance.
    pub(super) fn has(&self, instance: ObjectInstanceHandle) -> bool {
        self.instances.contains_key(&instance)
    }

    /// Judges an update apart from its time stamp. Returns whether it certainly passes.
    pub(super) fn update(
        &self,
        instance: ObjectInstanceHandle,
        values: &[(AttributeHandle, Data)],
    ) -> Result<bool, Refusal> {
        let Some(Instance { class, owned }) = self.instances.get(&instance) else {
            return Ok(false);
        };
        let mut passes = true;
        let mut not_owned = None;
        for (attribute, _) in values {
            match owned.get(attribute) {
                Some(is_certain) => passes &= is_certain,
                None => not_owned = not_owned.or(Some(*attribute)),
            }
        }
        let Some(not_owned) = not_owned else { return Ok(passes) };
        // An attribute that is not defined is a more general error.
        let mut attributes = values.iter().map(|(attribute, _)| *attribute);
        if attributes.all(|one| self.is_defined(*class, owned, one)) {
            return Err(Exception::AttributeNotOwned.because(not_owned.to_string()));
        }
        Ok(false)
    }

    fn is_defined(
        &self,
        class: ObjectClassHandle,
        owned: &Attributes,
        attribute: AttributeHandle,
    ) -> bool {
        owned.get(&attribute) == Some(&true) || self.model.attributes.contains(&(class, attribute))
    }

    /// Judges an interaction apart from its time stamp. Returns whether it certainly passes.
    pub(super) fn interaction(
        &self,
        class: InteractionClassHandle,
        values: &[(ParameterHandle, Data)],
    ) -> Result<bool, Refusal> {
        let mut parameters = values.iter().map(|(parameter, _)| (class, *parameter));
        if !self.model.interactions.contains(&class)
            || !parameters.all(|one| self.model.parameters.contains(&one))
        {
            return Ok(false);
        }
        match self.interactions.get(&class) {
            Some(is_certain) => Ok(*is_certain),
            None => Err(Exception::InteractionClassNotPublished.into()),
        }
    }

    pub(super) fn note_call(&mut self, call: &Call) {
        match call {
            Call::Declaration(call) => self.note_declaration(call),
            Call::Object(
                ObjectCall::DeleteObjectInstance { object_instance, .. }
                | ObjectCall::DeleteObjectInstanceWithTime { object_instance, .. }
                | ObjectCall::LocalDeleteObjectInstance { object_instance },
            ) => drop(self.instances.remove(object_instance)),
            Call::Ownership(call) => {
                changed_ownership(call).map(|instance| self.instances.remove(&instance));
            }
            _ => {}
        }
    }

    fn note_declaration(&mut self, call: &DeclarationCall) {
        use DeclarationCall as C;
        match call {
            C::PublishObjectClassAttributes { object_class, attributes } => {
                self.publish(*object_class, attributes);
            }
            C::UnpublishObjectClass { object_class }
            | C::UnpublishObjectClassAttributes { object_class, .. } => {
                self.classes.entry(*object_class).or_default().is_unpublished = true;
                self.instances.retain(|_, instance| instance.class != *object_class);
            }
            C::PublishInteractionClass { interaction_class: class } => {
                let is_certain = self.model.interactions.contains(class);
                *self.interactions.entry(*class).or_default() |= is_certain;
            }
            C::UnpublishInteractionClass { interaction_class: class } => {
                if self.model.interactions.contains(class) {
                    self.interactions.remove(class);
                } else if let Some(is_certain) = self.interactions.get_mut(class) {
                    *is_certain = false;
                }
            }
            _ => {}
        }
    }

    fn publish(&mut self, class: ObjectClassHandle, attributes: &[AttributeHandle]) {
        let mut defined =
            attributes.iter().map(|one| self.model.attributes.contains(&(class, *one)));
        let is_certain = defined.all(|is_defined| is_defined);
        let published = Arc::make_mut(&mut self.classes.entry(class).or_default().published);
        for attribute in attributes {
            *published.entry(*attribute).or_default() |= is_certain;
        }
    }

    pub(super) fn note_reply(&mut self, call: &Call, reply: &Reply) {
        match (call, reply) {
            (Call::Support(call), reply) => self.model.note_reply(call, reply),
            (
                Call::Object(
                    ObjectCall::RegisterObjectInstance { object_class: class }
                    | ObjectCall::RegisterObjectInstanceWithName { object_class: class, .. },
                )
                | Call::Distribution(
                    DistributionCall::RegisterObjectInstanceWithRegions {
                        object_class: class, ..
                    }
                    | DistributionCall::RegisterObjectInstanceWithNameAndRegions {
                        object_class: class,
                        ..
                    },
                ),
                Reply::ObjectInstance(instance),
            ) => self.note_registration(*class, *instance),
            _ => {}
        }
    }

    fn note_registration(&mut self, class: ObjectClassHandle, instance: ObjectInstanceHandle) {
        if let Some(Class { published, is_unpublished: false }) = self.classes.get(&class) {
            let owned = Arc::clone(published);
            self.instances.insert(instance, Instance { class, owned });
        }
    }
}

impl Model {
    fn note_reply(&mut self, call: &SupportCall, reply: &Reply) {
        use SupportCall as C;
        match (call, reply) {
            (
                C::GetAttributeHandle { object_class, attribute_name },
                Reply::Attribute(attribute),
            ) => {
                self.note_attribute(*object_class, *attribute, attribute_name);
            }
            (C::GetAttributeName { object_class, attribute }, Reply::Name(name)) => {
                self.note_attribute(*object_class, *attribute, name);
            }
            (C::GetInteractionClassHandle { .. }, Reply::InteractionClass(class))
            | (C::GetInteractionClassName { interaction_class: class }, Reply::Name(_)) => {
                self.interactions.insert(*class);
            }
            (C::GetParameterHandle { interaction_class, .. }, Reply::Parameter(parameter))
            | (C::GetParameterName { interaction_class, parameter }, Reply::Name(_)) => {
                self.parameters.insert((*interaction_class, *parameter));
            }
            _ => {}
        }
    }

    /// The privilege to delete is left to the RTI: a federate that publishes any attribute owns it too.
    fn note_attribute(&mut self, class: ObjectClassHandle, attribute: AttributeHandle, name: &str) {
        if !name.contains("rivilegeToDelete") {
            self.attributes.insert((class, attribute));
        }
    }
}

/// Returns the instance whose ownership a call may change, now or later.
fn changed_ownership(call: &OwnershipCall) -> Option<ObjectInstanceHandle> {
    use OwnershipCall as C;
    match call {
        C::QueryAttributeOwnership { .. } | C::IsAttributeOwnedByFederate { .. } => None,
        C::UnconditionalAttributeOwnershipDivestiture { object_instance, .. }
        | C::NegotiatedAttributeOwnershipDivestiture { object_instance, .. }
        | C::ConfirmDivestiture { object_instance, .. }
        | C::AttributeOwnershipAcquisition { object_instance, .. }
        | C::AttributeOwnershipAcquisitionIfAvailable { object_instance, .. }
        | C::AttributeOwnershipReleaseDenied { object_instance, .. }
        | C::AttributeOwnershipDivestitureIfWanted { object_instance, .. }
        | C::CancelNegotiatedAttributeOwnershipDivestiture { object_instance, .. }
        | C::CancelAttributeOwnershipAcquisition { object_instance, .. } => Some(*object_instance),
    }
}
