//! The program with a real API server and Keystone itself: killed while it makes a cluster's credentials, renews them and
//! takes them away.

use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use capstan_ports::CloudError;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::{Value, json};

use super::keeper::Cloud;
use capstan_test_parts::plane::process::Process;
use capstan_test_parts::plane::reconciler::{self, HOME};
use capstan_test_parts::plane::{Parts, Plane, tail};
use capstan_test_parts::repository::TestRepository;

const CUSTOMER: &str = "gauss";
const SECRETS: [&str; 2] = ["peu01-cloud-config", "peu01-cloud-controllers"];
/// How long anything may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(180);

struct Town<'c> {
    cloud: &'c Cloud,
    plane: Plane,
    repository: TestRepository,
    process: Process,
    chance: StdRng,
    seed: u64,
    rounds: u32,
    _folder: tempfile::TempDir,
}

impl<'c> Town<'c> {
    fn found(cloud: &'c Cloud) -> Option<Self> {
        let plane = Plane::start(Parts::Kinds)?;
        let seed: u64 = rand::random();
        println!("seed {seed}");
        reconciler::install(&plane);
        for file in ["clouds/namespace.yaml", "clouds/rbac.yaml"] {
            plane.apply(&reconciler::deployed(file));
        }
        reconciler::prepare_namespace(&plane, CUSTOMER);
        let (repository, folder) = (TestRepository::new(), tempfile::tempdir().unwrap());
        let uid = plane.uid();
        repository.write(
            ".capstan.yaml",
            &format!("managementClusters:\n- {{name: here, uid: {uid}, clusters: [\"gauss/*\"]}}\n"),
        );
        plane.apply(
            &json!({
                "apiVersion": "v1", "kind": "Secret",
                "metadata": {"name": "eu", "namespace": "capstan-clouds"},
                "stringData": {"clouds.yaml": cloud.clouds_yaml("gauss", "gauss-pa55word")},
            })
            .to_string(),
        );
        plane.apply(&format!(
            "apiVersion: capstan.dev/v1alpha1\nkind: Fleet\nmetadata: {{name: fleet, namespace: {HOME}}}\nspec:\n  managementCluster: here\n  intervalSeconds: 5\n  cloudCredentials: [{{clusters: [\"gauss/*\"], cloud: openstack, secretRef: {{namespace: capstan-clouds, name: eu}}}}]\n  source: {{git: {{url: \"file://{}\", branch: main}}}}\n",
            repository.path().display()
        ));
        let hosts = cloud.hosts().join(",");
        let process = reconciler::process_with(&plane, folder.path(), &["--cloud-hosts", &hosts]);
        let chance = StdRng::seed_from_u64(seed);
        let mut town = Self { cloud, plane, repository, process, chance, seed, rounds: 0, _folder: folder };
        town.commit("cloud: openstack\n");
        Some(town)
    }

    /// Commits a folder that has changed, whatever else changes: one at which processes ended again and again is passed
    /// over until then.
    fn commit(&mut self, settings: &str) {
        self.rounds += 1;
        let rounds = self.rounds;
        self.repository.write(
            "gauss/peu01/base/all.yaml",
            &format!("apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {{name: peu01, namespace: {CUSTOMER}, annotations: {{round: \"{rounds}\"}}}}\nspec: {{paused: true}}\n"),
        );
        self.repository.write("gauss/peu01/capstan.yaml", settings);
        self.repository.commit_all("A cluster");
    }

    /// Starts processes and kills them, each in the middle of something; the last one lives, and has a chance.
    async fn killed(&mut self, settings: &str) {
        for _ in 0..5 {
            self.process.start();
            tokio::time::sleep(Duration::from_millis(self.chance.random_range(300..2_500))).await;
            self.process.kill();
            self.hold().await;
        }
        self.commit(settings);
        self.process.start();
    }

    fn secret(&self, name: &str) -> Option<Value> {
        let found =
            self.plane.try_kubectl(&["get", "secret", name, "-n", CUSTOMER, "-o", "json"], "").ok()?;
        serde_json::from_str(&found).ok()
    }

    fn annotation(&self, name: &str, key: &str) -> String {
        let secret = self.secret(name).unwrap_or_default();
        secret["metadata"]["annotations"][format!("capstan.dev/credential-{key}")]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }

    fn annotate(&self, name: &str, key: &str, value: &str) {
        let set = format!("capstan.dev/credential-{key}={value}");
        self.plane.kubectl(&["annotate", "--overwrite", "secret", name, "-n", CUSTOMER, &set]);
    }

