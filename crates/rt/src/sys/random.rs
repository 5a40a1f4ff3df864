//! Random bytes for secrets: getrandom(2).

use std::io;

/// Returns `N` bytes, at most 256, from the kernel's generator, fit for secrets.
///
/// # Errors
/// `ENOSYS` on kernels before 3.17 or if a system call filter refuses the call.
pub fn secret<const N: usize>() -> io::Result<[u8; N]> {
    const { assert!(N <= 256, "only so many bytes come in one piece") };
    let mut bytes = [0; N];
    super::retry(|| {
        // SAFETY: pointer and length are those of a live array, borrowed mutably.
        let len = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), N, 0) };
        if len < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    })?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    #[test]
    fn two_secrets_differ() {
        assert_ne!(super::secret::<16>().unwrap(), super::secret().unwrap());
    }
}
