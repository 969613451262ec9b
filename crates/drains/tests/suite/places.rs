//! What keeps a pod off a node, row by row: a pod without a node, one node or two, and the obstacles.

use capstan_drains::placing::Places;
use capstan_drains::selector::LabelIndex;
use capstan_drains::workload::{
    HostPort, Pod, PodTerm, SpreadConstraint, Taint, TaintEffect, Toleration, Workload,
};

use crate::example::{HOST, ZONE, apart, in_list, node, pod, selector};

fn obstacles(workload: &Workload) -> String {
    let index = LabelIndex::new(workload.pods.iter().map(|pod| (pod.namespace.as_str(), &pod.labels)));
    let places = Places::new(workload, &workload.nodes, &index);
    let found: Vec<String> = places.obstacles(0).keys().map(|one| format!("{one:?}")).collect();
    found.join(" ")
}

/// A pod without a node, a node with two pods of another kind, and what differs.
fn cluster(change: impl Fn(&mut Workload)) -> Workload {
    let mut workload = Workload {
        nodes: vec![node("n1")],
        pods: vec![
            pod("shop/web-1", "ReplicaSet/web", ""),
            pod("shop/api-1", "ReplicaSet/api", "n1"),
            pod("shop/api-2", "ReplicaSet/api", "n1"),
        ],
        ..Workload::default()
    };
    change(&mut workload);
    workload
}

fn request(pod: &mut Pod, resource: &str, amount: u64) {
    pod.placement.requests.insert(resource.to_owned(), amount);
}

fn taint(effect: TaintEffect) -> Taint {
    Taint { key: "gpu".to_owned(), value: "yes".to_owned(), effect }
}

fn port(ip: &str) -> HostPort {
    HostPort { protocol: "TCP".to_owned(), port: 443, ip: ip.to_owned() }
}

fn spread(key: &str) -> SpreadConstraint {
    SpreadConstraint {
        max_skew: 1,
        topology_key: key.to_owned(),
        selector: Some(selector(&[("app", "web")])),
        ..SpreadConstraint::default()
    }
}

type Row = (&'static str, fn(&mut Workload), &'static str);

