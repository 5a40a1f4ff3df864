//! Units of a model's own, costs besides time, and capacities.

use hemiola_diagnostic::render;
use hemiola_model::export::page::page;
use hemiola_model::export::tables::{tables, units};
use hemiola_model::file::{self, Measurements, Model};
use hemiola_model::summary::{Summary, analyze, inputs};
use hemiola_model::uncertain::Verdict;
use hemiola_report::json::pretty;
use serde_json::Value;

fn read(source: &str) -> Model {
    file::read(source, None).unwrap_or_else(|found| panic!("{}", render(&found, source, "m.toml")))
}

fn summary(source: &str) -> Summary {
    analyze(&read(source), None)
}

/// The rendered problems of a model.
fn refused(source: &str) -> String {
    match file::read(source, None) {
        Ok(_) => panic!("it was accepted: {source}"),
        Err(problems) => render(&problems, source, "m.toml"),
    }
}

/// Money and requests, with a page of data and a frame of time.
const UNITS: &str = r#"
title = "t"
[units]
EUR = { quantity = "money" }
cent = { value = "1 EUR / 100" }
req = { quantity = "requests", prefixes = true }
page = { value = "4 KiB" }
frame = { value = "33 ms" }
"#;

/// A model with these units, these figures (each with a source) and this rest.
fn with_units(figures: &[(&str, &str)], rest: &str) -> String {
    let figure = |(name, keys): &(&str, &str)| {
        format!("[figures.{name}]\nsource = \"guess\"\nreason = \"r\"\n{keys}\n")
    };
    let figures: String = figures.iter().map(figure).collect();
    format!("{UNITS}{figures}{rest}")
}

/// A page that calls the database four times, and two lines in a log.
const SHOP: &str = r#"
[costs]
energy = "J/req"
money = "EUR/req"
[components.web.operations.page]
cost = "2 ms"
costs = { energy = "0.5 J/req", money = "0.01 cent/req" }
capacity = "800 req/s"
calls = [{ to = "db.query", times = 4 }]
[components.db.operations.query]
cost = "1 ms"
costs = { energy = "query_energy" }
capacity = "query_rate"
[chains.browse]
title = "Browse"
calls = [{ to = "web.page" }, { name = "log", times = 2, costs = { money = "0.002 cent/req" } }]
limits = { energy = "1.5 J/req" }
demand = "0.4 kreq/s"
[what_if.faster]
figures.query_rate = "6 kreq/s"
[what_if.cheaper]
operations."db.query" = { costs = { energy = "0.1 J/req", money = "-1 cent/req" } }
[[sweep]]
figure = "query_rate"
values = ["1 kreq/s", "2 kreq/s"]
"#;

fn shop() -> String {
    let figures =
        [("query_energy", "value = \"200 mJ/req\""), ("query_rate", "value = \"2 kreq/s\"")];
    with_units(&figures, SHOP)
}

fn is(found: f64, expected: f64) {
    assert!((found - expected).abs() <= 1e-9 * expected.abs(), "{found} {expected}");
}

