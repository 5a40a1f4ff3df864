//! Large object models.

use std::fmt::Write;
use std::time::{Duration, Instant};

use hemiola_federate::{Error, Federate, Options};
use hemiola_hla::call::FederationCall;
use hemiola_hla::data::FomModule;

use super::super::federation::create;
use super::super::raw::Raw;
use super::super::zip;
use super::{Outcome, Target, made, text};

/// The largest module that fits into a frame of the protocol.
const MODULE_LEN: usize = 15_800_000;

/// How long the sender waits for answers.
const ANSWERS_MAX: Duration = Duration::from_secs(18);

const HEAD: &str = r#"<objectModel xmlns="http://standards.ieee.org/IEEE1516-2025">
  <objects><objectClass><name>HLAobjectRoot</name>"#;

/// Returns a module with this many object classes.
fn classes_named(prefix: &str, count: usize) -> String {
    let mut text = String::from(HEAD);
    for number in 0..count {
        let _ = write!(text, "<objectClass><name>{prefix}{number}</name></objectClass>");
    }
    text + "</objectClass></objects></objectModel>"
}

fn file(content: String) -> FomModule {
    FomModule::File { name: "Large.xml".into(), content: content.into() }
}

/// Ten sessions each send ten creates with modules of 15.8 MB, without waiting for the answers; one in the short form.
pub(super) fn large_creates(to: &Target) -> Outcome {
    let class = "<objectClass><name>C123456</name></objectClass>".len();
    let module = classes_named("C", to.count(MODULE_LEN / class));
    let (sessions, creates) = (10, to.count(10));
    let mut all: Vec<(Raw, Vec<_>)> = Vec::new();
    for session in 0..sessions {
        let mut raw = Raw::connect(&to.rti)?;
        let tickets = (0..creates).filter_map(|number| {
            raw.send(FederationCall::CreateFederationExecution {
                federation_name: format!("Large {session} {number}"),
                fom_module: file(module.clone()),
            })
        });
        let tickets = tickets.collect();
        all.push((raw, tickets));
    }
    let until = Instant::now() + ANSWERS_MAX;
    let mut answered = 0;
    while answered < sessions * creates && Instant::now() < until {
        let mut moved = 0;
        for (raw, tickets) in &mut all {
            moved += raw.write() + raw.read(1 << 16);
            let before = tickets.len();
            tickets.retain(|ticket| raw.take_answer(*ticket).is_none());
            answered += before - tickets.len();
        }
        if all.iter().all(|(raw, _)| raw.is_closed()) {
            break;
        }
        if moved == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    if answered == 0 {
        return Err("none of the creates is answered".into());
    }
    let ended = all.iter().filter(|(raw, _)| raw.is_closed()).count();
    Ok(format!("{answered} of {} answered, {ended} sessions ended", sessions * creates))
}

/// One federation whose module has 700,000 classes, in an archive that fits into one frame.
pub(super) fn classes(to: &Target) -> Outcome {
    let module = classes_named("C", to.count(700_000));
    let archive = zip::archive(1, module.as_bytes());
    let mut federate = Federate::connect(&to.rti, Options::default()).map_err(text)?;
    let call = FederationCall::CreateFederationExecution {
        federation_name: "Classes".into(),
        fom_module: FomModule::Compressed(archive.into()),
    };
    let began = Instant::now();
    let outcome = match federate.call(call) {
        Ok(_) => "created".to_owned(),
        Err(error) if error.exception().is_some() => error.to_string(),
        Err(error) => return Err(text(error)),
    };
    Ok(format!("{outcome} after {:.1} s", began.elapsed().as_secs_f64()))
}

/// Federates that join at once.
const JOINING: usize = 6;

/// Six federates join one federation at once, each with a module of 100,000 classes.
pub(super) fn joins(to: &Target) -> Outcome {
    let mut creator = Federate::connect(&to.rti, Options::default()).map_err(text)?;
    create(&mut creator, "Joined").map_err(text)?;
    let joining = (0..JOINING).map(|number| {
        let (address, module) =
            (to.rti.clone(), classes_named(&format!("J{number}x"), to.count(100_000)));
        std::thread::spawn(move || {
            let mut federate = Federate::connect(&address, Options::default())?;
            let call = FederationCall::JoinFederationExecutionWithModules {
                federate_type: "Large".into(),
                federation_name: "Joined".into(),
                additional_fom_modules: vec![file(module)],
            };
            federate.call(call)?;
            Ok::<_, Error>(federate)
        })
    });
    let joining: Vec<_> = joining.collect();
    let (mut joined, mut refusal) = (Vec::new(), None);
    for thread in joining {
        match thread.join().map_err(|_| "a thread panics")? {
            Ok(federate) => joined.push(federate),
            Err(error) if error.exception().is_some() => refusal = Some(text(error)),
            Err(error) => return Err(text(error)),
        }
    }
    let why = refusal.as_ref().map_or_else(String::new, |why| format!("; {why}"));
    made(joined.len(), JOINING, refusal.as_deref(), format!("{} joined{why}", joined.len()))
}
