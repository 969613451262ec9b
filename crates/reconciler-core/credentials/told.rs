//! What is said of a cluster's credentials: the condition, and what is remembered of them.

use jiff::Timestamp;

use super::asked::Subject;
use super::purpose::Purpose;
use super::step::{Written, WrittenState};
use super::trouble::Trouble;
use crate::resources::{CloudCredentialsStatus, ConditionStatus, PublishedSecret};

/// A cluster's two credentials at the end of a look, each with whether it was made in it.
#[derive(Debug, Clone, Default)]
pub struct Turn {
    /// What each Secret says; `None` where there is none, or one that says nothing.
    pub kept: Vec<(Purpose, Option<Written>)>,
    /// Those that were made just now.
    pub new: Vec<Purpose>,
    /// Why it ended early.
    pub trouble: Option<Trouble>,
    /// Whether anything was due that is not done.
    pub is_due: bool,
}

impl Turn {
    /// What a Secret says by now.
    pub fn set(&mut self, purpose: Purpose, written: Option<Written>) {
        self.kept.retain(|(known, _)| *known != purpose);
        self.kept.push((purpose, written));
    }

    /// Until when both are valid; `None` where one is not.
    pub fn valid_until(&self, now: Timestamp) -> Option<Timestamp> {
        let end = |purpose: Purpose| {
            let (_, written) = self.kept.iter().find(|(known, _)| *known == purpose)?;
            let serves = |one: &&Written| one.state == WrittenState::AsWished && now < one.expires_at;
            written.as_ref().filter(serves).map(|one| one.expires_at)
        };
        let ends: Option<Vec<Timestamp>> = Purpose::ALL.into_iter().map(end).collect();
        ends?.into_iter().min()
    }

    /// The status and reason of the condition, and its message; `None` where nothing is to be said.
    pub fn condition(
        &self,
        subject: &Subject,
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

    fn published(&self, subject: &Subject) -> String {
        let one = |purpose: Purpose| {
            let (_, written) = self.kept.iter().find(|(known, _)| *known == purpose)?;
            let written = written.as_ref()?;
            let mut text = format!("{} until {}", purpose.secret_name(&subject.cluster), written.expires_at);
            if !written.previous.is_empty() {
                text.push_str(" (an earlier one stays until nobody works with it, or until it ends)");
            }
            Some(text)
        };
        let all: Vec<String> = Purpose::ALL.into_iter().filter_map(one).collect();
        format!("Secrets in {}: {}", subject.namespace, all.join(", "))
    }

    /// What is remembered: of a Secret that is gone what it held before.
    pub fn status(
        &self,
        subject: &Subject,
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