#[test]
fn a_chain_has_the_energy_the_money_and_the_bottleneck_of_a_calculation_by_hand() {
    let summary = summary(&shop());
    let chain = &summary.chains[0];
    // 2 ms + 4 · 1 ms.
    is(chain.cost.monte_carlo.mean_ns, 6e6);
    let [energy, money] = &chain.costs[..] else { panic!("{:?}", chain.costs) };
    // 0.5 + 4 · 0.2 J, and 0.01 + 2 · 0.002 cents.
    is(energy.expected.mean, 1.3);
    is(money.expected.mean, 0.014e-2);
    assert_eq!((energy.unit.as_str(), money.unit.as_str()), ("J/req", "EUR/req"));
    let parts: Vec<(&str, f64)> =
        energy.parts.iter().map(|part| (part.name.as_str(), part.own)).collect();
    assert_eq!(parts, [("web.page", 0.5), ("db.query", 0.8)]);
    is(energy.parts[1].share, 0.8 / 1.3);
    assert_eq!(money.parts.len(), 2);
    let limit = energy.limit.unwrap();
    assert!(limit.verdict == Verdict::Kept && money.limit.is_none());
    is(limit.margin.unwrap(), 0.2);

    // The page carries 800 a second, the database 2000 / 4.
    let capacity = chain.capacity.as_ref().unwrap();
    assert_eq!((capacity.bottleneck.as_str(), capacity.unit.as_str()), ("db.query", "req/s"));
    is(capacity.expected.mean, 500.0);
    let loads: Vec<(&str, f64, f64)> = capacity
        .parts
        .iter()
        .map(|part| (part.name.as_str(), part.calls, part.load.unwrap()))
        .collect();
    assert_eq!(loads, [("db.query", 4.0, 0.8), ("web.page", 1.0, 0.5)]);
    let demand = capacity.demand.unwrap();
    assert_eq!(demand.verdict, Verdict::Kept);
    is(demand.margin.unwrap(), 100.0);
    assert_eq!(summary.failures, Vec::<String>::new());
    assert_eq!(summary.problems, Vec::<String>::new());
}

#[test]
fn the_example_of_the_reference_has_the_results_that_it_states() {
    let reference = include_str!("../../../../docs/reference/model.md");
    let block = |start: &str| {
        let blocks = reference.split("```toml\n").skip(1);
        let mut blocks = blocks.map(|rest| rest.split("```").next().unwrap());
        blocks.find(|block| block.starts_with(start)).unwrap()
    };
    let source = format!("title = \"t\"\n{}{}", block("[units]"), block("[costs]"));
    let summary = summary(&source);
    let chain = &summary.chains[0];
    is(chain.costs[0].expected.mean, 1.3);
    is(chain.costs[1].expected.mean, 140e-6);
    let capacity = chain.capacity.as_ref().unwrap();
    is(capacity.expected.mean, 500.0);
    assert_eq!(capacity.bottleneck, "database.query");
    assert_eq!(summary.failures, Vec::<String>::new());
}

#[test]
fn what_ifs_and_sweeps_have_other_costs_and_another_bottleneck() {
    let summary = summary(&shop());
    let chain = &summary.chains[0];
    let [faster, cheaper] = &chain.what_ifs[..] else { panic!() };
    let capacity = faster.capacity.as_ref().unwrap();
    assert_eq!(capacity.bottleneck, "web.page");
    is(capacity.expected.mean, 800.0);
    // Without a stated capacity the database limits nothing; it earns 4 cents a page.
    let capacity = cheaper.capacity.as_ref().unwrap();
    assert_eq!(capacity.parts.len(), 1);
    is(cheaper.costs[0].expected.mean, 0.9);
    is(cheaper.costs[1].expected.mean, 0.014e-2 - 0.04);
    let slow = &chain.sweeps[0].steps[0].cost;
    assert_eq!(slow.name, "1 kreq/s");
    let capacity = slow.capacity.as_ref().unwrap();
    is(capacity.expected.mean, 250.0);
    assert_eq!(capacity.demand.unwrap().verdict, Verdict::Missed);
}

