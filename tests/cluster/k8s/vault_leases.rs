//! A lease of Vault's over the death of the process that keeps it: twenty times SIGKILL, at whatever it is at.

use capstan_test_support::PATIENCE;
use std::cell::RefCell;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

use crate::running::secrets::vault::{Beside, CANARY, Engine};
use capstan_test_parts::plane::reconciler::{self, HOME};
use capstan_test_parts::plane::{Parts, Plane, tail};

const KILLS: usize = 20;
const CUSTOMER: &str = "acme";

#[test]
fn after_any_kill_one_lease_is_valid_and_the_secret_holds_it() {
    let Some(plane) = Plane::start(Parts::Kubernetes) else { return };
    let seed: u64 =
        std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(rand::random);
    println!("SEED={seed}");
    let mut chance = StdRng::seed_from_u64(seed);
    reconciler::install(&plane);
    reconciler::prepare_namespace(&plane, CUSTOMER);
    let beside = Beside::start(&plane);
    beside.vault.role("capstan-acme");
    {
        let mut state = beside.vault.state();
        let engine = Engine { seconds: 8, most: 100_000, is_renewable: true, method: "GET" };
        state.engines.insert("database/creds/capi".to_owned(), engine);
        state.roles.get_mut("capstan-acme").unwrap().policy.push("sys/leases/revoke".to_owned());
    }
    plane.apply(&format!(
        "apiVersion: capstan.dev/v1alpha1
kind: VaultStore
metadata: {{name: eu, namespace: {HOME}}}
spec: {{url: '{}', auth: {{jwt: {{role: 'capstan-{{namespace}}', audience: vault}}}}, namespaces: [acme]}}
---
apiVersion: capstan.dev/v1alpha1
kind: Fleet
metadata: {{name: gitops, namespace: {HOME}}}
spec: {{managementCluster: here, source: {{git: {{url: 'file:///nowhere'}}}}}}
---
apiVersion: capstan.dev/v1alpha1
kind: VaultSecret
metadata: {{name: db, namespace: {CUSTOMER}}}
spec: {{store: eu, lease: {{path: database/creds/capi}}, refreshSeconds: 10}}
",
        beside.vault.url
    ));
    let folder = tempfile::tempdir().unwrap();
    let process = reconciler::process(&plane, folder.path());
    let terms = || process.log().matches("this process leads").count();
    let wait = |what: &str, done: &dyn Fn() -> bool| {
        let begun = Instant::now();
        while !done() {
            process.is_well().unwrap();
            assert!(
                begun.elapsed() < PATIENCE,
                "SEED={seed}: {what} does not happen; leases {:?}\n{}\n{}",
                beside.vault.leases(),
                tail(&process.log(), 30),
                plane.kubectl(&["get", "vaultsecret", "db", "-n", CUSTOMER, "-o", "yaml"])
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    for kill in 0..KILLS {
        let before = terms();
        process.start();
        wait("it leads", &|| terms() > before);
        // Every fourth time the Secret is deleted, with or without a pass running: then another lease is taken.
        if kill % 4 == 3 {
            plane.try_kubectl(&["delete", "secret", "db", "-n", CUSTOMER], "").ok();
        }
        std::thread::sleep(Duration::from_millis(chance.random_range(0..1500)));
        process.kill();
    }
    process.start();
    let held = || {
        let path = "jsonpath={.data.password}";
        let held = plane.try_kubectl(&["get", "secret", "db", "-n", CUSTOMER, "-o", path], "").ok()?;
        String::from_utf8(STANDARD.decode(held).ok()?).ok().filter(|held| !held.is_empty())
    };
    let living = || beside.vault.leases().into_values().map(|lease| lease.password).collect::<Vec<_>>();
    wait("one lease lives, and the Secret holds it", &|| held().is_some_and(|held| living() == [held]));
    // The same lease outlives its initial duration. If this machine paused until it expired, the next lease must.
    let kept = RefCell::new((living(), Instant::now()));
    wait("one lease outlives its time, and the Secret holds it", &|| {
        let mut kept = kept.borrow_mut();
        if kept.0 != living() {
            *kept = (living(), Instant::now());
        }
        kept.1.elapsed() > Duration::from_secs(9) && held().is_some_and(|held| kept.0 == [held])
    });
    plane.kubectl(&["delete", "vaultsecret", "db", "-n", CUSTOMER]);
    wait("nothing of it is left", &|| {
        living().is_empty()
            && beside.vault.living_logins() == 0
            && plane.kubectl(&["get", "secrets", "-n", CUSTOMER, "-o", "name"]).trim().is_empty()
    });
    assert!(!process.log().contains(CANARY));
}
