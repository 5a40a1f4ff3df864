//! The kernel objects of one run of one variant, and what each process gets of them.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use hemiola_bus::{Channel, End, Handle, Receiver, Sender, Spec};
use hemiola_rt::shared::{Segment, SegmentKind};
use hemiola_scenario::Variant;
use hemiola_simplex::SLOTS;
use hemiola_units::{Delivery, Endpoint};

use crate::RunError;
use crate::card::{REGISTER_SIZE, Registers as Descriptors};
use crate::node::STOP_SIZE;
use crate::run::Context;
use crate::sandboxed::{Lines, ORDER_SIZE, ORDERS_MAX, REPORT_SIZE};
use crate::spec::Port;
use crate::status::{REPLY_SIZE, REQUEST_SIZE, REQUESTS_MAX, STATUS_SIZE};
use crate::tasks::Equipment;

/// All kernel objects that a variant's processes share. Dropping it removes them.
pub(crate) struct Wiring {
    channels: Vec<(String, Channel)>,
    stop: Channel,
    stop_sender: Box<dyn Sender>,
    /// Senders of the last messages; see [`Wiring::stop`].
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

/// The channels between runner, decision module and units.
pub(crate) struct Supervision {
    pub(crate) slots: Vec<Channel>,
    pub(crate) requests: Channel,
    pub(crate) replies: Channel,
    pub(crate) status: Channel,
    /// Channels of sandboxed units, where this build has the sandbox.
    pub(crate) sandbox: Option<Sandbox>,
    pub(crate) request_sender: Box<dyn Sender>,
    pub(crate) reply_receiver: Box<dyn Receiver>,
    pub(crate) status_receiver: Box<dyn Receiver>,
}

/// The channels to the thread that prepares sandboxed units.
pub(crate) struct Sandbox {
    orders: Channel,
    reports: Channel,
    pub(crate) order_sender: Box<dyn Sender>,
    pub(crate) report_receiver: Box<dyn Receiver>,
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

    /// Tells every process that the run is over, and wakes those that wait on a channel by a message that has no
    /// meaning. The channels' own senders have ended by now, or wait themselves.
    pub(crate) fn stop(&mut self) {
        let told = self.stop_sender.send(&[1; STOP_SIZE]);
        told.expect("a latest-value channel in memory takes its own size");
        for (_, channel) in &self.channels {
            if let Ok(mut sender) = hemiola_bus::open_sender(&channel.handle()) {
                // A full queue has woken its receiver already.
                let _ = sender.send(&[0]);
                // Kept: the messages of an iceoryx2 sender are removed with it.
                self.farewell.push(sender);
            }
        }
    }

    pub(crate) fn stop_handle(&self) -> Handle {
        self.stop.handle()
    }

    /// A channel by its name in the scenario.
    pub(crate) fn port(&self, name: &str) -> Option<Port> {
        let index = self.channels.iter().position(|(known, _)| known == name)?;
        Some(Port { index: index as u16, handle: self.channels[index].1.handle() })
    }

    pub(crate) fn channel(&self, name: &str) -> Option<&Channel> {
        self.channels.iter().find(|(known, _)| known == name).map(|(_, channel)| channel)
    }

    /// The descriptors that a process which sends and receives like this must inherit, and no more: a process that
    /// only reads a value gets a read-only descriptor.
    pub(crate) fn descriptors(&self, sends: &[String], receives: &[String]) -> Vec<BorrowedFd<'_>> {
        let end = |name: &String, end| self.channel(name)?.descriptor(end);
        let senders = sends.iter().filter_map(|name| end(name, End::Sender));
        let receivers = receives.iter().filter_map(|name| end(name, End::Receiver));
        senders.chain(receivers).collect()
    }

    /// The descriptor of the stop channel for a process of ours.
    pub(crate) fn stop_descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.stop.descriptor(End::Receiver)
    }

    /// The card's registers for the process that does I/O.
    pub(crate) fn io_side(&self) -> Equipment<'_> {
        self.card(|registers| [registers.inputs_read.as_fd(), registers.outputs.fd()])
    }

    /// The card's registers for the plant.
    pub(crate) fn plant_side(&self) -> Equipment<'_> {
        self.card(|registers| [registers.inputs.fd(), registers.outputs_read.as_fd()])
    }

    fn card(&self, side: impl Fn(&Registers) -> [BorrowedFd<'_>; 2]) -> Equipment<'_> {
        let registers = self.registers.as_ref().expect("a variant with a card has a plant");
        let descriptors = side(registers);
        let [inputs, outputs] = descriptors.map(|fd| fd.as_raw_fd());
        Equipment::new(&Descriptors { inputs, outputs }, descriptors)
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
            sandbox: hemiola_sandbox::IS_AVAILABLE.then(|| Sandbox::create(shared)).transpose()?,
            slots,
            requests,
            replies,
            status,
        })
    }

    /// The descriptors that the decision process inherits.
    pub(crate) fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        let sent = [&self.replies, &self.status].map(|channel| channel.descriptor(End::Sender));
        let received = self
            .slots
            .iter()
            .chain([&self.requests])
            .map(|channel| channel.descriptor(End::Receiver));
        let sandbox = self.sandbox.iter().flat_map(Sandbox::descriptors);
        sent.into_iter().chain(received).flatten().chain(sandbox).collect()
    }
}

impl Sandbox {
    fn create(
        shared: &dyn Fn(&str, Delivery, usize) -> Result<Channel, RunError>,
    ) -> Result<Self, RunError> {
        let queue = Delivery::Queue(ORDERS_MAX.try_into().expect("more than none"));
        let orders = shared("orders", queue, ORDER_SIZE)?;
        let reports = shared("reports", queue, REPORT_SIZE)?;
        Ok(Self {
            order_sender: hemiola_bus::open_sender(&orders.handle()).map_err(RunError::channel)?,
            report_receiver: hemiola_bus::open_receiver(&reports.handle())
                .map_err(RunError::channel)?,
            orders,
            reports,
        })
    }

    /// The ends of the decision process.
    pub(crate) fn lines(&self) -> Lines {
        Lines { orders: self.orders.handle(), reports: self.reports.handle() }
    }

    fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let ends = [self.orders.descriptor(End::Receiver), self.reports.descriptor(End::Sender)];
        ends.into_iter().flatten()
    }
}
