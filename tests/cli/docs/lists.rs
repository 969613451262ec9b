//! What pages list, against what the sources name: rules, reasons, states.

use std::collections::BTreeSet;
use std::fs;

use capstan_bot::intake::Event;
use capstan_bot::setup::PERMISSIONS;
use capstan_model::finding::{RuleEntry, Severity, SeverityChange, rules};
use capstan_model::kinds::{KindReader, ReaderKinds};

use super::{assert_same, page, root};
use capstan_test_parts::page::Page;
use capstan_test_parts::sources::{is_test, walk};

#[test]
fn every_rule_has_its_page_and_its_line_with_its_severity() {
    let severity = |rule: &RuleEntry| match (rule.change(), rule.severity()) {
        (SeverityChange::Never, _) => "error, always",
        (SeverityChange::Free, Severity::Error) => "error",
        (SeverityChange::Free, Severity::Warning) => "warning",
    };
    let real =
        rules::ALL.iter().map(|rule| format!("{} rules/{}.md {}", rule.id(), rule.id(), severity(rule)));
    let index = page("docs/rules.md");
    let rows = index.tables.iter().flat_map(|table| &table.rows);
    let links = index.links.iter().filter(|link| link.starts_with("rules/"));
    let documented = rows.zip(links).map(|(row, link)| format!("{} {link} {}", row[0].text, row[1].text));
    assert_same(documented.collect(), real.collect(), "docs/rules.md");

    let files = fs::read_dir(root().join("docs/rules")).unwrap().map(|file| file.unwrap().file_name());
    let files = files.map(|name| name.into_string().unwrap().trim_end_matches(".md").to_owned());
    assert_same(files.collect(), rules::ALL.iter().map(|rule| rule.id().to_owned()).collect(), "docs/rules");
}

/// The sources below these folders, without tests.
fn sources(folders: &[&str]) -> Vec<String> {
    let files = folders.iter().flat_map(|folder| match root().join(folder) {
        file if file.is_file() => vec![file],
        folder => walk(&folder),
    });
    let product = files.filter(|file| !is_test(file.strip_prefix(root()).unwrap()));
    product.map(|file| before_tests(&fs::read_to_string(file).unwrap()).to_owned()).collect()
}

fn before_tests(source: &str) -> &str {
    source.split_once("#[cfg(test)]\nmod tests {").map_or(source, |(product, _)| product)
}

/// Words of the sources that look like reasons but are something else: kinds, phases, words of API servers and tools.
const NO_REASONS: &[&str] = &[
    "Apply",
    "Event",
    "Succeeded",
    "Normal",
    "Opaque",
    "Resolve",
    "VaultSecret",
    "VaultStore",
    "Warning",
    "Inventory",
    "ConfigMap",
    "ControlPlane",
    "False",
    "FieldManagerConflict",
    "Namespace",
    "Namespaced",
    "ManagedProvider",
    "NamespaceTerminating",
    "OpenStack",
    "Running",
    "Secret",
    "String",
    "Terraform",
    "Trial",
    "True",
    "Unknown",
    "Workers",
];

#[test]
fn every_reason_of_the_reconciler_is_explained() {
    let sources = sources(&[
        "crates/reconciler-core/cloud_kinds.rs",
        "crates/reconciler-core/conclude.rs",
        "crates/reconciler-core/credentials",
        "crates/reconciler-core/hosts/preflight.rs",
        "crates/reconciler-core/leases",
        "crates/reconciler-core/outcome.rs",
        "crates/reconciler-core/owners",
        "crates/reconciler-core/preflight.rs",
        "crates/reconciler-core/reason.rs",
        "crates/reconciler-core/resources",
        "crates/reconciler-core/services",
        "crates/reconciler/reconcile",
        "crates/ports/tree_source.rs",
        "crates/controllers",
        "crates/hosts/pass/status.rs",
        "crates/live/cloud/names.rs",
        "crates/live/cloud/openstack/mod.rs",
        "crates/live/cloud/shared.rs",
        "crates/live/cloud/verdict.rs",
        "crates/live/cloud/words.rs",
        "crates/live/services/cause.rs",
        "crates/live/applying/guards",
        "crates/live/applying/refusal/mod.rs",
        "crates/live/installing/ownership.rs",
        "crates/live/secrets/why.rs",
        "crates/plan/boundary/outside.rs",
    ]);
    let literals = sources.iter().flat_map(|source| source.split('"'));
    let is_word = |text: &&str| {
        text.len() > 3
            && text.starts_with(|c: char| c.is_ascii_uppercase())
            && text.chars().all(|c| c.is_ascii_alphabetic())
    };
    let real: BTreeSet<String> =
        literals.filter(is_word).filter(|word| !NO_REASONS.contains(word)).map(str::to_owned).collect();
    assert!(real.contains("VersionBelowLive") && real.contains("WebhookUnreachable"), "{real:?}");
    let page = page("docs/troubleshooting.md");
    let unexplained: Vec<&String> = real.iter().filter(|reason| !page.spans.contains(reason)).collect();
    assert!(unexplained.is_empty(), "docs/troubleshooting.md does not say what {unexplained:?} mean");
    let made_up: Vec<String> = reasons(&page).into_iter().filter(|reason| !real.contains(reason)).collect();
    assert!(
        made_up.is_empty(),
        "nobody gives as a reason {made_up:?}, which docs/troubleshooting.md explains"
    );
}