#[test]
fn tables_page_and_json_show_the_model_s_own_units() {
    let summary = summary(&shop());
    let tables = tables(&summary);
    let row = |title: &str, row: usize| {
        let table = tables.iter().find(|table| table.title.starts_with(title));
        table.unwrap_or_else(|| panic!("{title}")).rows[row].join(" | ")
    };
    assert_eq!(
        row("Costs besides time", 0),
        "Browse | energy | 1.3 J/req | 1.3 J/req … 1.3 J/req | 1.5 J/req | 100.0 % | kept"
    );
    assert_eq!(
        row("Costs besides time", 1),
        "Browse | money | 140 EUR/Mreq | 140 EUR/Mreq … 140 EUR/Mreq | – | – | –"
    );
    assert_eq!(
        row("Capacity", 0),
        "Browse | 500 req/s | 500 req/s … 500 req/s | db.query | 400 req/s | 100.0 % | kept"
    );
    assert_eq!(row("Where the energy goes", 0), "db.query | 800 mJ/req | 61.5 %");
    assert_eq!(row("Capacity of each part", 0), "db.query | 4 | 2 kreq/s | 500 req/s | 80 %");
    assert_eq!(
        row("What if, costs", 2),
        "cheaper | 900 mJ/req | -0.0399 EUR/req | 800 req/s | web.page | kept"
    );
    assert_eq!(
        row("query_rate, costs", 0),
        "1 kreq/s | 1.3 J/req | 140 EUR/Mreq | 250 req/s | db.query | missed: demand"
    );
    assert_eq!(row("Inputs", 0), "query_energy | 200 mJ/req | exact | guess | r");

    let page = page(&summary, "").render();
    for text in ["Where the energy goes", "1.3 J/req", "500 req/s", "bottleneck: db.query"] {
        assert!(page.contains(text), "{text}");
    }
    let json: Value = serde_json::from_str(&pretty(&summary)).unwrap();
    let chain = &json["chains"][0];
    assert_eq!(
        (&chain["costs"][1]["name"], &chain["costs"][1]["unit"]),
        (&"money".into(), &"EUR/req".into())
    );
    assert_eq!(chain["capacity"]["bottleneck"], "db.query");
    assert_eq!(chain["what_ifs"][0]["capacity"]["bottleneck"], "web.page");
    let figure = |name: &str| {
        let all = json["figures"].as_array().unwrap();
        all.iter().find(|figure| figure["name"] == name).unwrap_or_else(|| panic!("{name}")).clone()
    };
    let energy = figure("chain.browse.costs.energy");
    assert_eq!((&energy["unit"], energy["value"].as_f64().unwrap()), (&"J/req".into(), 1.3));
    assert_eq!(figure("chain.browse.capacity")["unit"], "req/s");
    is(figure("chain.browse.cheaper.costs.money")["value"].as_f64().unwrap(), -0.03986);
    assert_eq!(json["inputs"][1]["value"], "2 kreq/s");
}

#[test]
fn a_capacity_in_a_what_if_alone_has_a_column() {
    let source = with_units(
        &[],
        "[components.a.operations]\nb = { cost = \"1 ms\" }\n[chains.c]\ncalls = [{ to = \"a.b\", times = 2 }]\n\
         [what_if.limited]\noperations.\"a.b\" = { cost = \"1 ms\", capacity = \"30 req/s\" }\n",
    );
    let summary = summary(&source);
    let found = tables(&summary);
    let table = found.iter().find(|table| table.title.starts_with("What if, costs")).unwrap();
    let rows: Vec<String> = table.rows.iter().map(|row| row.join(" | ")).collect();
    assert_eq!(rows, ["the model as it is | – | – | –", "limited | 15 req/s | a.b | –"]);
    assert_eq!(table.columns.len(), 4);
    // Three levels of calls with two each: 1 + 2 + 4 calls.
    let nested = with_units(
        &[],
        "[costs]\nenergy = \"J\"\n[components.a.operations]\n\
         one = { costs.energy = \"1 J\", capacity = \"70/s\" }\n\
         two = { costs.energy = \"1 J\", calls = [{ to = \"a.one\" }, { to = \"a.one\" }], parallel = true }\n\
         three = { costs.energy = \"1 J\", calls = [{ to = \"a.two\", times = 2 }] }\n\
         [chains.c]\ncalls = [{ to = \"a.three\" }, { to = \"a.one\", times = 3 }]\n",
    );
    let chain = &self::summary(&nested).chains[0];
    is(chain.costs[0].expected.mean, 10.0);
    is(chain.capacity.as_ref().unwrap().expected.mean, 10.0);
}

