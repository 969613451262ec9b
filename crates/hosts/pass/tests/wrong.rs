//! A wrong spec never takes away what runs: each field of a SIPCluster, once wrong.

use super::*;
use crate::cluster::{Exposure, PortRange};

/// Which field, what makes it wrong, and what is said of it.
pub(super) type Field<'f> = (&'f str, Box<dyn Fn(&mut World) + 'f>, &'f str);

/// The last port of a node that an API server takes.
const LAST_NODE_PORT: u64 = 32_767;

/// Performs what there is to do, except for Services that an API server would refuse.
fn run_as_the_api_server_takes_it(world: &mut World) {
    for _ in 0..200 {
        let refused = |step: &&HostStep| match step {
            HostStep::Apply(object) => {
                let ports = object.pointer("/spec/ports").and_then(Value::as_array).into_iter().flatten();
                ports
                    .filter_map(|port| port["nodePort"].as_u64())
                    .any(|port| !(30_000..=LAST_NODE_PORT).contains(&port))
            }
            _ => false,
        };
        let steps = world.steps("a");
        let Some(step) = steps.iter().find(|step| !refused(step)) else { break };
        world.perform("a", step.clone());
    }
    for step in world.ask("a", crate::pass::standing) {
        world.perform("a", step);
    }
}

/// What runs: objects of these kinds, without what says how they stand.
fn running(world: &World, kinds: &[&str]) -> Vec<Value> {
    let is_meant = |live: &&Value| kinds.iter().any(|kind| live["kind"] == *kind);
    let bare = |live: &Value| json!({"kind": live["kind"], "name": live["metadata"]["name"], "spec": live["spec"], "data": live["data"]});
    world.services.iter().filter(is_meant).map(bare).collect()
}

/// What ran before is there after, as it was; and the condition says what is wrong.
pub(super) fn assert_stays(mut world: World, (field, change, told): Field<'_>, kinds: &[&str]) {
    world.run(&["a"], usize::MAX);
    for host in world.hosts.iter_mut().filter(|host| host.label(CLUSTER_NAME).is_some()) {
        *host = used(host.clone(), "a");
    }
    world.run(&["a"], usize::MAX);
    let (before, labels) = (running(&world, kinds), world.labelled("a"));
    assert!(!before.is_empty(), "{field}");
    change(&mut world);
    run_as_the_api_server_takes_it(&mut world);
    let after = running(&world, kinds);
    for live in &before {
        assert!(after.contains(live), "{field}: {live} is gone or another of {after:?}: {:#?}", world.log);
    }
    assert_eq!(world.labelled("a"), labels, "{field}");
    if !told.is_empty() {
        let conditions: Vec<String> =
            ["HostsChosen", "ServicesReady"].map(|kind| world.condition("a", kind)).to_vec();
        assert!(conditions.iter().any(|condition| condition.contains(told)), "{field}: {conditions:?}");
    }
}

#[test]
fn a_wrong_field_takes_no_service_and_no_host_away() {
    let services = |change: fn(&mut crate::cluster::Services)| {
        move |world: &mut World| change(&mut world.clusters[0].spec.services)
    };
    let role = |change: fn(&mut crate::cluster::HostRole)| {
        move |world: &mut World| change(world.clusters[0].spec.nodes.get_mut("ControlPlane").unwrap())
    };
    let rows: [Field<'_>; 14] = [
        (
            "sshAuthorizedKeys, one that is none",
            Box::new(services(|all| {
                all.jump_host[0].ssh_authorized_keys.push("ssh-ed25519 AAAA".to_owned())
            })),
            "a-jump-30002: sshAuthorizedKeys[1]: the text after its kind is not a key",
        ),
        (
            "sshAuthorizedKeys, with options",
            Box::new(services(|all| all.jump_host[0].ssh_authorized_keys = vec![format!("restrict {KEY}")])),
            "a-jump-30002: sshAuthorizedKeys[0]: it does not begin with an accepted kind of key",
        ),
        (
            "jumpHost.nodeInterfaceId",
            Box::new(|world: &mut World| {
                world.clusters[0].spec.services.jump_host[0].node_interface_id = "oma".to_owned();
            }),
            "a-jump-30002: none of its hosts has an address yet",
        ),
        (
            "jumpHost.nodePort",
            Box::new(services(|all| all.jump_host[0].node_port = Some(22))),
            "a-jump-30002: stays as it is until a-jump-22 is there",
        ),
        (
            "nodePort and a key that is none at once",
            Box::new(services(|all| {
                all.jump_host[0].node_port = Some(30_022);
                all.jump_host[0].ssh_authorized_keys = vec!["ssh-rsa AAAA".to_owned()];
            })),
            "a-jump-30022: sshAuthorizedKeys[0]",
        ),
        (
            "nodeSSHPrivateKeys",
            Box::new(|world: &mut World| {
                world.hosts[8].credentials = Some("bm-8-bmc".to_owned());
                let jump = &mut world.clusters[0].spec.services.jump_host[0];
                (jump.shell, jump.node_ssh_private_keys) = (true, "bm-8-bmc".to_owned());
            }),
            "a-jump-30002: nodeSSHPrivateKeys names the Secret of a management controller",
        ),
        (
            "loadBalancerControlPlane.nodeInterfaceId",
            Box::new(services(|all| all.load_balancer_control_plane[0].node_interface_id = "oma".to_owned())),
            "a-control-plane-30000: none of its hosts has an address yet",
        ),
        (
            "loadBalancerControlPlane.nodePort",
            Box::new(services(|all| all.load_balancer_control_plane[0].node_port = Some(6443))),
            "a-control-plane-30000: stays as it is until a-control-plane-6443 is there",
        ),
        (
            "loadBalancerWorker, a range of too many",
            Box::new(services(|all| {
                all.load_balancer_worker[0].node_port_range = Some(PortRange { start: 31_000, end: 31_999 });
            })),
            "a-worker-31000: nodePortRange 31000 to 31999 has more than 250 ports",
        ),
        (
            "loadBalancerWorker, no port at all",
            Box::new(services(|all| all.load_balancer_worker[0].node_port = None)),
            "a-worker-30001: stays as it is until a-worker-0 is there",
        ),
        (
            "loadBalancerWorker, an image that is none, at another port",
            Box::new(services(|all| {
                let worker = &mut all.load_balancer_worker[0];
                (worker.image, worker.node_port, worker.exposure) =
                    ("none".to_owned(), Some(80), Exposure::NodePort);
            })),
            "a-worker-30001: stays as it is until a-worker-80 is there",
        ),
        ("count", Box::new(role(|role| role.count.active = 9)), "ControlPlane: 9 wanted"),
        ("topologyKey", Box::new(role(|role| role.topology_key = "rakc".to_owned())), ""),
        (
            "labelSelector",
            Box::new(role(|role| {
                role.label_selector.match_labels.insert("no".to_owned(), "such".to_owned());
            })),
            "",
        ),
    ];
    for row in rows {
        assert_stays(
            World::of(racks(), vec![tenant("a", 2, 1, 30000)]),
            row,
            &["Deployment", "Service", "ConfigMap"],
        );
    }
}

