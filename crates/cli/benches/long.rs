//! What does a long recording cost: the time and the peak memory of `hemiola analyze --json`, and the peak memory of
//! the server of `hemiola view` that has sent the figures and an overview of all rows?
//!
//! `cargo bench -p hemiola --bench long -- [SWITCHES THREADS]…`; by default 1 million switches of 50 threads, and 10
//! million of 50 and of 24,500 threads. `cargo bench -p hemiola --bench long -- 75000000 50 75000000 24500` takes
//! minutes. The recordings are simulated, written to `TMPDIR` (13 to 25 bytes for a switch) and removed.

#![expect(clippy::print_stdout, reason = "a benchmark prints its results")]

#[path = "../../analyze/tests/support/recording.rs"]
mod recording;

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use hemiola_rt::sys::usage;

const PROGRAM: &str = env!("CARGO_BIN_EXE_hemiola");

/// Switches and threads of each recording, if the command line has none.
const USUAL: [[u32; 2]; 3] = [[1_000_000, 50], [10_000_000, 50], [10_000_000, 24_500]];

/// Rows of the page that are asked for at a time.
const ROWS: usize = 64;

fn main() -> io::Result<()> {
    let numbers = std::env::args().skip(1).filter(|argument| !argument.starts_with("--"));
    let numbers: Vec<u32> =
        numbers.map(|text| text.parse()).collect::<Result<_, _>>().map_err(io::Error::other)?;
    if numbers.len() % 2 == 1 {
        return Err(io::Error::other("usage: [SWITCHES THREADS]…"));
    }
    let wanted: Vec<[u32; 2]> = numbers.chunks_exact(2).map(|pair| [pair[0], pair[1]]).collect();
    let all = if wanted.is_empty() { &USUAL[..] } else { &wanted[..] };
    print_conditions();
    println!("switches    threads  analyze: elapsed  processor  peak memory  view: peak memory");
    for &[switches, threads] in all {
        let name = format!("hemiola-long-{}.trace", std::process::id());
        let path = std::env::temp_dir().join(name);
        let measured = measure(&path, switches, threads);
        fs::remove_file(&path)?;
        println!("{switches:<11} {threads:<7}  {}", measured?);
    }
    Ok(())
}

fn print_conditions() {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let model = read("/proc/cpuinfo");
    let model = model.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or("?");
    println!(
        "{}, {} processors, Linux {}, load {}",
        model.trim_start_matches([' ', '\t', ':']),
        std::thread::available_parallelism().map_or(0, usize::from),
        read("/proc/sys/kernel/osrelease").trim(),
        read("/proc/loadavg").trim(),
    );
}

/// Writes a recording, which is in the page cache then, analyses it and serves its page; returns the end of a line.
fn measure(path: &Path, switches: u32, threads: u32) -> io::Result<String> {
    recording::write(BufWriter::new(File::create(path)?), switches as usize, threads)?;
    let begin = Instant::now();
    let analyzed = analyze(path)?;
    let elapsed = begin.elapsed().as_secs_f64();
    let processor = (analyzed.user.nanos() + analyzed.system.nanos()) as f64 / 1e9;
    let [analyzed, viewed] = [analyzed, view(path)?].map(|of| of.memory_max.0 as f64 / 1e6);
    Ok(format!("{elapsed:14.2} s  {processor:7.2} s  {analyzed:8.1} MB  {viewed:14.1} MB"))
}

fn analyze(path: &Path) -> io::Result<usage::ChildUsage> {
    let mut command = Command::new(PROGRAM);
    command.args(["analyze", "--json"]).arg(path).stdout(Stdio::null());
    let used = usage::reap_child(command.spawn()?)?;
    if used.status.success() {
        Ok(used)
    } else {
        Err(io::Error::other(format!("hemiola analyze ended with {}", used.status)))
    }
}

/// Loads what the page of a recording shows at first, and every row of its timeline, and ends the server.
fn view(path: &Path) -> io::Result<usage::ChildUsage> {
    let mut command = Command::new(PROGRAM);
    command.arg("view").arg(path).arg("--no-open").stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn()?;
    let loaded = load(&mut child);
    child.kill()?;
    let used = usage::reap_child(child)?;
    loaded.map(|()| used)
}

fn load(child: &mut Child) -> io::Result<()> {
    let stdout = child.stdout.take().ok_or_else(|| io::Error::other("it has no output"))?;
    let mut address = String::new();
    BufReader::new(stdout).read_line(&mut address)?;
    let page = address.trim().trim_start_matches("http://").trim_end_matches('/');
    let recording: serde_json::Value = serde_json::from_slice(&get(page, "recording?r=0")?)?;
    get(page, "report?r=0")?;
    let rows = recording["rows"].as_array().map_or(&[][..], Vec::as_slice);
    let rows: Vec<String> = rows.iter().map(|row| row["row"].to_string()).collect();
    let length = &recording["duration_ns"];
    for rows in rows.chunks(ROWS) {
        get(page, &format!("window?r=0&from=0&to={length}&px=1600&rows={}", rows.join(",")))?;
    }
    Ok(())
}

/// The body of an answer of the page's server.
fn get(page: &str, what: &str) -> io::Result<Vec<u8>> {
    let (host, token) = page.split_once('/').ok_or_else(|| io::Error::other("no address"))?;
    let mut stream = TcpStream::connect(host)?;
    let head =
        format!("GET /{token}/api/{what} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes())?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let end = answer.windows(4).position(|part| part == b"\r\n\r\n");
    match end.filter(|_| answer.starts_with(b"HTTP/1.1 200")) {
        Some(end) => Ok(answer.split_off(end + 4)),
        None => Err(io::Error::other(format!("no answer to {what}"))),
    }
}