#[test]
fn a_limit_and_a_demand_that_are_not_kept_are_failures() {
    let source = shop()
        .replace("energy = \"1.5 J/req\"", "energy = \"1.2 J/req\"")
        .replace("0.4 kreq/s", "600 req/s");
    assert_eq!(
        summary(&source).failures,
        [
            "browse: the limit of energy (1.2 J/req) is not kept",
            "browse: the demand (600 req/s) is not met: db.query lets the chain run 500 req/s on average",
        ]
    );
}

#[test]
fn verdicts_on_costs_and_capacity_come_from_the_distribution() {
    let figures = [
        ("energy", "value = \"1 J/req\"\nstochastic = \"0.1 J/req\""),
        ("rate", "low = \"100 req/s\"\nhigh = \"200 req/s\""),
    ];
    let source = |limit: &str, demand: &str| {
        with_units(
            &figures,
            &format!(
                "[costs]\nenergy = \"J/req\"\n[chains.c]\ncalls = [{{ name = \"s\", costs = {{ energy = \"energy\" }}, \
                 capacity = \"rate\" }}]\nlimits.energy = \"{limit}\"\ndemand = \"{demand}\"\n"
            ),
        )
    };
    // Φ(1) = 84.1 %; a quarter of the rates is below 125 a second.
    let found = summary(&source("1.1 J/req", "125 req/s"));
    let chain = &found.chains[0];
    let limit = chain.costs[0].limit.unwrap();
    assert!(
        (limit.probability.value - 0.841).abs() < 0.01 && limit.verdict == Verdict::Missed,
        "{limit:?}"
    );
    let demand = chain.capacity.as_ref().unwrap().demand.unwrap();
    assert!(
        (demand.probability.value - 0.75).abs() < 0.01 && demand.verdict == Verdict::Missed,
        "{demand:?}"
    );
    // 97.5 % of the rates are above 102.5 a second.
    assert!((demand.margin.unwrap() + 22.5).abs() < 0.5, "{demand:?}");
    let found = summary(&source("1.3 J/req", "102 req/s"));
    let chain = &found.chains[0];
    assert_eq!(chain.costs[0].limit.unwrap().verdict, Verdict::Kept);
    let demand = chain.capacity.as_ref().unwrap().demand.unwrap();
    assert_eq!(demand.verdict, Verdict::Kept);
    let inputs = &found.chains[0].costs[0].inputs;
    assert_eq!((inputs.len(), inputs[0].input.as_str(), inputs[0].share), (1, "energy", 1.0));
    assert!((inputs[0].at_high - 1.196).abs() < 1e-3, "{inputs:?}");
    let inputs = &chain.capacity.as_ref().unwrap().inputs;
    assert_eq!(inputs.iter().map(|one| &*one.input).collect::<Vec<_>>(), ["rate"]);
    // A chain that nothing of this kind costs has no row for it.
    let free = source("1.3 J/req", "102 req/s")
        + "[chains.free]\ncalls = [{ name = \"s\", cost = \"1 ms\" }]\n";
    let free = summary(&free);
    let rows =
        tables(&free).into_iter().find(|table| table.title == "Costs besides time").unwrap().rows;
    assert_eq!((rows.len(), free.chains[1].costs[0].expected.mean), (1, 0.0));
    // The chain takes no time, so nothing says how much.
    let titles: Vec<String> = tables(&found).into_iter().map(|table| table.title).collect();
    assert!(
        !titles.iter().any(|title| title == "Cost" || title.contains("time goes")),
        "{titles:?}"
    );
}

