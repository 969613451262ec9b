//! The book that `make docs` builds: every page is in it, no link of it leads nowhere, and none of its text is raw Markdown.
//! Skipped, aloud, where mdBook is neither in the search path nor where `make docs` puts it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use capstan_test_support::tally;

use super::{pages, root};

/// Pages that mdBook adds, and that hold the others' text or none.
const ADDED: [&str; 3] = ["404.html", "print.html", "toc.html"];

fn mdbook() -> Option<PathBuf> {
    let named = std::env::var_os("PATH")?;
    let folders = std::env::split_paths(&named).chain([root().join("target/tools/bin")]);
    folders.map(|folder| folder.join("mdbook")).find(|file| file.is_file())
}

/// What one page of the book has.
#[derive(Default)]
struct Built {
    ids: BTreeSet<String>,
    links: Vec<String>,
    /// Running text, without code.
    text: Vec<String>,
}

/// Reads mdBook's output, which is regular: text and values have no `<` or `>`.
fn read(html: &str) -> Built {
    let mut built = Built::default();
    let (mut is_main, mut code) = (false, 0_usize);
    for part in html.split('<').skip(1) {
        let (tag, text) = part.split_once('>').unwrap_or((part, ""));
        let name = tag.split([' ', '\n', '/']).find(|word| !word.is_empty()).unwrap_or_default();
        let is_end = tag.starts_with('/');
        let value = |key: &str| Some(tag.split_once(&format!(" {key}=\""))?.1.split_once('"')?.0.to_owned());
        built.ids.extend(value("id"));
        match (name, is_end) {
            ("main", end) => is_main = !end,
            ("code" | "pre" | "script" | "style", false) => code += 1,
            ("code" | "pre" | "script" | "style", true) => code -= 1,
            ("a" | "img", false) if is_main => built.links.extend(value("href").or_else(|| value("src"))),
            _ => {}
        }
        if is_main && code == 0 && !text.trim().is_empty() {
            built.text.push(text.to_owned());
        }
    }
    built
}

#[test]
fn the_book_has_every_page_and_no_link_that_leads_nowhere() {
    let Some(mdbook) = mdbook() else {
        println!("SKIPPED: there is no mdBook (`make docs` installs one): the book is not built");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let built = tally::command(mdbook)
        .arg("build")
        .arg(root().join("docs"))
        .arg("-d")
        .arg(folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&built.stderr).into_owned();
    assert!(built.status.success() && !said.contains("ERROR") && !said.contains("WARN"), "{said}");

    let mut book = BTreeMap::new();
    for below in ["", "rules/", "tutorials/"] {
        for entry in fs::read_dir(folder.path().join(below)).unwrap() {
            let path = format!("{below}{}", entry.unwrap().file_name().to_str().unwrap());
            if path.ends_with(".html") && !ADDED.contains(&path.as_str()) {
                let html = fs::read_to_string(folder.path().join(&path)).unwrap();
                book.insert(path, read(&html));
            }
        }
    }
    for page in
        pages().iter().filter_map(|page| page.path.strip_prefix("docs/")).filter(|page| *page != "SUMMARY.md")
    {
        let html = page.strip_suffix(".md").unwrap();
        let html = if html == "README" { "index.html".to_owned() } else { format!("{html}.html") };
        assert!(book.contains_key(&html), "{page} is no page of the book");
    }
    let mut troubles = Vec::new();
    for (path, page) in &book {
        for link in page.links.iter().filter(|link| !link.starts_with("https://")) {
            let (file, fragment) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { path.clone() } else { super::links::beside(path, file) };
            let is_there = match book.get(&target) {
                Some(page) => fragment.is_empty() || page.ids.contains(fragment),
                None => {
                    fragment.is_empty() && folder.path().join(&target).exists() && !target.ends_with(".md")
                }
            };
            if !is_there {
                troubles.push(format!("{path}: {link} leads nowhere"));
            }
        }
        let is_raw = |text: &&String| {
            ["**", "](", "`", "{{"].iter().any(|mark| text.contains(mark))
                || text.trim_start().starts_with("| ")
        };
        troubles
            .extend(page.text.iter().filter(is_raw).map(|text| format!("{path}: raw Markdown: {text:?}")));
    }
    assert!(troubles.is_empty(), "{troubles:#?}");
    let links: usize = book.values().map(|page| page.links.len()).sum();
    assert!(
        book.len() > 100 && links > 500,
        "{} pages, {links} links: the test looks in the wrong place",
        book.len()
    );
}

#[test]
fn what_is_wrong_in_a_page_is_seen() {
    let page = read(
        "<html><a href=\"out.html\">x</a><main><h1 id=\"a\">A</h1><p>**raw** <a href=\"b.html#c\">b</a> <code>`fine`</code></p></main>",
    );
    assert_eq!(page.links, ["b.html#c"], "what the frame has is the frame's");
    assert_eq!(page.ids, BTreeSet::from(["a".to_owned()]));
    assert_eq!(page.text, ["A", "**raw** ", "b"]);
}
