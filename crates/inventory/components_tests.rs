//! What components do to what templates make.

use capstan_model::tree::RepoPath;
use capstan_test_support::Files;

use crate::origin::LevelKind;
use crate::survey::{ClusterRecords, Survey};
use crate::testing::lines;

const INVENTORY: &str = "\
apiVersion: capstan.dev/v1alpha1
kind: Environment
metadata: {name: prod}
spec: {release: os/v1.0.0, components: [components/audit], values: {size: 3}}
---
apiVersion: capstan.dev/v1alpha1
kind: Site
metadata: {name: fra1}
spec: {components: [components/site]}
---
apiVersion: capstan.dev/v1alpha1
kind: ClusterDefinition
metadata: {name: c}
spec: {in: {environment: prod, site: fra1}, folder: acme/c, components: [components/own]}
";
const TEMPLATE: &str = "\
# What all clusters are.
apiVersion: example.com/v1
kind: Pool
metadata: {name: {{ cluster.name }}-a}
spec:
  size: {{ size }}   # of machines
  zone: one
  labels: [a]
---
# Goes.
apiVersion: example.com/v1
kind: Pool
metadata: {name: {{ cluster.name }}-b}
spec: {size: 1}
---
# Stays.
apiVersion: example.com/v1
kind: Other
metadata: {name: {{ cluster.name }}}
spec: {size: {{ size }}}
";
const AUDIT: &str = "\
apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
resources: [policy.yaml]
patches:
- target: {kind: Pool}
  patch: |
    - {op: replace, path: /spec/size, value: 5}
    - {op: add, path: /spec/audit, value: true}
";
const SITE: &str = "\
apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
patches:
- target: {kind: Pool, name: c-a}
  patch: '[{\"op\": \"replace\", \"path\": \"/spec/zone\", \"value\": \"two\"}, {\"op\": \"test\", \"path\": \"/spec/audit\", \"value\": true}]'
- target: {kind: Pool, name: c-b}
  patch: '{\"apiVersion\": \"example.com/v1\", \"kind\": \"Pool\", \"metadata\": {\"name\": \"c-b\"}, \"$patch\": \"delete\"}'
";
const OWN: &str = "\
apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
patches:
- target: {kind: Pool, name: c-a}
  patch: |
    - {op: replace, path: /spec/zone, value: three}
    - {op: add, path: /spec/labels/-, value: b}
";

fn survey(files: &[(&str, &str)]) -> Survey {
    let usual = [
        ("inventory/all.yaml", INVENTORY),
        ("os/v1.0.0/templates/all.yaml", TEMPLATE),
        ("components/audit/kustomization.yaml", AUDIT),
        ("components/audit/policy.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: policy}\n"),
        ("components/site/kustomization.yaml", SITE),
        ("components/own/kustomization.yaml", OWN),
        ("elsewhere/secret.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: elsewhere}\n"),
    ];
    let others = usual.iter().filter(|(path, _)| !files.iter().any(|(other, _)| other == path));
    let all: Vec<(&str, &str)> = others.chain(files).copied().filter(|(_, text)| !text.is_empty()).collect();
    Survey::read(&Files::new(&all), &RepoPath::parse("inventory").unwrap(), ClusterRecords::default())
}

fn rendered(survey: &Survey) -> Result<Vec<(String, String)>, Vec<String>> {
    let member = survey.member("c").unwrap().unwrap();
    let rendered = survey.render(&member, &survey.values(&member)).map_err(|wrong| lines(&wrong))?;
    Ok(rendered.files.into_iter().map(|file| (file.name, file.text)).collect())
}

#[test]
fn components_of_all_levels_apply_in_the_order_of_the_levels() {
    let survey = survey(&[]);
    let files = rendered(&survey).unwrap();
    assert_eq!(
        files,
        [
            (
                "all.yaml".to_owned(),
                "\
# What all clusters are.
apiVersion: example.com/v1
kind: Pool
metadata: {name: c-a}
spec:
  size: 5   # of machines
  zone: three
  labels: [a, b]
  audit: true
---
# Stays.
apiVersion: example.com/v1
kind: Other
metadata: {name: c}
spec: {size: 3}
"
                .to_owned()
            ),
            (
                "audit.yaml".to_owned(),
                "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: policy\n".to_owned()
            ),
        ]
    );
    let member = survey.member("c").unwrap().unwrap();
    let named: Vec<String> =
        member.wishes.components.iter().map(|(path, origin)| format!("{path} {}", origin.level)).collect();
    assert_eq!(
        named,
        [
            "components/audit Environment prod",
            "components/site Site fra1",
            "components/own ClusterDefinition c"
        ]
    );
    // The value that a component set is no longer the inventory's; the other one is.
    let all = survey.render(&member, &survey.values(&member)).unwrap();
    let placed: Vec<(String, String)> = all
        .files
        .iter()
        .flat_map(|file| &file.objects)
        .flat_map(|object| {
            object.placements.iter().map(|placed| (object.id.to_string(), placed.path.to_string()))
        })
        .collect();
    let placed: Vec<(&str, &str)> = placed.iter().map(|(id, path)| (id.as_str(), path.as_str())).collect();
    assert_eq!(
        placed,
        [("Pool c-a", "/metadata/name"), ("Other c", "/metadata/name"), ("Other c", "/spec/size")]
    );
    assert_eq!(all.files[1].objects[0].template.to_string(), "components/audit/policy.yaml:1:1");
    assert_eq!(survey.components_of("c").len(), 3);
    assert_eq!(member.levels[&LevelKind::Site], "fra1");
}