#[test]
fn own_units_are_used_in_distributions_correlations_and_formulas() {
    let figures = [
        ("price", "low = \"1 cent/req\"\nhigh = \"3 cent/req\"\ndistribution = \"log-normal\""),
        ("load", "readings = [\"10 req/s\", \"15 req/s\", \"0.02 kreq/s\"]"),
        ("flat", "value = \"2 cent/req\"\nat_least = \"1 cent/req\""),
        ("both", "mixture = [{ of = \"price\", share = 0.5 }, { of = \"flat\", share = 0.5 }]"),
    ];
    let rest = "[[correlation]]\nfirst = \"price\"\nsecond = \"load\"\ncoefficient = 0.5\n\
           [chains.c]\ncalls = [{ name = \"s\", cost = \"price * load / (1 EUR/frame) * 1 frame\" }]\n\
           deadline = \"2 frame\"\n";
    let model = read(&with_units(&figures, rest));
    let values: Vec<String> =
        inputs(&model).iter().map(|input| format!("{} {}", input.value, input.range)).collect();
    assert_eq!(values[1], "15 req/s 3 readings");
    assert_eq!(values[2], "0.02 EUR/req exact");
    // σ = ln 3 / 3.92, so the mean price is √3 · exp(σ²/2) = 1.80 cents.
    assert!(values[3].starts_with("0.019 EUR/req 50 % price"), "{values:?}");
    // The median of the price is √(1 · 3) cents: 15 of them a second are 0.0086 EUR for each 33 ms.
    let nominal = analyze(&model, None).chains[0].cost.first_order.nominal_ns;
    is(nominal, 0.0003_f64.sqrt() * 15.0 * 0.033 * 0.033 * 1e9);
}

#[test]
fn units_that_do_not_fit_name_the_model_s_quantities_with_their_place() {
    let step = |cost: &str| {
        with_units(&[], &format!("[chains.c]\ncalls = [{{ name = \"s\", cost = \"{cost}\" }}]\n"))
    };
    let text = refused(&step("3 EUR + 5 s"));
    assert!(text.contains("units do not fit: money + time"), "{text}");
    assert!(text.contains("m.toml:10:") && text.contains("^^^^^^^^^^^"), "{text}");
    for (cost, expected) in [
        ("3 EUR", "this is money; expected time"),
        ("1 EUR/req / 2 EUR/req * 5 page", "this is information; expected time"),
        ("max(1 req, 1 EUR)", "max of requests and money"),
        ("sqrt(2 EUR) * 1 s", "the root of money has no unit"),
        ("exp(2 req)", "exp of requests"),
        ("mm1(2 req/s, 5 ms)", "rate times service time is requests"),
        ("2 eur", "unknown unit \"eur\"; did you mean \"EUR\"?"),
        ("5 J/req * 1 EUR", "this is energy*money/requests; expected time"),
    ] {
        let text = refused(&step(cost));
        assert!(text.contains(expected) && text.contains("m.toml:10:"), "{cost}: {text}");
    }
    for (keys, expected) in [
        ("value = \"1 EUR\"\nstochastic = \"1 req\"", "stochastic is requests, the value is money"),
        (
            "value = \"1 EUR\"\nat_least = \"2 EUR\"",
            "the value is 1 EUR; it must be at least 2 EUR",
        ),
        ("low = \"1 EUR\"\nhigh = \"2 s\"", "its low end is money, but this is not"),
        ("readings = [\"1 EUR\", \"1 s\"]", "this reading is time, others are not"),
    ] {
        let text = refused(&with_units(&[("x", keys)], ""));
        assert!(text.contains(expected) && text.contains("m.toml:"), "{keys}: {text}");
    }
    let what_if = "[what_if.w]\nfigures.x = \"1 s\"\n";
    let text = refused(&with_units(&[("x", "value = \"1 EUR/s\"")], what_if));
    assert!(text.contains("x is money/time, but this is time"), "{text}");
}

/// The rendered problems of a model with this line under `[units]`, which is line 3.
fn refused_unit(line: &str) -> String {
    refused(&format!("title = \"t\"\n[units]\n{line}\n"))
}

