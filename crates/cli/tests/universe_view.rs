//! `hemiola universe view`: the answers of its server, and the page itself in a real browser.

use std::io::{BufRead, BufReader, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::process::Command;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::command::PROGRAM;
use crate::living::Living;
use crate::machine::Machine;
use crate::view::{Page, in_browser};

/// Each step counts, and keeps twice the count: a row tells of which step it is, and whether all of it is of that one.
const COUNTING: &str = "universe u {
  element e {
    property n : integer; property twice : integer;
    update() { n += 1; twice = 2 * n; }
  }
}";

/// The same with one more property.
const MORE: &str = "universe u {
  element e {
    property n : integer; property twice : integer; property more : real<kg> = 2<kg>;
    update() { n += 1; twice = 2 * n; }
  }
}";

/// A universe that makes steps until it is killed.
fn living<'m>(machine: &'m Machine, text: &str, arguments: &[&str]) -> Living<'m> {
    machine.write("u.uml", text);
    let run = ["universe", "run", "u.uml", "--steps", "1000000000", "--listen"];
    Living::start(machine, &[&run[..], arguments].concat())
}

/// Its page.
fn page(living: &Living<'_>) -> Page {
    let mut command = Command::new(PROGRAM);
    command.args(["universe", "view", "--run", &living.name]);
    Page::start(command)
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// The head and the columns of a sample.
fn sample(page: &Page, query: &str) -> (Value, Vec<Vec<f64>>) {
    let (status, body) = page.get(&format!("api/sample?{query}"));
    assert_eq!(status, 200, "{}", String::from_utf8_lossy(&body));
    let length = u32::from_le_bytes(body[..4].try_into().unwrap()) as usize;
    let head: Value = serde_json::from_slice(&body[4..4 + length]).unwrap();
    let (numbers, rest) = body[4 + length..].as_chunks::<8>();
    assert!(rest.is_empty() && (4 + length).is_multiple_of(8));
    let numbers: Vec<f64> = numbers.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect();
    let chosen = number(&head["chosen"]) as usize;
    (head, numbers.chunks(chosen.max(1)).map(<[f64]>::to_vec).collect())
}

#[test]
fn rows_are_whole_and_of_the_steps_that_the_sample_names() {
    let machine = Machine::take("universe-view-rows");
    let living = living(&machine, COUNTING, &["--populate", "e:20000:n=0"]);
    let page = page(&living);
    let (head, columns) = sample(&page, "definition=0&element=0&columns=0,1");
    assert_eq!((&head["rows"], &head["stride"]), (&json!(20_000), &json!(1)));
    let [n, twice] = &columns[..] else { panic!("two columns") };
    assert_eq!((n.len(), twice.len()), (20_000, 20_000));
    let steps = [0, 1].map(|at| number(&head["steps"][at]) as f64);
    for (n, twice) in n.iter().zip(twice) {
        assert_eq!(*twice, 2.0 * n);
        assert!((steps[0]..=steps[1]).contains(n), "{n} is not of {steps:?}");
    }
    let (_, body) = page.get("api/histograms?definition=0&element=0&columns=0,1");
    let answer: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(answer["sample"]["chosen"], 10_000);
    assert!(answer["histograms"][1].as_str().unwrap().starts_with("<svg"), "{answer}");
    let status = page.json("api/status");
    assert_eq!(
        (&status["name"], &status["status"]["entities"]),
        (&json!(living.name), &json!(20_000))
    );
    assert_eq!(status["pace"]["phases"].as_array().unwrap().len(), 5);
    drop(page);
    living.kill();
}

#[test]
fn a_table_with_too_many_rows_is_sampled() {
    let machine = Machine::take("universe-view-many");
    let text = "universe u { element e { property x : real; } }";
    let living = living(&machine, text, &["--populate", "e:250001:x=0..1"]);
    let page = page(&living);
    let (head, columns) = sample(&page, "definition=0&element=0&columns=0");
    assert_eq!((&head["rows"], &head["stride"]), (&json!(250_001), &json!(3)));
    assert!((83_333..=83_334).contains(&columns[0].len()), "{head}");
    let mean = columns[0].iter().sum::<f64>() / columns[0].len() as f64;
    // The standard deviation of this mean is 0.001.
    assert!((0.49..0.51).contains(&mean), "{mean}");
    drop(page);
    living.kill();
}

#[test]
fn a_plan_is_that_of_the_command_and_changes_nothing() {
    let machine = Machine::take("universe-view-plan");
    let living = living(&machine, COUNTING, &["--populate", "e:10:n=0"]);
    let page = page(&living);
    let plan = |name: &str, text: &str| {
        let texts = json!([{ "name": name, "text": text }]).to_string();
        let (status, body) = page.post("api/plan", texts.as_bytes());
        assert_eq!(status, 200, "{}", String::from_utf8_lossy(&body));
        let answer: Value = serde_json::from_slice(&body).unwrap();
        let [outcome, text] =
            ["outcome", "text"].map(|key| answer[key].as_str().unwrap().to_owned());
        (outcome, text)
    };
    // The text of the command ends with the step and the time that it waited.
    let steps = |text: &str| text.split("possible after").next().unwrap().to_owned();
    machine.write("more.uml", MORE);
    let printed = living.ask(&["plan", "more.uml"]).with_code(0).stdout;
    let (outcome, text) = plan("more.uml", MORE);
    assert_eq!((&*outcome, steps(&text)), ("possible", steps(&printed)));
    assert!(text.contains("insert property e.more : real<kg>"), "{text}");
    let (outcome, text) =
        plan("<b>.uml", "universe u { element e { property n : real<furlong>; } }");
    assert!(
        outcome == "unsound" && text.contains(" --> <b>.uml:1:") && text.contains('^'),
        "{text}"
    );
    let (outcome, text) = plan("u.uml", "universe u { element other { } }");
    assert!(outcome == "refused" && !text.is_empty(), "{text}");
    for (body, expected) in [
        (&b"[{\"name\":1}]"[..], 422),
        (b"nonsense", 400),
        (b"\xff", 400),
        (&vec![b' '; (4 << 20) + 1][..], 413),
    ] {
        assert_eq!(page.post("api/plan", body).0, expected);
    }
    assert_eq!(living.status()["last"], Value::Null);
    drop(page);
    living.kill();
}

#[test]
fn requests_that_do_not_fit_are_refused_and_the_server_goes_on() {
    let machine = Machine::take("universe-view-bad");
    let living = living(&machine, COUNTING, &["--populate", "e:10:n=0"]);
    let page = page(&living);
    let many = vec!["0"; 65].join(",");
    for (path, expected) in [
        ("api/sample".to_owned(), 400),
        ("api/sample?definition=0&element=0&columns=".to_owned(), 400),
        ("api/sample?definition=0&element=0&columns=x".to_owned(), 400),
        ("api/sample?definition=0&element=0&columns=2".to_owned(), 400),
        ("api/sample?definition=0&element=4294967295&columns=0".to_owned(), 400),
        (format!("api/sample?definition=0&element=0&columns={many}"), 400),
        ("api/sample?definition=1&element=0&columns=0".to_owned(), 409),
        ("api/histograms?definition=7&element=0&columns=0".to_owned(), 409),
        ("api/plan".to_owned(), 405),
        ("api/nothing".to_owned(), 404),
        ("universe/scatter.js".to_owned(), 200),
        (String::new(), 200),
        ("api/status".to_owned(), 200),
    ] {
        let (status, body) = page.get(&path);
        assert_eq!(status, expected, "{path}: {}", String::from_utf8_lossy(&body));
    }
    drop(page);
    living.kill();
}

#[test]
fn two_pages_follow_a_redefinition_and_learn_of_the_end() {
    let machine = Machine::take("universe-view-two");
    let living = living(&machine, COUNTING, &["--populate", "e:10:n=0"]);
    machine.write("more.uml", MORE);
    let pages = [page(&living), page(&living)];
    let columns = |page: &Page| {
        let definition = page.json("api/definition");
        let columns = definition["elements"][0]["columns"].as_array().unwrap().clone();
        let names = columns.iter().map(|column| column["name"].as_str().unwrap().to_owned());
        (number(&definition["definition"]), names.collect::<Vec<_>>())
    };
    for page in &pages {
        assert_eq!(columns(page), (0, vec!["n".to_owned(), "twice".to_owned()]));
    }
    living.ask(&["apply", "more.uml"]).with_code(0);
    for page in &pages {
        assert_eq!(page.get("api/sample?definition=0&element=0&columns=0").0, 409);
        assert_eq!(page.json("api/status")["status"]["definition"], 1);
        assert_eq!(columns(page).0, 1);
        assert_eq!(columns(page).1, ["n", "twice", "more"]);
        let (_, rows) = sample(page, "definition=1&element=0&columns=2");
        assert_eq!(rows, [vec![2.0; 10]]);
    }
    let name = living.name.clone();
    drop(living);
    for page in &pages {
        for path in ["api/status", "api/definition", "api/sample?definition=1&element=0&columns=0"]
        {
            let (status, body) = page.get(path);
            let text = String::from_utf8_lossy(&body).into_owned();
            assert!(
                status == 410 && text.contains(&format!("the universe {name} has ended")),
                "{text}"
            );
        }
        assert_eq!(page.post("api/plan", b"[]").0, 410);
        assert_eq!(page.get("").0, 200);
    }
    drop(pages);
    machine.nothing_is_left();
}

#[test]
fn a_universe_whose_sockets_close_one_after_the_other_has_ended() {
    let machine = Machine::take("universe-view-closing");
    let living = living(&machine, COUNTING, &["--populate", "e:10:n=0"]);
    let address =
        |name: &str| SocketAddr::from_abstract_name(format!("hemiola-universe/{name}")).unwrap();
    // Stands for the universe: it passes one request on, and closes the second connection before its listener.
    let name = format!("{}-closing", living.name);
    let listener = UnixListener::bind_addr(&address(&name)).unwrap();
    let inner = UnixStream::connect_addr(&address(&living.name)).unwrap();
    let dying = thread::spawn(move || {
        let (first, _) = listener.accept().unwrap();
        let pass = |from: &UnixStream, to: &UnixStream| {
            let mut line = String::new();
            BufReader::new(from).read_line(&mut line).unwrap();
            (&*to).write_all(line.as_bytes()).unwrap();
        };
        pass(&first, &inner);
        pass(&inner, &first);
        drop((first, listener.accept().unwrap()));
        thread::sleep(Duration::from_millis(200));
        drop(listener);
    });
    let mut command = Command::new(PROGRAM);
    command.args(["universe", "view", "--run", &name]);
    let page = Page::start(command);
    let (status, body) = page.get("api/status");
    assert_eq!(status, 410, "{}", String::from_utf8_lossy(&body));
    dying.join().unwrap();
    drop(page);
    living.kill();
}

#[test]
fn a_universe_that_does_not_run_has_no_page() {
    let machine = Machine::take("universe-view-none");
    let none = machine.hemiola(&["universe", "view", "--no-open"]).with_code(1);
    assert!(none.stderr.contains("no universe is running; start one"), "{}", none.stderr);
    let living = living(&machine, COUNTING, &[]);
    let arguments = ["universe", "view", "--no-open", "--run", "no-such/universe"];
    let wrong = machine.hemiola(&arguments).with_code(1);
    let expected = "no running universe is called \"no-such/universe\"";
    assert!(
        wrong.stderr.contains(expected) && wrong.stderr.contains(&living.name),
        "{}",
        wrong.stderr
    );
    living.kill();
}

/// A hundred thousand stars in a cube of 1 km, of which those within 500 m of a corner are monitored. Nothing moves.
const STARS: &str = "universe sky {
  constant FAR : real<m> = 2<km>;
  element thing { property position : real<m>[3]; property label : string = \"<img src=x>\"; }
  element star : thing {
    property brightness : real; property mass : real<kg> = 2<kg>;
    constraint near(corner : real<m>[3], reach : real<m>) =
      distance(position, corner) < reach and distance(position, last_sent.position) > 1<m>;
  }
}";

#[test]
fn the_page_of_a_universe_works_in_a_browser() {
    let machine = Machine::take("universe-view-browser");
    let stars = [
        "--populate",
        "star:100000:position=[0,0,0]..[1<km>,1<km>,1<km>]:brightness=0..1",
        "--monitor",
        "star:position:near([0,0,0], 500<m>)",
    ];
    let sky = living(&machine, STARS, &stars);
    let sky_page = page(&sky);
    let two = living(&machine, COUNTING, &["--populate", "e:2:n=0..1000", "--monitor", "e:n"]);
    let more = machine.write("more.uml", MORE);
    let two_page = page(&two);
    let process = two.pid().to_string();
    in_browser(
        "universe.test.js",
        &[
            &sky_page.address,
            &two_page.address,
            PROGRAM,
            &two.name,
            more.to_str().unwrap(),
            &process,
        ],
    );
    drop((sky, sky_page, two, two_page));
    machine.nothing_is_left();
}
