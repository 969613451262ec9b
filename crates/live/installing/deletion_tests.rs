use serde_json::json;

use super::*;

fn used(definition: &str, count: usize, names: &[&str]) -> InUse {
    InUse {
        definition: definition.into(),
        count,
        names: names.iter().map(|name| (*name).to_owned()).collect(),
    }
}

fn provider(kind: &str, namespace: &str, name: &str) -> ObjectId {
    ObjectId {
        group: "operator.cluster.x-k8s.io".into(),
        kind: kind.into(),
        namespace: Some(namespace.into()),
        name: name.into(),
    }
}

fn now() -> Timestamp {
    "2026-11-23T01:00:00Z".parse().unwrap()
}

/// The words of the condition of a deletion that is blocked.
fn said(facts: &DeletionFacts<'_>) -> (String, String) {
    let status = with_deletion(&json!({}), 7, Some(&deletion(facts)), now());
    let condition = &status["conditions"][0];
    assert_eq!((&condition["type"], &condition["status"]), (&json!("DeletionBlocked"), &json!("True")));
    assert_eq!(condition["observedGeneration"], 7);
    let text = |key: &str| condition[key].as_str().unwrap().to_owned();
    (text("reason"), text("message"))
}

#[test]
fn objects_of_its_kinds_keep_a_provider() {
    let pools = used("inclusterippools.ipam.cluster.x-k8s.io", 1, &["org/pool-1"]);
    let six = ["a/1", "a/2", "a/3", "a/4", "a/5", "a/6"];
    let claims = used("ipaddressclaims.ipam.cluster.x-k8s.io", 12, &six);
    fn facts(objects: &[InUse]) -> DeletionFacts<'_> {
        DeletionFacts { kind: ProviderKind::Ipam, objects, others: &[] }
    }
    assert_eq!(
        said(&facts(&[pools, claims])),
        (
            "ObjectsExist".to_owned(),
            "1 object of inclusterippools.ipam.cluster.x-k8s.io exists (org/pool-1); 12 objects of \
             ipaddressclaims.ipam.cluster.x-k8s.io exist (a/1, a/2, a/3, a/4, a/5 and 7 more): Capstan deletes nothing before they are gone"
                .to_owned()
        )
    );
    let none = used("inclusterippools.ipam.cluster.x-k8s.io", 0, &[]);
    assert_eq!(deletion(&facts(&[none])), Deletion::May);
    assert_eq!(deletion(&facts(&[])), Deletion::May);
}

#[test]
fn other_providers_keep_core_and_nothing_else() {
    let others = [
        provider("BootstrapProvider", "b", "kubeadm"),
        provider("InfrastructureProvider", "capa-system", "aws"),
    ];
    let facts = |kind| DeletionFacts { kind, objects: &[], others: &others };
    assert_eq!(
        said(&facts(ProviderKind::Core)),
        (
            "ProvidersExist".to_owned(),
            "2 other providers need it (BootstrapProvider b/kubeadm, InfrastructureProvider capa-system/aws): Capstan deletes nothing before they are gone"
                .to_owned()
        )
    );
    assert_eq!(deletion(&facts(ProviderKind::Bootstrap)), Deletion::May);
}

#[test]
fn the_condition_goes_when_nothing_is_in_the_way() {
    let blocked = json!({"conditions": [
        {"type": "Ready", "status": "True"},
        {"type": "DeletionBlocked", "status": "True", "lastTransitionTime": "2026-11-23T00:00:00Z"},
    ]});
    let may = with_deletion(&blocked, 7, Some(&Deletion::May), now());
    assert_eq!(may, json!({"conditions": [{"type": "Ready", "status": "True"}]}));
    assert_eq!(with_deletion(&may, 7, None, now()), may);
    assert_eq!(with_deletion(&json!({}), 7, None, now()), json!({}), "nothing to say of none");
    // Since when it is blocked stays.
    let used = [used("x.y", 1, &["a"])];
    let facts = DeletionFacts { kind: ProviderKind::Addon, objects: &used, others: &[] };
    let still = with_deletion(&blocked, 7, Some(&deletion(&facts)), now());
    assert_eq!(still["conditions"][1]["lastTransitionTime"], "2026-11-23T00:00:00Z");
}

#[test]
fn a_definition_goes_with_no_object_left_and_nobody_who_brings_it() {
    let pool = used("inclusterippools.ipam.cluster.x-k8s.io", 1, &["org/pool-1"]);
    let ipam = provider("IPAMProvider", "capi-ipam-in-cluster-system", "in-cluster");
    assert_eq!(definition_may_go(None, None), Ok(()));
    assert_eq!(
        definition_may_go(Some(&pool), None).unwrap_err(),
        "1 object of inclusterippools.ipam.cluster.x-k8s.io exists (org/pool-1): delete them first"
    );
    assert_eq!(
        definition_may_go(None, Some(&ipam)).unwrap_err(),
        "IPAMProvider capi-ipam-in-cluster-system/in-cluster owns it: delete that first, or remove the tombstone"
    );
}