#[test]
fn declarations_that_cannot_be_are_refused_with_place_and_hint() {
    for (line, message, hint) in [
        (
            "h = { quantity = \"hours\" }",
            "\"h\" is already a built-in unit",
            "choose another symbol",
        ),
        (
            "ms = { quantity = \"things\" }",
            "\"ms\" is already the built-in unit s with the prefix m",
            "choose another symbol",
        ),
        (
            "in = { value = \"25.4 mm\", prefixes = true }",
            "\"min\" is already a built-in unit",
            "choose another symbol, or leave out prefixes",
        ),
        (
            "a-b = { quantity = \"x\" }",
            "\"a-b\" cannot be the symbol of a unit",
            "use up to 16 letters",
        ),
        ("1st = { quantity = \"x\" }", "\"1st\" cannot be the symbol", "with a letter first"),
        ("e3 = { quantity = \"x\" }", "\"e3\" cannot be the symbol", "\"2e3\" is a number"),
        ("\"€\" = { quantity = \"x\" }", "not a valid name", "use 1 to 64"),
        (
            "EUR = { quantity = \"my money\" }",
            "\"my money\" cannot be the name of a quantity",
            "use letters",
        ),
        ("tick = { quantity = \"time\" }", "time has the base unit s already", "value = \"1 s\""),
        ("x = {}", "the unit x has either \"quantity\" or \"value\"", "write the quantity"),
        (
            "x = { quantity = \"q\", value = 3 }",
            "has either \"quantity\" or \"value\"",
            "write the quantity",
        ),
        (
            "x = { value = \"0 s\" }",
            "the unit x is 0 of its base unit",
            "write its value in other units",
        ),
        ("x = { value = \"-1 s\" }", "it must be above zero", "write its value"),
        (
            "x = { value = \"EUR / 100\" }",
            "found the name \"EUR\"",
            "write numbers with their units",
        ),
        ("x = { value = \"s / 100\" }", "found the name \"s\"", "a unit follows a number: \"1 s\""),
        ("x = { value = \"1 s + 1 B\" }", "units do not fit: time + information", ""),
    ] {
        let text = refused_unit(line);
        assert!(text.contains(message) && text.contains(hint), "{line}: {text}");
        assert!(text.contains("m.toml:3:") && text.contains('^'), "{line}: {text}");
        assert!(hint.is_empty() || text.contains("= hint: "), "{line}: {text}");
    }
}

#[test]
fn two_declarations_of_one_symbol_or_quantity_are_refused() {
    let text = refused_unit("EUR = { quantity = \"money\" }\nEUR = { value = \"3 s\" }");
    assert!(text.contains("duplicate key") && text.contains("m.toml:4:1"), "{text}");
    assert!(text.contains("= hint: a name can be declared once"), "{text}");
    let text = refused_unit("EUR = { quantity = \"money\" }\nUSD = { quantity = \"money\" }");
    assert!(text.contains("money has the base unit EUR already"), "{text}");
    assert!(text.contains("m.toml:4:") && text.contains("value = \"1 EUR\""), "{text}");
    let text = refused_unit(
        "req = { quantity = \"requests\", prefixes = true }\nkreq = { value = \"1000 req\" }",
    );
    assert!(text.contains("\"kreq\" is already the declared unit req with the prefix k"), "{text}");
    let text = refused_unit("cent = { value = \"0.01 EUR\" }\nEUR = { quantity = \"money\" }");
    assert!(text.contains("unknown unit \"EUR\"") && text.contains("declare EUR above"), "{text}");
    let text = refused(&with_units(&[("page", "value = \"1 ms\"")], ""));
    assert!(
        text.contains("\"page\" is already the name of a unit") && text.contains("rename"),
        "{text}"
    );
}

#[test]
fn too_many_declarations_are_refused() {
    let quantities: String =
        (0..7).map(|index| format!("u{index} = {{ quantity = \"q{index}\" }}\n")).collect();
    let text = refused_unit(&quantities);
    assert!(text.contains("q6 is one quantity too many: a text can declare up to 6"), "{text}");
    assert!(text.contains("m.toml:9:") && text.contains("= hint: a count needs no"), "{text}");
    assert!(!text.contains("q5"), "{text}");
    let units: String =
        (0..101).map(|index| format!("u{index} = {{ value = \"{index}.5 s\" }}\n")).collect();
    let text = refused_unit(&units);
    assert!(text.contains("units has 101 entries; at most 100 are allowed"), "{text}");
}

