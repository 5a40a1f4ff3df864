//! The allocator of a build with the feature `jemalloc`. A call of the C library's takes tens of milliseconds when much
//! was freed, or waits that long for a thread of lower priority (decision 0051).

use tikv_jemalloc_ctl::{Access, AsName, Error, background_thread};
use tikv_jemallocator::Jemalloc;

#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

/// The allocator's settings, which it reads when it starts. Its notes on pieces of memory, 128 bytes on each, never go
/// back to the system. So pieces of small blocks have eight pages instead of one. Together with [`empty_cache`], that
/// leaves 14 MiB to the RTI after a peak of 630 MiB instead of 18.
///
/// Source: jemalloc(3), `malloc_conf` and `opt.slab_sizes`.
#[expect(unsafe_code, reason = "the allocator finds its settings by this name")]
// SAFETY: nothing else in the program has this name, and it points to a text that ends with 0, as the allocator
// expects.
#[unsafe(export_name = "_rjem_malloc_conf")]
static SETTINGS: &u8 = &b"slab_sizes:32-4096:8\0"[0];

/// Gives freed memory back to the system within a second, from threads of the allocator. They inherit the scheduling of
/// the calling thread, and work while the program is idle, too. The caller is the first thread, and has started no
/// other.
///
/// Source: jemalloc(3), `background_thread`.
///
/// # Errors
/// The system has no place for another thread.
pub(crate) fn give_back_in_background() -> Result<(), String> {
    give_back_within(1000)
        .and_then(|()| background_thread::write(true))
        .map_err(|error| error.to_string())
}

/// Gives freed memory back to the system within a tenth of a second, while more is allocated. The caller is the first
/// thread, and has started no other. This suits an analysis of a long recording, which goes through it more than once
/// and frees much of each pass.
pub(crate) fn give_back_soon() {
    // Otherwise it takes ten seconds.
    let _ = give_back_within(100);
}

/// Lets freed memory go back to the system over this time, in milliseconds. The caller is the first thread, which uses
/// arena 0, and has started no other: the arenas of further threads take over the setting.
///
/// Source: jemalloc(3), `arenas.dirty_decay_ms` and `arena.<i>.dirty_decay_ms`.
fn give_back_within(decay_ms: isize) -> Result<(), Error> {
    b"arenas.dirty_decay_ms\0".name().write(decay_ms)?;
    b"arena.0.dirty_decay_ms\0".name().write(decay_ms)
}

/// Empties the cache of the calling thread: as many as 200 freed blocks of each size, which nobody else can use.
///
/// Source: jemalloc(3), `thread.tcache.enabled`.
pub(crate) fn empty_cache() {
    for is_enabled in [false, true] {
        // Without a cache there is nothing to empty.
        let _ = b"thread.tcache.enabled\0".name().write(is_enabled);
    }
}
