//! Metrics are said in one table: what the source counts, what the docs list and what a program tells are held against
//! it.

use std::collections::BTreeSet;
use std::path::Path;

use capstan_telemetry::{METRICS, Program};
use capstan_test_parts::metrics::{MetricTable, documented, table};
use capstan_test_parts::sources::{is_test, sources};
use syn::parse::ParseStream;
use syn::visit::Visit;

/// The macros that count, in a source: `metrics::counter!("name", "label" => value)`.
#[derive(Default)]
struct Counting {
    told: MetricTable,
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

const SECTIONS: [(&str, Program); 2] = [("the-bot", Program::Bot), ("the-reconciler", Program::Reconciler)];

#[test]
fn the_docs_list_every_metric_of_both_programs() {
    for (section, program) in SECTIONS {
        let rows = documented(section).into_iter().map(|(name, (kind, labels, _))| (name, (kind, labels)));
        assert_eq!(
            rows.collect::<MetricTable>(),
            table(|metric| metric.programs.contains(&program)),
            "{section}"
        );
    }
}
