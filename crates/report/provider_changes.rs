//! Changes of the providers of a set, folded, the worst first.

use std::cmp::Reverse;

use super::markdown::{code, one_line, prose};
use capstan_model::finding::{Finding, Severity};
use capstan_model::kinds::is_provider;
use capstan_model::wording::count;
use capstan_plan::upgrade::Upgrade;
use capstan_providers::{ContainerChange, ProviderChange, ProviderKind};

/// Lines of one kind shown for each provider.
const MOST_LINES: usize = 20;

/// Above the rows.
pub(crate) const HEAD: &str = "\n### Providers\n\n";

/// One folded part a provider: those with errors first, then those with warnings, then those that change;
/// equal ones in clusterctl's order.
pub(crate) fn rows(upgrade: &Upgrade) -> Vec<String> {
    let mut providers: Vec<(&ProviderChange, Option<Severity>)> = upgrade
        .providers
        .iter()
        .map(|provider| (provider, worst_of(&upgrade.findings, &provider.label)))
        .collect();
    providers.sort_by_key(|(provider, worst)| Reverse((*worst, provider.from != provider.to)));
    providers.into_iter().map(|(provider, worst)| row(provider, worst)).collect()
}

/// The worst finding about a provider.
fn worst_of(findings: &[Finding], label: &str) -> Option<Severity> {
    let is_its = |finding: &&Finding| {
        finding.object.as_ref().is_some_and(|object| {
            is_provider(&object.group, &object.kind)
                && ProviderKind::parse(&object.kind).is_some_and(|kind| kind.label(&object.name) == label)
        })
    };
    findings.iter().filter(is_its).map(Finding::severity).max()
}

fn row(provider: &ProviderChange, worst: Option<Severity>) -> String {
    let mut parts = vec![step(provider)];
    let objects = &provider.objects;
    let counted =
        [(objects.add.len(), "come"), (objects.change.len(), "change"), (objects.remove.len(), "go")];
    let counted: Vec<String> =
        counted.iter().filter(|(many, _)| *many > 0).map(|(many, verb)| format!("{many} {verb}")).collect();
    if !counted.is_empty() {
        parts.push(format!("objects: {}", counted.join(", ")));
    }
    let gains: usize = provider.rights.iter().map(|change| change.gains.len()).sum();
    if gains > 0 {
        parts.push(count(gains, "more right", "more rights"));
    }
    if !provider.unknown.is_empty() {
        parts.push("partly unknown".to_owned());
    }
    match worst {
        Some(Severity::Error) => parts.push("errors".to_owned()),
        Some(Severity::Warning) => parts.push("warnings".to_owned()),
        None => {}
    }
    let lines = lines(provider);
    let body = if lines.is_empty() { "Nothing else changes.\n".to_owned() } else { lines.concat() };
    format!(
        "<details><summary>{}: {}</summary>\n\n{body}\n</details>\n\n",
        html(&provider.label, 100),
        html(&parts.join("; "), 300)
    )
}

fn step(provider: &ProviderChange) -> String {
    match (&provider.from, &provider.to) {
        (Some(from), Some(to)) if from == to => format!("stays at {from}"),
        (Some(from), Some(to)) => format!("{from} to {to}"),
        (None, Some(to)) => to.clone(),
        (Some(from), None) => format!("{from} to an unknown version, or to none"),
        (None, None) => "no version is known".to_owned(),
    }
}

/// The lines of a list: first what matters most to the operator.
fn lines(provider: &ProviderChange) -> Vec<String> {
    let mut all = Vec::new();
    let mut add = |lines: Vec<String>| {
        let left = lines.len().saturating_sub(MOST_LINES);
        all.extend(lines.into_iter().take(MOST_LINES).map(|line| format!("- {line}\n")));
        if left > 0 {
            all.push(format!("- … and {left} more\n"));
        }
    };
    add(provider.unknown.iter().map(|why| prose(why, 600)).collect());
    let rights = provider.rights.iter().flat_map(|change| {
        let who = code(&change.subject.to_string(), 200);
        let gains = change.gains.iter().map(move |right| (true, right));
        let all = gains.chain(change.loses.iter().map(move |right| (false, right)));
        all.map(move |(gained, right)| {
            format!(
                "{who} {}: {}",
                if gained { "may now" } else { "may no longer" },
                prose(&right.to_string(), 300)
            )
        })
        .collect::<Vec<_>>()
    });
    add(rights.collect());
    let definitions = provider.crds.iter().flat_map(|definition| {
        let name = code(&definition.name, 200);
        let gone = definition.gone.iter().map(|note| ("gone", note));
        let notes = gone.chain(definition.narrowed.iter().map(|note| ("narrowed", note)));
        let notes: Vec<String> = notes
            .map(|(word, note)| {
                let at = code(&format!("{} {}", note.version, note.path), 300);
                format!("{name} {word}: {at} {}", prose(&note.what, 300))
            })
            .collect();
        let versions = definition.versions.iter().map(|version| code(&version.name, 50)).collect::<Vec<_>>();
        let changed = (!versions.is_empty()).then(|| format!("{name} versions: {}", versions.join(", ")));
        notes.into_iter().chain(changed).collect::<Vec<_>>()
    });
    add(definitions.collect());
    let images = provider
        .images
        .iter()
        .map(|change| format!("Image {} → {}", maybe(change.from.as_deref()), maybe(change.to.as_deref())));
    add(images.collect());
    add(provider.feature_gates.iter().map(|change| container("Feature gate", change)).collect());
    add(provider.arguments.iter().map(|change| container("Argument", change)).collect());
    let objects = &provider.objects;
    let named = [("Comes", &objects.add), ("Changes", &objects.change), ("Goes", &objects.remove)];
    add(named
        .into_iter()
        .flat_map(|(word, ids)| ids.iter().map(move |id| format!("{word}: {}", code(&id.to_string(), 200))))
        .collect());
    all
}

fn container(what: &str, change: &ContainerChange) -> String {
    format!(
        "{what} {} of {}: {} → {}",
        code(&change.name, 100),
        code(&change.container, 200),
        maybe(change.change.from.as_deref()),
        maybe(change.change.to.as_deref())
    )
}

fn maybe(text: Option<&str>) -> String {
    text.map_or_else(|| "nothing".to_owned(), |text| code(text, 200))
}

/// Text in HTML, where no Markdown is read.
fn html(text: &str, max: usize) -> String {
    one_line(text, max).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
