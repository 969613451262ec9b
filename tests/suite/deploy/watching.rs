//! Alert rules and the board ask for metrics that there are, by labels and values that these have, in PromQL that parses.

use std::collections::BTreeSet;

use capstan_telemetry::{METRICS, Program};
use promql_parser::label::{MatchOp, Matchers};
use promql_parser::parser::{Expr, LabelModifier};
use serde_json::Value;

use super::metrics::documented;
use super::{read, texts};

/// Labels that Prometheus gives to what it scrapes.
const OF_TARGETS: &[&str] = &["cluster", "namespace", "job", "instance", "pod"];

/// Labels whose values are too many for the docs.
const OPEN: &[&str] = &["code", "fleet", "kind"];

/// Why an expression cannot be what was meant.
fn problems(expression: &str, programs: &[Program]) -> Vec<String> {
    let expression = expression.replace("$__rate_interval", "5m");
    let mut found = Vec::new();
    match promql_parser::parser::parse(&expression) {
        Ok(parsed) => drop(look(&parsed, programs, &mut found)),
        Err(error) => found.push(error),
    }
    found.into_iter().map(|problem| format!("{expression}: {problem}")).collect()
}

/// The labels that the series of an expression can have.
fn look(expression: &Expr, programs: &[Program], found: &mut Vec<String>) -> BTreeSet<String> {
    let of = |parts: &[&Expr], found: &mut Vec<String>| -> BTreeSet<String> {
        parts.iter().flat_map(|part| look(part, programs, found)).collect()
    };
    match expression {
        Expr::Aggregate(aggregate) => {
            let labels = of(&[&aggregate.expr], found);
            let by = aggregate.modifier.as_ref().map(LabelModifier::labels);
            for label in by.map(|by| by.labels.clone()).unwrap_or_default() {
                if !labels.contains(&label) {
                    found.push(format!("`{label}` is no label of what is aggregated"));
                }
            }
            labels
        }
        Expr::Unary(unary) => of(&[&unary.expr], found),
        Expr::Paren(paren) => of(&[&paren.expr], found),
        Expr::Subquery(subquery) => of(&[&subquery.expr], found),
        Expr::Binary(binary) => of(&[&binary.lhs, &binary.rhs], found),
        Expr::Call(call) => {
            let arguments: Vec<&Expr> = call.args.args.iter().map(AsRef::as_ref).collect();
            of(&arguments, found)
        }
        Expr::MatrixSelector(matrix) => {
            select(matrix.vs.name.as_deref(), &matrix.vs.matchers, programs, found)
        }
        Expr::VectorSelector(vector) => select(vector.name.as_deref(), &vector.matchers, programs, found),
        Expr::NumberLiteral(_) | Expr::StringLiteral(_) | Expr::Extension(_) => BTreeSet::new(),
    }
}

fn select(
    name: Option<&str>,
    matchers: &Matchers,
    programs: &[Program],
    found: &mut Vec<String>,
) -> BTreeSet<String> {
    let name = name.unwrap_or_default();
    let part = ["_bucket", "_sum", "_count"].iter().find_map(|part| name.strip_suffix(part));
    let is_part = |kind: &str| part.is_some() == (kind == "histogram");
    let metric = METRICS.iter().find(|metric| {
        metric.name == part.unwrap_or(name)
            && is_part(metric.kind.as_str())
            && programs.iter().any(|program| metric.programs.contains(program))
    });
    let Some(metric) = metric else {
        found.push(format!("`{name}` is told by none of {programs:?}"));
        return BTreeSet::new();
    };
    let labels = metric.labels.iter().chain(OF_TARGETS).map(|label| (*label).to_owned());
    let labels: BTreeSet<String> = labels.chain(name.ends_with("_bucket").then(|| "le".to_owned())).collect();
    let rows = [documented("the-bot"), documented("the-reconciler")];
    for matcher in &matchers.matchers {
        let label = &matcher.name;
        if !labels.contains(label) {
            found.push(format!("`{name}` has no label `{label}`"));
        }
        if OPEN.contains(&label.as_str()) {
            continue;
        }
        let values = match matcher.op {
            MatchOp::Equal | MatchOp::NotEqual => vec![matcher.value.as_str()],
            MatchOp::Re(_) | MatchOp::NotRe(_) => matcher.value.split('|').collect(),
        };
        for value in values {
            let is_known = |(_, _, says): &(String, BTreeSet<String>, BTreeSet<String>)| says.contains(value);
            if !rows.iter().any(|rows| rows.get(metric.name).is_some_and(is_known)) {
                found.push(format!("`{label}` of `{name}` is never `{value}`"));
            }
        }
    }
    labels
}

