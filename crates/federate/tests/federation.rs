//! Federates and a real RTI, over every transport.

use std::thread;

use hemiola_federate::hla::call::{ObjectCall, TimeCall};
use hemiola_federate::hla::data::FomModule;
use hemiola_federate::hla::encoding::{HLAfloat64BE, HLAunicodeString};
use hemiola_federate::hla::{
    Callback, Exception, LogicalInterval, LogicalTime, ObjectClassHandle, ObjectInstanceHandle,
    Reply, ResignAction, TimeImplementation,
};
use hemiola_federate::{Attribute, End, Error, Federate, Joining, Options, SessionId, Span};

use crate::rti::{Rti, RtiProcess, Transport};

const ROAD: &str = include_str!("../examples/road.xml");

fn road() -> FomModule {
    FomModule::File { name: "road.xml".into(), content: ROAD.into() }
}

fn second() -> LogicalInterval {
    LogicalInterval::integer(1).unwrap()
}

/// A joined federate, with the class and the attribute that the federates exchange.
pub(crate) struct Vehicle {
    pub(crate) federate: Federate,
    class: ObjectClassHandle,
    position: Attribute<HLAfloat64BE>,
}

impl Vehicle {
    pub(crate) fn join(rti: &Rti, transport: Transport, options: Options) -> Self {
        let mut federate = rti.connect(transport, options);
        let time = TimeImplementation::Integer64;
        if let Err(error) = federate.create_federation_execution("Road", &[road()], time) {
            let exists = Some(Exception::FederationExecutionAlreadyExists);
            assert_eq!(error.exception(), exists, "{error}");
        }
        federate.join_federation_execution(Joining::new("Vehicle", "Road")).unwrap();
        let class = federate.get_object_class_handle("Vehicle").unwrap();
        let position = federate.attribute(class, "Position").unwrap();
        Self { federate, class, position }
    }

    fn publish(&mut self) -> ObjectInstanceHandle {
        let attributes = [self.position.handle()];
        self.federate.publish_object_class_attributes(self.class, &attributes).unwrap();
        self.federate.register_object_instance(self.class).unwrap()
    }

    fn subscribe(&mut self) {
        let attributes = [self.position.handle()];
        self.federate.subscribe_object_class_attributes(self.class, &attributes).unwrap();
        self.federate.confirm().unwrap();
    }

    fn move_to(&mut self, instance: ObjectInstanceHandle, metres: u32) -> Result<(), Error> {
        let values = [self.position.with(&HLAfloat64BE(f64::from(metres)))];
        self.federate.update_attribute_values(instance, &values, "")
    }

    /// Waits for the next update and returns the position in it.
    fn next_position(&mut self) -> f64 {
        let position = self.position;
        let seen = self.federate.handle_until(|_, callback| match callback {
            Callback::ReflectAttributeValues { attribute_values, .. } => {
                Ok(position.of(&attribute_values)?)
            }
            _ => Ok(None),
        });
        seen.unwrap().0
    }

    fn leave(mut self) {
        let action = ResignAction::DeleteObjectsThenDivest;
        self.federate.resign_federation_execution(action).unwrap();
        self.federate.disconnect().unwrap();
    }
}

#[test]
fn an_update_reaches_the_other_federate_over_any_two_transports() {
    for (there, back) in
        Transport::ALL.into_iter().flat_map(|one| Transport::ALL.map(|other| (one, other)))
    {
        let rti = Rti::start();
        let mut one = Vehicle::join(&rti, there, Options::default());
        let mut other = Vehicle::join(&rti, back, Options::default());
        one.subscribe();
        other.subscribe();
        let (his, hers) = (one.publish(), other.publish());
        for metres in 0..20 {
            one.move_to(his, metres).unwrap();
            one.federate.flush().unwrap();
            assert_eq!(other.next_position(), f64::from(metres), "{there:?} to {back:?}");
            other.move_to(hers, 100 + metres).unwrap();
            other.federate.flush().unwrap();
            assert_eq!(one.next_position(), f64::from(100 + metres), "{back:?} to {there:?}");
        }
        one.leave();
        other.leave();
    }
}

#[test]
fn a_flood_of_pipelined_updates_arrives_complete_and_in_order_over_every_transport() {
    const UPDATES: u32 = 30_000;
    for transport in Transport::ALL {
        let rti = Rti::start();
        let mut source = Vehicle::join(&rti, transport, Options::default());
        let mut target = Vehicle::join(&rti, transport, Options::default());
        target.subscribe();
        let instance = source.publish();
        let target = thread::spawn(move || {
            for metres in 0..UPDATES {
                assert_eq!(target.next_position(), f64::from(metres), "{transport:?}");
            }
            target
        });
        for metres in 0..UPDATES {
            source.move_to(instance, metres).unwrap();
        }
        source.federate.flush().unwrap();
        target.join().unwrap().leave();
        source.leave();
    }
}

