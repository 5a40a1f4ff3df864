//! The cost of reading and writing a file, block by block.
//!
//! The file has no name and disappears with the process, even if that is killed. It is in the setting's directory, so
//! the figures are those of that directory's file system and device, which are stated with them.
//!
//! *Read* is as cold as user space can make it: the file is written out, its pages are dropped (posix_fadvise(2),
//! `POSIX_FADV_DONTNEED`) before each reading, and read-ahead is off (`POSIX_FADV_RANDOM`). Caches of the device or of
//! the host of a virtual machine cannot be dropped. A file system that keeps its files in memory, such as tmpfs, has no
//! such figure. *Write* goes to the page cache, into existing blocks of a file that was written in pieces of 1 MiB and
//! not written out; the kernel may take several times as long in a file that was read from the device, and half as
//! long in one that was written in pieces of 4 KiB. *Fsync* follows a write: until the device has stored one block and
//! its metadata. The file is opened as programs do, so each read also checks the access time; `O_NOATIME` would save
//! that.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use hemiola_rt::sys::unnamed::unnamed;
use hemiola_units::{Bytes, Random};
use rustix::fs::{Advice, fadvise};
use rustix::io::{Errno, ReadWriteFlags, preadv2};

use crate::catalogue::Probe;
use crate::stage::{BATCH, Stage, empty, pair};
use crate::{Overhead, ProbeError, Readings, Setting, Unit};

mod mount;

/// The operation on a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// pread(2) of a block that is not in the page cache.
    Read,
    /// pread(2) of a cached block.
    ReadCached,
    /// pwrite(2) of a cached block.
    Write,
    /// fsync(2) after one block was written.
    Fsync,
}

const OPERATIONS: [(&str, Operation, &str); 4] = [
    ("read", Operation::Read, "reading a block from the device"),
    ("read_cached", Operation::ReadCached, "reading a block from the page cache"),
    ("write", Operation::Write, "writing a block to the page cache"),
    ("fsync", Operation::Fsync, "fsync after a block was written"),
];

/// Block sizes in the catalogue, in bytes.
const BLOCKS: [usize; 4] = [512, 4 << 10, 64 << 10, 1 << 20];

/// The block size of the quick set: a page.
const QUICK: usize = 4 << 10;

/// Size of the file: many blocks, but quick to write.
const LENGTH: usize = 16 << 20;

pub(crate) fn probes() -> Vec<Probe> {
    let probe = |(word, operation, title): (&str, Operation, &str), block: usize| {
        let size = Bytes(block as u64);
        let (name, title) = (format!("file.{word}.{size}"), format!("{title}, {size}"));
        Probe::time(name, title, block == QUICK, move |_, setting, count| {
            file(operation, block, setting, count)
        })
    };
    let all = |operation| BLOCKS.into_iter().map(move |block| probe(operation, block));
    OPERATIONS.into_iter().flat_map(all).collect()
}

/// Takes `count` readings of `operation` on blocks of `block` bytes, at most 16 MiB, in a file in the setting's
/// directory.
///
/// # Errors
/// `Lacking` for cold reading on a file system that keeps files in memory, and for a block larger than the file;
/// `System` when the directory does not accept a file of 16 MiB, or the device fails.
pub fn file(
    operation: Operation,
    block: usize,
    setting: &Setting,
    count: u32,
) -> Result<Readings, ProbeError> {
    let directory = setting.directory.as_path();
    let known = OPERATIONS.iter().find(|(_, known, _)| *known == operation);
    let name = known.map_or("", |(name, ..)| name);
    let name = format!("file.{name}.{}", Bytes(block as u64));
    if !(1..=LENGTH).contains(&block) {
        return Err(ProbeError::lacking(
            &name,
            format!("a block of 1 B to {}", Bytes(LENGTH as u64)),
        ));
    }
    let written_out = matches!(operation, Operation::Read | Operation::Fsync);
    let file = filled(directory, written_out).map_err(ProbeError::doing(&format!(
        "create a file of {} in {}",
        Bytes(LENGTH as u64),
        directory.display()
    )))?;
    let mount = mount::of(directory);
    let place = mount.as_ref().map_or("unknown".into(), ToString::to_string);
    let in_memory = mount.is_some_and(|mount| mount.is_in_memory());
    if operation == Operation::Read && (in_memory || is_still_cached(&file)?) {
        let what = format!(
            "a directory on a storage device; the files of {} stay in memory: its file system is {place}",
            directory.display()
        );
        return Err(ProbeError::lacking(&name, what));
    }
    let (batch, taken, granted) = Stage::run(setting, setting.cpu, |stage| {
        let mut blocks = Blocks::new(&file, block);
        let (batch, taken) = match operation {
            Operation::Read => {
                let dropped = |blocks: &mut Blocks<'_>, _| drop_pages(blocks.file);
                (1, blocks.one_by_one(stage, count, dropped, Blocks::read_at)?)
            }
            Operation::ReadCached => blocks.batched(stage, count, Blocks::read_at)?,
            Operation::Write => blocks.batched(stage, count, Blocks::write_at)?,
            Operation::Fsync => {
                let synced = |blocks: &mut Blocks<'_>, _| blocks.file.sync_all();
                (1, blocks.one_by_one(stage, count, Blocks::write_at, synced)?)
            }
        };
        Ok((batch, taken, stage.granted.clone()))
    })?;
    let block = Bytes(block as u64).to_string();
    let circumstances = [
        ("block", block.as_str()),
        ("file system", place.as_str()),
        ("directory", &directory.display().to_string()),
    ];
    let readings =
        Readings::new(&name, Unit::Nanoseconds, taken, batch, (setting, granted), &circumstances);
    Ok(match operation {
        Operation::Read => readings.note(
            "the page cache was dropped before each reading; caches of the device and of a virtual machine's host cannot \
             be dropped",
        ),
        _ => readings,
    })
}

