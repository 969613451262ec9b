//! The pages of `docs/`, in the program, so that what a message names can be read offline.

use capstan_plan::policy;

/// Declares pages by their names below `docs/`.
macro_rules! pages {
    ($($name:literal,)*) => {
        &[$(($name, include_str!(concat!("../../../docs/", $name, ".md"))),)*]
    };
}

/// Pages but those of rules, which the catalogue has. A test compares them with the folder.
const PAGES: &[(&str, &str)] = pages![
    "get-capstan",
    "tutorials/from-flux",
    "tutorials/inventory",
    "tutorials/management-cluster",
    "examples",
    "install-bot",
    "first-contact",
    "install-reconciler",
    "deploy",
    "releases",
    "campaigns",
    "flux",
    "create-cluster",
    "pull-requests",
    "database",
    "troubleshooting",
    "faq",
    "commands",
    "command-line",
    "settings",
    "service-settings",
    "dashboard",
    "page",
    "inventory",
    "providers",
    "clouds",
    "cloud-credentials",
    "secrets",
    "services",
    "owners",
    "hosts",
    "metrics",
    "machines",
    "compatibility",
    "limits",
    "glossary",
    "rules",
    "api-versions",
    "architecture",
    "compared",
    "definitions",
    "giant-swarm",
    "performance",
    "reconciler",
    "render",
    "security",
    "template-names",
    "upgrades",
    "variables",
];

/// A page as it is written, in Markdown: by its name, `settings`, or by the rule that it explains.
pub(super) fn page(name: &str) -> Option<&'static str> {
    let written = PAGES.iter().find(|(page, _)| *page == name).map(|(_, text)| *text);
    let of_rule = || Some(policy::rule(name.strip_prefix("rules/").unwrap_or(name))?.about().page());
    written.or_else(of_rule)
}

/// The names of pages, in their order; those of rules are in the page `rules`.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    PAGES.iter().map(|(name, _)| *name)
}

/// The heading of a page.
pub(super) fn title(text: &str) -> &str {
    text.lines().next().unwrap_or_default().trim_start_matches('#').trim()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    #[test]
    fn every_page_of_the_documentation_is_there() {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
        let mut found = BTreeSet::new();
        for folder in ["", "tutorials"] {
            for entry in docs.join(folder).read_dir().unwrap() {
                let path = entry.unwrap().path();
                let is_page = path.extension().is_some_and(|extension| extension == "md");
                let name = path.strip_prefix(&docs).unwrap().with_extension("");
                found.extend(is_page.then(|| name.to_str().unwrap().to_owned()));
            }
        }
        // The contents of the book.
        found.retain(|name| name != "README" && name != "SUMMARY");
        assert_eq!(names().map(str::to_owned).collect::<BTreeSet<_>>(), found);
        assert!(names().all(|name| !title(page(name).unwrap()).is_empty()));
    }

    #[test]
    fn a_rules_page_is_found_by_its_id() {
        let page_of_rule = page("kubernetes-minor-skip").unwrap();
        assert!(page_of_rule.starts_with("# kubernetes-minor-skip\n"), "{page_of_rule}");
        assert_eq!(page("rules/kubernetes-minor-skip"), Some(page_of_rule));
        assert_eq!(page("kubernetes"), None);
    }
}