/// The wrongly named role gets hosts of its own; hosts of the other one that are in use stay, and so does the
/// service in front of them.
#[test]
fn a_wrong_name_of_a_role_takes_nothing_in_use_away() {
    let mut world = World::of(racks(), vec![tenant("a", 2, 1, 30000)]);
    world.run(&["a"], usize::MAX);
    world.hosts[2] = used(world.hosts[2].clone(), "a");
    let before = running(&world, &["Service", "Secret"]);
    let nodes = &mut world.clusters[0].spec.nodes;
    let worker = nodes.remove("Worker").unwrap();
    nodes.insert("Wroker".to_owned(), worker);
    world.run(&["a"], usize::MAX);
    assert_eq!(running(&world, &["Service", "Secret"]), before);
    assert!(world.labelled("a").contains(&"bm-2 Worker".to_owned()), "{:?}", world.labelled("a"));
    let told = world.condition("a", "HostsChosen");
    assert!(
        told.contains("Worker: this role no longer exists, but bm-2 is provisioned for gauss/a"),
        "{told}"
    );
}

/// What is taken away on purpose goes: all keys, or the entry.
#[test]
fn what_is_taken_back_goes_at_once() {
    for change in
        [(|all| all.jump_host[0].ssh_authorized_keys.clear()) as fn(&mut crate::cluster::Services), |all| {
            all.jump_host.clear()
        }]
    {
        let mut world = World::of(racks(), vec![tenant("a", 2, 1, 30000)]);
        world.run(&["a"], usize::MAX);
        change(&mut world.clusters[0].spec.services);
        world.run(&["a"], usize::MAX);
        let is_jump = |live: &&Value| live["metadata"]["name"] == "a-jump-30002";
        assert_eq!(world.services.iter().filter(is_jump).count(), 0);
    }
}

/// A Secret that came to be a management controller's is mounted no longer.
#[test]
fn what_mounts_the_secret_of_a_management_controller_goes() {
    let mut world = World::of(racks(), vec![tenant("a", 2, 1, 30000)]);
    let jump = &mut world.clusters[0].spec.services.jump_host[0];
    (jump.shell, jump.node_ssh_private_keys) = (true, "keys".to_owned());
    world.run(&["a"], usize::MAX);
    world.hosts[8].credentials = Some("keys".to_owned());
    world.run(&["a"], usize::MAX);
    let is_pods = |live: &&Value| live["kind"] == "Deployment" && live["metadata"]["name"] == "a-jump-30002";
    assert_eq!(world.services.iter().filter(is_pods).count(), 0);
}

/// Ports that move into one another: the old one gives way first, since both cannot hold them.
#[test]
fn a_service_that_holds_a_port_that_another_wants_goes_first() {
    let mut world = World::of(racks(), vec![tenant("a", 2, 1, 30000)]);
    let range = |start| Some(PortRange { start, end: start + 9 });
    world.clusters[0].spec.services.load_balancer_worker[0].node_port_range = range(30_100);
    world.run(&["a"], usize::MAX);
    world.log.clear();
    world.clusters[0].spec.services.load_balancer_worker[0].node_port_range = range(30_105);
    world.run(&["a"], usize::MAX);
    assert!(world.log[0].contains("delete"), "{:#?}", world.log);
    // Others come before the old one goes.
    world.log.clear();
    world.clusters[0].spec.services.load_balancer_worker[0].node_port_range = range(30_200);
    world.run(&["a"], usize::MAX);
    assert!(
        world.log[0].contains("apply") && world.log.iter().any(|line| line.contains("delete")),
        "{:#?}",
        world.log
    );
}
