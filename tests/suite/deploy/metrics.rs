//! Metrics are said in one table: what the source counts, what the docs list and what a program tells are held against
//! it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use capstan_telemetry::{METRICS, Metric, Program};
use syn::parse::ParseStream;
use syn::visit::Visit;

use crate::docs::page;
use crate::house::{is_test, sources};

/// A metric's kind and labels, by its name.
type Told = BTreeMap<String, (String, BTreeSet<String>)>;

fn table(of: impl Fn(&Metric) -> bool) -> Told {
    let told = METRICS.iter().filter(|metric| of(metric)).map(|metric| {
        let labels = metric.labels.iter().map(|label| (*label).to_owned()).collect();
        (metric.name.to_owned(), (metric.kind.as_str().to_owned(), labels))
    });
    told.collect()
}

/// The macros that count, in a source: `metrics::counter!("name", "label" => value)`.
#[derive(Default)]
struct Counting {
    told: Told,
}

impl<'ast> Visit<'ast> for Counting {
    fn visit_macro(&mut self, found: &'ast syn::Macro) {
        let path: Vec<String> = found.path.segments.iter().map(|part| part.ident.to_string()).collect();
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        let ["metrics", kind @ ("counter" | "gauge" | "histogram")] = path.as_slice() else { return };
        let read = |input: ParseStream<'_>| {
            let name: syn::LitStr = input.parse()?;
            let mut labels = BTreeSet::new();
            while !input.is_empty() {
                input.parse::<syn::Token![,]>()?;
                labels.insert(input.parse::<syn::LitStr>()?.value());
                input.parse::<syn::Token![=>]>()?;
                input.parse::<syn::Expr>()?;
            }
            Ok((name.value(), labels))
        };
        // Only the table itself goes over names.
        let Ok((name, labels)) = found.parse_body_with(read) else { return };
        let known = self.told.insert(name.clone(), ((*kind).to_owned(), labels.clone()));
        if let Some(known) = known {
            assert_eq!(known, ((*kind).to_owned(), labels), "{name} is counted in two ways");
        }
    }
}

#[test]
fn the_table_has_what_the_source_counts_and_nothing_else() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut counting = Counting::default();
    for file in sources().into_iter().filter(|file| !is_test(file.strip_prefix(root).unwrap())) {
        let source = std::fs::read_to_string(&file).unwrap();
        counting.visit_file(&syn::parse_file(&source).unwrap());
    }
    assert_eq!(counting.told, table(|_| true));
}

#[test]
fn names_and_units_follow_the_conventions_of_prometheus() {
    for metric in METRICS {
        let name = metric.name;
        assert!(name.starts_with("capstan_"), "{name}");
        assert!(name.chars().all(|letter| letter.is_ascii_lowercase() || letter == '_'), "{name}");
        assert_eq!(
            name.ends_with("_total"),
            metric.kind.as_str() == "counter",
            "{name}: counters end in _total"
        );
        for unit in ["_ms", "_millis", "_milliseconds", "_minutes", "_kb", "_mb", "_mib", "_percent"] {
            assert!(!name.ends_with(unit), "{name}: base units are seconds and bytes");
        }
        assert!(!metric.labels.contains(&"cluster"), "{name}: a fleet has thousands of clusters");
        assert!(!metric.help.is_empty() && !metric.help.ends_with('.'), "{name}");
    }
}

/// The rows below a heading of `docs/metrics.md`: of each metric its kind, its labels, and what is said as code of it.
pub(super) fn documented(heading: &str) -> BTreeMap<String, (String, BTreeSet<String>, BTreeSet<String>)> {
    let page = page("docs/metrics.md");
    let set = |codes: &[String]| codes.iter().cloned().collect::<BTreeSet<_>>();
    let rows = page.rows(heading).into_iter().map(|row| {
        let [name, kind, labels, says] = row.as_slice() else { panic!("no four cells: {row:?}") };
        (name.text.clone(), (kind.text.clone(), set(&labels.codes), set(&says.codes)))
    });
    rows.collect()
}

const SECTIONS: [(&str, Program); 2] = [("the-bot", Program::Bot), ("the-reconciler", Program::Reconciler)];

#[test]
fn the_docs_list_every_metric_of_both_programs() {
    for (section, program) in SECTIONS {
        let rows = documented(section).into_iter().map(|(name, (kind, labels, _))| (name, (kind, labels)));
        assert_eq!(rows.collect::<Told>(), table(|metric| metric.programs.contains(&program)), "{section}");
    }
}

/// What `/metrics` answered, held against the table: each metric is in it, described, of its kind, with its labels. The
/// names that there are.
pub(crate) fn names_of(answer: &str, program: Program) -> BTreeSet<String> {
    let mut told = Told::new();
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
