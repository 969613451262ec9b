//! The dependency audit, offline: licences, sources, duplicates and crates that are not wanted.

#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::collections::{BTreeMap, BTreeSet};

use capstan_test_support::tally;
use cargo_metadata::{MetadataCommand, Package};

const MANIFEST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");

/// Licences that Capstan may be shipped with. A crate passes if one arm of its expression does.
const LICENCES: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Not wanted, with the reason.
const BANNED: &[(&str, &str)] = &[
    ("ring", "one crypto provider: aws-lc"),
    ("openssl", "one TLS library: rustls"),
    ("openssl-sys", "one TLS library: rustls"),
    ("native-tls", "one TLS library: rustls"),
    ("yamlpatch", "corrupts documents"),
    ("serde_yaml", "unmaintained, and reads scalars unlike Kubernetes"),
];

/// Crates of which several versions are shipped, each with the cause. An entry that is no longer needed fails the test
/// too.
const DUPLICATES: &[(&str, &str)] = &[
    ("base64", "hyper-util is ahead of kube, sqlx-core and gix"),
    ("block-buffer", "sqlx-core still hashes with sha2 0.10"),
    ("chacha20", "age is behind rand"),
    ("const-oid", "age is behind digest"),
    ("cpufeatures", "sqlx-core still hashes with sha2 0.10"),
    ("crypto-common", "sqlx-core still hashes with sha2 0.10"),
    ("digest", "sqlx-core still hashes with sha2 0.10"),
    ("getrandom", "metrics-util still uses rand 0.9, and ahash 0.3"),
    ("hashbrown", "dashmap, hashlink and gix-hashtable are at three versions"),
    ("hkdf", "age is behind sqlx"),
    ("hmac", "age is behind sqlx"),
    ("hybrid-array", "hpke, which age uses, is behind digest"),
    ("nom", "cel is behind age"),
    ("pem", "kube is ahead of jsonwebtoken"),
    ("rand", "metrics-util still uses 0.9"),
    ("rand_chacha", "age still uses rand 0.8"),
    ("rand_core", "metrics-util still uses rand 0.9"),
    ("sha2", "sqlx-core still hashes with sha2 0.10"),
    ("syn", "build time only: not every derive macro has moved to 3"),
    ("thiserror", "i18n-embed, which age uses, still uses 1"),
    ("thiserror-impl", "i18n-embed, which age uses, still uses 1"),
    ("tower-http", "kube is ahead of reqwest"),
    ("untrusted", "aws-lc-rs is behind rustls-webpki"),
];

