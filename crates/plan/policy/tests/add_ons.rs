//! What add-ons' controllers make of a change, and which lists of versions a topology may go through.

use super::{AppliedBy, Occasion, judged};

/// Findings of a change of one file: rules and fields.
fn finding_lines(before: &str, after: &str) -> Vec<String> {
    let judged =
        judged(&[("base/a.yaml", before)], &[("base/a.yaml", after)], Occasion::Upgrade, AppliedBy::Others);
    judged
        .iter()
        .map(|finding| {
            format!(
                "{} {}",
                finding.rule.id(),
                finding.path.as_ref().map(ToString::to_string).unwrap_or_default()
            )
        })
        .collect()
}

#[test]
fn a_set_that_applies_once_brings_no_change() {
    let tree = |strategy: &str, kind: &str, name: &str, content: &str| {
        format!(
            "\
apiVersion: addons.cluster.x-k8s.io/v1beta2
kind: ClusterResourceSet
metadata: {{name: net}}
spec: {{{strategy}clusterSelector: {{matchLabels: {{a: b}}}}, resources: [{{kind: {kind}, name: {name}}}]}}
---
apiVersion: v1
kind: {kind}
metadata: {{name: {name}, labels: {{c: {content}}}}}
data: {{net.yaml: {content}}}
"
        )
    };
    let once = "cluster-resource-set-stays /data/net.yaml";
    for (strategy, kind, expected) in [
        ("", "ConfigMap", &[once][..]),
        ("strategy: ApplyOnce, ", "ConfigMap", &[once]),
        ("strategy: Reconcile, ", "ConfigMap", &[]),
        ("", "Secret", &[once]),
    ] {
        let found = finding_lines(&tree(strategy, kind, "net", "one"), &tree(strategy, kind, "net", "two"));
        let found: Vec<&str> =
            found.iter().map(String::as_str).filter(|one| one.starts_with("cluster")).collect();
        assert_eq!(found, expected, "{strategy} {kind}");
    }
    // A new name is a new resource, which is applied; the old one stays.
    assert_eq!(
        finding_lines(&tree("", "ConfigMap", "net-1", "one"), &tree("", "ConfigMap", "net-2", "two")),
        ["cluster-resource-set-stays /spec/resources"]
    );
    assert_eq!(
        finding_lines(
            &tree("", "ConfigMap", "net", "one"),
            &tree("strategy: Reconcile, ", "ConfigMap", "net", "one")
        ),
        ["refused-change /spec/strategy"]
    );
    let selector = tree("", "ConfigMap", "net", "one").replace("a: b", "a: c");
    assert_eq!(
        finding_lines(&tree("", "ConfigMap", "net", "one"), &selector),
        ["refused-change /spec/clusterSelector"]
    );
}

#[test]
fn a_helm_chart_proxy_that_moves_its_release_takes_it_away_first() {
    let proxy = |fields: &str| {
        format!(
            "\
apiVersion: addons.cluster.x-k8s.io/v1alpha1
kind: HelmChartProxy
metadata: {{name: net}}
spec: {{chartName: net, repoURL: 'https://charts.example.com'{fields}}}
"
        )
    };
    for (before, after, expected) in [
        ("", ", namespace: kube-system", &["helm-chart-proxy /spec/namespace"][..]),
        // An absent namespace is `default`.
        ("", ", namespace: default", &[]),
        (", releaseName: a", ", releaseName: b", &["helm-chart-proxy /spec/releaseName"]),
        // A name that was generated is another one.
        ("", ", releaseName: a", &["helm-chart-proxy /spec/releaseName"]),
        (", version: 1.0.0", ", version: 1.1.0", &[]),
        (", valuesTemplate: 'a: 1'", ", valuesTemplate: 'a: 2'", &[]),
        (
            ", reconcileStrategy: InstallOnce, version: 1.0.0",
            ", reconcileStrategy: InstallOnce, version: 1.1.0",
            &["helm-chart-proxy /spec/version"],
        ),
        (
            ", reconcileStrategy: Continuous",
            ", reconcileStrategy: InstallOnce",
            &["refused-change /spec/reconcileStrategy"],
        ),
    ] {
        assert_eq!(finding_lines(&proxy(before), &proxy(after)), expected, "{before} -> {after}");
    }
    let repository = proxy("").replace("charts.example.com", "mirror.example.com");
    assert_eq!(finding_lines(&proxy(""), &repository), ["helm-chart-proxy /spec/repoURL"]);
}

