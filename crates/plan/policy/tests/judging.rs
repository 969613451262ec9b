//! Cases beyond the catalogue's examples.

use super::{
    AppliedBy, Occasion, PolicyFacts, ReleaseStep, Severities, TODAY, folders, judged, lines, release,
    render_files,
};
use crate::policy::judge;
use capstan_kustomize::schema::Schemas;

fn upgraded(before: &[(&str, &str)], after: &[(&str, &str)]) -> Vec<String> {
    lines(&judged(before, after, Occasion::Upgrade, AppliedBy::Others))
}

#[test]
fn every_kind_that_asks_for_a_version_is_judged_at_its_field() {
    let objects = |version: &str| {
        format!(
            "\
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {{name: a}}
spec: {{topology: {{version: {version}}}}}
---
apiVersion: cluster.x-k8s.io/v1alpha3
kind: MachinePool
metadata: {{name: b, namespace: my-org}}
spec:
  template:
    spec:
      version: {version}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: AzureManagedControlPlane
metadata: {{name: c}}
spec: {{version: {version}}}
"
        )
    };
    let (old, new) = (objects("v1.16.8"), objects("v1.21.4"));
    assert_eq!(
        upgraded(&[("base/a.yaml", &old)], &[("base/a.yaml", &new)]),
        [
            "kubernetes-minor-skip Error c/base/a.yaml:4:28 Cluster a /spec/topology/version",
            "kubernetes-minor-skip Error c/base/a.yaml:12:16 MachinePool my-org/b /spec/template/spec/version",
            "kubernetes-minor-skip Error c/base/a.yaml:17:17 AzureManagedControlPlane c /spec/version",
        ]
    );
    assert_eq!(upgraded(&[("base/a.yaml", &new)], &[("base/a.yaml", &old)]).len(), 3, "each goes back");
}

#[test]
fn an_upgrade_speaks_of_the_lines_before_it_and_a_revision_of_those_it_brings() {
    let (old, new) = (LAGGING.replace("v1.30.2", "v1.28.0"), format!("# new\n{LAGGING}"));
    let place = |occasion| {
        let found = judged(&[("base/a.yaml", &old)], &[("base/a.yaml", &new)], occasion, AppliedBy::Others);
        lines(&found).remove(0)
    };
    let expected = |line| {
        format!("kubernetes-minor-skip Error c/base/a.yaml:{line}:117 KubeadmControlPlane a /spec/version")
    };
    assert_eq!(place(Occasion::Upgrade), expected(1));
    assert_eq!(place(Occasion::Revision), expected(2));
}

const LAGGING: &str = "\
{apiVersion: controlplane.cluster.x-k8s.io/v1beta1, kind: KubeadmControlPlane, metadata: {name: a}, spec: {version: v1.30.2}}
---
{apiVersion: cluster.x-k8s.io/v1beta1, kind: MachineDeployment, metadata: {name: b}, spec: {template: {spec: {version: v1.28.3}}}}
";

#[test]
fn workers_may_catch_up_with_their_control_plane() {
    let caught_up = LAGGING.replace("v1.28.3", "v1.30.2");
    assert_eq!(upgraded(&[("base/a.yaml", LAGGING)], &[("base/a.yaml", &caught_up)]), [""; 0]);
    let ahead = LAGGING.replace("v1.28.3", "v1.31.0");
    assert_eq!(
        upgraded(&[("base/a.yaml", LAGGING)], &[("base/a.yaml", &ahead)]),
        [
            "kubernetes-minor-skip Error c/base/a.yaml:3:120 MachineDeployment b /spec/template/spec/version",
            "kubernetes-workers-ahead Error c/base/a.yaml:3:120 MachineDeployment b /spec/template/spec/version",
        ]
    );
}

