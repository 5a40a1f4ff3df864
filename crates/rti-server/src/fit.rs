//! The memory limit of an RTI, as far as the system allows it.

use hemiola_units::Bytes;

const MIB: u64 = 1 << 20;

/// The least memory limit of an RTI. A federation may be created with 2,000 classes, and update 1 MiB at once. Half of
/// the memory is not enough for either: a quarter of it is for reading an object model, and a quarter for what waits
/// for a receiver.
pub const MEMORY_MIN: Bytes = Bytes(8 * MIB);

/// What the process needs besides the account: its code and stacks, buffers, 8 MiB of service reports on their way to
/// files, small object models while they are read, and what the allocator has not given back yet.
const BESIDES: u64 = 48 * MIB;

/// How much more of a limit may be in use at the next start.
const SPARE: u64 = MIB;

/// Returns the greatest memory limit that fits into a limit of the system, of which this much is used, in whole MiB. A
/// fifth is left for the gaps between allocations.
///
/// # Errors
/// Less than [`MEMORY_MIN`] fits. The error is the limit of the system that would be enough, in whole MiB.
pub fn memory_that_fits(limit: Bytes, used: Bytes) -> Result<Bytes, Bytes> {
    let besides = used.0 + BESIDES;
    let fitting = Bytes(limit.0.saturating_sub(besides) / 5 * 4 / MIB * MIB);
    if fitting >= MEMORY_MIN {
        return Ok(fitting);
    }
    Err(Bytes((besides + MEMORY_MIN.0 / 4 * 5 + SPARE).next_multiple_of(MIB)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_limit_leaves_a_fifth_and_what_the_process_needs() {
        for used in (0..200 * MIB).step_by(777_777) {
            for limit in (used..4096 * MIB).step_by(7_777_777) {
                let Ok(Bytes(fitting)) = memory_that_fits(Bytes(limit), Bytes(used)) else {
                    continue;
                };
                let needed = used + BESIDES + fitting / 4 * 5;
                assert!(needed <= limit && limit < needed + 2 * MIB, "{fitting} of {limit}");
            }
        }
        assert!(memory_that_fits(Bytes(u64::MAX), Bytes(0)).is_ok());
    }

    #[test]
    fn a_limit_that_is_too_low_names_the_one_that_is_enough() {
        for used in (0..200 * MIB).step_by(77_777) {
            let Err(enough) = memory_that_fits(Bytes(used), Bytes(used)) else {
                panic!("nothing is left")
            };
            let later = Bytes(used + SPARE);
            assert_eq!(memory_that_fits(enough, later), Ok(MEMORY_MIN));
            let less = Bytes(enough.0 - SPARE - MIB);
            assert_eq!(memory_that_fits(less, Bytes(used)), Err(enough), "{used}");
        }
    }
}
