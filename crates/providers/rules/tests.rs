//! The rules, by table: sets written by hand, findings written by hand.

use std::collections::BTreeMap;
use std::sync::Arc;

use capstan_kustomize::render::{PlacedValue, placed_documents};
use capstan_model::finding::{Place, rules};
use capstan_model::object::ObjectId;
use capstan_model::tree::RepoPath;
use capstan_model::version::KubernetesVersion;
use capstan_yaml::YamlFile;

use super::*;
use crate::rendering::Variable;
use crate::state::{ComponentsState, ProviderRelease, RenderedComponents, SetMember};

/// A provider `LABEL VERSION [CONTRACT]` whose components hold these objects.
fn member(text: &str, objects: &str) -> SetMember {
    let mut words = text.split(' ');
    let (label, version) = (words.next().unwrap(), words.next().unwrap());
    let contract = words.next().unwrap_or("v1beta2").to_owned();
    let kinds = [
        ("bootstrap-", ProviderKind::Bootstrap),
        ("control-plane-", ProviderKind::ControlPlane),
        ("infrastructure-", ProviderKind::Infrastructure),
    ];
    let found = kinds.iter().find_map(|(begin, kind)| Some((*kind, label.strip_prefix(begin)?)));
    let (kind, name) = found.unwrap_or((ProviderKind::Core, label));
    let file = YamlFile::read(objects).unwrap();
    let objects = file.documents().iter().map(|document| document.root.value());
    SetMember {
        kind,
        name: name.to_owned(),
        namespace: format!("{name}-system"),
        place: Some(Place::line_of(RepoPath::parse("mc/providers.yaml").unwrap(), 7)),
        asked: Some(version.to_owned()),
        gates: BTreeMap::new(),
        contract: Some(contract.clone()),
        at_hand: Vec::new(),
        components: ComponentsState::Rendered(Arc::new(RenderedComponents {
            version: version.to_owned(),
            contract,
            sha256: "ab".repeat(32),
            objects: objects.filter(|value| !value.is_null()).collect(),
            ..RenderedComponents::default()
        })),
    }
}

fn set(members: &[&str]) -> RenderedSet {
    RenderedSet { members: members.iter().map(|text| member(text, "")).collect() }
}

/// Findings as `rule severity message`.
fn lines(comparison: &SetComparison) -> Vec<String> {
    let line =
        |finding: &Finding| format!("{} {:?} {}", finding.rule.id(), finding.severity(), finding.message);
    comparison.findings.iter().map(line).collect()
}

/// That the findings begin so, each.
fn expect(comparison: &SetComparison, wanted: &[&str]) {
    let found = lines(comparison);
    let fits =
        found.len() == wanted.len() && found.iter().zip(wanted).all(|(line, begin)| line.starts_with(begin));
    assert!(fits, "found:\n{}\nwanted:\n{}", found.join("\n"), wanted.join("\n"));
}

fn documents(text: &str) -> Vec<PlacedValue> {
    placed_documents(&RepoPath::parse("peu01/base/all.yaml").unwrap(), &YamlFile::read(text).unwrap())
}

