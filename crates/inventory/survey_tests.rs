//! Whole inventories, and the promise of `explain`: edit the place that it names, and the value changes.

use capstan_test_support::Files;
use capstan_test_support::random::{Random, seed};

use super::*;
use crate::testing::lines;
use crate::trace::{ValueUse, explain, uses};

const SCHEMA: &str = "\
type: object
required: [network]
properties:
  kubernetes: {type: object, properties: {version: {type: string, default: v1.32.1, description: The version of all machines.}}}
  network: {type: object, properties: {external: {type: string}, mtu: {type: integer}}}
  pools:
    type: array
    x-kubernetes-list-type: map
    x-kubernetes-list-map-keys: [name]
    items: {type: object, properties: {name: {type: string}, replicas: {type: integer, default: 1}}}
";

const TEMPLATE: &str = "\
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: {{ cluster.name }}, namespace: org}
spec:
  version: {{ kubernetes.version }}
  network: {{ network.external }}
{% for pool in pools | default([]) %}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {name: {{ cluster.name }}-{{ pool.name }}, namespace: org}
spec: {replicas: {{ pool.replicas }}}
{% endfor %}
";

fn object(kind: &str, name: &str, spec: &str) -> String {
    format!("apiVersion: capstan.dev/v1alpha1\nkind: {kind}\nmetadata:\n  name: {name}\nspec:\n{spec}")
}

fn survey(files: &[(&str, &str)]) -> Survey {
    Survey::read(&Files::new(files), &RepoPath::parse("inventory").unwrap(), ClusterRecords::default())
}

#[test]
fn all_errors_of_an_inventory_are_reported_together() {
    let prod = object(
        "Environment",
        "prod",
        "  release: openstack/v1.4.0\n  values:\n    kubernetes: {version: v1.33.4}\n    netwrok: {}\n",
    );
    let fra1 = object("Site", "fra1", "  values:\n    network: {external: ext-fra1, mtu: 1.5}\n");
    let first = object(
        "ClusterDefinition",
        "peu01",
        "  in: {environment: prod, site: fra1}\n  folder: acme/peu01\n  values:\n    network: {mtu: 9000}\n    pools: [{name: md-0, replicas: 3}]\n",
    );
    let second =
        object("ClusterDefinition", "peu02", "  in: {environment: prod, site: fra1}\n  folder: acme/peu01\n");
    let third = object("ClusterDefinition", "peu03", "  in: {environment: prd}\n");
    let fourth = object("ClusterDefinition", "peu04", "  in: {environment: prod}\n  folder: acme/peu04\n");
    let survey = survey(&[
        ("inventory/prod.yaml", &prod),
        ("inventory/fra1.yaml", &fra1),
        ("inventory/a.yml", &first),
        ("inventory/b/c.yaml", &second),
        ("inventory/d.yaml", &third),
        ("inventory/e.yaml", &fourth),
        ("inventory/other.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"),
        ("inventory/readme.md", "no YAML: ["),
        ("openstack/v1.4.0/schema.yaml", SCHEMA),
        ("openstack/v1.4.0/templates/all.yaml", TEMPLATE),
    ]);
    assert_eq!(
        lines(&survey.judge()),
        [
            "inventory-unknown-kind inventory/other.yaml:2:7 ConfigMap of `v1` is not a kind of an inventory: move it out of this folder, which has only capstan.dev/v1alpha1",
            "inventory-folder-clash inventory/b/c.yaml:1:1 ClusterDefinition peu02 would be in `acme/peu01`, like the definition in inventory/a.yml:1:1: write another `folder`",
            "inventory-type inventory/fra1.yaml:7:40 `/network/mtu` must be a whole number, found the number 1.5 (openstack/v1.4.0/schema.yaml:5:71)",
            "inventory-reference inventory/d.yaml:6:21 there is no Environment `prd`; did you mean `prod`?",
            "inventory-required inventory/e.yaml:1:1 `/network` must be set: no level sets it, and it has no default (openstack/v1.4.0/schema.yaml:5:12)",
            "inventory-unknown-value inventory/prod.yaml:9:5 `/netwrok`: openstack/v1.4.0 knows no such value; did you mean `network`?",
            "inventory-unused-value inventory/a.yml:9:20 `/network/mtu` of ClusterDefinition peu01 is not used by any template of the releases below",
        ]
    );
    let member = survey.member("peu01").unwrap().unwrap();
    let values = survey.values(&member);
    assert_eq!(
        values.value().to_string(),
        r#"{"kubernetes":{"version":"v1.33.4"},"network":{"external":"ext-fra1","mtu":9000},"pools":[{"name":"md-0","replicas":3}]}"#
    );
    let rendered = survey.render(&member, &values).unwrap();
    let ids: Vec<String> = rendered.files[0].objects.iter().map(|object| object.id.to_string()).collect();
    assert_eq!(ids, ["Cluster org/peu01", "MachineDeployment org/peu01-md-0"]);
    let path = FieldPath::parse("/kubernetes/version").unwrap();
    let explained = explain(&member, &values, &path).unwrap();
    let [version] = explained.as_slice() else { panic!("{explained:?}") };
    assert_eq!(
        (
            version.origin.to_string(),
            version.overrides[0].origin.to_string(),
            version.overrides[0].value.to_string()
        ),
        (
            "Environment prod, inventory/prod.yaml:8:27".to_owned(),
            "the default of openstack/v1.4.0, openstack/v1.4.0/schema.yaml:4:76".to_owned(),
            "\"v1.32.1\"".to_owned()
        )
    );
    let mtu = FieldPath::parse("/network/mtu").unwrap();
    assert!(matches!(uses(&values, &mtu, Some((LevelKind::Site, "fra1"))), Some(ValueUse::Overrides(_))));
    assert!(matches!(uses(&values, &path, Some((LevelKind::Environment, "prod"))), Some(ValueUse::Has(_))));
}

