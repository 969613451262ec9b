//! Findings as SARIF 2.1.0, which code scanning reads.
//!
//! <https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html>, and what GitHub takes of it:
//! <https://docs.github.com/en/code-security/code-scanning/integrating-with-code-scanning/sarif-support-for-code-scanning>.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::pages::{address, percent_encoded};
use capstan_model::digest::digest;
use capstan_model::finding::{Finding, Severity};
use capstan_plan::policy::{About, catalogue};

/// Findings as one run of the tool of that version. It contains every rule, so that a reader finds what a
/// finding means.
pub fn sarif(findings: &[&Finding], version: &str) -> Value {
    let rules: Vec<&About> = catalogue().iter().map(|rule| rule.about()).collect();
    let mut seen = HashMap::new();
    let results: Vec<Value> = findings.iter().map(|finding| result(finding, &rules, &mut seen)).collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {
                "driver": {
                    "name": "capstan",
                    "version": version,
                    "rules": rules.iter().map(|rule| descriptor(rule)).collect::<Vec<_>>(),
                },
            },
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

const fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

fn descriptor(rule: &About) -> Value {
    json!({
        "id": rule.entry.id(),
        "shortDescription": {"text": rule.summary()},
        "fullDescription": {"text": rule.reason()},
        "help": {
            "text": format!("{}\n\nSource: {}\n\nPage: {}", rule.reason(), rule.source(), rule.page_path()),
            "markdown": format!("{}\n\n[Source]({})\n\nPage: `{}`", rule.reason(), rule.source(), rule.page_path()),
        },
        "helpUri": address(rule),
        "defaultConfiguration": {"level": level(rule.entry.severity())},
        "properties": {"tags": ["kubernetes", "cluster-api"], "precision": "high"},
    })
}

fn result(finding: &Finding, rules: &[&About], seen: &mut HashMap<String, usize>) -> Value {
    let fingerprint = fingerprint(finding);
    let times = seen.entry(fingerprint.clone()).or_default();
    *times += 1;
    let fingerprint = format!("{fingerprint}:{times}");
    let mut result = json!({
        "ruleId": finding.rule.id(),
        "level": level(finding.severity()),
        "message": {"text": finding.message},
        // GitHub identifies findings by the first of these, other tools by the ones that they know.
        "partialFingerprints": {"primaryLocationLineHash": fingerprint, "capstanFinding/v1": fingerprint},
    });
    if let Some(index) = rules.iter().position(|rule| rule.entry == finding.rule) {
        result["ruleIndex"] = Value::from(index);
    }
    if let Some(file) = finding.file() {
        let mut region = json!({"startLine": finding.line().unwrap_or(1)});
        if let Some(column) = finding.column() {
            region["startColumn"] = Value::from(column);
        }
        let mut location = json!({
            "physicalLocation": {
                "artifactLocation": {"uri": percent_encoded(file.as_str()), "uriBaseId": "%SRCROOT%"},
                "region": region,
            },
        });
        if let Some(object) = &finding.object {
            let field = finding.path.as_ref().map(ToString::to_string).unwrap_or_default();
            let name = format!("{object} {field}");
            location["logicalLocations"] = json!([{"fullyQualifiedName": name.trim_end(), "kind": "object"}]);
        }
        result["locations"] = json!([location]);
    }
    result
}

/// What does not change when lines move: rule, file, object and field.
fn fingerprint(finding: &Finding) -> String {
    let text = |value: Option<String>| value.unwrap_or_default();
    digest(&[
        finding.rule.id(),
        &text(finding.file().map(ToString::to_string)),
        &text(finding.object.as_ref().map(|object| format!("{} {object}", object.group))),
        &text(finding.path.as_ref().map(ToString::to_string)),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use capstan_model::finding::{Place, Position, rules};
    use capstan_model::object::{FieldPath, ObjectId};
    use capstan_model::tree::RepoPath;

    fn finding(file: &str, line: Option<u32>) -> Finding {
        let position = line.map(|line| Position { line, column: 3 });
        Finding::new(rules::KUBERNETES_MINOR_SKIP, "goes too far")
            .place(Place::maybe_at(RepoPath::parse(file).unwrap(), position))
            .object(&ObjectId {
                group: "cluster.x-k8s.io".to_owned(),
                kind: "MachinePool".to_owned(),
                namespace: Some("org".to_owned()),
                name: "a".to_owned(),
            })
            .path(&FieldPath::parse("/spec/version").unwrap())
    }

    #[test]
    fn a_finding_names_its_rule_its_place_and_itself() {
        let found = finding("gauss/peu 01/base/größe+1.yaml", Some(7));
        let log = sarif(&[&found], "1.2.3");
        let run = &log["runs"][0];
        let result = &run["results"][0];
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(run["tool"]["driver"]["rules"][index]["id"], "kubernetes-minor-skip");
        assert_eq!(
            result["locations"][0]["physicalLocation"],
            json!({
                "artifactLocation": {"uri": "gauss/peu%2001/base/gr%C3%B6%C3%9Fe%2B1.yaml", "uriBaseId": "%SRCROOT%"},
                "region": {"startLine": 7, "startColumn": 3},
            })
        );
        assert_eq!(
            result["locations"][0]["logicalLocations"][0]["fullyQualifiedName"],
            "MachinePool org/a /spec/version"
        );
    }

    #[test]
    fn a_fingerprint_outlives_lines_and_tells_equal_findings_apart() {
        let (one, moved) = (finding("a.yaml", Some(7)), finding("a.yaml", Some(9)));
        let print = |log: &Value, at: usize| {
            log["runs"][0]["results"][at]["partialFingerprints"]["primaryLocationLineHash"].clone()
        };
        let alone = sarif(&[&moved], "1");
        let both = sarif(&[&one, &moved], "1");
        assert_eq!(print(&alone, 0), print(&both, 0));
        assert_ne!(print(&both, 0), print(&both, 1));
    }

    #[test]
    fn a_rule_names_its_page() {
        let rule = capstan_plan::policy::rule("kubernetes-minor-skip").unwrap().about();
        let help = descriptor(rule)["help"]["text"].as_str().unwrap().to_owned();
        assert!(help.ends_with("Page: docs/rules/kubernetes-minor-skip.md"), "{help}");
    }

    #[test]
    fn a_whole_file_is_its_first_line() {
        let log = sarif(&[&finding("a.yaml", None)], "1");
        let place = &log["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
        assert_eq!(place["region"], json!({"startLine": 1}));
    }
}
