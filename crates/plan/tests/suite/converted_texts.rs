//! Conversions between API versions, replayed on the texts of all real manifests: what comes out means what
//! the steps make of the value, and no comment is lost but with a field that goes.

use std::collections::BTreeMap;

use capstan_kustomize::conversion::{ConversionStep, apply, convert, in_order_of, replay};
use capstan_kustomize::schema::Schemas;
use capstan_model::object::FieldPath;
use capstan_yaml::{YamlFile, same_meaning};

use capstan_test_support::shared_data;

const GROUPS: [&str; 3] = ["cluster.x-k8s.io", "bootstrap.cluster.x-k8s.io", "controlplane.cluster.x-k8s.io"];

/// The texts after `#`, and how often each occurs. A string that only looks like a comment counts the same on both
/// sides.
fn comments(text: &str) -> BTreeMap<&str, usize> {
    let mut found = BTreeMap::new();
    for line in text.lines() {
        let own = line.trim_start().starts_with('#').then_some(0).or_else(|| line.find(" #"));
        if let Some(at) = own {
            *found.entry(line[at..].trim()).or_default() += 1;
        }
    }
    found
}

#[test]
fn real_objects_are_converted_in_their_text() {
    let Some(files) = shared_data::yaml_files() else { return };
    let (mut done, mut refused, mut troubles) = (0, Vec::new(), Vec::new());
    for path in files {
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        let Ok(file) = YamlFile::read(&text) else { continue };
        for document in file.documents() {
            let root = &document.root;
            let scalar = |key: &str| root.text_at(key).unwrap_or_default();
            let Some((group, version)) = scalar("apiVersion").split_once('/') else { continue };
            if !GROUPS.contains(&group) || version == "v1beta2" || root.get("spec").is_none() {
                continue;
            }
            let own = &text[document.span.clone()];
            let Ok(alone) = YamlFile::read(own) else { continue };
            if alone.documents().len() != 1 {
                continue;
            }
            let name = format!("{} {}", path.display(), scalar("kind"));
            let root = &alone.documents()[0].root;
            let conversion = match convert(root, &format!("{group}/v1beta2"), Schemas::built_in()) {
                Ok(conversion) => in_order_of(root, conversion),
                Err(why) => {
                    refused.push(format!("{name}: {why}"));
                    continue;
                }
            };
            let mut wanted = root.clone();
            apply(&mut wanted, &conversion);
            match replay(&alone, &FieldPath::root(), &conversion) {
                Err(why) => troubles.push(format!("{name}: {why}")),
                Ok(after) if !same_meaning(&after.documents()[0].root, &wanted) => {
                    troubles.push(format!("{name} means something else"));
                }
                Ok(after) => {
                    done += 1;
                    let removes = conversion.steps.iter().any(|step| match step {
                        ConversionStep::Remove { .. } => true,
                        ConversionStep::Replace { value, .. } => value.is_empty_collection(),
                        _ => false,
                    });
                    let now = comments(after.text());
                    let lost: Vec<_> = comments(own)
                        .into_iter()
                        .filter(|(text, times)| now.get(text).is_none_or(|left| left < times))
                        .collect();
                    if !lost.is_empty() && !removes {
                        troubles.push(format!("{name} loses comments {lost:?}:\n{}", after.text()));
                    }
                }
            }
        }
    }
    println!("{done} real objects were converted in their text, {} are refused by name", refused.len());
    refused.iter().for_each(|line| println!("  {line}"));
    assert!(troubles.is_empty(), "{} wrong:\n{}", troubles.len(), troubles.join("\n"));
    assert!(done > 100, "{done} objects");
}
