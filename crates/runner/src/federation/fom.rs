//! The object model of a federation, generated from its exchanges.
//!
//! Each federate that sends has an object class of its own with one attribute for each receiver, so that the RTI's
//! declaration management selects the receivers. Messages received in mid-cycle have receive order, the others
//! time-stamp order. The pulse of the master and the end of the run are interactions.

use std::fmt::Write as _;

use hemiola_scenario::Exchange;

/// The interaction class of the master's pulse, with its parameter.
pub(super) const PULSE: (&str, &str) = ("Pulse", "Cycle");
/// The interaction class that ends a run.
pub(super) const OVER: &str = "Over";

/// A name of a scenario as a name in an object model, where a dot would separate class and subclass.
pub(super) fn name(name: &str) -> String {
    name.replace('.', "_")
}

/// The module, as IEEE 1516.2-2025 specifies it.
pub(super) fn module(exchanges: &[Exchange]) -> String {
    let mut text = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <objectModel xmlns=\"http://standards.ieee.org/IEEE1516-2025\">\n<modelIdentification>\
         <name>Formation</name><type>FOM</type><version>1.0</version>\
         <modificationDate>2026-01-01</modificationDate><securityClassification>unclassified</securityClassification>\
         <description>The exchanges of a scenario</description></modelIdentification>\n\
         <objects><objectClass><name>HLAobjectRoot</name>\n",
    );
    let mut senders: Vec<&str> = exchanges.iter().map(|exchange| exchange.from.as_str()).collect();
    senders.sort_unstable();
    senders.dedup();
    for sender in senders {
        let _ = write!(
            text,
            "<objectClass><name>{}</name><sharing>PublishSubscribe</sharing>",
            name(sender)
        );
        for exchange in exchanges.iter().filter(|exchange| exchange.from == sender) {
            let order = if exchange.mid_cycle { "Receive" } else { "TimeStamp" };
            let _ = write!(
                text,
                "<attribute><name>{}</name><dataType>HLAopaqueData</dataType>\
                 <updateType>Periodic</updateType><ownership>NoTransfer</ownership>\
                 <sharing>PublishSubscribe</sharing><transportation>HLAreliable</transportation>\
                 <order>{order}</order></attribute>",
                name(&exchange.to)
            );
        }
        text.push_str("</objectClass>\n");
    }
    let (pulse, cycle) = PULSE;
    let _ = write!(
        text,
        "</objectClass></objects>\n\
         <interactions><interactionClass><name>HLAinteractionRoot</name>\n\
         <interactionClass><name>{pulse}</name><sharing>PublishSubscribe</sharing>\
         <transportation>HLAreliable</transportation><order>Receive</order>\
         <parameter><name>{cycle}</name><dataType>HLAopaqueData</dataType></parameter></interactionClass>\n\
         <interactionClass><name>{OVER}</name><sharing>PublishSubscribe</sharing>\
         <transportation>HLAreliable</transportation><order>Receive</order></interactionClass>\n\
         </interactionClass></interactions>\n</objectModel>\n"
    );
    text
}

#[cfg(test)]
mod tests {
    use hemiola_units::Bytes;

    use super::*;

    #[test]
    fn a_sender_is_a_class_and_each_receiver_an_attribute_of_it() {
        let exchange = |from: &str, to: &str, mid_cycle| Exchange {
            from: from.into(),
            to: to.into(),
            bytes: Bytes(64),
            mid_cycle,
        };
        let exchanges =
            [exchange("a.1", "b", false), exchange("a.1", "c", true), exchange("c", "b", false)];
        let text = module(&exchanges);
        assert_eq!(text.matches("<objectClass>").count(), 3, "{text}");
        assert_eq!(text.matches("<attribute>").count(), 3, "{text}");
        assert_eq!(text.matches("<name>a_1</name>").count(), 1, "{text}");
        assert!(text.contains("<name>c</name><dataType>HLAopaqueData</dataType>"), "{text}");
        assert_eq!(text.matches("<order>Receive</order></attribute>").count(), 1, "{text}");
    }
}