/// One row a step: the set before, the set after, what is found.
#[test]
fn versions_go_up_a_little_and_together() {
    for (before, after, wanted) in [
        (&["cluster-api v1.12.8"][..], &["cluster-api v1.13.4"][..], &[][..]),
        (
            &["cluster-api v1.13.4"],
            &["cluster-api v1.12.8"],
            &["provider-downgrade Error cluster-api goes from v1.13.4 down to v1.12.8"],
        ),
        (
            &["infrastructure-aws v2.8.4"],
            &["infrastructure-aws v2.8.3"],
            &["provider-downgrade Warning infrastructure-aws goes from v2.8.4 down to v2.8.3"],
        ),
        (&["cluster-api v1.10.10"], &["cluster-api v1.13.4"], &[]),
        (
            &["cluster-api v1.10.10"],
            &["cluster-api v1.14.2"],
            &[
                "provider-minor-skip Error cluster-api goes from v1.10.10 to v1.14.2, but Cluster API upgrades by at most 3 minors: use a v1.13 first",
            ],
        ),
        (
            &["cluster-api v1.6.0"],
            &["cluster-api v1.10.10"],
            &["provider-minor-skip Warning cluster-api goes from v1.6.0 to v1.10.10"],
        ),
        (&["infrastructure-aws v2.0.2"], &["infrastructure-aws v2.8.4"], &[]),
        (
            &["bootstrap-kubeadm v1.10.10", "cluster-api v1.10.10"],
            &["bootstrap-kubeadm v1.13.4", "cluster-api v1.12.8"],
            &[
                "provider-versions-apart Warning bootstrap-kubeadm v1.13.4, cluster-api v1.12.8: Cluster API releases",
            ],
        ),
        (
            &["bootstrap-rke2 v0.12.0", "cluster-api v1.12.8"],
            &["bootstrap-rke2 v0.12.0", "cluster-api v1.12.8"],
            &[],
        ),
        (
            &["control-plane-kubeadm v1.10.10"],
            &["control-plane-kubeadm v1.11.3"],
            &[
                "provider-rolls-machines Warning upgrades such as control-plane-kubeadm v1.10.10 to v1.11.3 are known",
            ],
        ),
        (
            &["control-plane-rke2 v0.7.1"],
            &["control-plane-rke2 v0.12.0"],
            &[
                "provider-rolls-machines Warning upgrades such as control-plane-rke2 v0.7.1 to v0.12.0 are known",
            ],
        ),
        (&["control-plane-kubeadm v1.12.8"], &["control-plane-kubeadm v1.13.4"], &[]),
    ] {
        expect(&compare(Some(&set(before)), &set(after), &ProviderRuleFacts::default()), wanted);
    }
    // Without a state before there is no step.
    expect(&compare(None, &set(&["cluster-api v1.14.2"]), &ProviderRuleFacts::default()), &[]);
    let mut unset = set(&["cluster-api v1.14.2"]);
    unset.members[0].asked = None;
    let comparison = compare(None, &unset, &ProviderRuleFacts::default());
    expect(&comparison, &["provider-version-unset Warning cluster-api has no `spec.version`"]);
    let place = comparison.findings[0].place.as_ref().unwrap().to_string();
    assert_eq!(place, "mc/providers.yaml:7");
}

#[test]
fn contracts_fit_or_the_smallest_set_that_does_is_named() {
    let at_hand = |releases: &[(&str, &str)]| {
        let release = |(version, contract): &(&str, &str)| ProviderRelease {
            version: (*version).to_owned(),
            contract: (*contract).to_owned(),
        };
        releases.iter().map(release).collect::<Vec<_>>()
    };
    let core = at_hand(&[
        ("v1.10.10", "v1beta1"),
        ("v1.12.8", "v1beta2"),
        ("v1.13.4", "v1beta2"),
        ("v1.14.2", "v1beta2"),
    ]);
    let before = set(&[
        "cluster-api v1.10.10 v1beta1",
        "infrastructure-aws v2.8.4 v1beta1",
        "bootstrap-kubeadm v1.10.10 v1beta1",
    ]);
    // Raising one provider alone: core has to come along, as far as three minors let it.
    let mut after = set(&[
        "cluster-api v1.10.10 v1beta1",
        "infrastructure-aws v2.9.0 v1beta2",
        "bootstrap-kubeadm v1.10.10 v1beta1",
    ]);
    after.members[0].at_hand = core.clone();
    expect(
        &compare(Some(&before), &after, &ProviderRuleFacts::default()),
        &[
            "provider-contract Error infrastructure-aws v2.9.0 uses the contract v1beta2, but cluster-api v1.10.10 (contract v1beta1) accepts no other than its own: the smallest available set that fits also needs cluster-api v1.13.4",
        ],
    );
    // Nothing at hand for core: what was asked for has to go.
    after.members[0].at_hand = Vec::new();
    after.members[1].at_hand =
        at_hand(&[("v2.8.4", "v1beta1"), ("v2.8.5", "v1beta1"), ("v2.9.0", "v1beta2")]);
    expect(
        &compare(Some(&before), &after, &ProviderRuleFacts::default()),
        &[
            "provider-contract Error infrastructure-aws v2.9.0 uses the contract v1beta2, but cluster-api v1.10.10 (contract v1beta1) accepts no other than its own: no available set fits this version; the nearest one needs infrastructure-aws v2.8.5",
        ],
    );
    after.members[1].at_hand = Vec::new();
    expect(
        &compare(Some(&before), &after, &ProviderRuleFacts::default()),
        &[
            "provider-contract Error infrastructure-aws v2.9.0 uses the contract v1beta2, but cluster-api v1.10.10 (contract v1beta1) accepts no other than its own: no available set fits: add",
        ],
    );
    // Core of v1beta2 takes both, none takes v1alpha4.
    expect(
        &compare(
            None,
            &set(&["cluster-api v1.12.8", "infrastructure-aws v2.8.4 v1beta1"]),
            &ProviderRuleFacts::default(),
        ),
        &[],
    );
    expect(
        &compare(
            None,
            &set(&["cluster-api v1.12.8", "infrastructure-aws v0.7.0 v1alpha4"]),
            &ProviderRuleFacts::default(),
        ),
        &[
            "provider-contract Error infrastructure-aws v0.7.0 uses the contract v1alpha4, but cluster-api v1.12.8 (contract v1beta2) accepts v1beta2 and v1beta1",
        ],
    );
}

