//! The kernel objects of one run of one variant, and what each process gets of them.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use hemiola_bus::{Channel, End, Handle, Receiver, Receivers, Sender, Spec};
use hemiola_rt::shared::{Segment, SegmentKind};
use hemiola_scenario::{Process, Variant};
use hemiola_simplex::SLOTS;
use hemiola_units::{Delivery, Endpoint};

use crate::RunError;
use crate::audience::{self, SEATS_SIZE};
use crate::card::{REGISTER_SIZE, Registers as Descriptors};
use crate::node::STOP_SIZE;
use crate::run::Context;
use crate::sandboxed::{Lines, ORDER_SIZE, ORDERS_MAX, REPORT_SIZE};
use crate::spec::Port;
use crate::status::{REPLY_SIZE, REQUEST_SIZE, REQUESTS_MAX, STATUS_SIZE};
use crate::tasks::{Equipment, IoFacts};

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

/// The channels between runner, I/O process, decision module and units.
pub(crate) struct Supervision {
    /// Where the unit of each slot answers.
    pub(crate) slots: Vec<Channel>,
    /// Where the unit of each slot reads the sensors: a segment of its own, so that no unit can act on what another one
    /// waits for.
    pub(crate) sensors: Vec<Channel>,
    seats: Channel,
    seat_sender: Box<dyn Sender>,
    /// A bit for each slot whose process reads the sensors.
    seated: u8,
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
            let made = made.with_receivers(receivers(variant, &channel.name));
            channels.push((channel.name.clone(), made));
        }
        let shared =
            |name: &str, delivery, size| make(Endpoint::SharedMemory(name.into()), delivery, size);
        let stop = shared("stop", Delivery::Latest, STOP_SIZE)?;
        let stop_sender = hemiola_bus::open_sender(&stop.handle()).map_err(RunError::channel)?;
        let supervision =
            variant.decision.is_some().then(|| Supervision::create(&shared)).transpose()?;
        let registers =
            if context.plan.plant.is_some() { Some(Registers::create()?) } else { None };
        Ok(Self { channels, stop, stop_sender, farewell: Vec::new(), registers, supervision })
    }

    /// Tells every process that the run is over, and wakes those that wait on a channel by a message that has no
    /// meaning. The channels' own senders have ended by now, or wait themselves.
    pub(crate) fn stop(&mut self) {
        let told = self.stop_sender.send(&[1; STOP_SIZE]);
        told.expect("a latest-value channel in memory takes its own size");
        let units = self.supervision.iter().flat_map(|supervision| &supervision.sensors);
        for channel in self.channels.iter().map(|(_, channel)| channel).chain(units) {
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

    /// The sensors of the unit in a slot, recorded as the channel of this name.
    pub(crate) fn sensors_of(&self, slot: u8, name: &str) -> Option<Port> {
        let channel = self.supervision.as_ref()?.sensors.get(usize::from(slot))?;
        Some(Port { handle: channel.handle(), ..self.port(name)? })
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

    /// The card's registers for the process that does I/O, and the units that it writes the sensors for.
    pub(crate) fn io_side(&self) -> Equipment<'_> {
        let registers = self.card();
        let card = [registers.inputs_read.as_fd(), registers.outputs.fd()];
        let audience = self.supervision.as_ref().map(Supervision::audience);
        let facts = IoFacts { card: Descriptors::of(card), audience };
        let units = self.supervision.iter().flat_map(Supervision::audience_descriptors);
        Equipment::new(&facts, card.into_iter().chain(units))
    }

    /// The card's registers for the plant.
    pub(crate) fn plant_side(&self) -> Equipment<'_> {
        let registers = self.card();
        let card = [registers.inputs.fd(), registers.outputs_read.as_fd()];
        Equipment::new(&Descriptors::of(card), card)
    }

    fn card(&self) -> &Registers {
        self.registers.as_ref().expect("a variant with a card has a plant")
    }
}

/// How many processes receive from a channel of the scenario: the decision process tells when it sleeps, where it is
/// the only one beside the units, which have channels of their own.
fn receivers(variant: &Variant, channel: &str) -> Receivers {
    let receives = |process: &&Process| process.receives.iter().any(|name| name == channel);
    let sole = variant.processes.iter().filter(receives).count() == 1;
    let sensors = variant.sensors().is_some_and(|sensors| sensors.name == channel);
    if sole && sensors { Receivers::OneThatTells } else { Receivers::Any }
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
        let each = |name: &str, size| {
            let one = |slot| shared(&format!("{name}-{slot}"), Delivery::Latest, size);
            (0..SLOTS).map(one).collect::<Result<Vec<_>, _>>()
        };
        let to = |receivers| move |channel: Channel| channel.with_receivers(receivers);
        let slots = each("slot", hemiola_simplex::Command::SIZE)?;
        let slots = slots.into_iter().map(to(Receivers::OneThatTells)).collect();
        let sensors = each("sensors", hemiola_simplex::Sensors::SIZE)?;
        let sensors = sensors.into_iter().map(to(Receivers::One)).collect();
        let seats = shared("seats", Delivery::Latest, SEATS_SIZE)?;
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
            seat_sender: hemiola_bus::open_sender(&seats.handle()).map_err(RunError::channel)?,
            slots,
            sensors,
            seats,
            seated: 0,
            requests,
            replies,
            status,
        })
    }

    /// Makes the channels of a slot sound and empty for a new process.
    pub(crate) fn renew(&self, slot: u8) {
        self.slots[usize::from(slot)].renew();
        self.sensors[usize::from(slot)].renew();
    }

    /// A slot has a process: the I/O process publishes the sensors to it.
    pub(crate) fn seat(&mut self, slot: u8) {
        self.announce_seats(self.seated | 1 << slot);
    }

    /// The process of a slot has ended, with all that it started.
    pub(crate) fn unseat(&mut self, slot: u8) {
        self.announce_seats(self.seated & !(1 << slot));
    }

    fn announce_seats(&mut self, seated: u8) {
        self.seated = seated;
        let told = self.seat_sender.send(&[seated]);
        told.expect("a latest-value channel in memory takes its own size");
    }

    /// Where the I/O process writes the sensors for units.
    fn audience(&self) -> audience::Lines {
        let sensors = self.sensors.iter().map(Channel::handle).collect();
        audience::Lines { sensors, seats: self.seats.handle() }
    }

    /// The descriptors that the I/O process inherits.
    fn audience_descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let sent = self.sensors.iter().filter_map(|channel| channel.descriptor(End::Sender));
        sent.chain(self.seats.descriptor(End::Receiver))
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
