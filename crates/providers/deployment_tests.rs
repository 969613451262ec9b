use serde_json::{Value, json};

use super::*;
use crate::spec::Provider;
use capstan_kustomize::render::placed_documents;
use capstan_model::tree::RepoPath;
use capstan_yaml::YamlFile;

fn spec(text: &str) -> Spec {
    let text = format!(
        "{{apiVersion: operator.cluster.x-k8s.io/v1alpha2, kind: CoreProvider, metadata: {{name: cluster-api, namespace: a}}, spec: {text}}}"
    );
    let file = YamlFile::read(&text).unwrap();
    Provider::read(&placed_documents(&RepoPath::root(), &file)[0]).unwrap().spec
}

/// A Deployment with the usual manager, and a container beside it.
fn deployment(name: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
        "spec": {"replicas": 1, "template": {"spec": {
            "containers": [
                {"name": "proxy", "image": "h.io/proxy:v1"},
                {
                    "name": "manager", "image": "h.io/manager:v1", "command": ["/manager"],
                    "args": ["--leader-elect", "--v=0", "--feature-gates=B=true,A=false"],
                    "env": [{"name": "X", "value": "1"}, {"name": "Y", "value": "2"}],
                    "livenessProbe": {"httpGet": {"path": "/healthz"}},
                    "readinessProbe": {"httpGet": {"path": "/readyz"}},
                    "resources": {"limits": {"cpu": "1"}},
                },
            ],
            "nodeSelector": {"old": "yes"},
            "tolerations": [{"key": "old"}],
        }}},
    })
}

fn customized(text: &str) -> Result<Value, String> {
    let mut objects = [Object::of(deployment("capi-controller-manager"))];
    customize(&mut objects, &spec(text)).map_err(|refusal| refusal.to_string())?;
    Ok(objects[0].value.clone())
}

/// Each field of `deployment`: the pointer, and the value there afterwards.
#[test]
fn deployment_sets_each_of_its_fields() {
    const POD: &str = "/spec/template/spec";
    const MANAGER: &str = "/spec/template/spec/containers/1";
    for (text, pointer, expected) in [
        ("{deployment: {replicas: 0}}", "/spec/replicas".to_owned(), Some(json!(0))),
        ("{deployment: {nodeSelector: {a: b}}}", format!("{POD}/nodeSelector"), Some(json!({"a": "b"}))),
        ("{deployment: {nodeSelector: {}}}", format!("{POD}/nodeSelector"), None),
        ("{deployment: {replicas: 2}}", format!("{POD}/nodeSelector"), Some(json!({"old": "yes"}))),
        (
            "{deployment: {tolerations: [{key: a, operator: Exists}]}}",
            format!("{POD}/tolerations"),
            Some(json!([{"key": "a", "operator": "Exists"}])),
        ),
        ("{deployment: {tolerations: []}}", format!("{POD}/tolerations"), None),
        (
            "{deployment: {affinity: {podAffinity: {a: b}}}}",
            format!("{POD}/affinity"),
            Some(json!({"podAffinity": {"a": "b"}})),
        ),
        ("{deployment: {serviceAccountName: sa}}", format!("{POD}/serviceAccountName"), Some(json!("sa"))),
        (
            "{deployment: {imagePullSecrets: [{name: p}]}}",
            format!("{POD}/imagePullSecrets"),
            Some(json!([{"name": "p"}])),
        ),
        (
            "{deployment: {containers: [{name: proxy, imageUrl: 'h.io/x:v2'}]}}",
            format!("{POD}/containers/0/image"),
            Some(json!("h.io/x:v2")),
        ),
        (
            "{deployment: {containers: [{name: proxy, args: {--b: '2', --a: '1'}}]}}",
            format!("{POD}/containers/0/args"),
            Some(json!(["--a=1", "--b=2"])),
        ),
        (
            "{deployment: {containers: [{name: manager, args: {--v: '5'}}]}}",
            format!("{MANAGER}/args/1"),
            Some(json!("--v=5")),
        ),
        // A variable that is there goes to the end.
        (
            "{deployment: {containers: [{name: manager, env: [{name: X, value: '3'}, {name: Z, value: '4'}]}]}}",
            format!("{MANAGER}/env"),
            Some(
                json!([{"name": "Y", "value": "2"}, {"name": "X", "value": "3"}, {"name": "Z", "value": "4"}]),
            ),
        ),
        (
            "{deployment: {containers: [{name: manager, resources: {requests: {memory: 1Gi}}}]}}",
            format!("{MANAGER}/resources"),
            Some(json!({"requests": {"memory": "1Gi"}})),
        ),
        (
            "{deployment: {containers: [{name: manager, command: [/other]}]}}",
            format!("{MANAGER}/command"),
            Some(json!(["/other"])),
        ),
        ("{deployment: {containers: [{name: manager, command: []}]}}", format!("{MANAGER}/command"), None),
        (
            "{manager: {health: {livenessEndpointName: live}}}",
            format!("{MANAGER}/livenessProbe/httpGet/path"),
            Some(json!("/live")),
        ),
        (
            "{manager: {health: {readinessEndpointName: ready}}}",
            format!("{MANAGER}/readinessProbe/httpGet/path"),
            Some(json!("/ready")),
        ),
    ] {
        assert_eq!(customized(text).unwrap().pointer(&pointer), expected.as_ref(), "{text}");
    }
}

