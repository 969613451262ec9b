//! The definition of `SIPCluster` on a real API server: what it takes and refuses.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use capstan_hosts::definition::definition;
use serde_json::{Value, json};

/// An API server, as `tests/controlplane/up` starts one; it ends with the test.
struct Plane {
    kubectl: PathBuf,
    state: PathBuf,
    keeper: Child,
}

impl Plane {
    fn start() -> Option<Self> {
        let Some(programs) = programs() else {
            println!(
                "SKIPPED: no management cluster is built (`make plane` builds one where Go 1.26 is): the definition is not tried"
            );
            return None;
        };
        let mut command = Command::new(controlplane("up"));
        command.args(["--hold", "--kube-only", "--bin"]).arg(&programs);
        // It ends once its standard input does.
        let mut child =
            command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut admin = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut admin).unwrap();
        assert!(admin.ends_with('\n'), "the API server did not start: see above");
        let state = Path::new(admin.trim_end()).parent().unwrap().to_owned();
        Some(Self { kubectl: programs.join("kubectl"), state, keeper: child })
    }

    /// What kubectl says, or complains of.
    fn kubectl(&self, arguments: &[&str], input: &Value) -> Result<String, String> {
        let mut command = Command::new(&self.kubectl);
        command.arg("--kubeconfig").arg(self.state.join("admin.kubeconfig")).args(arguments);
        command.env("HOME", &self.state).env("NO_PROXY", "127.0.0.1");
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.to_string().as_bytes()).ok();
        let output = child.wait_with_output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
    }

    fn try_spec(&self, spec: &Value) -> Result<String, String> {
        let object = json!({
            "apiVersion": "airship.airshipit.org/v1", "kind": "SIPCluster",
            "metadata": {"name": "t", "namespace": "default"}, "spec": spec});
        self.kubectl(&["apply", "--server-side", "--dry-run=server", "-f", "-", "-o", "json"], &object)
    }
}

impl Drop for Plane {
    fn drop(&mut self) {
        // Once it hears no more, it stops everything and goes.
        drop(self.keeper.stdin.take());
        self.keeper.wait().ok();
    }
}

fn controlplane(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/controlplane").join(name)
}

/// Where `tests/controlplane/build` puts things.
fn programs() -> Option<PathBuf> {
    let required = |part: &str, module: &str| {
        let manifest = std::fs::read_to_string(controlplane(part).join("go.mod")).unwrap();
        let mut words = manifest.split_whitespace().skip_while(|word| *word != module).skip(1);
        words.next().map(str::to_owned)
    };
    let tools = std::env::var_os("CAPSTAN_TOOLS")
        .map(PathBuf::from)
        .or_else(|| Some(Path::new(&std::env::var_os("HOME")?).join(".cache/capstan")))?;
    let (capi, kubernetes) =
        (required("capi", "sigs.k8s.io/cluster-api")?, required("kube", "k8s.io/kubernetes")?);
    let folder = tools.join(format!("controlplane-{capi}-{kubernetes}"));
    folder.join("complete").is_file().then_some(folder)
}

const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl";

fn services(services: Value) -> Value {
    json!({"services": services})
}

fn balancer(port: u32) -> Value {
    json!({"image": "haproxy", "nodePort": port})
}

fn range(start: u32, end: u32) -> Value {
    json!({"image": "haproxy", "nodePortRange": {"start": start, "end": end}})
}

/// What is taken: all that the old definition took and meant.
fn taken() -> Vec<Value> {
    let old = json!({
        "nodes": {
            "ControlPlane": {
                "labelSelector": {"matchLabels": {"flavor": "control-plane"}, "matchExpressions": [{"key": "a", "operator": "Exists"}]},
                "topologyKey": "rack", "count": {"active": 3, "standby": 1}},
            "Worker": {}},
        "services": {
            "loadBalancerControlPlane": [{"image": "haproxy:2.3.2", "nodePort": 30000, "nodeInterfaceId": "oam-ipv4",
                "nodeLabels": {"a": "b"}, "clusterIP": "10.0.0.1"}],
            // The old definition wanted nodePort beside the range, and the operator did not look at it.
            "loadBalancerWorker": [{"image": "haproxy:2.3.2", "nodePort": 30000, "nodePortRange": {"start": 30011, "end": 30020}}],
            "jumpHost": [{"image": "jump:1", "nodePort": 30022, "nodeSSHPrivateKeys": "keys", "bmc": {"proxy": true},
                "sshAuthorizedKeys": [format!("{KEY} alice@example.com")]}],
            // Of the operator before April 2021.
            "auth": [{"image": "quay.io/dexidp/dex:v2.20.0", "nodeInterfaceId": "oam-ipv4", "nodePort": 30556, "caSecret": "dex-ca-key-pair"}]}});
    vec![
        old,
        services(json!({})),
        services(json!({"loadBalancerWorker": [range(30011, 30020)]})),
        services(json!({"loadBalancerWorker": [range(30011, 30011), range(30012, 30013), balancer(30014)]})),
        services(json!({"loadBalancerControlPlane": [balancer(1), balancer(65535)]})),
        services(
            json!({"loadBalancerControlPlane": [{"image": "a", "type": "LoadBalancer", "replicas": 3}, {"image": "b", "type": "LoadBalancer"}]}),
        ),
        services(
            json!({"jumpHost": [{"image": "a", "nodePort": 30022, "sshAuthorizedKeys": [KEY, format!("{KEY}\n")], "shell": true}]}),
        ),
        services(
            json!({"auth": [{"image": "a", "type": "LoadBalancer", "host": "dex.example.com", "clientID": "kubectl", "connectorsSecret": "people"}]}),
        ),
        json!({"nodes": {"A": {"maxPerDomain": 2, "count": {"active": 0, "standby": 0}}}, "services": {}}),
    ]
}