#[test]
fn costs_and_capacities_that_do_not_fit_are_refused() {
    let model = |costs: &str, step: &str, chain: &str| {
        with_units(
            &[],
            &format!(
                "[costs]\n{costs}\n[components.a.operations.b]\ncost = \"1 ms\"\n\
                 [chains.c]\ncalls = [{{ {step} }}]\n{chain}\n"
            ),
        )
    };
    let energy = "energy = \"J/req\"";
    let step = "name = \"s\", costs = { energy = \"1 J/req\" }, capacity = \"5 req/s\"";
    assert!(file::read(&model(energy, step, "demand = \"3 req/s\""), None).is_ok());
    for (costs, step, chain, expected) in [
        ("energy = \"J/rq\"", step, "", "unknown unit \"rq\"; did you mean \"req\"?"),
        ("a-b = \"J\"", "to = \"a.b\"", "", "\"a-b\" cannot be named in a formula"),
        (energy, "name = \"s\", costs = { enregy = \"1 J/req\" }", "", "did you mean \"energy\"?"),
        (
            "",
            "name = \"s\", costs = { heat = \"1 J\" }",
            "",
            "declare it with its unit: [costs] heat = \"J\"",
        ),
        (
            energy,
            "name = \"s\", costs = { energy = \"1 J\" }",
            "",
            "this is energy; expected energy/requests",
        ),
        (energy, "name = \"s\", capacity = \"5 ms\"", "", "this is time; expected 1/time"),
        (
            energy,
            "name = \"s\", capacity = \"-5 req/s\"",
            "",
            "this is -5 req/s; it must not be negative",
        ),
        (energy, step, "demand = \"3/s\"", "this is 1/time; expected requests/time"),
        (energy, step, "limits = { energy = \"1 s\" }", "this is time; expected energy/requests"),
        (energy, step, "limits = { money = \"1 s\" }", "no cost is called \"money\""),
        (energy, "to = \"a.b\"", "demand = \"3/s\"", "nothing in the chain c has a capacity"),
        (energy, "to = \"a.b\"", "demand = \"3 req/s\"", "nothing in the chain c has a capacity"),
        (
            energy,
            "to = \"a.b\", costs = { energy = \"1 J/req\" }",
            "",
            "a call to an operation has the costs and the capacity of the operation",
        ),
        (energy, "costs = { energy = \"1 J/req\" }", "", "a step needs a name"),
    ] {
        let text = refused(&model(costs, step, chain));
        assert!(text.contains(expected), "{costs} {step} {chain}: {text}");
        assert!(text.contains("m.toml:") && text.contains('^'), "{text}");
        assert_eq!(text.matches("error:").count(), 1, "{text}");
    }
}

#[test]
fn a_cache_and_formulas_pass_costs_and_capacities_on() {
    let source = with_units(
        &[],
        "[costs]\nenergy = \"J/req\"\n\
         [components.db.operations.fetch]\ncost = \"5 ms\"\ncosts = { energy = \"2 J/req\" }\n\
         [caches.k]\nalgorithm = \"lru\"\nsize = \"100 KiB\"\nobject = \"1 KiB\"\nhit = \"0.1 ms\"\n\
         miss = \"db.fetch\"\nrequests = { distribution = \"uniform\", objects = 200 }\n\
         costs = { energy = \"(1 - k.hit_ratio) * db.fetch.costs.energy\" }\n\
         capacity = \"100 req/s / (1 - k.hit_ratio)\"\n\
         [chains.c]\ncalls = [{ to = \"k.request\", times = 3 }]\n",
    );
    let found = summary(&source);
    let chain = &found.chains[0];
    // Half of the objects fit: half of the requests miss.
    assert!((chain.costs[0].expected.mean - 3.0).abs() < 0.05, "{:?}", chain.costs);
    let capacity = chain.capacity.as_ref().unwrap();
    assert!((capacity.expected.mean - 200.0 / 3.0).abs() < 1.0, "{capacity:?}");
    assert_eq!(capacity.bottleneck, "k.request");
}