#[test]
fn two_helm_chart_proxies_of_one_release_fight() {
    let tree = |second: &str| {
        format!(
            "\
{{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {{name: a, labels: {{net: one}}}}, spec: {{paused: false}}}}
---
{{apiVersion: addons.cluster.x-k8s.io/v1alpha1, kind: HelmChartProxy, metadata: {{name: one}}, spec: {{chartName: net, repoURL: 'https://charts.example.com', releaseName: net, clusterSelector: {{matchLabels: {{net: one}}}}}}}}
---
{{apiVersion: addons.cluster.x-k8s.io/v1alpha1, kind: HelmChartProxy, metadata: {{name: two}}, spec: {{chartName: net, repoURL: 'https://charts.example.com', {second}}}}}
"
        )
    };
    for (second, expected) in [
        ("releaseName: net, namespace: default, clusterSelector: {}", 1),
        ("releaseName: net, clusterSelector: {matchExpressions: [{key: net, operator: Exists}]}", 1),
        ("releaseName: net, namespace: other, clusterSelector: {}", 0),
        ("releaseName: other, clusterSelector: {}", 0),
        ("clusterSelector: {}", 0),
        ("releaseName: net, clusterSelector: {matchLabels: {net: two}}", 0),
    ] {
        let found = finding_lines("{}", &tree(second));
        assert_eq!(
            found.iter().filter(|one| one.starts_with("helm-chart-proxy")).count(),
            expected,
            "{second}"
        );
    }
}

/// By the labels of a Cluster that stays, by the proxy's selector, and with the proxy.
#[test]
fn a_cluster_that_is_selected_no_longer_loses_the_helm_release() {
    let cluster = |labels: &str| {
        format!(
            "{{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {{name: a, labels: {{{labels}}}}}, spec: {{paused: false}}}}\n"
        )
    };
    let proxy = |fields: &str| {
        format!(
            "---\n{{apiVersion: addons.cluster.x-k8s.io/v1alpha1, kind: HelmChartProxy, metadata: {{name: one}}, spec: {{chartName: net, repoURL: 'https://charts.example.com', {fields}}}}}\n"
        )
    };
    let of_net = "clusterSelector: {matchLabels: {net: one}}";
    let tree = |labels: &str, fields: &str| format!("{}{}", cluster(labels), proxy(fields));
    let by_path = "clusterSelector: {}, valuesTemplate: 'zone: {{ .Cluster.metadata.labels.zone }}'";
    let by_index =
        "clusterSelector: {}, valuesTemplate: 'zone: {{ index .Cluster.metadata.labels \"zone\" }}'";
    for (before, after, expected) in [
        (tree("net: one", of_net), tree("net: two", of_net), vec!["helm-chart-proxy /metadata/labels/net"]),
        (
            tree("net: one", of_net),
            tree("net: one", "clusterSelector: {matchLabels: {net: two}}"),
            vec!["helm-chart-proxy /spec/clusterSelector"],
        ),
        (tree("net: one", of_net), cluster("net: one"), vec!["helm-chart-proxy "]),
        (tree("net: one", of_net), tree("net: one, a: b", of_net), vec![]),
        // Another label than that which the selector asks for is not why.
        (
            tree("net: one, a: b", of_net),
            tree("net: one, a: c", "clusterSelector: {matchLabels: {net: two}}"),
            vec!["helm-chart-proxy /spec/clusterSelector"],
        ),
        (
            tree("a: b, net: one", of_net),
            tree("a: c, net: two", of_net),
            vec!["helm-chart-proxy /metadata/labels/net"],
        ),
        (tree("net: two", of_net), tree("net: one", of_net), vec![]),
        (tree("net: two", of_net), cluster("net: two"), vec![]),
        (tree("zone: a", by_path), tree("zone: b", by_path), vec!["helm-chart-proxy /metadata/labels/zone"]),
        (
            tree("zone: a", by_index),
            tree("zone: b", by_index),
            vec!["helm-chart-proxy /metadata/labels/zone"],
        ),
        // No upgrade reaches it.
        (
            tree("zone: a", &format!("{by_path}, reconcileStrategy: InstallOnce")),
            tree("zone: b", &format!("{by_path}, reconcileStrategy: InstallOnce")),
            vec![],
        ),
        // All labels come at once, or go.
        (tree("", by_path), tree("zone: b, a: b", by_path), vec!["helm-chart-proxy /metadata/labels/zone"]),
        (
            cluster("").replace(", labels: {}", "") + &proxy(by_path),
            tree("zone: b", by_path),
            vec!["helm-chart-proxy /metadata/labels/zone"],
        ),
        (
            tree("a: b, net: one", of_net),
            cluster("").replace(", labels: {}", "") + &proxy(of_net),
            vec!["helm-chart-proxy /metadata/labels/net"],
        ),
        // A field whose name only begins like that of the labels.
        (
            cluster("net: one").replace("labels: {", "labelsX: {zone: a}, labels: {") + &proxy(by_path),
            cluster("net: one").replace("labels: {", "labelsX: {zone: b}, labels: {") + &proxy(by_path),
            vec![],
        ),
        (tree("zones: a", by_path), tree("zones: b", by_path), vec![]),
        (tree("zon: a", by_path), tree("zon: b", by_path), vec![]),
    ] {
        let found = finding_lines(&before, &after);
        let found: Vec<&str> =
            found.iter().map(String::as_str).filter(|one| one.starts_with("helm-chart-proxy")).collect();
        assert_eq!(found, expected, "{before}{after}");
    }
}

