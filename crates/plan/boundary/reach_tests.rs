//! Whose clusters an overlay reaches: by selector, by name, by kubeconfig.

use super::tests::{BASE, NEIGHBOUR, beside, judged};
use super::*;

/// An object that acts in a cluster by its name or kubeconfig acts in the folder's own. Other known clusters do not
/// matter.
#[test]
fn an_overlay_reaches_its_own_clusters_by_name_and_by_kubeconfig() {
    let kinds = "{overlayKinds: [{group: config.projectsveltos.io}, {group: helm.toolkit.fluxcd.io}, {group: kustomize.toolkit.fluxcd.io}, {group: application.giantswarm.io}]}";
    let proxy = |name: &str| {
        format!(
            "apiVersion: addons.cluster.x-k8s.io/v1alpha1\nkind: HelmReleaseProxy\nmetadata: {{name: a}}\nspec:\n  clusterRef: {{kind: Cluster, name: {name}}}\n"
        )
    };
    let binding = |name: &str| {
        format!(
            "apiVersion: addons.cluster.x-k8s.io/v1beta2\nkind: ClusterResourceSetBinding\nmetadata:\n  name: {name}\n"
        )
    };
    let profile = |reference: &str| {
        format!(
            "apiVersion: config.projectsveltos.io/v1beta1\nkind: Profile\nmetadata: {{name: a}}\nspec:\n  clusterRefs:\n  - {reference}\n"
        )
    };
    let flux = |group: &str, kind: &str, secret: &str| {
        format!(
            "apiVersion: {group}\nkind: {kind}\nmetadata: {{name: a}}\nspec:\n  kubeConfig: {{secretRef: {{name: {secret}}}}}\n"
        )
    };
    let release = |secret: &str| flux("helm.toolkit.fluxcd.io/v2", "HelmRelease", secret);
    let kustomization = |secret: &str| flux("kustomize.toolkit.fluxcd.io/v1", "Kustomization", secret);
    let app = |secret: &str| {
        format!(
            "apiVersion: application.giantswarm.io/v1alpha1\nkind: App\nmetadata: {{name: a}}\nspec:\n  kubeConfig: {{inCluster: false, secret: {{name: {secret}, namespace: org}}}}\n"
        )
    };
    let kubeconfig = |kind: &str, field: &str| {
        Some(format!("{kind} org/a /spec/kubeConfig/{field}/name OthersKubeconfig c/overlay/a.yaml:5"))
    };
    for (overlay, expected) in [
        (proxy("peu01"), None),
        (
            proxy("stranger"),
            Some("HelmReleaseProxy org/a /spec/clusterRef/name OtherCluster c/overlay/a.yaml:5".to_owned()),
        ),
        (binding("peu01"), None),
        (
            binding("stranger"),
            Some(
                "ClusterResourceSetBinding org/stranger /metadata/name OtherCluster c/overlay/a.yaml:4"
                    .to_owned(),
            ),
        ),
        (profile("{kind: Cluster, namespace: org, name: peu01}"), None),
        (
            profile("{kind: Cluster, namespace: org, name: stranger}"),
            Some("Profile org/a /spec/clusterRefs/0 OtherCluster c/overlay/a.yaml:6".to_owned()),
        ),
        (
            profile("{kind: Cluster, namespace: other, name: peu01}"),
            Some("Profile org/a /spec/clusterRefs/0 OtherCluster c/overlay/a.yaml:6".to_owned()),
        ),
        // What Sveltos knows by another kind is another cluster.
        (
            profile("{kind: SveltosCluster, namespace: org, name: peu01}"),
            Some("Profile org/a /spec/clusterRefs/0 OtherCluster c/overlay/a.yaml:6".to_owned()),
        ),
        (release("peu01-kubeconfig"), None),
        (release("peu01-user-kubeconfig"), None),
        (release("stranger-kubeconfig"), kubeconfig("HelmRelease", "secretRef")),
        (release("peu01"), kubeconfig("HelmRelease", "secretRef")),
        (kustomization("peu01-kubeconfig"), None),
        (kustomization("stranger-kubeconfig"), kubeconfig("Kustomization", "secretRef")),
        (app("peu01-kubeconfig"), None),
        (app("stranger-kubeconfig"), kubeconfig("App", "secret")),
    ] {
        assert_eq!(beside([BASE, &overlay], ["", ""], kinds), Vec::from_iter(expected), "{overlay}");
    }
    // Of a cluster that a chart makes the base alone knows the kubeconfig.
    let base = "apiVersion: application.giantswarm.io/v1alpha1\nkind: App\nmetadata: {name: peu01, namespace: org}\nspec: {kubeConfig: {inCluster: false, secret: {name: made-kubeconfig, namespace: org}}}\n";
    assert_eq!(beside([base, &release("made-kubeconfig")], ["", ""], kinds), Vec::<String>::new());
    assert_eq!(
        beside([base, &release("other-kubeconfig")], ["", ""], kinds),
        Vec::from_iter(kubeconfig("HelmRelease", "secretRef"))
    );
    // The base is the platform team's.
    let base = format!("{BASE}---\n{}", release("stranger-kubeconfig"));
    assert_eq!(beside([&base, ""], ["", ""], kinds), Vec::<String>::new());
}

