//! Links between pages.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use super::{assert_same, page, pages, root};

#[test]
fn every_link_leads_to_a_page_and_a_heading_that_are_there() {
    let pages = pages();
    let anchors: BTreeMap<&str, &BTreeSet<String>> =
        pages.iter().map(|page| (page.path.as_str(), &page.anchors)).collect();
    let mut troubles = Vec::new();
    for page in &pages {
        for link in page.links.iter().filter(|link| !link.starts_with("https://")) {
            let (file, fragment) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { page.path.clone() } else { beside(&page.path, file) };
            let leads_out = page.path.starts_with("docs/") && !target.starts_with("docs/");
            let is_there = match anchors.get(target.as_str()) {
                Some(anchors) => fragment.is_empty() || anchors.contains(fragment),
                None => fragment.is_empty() && !target.ends_with(".md") && root().join(&target).exists(),
            };
            if leads_out || !is_there {
                troubles.push(format!("{}: {link}", page.path));
            }
        }
    }
    assert!(troubles.is_empty(), "links that lead nowhere, or out of the book:\n{}", troubles.join("\n"));
}

/// The book has every page once.
#[test]
fn the_summary_names_every_page_once() {
    let summary = page("docs/SUMMARY.md");
    let named: Vec<String> = summary.links.iter().map(|link| beside("docs/SUMMARY.md", link)).collect();
    let once: BTreeSet<String> = named.iter().cloned().collect();
    assert_eq!(named.len(), once.len(), "a page stands there twice: {named:#?}");
    let all = pages().into_iter().map(|page| page.path);
    let all = all.filter(|path| path.starts_with("docs/") && path != "docs/SUMMARY.md");
    assert_same(once, all.collect(), "docs/SUMMARY.md");
}

fn beside(page: &str, link: &str) -> String {
    let mut path = PathBuf::from(page).parent().unwrap().to_path_buf();
    for component in Path::new(link).components() {
        match component {
            Component::ParentDir => {
                path.pop();
            }
            other => path.push(other),
        }
    }
    path.to_str().unwrap().to_owned()
}
