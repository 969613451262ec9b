//! A cloud other than OpenStack: the reconciler needs only the ports that it implements.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use capstan_live::cloud::{CloudFacts, CloudKind, Questions};
use capstan_ports::{
    CloudAccount, CloudCredential, CloudError, CloudSession, Clouds, CloudsByKind, CredentialForms, Issued,
    NewCredential,
};
use capstan_reconciler::reconcile::CloudCredentials;
use capstan_reconciler::reconcile::resources::ConditionType;
use jiff::Timestamp;
use secrecy::{ExposeSecret as _, SecretString};

use super::credential_town::{annotation, content, opened};
use super::world::World;

/// Keys of a pasture by their names, each with its end.
type Keys = Arc<Mutex<BTreeMap<String, Timestamp>>>;

/// A warden who gives keys to herders.
#[derive(Default)]
struct Pastures(Keys);

struct Herder {
    account: CloudAccount,
    keys: Keys,
}

#[async_trait]
impl Clouds for Pastures {
    fn may_ask(&self) -> bool {
        true
    }

    async fn log_in(&self, credential: &CloudCredential) -> Result<Arc<dyn CloudSession>, CloudError> {
        let herder = credential.secret.get("herder.txt").map(|text| text.expose_secret().to_owned());
        let user = herder.ok_or_else(|| CloudError::Unusable("it has no key `herder.txt`".to_owned()))?;
        if user == "stranger" {
            return Err(CloudError::Refused("the warden knows no such herder".to_owned()));
        }
        let account = CloudAccount {
            host: "warden.example.com".to_owned(),
            region: credential.region.clone(),
            account: credential.cloud.clone(),
            user,
        };
        Ok(Arc::new(Herder { account, keys: Arc::clone(&self.0) }))
    }
}

#[async_trait]
impl CloudSession for Herder {
    fn account(&self) -> &CloudAccount {
        &self.account
    }

    async fn ask(&self, _questions: &Questions) -> CloudFacts {
        CloudFacts::default()
    }

    async fn credentials(&self, beginning: &str) -> Result<Vec<Issued>, CloudError> {
        let keys = self.keys.lock().unwrap();
        let own = keys.iter().filter(|(id, _)| id.starts_with(&format!("{beginning}-")));
        Ok(own.map(|(id, end)| Issued { id: id.clone(), expires_at: Some(*end) }).collect())
    }

    async fn issue(&self, name: &str, expires_at: Timestamp) -> Result<NewCredential, CloudError> {
        self.keys.lock().unwrap().insert(name.to_owned(), expires_at);
        Ok(NewCredential { id: name.to_owned(), secret: SecretString::from("1r0n") })
    }

    async fn revoke(&self, id: &str) -> Result<(), CloudError> {
        self.keys.lock().unwrap().remove(id);
        Ok(())
    }

    fn forms(&self, credential: &NewCredential) -> CredentialForms {
        let key = SecretString::from(format!("{} {}", credential.id, credential.secret.expose_secret()));
        let gate = SecretString::from(format!("gate={}", self.account.account));
        CredentialForms {
            cluster_api: [("key".to_owned(), key.clone())].into(),
            controllers: [("key".to_owned(), key), ("gate.conf".to_owned(), gate)].into(),
        }
    }

    fn place(&self) -> String {
        format!("{}/{}", self.account.host, self.account.account)
    }
}

/// A Fleet opens the pasture `north`, whose Secret holds that, and `gauss/peu01` asks for it.
fn world(clouds: impl Clouds + 'static, key: &str, herder: &str) -> World {
    let mut world = World::new();
    world.fleet.lock().unwrap().spec.cloud_credentials = vec![opened(&["gauss/*"], "north", "north")];
    world.status_store.posted().put_secret("capstan-clouds", "north", key, herder);
    world.write(
        "gauss/peu01/base/cluster.yaml",
        "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata:\n  name: peu01\n  namespace: org\nspec:\n  paused: false\n",
    );
    world.write("gauss/peu01/capstan.yaml", "cloud: north\n");
    world.cloud_credentials = Arc::new(CloudCredentials::new(Arc::new(clouds)));
    world
}

#[tokio::test]
async fn another_clouds_credentials_are_made_and_written_as_it_says() {
    let pastures = Pastures::default();
    let keys = Arc::clone(&pastures.0);
    let world = world(pastures, "herder.txt", "ada");
    world.reconcile("gauss/peu01").await;
    assert_eq!(world.condition("gauss-peu01", ConditionType::CredentialsPublished), "True Published");
    let (config, controllers) = (
        world.live.object("Secret", "peu01-cloud-config").unwrap(),
        world.live.object("Secret", "peu01-cloud-controllers").unwrap(),
    );
    assert_eq!(keys.lock().unwrap().len(), 2);
    let id = annotation(&config, "capstan.dev/credential-id");
    assert!(keys.lock().unwrap().contains_key(&id), "{id}");
    assert_eq!(content(&config, "key"), format!("{id} 1r0n"));
    assert_eq!(annotation(&config, "capstan.dev/credential-place"), "warden.example.com/north");
    assert_eq!(content(&controllers, "gate.conf"), "gate=north");
}

#[tokio::test]
async fn a_refusal_of_another_cloud_is_reported_in_its_own_terms() {
    let unusable = "Secret capstan-clouds/north, which `cloudCredentials` of the Fleet names";
    for (kind, key, herder, condition, says) in [
        (
            CloudKind::OPENSTACK,
            "herder.txt",
            "stranger",
            "False CloudLoginRefused",
            "the warden knows no such herder".to_owned(),
        ),
        (
            CloudKind::OPENSTACK,
            "clouds.yaml",
            "ada",
            "False CloudCredentialUnusable",
            format!("{unusable}: it has no key `herder.txt`"),
        ),
        // No adapter of that kind.
        (
            CloudKind::new("pastures"),
            "herder.txt",
            "ada",
            "False CloudCredentialUnusable",
            format!("{unusable}: Capstan cannot ask clouds of the kind `openstack`"),
        ),
    ] {
        let clouds = CloudsByKind(vec![(kind, Arc::new(Pastures::default()))]);
        let world = world(clouds, key, herder);
        world.reconcile("gauss/peu01").await;
        let status = world.status("gauss-peu01");
        let told = status.conditions.of(ConditionType::CredentialsPublished).unwrap();
        assert_eq!(world.condition("gauss-peu01", ConditionType::CredentialsPublished), condition, "{says}");
        assert_eq!(told.message, says);
    }
}
