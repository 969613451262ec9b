//! Issuers of tokens beside the other services.

use jiff::{SignedDuration, Timestamp};

use super::*;
use crate::services::dex::Connectors;
use crate::services::issuer::{Authority, NoLogin, Serving, certificate};

const NAME: &str = "a-auth-30003";
const HIDDEN: &str = "hidden";

/// The signer's result: a certificate of ninety days.
pub(super) fn certify(world: &mut World, name: &str, secret: &str, host: &str) {
    let cluster = world.cluster(name).clone();
    let not_before: Timestamp = NOW.parse().unwrap();
    let not_after = not_before + SignedDuration::from_hours(90 * 24);
    let pem = format!("certificate {}", world.versions);
    let mut object = certificate(&cluster, secret, &pem, HIDDEN);
    object["metadata"]["uid"] = world.versions.to_string().into();
    world.services.retain(|live| live["metadata"]["name"] != secret);
    world.services.push(object);
    let needs = world.issuers.get_mut(secret.trim_end_matches("-certificate")).unwrap();
    needs.serving = Some(Serving { pem, host: host.to_owned(), not_before, not_after });
}

fn needs() -> IssuerNeeds {
    let connectors = format!(
        "[{{\"type\": \"ldap\", \"id\": \"corp\", \"name\": \"Corp\", \"config\": {{\"bindPW\": \"{HIDDEN}\"}}}}]"
    );
    IssuerNeeds {
        authority: Ok(Authority { pem: "CA".to_owned(), not_after: "2036-01-01T00:00:00Z".parse().unwrap() }),
        connectors: Ok(Connectors::read(&connectors).unwrap()),
        serving: None,
    }
}

/// One tenant, with an issuer and nothing besides.
fn world() -> World {
    let object = json!({
        "metadata": {"namespace": "gauss", "name": "a", "uid": "uid-a", "resourceVersion": "1", "generation": 1},
        "spec": {
            "nodes": {"ControlPlane": {"count": {"active": 1}}},
            "services": {"auth": [{"image": "dex", "nodePort": 30003, "caSecret": "ca", "connectorsSecret": "people"}]}}});
    let mut world = World::of(racks(), vec![SipCluster::read(&object).unwrap()]);
    world.issuers.insert(NAME.to_owned(), needs());
    world
}

/// What it serves, and the digest of its pods' template.
fn deployment(world: &World) -> Option<&Value> {
    world.services.iter().find(|live| live["kind"] == "Deployment")
}

#[test]
fn the_certificate_comes_before_the_pods_and_a_renewed_one_replaces_them() {
    let mut world = world();
    world.run(&["a"], usize::MAX);
    assert_eq!(
        world.log,
        [
            "a: finalizers 1",
            "a: status 1",
            "a: certificate for 192.0.2.1",
            "a: apply Service",
            "a: apply Secret",
            "a: apply Deployment",
            "a: label bm-0",
            "a: status 1",
        ]
    );
    let status = &world.cluster("a").status;
    let oidc = status.oidc.as_ref().unwrap();
    assert_eq!(
        (oidc.issuer.as_str(), oidc.client_id.as_str(), oidc.ca.as_str()),
        ("https://192.0.2.1:30003", "kubernetes", "CA")
    );
    // Credentials of people are only in the Secret of the configuration.
    assert!(!format!("{status:?}").contains(HIDDEN));
    assert_eq!(world.next("a"), None);

    let template = "/spec/template/metadata/annotations";
    let before = deployment(&world).unwrap().pointer(template).cloned();
    let not_before: Timestamp = NOW.parse().unwrap();
    let serving = world.issuers.get_mut(NAME).unwrap().serving.as_mut().unwrap();
    serving.not_before = not_before - SignedDuration::from_hours(61 * 24);
    serving.not_after = not_before + SignedDuration::from_hours(29 * 24);
    world.log.clear();
    world.run(&["a"], usize::MAX);
    assert_eq!(world.log, ["a: certificate for 192.0.2.1", "a: apply Deployment"]);
    assert_ne!(deployment(&world).unwrap().pointer(template).cloned(), before);
}

#[test]
fn missing_inputs_are_reported_and_the_issuer_stays_until_nobody_may_log_in() {
    let mut world = world();
    let known = world.issuers.remove(NAME).unwrap();
    let mut lacks =
        IssuerNeeds { authority: Err("Secret gauss/ca is not there".to_owned()), ..known.clone() };
    world.issuers.insert(NAME.to_owned(), lacks.clone());
    world.run(&["a"], usize::MAX);
    assert_eq!(
        world.condition("a", "ServicesReady"),
        "False InfraServiceFailure: a-auth-30003: Secret gauss/ca is not there"
    );
    assert_eq!((world.cluster("a").status.oidc.as_ref(), deployment(&world)), (None, None));

    world.issuers.insert(NAME.to_owned(), known);
    world.run(&["a"], usize::MAX);
    assert!(deployment(&world).is_some());
    let serving = world.issuers[NAME].serving.clone();
    lacks.serving = serving.clone();
    world.issuers.insert(NAME.to_owned(), lacks.clone());
    world.run(&["a"], usize::MAX);
    assert!(deployment(&world).is_some() && world.cluster("a").status.oidc.is_some());

    // Another entry in its place, with unknown Secrets: the former's objects stay, and are not reported any
    // more.
    let mut moved = self::world();
    moved.run(&["a"], usize::MAX);
    moved.clusters[0].spec.services.auth[0].node_port = Some(30004);
    moved.run(&["a"], usize::MAX);
    assert_eq!(moved.cluster("a").status.oidc.as_ref(), None);
    assert_eq!(deployment(&moved).unwrap()["metadata"]["name"], NAME);
    assert_eq!(
        moved.condition("a", "ServicesReady"),
        "False InfraServiceFailure: a-auth-30004: nothing is known of its Secrets\na-auth-30003: stays as it is until a-auth-30004 is there"
    );
    // Once the new one is there, it goes.
    moved.issuers.insert("a-auth-30004".to_owned(), needs());
    moved.run(&["a"], usize::MAX);
    let names = moved.services.iter().map(|live| live["metadata"]["name"].as_str().unwrap_or_default());
    assert!(
        names.clone().count() == 4 && names.clone().all(|name| name.contains("30004")),
        "{:?}",
        names.collect::<Vec<_>>()
    );

    let nobody = Err(NoLogin::Nobody("nobody could log in".to_owned()));
    world.issuers.insert(NAME.to_owned(), IssuerNeeds { connectors: nobody, serving, ..needs() });
    world.run(&["a"], usize::MAX);
    assert_eq!((deployment(&world), world.cluster("a").status.oidc.as_ref()), (None, None));
}

