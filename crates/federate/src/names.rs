//! A cache of the names and handles of the object model, which do not change while a federate is joined.

use std::collections::BTreeMap;

use hemiola_hla::call::SupportCall;
use hemiola_hla::{
    AttributeHandle, DimensionHandle, InteractionClassHandle, ObjectClassHandle, ParameterHandle,
    TransportationTypeHandle,
};

use crate::error::Error;
use crate::federate::Federate;

/// The names and handles that have been looked up. The object model bounds their number; unknown names are not kept.
#[derive(Debug, Default)]
pub(crate) struct Names {
    object_classes: BTreeMap<String, ObjectClassHandle>,
    object_class_names: BTreeMap<ObjectClassHandle, String>,
    attributes: BTreeMap<ObjectClassHandle, BTreeMap<String, AttributeHandle>>,
    attribute_names: BTreeMap<ObjectClassHandle, BTreeMap<AttributeHandle, String>>,
    interaction_classes: BTreeMap<String, InteractionClassHandle>,
    interaction_class_names: BTreeMap<InteractionClassHandle, String>,
    parameters: BTreeMap<InteractionClassHandle, BTreeMap<String, ParameterHandle>>,
    parameter_names: BTreeMap<InteractionClassHandle, BTreeMap<ParameterHandle, String>>,
    transportation_types: BTreeMap<String, TransportationTypeHandle>,
    dimensions: BTreeMap<String, DimensionHandle>,
}

macro_rules! handles {
    ($($clause:literal $method:ident, $table:ident: $name:ident -> $handle:ty = $call:ident;)*) => {
        /// Handles of classes, transportation types and dimensions.
        impl Federate {$(
            #[doc = concat!("Clause ", $clause, ". Asks the RTI once for each name.")]
            ///
            /// # Errors
            /// As [`call`](Self::call): `NameNotFound`.
            pub fn $method(&mut self, $name: &str) -> Result<$handle, Error> {
                if let Some(found) = self.names.$table.get($name) {
                    return Ok(*found);
                }
                let found: $handle = self.ask(SupportCall::$call { $name: $name.to_owned() })?;
                self.names.$table.insert($name.to_owned(), found);
                Ok(found)
            }
        )*}
    };
}

handles! {
    "10.4" get_object_class_handle, object_classes:
        object_class_name -> ObjectClassHandle = GetObjectClassHandle;
    "10.13" get_interaction_class_handle, interaction_classes:
        interaction_class_name -> InteractionClassHandle = GetInteractionClassHandle;
    "10.19" get_transportation_type_handle, transportation_types:
        transportation_type_name -> TransportationTypeHandle = GetTransportationTypeHandle;
    "10.23" get_dimension_handle, dimensions:
        dimension_name -> DimensionHandle = GetDimensionHandle;
}

macro_rules! class_names {
    ($($clause:literal $method:ident, $table:ident: $class:ident: $handle:ty = $call:ident;)*) => {
        /// Names of classes.
        impl Federate {$(
            #[doc = concat!("Clause ", $clause, ". Asks the RTI once for each class.")]
            ///
            /// # Errors
            /// As [`call`](Self::call): an invalid handle.
            pub fn $method(&mut self, $class: $handle) -> Result<String, Error> {
                if let Some(found) = self.names.$table.get(&$class) {
                    return Ok(found.clone());
                }
                let found: String = self.ask(SupportCall::$call { $class })?;
                self.names.$table.insert($class, found.clone());
                Ok(found)
            }
        )*}
    };
}

class_names! {
    "10.5" get_object_class_name, object_class_names:
        object_class: ObjectClassHandle = GetObjectClassName;
    "10.14" get_interaction_class_name, interaction_class_names:
        interaction_class: InteractionClassHandle = GetInteractionClassName;
}

macro_rules! members {
    ($(
        $clause:literal $method:ident $call:ident, $table:ident,
        $back:literal $name_method:ident $name_call:ident, $names:ident:
        $class:ident: $class_handle:ty, $member:ident: $handle:ty, $name:ident;
    )*) => {
        /// Attributes and parameters of classes.
        impl Federate {$(
            #[doc = concat!("Clause ", $clause, ". Asks the RTI once for each name.")]
            ///
            /// # Errors
            /// As [`call`](Self::call): `NameNotFound`, an invalid handle.
            pub fn $method(&mut self, $class: $class_handle, $name: &str) -> Result<$handle, Error> {
                if let Some(found) = self.names.$table.get(&$class).and_then(|of| of.get($name)) {
                    return Ok(*found);
                }
                let found: $handle = self.ask(SupportCall::$call { $class, $name: $name.to_owned() })?;
                self.names.$table.entry($class).or_default().insert($name.to_owned(), found);
                Ok(found)
            }

            #[doc = concat!("Clause ", $back, ". Asks the RTI once for each handle.")]
            ///
            /// # Errors
            /// As [`call`](Self::call): an invalid handle, or one of another class.
            pub fn $name_method(&mut self, $class: $class_handle, $member: $handle) -> Result<String, Error> {
                if let Some(found) = self.names.$names.get(&$class).and_then(|of| of.get(&$member)) {
                    return Ok(found.clone());
                }
                let found: String = self.ask(SupportCall::$name_call { $class, $member })?;
                self.names.$names.entry($class).or_default().insert($member, found.clone());
                Ok(found)
            }
        )*}
    };
}

members! {
    "10.9" get_attribute_handle GetAttributeHandle, attributes,
    "10.10" get_attribute_name GetAttributeName, attribute_names:
        object_class: ObjectClassHandle, attribute: AttributeHandle, attribute_name;
    "10.15" get_parameter_handle GetParameterHandle, parameters,
    "10.16" get_parameter_name GetParameterName, parameter_names:
        interaction_class: InteractionClassHandle, parameter: ParameterHandle, parameter_name;
}
