//! What is said of a cluster's credentials: the condition, and what is remembered of them.

use jiff::Timestamp;

use super::asked::CredentialSubject;
use super::purpose::Purpose;
use super::step::{CredentialRecord, WrittenState};
use super::trouble::CredentialError;
use crate::resources::{CloudCredentialsStatus, ConditionStatus, PublishedSecret};

/// A cluster's two credentials at the end of a look, each with whether it was made in it.
#[derive(Debug, Clone, Default)]
pub struct Turn {
    /// What each Secret says; `None` where there is none, or one that says nothing.
    pub kept: Vec<(Purpose, Option<CredentialRecord>)>,
    /// Those that were made just now.
    pub new: Vec<Purpose>,
    /// Why it ended early.
    pub trouble: Option<CredentialError>,
    /// Whether anything was due that is not done.
    pub is_due: bool,
}

impl Turn {
    /// What a Secret says by now.
    pub fn set(&mut self, purpose: Purpose, written: Option<CredentialRecord>) {
        self.kept.retain(|(known, _)| *known != purpose);
        self.kept.push((purpose, written));
    }

    /// Until when both are valid; `None` where one is not.
    pub fn valid_until(&self, now: Timestamp) -> Option<Timestamp> {
        let end = |purpose: Purpose| {
            let (_, written) = self.kept.iter().find(|(known, _)| *known == purpose)?;
            let serves =
                |one: &&CredentialRecord| one.state == WrittenState::AsWished && now < one.expires_at;
            written.as_ref().filter(serves).map(|one| one.expires_at)
        };
        let ends: Option<Vec<Timestamp>> = Purpose::ALL.into_iter().map(end).collect();
        ends?.into_iter().min()
    }

    /// The status and reason of the condition, and its message; `None` where nothing is to be said.
    pub fn condition(
        &self,
        subject: &CredentialSubject,
        now: Timestamp,
    ) -> Option<(ConditionStatus, &'static str, String)> {
        match (&self.trouble, self.valid_until(now)) {
            (None, Some(_)) => Some((ConditionStatus::True, "Published", self.published(subject))),
            (Some(trouble), Some(until)) => {
                let message =
                    format!("not renewed: {}. What is published is valid until {until}", trouble.message);
                Some((ConditionStatus::True, "RenewalLate", message))
            }
            (Some(trouble), None) => Some((ConditionStatus::False, trouble.kind, trouble.message.clone())),
            (None, None) => None,
        }
    }

    fn published(&self, subject: &CredentialSubject) -> String {
        let one = |purpose: Purpose| {
            let (_, written) = self.kept.iter().find(|(known, _)| *known == purpose)?;
            let written = written.as_ref()?;
            let mut text = format!("{} until {}", purpose.secret_name(&subject.cluster), written.expires_at);
            if !written.previous.is_empty() {
                text.push_str(" (an earlier one stays until nothing uses it, or until it expires)");
            }
            Some(text)
        };
        let all: Vec<String> = Purpose::ALL.into_iter().filter_map(one).collect();
        format!("Secrets in {}: {}", subject.namespace, all.join(", "))
    }

    /// What is remembered: of a Secret that is gone what it held before.
    pub fn status(
        &self,
        subject: &CredentialSubject,
        before: Option<&CloudCredentialsStatus>,
    ) -> Option<CloudCredentialsStatus> {
        let one = |purpose: Purpose| {
            let name = purpose.secret_name(&subject.cluster);
            let written =
                self.kept.iter().find(|(known, _)| *known == purpose).and_then(|(_, one)| one.as_ref());
            match written {
                Some(written) => Some(PublishedSecret {
                    credential: written.current.clone(),
                    expires_at: written.expires_at,
                    in_use: remembered(before, &name).and_then(|known| known.in_use.clone()),
                    previous: written.previous.keys().cloned().collect(),
                    name,
                }),
                None => remembered(before, &name).cloned(),
            }
        };
        let secrets: Vec<PublishedSecret> = Purpose::ALL.into_iter().filter_map(one).collect();
        (!secrets.is_empty()).then(|| CloudCredentialsStatus {
            cloud: subject.opened.cloud.clone(),
            namespace: subject.namespace.clone(),
            cluster: subject.cluster.clone(),
            secrets,
        })
    }
}