const ROWS: &[Row] = &[
    ("it fits", |_| {}, ""),
    ("exactly", |w| request(&mut w.pods[0], "cpu", 2_000), ""),
    ("cpu", |w| request(&mut w.pods[0], "cpu", 2_001), "Insufficient(\"cpu\")"),
    ("too many pods", |w| _ = w.nodes[0].allocatable.insert("pods".to_owned(), 2), "Insufficient(\"pods\")"),
    (
        "host port of all addresses",
        |w| {
            w.pods[0].placement.host_ports = vec![port("10.0.0.1")];
            w.pods[1].placement.host_ports = vec![port("")];
        },
        "HostPort",
    ),
    (
        "host port of another address",
        |w| {
            w.pods[0].placement.host_ports = vec![port("10.0.0.1")];
            w.pods[1].placement.host_ports = vec![port("10.0.0.2")];
        },
        "",
    ),
    (
        "volume of another zone",
        |w| {
            w.pods[0].placement.volumes = vec![vec![in_list(ZONE, "b")]];
        },
        "Volume",
    ),
    (
        "local volume",
        |w| {
            w.pods[0].placement.volumes = vec![vec![in_list(HOST, "n7")]];
        },
        "Volume",
    ),
    (
        "too many volumes of a driver",
        |w| {
            w.nodes[0].allocatable.insert("attachable-volumes-csi-ebs".to_owned(), 3);
            request(&mut w.pods[0], "attachable-volumes-csi-ebs", 2);
            request(&mut w.pods[1], "attachable-volumes-csi-ebs", 2);
        },
        "Insufficient(\"attachable-volumes-csi-ebs\")",
    ),
    ("own anti-affinity", |w| w.pods[0].placement.anti_affinity = vec![apart("api")], "AntiAffinity"),
    (
        "anti-affinity of a pod there",
        |w| w.pods[1].placement.anti_affinity = vec![apart("web")],
        "AntiAffinity",
    ),
    (
        "anti-affinity of another namespace",
        |w| {
            w.pods[0].placement.anti_affinity =
                vec![PodTerm { namespaces: vec!["other".to_owned()], ..apart("api") }];
        },
        "",
    ),
    ("affinity to an absent pod", |w| w.pods[0].placement.affinity = vec![apart("db")], "Affinity"),
    ("affinity to a pod there", |w| w.pods[0].placement.affinity = vec![apart("api")], ""),
    ("affinity to its own kind, as the first", |w| w.pods[0].placement.affinity = vec![apart("web")], ""),
    (
        "spread without a place for the second",
        |w| {
            // Zone `a` has one already, and the node of zone `b` is cordoned.
            w.pods[0].placement.spread = vec![spread(ZONE)];
            w.pods[1].labels = w.pods[0].labels.clone();
            w.nodes.push(node("n2"));
            w.nodes[1].labels.insert(ZONE.to_owned(), "b".to_owned());
            w.nodes[1].unschedulable = true;
        },
        "Unschedulable TopologySpread",
    ),
    (
        "spread that leaves out cordoned nodes",
        |w| {
            w.pods[0].placement.spread = vec![SpreadConstraint { honors_taints: true, ..spread(ZONE) }];
            w.pods[1].labels = w.pods[0].labels.clone();
            w.nodes.push(node("n2"));
            w.nodes[1].labels.insert(ZONE.to_owned(), "b".to_owned());
            w.nodes[1].unschedulable = true;
        },
        "Unschedulable",
    ),
    (
        "spread over a label that the node lacks",
        |w| {
            w.pods[0].placement.spread = vec![spread("rack")];
        },
        "TopologySpread",
    ),
    (
        "node selector",
        |w| {
            w.pods[0].placement.node_selector.insert("pool".to_owned(), "old".to_owned());
        },
        "NodeAffinity",
    ),
    (
        "affinity to the name of a node",
        |w| {
            w.pods[0].placement.node_affinity = vec![in_list("metadata.name", "n7")];
        },
        "NodeAffinity",
    ),
    (
        "affinity to this node or another",
        |w| {
            w.pods[0].placement.node_affinity = vec![in_list(HOST, "n7"), in_list("metadata.name", "n1")];
        },
        "",
    ),
    ("taint", |w| w.nodes[0].taints = vec![taint(TaintEffect::NoSchedule)], "Taint"),
    ("taint that is only preferred", |w| w.nodes[0].taints = vec![taint(TaintEffect::PreferNoSchedule)], ""),
    (
        "tolerated taint",
        |w| {
            w.nodes[0].taints = vec![taint(TaintEffect::NoExecute)];
            w.pods[0].placement.tolerations =
                vec![Toleration { key: Some("gpu".to_owned()), ..Toleration::default() }];
        },
        "",
    ),
    (
        "toleration of another value",
        |w| {
            w.nodes[0].taints = vec![taint(TaintEffect::NoExecute)];
            let (key, value) = (Some("gpu".to_owned()), Some("no".to_owned()));
            w.pods[0].placement.tolerations = vec![Toleration { key, value, effect: None }];
        },
        "Taint",
    ),
    ("cordon", |w| w.nodes[0].unschedulable = true, "Unschedulable"),
    (
        "tolerated cordon",
        |w| {
            w.nodes[0].unschedulable = true;
            w.pods[0].placement.tolerations = vec![Toleration::default()];
        },
        "",
    ),
    ("unreachable", |w| w.nodes[0].unreachable = true, "Unschedulable"),
];

#[test]
fn nodes_are_ruled_out_as_the_scheduler_does() {
    for (name, change, expected) in ROWS {
        assert_eq!(obstacles(&cluster(change)), *expected, "{name}");
    }
}
