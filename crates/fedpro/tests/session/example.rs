//! A worked example of the protocol: a complete session, byte for byte.

use super::*;

/// Checks both sides against the worked example with which implementers of the protocol compare their bytes.
#[test]
fn complete_session_has_the_bytes_of_the_worked_example() {
    let settings = Settings::default();
    let mut federate = Session::<Client>::open(START, settings);
    federate.connected(START);
    let up = transmitted(&mut federate, START);
    assert_eq!(up, hex("0000001c 00000000 0000000000000000 80000000 00000001 00000001"));
    let (arrival, greeting) = arrive(&settings, START, &up);
    assert_eq!(greeting, Greeting::New);
    let mut rti = Session::<Server>::accept(START, settings, id(), arrival);
    let down = transmitted(&mut rti, START);
    assert_eq!(down, hex("0000001c 00000000 0123456789abcdef 80000000 00000002 00000000"));
    federate.receive(START, &down);
    events(&mut federate);
    events(&mut rti);

    let call = |federate: &mut Session<Client>, rti: &mut Session<Server>, call: Call, bytes| {
        federate.request(START, encode_call(&call)).unwrap();
        let up = transmitted(federate, START);
        assert_eq!(up, hex(bytes), "{}", call.name());
        rti.receive(START, &up);
        let [Event::Request { id, body }] = &events(rti)[..] else { panic!("one call") };
        assert_eq!(decode_call(body), Ok(call));
        *id
    };
    let answer = |federate: &mut Session<Client>, rti: &mut Session<Server>, id, body, bytes| {
        rti.respond(START, id, body);
        let down = transmitted(rti, START);
        assert_eq!(down, hex(bytes));
        federate.receive(START, &down);
        assert!(matches!(events(federate)[..], [Event::Response { .. }]));
    };

    let connect = call(
        &mut federate,
        &mut rti,
        FederationCall::Connect.into(),
        "0000001a 00000001 0123456789abcdef 80000000 00000014 0a00",
    );
    answer(
        &mut federate,
        &mut rti,
        connect,
        encode_reply(1, &Ok(Reply::Configured(Default::default()))),
        "00000020 00000001 0123456789abcdef 00000001 00000015 00000001 12020a00",
    );
    let create = FederationCall::CreateFederationExecutionWithTime {
        federation_name: "Demo".into(),
        fom_module: FomModule::Url("Demo.xml".into()),
        logical_time_implementation_name: "HLAinteger64Time".into(),
    };
    let create = call(
        &mut federate,
        &mut rti,
        create.into(),
        "0000003e 00000002 0123456789abcdef 00000001 00000014
         3a24 0a04 44656d6f 120a 1a08 44656d6f2e786d6c 1a10 484c41696e7465676572363454696d65",
    );
    answer(
        &mut federate,
        &mut rti,
        create,
        encode_reply(7, &Ok(Reply::Done)),
        "0000001e 00000002 0123456789abcdef 00000002 00000015 00000002 4200",
    );

    // A heartbeat after five sixths of a minute.
    let later = START + seconds(50);
    assert_eq!(federate.deadline(), Some(later));
    federate.tick(later);
    let up = transmitted(&mut federate, later);
    assert_eq!(up, hex("00000018 00000003 0123456789abcdef 00000002 00000003"));
    rti.receive(later, &up);
    let down = transmitted(&mut rti, later);
    assert_eq!(down, hex("0000001c 00000003 0123456789abcdef 00000002 00000004 00000003"));
    federate.receive(later, &down);

    // A callback that arrives before the reply.
    let list = call(
        &mut federate,
        &mut rti,
        FederationCall::ListFederationExecutions.into(),
        "0000001a 00000004 0123456789abcdef 00000002 00000014 6a00",
    );
    let report = Callback::ReportFederationExecutions {
        report: vec![FederationExecutionInformation {
            federation_name: "Demo".into(),
            logical_time_implementation: "HLAinteger64Time".into(),
        }],
    };
    rti.request(START, encode_callback(&report)).unwrap();
    let down = transmitted(&mut rti, START);
    assert_eq!(
        down,
        hex("00000036 00000004 0123456789abcdef 00000004 00000016
             121c 0a1a 0a18 0a04 44656d6f 1210 484c41696e7465676572363454696d65")
    );
    federate.receive(START, &down);
    let [Event::Request { id: callback, .. }] = &events(&mut federate)[..] else {
        panic!("one callback")
    };
    answer(
        &mut federate,
        &mut rti,
        list,
        encode_reply(13, &Ok(Reply::Done)),
        "0000001e 00000005 0123456789abcdef 00000004 00000015 00000004 7200",
    );
    federate.respond(START, *callback, encode_taken(&Ok(())));
    let up = transmitted(&mut federate, START);
    assert_eq!(up, hex("0000001e 00000005 0123456789abcdef 00000005 00000017 00000004 0a00"));
    rti.receive(START, &up);
    assert_eq!(events(&mut rti), [Event::Response { to: Ticket(0), body: encode_taken(&Ok(())) }]);

    // The connection breaks and the session is resumed.
    federate.disconnected(START);
    rti.disconnected(START);
    federate.connected(START);
    let up = transmitted(&mut federate, START);
    // The oldest number after which this client can still resume is that of its newest acknowledged message.
    assert_eq!(up, hex("00000020 80000000 0123456789abcdef 00000005 0000000a 00000005 00000004"));
    let (arrival, greeting) = arrive(&settings, START, &up);
    let Greeting::Resume(resume) = greeting else { panic!("{greeting:?}") };
    assert_eq!((resume.newest_received, resume.oldest_kept), (sequence(5), sequence(4)));
    rti.resume(START, arrival, resume);
    let down = transmitted(&mut rti, START);
    assert_eq!(down, hex("00000020 00000006 0123456789abcdef 00000005 0000000b 00000000 00000005"));
    federate.receive(START, &down);
    assert_eq!(events(&mut federate), [Event::Connect, Event::Running]);
    assert_eq!(events(&mut rti), [Event::Running]);

    federate.terminate(START);
    let up = transmitted(&mut federate, START);
    assert_eq!(up, hex("00000018 00000006 0123456789abcdef 00000005 00000005"));
    rti.receive(START, &up);
    assert_eq!(events(&mut rti), [Event::Ended(End::Terminated)]);
    let down = transmitted(&mut rti, START);
    assert_eq!(down, hex("00000018 00000007 0123456789abcdef 00000005 00000006"));
    assert_eq!(events(&mut rti), [Event::Disconnect]);
    federate.receive(START, &down);
    assert_eq!(events(&mut federate), [Event::Ended(End::Terminated), Event::Disconnect]);
}
