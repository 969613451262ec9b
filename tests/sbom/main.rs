//! `make sbom`: what the released program is made of, as CycloneDX 1.5 in JSON
//! (<https://cyclonedx.org/docs/1.5/json/>), written into `target/capstan.cdx.json`.
//!
//! The crates are those that end in the binary of a release, as `cargo tree` tells them;
//! versions, licences and checksums are those of `Cargo.lock` and of the crates themselves.

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a program for people at a terminal")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use cargo_metadata::{MetadataCommand, Package};
use serde_json::{Value, json};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
const PLATFORM: &str = "x86_64-unknown-linux-gnu";

fn main() {
    let metadata = MetadataCommand::new()
        .manifest_path(Path::new(ROOT).join("Cargo.toml"))
        .other_options(vec!["--locked".to_owned(), "--filter-platform".to_owned(), PLATFORM.to_owned()])
        .exec()
        .unwrap();
    let shipped = shipped();
    let checksums = checksums();
    let is_shipped =
        |package: &&Package| shipped.contains(&(package.name.to_string(), package.version.to_string()));
    let packages: Vec<&Package> = metadata.packages.iter().filter(is_shipped).collect();
    let components: Vec<Value> = packages
        .iter()
        .filter(|package| package.name != "capstan")
        .map(|package| component(package, &checksums))
        .collect();
    assert!(
        packages.iter().all(|package| package.name != "capstan-forge"),
        "a release is built without the demo"
    );
    let own = packages.iter().find(|package| package.name == "capstan").unwrap();
    let bill = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": component(own, &checksums)},
        "components": components,
    });
    let file = metadata.target_directory.join("capstan.cdx.json");
    std::fs::write(&file, serde_json::to_string_pretty(&bill).unwrap() + "\n").unwrap();
    println!("{file}: {} components", components.len());
}

fn component(package: &Package, checksums: &BTreeMap<(String, String), String>) -> Value {
    let (name, version) = (package.name.to_string(), package.version.to_string());
    let purl = format!("pkg:cargo/{name}@{version}");
    let mut component = json!({
        "type": if name == "capstan" { "application" } else { "library" },
        "bom-ref": purl,
        "name": name,
        "version": version,
        "purl": purl,
    });
    if let Some(licence) = &package.license {
        // The older `/` of crates means what SPDX writes `OR`.
        component["licenses"] = json!([{"expression": licence.replace('/', " OR ")}]);
    }
    if let Some(checksum) = checksums.get(&(name, version)) {
        component["hashes"] = json!([{"alg": "SHA-256", "content": checksum}]);
    }
    component
}

/// Names and versions of what ends in the binary of a release.
fn shipped() -> BTreeSet<(String, String)> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--locked", "--package", "capstan", "--edges", "normal"])
        .args(["--prefix", "none", "--format", "{p}", "--target", PLATFORM, "--manifest-path"])
        .arg(Path::new(ROOT).join("Cargo.toml"))
        .output()
        .unwrap();
    assert!(output.status.success(), "cargo tree: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let package = |line: &str| {
        let mut words = line.split_whitespace();
        Some((words.next()?.to_owned(), words.next()?.strip_prefix('v')?.to_owned()))
    };
    text.lines().filter_map(package).collect()
}

/// Checksums of the crates, from `Cargo.lock`.
fn checksums() -> BTreeMap<(String, String), String> {
    let lock = std::fs::read_to_string(Path::new(ROOT).join("Cargo.lock")).unwrap();
    let value = |part: &str, key: &str| {
        let line = part.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = \""))?;
        Some(line.trim_end_matches('"').to_owned())
    };
    let package =
        |part: &str| Some(((value(part, "name")?, value(part, "version")?), value(part, "checksum")?));
    lock.split("[[package]]").filter_map(package).collect()
}
