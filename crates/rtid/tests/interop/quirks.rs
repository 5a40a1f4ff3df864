//! Unexpected behaviour of clients, and details of replies on which they depend.

use super::model::{HLA_4, as_archive, as_file};
use super::wire::{TAKEN, Wire};
use super::{join, rti};

#[test]
fn a_module_may_be_sent_as_a_file_an_archive_or_a_name() {
    let rti = rti();
    let mut wire = Wire::open(rti.address);
    wire.ask::<0>("@1[]", "@2[@1[]]");
    let (file, archive) = (as_file("a.xml", HLA_4), as_archive("b.xml", HLA_4));
    // One module, and a set of both forms; with the name of a time implementation, without, and with an empty name.
    wire.done(6, &format!("@1['a'] @2[{file}]"));
    wire.done(6, &format!("@1['b'] @2[{archive}]"));
    wire.done(7, &format!("@1['c'] @2[{file}] @3['HLAinteger64Time']"));
    wire.done(8, &format!("@1['d'] @2[@1[{file}] @1[{archive}]]"));
    wire.done(9, &format!("@1['e'] @2[@1[{archive}]]"));
    wire.done(13, "");
    let shown = |name: &str, time: &str| format!("@1[@1['{name}'] @2['{time}']]");
    let float = "HLAfloat64Time";
    let all = [
        shown("a", float),
        shown("b", float),
        shown("c", "HLAinteger64Time"),
        shown("d", float),
        shown("e", float),
    ];
    wire.take::<0>(&format!("@2[@1[{}]]", all.concat()));
    // A client sends the name of a module that is not a local file; the RTI fetches nothing.
    for url in ["Room.xml", "http://127.0.0.1:1/Room.xml", ""] {
        wire.call(&format!("@6[@1['f'] @2[@3['{url}']]]"));
        wire.raises("CouldNotOpenFOM");
    }
    wire.call(&format!("@10[@1['f'] @2[@1[{file}]] @3[@3['HLAstandardMIM']]]"));
    wire.raises("DesignatorIsHLAstandardMIM");
    wire.call(&format!("@10[@1['f'] @2[@1[{file}]] @3[@3['mim.xml']]]"));
    wire.raises("CouldNotOpenMIM");
    wire.call("@6[@1['f'] @2[@2['PK no archive']]]");
    wire.raises("ErrorReadingFOM");
    wire.call("@6[@1['f'] @2[@1[@1['f.xml'] @2['no model']]]]");
    wire.raises("ErrorReadingFOM");
    wire.call(&format!("@7[@1['f'] @2[{file}] @3['SundialTime']]"));
    wire.raises("CouldNotCreateLogicalTimeFactory");
    wire.terminate();
}

#[test]
fn all_four_forms_of_connect_are_accepted() {
    let rti = rti();
    let secret = "@1['HLAplainTextPassword'] @2[00000006 0070 00e4 0073 0073 0077 0064]";
    let nobody = "@1['HLAnoCredentials']";
    let configuration = "@1['Lab'] @3['LOG=1\nAPI.version=IEEE 1516-2010']";
    for (case, arguments) in [
        (1, String::new()),
        (2, format!("@1[{nobody}]")),
        (2, format!("@1[{secret}]")),
        (3, format!("@1[{configuration}]")),
        (4, format!("@1[{configuration}] @2[{nobody}]")),
    ] {
        let mut wire = Wire::open(rti.address);
        wire.call(&format!("@{case}[{arguments}]"));
        wire.configured(case);
        wire.call("@1[]");
        wire.raises("AlreadyConnected");
        wire.done(5, "");
        // The session outlives the disconnect and can connect again.
        wire.ask::<0>("@1[]", "@2[@1[]]");
        wire.terminate();
    }
    // A client that never connected can disconnect too; otherwise it would leave its session open.
    let mut wire = Wire::open(rti.address);
    wire.done(5, "");
    wire.terminate();
}

#[test]
fn late_wrong_or_missing_replies_to_callbacks_delay_nothing() {
    let rti = rti();
    let mut wire = join(&rti);
    for label in ["a", "b", "c", "d"] {
        wire.done(20, &format!("@1['{label}']"));
        wire.callback::<0>(&format!("@6[@1['{label}']]"));
        wire.callback::<0>(&format!("@8[@1['{label}']]"));
    }
    assert_eq!(wire.callbacks.len(), 8);
    // A mangled name, a Java name, no name at all, and a reply without content.
    wire.answer("@2[@1['N12rti1516_202516NameNotFoundE'] @2['x']]");
    wire.answer("@2[@1['NullPointerException']]");
    wire.answer("@2[]");
    wire.answer("");
    // A second reply, and a reply to no callback.
    let first = wire.callbacks[0];
    wire.taken();
    wire.control(TAKEN, &format!("{first:08x} @1[]"));
    wire.control(TAKEN, "00007fff @1[]");
    wire.done(19, "=1:3");
    wire.done(5, "");
    wire.terminate();
}