/// Clusters on the management cluster that no folder brings.
#[test]
fn an_overlay_selects_no_cluster_that_somebody_made_by_hand() {
    let live = |namespace: &str, name: &str, labels: &str| {
        let value = serde_json::json!({"metadata": {"namespace": namespace, "name": name, "labels": {"env": labels}}});
        LiveCluster::of(&value).unwrap()
    };
    let all = [
        live("org", "peu01", "prod"),
        live("org", "peu02", "prod"),
        live("org", "by-hand", "prod"),
        live("other", "by-hand", "test"),
    ];
    let set = |selector: &str| {
        format!(
            "apiVersion: addons.cluster.x-k8s.io/v1beta2\nkind: ClusterResourceSet\nmetadata: {{name: a}}\nspec:\n  clusterSelector: {selector}\n"
        )
    };
    let found = |own: [&str; 2], one_owner: &str| {
        judged(own, [NEIGHBOUR, ""], one_owner, |rendered, around| {
            let mut rendered = rendered.clone();
            let home = place_in_namespaces(&mut rendered, around.scopes).unwrap();
            let found = strangers(&rendered, &home, around, &all);
            assert!(found.is_empty() || overlay_selects(&rendered));
            found
        })
    };
    let strange = "ClusterResourceSet org/a /spec/clusterSelector SelectsStranger c/overlay/a.yaml:5";
    for (selector, expected) in [
        ("{matchLabels: {env: prod}}", Some(strange)),
        ("{matchLabels: {env: dev}}", None),
        // That one is in another namespace.
        ("{matchLabels: {env: test}}", None),
    ] {
        assert_eq!(found([BASE, &set(selector)], "{}"), Vec::from_iter(expected), "{selector}");
    }
    // A base selects what it selected before, even if people create Clusters by hand.
    let base = format!("{BASE}---\n{}", set("{matchLabels: {env: prod}}"));
    assert_eq!(found([&base, ""], "{}"), Vec::<String>::new());
    let labelled = format!(
        "{}  labels: {{logs: \"on\"}}\n",
        "apiVersion: addons.cluster.x-k8s.io/v1beta2\nkind: ClusterResourceSet\nmetadata:\n  name: a\n"
    );
    assert_eq!(
        found([&base, &labelled], "{}"),
        Vec::<String>::new(),
        "nor where the overlay changes something else"
    );
    // Of one owner's folders one may select the other's, and still no stranger.
    assert_eq!(found([BASE, &set("{matchLabels: {env: prod}}")], "{oneOwner: ['{c,d}']}"), [strange]);
}
