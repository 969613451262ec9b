//! A ClusterClass is edited without the `Cluster` getting another generation: everything is green for a moment.

use super::super::made::TopologyObjects;
use super::*;

/// The class as its controller has seen it, edited at ten.
fn class() -> Value {
    json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "ClusterClass",
        "metadata": {"name": "fast", "namespace": "org", "generation": 3, "creationTimestamp": "2026-11-21T08:00:00Z",
            "managedFields": [
                {"manager": "capstan", "operation": "Apply", "time": "2026-11-21T10:00:00Z", "fieldsV1": {"f:spec": {}}},
                {"manager": "manager", "operation": "Update", "subresource": "status", "time": "2026-11-21T10:20:00Z",
                 "fieldsV1": {"f:status": {}}},
                {"manager": "kubectl", "operation": "Update", "time": "2026-11-21T10:20:00Z",
                 "fieldsV1": {"f:metadata": {}}},
            ]},
        "spec": {
            "controlPlane": {
                "templateRef": {"kind": "KubeadmControlPlaneTemplate", "name": "kcp-2"},
                "machineInfrastructure": {"templateRef": {"kind": "DevMachineTemplate", "name": "plane-2"}}},
            "workers": {"machineDeployments": [{"class": "default",
                "bootstrap": {"templateRef": {"kind": "KubeadmConfigTemplate", "name": "boot-2"}},
                "infrastructure": {"templateRef": {"kind": "DevMachineTemplate", "name": "machine-2"}}}]}},
        "status": {"observedGeneration": 3},
    })
}

/// What the class names, in the order of [`made`].
const NAMED: [(&str, &str); 4] = [
    ("KubeadmControlPlaneTemplate", "kcp-2"),
    ("DevMachineTemplate", "plane-2"),
    ("KubeadmConfigTemplate", "boot-2"),
    ("DevMachineTemplate", "machine-2"),
];

fn template(group: &str, kind: &str, name: &str) -> Value {
    json!({"apiVersion": format!("{group}.cluster.x-k8s.io/v1beta2"), "kind": kind,
        "metadata": {"name": name, "namespace": "org"}, "spec": {}})
}

/// The control plane, its machines' template, and both of the workers, each cloned from what is given; the workers.
fn made(from: [(&str, &str); 4]) -> [Value; 5] {
    let [plane, machines, bootstrap, workers] = from.map(Some);
    let group = with(&deployment(DONE), &[("/spec/template/spec/infrastructureRef/name", json!("md-b"))]);
    [
        owned(&control_plane(DONE), plane),
        owned(&template("infrastructure", "DevMachineTemplate", "cp-b"), machines),
        owned(&template("bootstrap", "KubeadmConfigTemplate", "md"), bootstrap),
        owned(&template("infrastructure", "DevMachineTemplate", "md-b"), workers),
        owned(&group, None),
    ]
}

/// A Cluster of that class, green all over.
fn judged(class: &Value, made: &[Value], more: &[&Value], now: &str) -> RolloutVerdict {
    let cluster = topology([NEW, NEW]);
    let all: Vec<&Value> = [&cluster, class].into_iter().chain(made).chain(more.iter().copied()).collect();
    verdict(TOPOLOGY, &all, now)
}

fn words(verdict: &RolloutVerdict) -> (RolloutProgress, &str) {
    (verdict.state, verdict.owners[0].words.as_deref().unwrap_or_default())
}

#[test]
fn nothing_is_done_until_the_controller_has_observed_the_class() {
    let unseen = with(&class(), &[("/status/observedGeneration", json!(2))]);
    let all = made(NAMED);
    let said = "ClusterClass fast: its controller has not observed generation 3 (it has observed 2)";
    assert_eq!(words(&judged(&unseen, &all, &[], "10:00:59")), (RolloutProgress::Waiting, said));
    // The class may refer to what is not there.
    let broken = json!([{"type": "VariablesReady", "status": "True"},
        {"type": "RefVersionsUpToDate", "status": "False", "reason": "InternalError", "message": "kcp-2 not found"}]);
    let broken = with(&unseen, &[("/status/conditions", broken)]);
    let found = judged(&broken, &all, &[], "10:01:00");
    let held = found.decisive().unwrap();
    assert_eq!((held.state, held.since), (RolloutProgress::Stuck, Some(at("10:00:00"))));
    assert_eq!(held.on, Some(id("cluster.x-k8s.io/ClusterClass org/fast")));
    assert_eq!(held.words.as_deref(), Some(format!("{said}, RefVersionsUpToDate: kcp-2 not found").as_str()));
    // Its controller has never observed it.
    let new = with(&class(), &[("/status", Value::Null)]);
    let said = "ClusterClass fast: its controller has not observed generation 3 (it has observed none)";
    assert_eq!(words(&judged(&new, &all, &[], "10:00:59")), (RolloutProgress::Waiting, said));
}