/// An earlier issuer is reported as long as it stays and its objects are the same.
#[test]
fn an_issuer_that_somebody_wrote_into_the_status_is_not_reported() {
    let mut world = world();
    world.run(&["a"], usize::MAX);
    let honest = world.cluster("a").status.oidc.clone();
    let needs = world.issuers.get_mut(NAME).unwrap();
    needs.authority = Err("Secret gauss/ca is not there".to_owned());
    world.run(&["a"], usize::MAX);
    assert_eq!(world.cluster("a").status.oidc, honest);
    let forge: [fn(&mut crate::cluster::Oidc); 3] = [
        |oidc| oidc.issuer = "https://evil.example.com".to_owned(),
        |oidc| oidc.client_id = "evil".to_owned(),
        |oidc| oidc.ca = "EVIL".to_owned(),
    ];
    for forge in forge {
        let mut world = world.clone();
        forge(world.clusters[0].status.oidc.as_mut().unwrap());
        world.run(&["a"], usize::MAX);
        assert_eq!(world.cluster("a").status.oidc, None);
        assert!(deployment(&world).is_some());
    }
}

/// Each field of an entry, once wrong while it runs.
#[test]
fn a_wrong_field_takes_no_issuer_away() {
    use super::wrong::{Field, assert_stays};
    let auth = |change: fn(&mut crate::cluster::IssuerSpec)| {
        move |world: &mut World| change(&mut world.clusters[0].spec.services.auth[0])
    };
    let unread = |why: &'static str| {
        move |world: &mut World| {
            let needs = world.issuers.get_mut(NAME).unwrap();
            match why {
                "caSecret" => needs.authority = Err(why.to_owned()),
                _ => needs.connectors = Err(NoLogin::Unknown(why.to_owned())),
            }
        }
    };
    let rows: [Field<'_>; 6] = [
        (
            "clientID",
            Box::new(auth(|one| one.client_id = "a b".to_owned())),
            "clientID is missing or invalid",
        ),
        (
            "host",
            Box::new(auth(|one| one.host = "a b".to_owned())),
            "its host is neither a name nor an address",
        ),
        ("caSecret", Box::new(unread("caSecret")), "a-auth-30003: caSecret"),
        ("connectorsSecret", Box::new(unread("connectorsSecret")), "a-auth-30003: connectorsSecret"),
        ("nodePort", Box::new(auth(|one| one.node_port = Some(80))), "nothing is known of its Secrets"),
        (
            "type",
            Box::new(auth(|one| one.exposure = crate::cluster::Exposure::LoadBalancer)),
            "its Service has no address yet",
        ),
    ];
    for row in rows {
        assert_stays(world(), row, &["Deployment", "Secret"]);
    }
}

#[test]
fn an_entry_that_goes_leaves_nothing_and_another_name_wants_another_certificate() {
    let mut world = world();
    world.run(&["a"], usize::MAX);
    world.clusters[0].spec.services.auth[0].host = "dex.example.com".to_owned();
    world.log.clear();
    world.run(&["a"], usize::MAX);
    assert_eq!(
        world.log,
        ["a: certificate for dex.example.com", "a: apply Secret", "a: apply Deployment", "a: status 1"]
    );
    assert_eq!(world.cluster("a").status.oidc.as_ref().unwrap().issuer, "https://dex.example.com:30003");
    world.clusters[0].spec.services.auth.clear();
    world.run(&["a"], usize::MAX);
    assert_eq!((world.services.len(), world.cluster("a").status.oidc.as_ref()), (0, None));
}

#[test]
fn a_ca_that_expires_soon_is_reported() {
    let mut world = world();
    let ends = "2026-12-20T00:00:00Z".parse().unwrap();
    world.issuers.get_mut(NAME).unwrap().authority = Ok(Authority { pem: "CA".to_owned(), not_after: ends });
    world.run(&["a"], usize::MAX);
    let told = world.condition("a", "ServicesReady");
    assert!(
        told.starts_with(
            "True ServicesReady: a-auth-30003: the CA of Secret ca ends at 2026-12-20T00:00:00Z"
        ),
        "{told}"
    );
}