#[test]
fn clusters_of_another_kubernetes_are_named() {
    let workload = |name: &str, version: &str| ManagedWorkload {
        name: name.to_owned(),
        version: KubernetesVersion::parse(version).unwrap(),
        place: None,
    };
    let facts = ProviderRuleFacts {
        management: KubernetesVersion::parse("v1.31.2"),
        workloads: vec![
            workload("gauss/peu01", "v1.29.4"),
            workload("gauss/peu02", "v1.33.1"),
            workload("gauss/peu03", "v1.37.0"),
        ],
        ..ProviderRuleFacts::default()
    };
    let after = set(&["cluster-api v1.13.4", "bootstrap-kubeadm v1.13.4"]);
    expect(
        &compare(None, &after, &facts),
        &[
            "provider-kubernetes Error the management cluster runs Kubernetes v1.31.2, but the set has cluster-api v1.13.4, which runs on 1.32 to 1.37",
            "provider-kubernetes Error cluster gauss/peu01 runs Kubernetes v1.29.4, but the set has cluster-api v1.13.4, which manages clusters of 1.30 to 1.37",
            "provider-kubernetes Error cluster gauss/peu03 runs Kubernetes v1.37.0, but the set has cluster-api v1.13.4, which supports 1.37 only from v1.13.6 on",
        ],
    );
}

const DEFINITION: &str = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: pools.example.com}
spec:
  group: example.com
  names: {kind: Pool}
  versions:
";

fn version(name: &str, served: bool, fields: &str) -> String {
    format!(
        "  - {{name: {name}, served: {served}, storage: {served}, schema: {{openAPIV3Schema: {{type: object, properties: {{spec: {{type: object, properties: {{{fields}}}}}}}}}}}}}\n"
    )
}

