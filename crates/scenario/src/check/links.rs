//! Checks of channels: their writers, their readers, and whether the mechanism supports both.

use std::collections::BTreeMap;
use std::ops::Range;

use hemiola_units::{Delivery, Endpoint};

use super::Checker;
use super::process::{Written, ports};
use crate::document::At;
use crate::keys::{ChannelKeys, VariantKeys};
use crate::plan::{Channel, Message, Task};
use hemiola_diagnostic::Problem;

/// A channel, and the places of its name and endpoint in the source.
struct WrittenChannel {
    channel: Channel,
    name_at: Range<usize>,
    endpoint_at: Range<usize>,
}

/// One end of a channel.
struct End<'w> {
    process: &'w str,
    at: &'w Range<usize>,
}

impl Checker<'_> {
    /// Reads the channels of a variant and checks them against its processes. Missing readers and writers are
    /// reported only if `complete`: all processes could be read.
    pub(super) fn channels(
        &mut self,
        keys: &VariantKeys<'_>,
        written: &[Written<'_>],
        complete: bool,
        has_units: bool,
    ) -> Vec<Channel> {
        let declared = keys.channels.items();
        let channels: Vec<WrittenChannel> =
            declared.iter().filter_map(|(name, keys)| self.channel(name, keys)).collect();
        self.no_endpoint_twice(&channels);
        let names: Vec<&str> = declared.iter().map(|(name, _)| name.value).collect();
        for process in written {
            self.references(process, &names);
        }
        // A misspelt end is reported as unknown, not as missing too.
        let spelt = |ends: &[At<&str>]| ends.iter().all(|end| names.contains(&end.value));
        let known = complete && written.iter().all(|process| process.ends_known);
        let writers_known = known && written.iter().all(|process| spelt(&process.sends));
        let readers_known = known && written.iter().all(|process| spelt(&process.receives));
        for channel in &channels {
            self.ends(channel, written, writers_known, readers_known);
            if has_units {
                self.units_can_read(channel, written);
            }
        }
        channels.into_iter().map(|channel| channel.channel).collect()
    }

    fn channel(&mut self, name: &At<&str>, keys: &ChannelKeys<'_>) -> Option<WrittenChannel> {
        let message = match (keys.message.get(), name.value) {
            (Some(message), _) => *message,
            (None, _) if keys.message.is_present => return None,
            (None, "sensors") => Message::Sensors,
            (None, "command") => Message::Command,
            _ => {
                self.wrong(
                    &name.at,
                    format!("the message type of channel \"{}\" is unknown", name.value),
                    "write message = \"sensors\" or message = \"command\"",
                );
                return None;
            }
        };
        let endpoint = keys.endpoint.stated.clone()?;
        let channel = Channel {
            name: name.value.into(),
            endpoint: endpoint.value,
            delivery: *keys.delivery.get()?,
            message,
        };
        Some(WrittenChannel { channel, name_at: name.at.clone(), endpoint_at: endpoint.at })
    }

    fn no_endpoint_twice(&mut self, channels: &[WrittenChannel]) {
        let mut owners: BTreeMap<&Endpoint, &str> = BTreeMap::new();
        for written in channels {
            let Channel { name, endpoint, .. } = &written.channel;
            if let Some(owner) = owners.insert(endpoint, name) {
                self.wrong(
                    &written.endpoint_at,
                    format!("the endpoint {endpoint} is already used by \"{owner}\""),
                    "give each channel of a variant its own endpoint",
                );
            }
        }
    }

    /// Checks the channels that a process states against those that its task needs.
    fn references(&mut self, process: &Written<'_>, names: &[&str]) {
        let Some((receives, sends)) = ports(&process.process.task) else { return };
        for (verb, ends, message) in
            [("receives", &process.receives, receives), ("sends", &process.sends, sends)]
        {
            for end in ends.iter().filter(|end| !names.contains(&end.value)) {
                self.no_such("channel", end, names.iter().copied());
            }
            let word = process.process.task.word();
            if ends.is_empty() && process.ends_known {
                self.wrong(
                    &process.name_at,
                    format!("\"{}\" needs \"{verb}\"", process.process.name),
                    format!("the task {word} {verb} {message}: {verb} = [\"{message}\"]"),
                );
            }
            for extra in ends.iter().skip(1) {
                self.wrong(
                    &extra.at,
                    format!("\"{}\" has more than one channel in \"{verb}\"", process.process.name),
                    format!("the task {word} {verb} {message}, over one channel"),
                );
            }
        }
    }

    fn ends(
        &mut self,
        written: &WrittenChannel,
        all: &[Written<'_>],
        writers_known: bool,
        readers_known: bool,
    ) {
        let Channel { name, endpoint, delivery, message } = &written.channel;
        let (mut writers, mut readers) = (Vec::new(), Vec::new());
        for process in all {
            let Some((receives, sends)) = ports(&process.process.task) else { continue };
            let sides = [
                (&mut readers, &process.receives, receives, "receives"),
                (&mut writers, &process.sends, sends, "sends"),
            ];
            for (found, ends, expected, verb) in sides {
                let Some(end) = ends.iter().find(|end| end.value == name) else { continue };
                found.push(End { process: &process.process.name, at: &end.at });
                if expected != *message {
                    let own = &process.process.name;
                    self.wrong(
                        &end.at,
                        format!("\"{own}\" {verb} {expected}, but \"{name}\" carries {message}"),
                        format!("the task {} {verb} {expected}", process.process.task.word()),
                    );
                }
            }
        }
        let sides = [
            (&writers, writers_known, "writer", "sends"),
            (&readers, readers_known, "reader", "receives"),
        ];
        for (_, _, what, key) in
            sides.into_iter().filter(|(found, known, ..)| *known && found.is_empty())
        {
            self.wrong(
                &written.name_at,
                format!("channel \"{name}\" has no {what}"),
                format!("name it in a process: {key} = [\"{name}\"]"),
            );
        }
        if let [first, others @ ..] = &writers[..] {
            let channel = match delivery {
                Delivery::Latest => "a latest value",
                Delivery::Queue(_) => "a queue",
            };
            for other in others {
                self.problem(
                    Problem::new(
                        other.at.clone(),
                        format!(
                            "\"{}\" and \"{}\" both write \"{name}\", but {channel} has one writer",
                            first.process, other.process
                        ),
                    )
                    .label("second writer")
                    .hint("give each writer its own channel"),
                );
            }
        }
        // A latest value in shared memory and a topic have any number of readers. A queue has one, which empties it.
        let many = match (endpoint, delivery) {
            (Endpoint::PubSub(_), _) => true,
            (Endpoint::SharedMemory(_), delivery) => *delivery == Delivery::Latest,
            (Endpoint::MessageQueue(_) | Endpoint::Local(_), _) => false,
        };
        if let ([first, others @ ..], false) = (&readers[..], many) {
            for other in others {
                let (first, second) = (first.process, other.process);
                let message = format!(
                    "\"{first}\" and \"{second}\" both read \"{name}\", but each message reaches only one reader"
                );
                self.problem(
                    Problem::new(other.at.clone(), message)
                        .label("second reader")
                        .hint("use shm: with delivery = \"latest\", or pubsub:"),
                );
            }
        }
        if let Endpoint::Local(_) = endpoint {
            self.wrong(
                &written.endpoint_at,
                format!(
                    "{endpoint} works within one process only, but \"{name}\" connects several"
                ),
                "use shm:, mq: or pubsub:",
            );
        }
    }

    /// Checks that units can read the sensors of the decision process through their own mapping.
    fn units_can_read(&mut self, written: &WrittenChannel, all: &[Written<'_>]) {
        let Channel { name, endpoint, delivery, .. } = &written.channel;
        let is_read_by_units = all.iter().any(|process| {
            process.process.task == Task::Decision && process.process.receives.first() == Some(name)
        });
        let readable =
            matches!((endpoint, delivery), (Endpoint::SharedMemory(_), Delivery::Latest));
        if is_read_by_units && !readable {
            self.wrong(
                &written.endpoint_at,
                format!("units cannot read \"{name}\" through {endpoint}"),
                format!(
                    "units map it read-only: endpoint = \"shm:{}\", delivery = \"latest\"",
                    endpoint.name()
                ),
            );
        }
    }
}
