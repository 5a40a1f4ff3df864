//! Refusing system calls to a program: seccomp(2).

use std::io;

/// The architecture of this build, as the kernel names it (`linux/audit.h`).
#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: Option<u32> = Some(0xC000_003E);
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: Option<u32> = Some(0xC000_00B7);
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const ARCHITECTURE: Option<u32> = None;

/// The number of futex_requeue(2) on every architecture.
const FUTEX_REQUEUE_CALL: u32 = 456;
/// Numbers from here on are calls of the x32 ABI.
const X32: u32 = 0x4000_0000;

/// Places in `struct seccomp_data`. The low half of the second argument comes first on these architectures.
const NUMBER: u32 = 0;
const ARCH: u32 = 4;
const SECOND_ARGUMENT: u32 = 24;

/// Refuses to this process, and to a program executed in its place, the calls that move the waiters of a futex shared
/// with other processes to another futex, where nobody wakes them. Read access to the futex suffices for these calls.
/// Calls in another binary format than this program's are refused altogether: their numbers differ.
///
/// The process must have given up new privileges before (PR_SET_NO_NEW_PRIVS(2const)). On an architecture other than
/// x86-64 and AArch64 nothing is refused.
///
/// # Errors
/// `EACCES` if new privileges are possible; `EINVAL` if the kernel has no seccomp filters.
///
/// Source: seccomp(2), futex(2).
pub fn refuse_requeue() -> io::Result<()> {
    let Some(architecture) = ARCHITECTURE else { return Ok(()) };
    let mut filter = program(architecture);
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: `program` refers to instructions that live until the call returns, which copies them.
    let result =
        unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn program(architecture: u32) -> [libc::sock_filter; 15] {
    let refused = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
    [
        load(ARCH),
        skip_if(libc::BPF_JEQ, architecture, 0, 12), // to the refusal
        load(NUMBER),
        skip_if(libc::BPF_JGE, X32, 10, 0),
        skip_if(libc::BPF_JEQ, FUTEX_REQUEUE_CALL, 9, 0),
        skip_if(libc::BPF_JEQ, libc::SYS_futex as u32, 0, 7), // to the permission
        load(SECOND_ARGUMENT),
        // The waiters of a private futex belong to this process.
        skip_if(libc::BPF_JSET, libc::FUTEX_PRIVATE_FLAG as u32, 5, 0),
        statement(libc::BPF_ALU | libc::BPF_AND | libc::BPF_K, libc::FUTEX_CMD_MASK as u32),
        skip_if(libc::BPF_JEQ, libc::FUTEX_REQUEUE as u32, 4, 0),
        skip_if(libc::BPF_JEQ, libc::FUTEX_CMP_REQUEUE as u32, 3, 0),
        skip_if(libc::BPF_JEQ, libc::FUTEX_WAIT_REQUEUE_PI as u32, 2, 0),
        skip_if(libc::BPF_JEQ, libc::FUTEX_CMP_REQUEUE_PI as u32, 1, 0),
        statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW),
        statement(libc::BPF_RET | libc::BPF_K, refused),
    ]
}

const fn statement(code: u32, k: u32) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt: 0, jf: 0, k }
}

const fn load(offset: u32) -> libc::sock_filter {
    statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset)
}

/// Skips instructions: `jt` of them if the comparison with `k` holds, `jf` if not.
const fn skip_if(comparison: u32, k: u32, jt: u8, jf: u8) -> libc::sock_filter {
    libc::sock_filter { code: (libc::BPF_JMP | comparison | libc::BPF_K) as u16, jt, jf, k }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// What the filter returns for a call, computed as the kernel does (bpf(2), classic).
    fn verdict(architecture: u32, number: u32, second: u32) -> u32 {
        let filter = program(0xC000_003E);
        let (mut accumulator, mut at) = (0, 0);
        loop {
            let step = filter[at];
            at += 1;
            let code = u32::from(step.code);
            if code == libc::BPF_LD | libc::BPF_W | libc::BPF_ABS {
                accumulator = [(ARCH, architecture), (NUMBER, number), (SECOND_ARGUMENT, second)]
                    .into_iter()
                    .find_map(|(place, value)| (place == step.k).then_some(value))
                    .unwrap();
            } else if code == libc::BPF_ALU | libc::BPF_AND {
                accumulator &= step.k;
            } else if code == libc::BPF_RET {
                return step.k;
            } else {
                let holds = match code & 0xF0 {
                    libc::BPF_JEQ => accumulator == step.k,
                    libc::BPF_JGE => accumulator >= step.k,
                    libc::BPF_JSET => accumulator & step.k != 0,
                    other => panic!("comparison {other:#x}"),
                };
                at += usize::from(if holds { step.jt } else { step.jf });
            }
        }
    }

    #[test]
    fn only_calls_that_move_the_waiters_of_others_are_refused() {
        const OURS: u32 = 0xC000_003E;
        let refused = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
        let futex = libc::SYS_futex as u32;
        let clock = libc::FUTEX_CLOCK_REALTIME as u32;
        let operations = 0..=15u32;
        let moving: BTreeSet<u32> =
            operations.clone().filter(|op| verdict(OURS, futex, *op) == refused).collect();
        assert_eq!(
            moving,
            BTreeSet::from([3, 4, 11, 12]),
            "requeue, and with priority inheritance"
        );
        for operation in operations {
            let private = operation | libc::FUTEX_PRIVATE_FLAG as u32;
            assert_eq!(verdict(OURS, futex, private), libc::SECCOMP_RET_ALLOW);
            let clocked = verdict(OURS, futex, operation | clock);
            assert_eq!(clocked, verdict(OURS, futex, operation), "{operation} with a clock");
        }
        let others = (0..600).filter(|number| ![futex, FUTEX_REQUEUE_CALL].contains(number));
        for number in others {
            assert_eq!(verdict(OURS, number, 3), libc::SECCOMP_RET_ALLOW, "{number}");
        }
        assert_eq!(verdict(OURS, FUTEX_REQUEUE_CALL, 0), refused);
        assert_eq!(verdict(OURS, X32 + futex, 1), refused, "x32");
        assert_eq!(verdict(0x4000_0003, 240, 1), refused, "32-bit programs");
    }
}