#[test]
fn what_the_repository_and_the_management_cluster_use_is_found() {
    let old = [
        DEFINITION,
        &version("v1alpha1", true, "a: {type: string}"),
        &version("v1", true, "a: {type: string}, b: {type: string}, c: {type: string}"),
    ]
    .concat();
    let new =
        [DEFINITION, &version("v1", true, "b: {type: string, enum: [x]}, c: {type: string, pattern: x}")]
            .concat();
    let before = RenderedSet { members: vec![member("infrastructure-aws v2.8.4", &old)] };
    let after = RenderedSet { members: vec![member("infrastructure-aws v2.9.0", &new)] };
    let objects = documents(
        "\
apiVersion: example.com/v1alpha1
kind: Pool
metadata: {name: one, namespace: org}
---
apiVersion: example.com/v1
kind: Pool
metadata: {name: two, namespace: org}
spec:
  a: gone
  b: y
  c: z
---
apiVersion: example.com/v1
kind: Pool
metadata: {name: three, namespace: org}
spec: {b: x}
---
apiVersion: other.com/v1
kind: Pool
metadata: {name: four}
",
    );
    let facts = ProviderRuleFacts { objects: objects.iter().collect(), ..ProviderRuleFacts::default() };
    let comparison = compare(Some(&before), &after, &facts);
    expect(
        &comparison,
        &[
            "provider-api-in-use Error Pool org/two says `spec.a`, and with infrastructure-aws v2.9.0 the field is gone",
            "provider-api-in-use Error Pool org/two says `spec.b`, and with infrastructure-aws v2.9.0 it accepts only \"x\"",
            "provider-api-in-use Warning Pool org/two says `spec.c`, and with infrastructure-aws v2.9.0 it may refuse what it accepted before: a pattern `x` is new",
            "provider-api-in-use Error Pool org/one uses v1alpha1 of pools.example.com, which infrastructure-aws v2.9.0 does not serve: write it in v1",
        ],
    );
    let places: Vec<String> =
        comparison.findings.iter().map(|finding| finding.place.as_ref().unwrap().to_string()).collect();
    let file = "peu01/base/all.yaml";
    assert_eq!(
        places,
        [format!("{file}:9:6"), format!("{file}:10:6"), format!("{file}:11:6"), format!("{file}:1:13")]
    );
    let unknown = "whether the management cluster still stores objects, or has fields managed, in v1alpha1, which 1 definition has no longer";
    assert_eq!(comparison.providers[0].unknown, [unknown]);

    let pool = |name: &str| ObjectId {
        group: "example.com".to_owned(),
        kind: "Pool".to_owned(),
        namespace: Some("org".to_owned()),
        name: name.to_owned(),
    };
    let managed = |name: &str, version: &str| Managed {
        object: pool(name),
        api_version: format!("example.com/{version}"),
        manager: "kubectl".to_owned(),
    };
    let live = Live {
        stored_versions: BTreeMap::from([(
            "pools.example.com".to_owned(),
            vec!["v1alpha1".to_owned(), "v1".to_owned()],
        )]),
        managed: vec![managed("b", "v1alpha1"), managed("a", "v1alpha1"), managed("c", "v1")],
    };
    for (migration, severity, then) in [
        (Migration::Nobody, "Error", "migrate it first"),
        (Migration::Capstan, "Warning", "Capstan migrates it before it changes the definition"),
    ] {
        let facts = ProviderRuleFacts { live: Some(live.clone()), migration, ..ProviderRuleFacts::default() };
        let comparison = compare(Some(&before), &after, &facts);
        expect(
            &comparison,
            &[
                &format!(
                    "provider-api-in-use {severity} the management cluster has v1alpha1 in `status.storedVersions` of pools.example.com, but infrastructure-aws v2.9.0 no longer defines it, which an API server refuses: {then}"
                ),
                &format!(
                    "provider-api-in-use {severity} 2 objects on the management cluster have fields managed in v1alpha1 of pools.example.com (Pool org/a, Pool org/b)"
                ),
            ],
        );
        assert!(comparison.providers[0].unknown.is_empty());
    }
}

#[test]
fn of_many_places_ten_are_shown() {
    let new = [DEFINITION, &version("v1", true, "")].concat();
    let after = RenderedSet { members: vec![member("infrastructure-aws v2.9.0", &new)] };
    let objects: String = (0..12)
        .map(|number| {
            format!("---\napiVersion: example.com/v1alpha1\nkind: Pool\nmetadata: {{name: p{number}}}\n")
        })
        .collect();
    let objects = documents(&objects);
    let facts = ProviderRuleFacts { objects: objects.iter().collect(), ..ProviderRuleFacts::default() };
    let found = lines(&compare(None, &after, &facts));
    assert_eq!(found.len(), 10);
    assert!(found[9].ends_with("write it in v1; 2 more do the same"), "{}", found[9]);
}

