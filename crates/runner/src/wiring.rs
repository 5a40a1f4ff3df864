//! The kernel objects of one run of one variant, and what each process is told of them.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use hemiola_bus::{Channel, End, Handle, Receiver, Sender, Spec};
use hemiola_plant::Settings;
use hemiola_rt::shared::{Segment, SegmentKind};
use hemiola_scenario::{Process, Variant};
use hemiola_simplex::SLOTS;
use hemiola_units::{Delivery, Endpoint, Span};

use crate::RunError;
use crate::card::REGISTER_SIZE;
use crate::node::{Port, STOP_SIZE};
use crate::run::Context;
use crate::status::{REPLY_SIZE, REQUEST_SIZE, REQUESTS_MAX, STATUS_SIZE};
use crate::tasks::CardWork;

/// Everything a variant's processes share. Dropping it removes it all.
pub(crate) struct Wiring {
    channels: Vec<(String, Channel)>,
    stop: Channel,
    stop_sender: Box<dyn Sender>,
    farewell: Vec<Box<dyn Sender>>,
    registers: Option<Registers>,
    pub(crate) supervision: Option<Supervision>,
}

/// The emulated card's registers, each with a read-only descriptor for the side that only reads.
struct Registers {
    inputs: Segment,
    inputs_read: OwnedFd,
    outputs: Segment,
    outputs_read: OwnedFd,
}

/// The lines between runner, decision module and units.
pub(crate) struct Supervision {
    pub(crate) slots: Vec<Channel>,
    pub(crate) requests: Channel,
    pub(crate) replies: Channel,
    pub(crate) status: Channel,
    pub(crate) request_sender: Box<dyn Sender>,
    pub(crate) reply_receiver: Box<dyn Receiver>,
    pub(crate) status_receiver: Box<dyn Receiver>,
}

impl Wiring {
    pub(crate) fn create(context: &Context<'_>, variant: &Variant) -> Result<Self, RunError> {
        let make = |endpoint: Endpoint, delivery, size| {
            let run = context.id.as_str().to_owned();
            Channel::create(&Spec { endpoint, delivery, message_size: size, run })
                .map_err(RunError::channel)
        };
        let mut channels = Vec::new();
        for channel in &variant.channels {
            let made = make(channel.endpoint.clone(), channel.delivery, channel.message.size())?;
            channels.push((channel.name.clone(), made));
        }
        let shared =
            |name: &str, delivery, size| make(Endpoint::SharedMemory(name.into()), delivery, size);
        let stop = shared("stop", Delivery::Latest, STOP_SIZE)?;
        let stop_sender = hemiola_bus::open_sender(&stop.handle()).map_err(RunError::channel)?;
        let supervision =
            if variant.decision.is_some() { Some(Supervision::create(&shared)?) } else { None };
        let registers =
            if context.plan.plant.is_some() { Some(Registers::create()?) } else { None };
        Ok(Self { channels, stop, stop_sender, farewell: Vec::new(), registers, supervision })
    }

    /// Tells every process that the run is over, and wakes those that wait for a message: with one that is
    /// none. Their senders have ended by now, or wait themselves.
    pub(crate) fn stop(&mut self) {
        let told = self.stop_sender.send(&[1; STOP_SIZE]);
        told.expect("a latest-value channel in memory takes its own size");
        for (_, channel) in &self.channels {
            if let Ok(mut sender) = hemiola_bus::open_sender(&channel.handle()) {
                // A full queue needs no further message to wake its receiver.
                let _ = sender.send(&[0]);
                // Kept: what a sender of iceoryx2 sent goes with it.
                self.farewell.push(sender);
            }
        }
    }

    pub(crate) fn stop_handle(&self) -> Handle {
        self.stop.handle()
    }

    /// The one outgoing channel of a process.
    pub(crate) fn sends(&self, process: &Process) -> Option<Port> {
        self.port(process.sends.first()?)
    }

    /// The one incoming channel of a process.
    pub(crate) fn receives(&self, process: &Process) -> Option<Port> {
        self.port(process.receives.first()?)
    }

    /// A channel by its name in the scenario.
    pub(crate) fn port(&self, name: &str) -> Option<Port> {
        let index = self.channels.iter().position(|(known, _)| known == name)?;
        Some(Port { index: index as u16, handle: self.channels[index].1.handle() })
    }

