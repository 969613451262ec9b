//! What tests share: inventories in a few lines.

use capstan_model::finding::Finding;
use capstan_model::tree::RepoPath;

use crate::kinds::{InventoryFiles, SourceText};

/// An inventory: one object a line, `Kind name: {spec}`; each in a file of its own, `i/0.yaml`, with the spec at
/// the end of line 4.
pub(crate) fn inventory(objects: &str) -> InventoryFiles {
    InventoryFiles::read(&files(objects))
}

/// The files of an inventory with these objects.
pub(crate) fn files(objects: &str) -> Vec<SourceText> {
    let texts = objects.lines().enumerate().map(|(at, line)| {
        let (head, spec) = line.split_once(": ").unwrap();
        let (kind, name) = head.split_once(' ').unwrap();
        let text = format!(
            "apiVersion: capstan.dev/v1alpha1\nkind: {kind}\nmetadata: {{name: {name}}}\nspec: {spec}\n"
        );
        file(&format!("i/{at}.yaml"), &text)
    });
    texts.collect()
}

pub(crate) fn file(path: &str, text: &str) -> SourceText {
    SourceText { path: RepoPath::parse(path).unwrap(), bytes: Ok(text.as_bytes().into()) }
}

/// Findings as `rule file:line:column message`.
pub(crate) fn lines(findings: &[Finding]) -> Vec<String> {
    let line = |finding: &Finding| {
        let place = finding.place.as_ref().map_or("-".to_owned(), ToString::to_string);
        format!("{} {place} {}", finding.rule.id(), finding.message)
    };
    findings.iter().map(line).collect()
}