#[test]
fn a_set_that_reconciles_leaves_what_is_dropped_from_its_content() {
    let tree = |names: &[&str]| {
        let documents: String = names
            .iter()
            .map(|name| format!("    ---\n    {{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}, namespace: net}}}}\n"))
            .collect();
        format!(
            "\
apiVersion: addons.cluster.x-k8s.io/v1beta2
kind: ClusterResourceSet
metadata: {{name: net}}
spec: {{strategy: Reconcile, clusterSelector: {{matchLabels: {{a: b}}}}, resources: [{{kind: ConfigMap, name: net}}]}}
---
apiVersion: v1
kind: ConfigMap
metadata: {{name: net}}
data:
  net.yaml: |
{documents}"
        )
    };
    assert_eq!(
        finding_lines(&tree(&["a", "b"]), &tree(&["a"])),
        ["cluster-resource-set-stays /data/net.yaml"]
    );
    assert_eq!(finding_lines(&tree(&["a"]), &tree(&["a", "b"])), [""; 0]);
    assert_eq!(finding_lines(&tree(&["a", "b"]), &tree(&["b", "a"])), [""; 0]);
}

/// Each resource is its kind, its name and a field: `data` of a Secret is in base64.
#[test]
fn what_a_set_brings_from_another_resource_is_not_gone() {
    let object = |name: &str| {
        format!("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}, namespace: net}}}}")
    };
    let [a, b] = ["a", "b"].map(|name| format!("data: {{net.yaml: '{}'}}", object(name)));
    let both = format!("data: {{a.yaml: '{}', b.yaml: '{}'}}", object("a"), object("b"));
    let tree = |resources: &[(&str, &str, &str)]| {
        let listed: Vec<String> =
            resources.iter().map(|(kind, name, _)| format!("{{kind: {kind}, name: {name}}}")).collect();
        let brought: String = resources
            .iter()
            .filter(|(_, _, field)| !field.is_empty())
            .map(|(kind, name, field)| {
                format!("---\napiVersion: v1\nkind: {kind}\nmetadata: {{name: {name}}}\n{field}\n")
            })
            .collect();
        format!(
            "apiVersion: addons.cluster.x-k8s.io/v1beta2\nkind: ClusterResourceSet\nmetadata: {{name: net}}\nspec: {{strategy: Reconcile, clusterSelector: {{matchLabels: {{a: b}}}}, resources: [{}]}}\n{brought}",
            listed.join(", ")
        )
    };
    let in_base64 = |text: &str| format!("data: {{net.yaml: {text}}}");
    // The object `a`, then `b`.
    let [secret_a, secret_b] = [
        "e2FwaVZlcnNpb246IHYxLCBraW5kOiBDb25maWdNYXAsIG1ldGFkYXRhOiB7bmFtZTogYSwgbmFtZXNwYWNlOiBuZXR9fQ==",
        "e2FwaVZlcnNpb246IHYxLCBraW5kOiBDb25maWdNYXAsIG1ldGFkYXRhOiB7bmFtZTogYiwgbmFtZXNwYWNlOiBuZXR9fQ==",
    ]
    .map(in_base64);
    let in_clear = a.replacen("data", "stringData", 1);
    let unreadable = "data: {net.yaml: '{apiVersion: [v1'}";
    let stays = "cluster-resource-set-stays";
    let (map, secret) = ("ConfigMap", "Secret");
    for (before, after, expected) in [
        // It moves from one ConfigMap to another.
        (
            vec![(map, "one", &*both), (map, "two", &*b)],
            vec![(map, "one", &*b), (map, "two", &*a)],
            &[] as &[&str],
        ),
        // Both bring it, and then neither.
        (
            vec![(map, "one", &*both), (map, "two", &*a)],
            vec![(map, "one", &*b), (map, "two", &*b)],
            &["/data/a.yaml", "/data/net.yaml"],
        ),
        // All of it moves to one of another name.
        (vec![(map, "one", &*a)], vec![(map, "two", &*both)], &[]),
        (vec![(map, "one", &*a)], vec![(map, "two", &*b)], &["/spec/resources"]),
        // A resource that cannot be read, or is not here, may have it.
        (vec![(map, "one", &*a)], vec![(map, "one", unreadable)], &[]),
        (vec![(map, "one", &*both), (map, "two", "")], vec![(map, "one", &*b), (map, "two", "")], &[]),
        (vec![(map, "one", &*both)], vec![(map, "one", "data: {net.yaml: text}")], &[]),
        // A Secret keeps it, in another form.
        (vec![(secret, "one", &*in_clear)], vec![(secret, "one", &*secret_a)], &[]),
        (vec![(secret, "one", &*in_clear)], vec![(secret, "one", &*secret_b)], &["/stringData/net.yaml"]),
        // A resource that is listed twice is reported once.
        (
            vec![(map, "one", &*both), (map, "one", "")],
            vec![(map, "one", &*a), (map, "one", "")],
            &["/data/b.yaml"],
        ),
    ] {
        let mut found = finding_lines(&tree(&before), &tree(&after));
        found.retain(|one| one.starts_with(stays));
        let expected: Vec<String> = expected.iter().map(|path| format!("{stays} {path}")).collect();
        assert_eq!(found, expected, "{before:?} {after:?}");
    }
}

