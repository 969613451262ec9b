//! Cluster API Provider CloudStack, v1beta1 to v1beta2 to v1beta3
//! (<https://github.com/kubernetes-sigs/cluster-api-provider-cloudstack/blob/main/api/v1beta1/conversion.go>).

use super::rule::TableRule::{self, Hand, Move, Refuse};
use super::rule::{ConversionTable, ServedSince, TablePart};
use super::run::{TableRun, own, says_something};
use crate::conversion::step::ConversionStep::{Remove, Replace};
use capstan_model::object::FieldPath;
use capstan_yaml::Node;

pub(super) const OLD: ConversionTable = ConversionTable {
    group: "infrastructure.cluster.x-k8s.io",
    versions: ("v1beta1", "v1beta2"),
    since: ServedSince::release("infrastructure-cloudstack", "v0.4.7-rc1"),
    parts: &[
        TablePart { at: &[("CloudStackCluster", "spec")], rules: &[Hand(failure_domains)] },
        TablePart {
            at: &[("CloudStackMachine", "spec"), ("CloudStackMachineTemplate", "spec.template.spec")],
            rules: MACHINE,
        },
        TablePart {
            at: &[
                ("CloudStackAffinityGroup", "spec"),
                ("CloudStackIsolatedNetwork", "spec"),
                ("CloudStackMachineStateChecker", "spec"),
            ],
            rules: &[],
        },
    ],
};

/// v1beta3 has more fields, and no other ones.
pub(super) const TABLE: ConversionTable = ConversionTable {
    group: "infrastructure.cluster.x-k8s.io",
    versions: ("v1beta2", "v1beta3"),
    since: ServedSince::release("infrastructure-cloudstack", "v0.4.9"),
    parts: &[TablePart {
        at: &[
            ("CloudStackCluster", "spec"),
            ("CloudStackMachine", "spec"),
            ("CloudStackMachineTemplate", "spec.template.spec"),
            ("CloudStackAffinityGroup", "spec"),
            ("CloudStackFailureDomain", "spec"),
            ("CloudStackIsolatedNetwork", "spec"),
            ("CloudStackMachineStateChecker", "spec"),
        ],
        rules: &[],
    }],
};

const MACHINE: &[TableRule] = &[
    Move("affinitygroupids", "affinityGroupIDs"),
    Move("cloudstackaffinityref", "cloudstackAffinityRef"),
    Refuse("zoneID", ZONE, FAILURE_DOMAIN),
    Refuse("zoneName", ZONE, FAILURE_DOMAIN),
    Refuse(
        "identityRef",
        "the newer version has no such field: a machine takes the credential of its failure domain",
        "take it out, if that is the right credential",
    ),
];

const ZONE: &str = "the newer version has no such field: a machine names its failure domain";

const FAILURE_DOMAIN: &str = "take it out, and write the zone's failure domain in `failureDomainName`";

/// A zone is a failure domain: it has the zone's id as its name, the cluster's account and domain, and the credential
/// in Secret `global` of the namespace.
fn failure_domains(run: &mut TableRun<'_>, base: &FieldPath) {
    let (zones, identity) = (base.key("zones"), base.key("identityRef"));
    let text = |node: Option<&Node>| node.and_then(Node::as_str).map(str::to_owned);
    if run.object.at(&identity).is_some_and(says_something) {
        if text(run.object.at(&identity.key("name"))).as_deref() != Some(SECRET) {
            let why = "v1beta2 names a Secret for each failure domain, and the provider writes `global` whatever this says";
            let advice = "write the credential into Secret `global` of the namespace, and take this out";
            run.refuse(&identity, why, advice);
        } else {
            run.step(Remove { at: identity });
        }
    }
    let Some(node) = run.object.at(&zones).filter(|node| says_something(node)).cloned() else {
        let says = |run: &TableRun<'_>, key: &str| run.object.at(&base.key(key)).is_some_and(says_something);
        let owned: Vec<&str> = ["account", "domain"].into_iter().filter(|key| says(run, key)).collect();
        for key in &owned {
            let why = "the newer version has it in each failure domain";
            run.refuse(&base.key(key), why, "write it in each of `failureDomains`");
        }
        if owned.is_empty() && run.is_complete() && !says(run, "failureDomains") {
            let why = "the newer version requires this field, and the object has no zones to make it of";
            run.refuse(&base.key("failureDomains"), why, "write `zones`");
        }
        return;
    };
    let Some(namespace) = text(run.object.get("metadata").and_then(|node| node.get("namespace"))) else {
        let why = "a failure domain names the namespace of its Secret, and the object does not say its own";
        return run.refuse(&zones, why, "write `metadata.namespace`");
    };
    let [account, domain] = ["account", "domain"].map(|key| {
        run.object.at(&base.key(key)).filter(|node| says_something(node)).map(|node| (key, own(node)))
    });
    let mut items = Vec::new();
    for (index, zone) in node.as_sequence().unwrap_or_default().iter().enumerate() {
        let place = zones.index(index);
        let Some(id) = zone.get("id").filter(|id| says_something(id)) else {
            let why = "a failure domain has the zone's id as its name, and this zone has none: the provider asks CloudStack for it";
            run.refuse(&place, why, "write the zone's `id`");
            continue;
        };
        if !zone.get("network").and_then(|network| network.get("name")).is_some_and(says_something) {
            let why = "the newer version requires the name of a zone's network";
            run.refuse(&place, why, "write `network.name`");
            continue;
        }
        let endpoint =
            Node::mapping([("name", Node::string(SECRET)), ("namespace", Node::string(&namespace))]);
        let named = [("name", own(id)), ("zone", own(zone)), ("acsEndpoint", endpoint)];
        items.push(Node::mapping(named.into_iter().chain(account.clone()).chain(domain.clone())));
    }
    run.step(Replace { at: zones.clone(), value: Node::sequence(items) });
    run.go(&zones, &base.key("failureDomains"));
    ["account", "domain"].into_iter().for_each(|key| run.step(Remove { at: base.key(key) }));
}

const SECRET: &str = "global";