/// Each field of `manager`: the arguments afterwards, of which the first three were there.
#[test]
fn manager_sets_each_of_its_arguments() {
    const FIRST: [&str; 3] = ["--leader-elect", "--v=0", "--feature-gates=B=true,A=false"];
    let election = "leaseDuration: 15s, renewDeadline: 1500ms, resourceLock: leases, resourceName: name, resourceNamespace: space, retryPeriod: 100ms";
    for (manager, added) in [
        ("{}", vec![]),
        ("{maxConcurrentReconciles: 3}", vec!["--max-concurrent-reconciles=3"]),
        ("{cacheNamespace: a}", vec!["--namespace=a"]),
        ("{health: {healthProbeBindAddress: ':1'}}", vec!["--health-addr=:1"]),
        (
            "{metrics: {bindAddress: ':2', diagnosticsAddress: ':3'}}",
            vec!["--metrics-bind-addr=:2", "--diagnostics-address=:3"],
        ),
        ("{metrics: {insecureDiagnostics: true}}", vec!["--insecure-diagnostics=true"]),
        ("{metrics: {insecureDiagnostics: false}}", vec![]),
        (
            "{webhook: {host: h, certDir: /c, port: 1}}",
            vec!["--webhook-host=h", "--webhook-cert-dir=/c", "--webhook-port=1"],
        ),
        ("{profilerAddress: ':6060'}", vec!["--profiler-address=:6060"]),
        ("{syncPeriod: 10m}", vec!["--sync-period=600s"]),
        ("{syncPeriod: 100ms}", vec![]),
        (
            "{controller: {groupKindConcurrency: {Machine: 5, Cluster.x: 2}}}",
            vec!["--cluster.x-concurrency=2", "--machine-concurrency=5"],
        ),
        ("{additionalArgs: {--b: c, --a: d}}", vec!["--a=d", "--b=c"]),
        ("{verbosity: 1}", vec![]),
        ("{gracefulShutDown: 5s, controller: {recoverPanic: true, cacheSyncTimeout: 5}}", vec![]),
        (&format!("{{leaderElection: {{leaderElect: false, {election}}}}}"), vec!["--leader-elect=false"]),
        (
            &format!("{{leaderElection: {{leaderElect: true, {election}}}}}"),
            vec![
                "--leader-elect=true",
                "--leader-election-id=space/name",
                "--leader-elect-lease-duration=15s",
                "--leader-elect-renew-deadline=2s",
            ],
        ),
    ] {
        let object = customized(&format!("{{manager: {manager}}}")).unwrap();
        let arguments = object.pointer("/spec/template/spec/containers/1/args").unwrap();
        assert_eq!(*arguments, json!([&FIRST[..], &added].concat()), "{manager}");
    }
    for (manager, at, expected) in [
        ("{verbosity: 0}", 1, "--v=0"),
        ("{verbosity: 5}", 1, "--v=5"),
        // Merged with what is there, and sorted.
        ("{featureGates: {C: true, A: true}}", 2, "--feature-gates=A=true,B=true,C=true"),
        ("{featureGates: {B: false}}", 2, "--feature-gates=A=false,B=false"),
    ] {
        let object = customized(&format!("{{manager: {manager}}}")).unwrap();
        assert_eq!(
            object.pointer("/spec/template/spec/containers/1/args").unwrap()[at],
            expected,
            "{manager}"
        );
    }
}

#[test]
fn manager_wins_over_deployment_and_what_is_not_there_is_refused() {
    let both = customized(
        "{deployment: {containers: [{name: manager, args: {--v: '5'}}]}, manager: {verbosity: 7}}",
    );
    assert_eq!(both.unwrap().pointer("/spec/template/spec/containers/1/args/1").unwrap(), "--v=7");
    for (text, said) in [
        (
            "{deployment: {containers: [{name: other}]}}",
            "Deployment capi-controller-manager: it has no container `other`",
        ),
        ("{manager: {additionalArgs: {--v: '5'}}}", "adds `--v`, which is already there"),
    ] {
        assert!(customized(text).unwrap_err().contains(said), "{text}");
    }
    let mut bare = [Object::of(
        json!({"kind": "Deployment", "metadata": {"name": "x"}, "spec": {"template": {"spec": {"containers": []}}}}),
    )];
    assert!(
        customize(&mut bare, &spec("{manager: {verbosity: 2}}"))
            .unwrap_err()
            .to_string()
            .contains("it has no container")
    );
}

/// Without a container of that name, the first is the manager.
#[test]
fn the_first_container_is_the_manager_where_none_is_called_so() {
    let mut value = deployment("x");
    value["spec"]["template"]["spec"]["containers"][1]["name"] = json!("controller");
    let mut objects = [Object::of(value)];
    customize(&mut objects, &spec("{manager: {verbosity: 2}}")).unwrap();
    assert_eq!(objects[0].value.pointer("/spec/template/spec/containers/0/args"), Some(&json!(["--v=2"])));
}

#[test]
fn of_several_deployments_the_managers_are_meant_and_others_by_name() {
    let text = "{manager: {verbosity: 2}, deployment: {replicas: 2}, additionalDeployments: {webhook: {deployment: {replicas: 5}}}}";
    for (names, replicas) in [
        (&["anything"][..], &[2][..]),
        (&["capi-controller-manager", "webhook", "other"], &[2, 5, 1]),
        (&["capz-controller-manager", "azureserviceoperator-controller-manager"], &[2, 1]),
        (&["capi-controller-manager", "caaph-controller-manager"], &[2, 2]),
        // Alone it is the manager, whatever it is called.
        (&["webhook"], &[2]),
    ] {
        let mut objects: Vec<Object> = names.iter().map(|name| Object::of(deployment(name))).collect();
        objects.push(Object::of(json!({"kind": "Service", "metadata": {"name": "s"}})));
        customize(&mut objects, &spec(text)).unwrap();
        let found: Vec<i64> =
            objects.iter().filter_map(|object| object.value.pointer("/spec/replicas")?.as_i64()).collect();
        assert_eq!(found, replicas, "{names:?}");
    }
}
