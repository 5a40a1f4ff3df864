//! `hemiola rti`: serves federations, and inspects and controls a running RTI.

mod ask;
mod credentials;
mod log;
mod metrics;
mod serve;
mod status;

use std::process::ExitCode;

use crate::args::{Rti, Rtis};
use crate::diagnostics::Failure;

pub(crate) fn rti(args: &Rti) -> Result<ExitCode, Failure> {
    match &args.action {
        None => serve::serve(&args.serve),
        Some(Rtis::Status(status)) => status::status(status),
        Some(Rtis::Metrics { address }) => {
            print!("{}", ask::ask(address.as_ref(), &ask::Question::Metrics)?);
            Ok(ExitCode::SUCCESS)
        }
        Some(Rtis::Evict { name, address }) => {
            ask::command(address.as_ref(), &ask::Question::Evict(name.clone()), "evicted")
        }
        Some(Rtis::Destroy { federation, address }) => {
            ask::command(address.as_ref(), &ask::Question::Destroy(federation.clone()), "destroyed")
        }
    }
}