/// A file without a name of [`LENGTH`] incompressible bytes: `written_out` to the device, or in the page cache.
pub(crate) fn filled(directory: &Path, written_out: bool) -> io::Result<File> {
    let file = unnamed(directory)?;
    let mut random = Random::from_seed(LENGTH as u64);
    let mut piece = vec![0; 1 << 20];
    for at in (0..LENGTH).step_by(piece.len()) {
        for word in piece.chunks_exact_mut(8) {
            word.copy_from_slice(&random.bits().to_le_bytes());
        }
        file.write_all_at(&piece, at as u64)?;
    }
    if written_out {
        file.sync_all()?;
    }
    Ok(file)
}

/// Drops the file's pages from the page cache, as far as they are written out.
fn drop_pages(file: &File) -> io::Result<()> {
    Ok(fadvise(file, 0, None, Advice::DontNeed)?)
}

/// Whether the file is still in the page cache right after its pages were dropped.
fn is_still_cached(file: &File) -> Result<bool, ProbeError> {
    let doing = || ProbeError::doing("drop a file from the page cache");
    fadvise(file, 0, None, Advice::Random).map_err(|error| doing()(error.into()))?;
    drop_pages(file).map_err(doing())?;
    let mut byte = [0];
    let mut buffers = [io::IoSliceMut::new(&mut byte)];
    // Returns cached data and fails if it would have to wait (preadv2(2)).
    match preadv2(file, &mut buffers, 0, ReadWriteFlags::NOWAIT) {
        Ok(_) => Ok(true),
        // The file system may also be unable to tell.
        Err(Errno::AGAIN | Errno::OPNOTSUPP) => Ok(false),
        Err(error) => Err(doing()(error.into())),
    }
}

/// The file as a sequence of blocks, used in turn.
struct Blocks<'a> {
    file: &'a File,
    block: Vec<u8>,
    number: usize,
}

impl<'a> Blocks<'a> {
    fn new(file: &'a File, block: usize) -> Self {
        Self { file, block: vec![0x5A; block], number: 0 }
    }

    /// The offset of the next block.
    fn next(&mut self, stride: usize) -> u64 {
        let blocks = LENGTH / self.block.len();
        self.number = (self.number + stride) % blocks;
        (self.number * self.block.len()) as u64
    }

    fn read_at(&mut self, at: u64) -> io::Result<()> {
        self.file.read_exact_at(&mut self.block, at)
    }

    fn write_at(&mut self, at: u64) -> io::Result<()> {
        self.file.write_all_at(&self.block, at)
    }

    /// Readings over consecutive blocks of the cached file.
    fn batched(
        &mut self,
        stage: &mut Stage,
        count: u32,
        operation: fn(&mut Self, u64) -> io::Result<()>,
    ) -> Result<(u64, (Vec<f64>, Overhead)), ProbeError> {
        let mut outcome = Ok(());
        let mut work = |batch| {
            for _ in 0..batch {
                let at = self.next(1);
                let done = operation(self, at);
                if outcome.is_ok() {
                    outcome = done;
                }
            }
        };
        let batch = stage.batch(BATCH, &mut work);
        let taken = stage.compare(count, batch, &mut work, &mut empty);
        outcome.map_err(ProbeError::doing("use a file"))?;
        Ok((batch, taken))
    }

    /// Readings of one block each, spread over the file: `before` is untimed, `timed` is timed.
    fn one_by_one(
        &mut self,
        stage: &mut Stage,
        count: u32,
        before: fn(&mut Self, u64) -> io::Result<()>,
        timed: fn(&mut Self, u64) -> io::Result<()>,
    ) -> Result<(Vec<f64>, Overhead), ProbeError> {
        let doing = || ProbeError::doing("use a file");
        let blocks = LENGTH / self.block.len();
        // Odd, so that it visits all of a power of two of blocks; large, so that read-ahead of the previous block does
        // not include the next one.
        let stride = (blocks * 5 / 8) | 1;
        let pair = pair(&stage.clock);
        let mut values = Vec::with_capacity(count as usize);
        for _ in 0..count {
            stage.rest_if_due();
            let at = self.next(stride);
            before(self, at).map_err(doing())?;
            let mut outcome = Ok(());
            let nanos = stage.time(|| outcome = timed(self, at));
            outcome.map_err(doing())?;
            values.push(nanos - pair.value);
        }
        Ok((values, pair))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_is_used_and_neighbours_are_not_consecutive() {
        let file = unnamed(&std::env::temp_dir()).unwrap();
        for size in BLOCKS {
            let mut blocks = Blocks::new(&file, size);
            let count = LENGTH / size;
            let mut seen = vec![false; count];
            let stride = (count * 5 / 8) | 1;
            let mut last = None;
            for _ in 0..count {
                let at = blocks.next(stride) as usize / size;
                seen[at] = true;
                assert!(last.is_none_or(|last: usize| last.abs_diff(at) > 1));
                last = Some(at);
            }
            assert!(seen.iter().all(|seen| *seen));
        }
    }

    #[test]
    fn a_file_without_a_name_leaves_nothing_behind() {
        let directory = std::env::temp_dir().join(format!("hemiola-file-{}", std::process::id()));
        std::fs::create_dir(&directory).unwrap();
        let file = filled(&directory, true).unwrap();
        assert_eq!(file.metadata().unwrap().len(), LENGTH as u64);
        assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 0);
        std::fs::remove_dir(&directory).unwrap();
    }
}