/// A name that Kubernetes refuses, wherever it comes from.
#[test]
fn a_name_that_nobody_takes_is_an_error_at_the_template_with_the_place_of_the_value() {
    let cluster =
        object("ClusterDefinition", "c", "  release: os/v1.0.0\n  folder: acme/c\n  values: {a: ok}\n");
    let template = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x-{{ a }}, namespace: {{ ns }}}\n";
    let judged = |schema: &str, cluster: &str| {
        let files = [
            ("inventory/c.yaml", cluster),
            ("os/v1.0.0/schema.yaml", schema),
            ("os/v1.0.0/templates/all.yaml", template),
        ];
        lines(&survey(&files).judge())
    };
    let schema = |default: &str| {
        format!(
            "type: object\nproperties:\n  a: {{type: string}}\n  ns: {{type: string, default: {default}}}\n"
        )
    };
    assert_eq!(judged(&schema("org"), &cluster), [""; 0]);
    assert_eq!(
        judged(&schema("Org A"), &cluster),
        [
            "template-error os/v1.0.0/templates/all.yaml:3:43 `Org A` of ConfigMap Org A/x-ok is not a namespace that Kubernetes accepts: use only lowercase letters, digits and `-`, a letter or digit at both ends, at most 63 characters. Read there: `/ns` (os/v1.0.0/schema.yaml:4:31)",
        ]
    );
    assert_eq!(
        judged(&schema("org"), &cluster.replace("a: ok", "a: 'A b: c'")),
        [
            "template-error os/v1.0.0/templates/all.yaml:3:18 `x-A b: c` of ConfigMap org/x-A b: c is not a name that Kubernetes accepts: use only lowercase letters, digits, `-` and `.`, a letter or digit at both ends, at most 253 characters. Read there: `/a` (inventory/c.yaml:8:15)",
        ]
    );
}

#[test]
fn a_key_that_readers_call_by_two_names_is_refused() {
    let object = object("Site", "fra1", "  values:\n    a: 1\n    on: {b: 2}\n");
    assert_eq!(
        lines(&survey(&[("inventory/a.yaml", &object)]).judge()),
        [
            "invalid-yaml inventory/a.yaml:8:5 the key `on` has no quotes, so Kubernetes reads it as `true`: write \"on\"",
        ]
    );
    let quoted = object.replace("    on:", "    \"on\":");
    assert_eq!(lines(&survey(&[("inventory/a.yaml", &quoted)]).judge()), [""; 0]);
    for key in ["on", "no", "yes", "off", "y", "n", "1_0"] {
        let cluster = "apiVersion: capstan.dev/v1alpha1\nkind: ClusterDefinition\nmetadata: {name: c}\nspec: {release: os/v1.0.0, folder: acme/c}\n";
        let schema = format!("type: object\nproperties:\n  {key}: {{type: string}}\n");
        let found =
            lines(&survey(&[("inventory/c.yaml", cluster), ("os/v1.0.0/schema.yaml", &schema)]).judge());
        let expected = format!("invalid-definition os/v1.0.0/schema.yaml:3:3 the key `{key}` has no quotes");
        assert!(found.len() == 1 && found[0].starts_with(&expected), "{found:#?}");
    }
}