#[test]
fn a_clone_of_another_template_than_the_class_names_is_evidence_however_long_ago_the_edit_was() {
    for (part, said) in [
        (
            0,
            "KubeadmControlPlane org/cp is still made from KubeadmControlPlaneTemplate old, but ClusterClass fast names KubeadmControlPlaneTemplate kcp-2",
        ),
        (
            1,
            "KubeadmControlPlane org/cp is still made from DevMachineTemplate old, but ClusterClass fast names DevMachineTemplate plane-2",
        ),
        (
            2,
            "MachineDeployment org/md is still made from KubeadmConfigTemplate old, but ClusterClass fast names KubeadmConfigTemplate boot-2",
        ),
        (
            3,
            "MachineDeployment org/md is still made from DevMachineTemplate old, but ClusterClass fast names DevMachineTemplate machine-2",
        ),
    ] {
        let mut from = NAMED;
        from[part].1 = "old";
        assert_eq!(words(&judged(&class(), &made(from), &[], "10:00:59")), (RolloutProgress::Waiting, said));
        let later = judged(&class(), &made(from), &[], "10:01:00");
        assert_eq!(words(&later), (RolloutProgress::Stuck, said));
        assert_eq!(later.owners[0].on, Some(id("cluster.x-k8s.io/ClusterClass org/fast")));
    }
    // Another kind is another template, even of the same name.
    let mut from = NAMED;
    from[3].0 = "DockerMachineTemplate";
    assert_eq!(judged(&class(), &made(from), &[], "10:00:59").state, RolloutProgress::Waiting);
    // An object that does not name its template proves nothing.
    let [plane, .., group] = made(NAMED);
    let silent = with(&plane, &[("/metadata/annotations", Value::Null)]);
    assert_eq!(judged(&class(), &[silent, group], &[], "10:00:59").state, RolloutProgress::Done);
}

#[test]
fn an_edit_that_no_name_shows_settles_first() {
    let said = "ClusterClass fast was changed at 2026-11-21T10:00:00Z: its controller may not have observed that. If nothing has changed by 2026-11-21T10:00:40Z, nothing will";
    let all = made(NAMED);
    let settling = judged(&class(), &all, &[], "10:00:39");
    assert_eq!(
        (words(&settling), settling.owners[0].since),
        ((RolloutProgress::Waiting, said), Some(at("10:00:00")))
    );
    assert_eq!(judged(&class(), &all, &[], "10:00:40").state, RolloutProgress::Done);
    // Machines that were all made since were made from it; one that was not tells nothing.
    let topologys =
        |machine: &Value| with(machine, &[("/metadata/labels/topology.cluster.x-k8s.io~1owned", json!(""))]);
    let since = topologys(&running("cp-2", PLANE, "10:00:05"));
    let before = topologys(&running("cp-1", PLANE, "10:00:00"));
    assert_eq!(judged(&class(), &all, &[&since], "10:00:39").state, RolloutProgress::Done);
    assert_eq!(judged(&class(), &all, &[&since, &before], "10:00:39").state, RolloutProgress::Waiting);
    // If machines roll, the verdict says so.
    let [plane, one, two, three, group] = made(NAMED);
    let rolling = owned(&deployment(BEGUN), None);
    let found = judged(&class(), &[plane, one, two, three, rolling], &[], "10:00:39");
    assert_eq!(words(&found), (RolloutProgress::Rolling, "MachineDeployment org/md: RollingOut: RollingOut"));
    // And a pause is a pause.
    let paused =
        with(&topology([NEW, NEW]), &[("/metadata/annotations", json!({"cluster.x-k8s.io/paused": ""}))]);
    let found = verdict(TOPOLOGY, &[&paused, &class(), &made(NAMED)[0], &group], "10:00:39");
    assert_eq!(
        words(&found),
        (RolloutProgress::Waiting, "paused: nothing happens until somebody removes the pause")
    );
}