/// The first cells of the tables of reasons.
fn reasons(page: &Page) -> Vec<String> {
    let headings = [
        "the-source",
        "refused-for-what-is-in-git",
        "refused-for-what-is-live",
        "objects-that-stay",
        "answers-of-the-api-server",
    ];
    headings.iter().flat_map(|heading| page.rows(heading)).flat_map(|row| row[0].codes.clone()).collect()
}

#[test]
fn what_to_do_is_said_of_every_state_of_a_proposal() {
    let page = page("docs/troubleshooting.md");
    let documented = page.rows("states-of-a-proposal").iter().map(|row| row[0].text.clone()).collect();
    let real = capstan_report::ProposalState::ALL.iter().map(|state| state.as_str().to_owned()).collect();
    assert_same(documented, real, "states of a proposal in docs/troubleshooting.md");
}

#[test]
fn the_permissions_of_the_app_are_those_that_setup_asks_for() {
    let page = page("docs/install-bot.md");
    let mut documented = BTreeSet::new();
    for row in page.rows("1-create-the-github-app") {
        let level = match row[0].text.as_str() {
            "Repository permissions, read and write" => "write",
            "Repository permissions, read" | "Organisation permissions, read" => "read",
            _ => continue,
        };
        let names = row[1].text.split(", ").map(|name| name.trim_start_matches("commit ").replace(' ', "_"));
        documented.extend(names.map(|name| format!("{name}: {level}")));
    }
    let asked = PERMISSIONS.iter().map(|(name, level)| format!("{name}: {level}"));
    assert_same(documented, asked.collect(), "docs/install-bot.md");
}

#[test]
fn every_event_that_is_read_is_subscribed_to() {
    let page = page("docs/install-bot.md");
    let rows = page.rows("1-create-the-github-app");
    let row = rows.iter().find(|row| row[0].text == "Events").unwrap();
    let documented = row[1].text.split(", ").map(|event| event.replace(' ', "_")).collect();
    // GitHub sends these to every App.
    let unasked = [Event::Installation, Event::InstallationRepositories];
    let asked = Event::ALL.into_iter().filter(|event| !unasked.contains(event));
    assert_same(documented, asked.map(|event| event.as_str().to_owned()).collect(), "docs/install-bot.md");
}

/// Every place that reads fields of other projects' kinds, with the versions that it knows.
#[test]
fn every_version_that_is_read_is_listed() {
    let read_for = |reader| match reader {
        KindReader::CloudPreflight => "the preflight of a cloud",
        KindReader::CloudObjects => "the objects of a cloud for which machines wait",
        KindReader::CloudCredentials => "a cluster's credential of its cloud",
        KindReader::Hosts => "hosts",
        KindReader::Pools => "rollouts of a MachinePool",
        KindReader::ControlPlanes => "rollouts of a control plane",
    };
    let kinds = |known: &ReaderKinds| match known.kinds {
        [] => format!("all of {}", known.group),
        kinds => kinds.join(", "),
    };
    let real = ReaderKinds::all()
        .map(|known| format!("{}: {}: {}", read_for(known.reader), kinds(known), known.versions.join(", ")));
    let page = page("docs/api-versions.md");
    let rows = page.rows("which-versions-are-read");
    let documented = rows.iter().map(|row| format!("{}: {}: {}", row[0].text, row[1].text, row[2].text));
    assert_same(documented.collect(), real.collect(), "docs/api-versions.md");
}

/// The words of the glossary are those of the source: a type, a kind, or a key of a file.
#[test]
fn every_word_of_the_glossary_is_in_the_source() {
    let page = page("docs/glossary.md");
    let rows = page.rows("glossary");
    assert!(rows.len() >= 50, "{} words", rows.len());
    let words: Vec<&str> = rows.iter().map(|row| row[0].text.as_str()).collect();
    assert!(
        words.is_sorted_by_key(|word| word.to_lowercase()),
        "they are in the order of the alphabet: {words:?}"
    );
    let sources = sources(&["crates", "src"]).join("\n");
    let mut names: BTreeSet<&str> =
        sources.split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-').collect();
    names.remove("");
    let missing: Vec<&String> = rows
        .iter()
        .flat_map(|row| &row[2].codes)
        .filter(|code| {
            let mut parts = code.split([' ', '.', ':', '/']).filter(|part| !part.is_empty());
            !parts.all(|part| names.contains(part.trim_end_matches("[]")))
        })
        .collect();
    assert!(missing.is_empty(), "docs/glossary.md names {missing:?}, which the source does not have");
}