/// A generator of ConfigMaps gives each content another name.
#[test]
fn a_new_name_of_a_resource_brings_no_change_with_apply_once() {
    let tree = |strategy: &str, name: &str, image: &str| {
        format!(
            "\
apiVersion: addons.cluster.x-k8s.io/v1beta2
kind: ClusterResourceSet
metadata: {{name: net}}
spec: {{{strategy}clusterSelector: {{matchLabels: {{a: b}}}}, resources: [{{kind: ConfigMap, name: {name}}}]}}
---
apiVersion: v1
kind: ConfigMap
metadata: {{name: {name}}}
data:
  net.yaml: |
    {{apiVersion: v1, kind: ServiceAccount, metadata: {{name: cni, namespace: kube-system}}}}
    ---
    apiVersion: apps/v1
    kind: DaemonSet
    metadata: {{name: cni, namespace: kube-system}}
    spec: {{template: {{spec: {{containers: [{{name: cni, image: 'cni:{image}'}}]}}}}}}
"
        )
    };
    for (strategy, image, expected) in [
        ("", "v2", &["cluster-resource-set-stays /data/net.yaml"][..]),
        ("strategy: ApplyOnce, ", "v2", &["cluster-resource-set-stays /data/net.yaml"]),
        ("strategy: ApplyOnce, ", "v1", &[]),
        ("strategy: Reconcile, ", "v2", &[]),
    ] {
        let (before, after) = (tree(strategy, "net-1", "v1"), tree(strategy, "net-2", image));
        assert_eq!(finding_lines(&before, &after), expected, "{strategy}{image}");
    }
    let found = judged(
        &[("base/a.yaml", &tree("", "net-1", "v1"))],
        &[("base/a.yaml", &tree("", "net-2", "v2"))],
        Occasion::Revision,
        AppliedBy::Others,
    );
    let said: Vec<&str> = found.iter().map(|finding| finding.message.as_str()).collect();
    assert_eq!(
        said,
        [
            "ClusterResourceSet net brings DaemonSet kube-system/cni with `strategy: ApplyOnce`, so clusters that have it keep the old content. Only `strategy: Reconcile` updates it. The strategy of a set is immutable: add a set with another name"
        ]
    );
}

#[test]
fn a_class_leads_over_several_minors_where_its_list_does() {
    let tree = |class: &str, version: &str| {
        format!(
            "\
{{apiVersion: cluster.x-k8s.io/v1beta2, kind: ClusterClass, metadata: {{name: k}}, spec: {{{class}}}}}
---
{{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {{name: a}}, spec: {{topology: {{classRef: {{name: k}}, version: {version}}}}}}}
"
        )
    };
    let skip = "kubernetes-minor-skip /spec/topology/version";
    for (class, expected) in [
        ("kubernetesVersions: [v1.31.4, v1.32.9, v1.33.2]", &[][..]),
        ("kubernetesVersions: [v1.31.4, v1.33.2]", &[skip, "topology-version /spec/kubernetesVersions/1"]),
        (
            "kubernetesVersions: [v1.31.4, v1.32.9, v1.32.1, v1.33.2]",
            &[skip, "topology-version /spec/kubernetesVersions/2"],
        ),
        ("upgrade: {external: {generateUpgradePlanExtension: e}}", &[]),
        ("variables: []", &[skip]),
    ] {
        let mut found = finding_lines("{}", &tree(class, "v1.33.2"));
        found.extend(finding_lines(&tree(class, "v1.31.4"), &tree(class, "v1.33.2")));
        found.retain(|one| one.starts_with("kubernetes-minor") || one.starts_with("topology-version"));
        found.sort();
        found.dedup();
        assert_eq!(found, expected, "{class}");
    }
}
