//! The cost of the first touch of a page.

use std::fs::File;
use std::hint::black_box;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use hemiola_rt::sys::mapping::{Anonymous, FileView, Pages, page_size};
use hemiola_rt::sys::unnamed::unnamed;
use hemiola_rt::sys::usage::thread_faults;
use rustix::fs::{MemfdFlags, memfd_create};

use crate::catalogue::Probe;
use crate::stage::Stage;
use crate::{Overhead, ProbeError, Readings, Setting, Unit};

/// The content of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Backing {
    /// None yet: the kernel provides a page of zeros at the first write.
    Anonymous,
    /// A file whose pages are in the kernel's cache; touched by a read.
    File,
}

/// Pages touched in one reading.
const PAGES: usize = 256;

pub(crate) fn probes() -> Vec<Probe> {
    let probe = |name, title, backing, access| {
        Probe::time(name, title, true, move |name, setting, count| {
            page_fault(backing, access, name, setting, count)
        })
    };
    let anonymous = "first write to a fresh page of memory";
    let file = "first read of a mapped file that is cached";
    vec![
        probe("page_fault.anonymous", anonymous, Backing::Anonymous, "write"),
        probe("page_fault.file", file, Backing::File, "read"),
    ]
}

/// Takes `count` readings, each the mean over the page faults of touching every page of a fresh mapping of 256. The
/// cost of touching them all once more is subtracted. The kernel counts the faults: it may map several pages of a file
/// at once, so there may be fewer faults than pages.
fn page_fault(
    backing: Backing,
    access: &str,
    name: &str,
    setting: &Setting,
    count: u32,
) -> Result<Readings, ProbeError> {
    let file = match backing {
        Backing::File => {
            Some(cached_file(&setting.directory).map_err(ProbeError::doing("make a file to map"))?)
        }
        Backing::Anonymous => None,
    };
    Stage::run(setting, setting.cpu, |stage| {
        let mut taken = Vec::with_capacity(count as usize);
        // The first mapping is a warm-up.
        for _ in 0..=count {
            stage.rest_if_due();
            let touched = match &file {
                None => touch_anonymous(stage),
                Some((file, _)) => touch_file(stage, file),
            };
            taken.push(touched.map_err(ProbeError::doing("map memory"))?);
        }
        taken.remove(0);
        let faults = taken.iter().map(|touched| touched.faults).max().unwrap_or(1);
        if taken.iter().any(|touched| touched.faults == 0) {
            let what = "memory that is not locked in advance (mlockall(2), MCL_FUTURE)";
            return Err(ProbeError::lacking(name, what));
        }
        let again = Overhead::of(taken.iter().map(|touched| touched.again).collect());
        let value = |touched: &Touched| (touched.first - again.value) / touched.faults as f64;
        let values = taken.iter().map(value).collect();
        let place = (setting, stage.granted.clone());
        let per_fault = (PAGES as f64 / faults as f64).round().to_string();
        let of = file.as_ref().map_or("memory", |(_, of)| of);
        let circumstances =
            [("access", access), ("of", of), ("pages per fault", per_fault.as_str())];
        let taken = (values, again.per(faults));
        Ok(Readings::new(name, Unit::Nanoseconds, taken, faults, place, &circumstances))
    })
}

/// Nanoseconds of touching all pages for the first time and again, and the faults of the first time.
struct Touched {
    first: f64,
    again: f64,
    faults: u64,
}

impl Touched {
    fn new(stage: &Stage, mut touch: impl FnMut(usize)) -> Self {
        let mut all = || (0..PAGES).for_each(|page| touch(page * page_size()));
        let before = thread_faults();
        let first = stage.time(&mut all);
        let faults = thread_faults() - before;
        Self { first, again: stage.time(&mut all), faults }
    }
}

fn touch_anonymous(stage: &Stage) -> io::Result<Touched> {
    let mut mapping = Anonymous::map(PAGES * page_size(), Pages::Ordinary)?;
    let bytes = mapping.bytes_mut();
    Ok(Touched::new(stage, |offset| bytes[offset] = black_box(1)))
}

fn touch_file(stage: &Stage, file: &File) -> io::Result<Touched> {
    let view = FileView::map(file.as_fd(), PAGES * page_size())?;
    Ok(Touched::new(stage, |offset| {
        black_box(view.touch(offset));
    }))
}

/// A file of [`PAGES`] that was just written, so that it is cached, with a description. It has no name, so nothing is
/// left behind.
fn cached_file(directory: &Path) -> io::Result<(File, &'static str)> {
    let (file, of) = match unnamed(directory) {
        Ok(file) => (file, "a file in the directory of the setting"),
        // The directory takes no file.
        Err(_) => (File::from(memfd_create("hemiola", MemfdFlags::CLOEXEC)?), "a memory file"),
    };
    let page = vec![1; page_size()];
    (0..PAGES).try_for_each(|_| io::Write::write_all(&mut &file, &page))?;
    Ok((file, of))
}