#[test]
fn licences_sources_and_duplicates_are_as_agreed() {
    let metadata = MetadataCommand::new()
        .manifest_path(MANIFEST)
        .other_options(vec![
            "--locked".to_owned(),
            "--offline".to_owned(),
            "--features=otlp".to_owned(),
            "--filter-platform=x86_64-unknown-linux-gnu".to_owned(),
        ])
        .exec()
        .unwrap();
    let shipped = shipped();
    let mut problems = Vec::new();
    let mut versions: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for package in
        metadata.packages.iter().filter(|package| !metadata.workspace_members.contains(&package.id))
    {
        let name = package.name.as_str();
        if let Some((_, reason)) = BANNED.iter().find(|(banned, _)| *banned == name) {
            if shipped.contains(&(name.to_owned(), package.version.to_string())) {
                problems.push(format!("{name} is not wanted: {reason}"));
            }
            continue;
        }
        let source = package.source.as_ref().map(|source| source.repr.as_str()).unwrap_or_default();
        if !source.starts_with("registry+") {
            problems.push(format!("{name} comes from `{source}`, not from a registry"));
        }
        if !licence_passes(package) {
            problems.push(format!("{name} {} has the licence {:?}", package.version, package.license));
        }
        if shipped.contains(&(name.to_owned(), package.version.to_string())) {
            versions.entry(name).or_default().insert(package.version.to_string());
        }
    }
    for (name, versions) in versions.iter().filter(|(_, versions)| versions.len() > 1) {
        if !DUPLICATES.iter().any(|(known, _)| known == name) {
            problems.push(format!("{name} is shipped in several versions: {versions:?}"));
        }
    }
    for (name, _) in DUPLICATES {
        if versions.get(name).is_none_or(|versions| versions.len() < 2) {
            problems.push(format!("{name} no longer stands twice: take it off the list"));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn a_licence_passes_when_one_arm_does() {
    assert!(expression_passes("MIT OR GPL-3.0"));
    assert!(expression_passes("(MIT OR Apache-2.0) AND Unicode-3.0"));
    assert!(expression_passes("Unlicense/MIT"));
    assert!(!expression_passes("GPL-3.0"));
    assert!(!expression_passes("MIT AND GPL-3.0"));
    assert!(!expression_passes("(MIT OR Apache-2.0) AND GPL-3.0"));
}

/// `name version` of what ends in the binary with all features.
fn shipped() -> BTreeSet<(String, String)> {
    tree(&["--workspace", "--exclude=capstan-test-parts", "--features=otlp"])
}

/// `name version` of what a build with these arguments is made of. `cargo tree` knows which features are on; the resolve
/// graph of `cargo metadata` does not.
fn tree(of: &[&str]) -> BTreeSet<(String, String)> {
    let output = tally::command(env!("CARGO"))
        .args(["tree", "--locked", "--offline", "-e", "normal", "--prefix", "none", "-f", "{p}"])
        .args(of)
        .args(["--target", "x86_64-unknown-linux-gnu", "--manifest-path", MANIFEST])
        .output()
        .unwrap();
    assert!(output.status.success(), "cargo tree: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let packages: BTreeSet<(String, String)> = text
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let name = words.next()?;
            let version = words.next()?.strip_prefix('v')?;
            Some((name.to_owned(), version.to_owned()))
        })
        .collect();
    assert!(packages.len() > 50, "cargo tree printed only {} packages", packages.len());
    packages
}

/// The embedded forge knows no password and is for trying Capstan out: no release has it.
#[test]
fn a_release_is_built_without_the_demos_forge() {
    let has_forge =
        |of: &[&str]| tree(of).iter().any(|(name, _)| name.contains("forge") || name.contains("demo"));
    assert!(!has_forge(&["--package", "capstan"]));
    assert!(!has_forge(&["--package", "capstan", "--features=otlp"]));
    assert!(has_forge(&["--package", "capstan-demo"]), "it is in the demo, or this finds nothing");
}

/// A newcomer waits for all that the demo is made of.
#[test]
fn the_demo_is_built_without_what_it_does_not_show() {
    let names: BTreeSet<String> =
        tree(&["--package", "capstan-demo"]).into_iter().map(|(name, _)| name).collect();
    let reconcilers = ["kube", "k8s-openapi", "age", "capstan-reconciler", "capstan-k8s", "capstan-hosts"];
    let others = ["sqlx-postgres", "capstan-openstack", "capstan-vault", "clap", "opentelemetry"];
    let brought: Vec<_> = reconcilers.iter().chain(&others).filter(|name| names.contains(**name)).collect();
    assert!(brought.is_empty(), "the demo brings {brought:?}: `cargo tree -p capstan-demo -i NAME` says why");
    assert!(names.contains("sqlx-sqlite") && names.contains("gix"), "names are seen");
}

fn licence_passes(package: &Package) -> bool {
    package.license.as_deref().is_some_and(expression_passes)
}

/// A small reader of SPDX expressions: `OR` (and the older `/`) over `AND` over names, with brackets.
fn expression_passes(expression: &str) -> bool {
    let text = expression.replace(" / ", " OR ").replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let tokens: Vec<&str> = text.split_whitespace().collect();
    let mut at = 0;
    any_of(&tokens, &mut at)
}

fn any_of(tokens: &[&str], at: &mut usize) -> bool {
    let mut passes = all_of(tokens, at);
    while tokens.get(*at) == Some(&"OR") {
        *at += 1;
        passes |= all_of(tokens, at);
    }
    passes
}

fn all_of(tokens: &[&str], at: &mut usize) -> bool {
    let mut passes = one(tokens, at);
    while tokens.get(*at) == Some(&"AND") {
        *at += 1;
        passes &= one(tokens, at);
    }
    passes
}

fn one(tokens: &[&str], at: &mut usize) -> bool {
    if tokens.get(*at) == Some(&"(") {
        *at += 1;
        let passes = any_of(tokens, at);
        *at += 1;
        return passes;
    }
    let mut name = tokens.get(*at).copied().unwrap_or_default().to_owned();
    *at += 1;
    if tokens.get(*at) == Some(&"WITH") {
        name = format!("{name} WITH {}", tokens.get(*at + 1).copied().unwrap_or_default());
        *at += 2;
    }
    LICENCES.contains(&name.as_str())
}
