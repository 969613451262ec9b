//! A value that is stored or sent, and compared later, is built from named values: no `Debug` output goes into a
//! digest. Otherwise a renamed variant or a new field of a type would change the digests. Capstan would then send every
//! check again, ask every reconciler again, and post comments twice.

use std::fs;

use capstan_test_parts::sources::{is_test, sources};

/// What a function names that computes a digest.
const DIGESTS: &[&str] = &[
    "digest(",
    "Digest::of",
    "Fingerprint::of",
    "ReportId::of",
    "Sha256",
    "SHA256",
    "Hasher",
    "blob_id(",
    "_fingerprint(",
];

/// What its own name says.
const NAMES: &[&str] = &["digest", "fingerprint", "hash", "inputs", "_id", "_key"];

#[test]
fn no_digest_is_made_of_debug_output() {
    let (mut seen, mut found) = (0, Vec::new());
    for file in sources().into_iter().filter(|file| !is_test(file)) {
        let source = fs::read_to_string(&file).unwrap();
        for function in functions(product(&source)).into_iter().filter(|function| makes_a_digest(function)) {
            seen += 1;
            if prints_debug(function) {
                found.push(format!(
                    "{}: {}",
                    file.display(),
                    function.lines().next().unwrap_or_default().trim()
                ));
            }
        }
    }
    assert!(seen > 20, "{seen} functions make digests: the search finds too few");
    assert!(found.is_empty(), "a digest may be made of what `Debug` prints:\n{}", found.join("\n"));
}

#[test]
fn the_test_fails_where_debug_output_goes_into_a_digest() {
    let told =
        |source: &str| functions(source).into_iter().any(|one| makes_a_digest(one) && prints_debug(one));
    assert!(told("fn f(a: A) -> String {\n    digest(&[&format!(\"{:?}\", a)])\n}\n"));
    assert!(told(
        "impl A {\n    pub(super) fn id_of(&self) -> Id {\n        Sha256::digest(format!(\"{self:#?}\"))\n    }\n}\n"
    ));
    assert!(told("fn inputs(a: &A) -> String {\n    let text = format!(\"{a:?}\");\n    join(text)\n}\n"));
    assert!(!told(
        "fn f(a: A) -> String {\n    digest(&[a.as_str()])\n}\n\nfn g(a: A) {\n    warn!(\"{a:?}\");\n}\n"
    ));
    assert!(!told("// digest( of {:?}\nfn f() {}\n"));
}

/// The functions of a file, each from its first line to the brace that closes it, as rustfmt sets them.
fn functions(source: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut at = 0;
    for line in source.split_inclusive('\n') {
        let words = line.trim_start();
        let indent = &line[..line.len() - words.len()];
        let is_comment = words.starts_with("//");
        let is_one = !is_comment && (words.starts_with("fn ") || words.contains(" fn "));
        if is_one && !line.trim_end().ends_with(['}', ';']) {
            let end = source[at..].find(&format!("\n{indent}}}\n")).map_or(source.len(), |end| at + end);
            found.push(&source[at..end]);
        }
        at += line.len();
    }
    found
}

fn makes_a_digest(function: &str) -> bool {
    let name =
        function.split_once("fn ").map_or("", |(_, rest)| rest.split(['(', '<']).next().unwrap_or_default());
    let named = NAMES.iter().any(|word| name.ends_with(word));
    named || DIGESTS.iter().any(|word| function.contains(word))
}

fn prints_debug(function: &str) -> bool {
    function.contains(":?}") || function.contains(":#?}")
}

/// A file without its tests, which stand last.
fn product(source: &str) -> &str {
    source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default()
}