#[test]
fn another_order_of_levels_is_another_order_of_components() {
    let turned = format!(
        "apiVersion: capstan.dev/v1alpha1\nkind: Inventory\nmetadata: {{name: i}}\nspec: {{levels: [Site, Environment]}}\n---\n{INVENTORY}"
    );
    // What the site's component expects is set by the environment's, which comes later now.
    let wrong = rendered(&survey(&[("inventory/all.yaml", &turned)])).unwrap_err();
    assert!(wrong[0].starts_with("render-failed components/site/kustomization.yaml:5:"), "{wrong:?}");
}

#[test]
fn an_error_in_a_component_is_reported_at_its_place() {
    for (path, text, expected) in [
        (
            "components/own/kustomization.yaml",
            "",
            "inventory-reference inventory/all.yaml:14:74 there is no component `components/own`: a component is a folder with a kustomization.yaml of kind Component",
        ),
        (
            "components/own/kustomization.yaml",
            "kind: [\n",
            "render-failed components/own/kustomization.yaml:",
        ),
        // Nothing is read outside of its folder.
        (
            "components/own/kustomization.yaml",
            "kind: Component\napiVersion: kustomize.config.k8s.io/v1alpha1\nresources: [../../elsewhere/secret.yaml]\n",
            "render-failed components/own/kustomization.yaml:3:",
        ),
        (
            "components/own/kustomization.yaml",
            "kind: Component\napiVersion: kustomize.config.k8s.io/v1alpha1\nresources: [a.yaml]\n",
            "render-failed components/own/kustomization.yaml:3:",
        ),
        (
            "components/audit/policy.yaml",
            "apiVersion: example.com/v1\nkind: Other\nmetadata: {name: c}\n",
            "duplicate-object ",
        ),
    ] {
        let wrong = rendered(&survey(&[(path, text)])).unwrap_err();
        assert!(wrong[0].starts_with(expected), "{path}: {wrong:?}");
    }
}

#[test]
fn what_an_anchor_shares_and_a_component_changes_is_written_out() {
    let template = "apiVersion: example.com/v1\nkind: Pool\nmetadata: {name: c-a}\nspec: {size: &s 1, max: *s, zone: one, labels: []}\n";
    let files = rendered(&survey(&[
        ("os/v1.0.0/templates/all.yaml", template),
        (
            "components/site/kustomization.yaml",
            "kind: Component\napiVersion: kustomize.config.k8s.io/v1alpha1\ncommonAnnotations: {a: b}\n",
        ),
    ]))
    .unwrap();
    assert_eq!(
        files[0].1,
        "apiVersion: example.com/v1\nkind: Pool\nmetadata: {name: c-a, annotations: {a: b}}\nspec: {size: &s 5, max: 1, zone: three, labels: [b], audit: true}\n"
    );
}

#[test]
fn an_invalid_name_is_reported_where_the_template_or_the_component_sets_it() {
    let prefix = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nnamePrefix: A_\n";
    let component =
        "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: [policy.yaml]\n";
    let policy = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: policy, labels: {a b: c}}\n";
    let found = rendered(&survey(&[("components/own/kustomization.yaml", prefix)])).unwrap_err();
    assert!(
        found[0].starts_with(
            "invalid-name components/own/kustomization.yaml:3:13 `A_policy` of ConfigMap A_policy is not a name"
        ),
        "{found:#?}"
    );
    let found = rendered(&survey(&[
        ("components/own/kustomization.yaml", component),
        ("components/own/policy.yaml", policy),
        ("components/audit/kustomization.yaml", &AUDIT.replace("resources: [policy.yaml]\n", "")),
    ]))
    .unwrap_err();
    assert!(
        found[0].starts_with(
            "invalid-name components/own/policy.yaml:3:35 `a b` of ConfigMap policy is not a label's key"
        ),
        "{found:#?}"
    );
}
