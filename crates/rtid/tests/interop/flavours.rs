//! Four clients with different encodings of the same calls: C++ and Java, HLA 4 and HLA Evolved, in one federation.

use super::model::{EVOLVED, HLA_4, as_archive, as_file};
use super::notation::unicode;
use super::rti;
use super::wire::Wire;
use crate::peer::Rti;

/// The encoding that a client uses.
struct Flavour {
    name: &'static str,
    /// Lines of settings, after those that the client evaluates itself.
    settings: &'static str,
    /// Its object model module.
    module: fn() -> String,
    /// The name of the time implementation that it sends when the federate names none.
    time: &'static str,
    resign_action: u32,
}

const ANN: Flavour = Flavour {
    name: "Ann of C++, HLA 4",
    settings: "",
    module: || as_file("models/Room-4.xml", HLA_4),
    time: "",
    resign_action: 4,
};

const BOB: Flavour = Flavour {
    name: "Bob of Java, HLA Evolved",
    settings: "API.version=IEEE 1516-2010\n",
    module: || as_archive("Room-e.xml", EVOLVED),
    time: "HLAfloat64Time",
    resign_action: 3,
};

const CID: Flavour = Flavour {
    name: "Cid of C++, HLA Evolved",
    settings: "API.version=IEEE 1516-2010\n",
    module: || as_file("/models/Room-e.xml", EVOLVED),
    time: "",
    resign_action: 3,
};

const DEE: Flavour = Flavour {
    name: "Dee of Java, HLA 4",
    settings: "",
    module: || as_archive("Room-4.xml", HLA_4),
    time: "",
    resign_action: 4,
};

/// Whether a client learns who produced what it receives. The models do not say that one of HLA Evolved does.
fn has_producer(flavour: &Flavour) -> bool {
    flavour.settings.is_empty()
}

fn producer_field(has_producer: bool, field: u32, producer: &str) -> String {
    if has_producer { format!("@{field}[@1[{producer}]]") } else { format!("@{field}[]") }
}

fn discovery(of: &Guest, has_producer: bool) -> String {
    let Guest { flavour, federate, class, guest, .. } = of;
    let producer = producer_field(has_producer, 4, federate);
    format!("@30[@1[@1[{guest}]] @2[@1[{class}]] @3['{}'] {producer}]", flavour.name)
}

fn reflection(of: &Guest, has_producer: bool) -> String {
    let producer = producer_field(has_producer, 5, &of.federate);
    format!("@31[@1[@1[{}]] @2[{}] @4[@1[00000001]] {producer}]", of.guest, of.value())
}

/// A participant of the chat.
struct Guest {
    wire: Wire,
    flavour: Flavour,
    federate: String,
    class: String,
    attribute: String,
    interaction: String,
    parameter: String,
    /// Its own instance.
    guest: String,
}

impl Guest {
    /// Makes all calls of a chat client up to the first message.
    fn enter(rti: &Rti, flavour: Flavour, others: &mut [Self]) -> Self {
        let mut wire = Wire::open(rti.address);
        let settings = flavour.settings;
        let configuration = match settings {
            "" => "@3[@1[]]".into(),
            settings => format!("@3[@1[@3['{settings}']]]"),
        };
        wire.call(&configuration);
        wire.configured(3);
        wire.call("@12[@1['Room']]");
        let exception = if others.is_empty() {
            "FederationExecutionDoesNotExist"
        } else {
            "FederatesCurrentlyJoined"
        };
        wire.raises(exception);
        let modules = format!("@1[{}]", (flavour.module)());
        let time = match flavour.time {
            "" => String::new(),
            time => format!("@3['{time}']"),
        };
        wire.call(&format!("@9[@1['Room'] @2[{modules}] {time}]"));
        if others.is_empty() {
            wire.reply::<0>("@10[]");
        } else {
            wire.raises("FederationExecutionAlreadyExists");
        }
        let [federate] = wire.ask(
            &format!("@16[@1['Chat'] @2['Room'] @3[{modules}]]"),
            "@17[@1[@1[@1[?4]] @2['HLAfloat64Time']]]",
        );
        let interaction = wire.handle(135, "@1['Talk']", 4);
        let parameter = wire.handle(137, &format!("@1[@1[{interaction}]] @2['Words']"), 4);
        let class = wire.handle(126, "@1['Guest']", 4);
        let attribute = wire.handle(131, &format!("@1[@1[{class}]] @2['Name']"), 4);
        if settings.is_empty() {
            let directed = format!("@1[@1[{class}]] @2[@1[@1[{interaction}]]]");
            wire.done(52, &directed);
            wire.done(40, &directed);
        }
        wire.done(49, &format!("@1[@1[{interaction}]]"));
        wire.done(38, &format!("@1[@1[{interaction}]]"));
        let attributes = format!("@1[@1[{class}]] @2[@1[@1[{attribute}]]]");
        wire.done(43, &attributes);
        for other in &mut *others {
            wire.callback::<0>(&discovery(other, has_producer(&flavour)));
        }
        wire.done(35, &attributes);
        let name = flavour.name;
        let mut guest = Self {
            wire,
            flavour,
            federate,
            class,
            attribute,
            interaction,
            parameter,
            guest: String::new(),
        };
        // The handler of a discovery requests an update before it returns, and all subscribers receive the update.
        for asked in 0..others.len() {
            let of = format!("@1[@1[{}]] @2[@1[@1[{}]]]", others[asked].guest, guest.attribute);
            guest.wire.done(71, &of);
            others[asked].wire.take::<0>(&format!("@41[{of}]"));
            others[asked].update();
            let reflected =
                [false, true].map(|has_producer| reflection(&others[asked], has_producer));
            let of = |flavour: &Flavour| &reflected[usize::from(has_producer(flavour))];
            for (number, other) in others.iter_mut().enumerate() {
                if number != asked {
                    other.wire.take::<0>(of(&other.flavour));
                }
            }
            guest.wire.taken();
            guest.wire.take::<0>(of(&guest.flavour));
        }
        guest.wire.done(56, &format!("@1['{name}']"));
        guest.wire.take::<0>(&format!("@26[@1['{name}']]"));
        guest.guest = guest.wire.handle(61, &format!("@1[@1[{}]] @2['{name}']", guest.class), 8);
        guest.update();
        for other in &mut *others {
            let has_producer = has_producer(&other.flavour);
            other.wire.take::<0>(&discovery(&guest, has_producer));
            other.wire.take::<0>(&reflection(&guest, has_producer));
        }
        guest
    }