#[test]
fn feature_gates_variables_and_digests() {
    let with = |version: &str, gates: &[&str]| {
        let mut member = member(&format!("cluster-api {version}"), "");
        let ComponentsState::Rendered(rendered) = &mut member.components else { panic!() };
        Arc::get_mut(rendered).unwrap().listed_gates = gates.iter().map(|gate| (*gate).to_owned()).collect();
        member
    };
    let before = RenderedSet { members: vec![with("v1.11.0", &["ClusterResourceSet", "MachinePool"])] };
    let mut after = RenderedSet { members: vec![with("v1.12.0", &["MachinePool"])] };
    after.members[0].gates =
        ["ClusterResourceSet", "MachinePol", "MachinePool"].map(|gate| (gate.to_owned(), None)).into();
    expect(
        &compare(Some(&before), &after, &ProviderRuleFacts::default()),
        &[
            "provider-feature-gate-unknown Error cluster-api sets the feature gate `ClusterResourceSet`, which the components of v1.11.0 list but those of v1.12.0 do not",
            "provider-feature-gate-unknown Warning cluster-api v1.12.0 does not list the feature gate `MachinePol`",
        ],
    );
    after.members[0].gates.clear();
    let ComponentsState::Rendered(rendered) = &mut after.members[0].components else { panic!() };
    Arc::get_mut(rendered).unwrap().variables = BTreeMap::from([
        ("A".to_owned(), Variable::Unbound),
        ("B".to_owned(), Variable::Unbound),
        ("C".to_owned(), Variable::Bound),
        ("D".to_owned(), Variable::Default),
        ("E".to_owned(), Variable::Unseen),
    ]);
    expect(
        &compare(Some(&before), &after, &ProviderRuleFacts::default()),
        &[
            "provider-variable-unbound Error cluster-api v1.12.0 needs `A` and `B`, but neither",
            "provider-variable-unbound Warning cluster-api v1.12.0 needs `E`, but its config Secret is not available",
        ],
    );
    let recorded = |sha256: &str, version: &str| ProviderRuleFacts {
        recorded: BTreeMap::from([(
            "cluster-api".to_owned(),
            Recorded { sha256: sha256.to_owned(), version: version.to_owned(), place: None },
        )]),
        ..ProviderRuleFacts::default()
    };
    let after = set(&["cluster-api v1.12.0"]);
    for (sha256, version, differs) in [
        ("ab".repeat(32), "v1.12.0", false),
        (format!("sha256:{}", "AB".repeat(32)), "v1.12.0", false),
        ("cd".repeat(32), "v1.12.0", true),
        ("cd".repeat(32), "v1.11.0", false),
    ] {
        let wanted: &[&str] = if differs {
            &["provider-digest-differs Error the components of cluster-api v1.12.0 differ from the record"]
        } else {
            &[]
        };
        expect(&compare(None, &after, &recorded(&sha256, version)), wanted);
    }
}

/// A role of a manager with these rules, its account and its binding.
fn manager(namespace: &str, rules: &str) -> String {
    format!(
        "apiVersion: v1\nkind: ServiceAccount\nmetadata: {{name: manager, namespace: {namespace}}}\n---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {{name: {namespace}, labels: {{aggregate: core}}}}\nrules: [{rules}]\n---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {{name: {namespace}}}\nroleRef: {{kind: ClusterRole, name: {namespace}}}\nsubjects: [{{kind: ServiceAccount, name: manager, namespace: {namespace}}}]\n"
    )
}

/// One row a gain: the rules before and after, and what is said.
#[test]
fn gains_of_rights_are_errors_where_they_are_dangerous() {
    let rule = |group: &str, resource: &str, verb: &str| {
        format!("{{apiGroups: ['{group}'], resources: ['{resource}'], verbs: ['{verb}']}}")
    };
    let gains = |severity: &str, what: &str| {
        format!("provider-gains-rights {severity} ServiceAccount aws-system/manager gains{what}")
    };
    let error = |what: &str| vec![gains("Error", &format!(", with the roles of the whole set: {what}"))];
    for (old, new, wanted) in [
        (rule("", "pods", "*"), rule("", "pods", "get"), vec![]),
        (
            rule("", "pods", "get"),
            rule("", "configmaps", "get"),
            vec![gains("Warning", ": get of configmaps everywhere")],
        ),
        (rule("", "pods", "get"), rule("", "pods", "*"), error("every verb of pods everywhere")),
        (
            rule("", "pods", "get"),
            rule("", "*", "get"),
            error("get of everything of the core group everywhere"),
        ),
        (rule("", "pods", "get"), rule("*", "pods", "get"), error("get of pods.* everywhere")),
        (rule("", "pods", "get"), rule("", "secrets", "list"), error("list of secrets everywhere")),
        (rule("", "pods", "get"), rule("", "pods/exec", "create"), error("create of pods/exec everywhere")),
        (
            rule("", "pods", "get"),
            rule("rbac.authorization.k8s.io", "roles", "escalate"),
            error("escalate of roles.rbac.authorization.k8s.io everywhere"),
        ),
        (
            rule("", "pods", "get"),
            rule("rbac.authorization.k8s.io", "roles", "bind"),
            error("bind of roles.rbac.authorization.k8s.io everywhere"),
        ),
        (rule("", "pods", "get"), rule("", "users", "impersonate"), error("impersonate of users everywhere")),
        (
            rule("apps", "secrets", "get"),
            rule("apps", "secrets", "list"),
            vec![gains("Warning", ": list of secrets.apps everywhere")],
        ),
    ] {
        let of = |version: &str, rules: &str| RenderedSet {
            members: vec![member(&format!("infrastructure-aws {version}"), &manager("aws-system", rules))],
        };
        let comparison =
            compare(Some(&of("v2.8.4", &old)), &of("v2.9.0", &new), &ProviderRuleFacts::default());
        let wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
        expect(&comparison, &wanted);
    }
}

