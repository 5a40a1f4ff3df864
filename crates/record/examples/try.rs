//! x
use hemiola_record::kernel::*;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let has = |w: &str| a.iter().any(|x| x == w);
    let o = Options {
        target: if has("own") { Target::Process(std::process::id()) } else { Target::System },
        interface: if has("perf") {
            Some(Interface::Perf)
        } else if has("bpf") {
            Some(Interface::Bpf)
        } else {
            None
        },
        interrupts: has("i"),
        calls: has("c"),
        page_faults: has("f"),
        ..Options::default()
    };
    let mut capture = Capture::start(&o).unwrap_or_else(|e| {
        println!("{e}");
        std::process::exit(1)
    });
    println!(
        "{:?} system {} wakes {} {:?}",
        capture.interface(),
        capture.is_system(),
        capture.has_wakes(),
        capture.advised_interval()
    );
    let mut n = 0;
    for t in capture.threads().unwrap().iter().take(5) {
        println!("{t:?}");
    }
    std::thread::sleep(std::time::Duration::from_millis(50));
    std::process::Command::new("sleep").arg("0.01").status().unwrap();
    capture.stop();
    let tally = capture.drain(&mut |cpu, events| {
        if n < 200 {
            for e in events.iter().take(4000) {
                println!("{cpu} {:?} {:?}", e.at, e.what);
            }
        }
        n += events.len();
    });
    for t in capture.threads().unwrap().iter().take(20) {
        println!("{t:?}");
    }
    println!("{tally:?} {n}");
}
