//! Application credentials on Keystone itself: the steps that are decided, performed by somebody who dies between them.

use std::collections::BTreeSet;
use std::sync::Arc;

use capstan_ports::{CloudError, CloudSession};
use capstan_reconciler_core::credentials::{
    Consumer, CredentialFacts, CredentialRecord, CredentialStep, Wish, WrittenState,
};
use capstan_reconciler_core::next::{Basis as _, Next};
use jiff::{SignedDuration, Timestamp};
use secrecy::ExposeSecret as _;
use serde_json::json;

use super::keeper::Cloud;

/// A cluster's Secret and the one who works with it.
struct Holder {
    session: Arc<dyn CloudSession>,
    now: Timestamp,
    written: Option<(CredentialRecord, String)>,
    consumer: Option<String>,
    made: u32,
}

/// Who dies, after which write.
struct Dies(Option<u32>);

impl Holder {
    async fn facts(&self, wish: Wish) -> CredentialFacts {
        CredentialFacts {
            now: self.now,
            wish,
            lifetime: SignedDuration::from_hours(720),
            issued: self.session.credentials("capstan-org-peu01-capo").await.unwrap(),
            user: self.session.account().user.clone(),
            written: self.written.as_ref().map(|(written, _)| written.clone()),
            remembered: BTreeSet::new(),
            consumers: self
                .consumer
                .iter()
                .map(|on| Consumer { what: "CAPO".to_owned(), on: Some(on.clone()) })
                .collect(),
        }
    }

    /// Runs a pass; `false` if it died.
    async fn pass(&mut self, wish: Wish, dies: &Dies) -> bool {
        let mut writes = 0;
        let mut dead = || {
            writes += 1;
            dies.0 == Some(writes)
        };
        loop {
            let Next::Step(step) = self.facts(wish).await.next() else { return true };
            match step {
                CredentialStep::Issue { expires_at, previous } => {
                    self.made += 1;
                    let name = format!("capstan-org-peu01-capo-{}", self.made);
                    let new = self.session.issue(&name, expires_at).await.unwrap();
                    if dead() {
                        return false;
                    }
                    let written = CredentialRecord {
                        current: new.id,
                        user: self.session.account().user.clone(),
                        issued_at: self.now,
                        expires_at,
                        previous,
                        state: WrittenState::AsWished,
                    };
                    self.written = Some((written, new.secret.expose_secret().to_owned()));
                }
                CredentialStep::Revoke(id) => self.session.revoke(&id).await.unwrap(),
                CredentialStep::Forget(previous) => {
                    if let Some((written, _)) = &mut self.written {
                        written.previous = previous;
                    }
                }
                CredentialStep::RemoveSecret => self.written = None,
            }
            if dead() {
                return false;
            }
        }
    }
}

/// Application credentials are renewed, and no orphan is left after a crash.
pub(super) async fn credentials_are_renewed(cloud: &Cloud) {
    let session = cloud.log_in(&cloud.clouds_yaml("gauss", "gauss-pa55word")).await.unwrap();
    let now = Timestamp::now();
    let mut holder = Holder { session: session.clone(), now, written: None, consumer: None, made: 0 };
    let yaml = |id: &str, secret: &str| {
        json!({"clouds": {"openstack": {"auth_type": "v3applicationcredential", "auth": {
            "auth_url": cloud.text("/auth_url"),
            "application_credential_id": id,
            "application_credential_secret": secret,
        }}}})
        .to_string()
    };
    let all = async || session.credentials("capstan-org-peu01-capo").await.unwrap();
    // Killed after the credential was issued, its secret is lost: the next pass revokes it.
    assert!(!holder.pass(Wish::Keep, &Dies(Some(1))).await);
    assert_eq!(all().await.len(), 1);
    assert!(holder.pass(Wish::Keep, &Dies(None)).await);
    assert_eq!(all().await.len(), 1);
    let (first, secret) = holder.written.clone().unwrap();
    let used = cloud.log_in(&yaml(&first.current, &secret)).await.unwrap();
    holder.consumer = Some(first.current.clone());
    // Restricted: it makes no other, and deletes none.
    assert!(matches!(
        used.issue("capstan-org-peu01-capo-x", first.expires_at).await,
        Err(CloudError::Unusable(_))
    ));
    assert!(used.revoke(&first.current).await.is_err());
    // A name that is taken.
    let taken = format!("capstan-org-peu01-capo-{}", holder.made);
    assert!(matches!(session.issue(&taken, first.expires_at).await, Err(CloudError::Unusable(_))));
    // Renewed at two thirds; both are valid until the new one is worked with.
    holder.now += SignedDuration::from_hours(480);
    for dies in [1, 2, 3] {
        assert!(!holder.pass(Wish::Keep, &Dies(Some(dies))).await, "{dies}");
        cloud.log_in(&yaml(&first.current, &secret)).await.unwrap();
    }
    assert!(holder.pass(Wish::Keep, &Dies(None)).await);
    let (second, new) = holder.written.clone().unwrap();
    assert_ne!(second.current, first.current);
    assert_eq!(all().await.len(), 2);
    cloud.log_in(&yaml(&first.current, &secret)).await.unwrap();
    cloud.log_in(&yaml(&second.current, &new)).await.unwrap();
    holder.consumer = Some(second.current.clone());
    assert!(holder.pass(Wish::Keep, &Dies(None)).await);
    assert_eq!(all().await.len(), 1);
    let error = cloud.log_in(&yaml(&first.current, &secret)).await.err().unwrap();
    assert!(matches!(&error, CloudError::Refused(why) if why.contains("(404)")), "{error}");
    cloud.log_in(&yaml(&second.current, &new)).await.unwrap();
    // And taken away.
    assert!(!holder.pass(Wish::Remove, &Dies(Some(1))).await);
    assert!(holder.pass(Wish::Remove, &Dies(None)).await);
    assert_eq!((all().await.len(), holder.written.is_none()), (0, true));
}