#[test]
fn a_new_provider_is_reported_as_new_with_its_rights() {
    let secrets =
        manager("cluster-api-system", "{apiGroups: [''], resources: [secrets, pods], verbs: [get]}");
    let ipam = member("ipam-in-cluster v1.0.3", "");
    let before = RenderedSet { members: vec![ipam.clone()] };
    let after = RenderedSet { members: vec![member("cluster-api v1.13.4", &secrets), ipam] };
    let new = compare(Some(&before), &after, &ProviderRuleFacts::default());
    let messages: Vec<String> = new
        .findings
        .iter()
        .filter(|finding| finding.rule == rules::PROVIDER_GAINS_RIGHTS)
        .map(|finding| format!("{:?} {}", finding.severity(), finding.message))
        .collect();
    assert_eq!(
        messages,
        [
            "Error cluster-api is new in the set. With the roles of the whole set, its ServiceAccount cluster-api-system/manager gets: get of secrets everywhere. Anybody who gets into that pod has these rights. If its documentation requires them, accept with `/capstan override provider-gains-rights REASON`. Otherwise remove them from the components with a patch",
            "Warning cluster-api is new in the set, and its ServiceAccount cluster-api-system/manager gets: get of pods everywhere",
        ]
    );
    let whole = compare(None, &after, &ProviderRuleFacts::default());
    assert!(
        whole.findings.iter().all(|finding| finding.rule != rules::PROVIDER_GAINS_RIGHTS),
        "no step was taken"
    );
}

#[test]
fn what_another_provider_adds_to_an_aggregated_role_is_cores_gain() {
    let core = "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: manager, namespace: cluster-api-system}\n---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: aggregated}\naggregationRule: {clusterRoleSelectors: [{matchLabels: {aggregate: core}}]}\n---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: core}\nroleRef: {kind: ClusterRole, name: aggregated}\nsubjects: [{kind: ServiceAccount, name: manager, namespace: cluster-api-system}]\n";
    let of = |version: &str, resource: &str| {
        let rule = format!("{{apiGroups: [''], resources: [{resource}], verbs: [get]}}");
        let aws = manager("aws-system", &rule);
        RenderedSet {
            members: vec![
                member("cluster-api v1.13.4", core),
                member(&format!("infrastructure-aws {version}"), &aws),
            ],
        }
    };
    let before = of("v2.8.4", "pods");
    let comparison = compare(Some(&before), &of("v2.9.0", "nodes"), &ProviderRuleFacts::default());
    expect(
        &comparison,
        &[
            "provider-gains-rights Warning ServiceAccount aws-system/manager gains: get of nodes everywhere",
            "provider-gains-rights Warning ServiceAccount cluster-api-system/manager gains: get of nodes everywhere",
        ],
    );
    let rights: Vec<(&str, String, String)> = comparison
        .providers
        .iter()
        .flat_map(|provider| provider.rights.iter().map(|rights| (provider.label.as_str(), rights)))
        .map(|(label, rights)| (label, rights.gains[0].to_string(), rights.loses[0].to_string()))
        .collect();
    let (gains, loses) = ("get of nodes everywhere".to_owned(), "get of pods everywhere".to_owned());
    assert_eq!(
        rights,
        [("cluster-api", gains.clone(), loses.clone()), ("infrastructure-aws", gains, loses),]
    );
    // Of a provider that is unknown in one state nothing looks like a gain, to nobody.
    let mut unknown = of("v2.9.0", "secrets");
    unknown.members[1].components = ComponentsState::Unknown("fetch them".to_owned());
    let comparison = compare(Some(&before), &unknown, &ProviderRuleFacts::default());
    expect(&comparison, &[]);
    assert_eq!(comparison.providers[1].unknown, ["its components after, so the changes are too: fetch them"]);
}