#[test]
fn two_federates_advance_in_step_over_every_transport() {
    const STEPS: i64 = 200;
    for transport in Transport::ALL {
        let rti = Rti::start();
        let run = |mut vehicle: Vehicle| {
            move || {
                vehicle.subscribe();
                vehicle.federate.enable_time_regulation_and_wait(second()).unwrap();
                vehicle.federate.enable_time_constrained_and_wait().unwrap();
                vehicle.federate.enable_asynchronous_delivery().unwrap();
                let instance = vehicle.publish();
                let found = vehicle.federate.handle_until(|_, callback| {
                    let found = matches!(callback, Callback::DiscoverObjectInstance { .. });
                    Ok(found.then_some(()))
                });
                found.unwrap();
                let position = vehicle.position;
                for step in 1..=STEPS {
                    let then = LogicalTime::integer(step).unwrap();
                    let values = [position.with(&HLAfloat64BE(step as f64))];
                    vehicle
                        .federate
                        .update_attribute_values_with_time(instance, &values, "", then)
                        .unwrap();
                    let mut seen = Vec::new();
                    let granted = vehicle.federate.advance(then, |federate, callback| {
                        if let Callback::ReflectAttributeValuesWithTime {
                            attribute_values,
                            time,
                            ..
                        } = callback
                        {
                            let HLAfloat64BE(metres) = position.of(&attribute_values)?.unwrap();
                            seen.push((federate.time(time)?, metres));
                        }
                        Ok(())
                    });
                    assert_eq!(granted.unwrap(), then);
                    assert_eq!(seen, [(then, step as f64)], "{transport:?}");
                }
                vehicle
            }
        };
        let (one, other) = (
            Vehicle::join(&rti, transport, Options::default()),
            Vehicle::join(&rti, transport, Options::default()),
        );
        let (one, other) = (thread::spawn(run(one)), thread::spawn(run(other)));
        one.join().unwrap().leave();
        other.join().unwrap().leave();
    }
}

#[test]
fn a_federate_that_takes_a_grant_first_advances_and_then_takes_what_was_released() {
    const UPDATES: u32 = 100;
    let time = |number: u32| LogicalTime::integer(i64::from(number)).unwrap();
    for transport in Transport::ALL {
        let rti = Rti::start();
        let mut sender = Vehicle::join(&rti, transport, Options::default());
        sender.federate.enable_time_regulation_and_wait(second()).unwrap();
        let mut reader = Vehicle::join(&rti, transport, Options::default());
        reader.federate.enable_time_constrained_and_wait().unwrap();
        reader.subscribe();
        let instance = sender.publish();
        for number in 0..UPDATES {
            let values = [sender.position.with(&HLAfloat64BE(f64::from(number)))];
            let at = time(1 + number / 50);
            let federate = &mut sender.federate;
            federate.update_attribute_values_with_time(instance, &values, "", at).unwrap();
        }
        sender.federate.advance(time(10), |_, _| Ok(())).unwrap();
        for step in 1..=5 {
            let request = TimeCall::TimeAdvanceRequest { time: time(step).into() };
            reader.federate.post(request).unwrap();
            let grant = reader.federate.wait_for(|callback| match callback {
                Callback::TimeAdvanceGrant { time } => Some(*time),
                _ => None,
            });
            assert_eq!(grant.unwrap(), time(step).into());
        }
        let mut seen = Vec::new();
        let position = reader.position;
        while let Some(callback) = reader.federate.evoke(Span::ZERO).unwrap() {
            if let Callback::ReflectAttributeValuesWithTime { attribute_values, .. } = callback {
                seen.extend(position.of(&attribute_values).unwrap().map(|metres| metres.0 as u32));
            }
        }
        assert_eq!(seen, (0..UPDATES).collect::<Vec<u32>>(), "{transport:?}");
        sender.leave();
        reader.leave();
    }
}

#[test]
fn exceptions_of_a_real_rti_have_their_names() {
    for transport in Transport::ALL {
        let rti = Rti::start();
        let mut federate = rti.connect(transport, Options::default());
        let error = federate.join_federation_execution(Joining::new("Vehicle", "Nowhere"));
        let exception = error.unwrap_err().exception();
        assert_eq!(exception, Some(Exception::FederationExecutionDoesNotExist));
        let error = federate.query_logical_time().unwrap_err();
        assert_eq!(error.exception(), Some(Exception::FederateNotExecutionMember));
        federate.disconnect().unwrap();
        let mut vehicle = Vehicle::join(&rti, transport, Options::default());
        vehicle.move_to(ObjectInstanceHandle::new(99), 1).unwrap();
        let error = vehicle.federate.confirm().unwrap_err();
        assert_eq!(error.exception(), Some(Exception::ObjectInstanceNotKnown));
        let error = vehicle.federate.attribute::<HLAunicodeString>(vehicle.class, "Colour");
        assert_eq!(error.unwrap_err().exception(), Some(Exception::NameNotFound));
        vehicle.leave();
    }
}

