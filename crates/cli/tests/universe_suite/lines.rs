//! Every table and figure of the thesis that one node shows, in its order.

use super::page::Line;
use super::{interpreter, memory, messages, network, slower, state, steps, text, traffic};

macro_rules! lines {
    ($($name:literal, $title:literal, $measure:expr;)*) => {
        &[$(Line { name: $name, title: $title, measure: $measure },)*]
    };
}

pub(crate) const LINES: &[Line] = lines! {
    "T6.2", "Memory of the parts of the system", memory::table_2;
    "T6.3", "Definitions on the network", text::table_3;
    "T6.4", "Memory of the primitive types", memory::table_4;
    "T6.5", "Memory of the components of a definition", memory::table_5;
    "T6.6", "Memory of the triangle", memory::table_6;
    "T6.7", "Live changes of each kind of component", interpreter::table_7;
    "T6.8", "State operations, for one more integer of an array", state::table_8;
    "T6.9", "Cost of accounting", steps::table_9;
    "F6.1", "Memory predicted from the structure", memory::figure_1;
    "F6.2", "Insert, replace and delete side by side", interpreter::figure_2;
    "F6.3", "Dependencies", interpreter::figure_3;
    "F6.4", "State operations of one primitive", state::figure_4;
    "F6.5", "State operations by the length of an array", state::figure_5;
    "F6.6", "An element without and with a property", state::figure_6;
    "F6.7", "Nested elements", state::figure_7;
    "F6.8", "Both byte orders", state::figure_8;
    "F6.9", "A text of 40 characters", state::figure_9;
    "F6.10", "A pipe by the size of the message", messages::figure_10;
    "F6.11", "Parts of a send", messages::figure_11;
    "F6.12", "Local latency", messages::figure_12;
    "F6.16", "Parts of a receive", messages::figure_16;
    "F6.18", "Receiving by blocking, polling and spinning", messages::figure_18;
    "F6.19", "Local throughput", messages::figure_19;
    "F6.20", "Network throughput", network::figure_20;
    "F6.21", "Local throughput of TCP", messages::figure_21;
    "F6.22", "A connection for each message", messages::figure_22;
    "F6.23", "A step with one monitored component", steps::figure_23;
    "F6.24", "A step with two monitored components", steps::figure_24;
    "F6.25", "Messages of a step", traffic::figure_25;
    "F6.26", "Idle share of the universe manager", traffic::figure_26;
    "F6.27", "A slower node", slower::figure_27;
    "F6.36", "Construct, update, destruct of the benchmark entity", traffic::figure_36;
    "F6.37", "Idle share of one entity", traffic::figure_37;
    "F6.38", "Idle share of the manager", traffic::figure_38;
    "F6.39", "One release for all entities", traffic::figure_39;
    "F6.40", "No control messages", traffic::figure_40;
    "F6.41", "Shared memory in place of TCP", traffic::figure_41;
};