#[test]
fn a_condition_that_the_class_explains_is_reported_in_the_terms_of_the_class() {
    let unseen = with(&class(), &[("/status/observedGeneration", json!(2))]);
    let failing = with(
        &topology([NEW, NEW]),
        &[
            ("/status/conditions/0/status", json!("False")),
            ("/status/conditions/0/reason", json!("ReconcileFailed")),
            ("/status/conditions/0/message", json!("ClusterClass is not successfully reconciled")),
        ],
    );
    let made = made(NAMED);
    let all: Vec<&Value> = [&failing, &unseen].into_iter().chain(&made).collect();
    assert_eq!(
        words(&verdict(TOPOLOGY, &all, "10:00:59")),
        (
            RolloutProgress::Waiting,
            "ClusterClass fast: its controller has not observed generation 3 (it has observed 2)"
        )
    );
    // Of a class that is taken up the Cluster's own words are more than a wait.
    let edited_just_now = class();
    let all: Vec<&Value> = [&failing, &edited_just_now].into_iter().chain(&made).collect();
    let own = "ClusterClass is not successfully reconciled";
    assert_eq!(words(&verdict(TOPOLOGY, &all, "10:00:30")), (RolloutProgress::Waiting, own));
}

/// `classNamespace` of v1beta1, `classRef.namespace` of v1beta2; v1beta1 has the references one level deeper.
#[test]
fn the_class_may_be_in_another_namespace_and_of_the_older_contract() {
    let spec = class()["spec"].clone();
    let refs = |holder: &Value| json!({"ref": holder["templateRef"]});
    let workers = &spec["workers"]["machineDeployments"][0];
    let mut machines = refs(&spec["controlPlane"]);
    machines["machineInfrastructure"] = refs(&spec["controlPlane"]["machineInfrastructure"]);
    let parts =
        json!({"bootstrap": refs(&workers["bootstrap"]), "infrastructure": refs(&workers["infrastructure"])});
    let older = json!({"controlPlane": machines, "workers": {"machineDeployments": [{"class": "default", "template": parts}]}});
    let elsewhere = [
        ("/metadata/namespace", json!("platform")),
        ("/metadata/managedFields/0/time", json!("2026-11-21T09:00:00Z")),
    ];
    // One of the same name that is not meant, edited a moment ago.
    let namesake = class();
    for (class, topology_class) in [
        (
            with(&class(), &elsewhere),
            [("/spec/topology/classRef/namespace", json!("platform")), ("/spec/paused", Value::Null)],
        ),
        (
            with(
                &with(&class(), &elsewhere),
                &[("/apiVersion", json!("cluster.x-k8s.io/v1beta1")), ("/spec", older)],
            ),
            [("/spec/topology/classRef", Value::Null), ("/spec/topology/class", json!("fast"))],
        ),
    ] {
        let mut cluster = with(&topology([NEW, NEW]), &topology_class);
        if class["apiVersion"] == "cluster.x-k8s.io/v1beta1" {
            cluster["spec"]["topology"]["classNamespace"] = json!("platform");
        }
        let state = |from| {
            let made = made(from);
            let all: Vec<&Value> = [&cluster, &class, &namesake].into_iter().chain(&made).collect();
            // What Git says of the class is what is live.
            let rendered = TOPOLOGY.replace("classRef: {name: fast}, ", "");
            verdict(&rendered, &all, "10:00:30").state
        };
        assert_eq!(state(NAMED), RolloutProgress::Done);
        for part in 0..NAMED.len() {
            let mut from = NAMED;
            from[part].1 = "old";
            assert_eq!(state(from), RolloutProgress::Stuck, "{part}");
        }
    }
}