    fn value(&self) -> String {
        format!("@1[@1[@1[{}]] @2[{}]]", self.attribute, unicode(self.flavour.name))
    }

    fn update(&mut self) {
        self.wire.done(62, &format!("@1[@1[{}]] @2[{}]", self.guest, self.value()));
    }

    /// The field that tells this federate who produced something; no handle for one of HLA Evolved.
    fn producer(&self, field: u32, producer: &Self) -> String {
        producer_field(has_producer(&self.flavour), field, &producer.federate)
    }

    fn words(&self, words: &str) -> String {
        format!("@1[@1[@1[{}]] @2[{}]]", self.parameter, unicode(words))
    }

    fn say(&mut self, words: &str, others: &mut [&mut Self]) {
        let (interaction, values) = (self.interaction.clone(), self.words(words));
        self.wire.done(64, &format!("@1[@1[{interaction}]] @2[{values}]"));
        for other in others {
            let from = other.producer(5, self);
            let transport = "@4[@1[00000001]]";
            other
                .wire
                .take::<0>(&format!("@33[@1[@1[{interaction}]] @2[{values}] {transport} {from}]"));
        }
    }

    fn whisper(&mut self, words: &str, to: &mut Self) {
        let (interaction, values) = (self.interaction.clone(), self.words(words));
        let what = format!("@1[@1[{interaction}]] @2[@1[{}]] @3[{values}]", to.guest);
        self.wire.done(66, &what);
        let from = to.producer(6, self);
        to.wire.take::<0>(&format!("@35[{what} @5[@1[00000001]] {from}]"));
    }

    fn leave(mut self, others: &mut [Self]) {
        self.wire.done(19, &format!("=1:{}", self.flavour.resign_action));
        for other in &mut *others {
            let (guest, producer) = (&self.guest, other.producer(3, &self));
            other.wire.take::<0>(&format!("@37[@1[@1[{guest}]] {producer}]"));
        }
        self.wire.call("@12[@1['Room']]");
        if others.is_empty() {
            self.wire.reply::<0>("@13[]");
        } else {
            self.wire.raises("FederatesCurrentlyJoined");
        }
        self.wire.done(5, "");
        self.wire.terminate();
    }
}

#[test]
fn clients_of_two_languages_and_two_editions_chat_in_one_federation() {
    let rti = rti();
    let mut guests = Vec::new();
    for flavour in [ANN, BOB, CID, DEE] {
        let guest = Guest::enter(&rti, flavour, &mut guests);
        guests.push(guest);
    }
    let [ann, bob, cid, dee] = &mut guests[..] else { unreachable!("four guests entered") };
    ann.say("Grüß Gott", &mut [&mut *bob, &mut *cid, &mut *dee]);
    bob.say("hello", &mut [&mut *ann, &mut *cid, &mut *dee]);
    cid.say("", &mut [&mut *ann, &mut *bob, &mut *dee]);
    dee.say("🜚", &mut [&mut *ann, &mut *bob, &mut *cid]);
    ann.whisper("not for all", dee);
    dee.whisper("nor this", ann);
    while !guests.is_empty() {
        let guest = guests.remove(0);
        guest.leave(&mut guests);
    }
}