#[test]
fn the_last_received_number_of_a_client_may_decrease() {
    let rti = rti();
    let mut wire = Wire::open(rti.address);
    wire.ask::<0>("@1[]", "@2[@1[]]");
    wire.done(13, "");
    wire.take::<0>("@2[@1[]]");
    for received in [3, 1, 2, super::wire::NONE, 3] {
        wire.received = received;
        wire.call("@13[]");
        wire.reply::<0>("@14[]");
        wire.callback::<0>("@2[@1[]]");
    }
    wire.terminate();
}

#[test]
fn pipelined_updates_are_each_answered_once_and_in_order() {
    let rti = rti();
    let (mut ann, mut bob) = (join(&rti), join(&rti));
    let class = ann.handle(126, "@1['Guest']", 4);
    let name = ann.handle(131, &format!("@1[@1[{class}]] @2['Name']"), 4);
    let attributes = format!("@1[@1[{class}]] @2[@1[@1[{name}]]]");
    ann.done(35, &attributes);
    bob.done(43, &attributes);
    let guest = ann.handle(60, &format!("@1[@1[{class}]]"), 8);
    bob.take::<2>(&format!("@30[@1[@1[{guest}]] @2[@1[{class}]] @3['HLAobject-' ?1] @4[@1[?4]]]"));
    let count = 1000;
    for number in 0..count {
        // Every seventh update is invalid.
        let attribute = if number % 7 == 6 { "ffffffff" } else { &name };
        ann.call(&format!("@62[@1[@1[{guest}]] @2[@1[@1[@1[{attribute}]] @2[{number:08x}]]]]"));
    }
    for number in 0..count {
        if number % 7 == 6 {
            ann.raises("AttributeNotDefined");
        } else {
            ann.reply::<0>("@63[]");
            bob.take::<1>(&format!(
                "@31[@1[@1[{guest}]] @2[@1[@1[@1[{name}]] @2[{number:08x}]]] @4[@1[00000001]] @5[@1[?4]]]"
            ));
        }
    }
}

#[test]
fn empty_results_are_present_in_replies() {
    let rti = rti();
    let mut wire = join(&rti);
    let class = wire.handle(126, "@1['Guest']", 4);
    let talk = wire.handle(135, "@1['Talk']", 4);
    let name = wire.handle(131, &format!("@1[@1[{class}]] @2['Name']"), 4);
    // No dimensions: an empty set. No time: a false flag, and eight bytes that some clients decode before the check.
    wire.ask::<0>(&format!("@143[@1[@1[{class}]]]"), "@144[@1[]]");
    wire.ask::<0>("@100[]", "@101[@1[@2[@1[0000000000000000]]]]");
    wire.ask::<0>("@102[]", "@103[@1[@2[@1[0000000000000000]]]]");
    wire.ask::<0>("@174[]", "@175[]");
    // The two transportation types have the handles that some clients assume.
    wire.ask::<0>("@141[@1['HLAreliable']]", "@142[@1[@1[00000001]]]");
    wire.ask::<0>("@141[@1['HLAbestEffort']]", "@142[@1[@1[00000002]]]");
    // A receive-order message cannot be retracted: a false flag, and no handle.
    wire.done(35, &format!("@1[@1[{class}]] @2[@1[@1[{name}]]]"));
    wire.done(38, &format!("@1[@1[{talk}]]"));
    let guest = wire.handle(60, &format!("@1[@1[{class}]]"), 8);
    let at_5 = "@4[@1[0000000000000005]]";
    wire.ask::<0>(&format!("@63[@1[@1[{guest}]] @2[] {at_5}]"), "@64[@1[]]");
    wire.ask::<0>(&format!("@65[@1[@1[{talk}]] @2[] {at_5}]"), "@66[@1[]]");
}

#[test]
fn an_invalid_call_is_refused_and_the_session_continues() {
    let rti = rti();
    let mut wire = join(&rti);
    for nonsense in ["", "@999[]", "ff", "0a05 00", "=1:1", "@126[=1:7]"] {
        wire.call(nonsense);
        wire.raises("RTIinternalError");
    }
    for handle in
        ["", "@1[]", "@1[@1[]]", "@1[@1[00]]", "@1[@1[ffffffff]]", "@1[@1[00000001000000010000]]"]
    {
        wire.call(&format!("@125[{handle}]"));
        wire.raises("InvalidFederateHandle");
    }
    wire.done(19, "=1:3");
    wire.terminate();
}

#[test]
fn an_evolved_federate_is_granted_an_advance_where_an_hla_4_federate_is_granted_a_flush() {
    let rti = rti();
    let mut four = join(&rti);
    let mut evolved = Wire::open(rti.address);
    evolved.call("@3[@1[@3['API.version=IEEE 1516-2010\n']]]");
    evolved.configured(3);
    let join = "@16[@1['Guest'] @2['Room'] @3[]]";
    evolved.ask::<1>(join, "@17[@1[@1[@1[?4]] @2['HLAinteger64Time']]]");
    for wire in [&mut four, &mut evolved] {
        wire.done(91, "");
        wire.take::<0>("@59[@1[@1[0000000000000000]]]");
        wire.done(97, "@1[@1[0000000000000009]]");
    }
    let time = "@1[0000000000000009]";
    four.take::<0>(&format!("@60[@1[{time}] @2[{time}]]"));
    evolved.take::<0>(&format!("@61[@1[{time}]]"));
}