#[test]
fn what_was_cloned_is_worth_reading_after_an_edit() {
    let [plane, _, _, _, group] = made(NAMED);
    let live: LiveObjects = [topology([NEW, NEW]), class(), plane, group].into_iter().collect();
    let cluster = id("cluster.x-k8s.io/Cluster org/c");
    assert_eq!(
        clones_to_read(&cluster, &live, at("09:59:59")),
        [
            id("bootstrap.cluster.x-k8s.io/KubeadmConfigTemplate org/md"),
            id("infrastructure.cluster.x-k8s.io/DevMachineTemplate org/cp-b"),
            id("infrastructure.cluster.x-k8s.io/DevMachineTemplate org/md-b"),
        ]
    );
    assert_eq!(clones_to_read(&cluster, &live, at("10:00:00")), []);
    assert_eq!(clones_to_read(&cluster, &made(NAMED).into_iter().collect(), Timestamp::MIN), []);
}

/// A MachinePool of a topology is found by its own label, and its parts are those of the class's pools.
#[test]
fn a_pool_that_is_cloned_from_another_template_than_the_class_names_is_evidence_too() {
    let parts = |infrastructure: &str, bootstrap: &str| {
        json!([{"class": "pool",
            "bootstrap": {"templateRef": {"kind": "KubeadmConfigTemplate", "name": bootstrap}},
            "infrastructure": {"templateRef": {"kind": "DevMachinePoolTemplate", "name": infrastructure}}}])
    };
    let cluster = with(
        &topology([NEW, NEW]),
        &[("/spec/topology/workers/machinePools", json!([{"class": "pool", "name": "mp-0"}]))],
    );
    let labels = json!({"topology.cluster.x-k8s.io/owned": "", "cluster.x-k8s.io/cluster-name": "c",
        "topology.cluster.x-k8s.io/pool-name": "mp-0"});
    let pool = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachinePool",
        "metadata": {"name": "mp", "namespace": "org", "labels": labels},
        "spec": {"clusterName": "c", "replicas": 1, "template": {"spec": {
            "bootstrap": {"configRef": {"apiGroup": "bootstrap.cluster.x-k8s.io", "kind": "KubeadmConfig", "name": "mp-c"}},
            "infrastructureRef": {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "DevMachinePool", "name": "mp-i"}}}},
    });
    let config =
        owned(&template("bootstrap", "KubeadmConfig", "mp-c"), Some(("KubeadmConfigTemplate", "boot-1")));
    let machines = owned(
        &template("infrastructure", "DevMachinePool", "mp-i"),
        Some(("DevMachinePoolTemplate", "pool-1")),
    );
    let [plane, .., group] = made(NAMED);
    for (infrastructure, bootstrap, said) in [
        (
            "pool-2",
            "boot-1",
            "MachinePool org/mp is still made from DevMachinePoolTemplate pool-1, but ClusterClass fast names DevMachinePoolTemplate pool-2",
        ),
        (
            "pool-1",
            "boot-2",
            "MachinePool org/mp is still made from KubeadmConfigTemplate boot-1, but ClusterClass fast names KubeadmConfigTemplate boot-2",
        ),
    ] {
        let class = with(&class(), &[("/spec/workers/machinePools", parts(infrastructure, bootstrap))]);
        let all = [&cluster, &class, &plane, &group, &pool, &config, &machines];
        let live: LiveObjects = all.into_iter().cloned().collect();
        let (of, class_id) =
            (id("cluster.x-k8s.io/Cluster org/c"), id("cluster.x-k8s.io/ClusterClass org/fast"));
        let found = TopologyObjects::of(&of, &cluster, &live).behind(&class_id, &class, &live);
        assert_eq!(found.as_deref(), Some(said));
    }
    // Without its clones being read, they are what is asked for.
    let class = with(&class(), &[("/spec/workers/machinePools", parts("pool-2", "boot-1"))]);
    let live: LiveObjects = [cluster, class, pool].into_iter().collect();
    assert_eq!(
        clones_to_read(&id("cluster.x-k8s.io/Cluster org/c"), &live, at("09:59:59")),
        [
            id("bootstrap.cluster.x-k8s.io/KubeadmConfig org/mp-c"),
            id("infrastructure.cluster.x-k8s.io/DevMachinePool org/mp-i"),
        ]
    );
}
