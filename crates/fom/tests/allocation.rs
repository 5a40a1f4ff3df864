//! The estimated memory of modules and models is that which an allocator counts.

#![expect(unsafe_code, reason = "an allocator that counts can be written in no other way")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::Write;
use std::sync::Arc;

use hemiola_fom::{
    Known, MemoryMax, Model, Module, ProblemKind, memory_while_merging, merge, open, read,
};
use hemiola_hla::data::FomModule;
use miniz_oxide::deflate::compress_to_vec;
use rawzip::{CompressionMethod, ZipArchiveWriter};

thread_local! {
    static LIVE: Cell<usize> = const { Cell::new(0) };
    static PEAK: Cell<usize> = const { Cell::new(0) };
}

/// The system's allocator, counting the bytes that each thread has allocated, with the header of each block.
struct Counting;

const fn block(layout: Layout) -> usize {
    (layout.size() + 8).next_multiple_of(16)
}

// SAFETY: every call goes to the system's allocator unchanged; the counters are constant-initialised thread-locals
// without destructors, which allocate nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.set(LIVE.get() + block(layout));
        PEAK.set(PEAK.get().max(LIVE.get()));
        // SAFETY: the caller keeps the contract of `alloc`, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // A block may come from another thread.
        LIVE.set(LIVE.get().saturating_sub(block(layout)));
        // SAFETY: `pointer` came from `System.alloc` above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Returns a value and the most bytes that making it takes at once.
fn taken<T>(make: impl FnOnce() -> T) -> (T, usize) {
    let before = LIVE.get();
    PEAK.set(before);
    let value = make();
    (value, PEAK.get() - before)
}

/// Returns a value and the bytes that it keeps.
fn kept<T>(make: impl FnOnce() -> T) -> (T, usize) {
    let before = LIVE.get();
    let value = make();
    (value, LIVE.get() - before)
}

fn parsed(tables: &str) -> Arc<Module> {
    let text = format!(
        r#"<objectModel xmlns="http://standards.ieee.org/IEEE1516-2025">{tables}</objectModel>"#
    );
    let (mut modules, _) = read("bulk.xml", text.as_bytes()).unwrap();
    modules.remove(0)
}

fn within(what: &str, estimate: usize, actual: usize) {
    let ratio = estimate as f64 / actual as f64;
    assert!((0.8..1.25).contains(&ratio), "{what}: {estimate} of {actual} bytes, {ratio:.2}");
}

const COUNT: usize = 20_000;

fn bulk(element: impl Fn(usize) -> String) -> String {
    (0..COUNT).map(element).collect()
}

fn objects(classes: &str) -> String {
    format!("<objects><objectClass><name>HLAobjectRoot</name>{classes}</objectClass></objects>")
}

fn interactions(classes: &str) -> String {
    let root = "<name>HLAinteractionRoot</name>";
    format!("<interactions><interactionClass>{root}{classes}</interactionClass></interactions>")
}

fn datatypes(table: &str, types: &str) -> String {
    format!("<dataTypes><{table}>{types}</{table}></dataTypes>")
}

/// Tables of object models, each with very many entries of one kind.
fn bulks() -> Vec<(&'static str, String)> {
    let class = |at| format!("<objectClass><name>C{at}</name></objectClass>");
    let with_attribute = |at| {
        let attribute = "<attribute><name>A</name><dataType>HLAoctet</dataType></attribute>";
        format!(
            "<objectClass><name>C{at}</name><sharing>Neither</sharing>{attribute}</objectClass>"
        )
    };
    let attribute =
        |at| format!("<attribute><name>A{at}</name><dataType>HLAoctet</dataType></attribute>");
    let interaction = |at| {
        let parameter = "<parameter><name>P</name><dataType>HLAoctet</dataType></parameter>";
        format!("<interactionClass><name>I{at}</name>{parameter}</interactionClass>")
    };
    let field = |at| format!("<field><name>F{at}</name><dataType>HLAoctet</dataType></field>");
    let record = |at| format!("<fixedRecordData><name>R{at}</name>{}</fixedRecordData>", field(at));
    let enumerator = |at| format!("<enumerator><name>E{at}</name><value>{at}</value></enumerator>");
    let enumeration =
        format!("<enumeratedData><name>E</name>{}</enumeratedData>", bulk(enumerator));
    let note = |at| format!("<note><label>N{at}</label><semantics>A remark.</semantics></note>");
    let dimension = |at| format!("<dimension><name>D{at}</name></dimension>");
    let prose = format!("<!--{}-->", "prose ".repeat(COUNT));
    vec![
        ("classes", objects(&bulk(class))),
        ("classes with an attribute", objects(&bulk(with_attribute))),
        (
            "attributes",
            objects(&format!("<objectClass><name>C</name>{}</objectClass>", bulk(attribute))),
        ),
        ("interactions", interactions(&bulk(interaction))),
        ("records", datatypes("fixedRecordDataTypes", &bulk(record))),
        ("enumerators", datatypes("enumeratedDataTypes", &enumeration)),
        ("notes", format!("<notes>{}</notes>", bulk(note))),
        ("dimensions", format!("<dimensions>{}</dimensions>", bulk(dimension))),
        ("text", prose),
    ]
}

