//! What federates exchange through the RTI.

use hemiola_fedpro::session::End;
use hemiola_hla::ResignAction;
use hemiola_hla::call::SupportCall;

use crate::peer::{Peer, Rti, on_loopback, update, value};

#[test]
fn an_update_of_one_federate_reaches_the_other() {
    let rti = Rti::start(on_loopback());
    let mut publisher = Peer::join(rti.address, "Demo");
    let object = publisher.register();
    let directive = Some(ResignAction::CancelThenDeleteThenDivest);
    publisher.call(SupportCall::SetAutomaticResignDirective { value: directive }).unwrap();
    let mut subscriber = Peer::join(rti.address, "Demo");
    subscriber.subscribe();
    for number in 0..100_u64 {
        publisher.call(update(object, number.to_be_bytes().to_vec())).unwrap();
        assert_eq!(value(subscriber.callback()), number.to_be_bytes()[..]);
    }
    assert_eq!(publisher.terminate(), End::Terminated);
    assert_eq!(subscriber.callback().name(), "RemoveObjectInstance");
    assert_eq!(rti.stop().sessions, 2);
}