    /// A `clouds.yaml` with what a Secret holds.
    fn clouds_yaml(&self, name: &str) -> Option<String> {
        let secret = self.secret(name)?;
        let text = |key: &str| {
            let encoded = secret["data"][key].as_str()?;
            String::from_utf8(STANDARD.decode(encoded).ok()?).ok()
        };
        if name == SECRETS[0] {
            return text("clouds.yaml");
        }
        let conf = text("cloud.conf")?;
        let value = |key: &str| {
            let line = conf.lines().find_map(|line| line.strip_prefix(&format!("{key} = \"")))?;
            Some(line.trim_end_matches('"').to_owned())
        };
        let auth = json!({
            "auth_url": value("auth-url")?,
            "application_credential_id": value("application-credential-id")?,
            "application_credential_secret": value("application-credential-secret")?,
        });
        Some(
            json!({"clouds": {"openstack": {"auth_type": "v3applicationcredential", "auth": auth}}})
                .to_string(),
        )
    }

    /// Asserts that the credential in each Secret is valid, also right after a kill.
    async fn hold(&self) {
        for name in SECRETS {
            let Some(clouds_yaml) = self.clouds_yaml(name) else { continue };
            let session = self.cloud.log_in(&clouds_yaml).await;
            assert!(session.is_ok(), "seed {}: {name}: {:?}", self.seed, session.err());
        }
    }

    /// Ids of all credentials that Capstan has made in Keystone.
    async fn credentials(&self) -> Vec<String> {
        let session = self.cloud.log_in(&self.cloud.clouds_yaml("gauss", "gauss-pa55word")).await.unwrap();
        let all = session.credentials("capstan").await.unwrap();
        all.into_iter().map(|one| one.id).collect()
    }

    async fn wait(&self, what: &str, done: impl AsyncFn(&Self) -> bool) {
        let begun = Instant::now();
        while !done(self).await {
            let log = tail(&self.process.log(), 30);
            assert!(begun.elapsed() < PATIENCE, "seed {}: {what} does not happen:\n{log}", self.seed);
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
    }

    fn says(&self, condition: &str) -> String {
        let path = format!(
            "jsonpath={{.status.conditions[?(@.type==\"{condition}\")].status}} {{.status.conditions[?(@.type==\"{condition}\")].reason}}"
        );
        self.plane
            .try_kubectl(&["get", "managedcluster", "gauss-peu01", "-n", HOME, "-o", &path], "")
            .unwrap_or_default()
    }
}

/// A whole life on the real services.
pub(super) async fn credentials_live(cloud: &Cloud) {
    let Some(mut town) = Town::found(cloud) else { return };
    let kept = "cloud: openstack\n";
    town.killed(kept).await;
    town.wait("both are published", async |town| town.says("CredentialsPublished") == "True Published").await;
    town.wait("no orphan is left", async |town| town.credentials().await.len() == 2).await;
    town.hold().await;
    let first = SECRETS.map(|name| town.annotation(name, "id"));
    let old = SECRETS.map(|name| town.clouds_yaml(name).unwrap());
    // They make no other, and delete none.
    let used = cloud.log_in(&old[0]).await.unwrap();
    assert!(matches!(used.revoke(&first[1]).await, Err(CloudError::Unusable(_))));

    // As if two thirds of their life were over.
    for name in SECRETS {
        town.annotate(name, "issued-at", "2020-01-01T00:00:00Z");
    }
    town.process.kill();
    town.killed(kept).await;
    town.wait("both are renewed", async |town| {
        SECRETS.iter().zip(&first).all(|(name, first)| town.annotation(name, "id") != *first)
    })
    .await;
    // The provider no longer uses its old credential. Whether the controllers inside the cluster use theirs is unknown.
    town.wait("the provider's old one goes", async |town| town.credentials().await.len() == 3).await;
    town.hold().await;
    cloud.log_in(&old[1]).await.unwrap();
    assert!(cloud.log_in(&old[0]).await.is_err());
    town.annotate(SECRETS[1], "in-use", &town.annotation(SECRETS[1], "id"));
    town.process.kill();
    town.killed(kept).await;
    town.wait("the other old one goes", async |town| town.credentials().await.len() == 2).await;
    assert!(cloud.log_in(&old[1]).await.is_err());
    town.hold().await;

    let gone = "cloud: openstack\ndelete: cluster\n";
    town.process.kill();
    town.commit(gone);
    for _ in 0..5 {
        town.process.start();
        tokio::time::sleep(Duration::from_millis(town.chance.random_range(300..2_500))).await;
        town.process.kill();
    }
    town.commit(gone);
    town.process.start();
    town.wait("it is removed", async |town| town.says("Ready") == "True Removed").await;
    assert_eq!(town.credentials().await, Vec::<String>::new());
    assert!(SECRETS.iter().all(|name| town.secret(name).is_none()));
    let log = town.process.log();
    assert!(!log.contains("gauss-pa55word") && !log.contains("application_credential_secret"), "{log}");
}
