//! The record of a run as it grows. It is on the disk before every run, so that it survives any end of the runner.

use hemiola_record::{Folder, FolderError};
use hemiola_trace::result::{FILE_NAME, FaultRecord, Floor, RunFolder, RunRecord, VariantRecord};

/// The reason that a folder states until the run has come to its end.
const UNDER_WAY: &str = "the runner ended without a word: it was killed, or the machine stopped";

/// `run.json`, and the folder that it is written to.
pub(crate) struct Journal<'f> {
    folder: &'f Folder,
    record: RunFolder,
}

impl<'f> Journal<'f> {
    pub(crate) const fn new(folder: &'f Folder, record: RunFolder) -> Self {
        Self { folder, record }
    }

    /// The programs, before any has run.
    pub(crate) fn describe(&mut self, variants: Vec<VariantRecord>) {
        self.record.variants = variants;
    }

    pub(crate) fn variant(&mut self, index: usize) -> &mut VariantRecord {
        &mut self.record.variants[index]
    }

    /// The floors measured so far.
    pub(crate) fn set_floors(&mut self, floors: Vec<Floor>) {
        self.record.floors = floors;
    }

    /// The readings of the cost of recording the kernel.
    pub(crate) fn set_price(&mut self, readings_ns: Vec<f64>) {
        self.record.kernel.price_readings_ns = readings_ns;
    }

    /// A run begins: from now on, the folder is kept.
    pub(crate) fn begin(&mut self, index: usize, run: RunRecord) -> Result<(), FolderError> {
        self.variant(index).runs.push(run);
        self.save_under_way()
    }

    /// The run begun last has ended like this.
    pub(crate) fn end(&mut self, index: usize, run: RunRecord) {
        let runs = &mut self.variant(index).runs;
        runs.pop();
        runs.push(run);
    }

    /// Whether it holds more than the run begun last.
    pub(crate) fn has_earlier_runs(&self) -> bool {
        let runs = self.record.variants.iter().map(|variant| variant.runs.len()).sum::<usize>();
        runs > 1 || !self.record.faults.is_empty()
    }

    /// A kind of fault of a campaign is done.
    pub(crate) fn add_fault(&mut self, fault: FaultRecord) -> Result<(), FolderError> {
        self.record.faults.push(fault);
        self.save_under_way()
    }

    /// Writes what there is, and keeps the folder from now on.
    pub(crate) fn save_under_way(&mut self) -> Result<(), FolderError> {
        self.record.incomplete = Some(UNDER_WAY.into());
        self.save()?;
        self.folder.preserve();
        Ok(())
    }

    /// Completes the record and writes it for the last time.
    pub(crate) fn finish(
        &mut self,
        incomplete: Option<String>,
        complete: impl FnOnce(&mut RunFolder),
    ) -> Result<(), FolderError> {
        complete(&mut self.record);
        self.record.incomplete = incomplete;
        self.save()
    }

    fn save(&self) -> Result<(), FolderError> {
        self.folder.write_json(FILE_NAME, &self.record)
    }
}
