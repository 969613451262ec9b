//! The tables of keys, against the schemas that the settings and the custom resources have.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{assert_same, page};

/// The keys at the top of every file of settings.
pub(super) fn top_level_keys() -> BTreeSet<String> {
    let schema = capstan_plan::settings::json_schema();
    let of = |schema: &Value| schema["properties"].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let files = ["ClusterSettings", "OverlaySettings", "ReleaseSettings"];
    let others = files.iter().flat_map(|file| of(&schema["$defs"][file]));
    of(&schema).into_iter().chain(others).collect()
}

/// The keys of a schema that hold values, each with its default: `upgrade.proposals.open`, `clusters.rules[].match`.
fn keys(schema: &Value, root: &Value, path: &str, found: &mut Vec<(String, Value)>) {
    let schema = resolved(schema, root);
    if let Some(properties) = schema["properties"].as_object() {
        for (key, below) in properties {
            let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            keys(below, root, &path, found);
        }
    } else if resolved(&schema["items"], root)["properties"].is_object() {
        keys(&schema["items"], root, &format!("{path}[]"), found);
    } else {
        found.push((path.to_owned(), schema["default"].clone()));
    }
}

fn resolved<'a>(schema: &'a Value, root: &'a Value) -> &'a Value {
    let any_of = schema["anyOf"].as_array().and_then(|any| any.iter().find(|one| one["$ref"].is_string()));
    match any_of.unwrap_or(schema)["$ref"].as_str() {
        Some(reference) => resolved(root.pointer(reference.trim_start_matches('#')).unwrap(), root),
        None => schema,
    }
}

#[test]
fn the_table_has_every_key_of_the_settings() {
    let schema = capstan_plan::settings::json_schema();
    let page = page("docs/settings.md");
    for (heading, schema_of, beside) in [
        ("capstanyaml", &schema, vec!["policy.<rule>"]),
        (
            "capstanyaml-of-a-cluster",
            &schema["$defs"]["ClusterSettings"],
            vec!["delete[].kind", "delete[].name", "delete[].group", "delete[].namespace"],
        ),
        ("capstanyaml-of-an-overlay", &schema["$defs"]["OverlaySettings"], vec![]),
        ("capstanyaml-of-a-release", &schema["$defs"]["ReleaseSettings"], vec![]),
    ] {
        let documented = page.rows(heading).into_iter().flat_map(|row| row[0].codes.clone()).collect();
        let mut found = Vec::new();
        keys(schema_of, &schema, "", &mut found);
        // A map's keys are anybody's; of `metadata` nobody needs to know more.
        let real = found.into_iter().map(|(key, _)| key).filter(|key| key != "policy");
        let real = real.map(|key| if key.starts_with("metadata.") { "metadata".to_owned() } else { key });
        assert_same(documented, real.chain(beside.into_iter().map(str::to_owned)).collect(), heading);
    }
}

#[test]
fn the_table_has_every_field_of_a_title() {
    let page = page("docs/settings.md");
    let documented = page.rows("title-of-a-proposal").iter().map(|row| row[0].text.clone()).collect();
    let real = capstan_plan::settings::TitleField::ALL.map(|field| field.name().to_owned());
    assert_same(documented, real.into(), "fields of a title in docs/settings.md");
}

#[test]
fn the_table_has_every_field_of_the_custom_resources_with_its_default() {
    let page = page("docs/install-reconciler.md");
    let tables: Vec<_> = page.tables.iter().filter(|table| table.heading == "settings-of-a-fleet").collect();
    let mut definitions = capstan_k8s::crd::definitions().unwrap();
    // Nobody asks for anything in a ManagedProvider: all of it is the reconciler's. The inventory has its own page.
    definitions
        .retain(|(name, _)| ["fleets.capstan.dev", "managedclusters.capstan.dev"].contains(&name.as_str()));
    assert_eq!(tables.len(), definitions.len());
    for (table, (name, definition)) in tables.into_iter().zip(&definitions) {
        let spec = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
        let mut found = Vec::new();
        keys(spec, spec, "", &mut found);
        // The reconciler writes these two fields of a ManagedCluster, so the page does not document them.
        found.retain(|(key, _)| !["cluster", "fleet"].contains(&key.as_str()));
        let documented = table.rows.iter().map(|row| row[0].text.clone()).collect();
        assert_same(documented, found.iter().map(|(key, _)| key.clone()).collect(), name);
        for (key, default) in found.iter().filter(|(_, default)| !default.is_null()) {
            let row = table.rows.iter().find(|row| row[0].text == *key).unwrap();
            assert_eq!(
                row[1].text,
                default.as_str().map_or(default.to_string(), str::to_owned),
                "{name}, {key}"
            );
        }
    }
}

#[test]
fn the_table_has_every_field_of_the_inventory() {
    let page = page("docs/inventory.md");
    let documented = page.rows("objects").into_iter().flat_map(|row| row[0].codes.clone()).collect();
    let definitions = capstan_k8s::crd::definitions().unwrap();
    let inventory = definitions.iter().filter(|(name, _)| {
        ["sites.", "clusterdefinitions.", "managementclusterdefinitions."]
            .iter()
            .any(|plural| name.starts_with(plural))
    });
    let spec = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties";
    let real =
        inventory.flat_map(|(_, definition)| definition.pointer(spec).unwrap().as_object().unwrap().keys());
    assert_same(documented, real.cloned().collect(), "fields of the inventory's objects");
}