fn refused() -> Vec<(Value, &'static str)> {
    let key = |line: &str| {
        services(json!({"jumpHost": [{"image": "a", "nodePort": 30022, "sshAuthorizedKeys": [line]}]}))
    };
    let count = |count: Value| json!({"nodes": {"A": {"count": count}}, "services": {}});
    let twice = "two services use one port of the nodes";
    let no_key = "sshAuthorizedKeys[0] in body should match";
    vec![
        (json!({"nodes": {}}), "spec.services: Required value"),
        (count(json!({"active": -1})), "spec.nodes.A.count.active"),
        (count(json!({"standby": -1})), "spec.nodes.A.count.standby"),
        (json!({"nodes": {"A": {"maxPerDomain": 0}}, "services": {}}), "spec.nodes.A.maxPerDomain"),
        (services(json!({"loadBalancerControlPlane": [balancer(0)]})), "nodePort"),
        (services(json!({"loadBalancerControlPlane": [balancer(65536)]})), "nodePort"),
        (
            services(json!({"loadBalancerControlPlane": [{"image": "a"}]})),
            "a service of type NodePort names its nodePort",
        ),
        (services(json!({"loadBalancerControlPlane": [{"nodePort": 1}]})), "image"),
        (services(json!({"auth": [balancer(30000)], "jumpHost": [balancer(30000)]})), twice),
        (services(json!({"auth": [{"image": "a", "nodePort": 1, "clientID": "a b"}]})), "auth[0].clientID"),
        (services(json!({"auth": [{"image": "a"}]})), "a service of type NodePort names its nodePort"),
        (
            services(json!({"loadBalancerWorker": [range(30020, 30011)]})),
            "a range of ports ends where it starts, or later",
        ),
        (services(json!({"loadBalancerWorker": [range(0, 5)]})), "nodePortRange.start"),
        (
            services(json!({"loadBalancerWorker": [{"image": "a"}]})),
            "nodePort or nodePortRange says which ports of the workers are reached",
        ),
        (
            services(json!({"loadBalancerControlPlane": [balancer(30000)], "jumpHost": [balancer(30000)]})),
            twice,
        ),
        (services(json!({"loadBalancerControlPlane": [balancer(30000), balancer(30000)]})), twice),
        (
            services(json!({"loadBalancerWorker": [range(30000, 30010)], "jumpHost": [balancer(30010)]})),
            twice,
        ),
        (services(json!({"loadBalancerWorker": [range(30000, 30010), range(30010, 30012)]})), twice),
        (services(json!({"loadBalancerWorker": [range(30000, 30010), range(30000, 30010)]})), twice),
        (key("command=\"sh\" ssh-ed25519 AAAA"), no_key),
        (key("ssh-dss AAAA"), no_key),
        (key("ssh-ed25519"), no_key),
        (key(&format!("{KEY}\n{KEY}")), no_key),
        (key(""), no_key),
    ]
}

#[test]
fn an_api_server_takes_what_the_old_one_took_and_refuses_what_cannot_be_meant() {
    let Some(plane) = Plane::start() else { return };
    let install = ["apply", "--server-side", "--warnings-as-errors", "-f", "-"];
    plane.kubectl(&install, &definition()).unwrap();
    let name = "crd/sipclusters.airship.airshipit.org";
    plane.kubectl(&["wait", "--for=condition=Established", "--timeout=30s", name], &Value::Null).unwrap();
    for spec in taken() {
        // kubectl finds a kind some moments after it was established.
        let begun = std::time::Instant::now();
        let kept = loop {
            match plane.try_spec(&spec) {
                Err(why) if why.contains("no matches for kind") && begun.elapsed().as_secs() < 30 => {}
                answer => break answer.unwrap_or_else(|why| panic!("{spec}: {why}")),
            }
        };
        let kept: Value = serde_json::from_str(&kept).unwrap();
        // Nothing is dropped, and nothing is set that was not said.
        assert_eq!(kept["spec"], spec);
    }
    for (spec, words) in refused() {
        let said = plane.try_spec(&spec).expect_err(&spec.to_string());
        assert!(said.contains(words), "{spec}: {said}");
    }
    let short = plane.kubectl(&["get", "sip"], &Value::Null).unwrap_or_else(|why| panic!("{why}"));
    assert_eq!(short, "");
}