    pub(crate) fn channel(&self, name: &str) -> Option<&Channel> {
        self.channels.iter().find(|(known, _)| known == name).map(|(_, channel)| channel)
    }

    /// The descriptors that a process which sends and receives like this must inherit, and no more: who only
    /// reads a value gets a descriptor that only reads.
    pub(crate) fn descriptors(&self, sends: &[String], receives: &[String]) -> Vec<BorrowedFd<'_>> {
        let end = |name: &String, end| self.channel(name)?.descriptor(end);
        let senders = sends.iter().filter_map(|name| end(name, End::Sender));
        let receivers = receives.iter().filter_map(|name| end(name, End::Receiver));
        senders.chain(receivers).collect()
    }

    /// The descriptor of the stop channel, for the processes that are ours.
    pub(crate) fn stop_descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.stop.descriptor(End::Receiver)
    }

    /// The card as the I/O side has it.
    pub(crate) fn card(&self, conversion_time: Span) -> Option<(CardWork, [BorrowedFd<'_>; 2])> {
        let registers = self.registers.as_ref()?;
        let (inputs, outputs) = (registers.inputs_read.as_fd(), registers.outputs.fd());
        let work =
            CardWork { inputs: inputs.as_raw_fd(), outputs: outputs.as_raw_fd(), conversion_time };
        Some((work, [inputs, outputs]))
    }

    /// The card as the plant has it.
    pub(crate) fn plant_side(
        &self,
        settings: Settings,
        whole: Span,
    ) -> Option<(crate::tasks::PlantWork, [BorrowedFd<'_>; 2])> {
        /// Recording each step of a 1 ms plant would be most of the trace; ten shows the curve.
        const RECORD_EVERY: u64 = 10;
        let registers = self.registers.as_ref()?;
        let (inputs, outputs) = (registers.inputs.fd(), registers.outputs_read.as_fd());
        let steps_max = (whole.nanos() / settings.step.nanos().max(1)).max(0) as u64;
        let work = crate::tasks::PlantWork {
            settings,
            steps_max,
            inputs: inputs.as_raw_fd(),
            outputs: outputs.as_raw_fd(),
            record_every: RECORD_EVERY,
        };
        Some((work, [inputs, outputs]))
    }
}

impl Registers {
    fn create() -> Result<Self, RunError> {
        let register = |label| {
            Segment::create(label, SegmentKind::Latest, REGISTER_SIZE, 4).map_err(RunError::memory)
        };
        let (inputs, outputs) = (register("card-inputs")?, register("card-outputs")?);
        Ok(Self {
            inputs_read: inputs.reopen_read_only().map_err(RunError::memory)?,
            inputs,
            outputs_read: outputs.reopen_read_only().map_err(RunError::memory)?,
            outputs,
        })
    }
}

impl Supervision {
    fn create(
        shared: &dyn Fn(&str, Delivery, usize) -> Result<Channel, RunError>,
    ) -> Result<Self, RunError> {
        let queue = Delivery::Queue(REQUESTS_MAX.try_into().expect("more than none"));
        let slots = (0..SLOTS)
            .map(|slot| {
                shared(&format!("slot-{slot}"), Delivery::Latest, hemiola_simplex::Command::SIZE)
            })
            .collect::<Result<Vec<_>, _>>()?;
        let requests = shared("requests", queue, REQUEST_SIZE)?;
        let replies = shared("replies", queue, REPLY_SIZE)?;
        let status = shared("status", Delivery::Latest, STATUS_SIZE)?;
        Ok(Self {
            request_sender: hemiola_bus::open_sender(&requests.handle())
                .map_err(RunError::channel)?,
            reply_receiver: hemiola_bus::open_receiver(&replies.handle())
                .map_err(RunError::channel)?,
            status_receiver: hemiola_bus::open_receiver(&status.handle())
                .map_err(RunError::channel)?,
            slots,
            requests,
            replies,
            status,
        })
    }

    /// What the decision process must inherit.
    pub(crate) fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        let sent = [&self.replies, &self.status].map(|channel| channel.descriptor(End::Sender));
        let received = self
            .slots
            .iter()
            .chain([&self.requests])
            .map(|channel| channel.descriptor(End::Receiver));
        sent.into_iter().chain(received).flatten().collect()
    }
}