#[test]
fn a_name_that_another_release_below_the_level_defines_is_accepted() {
    let prod = object("Environment", "prod", "  values: {vip: 10.0.0.1, wrong: 1}\n");
    let old =
        object("ClusterDefinition", "old", "  in: {environment: prod}\n  folder: a\n  release: aws/v1.0.0\n");
    let new = object(
        "ClusterDefinition",
        "new",
        "  in: {environment: prod}\n  folder: b\n  release: aws/v2.0.0\n  values: {gone: 1}\n",
    );
    let survey = survey(&[
        ("inventory/prod.yaml", &prod),
        ("inventory/old.yaml", &old),
        ("inventory/new.yaml", &new),
        ("aws/v1.0.0/schema.yaml", "type: object\nproperties: {gone: {type: integer}}\n"),
        ("aws/v2.0.0/schema.yaml", "type: object\nproperties: {vip: {type: string}}\n"),
    ]);
    assert_eq!(
        lines(&survey.judge()),
        [
            "inventory-unknown-value inventory/prod.yaml:6:27 `/wrong`: aws/v1.0.0 and aws/v2.0.0 know no such value; known: gone, vip",
            "inventory-unknown-value inventory/new.yaml:9:12 `/gone`: aws/v2.0.0 knows no such value; known: vip",
        ]
    );
    let old = survey.member("old").unwrap().unwrap();
    assert_eq!(survey.values(&old).value().to_string(), "{}");
}

#[test]
fn levels_may_be_left_out_reordered_and_collapsed() {
    let level = |kind: &str, spec: &str| object(kind, "x", spec);
    let values = |kind: &str| level(kind, &format!("  values:\n    said: {kind}\n"));
    let all = |settings: &str, own: &str| {
        let files = [
            ("inventory/i.yaml", settings.to_owned()),
            ("inventory/e.yaml", values("Environment")),
            ("inventory/c.yaml", values("Customer")),
            ("inventory/s.yaml", values("Site")),
            ("inventory/p.yaml", values("InfraProvider")),
            ("inventory/own.yaml", object("ClusterDefinition", "own", own)),
        ];
        let files: Vec<(&str, &str)> = files
            .iter()
            .filter(|(_, text)| !text.is_empty())
            .map(|(path, text)| (*path, text.as_str()))
            .collect();
        let survey = survey(&files);
        let member = survey.member("own").unwrap().map_err(|wrong| lines(&wrong))?;
        Ok(survey.values(&member).value()["said"].as_str().unwrap_or("nobody").to_owned())
    };
    let settings = |levels: &str| object("Inventory", "inventory", &format!("  levels: [{levels}]\n"));
    let of_all = "  in: {environment: x, customer: x, site: x, infraProvider: x}\n";
    let refused = |message: &str| Err(vec![format!("inventory-reference inventory/own.yaml:6:{message}")]);
    for (settings, own, expected) in [
        (String::new(), of_all, Ok("InfraProvider".to_owned())),
        (settings("Environment, Customer, Site, InfraProvider"), of_all, Ok("InfraProvider".to_owned())),
        // Another order, another one wins.
        (settings("InfraProvider, Site, Customer, Environment"), of_all, Ok("Environment".to_owned())),
        (settings("Environment, InfraProvider, Customer, Site"), of_all, Ok("Site".to_owned())),
        // Site and provider in one: sites alone, which say what the provider would.
        (
            settings("Environment, Customer, Site"),
            "  in: {environment: x, customer: x, site: x}\n",
            Ok("Site".to_owned()),
        ),
        (settings("Customer"), "  in: {customer: x}\n", Ok("Customer".to_owned())),
        (settings(""), "  values: {said: own}\n", Ok("own".to_owned())),
        // A level that is left out is named by nobody.
        (
            settings("Environment, Customer, Site"),
            "  in: {infraProvider: x}\n",
            refused("23 InfraProvider is not in `levels` of the Inventory, so Capstan ignores it"),
        ),
    ] {
        assert_eq!(all(&settings, own), expected, "{settings} {own}");
    }
}