/// What is remembered of a Secret.
pub fn remembered<'s>(status: Option<&'s CloudCredentialsStatus>, name: &str) -> Option<&'s PublishedSecret> {
    status?.secrets.iter().find(|secret| secret.name == name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::resources::{CloudCredentialsSpec, SecretRef};

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn written(expires: i64, state: WrittenState) -> Option<CredentialRecord> {
        Some(CredentialRecord {
            current: "c1".to_owned(),
            user: "ops".to_owned(),
            issued_at: at(0),
            expires_at: at(expires),
            previous: BTreeMap::new(),
            state,
        })
    }

    fn subject() -> CredentialSubject {
        let opened = CloudCredentialsSpec {
            clusters: vec!["**".to_owned()],
            cloud: "corp".to_owned(),
            secret_ref: SecretRef { namespace: "capstan-system".to_owned(), name: "maker".to_owned() },
            lifetime_seconds: 2_592_000,
        };
        CredentialSubject { opened, namespace: "my-org".to_owned(), cluster: "peu01".to_owned() }
    }

    #[test]
    fn what_is_said_follows_from_what_serves_and_from_what_went_wrong() {
        use ConditionStatus::{False, True};
        use WrittenState::{AsWished, Outdated};
        let good = || written(100, AsWished);
        let late = || written(60, AsWished);
        let trouble = || Some(CredentialError::here("Forbidden", "may not write it"));
        let not_renewed = "not renewed: may not write it. What is published is valid until";
        let both = "Secrets in my-org: peu01-cloud-config until 1970-01-01T00:01:40Z, \
                    peu01-cloud-controllers until 1970-01-01T00:01:40Z";
        for (kept, trouble, expected) in [
            ([good(), good()], None, Some((True, "Published", both.to_owned()))),
            (
                [good(), good()],
                trouble(),
                Some((True, "RenewalLate", format!("{not_renewed} 1970-01-01T00:01:40Z"))),
            ),
            (
                [good(), late()],
                trouble(),
                Some((True, "RenewalLate", format!("{not_renewed} 1970-01-01T00:01:00Z"))),
            ),
            ([good(), None], trouble(), Some((False, "Forbidden", "may not write it".to_owned()))),
            ([None, None], trouble(), Some((False, "Forbidden", "may not write it".to_owned()))),
            (
                [good(), written(50, AsWished)],
                trouble(),
                Some((False, "Forbidden", "may not write it".to_owned())),
            ),
            (
                [good(), written(100, Outdated)],
                trouble(),
                Some((False, "Forbidden", "may not write it".to_owned())),
            ),
            ([good(), None], None, None),
            ([None, None], None, None),
        ] {
            let mut turn = Turn { trouble, ..Turn::default() };
            for (purpose, written) in Purpose::ALL.into_iter().zip(kept) {
                turn.set(purpose, written);
            }
            assert_eq!(turn.condition(&subject(), at(50)), expected, "{turn:?}");
        }
    }

    #[test]
    fn of_a_secret_that_is_gone_it_is_remembered_what_it_held() {
        let mut turn = Turn::default();
        turn.set(Purpose::ClusterApi, written(100, WrittenState::AsWished));
        turn.set(Purpose::Controllers, None);
        let first = turn.status(&subject(), None).unwrap();
        let names = |status: &CloudCredentialsStatus| -> Vec<String> {
            status.secrets.iter().map(|secret| secret.name.clone()).collect()
        };
        assert_eq!(names(&first), ["peu01-cloud-config"]);
        turn.set(Purpose::ClusterApi, None);
        assert_eq!(turn.status(&subject(), Some(&first)), Some(first));
        assert_eq!(turn.status(&subject(), None), None);
    }
}
