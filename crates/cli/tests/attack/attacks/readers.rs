//! Viewers that read slowly what a flooder publishes in the healthy federation.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use hemiola_federate::Options;
use hemiola_hla::Reply;
use hemiola_hla::call::{DeclarationCall, SupportCall};

use super::super::federation::{HEALTHY, Member, VALUE};
use super::super::raw::Raw;
use super::{Outcome, Target, text};

/// How long the flood lasts.
const FLOOD: Duration = Duration::from_secs(6);

/// Bytes of a value in the flood.
const VALUE_LEN: usize = 1024;

/// How often the viewer reads.
const READ_EVERY: Duration = Duration::from_millis(10);

/// A viewer subscribes to the healthy federate and to a flood, and reads this many bytes a second.
pub(super) fn slow(to: &Target, class: &'static str, bytes_per_s: usize) -> Outcome {
    let mut flooder = Member::join(&to.rti, HEALTHY, class, Options::default()).map_err(text)?;
    let object = flooder.register().map_err(text)?;
    let mut viewer = Raw::join(&to.rti, HEALTHY)?;
    for class in ["Body", class] {
        subscribe(&mut viewer, class)?;
    }
    let until = Instant::now() + to.time(FLOOD);
    let sent = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&sent);
    let flood = std::thread::spawn(move || {
        let values = [(flooder.value, vec![7; VALUE_LEN].into())];
        loop {
            if let Err(error) = flooder.federate.update_attribute_values(object, &values, "") {
                return error.to_string();
            }
            count.fetch_add(1, Ordering::Relaxed);
        }
    });
    let began = Instant::now();
    let mut read = 0;
    while Instant::now() < until && !viewer.is_closed() {
        let due = (began.elapsed().as_secs_f64() * bytes_per_s as f64) as usize;
        if due > read {
            read += viewer.read(due - read);
            viewer.write();
        }
        std::thread::sleep(READ_EVERY);
    }
    // The viewer may be ended, but not one who publishes to it.
    if flood.is_finished() {
        let reason = flood.join().unwrap_or_default();
        return Err(format!("the flood ends: {reason}"));
    }
    let end = if viewer.is_closed() { "was ended" } else { "stayed" };
    let sent = sent.load(Ordering::Relaxed);
    if sent == 0 {
        return Err("the flooder sends nothing".into());
    }
    Ok(format!(
        "flood of {} MiB, viewer read {} KiB and {end}",
        (sent * VALUE_LEN as u64) >> 20,
        read >> 10
    ))
}

fn subscribe(viewer: &mut Raw, class: &str) -> Result<(), &'static str> {
    let object_class_name = format!("HLAobjectRoot.{class}");
    let Reply::ObjectClass(object_class) =
        viewer.ask(SupportCall::GetObjectClassHandle { object_class_name })?
    else {
        return Err("it names no class");
    };
    let attribute_name = VALUE.into();
    let Reply::Attribute(attribute) =
        viewer.ask(SupportCall::GetAttributeHandle { object_class, attribute_name })?
    else {
        return Err("it names no attribute");
    };
    let attributes = vec![attribute];
    viewer.ask(DeclarationCall::SubscribeObjectClassAttributes { object_class, attributes })?;
    Ok(())
}
