//! Generated upgrades: three states of a few objects, the cluster and the new release each edited apart from the old
//! one. For each of them: nothing panics, every field is what U5 says, and the result applied again changes nothing
//! more.

use crate::edits::edited;
use crate::real_upgrades::{upgrade, wrongs};
use capstan_test_support::random::{Random, seed};

const KINDS: [&str; 4] = [
    "apiVersion: cluster.x-k8s.io/v1beta1\nkind: MachineDeployment\nmetadata: {name: NAME}\n",
    "apiVersion: bootstrap.cluster.x-k8s.io/v1beta1\nkind: KubeadmConfigTemplate\nmetadata: {name: NAME}\n",
    "apiVersion: cluster.x-k8s.io/v1beta1\nkind: MachineHealthCheck\nmetadata: {name: NAME}\n",
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME}\n",
];

const FIELDS: [&str; 12] = [
    "replicas: 3",
    "paused: false",
    "strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1, maxUnavailable: 25%}}",
    "preKubeadmCommands: [one, two, three, four]",
    "files: [{path: /a, content: a}, {path: /b, content: b, owner: root}]",
    "certSANs: [a, b, c]",
    "extraArgs: [{name: v, value: p}, {name: w, value: q}, {name: v, value: r}]",
    "taints: [{key: k, effect: NoSchedule}, {key: k, effect: NoExecute, value: x}]",
    "unhealthyConditions: [{type: Ready, status: Unknown, timeout: 300s}, {type: Ready, status: \"False\", timeout: 5m}]",
    "zones: [a, b]",
    "nested: {deep: {deeper: {list: [{a: 1}, {a: 2}], text: \"on\", nothing: null}}}",
    "empty: {mapping: {}, list: []}",
];

#[test]
fn three_edited_states_merge_by_the_rules() {
    let seed = seed();
    println!("seed {seed} (CAPSTAN_SEED repeats another one)");
    let (mut blocked, mut done) = (0, 0);
    for round in 0..300_u64 {
        let mut random = Random::new(seed.wrapping_mul(31).wrapping_add(round));
        let old = generated(&mut random);
        let mut turned = |text: &str, times: usize| {
            (0..random.below(times)).fold(text.to_owned(), |text, _| edited(&text, &mut random))
        };
        let (cluster, new) = (turned(&old, 4), turned(&old, 4));
        let planned = upgrade(&old, &cluster, &new);
        if planned.upgrade.blocked.is_empty() {
            done += 1;
            let found = wrongs(&old, &cluster, &new, &planned);
            assert!(
                found.is_empty(),
                "seed {seed}, round {round}: {}\n== old\n{old}\n== cluster\n{cluster}\n== new\n{new}",
                found.join("\n")
            );
        } else {
            blocked += 1;
        }
    }
    println!("{done} upgrades went through, {blocked} blocked");
    assert!(done > blocked, "most upgrades of few edits go through");
}

fn generated(random: &mut Random) -> String {
    let kinds: Vec<&str> = KINDS.into_iter().filter(|_| random.percent(70)).collect();
    let kinds = if kinds.is_empty() { KINDS.to_vec() } else { kinds };
    let mut documents = Vec::new();
    for (at, head) in kinds.into_iter().enumerate() {
        let fields: Vec<String> =
            FIELDS.into_iter().filter(|_| random.percent(50)).map(|field| format!("  {field}\n")).collect();
        let spec =
            if fields.is_empty() { "spec: {}\n".to_owned() } else { format!("spec:\n{}", fields.concat()) };
        documents.push(format!("{}{spec}", head.replace("NAME", &format!("peu01-{at}"))));
    }
    documents.join("---\n")
}