#[test]
fn a_dropped_federate_resigns_at_once() {
    for transport in Transport::ALL {
        let rti = Rti::start();
        let mut stays = Vehicle::join(&rti, transport, Options::default());
        let mut goes = Vehicle::join(&rti, transport, Options::default());
        let directive = ResignAction::DeleteObjects;
        goes.federate.set_automatic_resign_directive(directive).unwrap();
        goes.federate.confirm().unwrap();
        stays.subscribe();
        goes.publish();
        drop(goes);
        let removed = stays.federate.handle_until(|_, callback| {
            Ok(matches!(callback, Callback::RemoveObjectInstance { .. }).then_some(()))
        });
        removed.unwrap();
        stays.leave();
    }
}

fn lost(fault_description: &str) -> Callback {
    Callback::ConnectionLost { fault_description: fault_description.into() }
}

#[test]
fn every_transport_reports_that_the_operator_evicted_a_federate() {
    for transport in Transport::ALL {
        let rti = Rti::start();
        let mut vehicle = Vehicle::join(&rti, transport, Options::default());
        rti.evict(1);
        let fault = "the RTI has ended the session: evicted by the operator";
        assert_eq!(vehicle.federate.evoke(Span::MAX).unwrap(), Some(lost(fault)), "{transport:?}");
        let error = vehicle.federate.evoke(Span::MAX).unwrap_err();
        assert_eq!(error.to_string(), format!("the connection is lost: {fault}"), "{transport:?}");
    }
}

#[test]
fn every_transport_reports_that_the_rti_stopped() {
    for transport in Transport::ALL {
        let rti = Rti::start();
        let mut options = Options::default();
        options.session.resume_window = Span::from_millis(300);
        options.session.retry_every = Span::from_millis(50);
        let mut vehicle = Vehicle::join(&rti, transport, options);
        drop(rti);
        let lost = lost("the RTI has ended the session: the RTI stops");
        assert_eq!(vehicle.federate.evoke(Span::MAX).unwrap(), Some(lost), "{transport:?}");
        assert!(vehicle.federate.evoke(Span::MAX).unwrap_err().is_lost(), "{transport:?}");
        assert!(vehicle.federate.query_logical_time().unwrap_err().is_lost(), "{transport:?}");
    }
}

#[test]
fn the_death_of_an_rti_in_another_process_is_noticed_at_once() {
    let mut rti = RtiProcess::start();
    let patient = Options { connect_timeout: Span::from_millis(20_000), ..Options::default() };
    let mut federate = Federate::connect(&rti.address, patient).unwrap();
    federate.list_federation_executions().unwrap();
    let report = federate.evoke(Span::MAX).unwrap();
    assert_eq!(report, Some(Callback::ReportFederationExecutions { report: Vec::new() }));
    let waiting = thread::spawn(move || federate.evoke(Span::MAX).unwrap_err());
    rti.kill();
    // With a live RTI, the session could be resumed for ten minutes.
    assert!(matches!(waiting.join().unwrap(), Error::Lost(End::Unreachable)));
}

#[test]
fn a_pipelined_federate_can_wait_for_a_reply() {
    for transport in Transport::ALL {
        let rti = Rti::start();
        let mut vehicle = Vehicle::join(&rti, transport, Options::default());
        let instance = vehicle.publish();
        let mut update = |object_instance| {
            vehicle.federate.call(ObjectCall::UpdateAttributeValues {
                object_instance,
                attribute_values: vec![vehicle.position.with(&HLAfloat64BE(1.0))],
                user_supplied_tag: "".into(),
            })
        };
        assert_eq!(update(instance).unwrap(), Reply::Done);
        let error = update(ObjectInstanceHandle::new(99)).unwrap_err();
        assert!(matches!(error, Error::Exception { call: "UpdateAttributeValues", .. }), "{error}");
        vehicle.leave();
    }
}

#[test]
fn a_restarted_federate_ends_its_earlier_session_and_takes_its_name() {
    let rti = Rti::start();
    for transport in [Transport::Tcp, Transport::SharedMemory] {
        let federation = format!("{transport:?}");
        let join = |options: Options| {
            let mut federate = rti.connect(transport, options);
            let time = TimeImplementation::Integer64;
            let _ = federate.create_federation_execution(&federation, &[road()], time);
            let joining = Joining::new("Vehicle", &*federation).named("Phoenix");
            federate.join_federation_execution(joining).map(|_| federate)
        };
        let first = join(Options::default()).unwrap();
        let error = join(Options::default()).unwrap_err();
        assert_eq!(error.exception(), Some(Exception::FederateNameAlreadyInUse), "{error}");
        let secret = first.session().secret();
        let replaces = SessionId::from_secret(&secret);
        let resume_window = Some(Span::from_millis(2000));
        // The first federate has not noticed anything; its connection is still open.
        join(Options { replaces, resume_window, ..Options::default() }).unwrap();
        drop(first);
    }
}