#[test]
fn a_template_that_fails_for_one_cluster_harms_no_other() {
    let prod = object(
        "Environment",
        "prod",
        "  release: openstack/v1.4.0\n  values:\n    network: {external: e}\n    kubernetes: {version: v1}\n",
    );
    let one = object(
        "ClusterDefinition",
        "one",
        "  in: {environment: prod}\n  folder: one\n  values: {network: {external: null}}\n",
    );
    let other = object("ClusterDefinition", "other", "  in: {environment: prod}\n  folder: other\n");
    let survey = survey(&[
        ("inventory/prod.yaml", &prod),
        ("inventory/one.yaml", &one),
        ("inventory/other.yaml", &other),
        ("openstack/v1.4.0/schema.yaml", SCHEMA),
        ("openstack/v1.4.0/templates/all.yaml", TEMPLATE),
    ]);
    let render = |name: &str| {
        let member = survey.member(name).unwrap().unwrap();
        survey
            .render(&member, &survey.values(&member))
            .map(|rendered| rendered.files.len())
            .map_err(|wrong| lines(&wrong))
    };
    assert_eq!(
        render("one"),
        Err(vec![
            "template-error openstack/v1.4.0/templates/all.yaml:6:15 `network.external` is undefined: set it in a level, give it a default in the schema, or write `| default(…)`. Read there: `/kubernetes` (inventory/prod.yaml:9:17) and `/network` (inventory/prod.yaml:8:14)".to_owned()
        ])
    );
    assert_eq!(render("other"), Ok(1));
}

/// An inventory that a seed makes: four levels in some order and a cluster, each with some of the values.
fn generated(random: &mut Random) -> Vec<(String, String)> {
    let mut levels = vec!["Environment", "Customer", "Site", "InfraProvider"];
    let mut order = Vec::new();
    while !levels.is_empty() {
        order.push(levels.remove(random.below(levels.len())));
    }
    order.truncate(1 + random.below(4));
    let word = |kind: &str| LevelKind::of_kind(kind).unwrap().word();
    let mut files = vec![(
        "inventory/inventory.yaml".to_owned(),
        object("Inventory", "inventory", &format!("  levels: [{}]\n", order.join(", "))),
    )];
    let named: Vec<String> = order.iter().map(|kind| format!("{}: x", word(kind))).collect();
    for kind in order.iter().copied().chain(["ClusterDefinition"]) {
        let mut spec = String::new();
        if kind == "ClusterDefinition" {
            spec.push_str(&format!("  in: {{{}}}\n  folder: x\n  release: aws/v1.0.0\n", named.join(", ")));
        }
        spec.push_str("  values:\n");
        spec.push_str(&values(random, 4, 2));
        files.push((format!("inventory/{kind}.yaml"), object(kind, "x", &spec)));
    }
    files
}

/// Values under the keys of the schema, each of its type; every text and number is there once.
fn values(random: &mut Random, indent: usize, depth: usize) -> String {
    let pad = " ".repeat(indent);
    let mut out = String::new();
    for at in 0..3 {
        if random.percent(55) {
            out.push_str(&format!("{pad}t{at}: word{}\n", random.next() % 1_000_000));
        }
        if random.percent(10) {
            out.push_str(&format!("{pad}n{at}: null\n"));
        } else if random.percent(40) {
            out.push_str(&format!("{pad}n{at}: {}\n", 10 + random.next() % 1_000_000));
        }
        if depth > 0 && random.percent(45) {
            let below = values(random, indent + 2, depth - 1);
            let replace =
                if random.percent(15) { format!("{pad}  $patch: replace\n") } else { String::new() };
            if !below.is_empty() {
                out.push_str(&format!("{pad}m{at}:\n{replace}{below}"));
            }
        }
        if random.percent(25) {
            out.push_str(&format!(
                "{pad}l{at}: [word{}, word{}]\n",
                random.next() % 1_000_000,
                random.next() % 1_000_000
            ));
        }
        if random.percent(30) {
            out.push_str(&format!("{pad}k{at}:\n"));
            for item in 0..3 {
                if random.percent(60) {
                    out.push_str(&format!(
                        "{pad}- {{name: i{item}, size: {}}}\n",
                        10 + random.next() % 1_000_000
                    ));
                }
            }
            if out.ends_with(&format!("k{at}:\n")) {
                out.push_str(&format!("{pad}- {{name: i0}}\n"));
            }
        }
    }
    if out.is_empty() { format!("{pad}t0: word{}\n", random.next() % 1_000_000) } else { out }
}

