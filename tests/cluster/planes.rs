//! The plane itself: what the tests on it rely on.

use capstan_test_parts::plane::{Parts, Plane};

#[test]
fn a_plane_tells_who_asked_for_what_survives_its_api_server_and_leaves_nothing() {
    let Some(plane) = Plane::start(Parts::Kinds) else { return };
    plane.apply("{apiVersion: v1, kind: ServiceAccount, metadata: {name: somebody, namespace: default}}");
    let kubeconfig = plane.kubeconfig_of("default", "somebody");
    let refused =
        plane.try_kubectl(&["get", "clusters", "--kubeconfig", &kubeconfig.display().to_string()], "");
    assert!(refused.unwrap_err().contains("cannot list resource \"clusters\""));

    plane.kill("kube-apiserver");
    assert!(plane.try_kubectl(&["get", "nodes"], "").is_err());
    plane.start_again("kube-apiserver");
    let cluster = "{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {name: c, namespace: default}, spec: {paused: true}}";
    plane.apply(cluster);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let version = runtime.block_on(async { plane.client().await.apiserver_version().await.unwrap() });
    assert!(version.git_version.starts_with("v1."), "{}", version.git_version);

    let audit = plane.audit();
    let list = audit
        .iter()
        .find(|request| request.is_by("default", "somebody") && request.resource == "clusters")
        .unwrap();
    assert_eq!((list.verb.as_str(), list.code, list.is_write()), ("list", 403, false));
    let applied = audit.iter().find(|request| request.resource == "clusters" && request.is_write()).unwrap();
    assert_eq!(
        (applied.user.as_str(), applied.namespace.as_str(), applied.name.as_str()),
        ("admin", "default", "c")
    );
    assert_eq!(applied.body["spec"]["paused"], true);

    let pids = std::fs::read_to_string(plane.state().join("pids")).unwrap();
    let state = plane.state().to_owned();
    drop(plane);
    assert!(!state.exists(), "{} is left", state.display());
    for line in pids.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let [name, pid, began] = words.as_slice() else { panic!("{line}") };
        // The number may have gone to another process since.
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let is_there = stat.rsplit(") ").next().is_some_and(|rest| rest.split(' ').nth(19) == Some(began));
        assert!(!is_there, "{name} ({pid}) still runs");
    }
}

#[test]
fn two_planes_run_beside_one_another() {
    let Some(one) = Plane::start(Parts::Kubernetes) else { return };
    let other = Plane::start(Parts::Kubernetes).unwrap();
    assert_ne!(one.uid(), other.uid());
    let missing = other.try_kubectl(&["get", "clusters.cluster.x-k8s.io"], "").unwrap_err();
    assert!(missing.contains("the server doesn't have a resource type"), "{missing}");
}