#[test]
fn a_version_pinned_in_the_overlay_is_what_counts() {
    let control_plane = |version: &str| {
        format!(
            "{{apiVersion: controlplane.cluster.x-k8s.io/v1beta1, kind: KubeadmControlPlane, metadata: {{name: a}}, spec: {{version: {version}}}}}\n"
        )
    };
    let (old, new, pinned) = (control_plane("v1.28.0"), control_plane("v1.30.0"), control_plane("v1.28.5"));
    assert_eq!(
        upgraded(
            &[("base/a.yaml", &old), ("overlay/a.yaml", &pinned)],
            &[("base/a.yaml", &new), ("overlay/a.yaml", &pinned)]
        ),
        ["overlay-hides-change Warning c/overlay/a.yaml:1:117 KubeadmControlPlane a /spec/version"]
    );
}

#[test]
fn a_rollout_without_a_change_is_reported_by_the_purpose_of_the_templates() {
    let objects = |name: &str, size: u8| {
        format!(
            "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata: {{name: a}}
spec: {{template: {{spec: {{infrastructureRef: {{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: AcmeMachineTemplate, name: {name}}}}}}}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: AcmeMachineTemplate
metadata: {{name: {name}}}
spec: {{template: {{spec: {{size: {size}}}}}}}
"
        )
    };
    let found = |after: &str| -> Vec<String> {
        let before = objects("a-1", 1);
        let all = judged(
            &[("base/a.yaml", &before)],
            &[("base/a.yaml", after)],
            Occasion::Revision,
            AppliedBy::Others,
        );
        lines(&all).into_iter().filter(|line| line.starts_with("rollout-without-change")).collect()
    };
    assert_eq!(
        found(&objects("a-2", 1)),
        [
            "rollout-without-change Warning c/base/a.yaml:4:132 MachineDeployment a /spec/template/spec/infrastructureRef/name"
        ]
    );
    assert_eq!(found(&objects("a-2", 2)), [""; 0]);
    // Instances of a pool come from its own infrastructure, so another one means others.
    let pool = |text: String| {
        text.replace("MachineDeployment", "MachinePool").replace("AcmeMachineTemplate", "AcmeMachinePool")
    };
    let (before, after) = (pool(objects("a-1", 1)), pool(objects("a-2", 1)));
    let all = judged(
        &[("base/a.yaml", &before)],
        &[("base/a.yaml", &after)],
        Occasion::Revision,
        AppliedBy::Others,
    );
    assert!(!lines(&all).iter().any(|line| line.starts_with("rollout-without-change")), "{all:?}");
}

#[test]
fn releases_judge_clusters_that_show_no_version() {
    let empty = render_files(&[]);
    let folders = folders();
    let judge_step = |from: &str, to: &str| {
        let from = release("v29.0.0", from, &[("kubernetes", from)], &[("cilium", "1.0.0-gs9")]);
        let to = release("v31.0.0", to, &[("kubernetes", to)], &[("cilium", "1.0.0"), ("new", "0.1.0")]);
        let facts = PolicyFacts {
            folders: &folders,
            before: &empty,
            after: &empty,
            inside: &[],
            applied_by: AppliedBy::Others,
            occasion: Occasion::Upgrade,
            release: Some(ReleaseStep { from: Some(&from), to: &to, place: None }),
            schemas: Schemas::built_in(),
            cluster_api: None,
            boundary: None,
            today: TODAY,
            values: None,
        };
        let findings = judge(&facts, &Severities::default());
        findings.into_iter().map(|finding| finding.message).collect::<Vec<_>>()
    };
    let cilium = "cilium goes back from 1.0.0-gs9 in capa/v29.0.0 to 1.0.0 in capa/v31.0.0: take a release with 1.0.0-gs9 or newer, or correct the release";
    assert_eq!(judge_step("1.29.1", "1.30.0"), [cilium]);
    assert_eq!(
        judge_step("1.29.1", "1.31.0"),
        [
            cilium,
            "release capa/v31.0.0 takes Kubernetes from 1.29.1 to 1.31.0, but Kubernetes must be upgraded one minor at a time: first upgrade to 1.30"
        ]
    );
    assert_eq!(
        judge_step("1.29.1", "1.29.0"),
        [
            cilium,
            "release capa/v31.0.0 takes Kubernetes back from 1.29.1 to 1.29.0. Kubernetes cannot be downgraded: use a newer release"
        ]
    );
}

const WORKERS: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata: {name: w, namespace: org}
spec:
  replicas: 2
  clusterName: c
  strategy: old
  list: [{name: a, value: 1}, {name: b, value: 1}]
";

#[test]
fn what_the_overlay_leaves_alone_is_not_hidden() {
    let new =
        WORKERS.replace("strategy: old", "strategy: new").replace("name: b, value: 1", "name: b, value: 2");
    let kustomization = "resources: [../base]\nnamespace: other\npatches:\n- target: {kind: MachineDeployment}\n  patch: '[{\"op\": \"remove\", \"path\": \"/spec/list/0\"}, {\"op\": \"replace\", \"path\": \"/spec/replicas\", \"value\": 9}]'\n";
    let overlay = ("overlay/kustomization.yaml", kustomization);
    let base = ("base/kustomization.yaml", "resources: [w.yaml]\n");
    assert_eq!(
        upgraded(&[("base/w.yaml", WORKERS), base, overlay], &[("base/w.yaml", &new), base, overlay]),
        [""; 0]
    );
}

#[test]
fn a_change_that_an_overlay_removes_is_hidden_by_the_patch_itself() {
    let new = WORKERS.replace("strategy: old", "strategy: new");
    let overlay = (
        "overlay/w.yaml",
        "# why\napiVersion: cluster.x-k8s.io/v1beta1\nkind: MachineDeployment\nmetadata: {name: w, namespace: org}\nspec: {strategy: null}\n",
    );
    assert_eq!(
        upgraded(&[("base/w.yaml", WORKERS), overlay], &[("base/w.yaml", &new), overlay]),
        ["overlay-hides-change Warning c/overlay/w.yaml:2:1 MachineDeployment org/w /spec/strategy"]
    );
}

#[test]
fn a_selector_that_selected_before_and_selects_nothing_now_has_lost_its_target() {
    let (workers, _) = WORKERS.split_once("  strategy: old").unwrap();
    let renamed = workers.replace("name: w,", "name: v,");
    let kustomization = "resources: [../base]\npatches:\n- target: {kind: MachineDeployment, name: w}\n  patch: '[{\"op\": \"replace\", \"path\": \"/spec/replicas\", \"value\": 9}]'\n- target: {kind: Never}\n  patch: '[{\"op\": \"remove\", \"path\": \"/spec\"}]'\n";
    let overlay = ("overlay/kustomization.yaml", kustomization);
    let base = ("base/kustomization.yaml", "resources: [w.yaml]\n");
    assert_eq!(
        upgraded(&[("base/w.yaml", workers), base, overlay], &[("base/w.yaml", &renamed), base, overlay]),
        [
            "removes-machines Error c/base/w.yaml:1:1 MachineDeployment org/w ",
            "overlay-loses-target Error c/overlay/kustomization.yaml:3:11 MachineDeployment org/w -"
        ]
    );
}

const TEMPLATE: &str = "\
apiVersion: bootstrap.cluster.x-k8s.io/v1beta1
kind: KubeadmConfig
metadata: {name: pool, namespace: org}
spec: {verbosity: 1}
";
const POOL: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachinePool
metadata: {name: pool, namespace: org}
spec: {clusterName: c, template: {spec: {clusterName: c, bootstrap: {configRef: {apiVersion: bootstrap.cluster.x-k8s.io/v1beta1, kind: KubeadmConfig, name: pool}}}}}
";

#[test]
fn templates_may_change_in_claimed_clusters_and_only_their_spec_counts() {
    let changed = TEMPLATE.replace("verbosity: 1", "verbosity: 2");
    let labelled = TEMPLATE.replace("namespace: org}", "namespace: org, labels: {a: b}}");
    let pool = ("base/pool.yaml", POOL);
    let cases: [(&str, AppliedBy, &[&str]); 3] = [
        (
            &changed,
            AppliedBy::Others,
            &["template-edited-in-place Error c/base/t.yaml:4:19 KubeadmConfig org/pool /spec/verbosity"],
        ),
        (&changed, AppliedBy::Reconciler, &[]),
        (&labelled, AppliedBy::Others, &[]),
    ];
    for (after, applied_by, expected) in cases {
        let found = judged(
            &[("base/t.yaml", TEMPLATE), pool],
            &[("base/t.yaml", after), pool],
            Occasion::Revision,
            applied_by,
        );
        assert_eq!(lines(&found), expected);
    }
    let nobodys = judged(
        &[("base/t.yaml", TEMPLATE)],
        &[("base/t.yaml", &changed)],
        Occasion::Revision,
        AppliedBy::Others,
    );
    assert_eq!(lines(&nobodys), [""; 0], "a config that no pool names is no template");
}

#[test]
fn workers_that_leave_a_topology_take_their_machines_along() {
    let topology = |workers: &str| {
        format!(
            "{{apiVersion: cluster.x-k8s.io/v1beta1, kind: Cluster, metadata: {{name: a}}, spec: {{topology: {{version: v1.30.2, workers: {{machineDeployments: [{workers}]}}, class: k}}}}}}\n"
        )
    };
    let (two, one) = (topology("{class: w, name: a}, {class: w, name: b}"), topology("{class: w, name: b}"));
    let found =
        judged(&[("base/a.yaml", &two)], &[("base/a.yaml", &one)], Occasion::Revision, AppliedBy::Others);
    assert_eq!(
        lines(&found),
        ["removes-machines Error c/base/a.yaml:1:143 Cluster a /spec/topology/workers/machineDeployments/0"]
    );
}

#[test]
fn an_upgrade_says_which_machines_it_takes_but_leaves_clusters_to_its_own_rule() {
    let object = |kind: &str, group: &str| {
        format!("{{apiVersion: {group}cluster.x-k8s.io/v1beta1, kind: {kind}, metadata: {{name: a}}}}\n")
    };
    let pool = object("MachinePool", "");
    let cluster = object("Cluster", "");
    let control_plane = object("KubeadmControlPlane", "controlplane.");
    let before = [
        ("base/c.yaml", cluster.as_str()),
        ("base/k.yaml", control_plane.as_str()),
        ("base/p.yaml", pool.as_str()),
    ];
    let found = judged(&before, &[], Occasion::Upgrade, AppliedBy::Others);
    assert_eq!(lines(&found), ["removes-machines Error c/base/p.yaml:1:1 MachinePool a "]);
}

#[test]
fn a_control_plane_of_another_kind_also_takes_its_machines() {
    let plane =
        "{apiVersion: infrastructure.cluster.x-k8s.io/v1alpha1, kind: VCluster, metadata: {name: a}}\n";
    let found = judged(&[("base/v.yaml", plane)], &[], Occasion::Revision, AppliedBy::Others);
    assert_eq!(lines(&found), ["removes-machines Error c/base/v.yaml:1:1 VCluster a "]);
}

#[test]
fn an_upgrade_tells_what_the_new_kubernetes_takes_from_what_flux_applies_inside() {
    let control_plane = |version: &str| {
        render_files(&[(
            "base/a.yaml",
            &format!(
                "{{apiVersion: controlplane.cluster.x-k8s.io/v1beta1, kind: KubeadmControlPlane, metadata: {{name: a}}, spec: {{version: {version}}}}}\n"
            ),
        )])
    };
    let budget = "# kept\n{apiVersion: policy/v1beta1, kind: PodDisruptionBudget, metadata: {name: dns}}\n";
    let inside = render_files(&[("base/budget.yaml", budget)]).objects;
    let folders = folders();
    let judge_step = |from: &str, to: &str| {
        let (before, after) = (control_plane(from), control_plane(to));
        let facts = PolicyFacts {
            folders: &folders,
            before: &before,
            after: &after,
            inside: &inside,
            applied_by: AppliedBy::Others,
            occasion: Occasion::Upgrade,
            release: None,
            schemas: Schemas::built_in(),
            cluster_api: None,
            boundary: None,
            today: TODAY,
            values: None,
        };
        let found = lines(&judge(&facts, &Severities::default()));
        found.into_iter().filter(|line| line.starts_with("kubernetes-api-removed")).collect::<Vec<_>>()
    };
    assert_eq!(
        judge_step("v1.24.3", "v1.25.1"),
        ["kubernetes-api-removed Error c/base/budget.yaml:2:14 PodDisruptionBudget dns /apiVersion"]
    );
    assert_eq!(judge_step("v1.23.3", "v1.24.1"), [""; 0]);
    assert_eq!(judge_step("v1.25.1", "v1.26.1"), [""; 0], "the cluster had that already");
}

#[test]
fn a_rollout_scheduled_in_the_past_is_judged_for_each_group_of_a_topology() {
    let cluster = |first: &str, second: &str| {
        format!(
            "\
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {{name: a}}
spec:
  topology:
    version: v1.30.2
    workers:
      machineDeployments:
      - {{name: one, class: w, rollout: {{after: \"{first}\"}}}}
      - {{name: two, class: w, rollout: {{after: \"{second}\"}}}}
"
        )
    };
    // Of the second the time has long been there; of the first it is new; the third comes only now, with machines
    // that are made after any time that is over.
    let old = cluster("2094-01-01T00:00:00Z", "2019-01-01T00:00:00Z");
    let third = "      - {name: three, class: w, rollout: {after: \"2019-02-01T00:00:00Z\"}}\n";
    let new = cluster("2020-01-01T00:00:00Z", "2019-01-01T00:00:00Z") + third;
    let found: Vec<String> = upgraded(&[("base/a.yaml", &old)], &[("base/a.yaml", &new)])
        .into_iter()
        .filter(|line| line.starts_with("rollout-after-past"))
        .collect();
    assert_eq!(
        found,
        [
            "rollout-after-past Warning c/base/a.yaml:9:48 Cluster a /spec/topology/workers/machineDeployments/0/rollout/after"
        ]
    );
}

/// A KubeadmConfigTemplate whose kubelet has these arguments, as each API version spells them.
fn bootstrap(version: &str, name: &str, arguments: &str) -> String {
    format!(
        "\
apiVersion: bootstrap.cluster.x-k8s.io/{version}
kind: KubeadmConfigTemplate
metadata: {{name: {name}, namespace: org}}
spec:
  template:
    spec:
      joinConfiguration:
        nodeRegistration:
          kubeletExtraArgs: {arguments}
"
    )
}

const OLD_ARGUMENTS: &str = "{max-pods: '110', v: '2'}";
const SAME_ARGUMENTS: &str = "[{name: max-pods, value: '110'}, {name: v, value: '2'}]";
const OTHER_ARGUMENTS: &str = "[{name: max-pods, value: '110'}, {name: v, value: '4'}]";

fn revised(rule: &str, before: &str, after: &str) -> Vec<String> {
    let all =
        judged(&[("base/a.yaml", before)], &[("base/a.yaml", after)], Occasion::Revision, AppliedBy::Others);
    lines(&all).into_iter().filter(|line| line.starts_with(rule)).collect()
}

#[test]
fn a_template_that_moves_to_another_api_version_is_edited_where_its_meaning_is() {
    let edits = |after: &str| {
        let before = bootstrap("v1beta1", "a", OLD_ARGUMENTS);
        revised("template-edited-in-place", &before, &bootstrap("v1beta2", "a", after))
    };
    assert_eq!(edits(SAME_ARGUMENTS), [""; 0]);
    assert_eq!(
        edits(OTHER_ARGUMENTS),
        [
            "template-edited-in-place Error c/base/a.yaml:9:79 KubeadmConfigTemplate org/a /spec/template/spec/joinConfiguration/nodeRegistration/kubeletExtraArgs/1/value"
        ]
    );
    // And back again, as when the move is reverted.
    let old = bootstrap("v1beta1", "a", OLD_ARGUMENTS);
    let reverts =
        |before: &str| revised("template-edited-in-place", &bootstrap("v1beta2", "a", before), &old);
    assert_eq!(reverts(SAME_ARGUMENTS), [""; 0]);
    assert_eq!(
        reverts(OTHER_ARGUMENTS),
        [
            "template-edited-in-place Error c/base/a.yaml:9:50 KubeadmConfigTemplate org/a /spec/template/spec/joinConfiguration/nodeRegistration/kubeletExtraArgs/1/value"
        ]
    );
}

#[test]
fn a_template_without_a_known_conversion_is_compared_as_written() {
    let machine = |version: &str, size: u8| {
        format!(
            "\
apiVersion: infrastructure.cluster.x-k8s.io/{version}
kind: AcmeMachineTemplate
metadata: {{name: a, namespace: org}}
spec: {{template: {{spec: {{size: {size}}}}}}}
"
        )
    };
    let edits = |after: &str| revised("template-edited-in-place", &machine("v1beta1", 1), after);
    assert_eq!(edits(&machine("v1beta2", 1)), [""; 0]);
    assert_eq!(
        edits(&machine("v1beta2", 2)),
        [
            "template-edited-in-place Error c/base/a.yaml:4:32 AcmeMachineTemplate org/a /spec/template/spec/size"
        ]
    );
}

#[test]
fn a_new_name_in_another_api_version_is_for_nothing_where_the_meaning_is_the_same() {
    let machines = |version: &str, api: &str, name: &str, template: &str| {
        format!(
            "\
apiVersion: cluster.x-k8s.io/{version}
kind: MachineDeployment
metadata: {{name: a, namespace: org}}
spec:
  template:
    spec:
      bootstrap:
        configRef:
          {api}
          kind: KubeadmConfigTemplate
          name: {name}
---
{template}"
        )
    };
    let old = "apiVersion: bootstrap.cluster.x-k8s.io/v1beta1";
    let new = "apiGroup: bootstrap.cluster.x-k8s.io";
    let before = machines("v1beta1", old, "a-1", &bootstrap("v1beta1", "a-1", OLD_ARGUMENTS));
    let found = |arguments: &str| {
        let after = machines("v1beta2", new, "a-2", &bootstrap("v1beta2", "a-2", arguments));
        revised("rollout-without-change", &before, &after)
    };
    assert_eq!(
        found(SAME_ARGUMENTS),
        [
            "rollout-without-change Warning c/base/a.yaml:11:17 MachineDeployment org/a /spec/template/spec/bootstrap/configRef/name"
        ]
    );
    assert_eq!(found(OTHER_ARGUMENTS), [""; 0]);

    let back = |arguments: &str| {
        let before = machines("v1beta2", new, "a-2", &bootstrap("v1beta2", "a-2", arguments));
        let after = machines("v1beta1", old, "a-1", &bootstrap("v1beta1", "a-1", OLD_ARGUMENTS));
        revised("rollout-without-change", &before, &after)
    };
    assert_eq!(
        back(SAME_ARGUMENTS),
        [
            "rollout-without-change Warning c/base/a.yaml:11:17 MachineDeployment org/a /spec/template/spec/bootstrap/configRef/name"
        ]
    );
    assert_eq!(back(OTHER_ARGUMENTS), [""; 0]);
}
