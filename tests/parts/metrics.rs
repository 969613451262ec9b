//! What is said of metrics: the table of the programs, the page, and what `/metrics` answers.

use std::collections::{BTreeMap, BTreeSet};

use capstan_telemetry::{METRICS, Metric, Program};

use crate::page;

/// A metric's kind and labels, by its name.
pub type MetricTable = BTreeMap<String, (String, BTreeSet<String>)>;

/// The table of the metrics that are meant.
pub fn table(of: impl Fn(&Metric) -> bool) -> MetricTable {
    let told = METRICS.iter().filter(|metric| of(metric)).map(|metric| {
        let labels = metric.labels.iter().map(|label| (*label).to_owned()).collect();
        (metric.name.to_owned(), (metric.kind.as_str().to_owned(), labels))
    });
    told.collect()
}

/// The rows below a heading of `docs/metrics.md`: of each metric its kind, its labels, and what is said as code of it.
pub fn documented(heading: &str) -> BTreeMap<String, (String, BTreeSet<String>, BTreeSet<String>)> {
    let page = page::of("docs/metrics.md");
    let set = |codes: &[String]| codes.iter().cloned().collect::<BTreeSet<_>>();
    let rows = page.rows(heading).into_iter().map(|row| {
        let [name, kind, labels, says] = row.as_slice() else { panic!("no four cells: {row:?}") };
        (name.text.clone(), (kind.text.clone(), set(&labels.codes), set(&says.codes)))
    });
    rows.collect()
}

/// What `/metrics` answered, held against the table: each metric is in it, described, of its kind, with its labels. The
/// names that there are.
pub fn names_of(answer: &str, program: Program) -> BTreeSet<String> {
    let mut told = MetricTable::new();
    let mut described = BTreeSet::new();
    for line in answer.lines() {
        if let Some((name, help)) = line.strip_prefix("# HELP ").and_then(|rest| rest.split_once(' ')) {
            let metric = METRICS.iter().find(|metric| metric.name == name);
            assert_eq!(metric.map(|metric| metric.help), Some(help));
            described.insert(name.to_owned());
        } else if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' '))
        {
            told.insert(name.to_owned(), (kind.to_owned(), BTreeSet::new()));
        } else if !line.is_empty() {
            let (series, _) = line.rsplit_once(' ').unwrap();
            let (name, labels) = series.split_once('{').unwrap_or((series, ""));
            let family = ["_bucket", "_sum", "_count"]
                .iter()
                .find_map(|part| name.strip_suffix(part).filter(|family| told.contains_key(*family)));
            let (_, known) = told.get_mut(family.unwrap_or(name)).unwrap();
            // Values hold neither `="` nor `",`: they come from closed sets.
            let names = labels.split("\",").filter_map(|label| Some(label.split_once("=\"")?.0.to_owned()));
            known.extend(names.filter(|label| label != "le"));
        }
    }
    let table = table(|metric| metric.programs.contains(&program));
    for (name, seen) in &told {
        assert_eq!(Some(seen), table.get(name), "{name}");
    }
    let names: BTreeSet<String> = told.into_keys().collect();
    assert_eq!(described, names, "every metric has a description");
    names
}