#[test]
fn measurements_in_the_model_s_own_unit_are_taken_over() {
    let text = r#"{"title": "Meter", "figures": [{"name": "price", "value": 3.0, "unit": "cent/req",
        "low": 2.9, "high": 3.1, "samples": 9, "circumstances": "today"}]}"#;
    let measurements = Measurements::of_summary(text).unwrap();
    let source = with_units(&[("price", "value = \"1 EUR/req\"\nmeasured = \"price\"")], "");
    let model = file::read(&source, Some(&measurements)).unwrap();
    assert_eq!(inputs(&model)[0].value, "0.03 EUR/req");
    assert!((model.figures[0].input.nominal.value - 0.03).abs() < 1e-15);
}

#[test]
fn the_list_of_units_has_those_of_the_model() {
    let rows = units(Some(&read(UNITS))).rows;
    let row = |symbol: &str| rows.iter().find(|row| row[0] == symbol).unwrap().join(" | ");
    assert_eq!(row("EUR"), "EUR | money | base unit |  | the model");
    assert_eq!(row("cent"), "cent | money | 0.01 EUR |  | the model");
    assert_eq!(row("req"), "req | requests | base unit | f p n µ u m c k M G T | the model");
    assert_eq!(row("page"), "page | information | 4096 B |  | the model");
    assert_eq!(row("J"), "J | energy | 1 m^2·kg/s^2 | f p n µ u m c k M G T | built in");
    assert_eq!(row("min"), "min | time | 60 s |  | built in");
    assert_eq!(row("s"), "s | time | base unit | f p n µ u m c k M G T | built in");
    assert_eq!(row("Hz"), "Hz | 1/time | 1/s | f p n µ u m c k M G T | built in");
    assert_eq!(row("%"), "% | a number | 0.01 |  | built in");
    assert!(units(None).rows.iter().all(|row| row[4] == "built in"));
}

#[test]
fn costs_of_calls_that_may_differ_are_judged_by_a_mean_that_can_depend_on_that() {
    let judge = |cost: &str, limit: &str| {
        let found = summary(&format!(
            "title = \"t\"\nsamples = 20000\n[costs]\nenergy = \"J\"\n\
             [figures]\nx = {{ low = \"0 J\", high = \"10 J\", source = \"guess\", reason = \"r\" }}\n\
             [components.c.operations]\na = {{ costs = {{ energy = \"x\" }} }}\n\
             b = {{ costs = {{ energy = \"x\" }} }}\n\
             [chains.k]\ncalls = [{{ name = \"s\", costs = {{ energy = \"{cost}\" }} }}]\n\
             limits = {{ energy = \"{limit}\" }}\nprobability = \"10 %\"\n"
        ));
        let verdict = found.chains[0].costs[0].limit.unwrap().verdict;
        (verdict, found.problems.join("\n"))
    };
    let [a, b] = ["c.a.costs.energy", "c.b.costs.energy"];
    for (cost, limit) in [
        // Independent calls have a mean of 3.33 J.
        (format!("abs({a} - {b})"), "1 J"),
        // And of 6.67 J instead of 5 J.
        (format!("max({a}, {b})"), "6 J"),
        // And of 1.67 J instead of 0.
        (format!("max(0 J, {a} - {b})"), "1 J"),
        (format!("x * {a} / 10 J + {b}"), "9 J"),
    ] {
        let (verdict, problems) = judge(&cost, limit);
        assert_eq!(verdict, Verdict::Undecided, "{cost}");
        assert!(problems.contains("x has one value in all calls of a sample"), "{problems}");
    }
    for (cost, limit) in [
        (format!("{a} + {b}"), "10.5 J"),
        (format!("2 * ({a} + {b}) - {a} / 2 + 1 J"), "19.5 J"),
        (format!("max({a}, 2 J)"), "6 J"),
    ] {
        assert_eq!(judge(&cost, limit).0, Verdict::Kept, "{cost}");
    }
}