#[test]
fn alerts_ask_for_what_there_is_and_say_what_to_do() {
    let rules: Value = serde_saphyr::from_str(&read("monitoring/alerts.yaml")).unwrap();
    let groups = rules["groups"].as_array().unwrap();
    let mut names = BTreeSet::new();
    let mut found = Vec::new();
    for (group, program) in groups.iter().zip([Program::Bot, Program::Reconciler]) {
        for rule in group["rules"].as_array().unwrap() {
            let text = |pointer: &str| rule.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
            let alert = text("/alert");
            assert!(alert.starts_with("Capstan") && names.insert(alert.to_owned()), "{alert}");
            assert!(["critical", "warning"].contains(&text("/labels/severity")), "{alert}");
            for annotation in ["summary", "description", "runbook"] {
                assert!(!text(&format!("/annotations/{annotation}")).is_empty(), "{alert}: no {annotation}");
            }
            found.extend(problems(text("/expr"), &[program]));
        }
    }
    let groups: Vec<&Value> = groups.iter().map(|group| &group["name"]).collect();
    // By these the chart knows which of them it brings.
    assert_eq!(groups, ["capstan-bot", "capstan-reconciler"]);
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn the_board_asks_for_what_there_is() {
    let board: Value = serde_json::from_str(&read("monitoring/board.json")).unwrap();
    let mut ids = BTreeSet::new();
    let mut found = Vec::new();
    let mut asked = 0;
    for panel in board["panels"].as_array().unwrap() {
        assert!(ids.insert(panel["id"].as_u64().unwrap()), "{} is there twice", panel["id"]);
        assert_eq!(panel["type"] == "row", panel["targets"].is_null(), "{}", panel["title"]);
        for target in panel["targets"].as_array().into_iter().flatten() {
            found.extend(problems(target["expr"].as_str().unwrap(), &[Program::Bot, Program::Reconciler]));
            asked += 1;
        }
    }
    assert!(asked > 10);
    assert_eq!(found, Vec::<String>::new());
    assert_eq!(texts(&board["tags"]), ["capstan"]);
}

#[test]
fn what_cannot_be_meant_is_found() {
    let both = [Program::Bot, Program::Reconciler];
    for (expression, problem) in [
        ("capstan_leader ==", "invalid promql query"),
        ("capstan_leaders", "`capstan_leaders` is told by none of [Bot, Reconciler]"),
        ("capstan_jobs{phase=\"dead\"}", "`capstan_jobs` has no label `phase`"),
        ("capstan_jobs{state=\"died\"}", "`state` of `capstan_jobs` is never `died`"),
        ("sum by (route) (capstan_webhooks_total)", "`route` is no label of what is aggregated"),
        (
            "rate(capstan_reconcile_duration_seconds[5m])",
            "`capstan_reconcile_duration_seconds` is told by none",
        ),
    ] {
        let found = problems(expression, &both);
        assert!(found.iter().any(|found| found.contains(problem)), "{expression}: {found:?}");
    }
    assert_eq!(problems("capstan_leader", &[Program::Bot]).len(), 1);
}