fn schema_of(depth: usize, random: &mut Random) -> String {
    let mut fields = Vec::new();
    for at in 0..3 {
        let default = if random.percent(30) {
            format!(", default: {}", 10 + random.next() % 1_000_000)
        } else {
            String::new()
        };
        fields.push(format!("t{at}: {{type: string}}"));
        fields.push(format!("n{at}: {{type: integer{default}}}"));
        fields.push(format!("l{at}: {{type: array, items: {{type: string}}}}"));
        fields.push(format!("k{at}: {{type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {{type: object, properties: {{name: {{type: string}}, size: {{type: integer}}}}}}}}"));
        if depth > 0 {
            fields.push(format!("m{at}: {}", schema_of(depth - 1, random)));
        }
    }
    format!("{{type: object, properties: {{{}}}}}", fields.join(", "))
}

#[test]
fn editing_the_place_that_explain_names_changes_the_value() {
    let seed = seed();
    println!("seed {seed} (CAPSTAN_SEED repeats it)");
    let mut random = Random::new(seed);
    let mut edited = 0;
    for round in 0..200 {
        let mut files = generated(&mut random);
        files.push(("aws/v1.0.0/schema.yaml".to_owned(), schema_of(2, &mut random)));
        let read = |files: &[(String, String)]| {
            let files: Vec<(&str, &str)> =
                files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
            survey(&files)
        };
        let before = read(&files);
        let member = before.member("x").unwrap().unwrap();
        let values = before.values(&member);
        assert_eq!(lines(&values.findings), [""; 0], "round {round}: {files:#?}");
        let all = explain(&member, &values, &FieldPath::root()).unwrap();
        let leaves: Vec<_> = all
            .iter()
            .filter(|leaf| leaf.value.as_ref().is_some_and(|value| !value.is_array() && !value.is_object()))
            // The key of an item says which item it is.
            .filter(|leaf| !leaf.path.to_string().ends_with("/name"))
            .collect();
        for _ in 0..4 {
            if leaves.is_empty() {
                break;
            }
            let leaf = *random.pick(&leaves);
            let place = leaf.origin.place();
            let old = match leaf.value.as_ref().unwrap() {
                serde_json::Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            let new = if old.starts_with("word") { "edited".to_owned() } else { "7".to_owned() };
            let mut changed = files.clone();
            let text = &mut changed.iter_mut().find(|(path, _)| path == place.file().as_str()).unwrap().1;
            let position = place.position().unwrap();
            let start: usize =
                text.split_inclusive('\n').take(position.line as usize - 1).map(str::len).sum::<usize>()
                    + position.column as usize
                    - 1;
            assert!(
                text[start..].starts_with(&old),
                "round {round}: {} is not `{old}` at {place}",
                leaf.path
            );
            text.replace_range(start..start + old.len(), &new);
            let after = read(&changed);
            let member = after.member("x").unwrap().unwrap();
            let found =
                after.values(&member).merged.at(&leaf.path).and_then(crate::merge::MergedValue::value);
            let text =
                found.as_ref().map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
            assert_eq!(text, Some(new), "round {round}: {} at {place}", leaf.path);
            edited += 1;
        }
    }
    assert!(edited > 600, "{edited}");
}

/// What a template reads is in use at every level, also where each definition that reads it has its own.
#[test]
fn a_value_that_is_read_and_overridden_below_is_not_unused() {
    let prod = object(
        "Environment",
        "prod",
        "  values:\n    kubernetes: {version: v1.33.4}\n    network: {external: a, mtu: 9000}\n",
    );
    let definition = |name: &str, release: &str, values: &str| {
        object(
            "ClusterDefinition",
            name,
            &format!("  in: {{environment: prod}}\n  folder: acme/{name}\n  release: {release}\n{values}"),
        )
    };
    let first = definition("peu01", "aws/v1.0.0", "  values:\n    network: {mtu: 1500}\n");
    let second = definition("peu02", "aws/v2.0.0", "");
    let reads = TEMPLATE.replace("network: {{ network.external }}", "mtu: {{ network.mtu }}");
    let survey = survey(&[
        ("inventory/prod.yaml", &prod),
        ("inventory/a.yaml", &first),
        ("inventory/b.yaml", &second),
        ("aws/v1.0.0/schema.yaml", SCHEMA),
        ("aws/v1.0.0/templates/all.yaml", &reads),
        ("aws/v2.0.0/schema.yaml", SCHEMA),
        ("aws/v2.0.0/templates/all.yaml", TEMPLATE),
    ]);
    assert_eq!(lines(&survey.judge()), [""; 0]);
}
