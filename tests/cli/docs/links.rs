//! Links between pages.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use capstan_report::Refusal;

use super::{assert_same, page, pages, root};
use capstan_test_parts::sources::{is_test, sources, walk};

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

/// What a refusal names is there, below the heading that it names.
#[test]
fn every_refusal_names_a_page_and_a_heading_that_are_there() {
    let pages = pages();
    let is_there = |place: &str| {
        let (file, heading) = place.split_once('#')?;
        let page = pages.iter().find(|page| page.path == format!("docs/{file}"))?;
        page.anchors.contains(heading).then_some(())
    };
    let all = Refusal::ALL.iter().map(|refusal| (refusal, refusal.place()));
    let troubles: Vec<_> = all.filter(|(_, place)| is_there(place).is_none()).collect();
    assert!(troubles.is_empty(), "refusals that lead nowhere: {troubles:#?}");
}

/// One that nothing gives is explained in vain.
#[test]
fn every_refusal_is_given_somewhere() {
    let product = sources().into_iter().filter(|file| {
        let path = file.strip_prefix(root()).unwrap();
        !is_test(path) && !path.ends_with("report/pages.rs")
    });
    let sources: String = product.map(|file| std::fs::read_to_string(file).unwrap()).collect();
    let own = std::fs::read_to_string(root().join("crates/report/pages.rs")).unwrap();
    let is_given = |refusal: &&Refusal| {
        let name = format!("Refusal::{refusal:?}");
        [&sources, &own].iter().any(|text| {
            text.match_indices(&name).any(|(at, _)| {
                !text[at + name.len()..].starts_with(|next: char| next.is_ascii_alphanumeric())
            })
        })
    };
    let unused: Vec<&Refusal> = Refusal::ALL.iter().filter(|refusal| !is_given(refusal)).collect();
    assert!(unused.is_empty(), "nobody gives {unused:?}");
}

/// What the security model believes or calls is held by a test, and a test of that name is there.
#[test]
fn every_test_that_the_security_model_names_is_there() {
    let text = std::fs::read_to_string(root().join("docs/security.md")).unwrap();
    // Each row of a table whose last column is `held by` names one test at least.
    let mut named: BTreeSet<String> = BTreeSet::new();
    let mut rows = 0;
    for table in text.split("\n\n").filter(|table| table.starts_with("| ")) {
        let mut lines = table.lines();
        if !lines.next().unwrap().ends_with("| held by |") {
            continue;
        }
        for row in lines.skip(1) {
            let (_, held) = row.strip_suffix(" |").unwrap().rsplit_once(" | ").unwrap();
            let tests = held.split('`').filter(|name| name.contains("::")).map(str::to_owned);
            let tests: Vec<String> = tests.collect();
            assert!(!tests.is_empty(), "no test holds {row}");
            named.extend(tests);
            rows += 1;
        }
    }
    assert!(rows >= 40, "{rows} rows: {named:?}");
    let files: Vec<PathBuf> =
        ["crates", "src", "tests"].iter().flat_map(|folder| walk(&root().join(folder))).collect();
    let is_there = |name: &&String| {
        let (module, function) = name.rsplit_once("::").unwrap();
        let named = |file: &&PathBuf| {
            let folder = file.parent().filter(|_| file.ends_with("mod.rs"));
            folder.unwrap_or(file.as_path()).file_stem().is_some_and(|stem| stem == module)
        };
        let has =
            |file: &PathBuf| std::fs::read_to_string(file).unwrap().contains(&format!("fn {function}("));
        files.iter().filter(named).any(has)
    };
    let missing: Vec<&String> = named.iter().filter(|name| !is_there(name)).collect();
    assert!(missing.is_empty(), "docs/security.md names tests that are not there: {missing:#?}");
}

/// What is read of others is bounded, and a test of each bound is where the page says.
#[test]
fn every_test_of_a_bound_is_where_the_page_says() {
    let text = std::fs::read_to_string(root().join("docs/limits.md")).unwrap();
    let (_, table) = text.split_once("| test |\n").unwrap();
    let rows: Vec<&str> = table.lines().skip(1).take_while(|line| line.starts_with('|')).collect();
    assert!(rows.len() >= 11, "{rows:#?}");
    for row in rows {
        let (_, held) = row.strip_suffix(" |").unwrap().rsplit_once(" | ").unwrap();
        let file = held.split('`').nth(1).unwrap_or_default();
        assert!(root().join(file).is_file(), "no test is there: {row}");
    }
}

/// The book has every page once.
#[test]
fn the_summary_names_every_page_once() {
    let summary = page("docs/SUMMARY.md");
    let named: Vec<String> = summary.links.iter().map(|link| beside("docs/SUMMARY.md", link)).collect();
    let once: BTreeSet<String> = named.iter().cloned().collect();
    assert_eq!(named.len(), once.len(), "a page is there twice: {named:#?}");
    let all = pages().into_iter().map(|page| page.path);
    let all = all.filter(|path| path.starts_with("docs/") && path != "docs/SUMMARY.md");
    assert_same(once, all.collect(), "docs/SUMMARY.md");
}

pub(super) fn beside(page: &str, link: &str) -> String {
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