#[test]
fn an_object_of_two_providers_and_one_that_cannot_be_rendered() {
    let object = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\n";
    let mut after = RenderedSet {
        members: vec![member("cluster-api v1.13.4", object), member("infrastructure-aws v2.8.4", object)],
    };
    expect(
        &compare(None, &after, &ProviderRuleFacts::default()),
        &[
            "duplicate-object Error ConfigMap b/a is in the components of cluster-api and of infrastructure-aws",
        ],
    );
    after.members[1].components =
        ComponentsState::Refused(crate::refusal::Refusal::new("it is broken: mend it"));
    expect(
        &compare(None, &after, &ProviderRuleFacts::default()),
        &["render-failed Error it is broken: mend it"],
    );
}

#[test]
fn an_undefined_kind_is_reported_before_an_api_server_does() {
    let definition = [DEFINITION, &version("v1", true, "")].concat();
    for (object, wanted) in [
        (
            "apiVersion: apps/v1\nkind: Deploymet\nmetadata: {name: a, namespace: b}\n",
            Some("Deploymet b/a has a kind that `apps/v1` does not have: correct it"),
        ),
        ("apiVersion: v1\nkind: Service\nmetadata: {name: a}\n", None),
        (
            "apiVersion: example.com/v1\nkind: Pools\nmetadata: {name: a}\n",
            Some("Pools a has a kind that `example.com/v1` does not have: correct it"),
        ),
        ("apiVersion: example.com/v1\nkind: Pool\nmetadata: {name: a}\n", None),
        // Who defines these is not of the set.
        ("apiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata: {name: a}\n", None),
    ] {
        let members = vec![member("infrastructure-aws v2.8.4", &format!("{definition}---\n{object}"))];
        let wanted: Vec<String> =
            wanted.iter().map(|said| format!("render-failed Error infrastructure-aws: {said}")).collect();
        let wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
        expect(&compare(None, &RenderedSet { members }, &ProviderRuleFacts::default()), &wanted);
    }
}

#[test]
fn the_worst_comes_first() {
    let before = set(&["cluster-api v1.13.4", "infrastructure-aws v2.8.4", "bootstrap-rke2 v0.12.0"]);
    let after = set(&["cluster-api v1.13.4", "infrastructure-aws v2.7.0", "bootstrap-rke2 v0.11.9"]);
    let comparison = compare(Some(&before), &after, &ProviderRuleFacts::default());
    let order: Vec<(&str, Option<Severity>)> = comparison
        .worst_first(&comparison.findings)
        .into_iter()
        .map(|(provider, worst)| (provider.label.as_str(), worst))
        .collect();
    let error = Some(Severity::Error);
    assert_eq!(order, [("bootstrap-rke2", error), ("infrastructure-aws", error), ("cluster-api", None)]);
}

#[test]
fn the_files_are_counted_whose_version_ends_with_a_release() {
    let objects = documents(
        "\
apiVersion: infrastructure.cluster.x-k8s.io/v1alpha7
kind: OpenStackCluster
metadata: {name: one, namespace: org}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1alpha7
kind: OpenStackMachineTemplate
metadata: {name: two, namespace: org}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: OpenStackMachineTemplate
metadata: {name: three, namespace: org}
",
    );
    let facts = ProviderRuleFacts { objects: objects.iter().collect(), ..ProviderRuleFacts::default() };
    let ends = "api-version-ends Warning infrastructure-openstack v0.12.0 no longer serves infrastructure.cluster.x-k8s.io/v1alpha7, which 1 file uses (the first one here): migrate them before, with `capstan migrate`";
    let comparison = compare(None, &set(&["infrastructure-openstack v0.12.0"]), &facts);
    expect(&comparison, &[ends]);
    assert_eq!(comparison.findings[0].place.as_ref().unwrap().to_string(), "peu01/base/all.yaml:1:13");
    expect(&compare(None, &set(&["infrastructure-openstack v0.11.8"]), &facts), &[]);
}