#[test]
fn estimates_of_bulk_are_near_the_truth() {
    // The standard module is read once.
    let _ = merge(&[], None).unwrap();
    for (what, tables) in bulks() {
        let (module, module_len) = kept(|| parsed(&tables));
        within(&format!("module of {what}"), module.memory(), module_len);
        let modules = [module];
        let ((model, _), model_len) = kept(|| merge(&modules, None).unwrap());
        within(&format!("model of {what}"), model.memory(), module_len + model_len);
        // Merging is refused if this does not fit.
        let least = modules[0].memory_merged(None);
        assert!(modules[0].memory() + least <= model.memory(), "model of {what}: {least}");
        if what.starts_with("classes") || what == "interactions" {
            assert!(2 * least > model_len, "model of {what}: {least} of {model_len}");
        }
        assert_eq!(modules[0].memory_merged(Some(&model)), 0, "it has these classes");
    }
}

/// The account of memory is charged with as much before modules are read and merged.
#[test]
fn reading_and_merging_takes_no_more_than_estimated() {
    let _ = merge(&[], None).unwrap();
    let more =
        parsed(&objects(&bulk(|at| format!("<objectClass><name>X{at}</name></objectClass>"))));
    let merging = |new: &Arc<Module>, before: Option<&Model>| {
        let new = [Arc::clone(new)];
        let (merged, taken) = taken(|| merge(&new, before).unwrap());
        let with_new = taken + new[0].memory();
        let estimate = memory_while_merging(new.iter(), before);
        assert!(with_new <= estimate, "{with_new} bytes of {estimate}");
        (merged.0, estimate as f64 / with_new as f64)
    };
    for (what, tables) in bulks() {
        let text = format!(
            r#"<objectModel xmlns="http://standards.ieee.org/IEEE1516-2025">{tables}</objectModel>"#
        );
        let sent = FomModule::File { name: "bulk.xml".into(), content: text.clone().into() };
        let within =
            |reading| open(&sent, &Known::default(), MemoryMax { reading, ..MemoryMax::NONE });
        let (read, peak) = taken(|| within(usize::MAX).unwrap());
        // The text is charged before.
        let peak = peak - text.len();
        let problems = within(peak).unwrap_err();
        assert_eq!(problems[0].kind, ProblemKind::Unaffordable, "{what}: {peak} bytes would do");
        assert!(within(2 * peak + text.len()).is_ok(), "{what}: twice of {peak} is not enough");
        let (model, of_new) = merging(&read.0[0], None);
        let (_, of_both) = merging(&more, Some(&model));
        println!("{what}: {peak} bytes to read, estimates of merging {of_new:.2} and {of_both:.2}");
    }
}

/// The names of a large model are in the modules and need no copies while these are merged.
#[test]
fn merging_classes_takes_less_than_the_model_again() {
    let _ = merge(&[], None).unwrap();
    let class = |at| format!("<objectClass><name>C{at}</name></objectClass>");
    let modules = [parsed(&objects(&bulk(class)))];
    let ((model, kept), taken) = taken(|| kept(|| merge(&modules, None).unwrap()));
    drop(model);
    let per_class = [kept, taken].map(|len| len / COUNT);
    println!("a class takes {per_class:?} bytes in the model, and while that is made");
    assert!(per_class[0] <= 300 && per_class[1] <= 500, "{per_class:?}");
}

/// Returns an archive of one file.
fn archive(content: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut archive = ZipArchiveWriter::new(&mut bytes);
    let file = archive.new_file("bulk.xml").compression_method(CompressionMethod::DEFLATE);
    let (mut entry, config) = file.start().unwrap();
    let mut sum = config.wrap(std::io::sink());
    sum.write_all(content).unwrap();
    let (_, descriptor) = sum.finish().unwrap();
    entry.write_all(&compress_to_vec(content, 6)).unwrap();
    entry.finish(descriptor).unwrap();
    archive.finish().unwrap();
    bytes
}

/// The account of memory charges an archive as it was sent and twice as its text.
#[test]
fn an_archive_takes_twice_its_text_before_it_is_parsed() {
    let text = objects(&bulk(|at| format!("<objectClass><name>C{at}</name></objectClass>")));
    let sent = FomModule::Compressed(archive(text.as_bytes()).into());
    let memory_max = MemoryMax { document: 1, ..MemoryMax::NONE };
    let (problems, taken) = taken(|| open(&sent, &Known::default(), memory_max).unwrap_err());
    assert!(problems[0].message.contains("parsing it takes"), "{}", problems[0].message);
    // The unpacker and the problem take the rest.
    let most = 2 * text.len() + (64 << 10);
    assert!(taken <= most, "{taken} bytes of {most}");
}
