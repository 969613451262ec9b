//! A pass over all VaultSecrets: those that are due, by namespace and store.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::{StreamExt as _, stream};
use jiff::{SignedDuration, Timestamp};

use super::asking::Asking;
use super::logins::Group;
use super::memory::{GroupKey, VaultSecrets};
use super::subject::{Subject, kind};
use super::trouble::Trouble;
use super::turn::take_turn;
use crate::app::ports::{As, LiveError, ManagementCluster as _, ServiceAccount};
use crate::app::reconcile::dependencies::Ports;
use crate::app::reconcile::ports::FleetRecord;

/// Namespaces and stores whose turn it is at a time.
const AT_A_TIME: usize = 8;
/// How often a group is gone through in one pass: a login that retires moves what hangs on it.
const ROUNDS: usize = 3;
/// The longest that nobody looks whether a VaultSecret is new, or was changed by hand.
const LONGEST: SignedDuration = SignedDuration::from_secs(15);

/// What a pass came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Passed {
    /// VaultSecrets that had their turn.
    pub turns: usize,
    /// After how long the next pass is due.
    pub next: SignedDuration,
}

/// With whose rights a namespace is read and written, and who logs in.
struct Accounts {
    by: As,
    account: ServiceAccount,
}

impl VaultSecrets {
    /// Gives every VaultSecret that is due its turn.
    ///
    /// # Errors
    /// They cannot be listed.
    pub async fn pass(
        &self,
        ports: &Ports,
        is_over: &(dyn Fn() -> bool + Sync),
    ) -> Result<Passed, LiveError> {
        let now = ports.clock.now();
        let all = ports.live.list(&As::Reconciler, &kind(), None, &[]).await?;
        let subjects: Vec<Subject> = all.iter().map(Subject::read).collect();
        let there: BTreeSet<_> = subjects.iter().map(|subject| subject.key.clone()).collect();
        self.keep(|key| there.contains(key));
        let mut turns = 0;
        let groups = groups(subjects);
        if groups.values().flatten().any(|subject| self.is_due(&subject.key, &subject.seen(), now)) {
            let fleets = ports.status_store.fleets().await?;
            let work = groups.into_iter().map(|(key, subjects)| {
                let fleets = &fleets;
                async move {
                    let Some(accounts) = accounts(fleets, &key.0) else { return 0 };
                    let asking =
                        Asking { vault: self, ports, by: &accounts.by, account: &accounts.account, now };
                    self.pass_group(asking, &key, subjects, is_over).await
                }
            });
            // Futures first: a stream that makes them cannot be told to be sent between threads.
            let work: Vec<_> = work.collect();
            let done: Vec<usize> = stream::iter(work).buffer_unordered(AT_A_TIME).collect().await;
            turns = done.iter().sum();
        }
        let due = self.keep(|_| true).map(|due| due.duration_since(ports.clock.now()));
        let next = due.map_or(LONGEST, |due| due.clamp(SignedDuration::ZERO, LONGEST));
        Ok(Passed { turns, next })
    }

    /// The VaultSecrets of one namespace and store, one after the other.
    async fn pass_group(
        &self,
        asking: Asking<'_>,
        key: &GroupKey,
        subjects: Vec<Subject>,
        is_over: &(dyn Fn() -> bool + Sync),
    ) -> usize {
        if !subjects.iter().any(|subject| self.is_due(&subject.key, &subject.seen(), asking.now)) {
            return 0;
        }
        let group = self.group(key);
        let mut group = group.lock().await;
        // Whoever had the lock may have taken a lease meanwhile: by what was listed before, its login would seem unused.
        let found = match asking.ports.live.list(&As::Reconciler, &kind(), Some(&key.0), &[]).await {
            Ok(found) => found,
            Err(error) => {
                tracing::warn!(namespace = key.0, %error, "VaultSecrets cannot be listed");
                return 0;
            }
        };
        let mut subjects = groups(found.iter().map(Subject::read).collect()).remove(key).unwrap_or_default();
        let mut turns = 0;
        for round in 0..ROUNDS {
            for subject in &mut subjects {
                if is_over() {
                    return turns;
                }
                // A login that retired moves its leases, and may have ended what waited for that.
                let is_moved = round > 0 && (subject.has_lease() || subject.is_deleting);
                if !self.is_due(&subject.key, &subject.seen(), asking.now) && !is_moved {
                    continue;
                }
                // Those before it may have taken long.
                let asking = Asking { now: asking.ports.clock.now(), ..asking };
                let turn = take_turn(asking, subject, &mut group).await;
                self.looked(&subject.key, subject.seen(), turn.next);
                turns += 1;
            }
            let retired = group.take_retired();
            if let Err(trouble) = self.sweep(asking, key, &subjects, &mut group).await {
                tracing::debug!(namespace = key.0, store = key.1, %trouble, "earlier logins are not ended yet");
            }
            let waits = subjects.iter().any(|subject| subject.is_deleting && subject.has_lease());
            if !retired && (!waits || round != 0) {
                break;
            }
        }
        turns
    }

    /// Ends logins that nothing hangs on.
    async fn sweep(
        &self,
        asking: Asking<'_>,
        (namespace, store): &GroupKey,
        subjects: &[Subject],
        group: &mut Group,
    ) -> Result<(), Trouble> {
        if !group.hangs() {
            return Ok(());
        }
        let store = self.store(asking.ports, store, namespace).await?;
        // Whoever goes does not hold its login.
        let used = subjects.iter().filter(|subject| !subject.is_deleting);
        let used = used.flat_map(|subject| {
            let lease = subject.status.lease.as_ref().map(|lease| lease.login.clone());
            lease.into_iter().chain(subject.status.asked_with.clone())
        });
        group.sweep(asking, &store, &used.collect()).await
    }
}

/// By namespace and store. One whose spec cannot be read is a group's that nobody else is of.
fn groups(subjects: Vec<Subject>) -> BTreeMap<GroupKey, Vec<Subject>> {
    let mut groups: BTreeMap<GroupKey, Vec<Subject>> = BTreeMap::new();
    for subject in subjects {
        let store = subject.spec.as_ref().map(|spec| spec.store.clone()).unwrap_or_default();
        groups.entry((subject.key.0.clone(), store)).or_default().push(subject);
    }
    groups
}

/// Of the first Fleet by name: Fleets of one management cluster that apply to one namespace have one account there.
fn accounts(fleets: &[FleetRecord], namespace: &str) -> Option<Accounts> {
    let fleet = fleets.iter().min_by(|a, b| a.key.cmp(&b.key))?;
    Some(accounts_of(fleet, namespace))
}

fn accounts_of(fleet: &FleetRecord, namespace: &str) -> Accounts {
    let spec = &fleet.spec.service_account;
    Accounts {
        by: As::Impersonated(spec.of(namespace)),
        account: ServiceAccount { namespace: namespace.to_owned(), name: spec.name.clone() },
    }
}

impl VaultSecrets {
    /// Gives one of a Fleet its turn at once, where it is due; how it stands then.
    pub(in crate::app::reconcile) async fn resolve(
        &self,
        ports: &Ports,
        fleet: &FleetRecord,
        (namespace, name): (&str, &str),
    ) -> Result<Option<Standing>, LiveError> {
        let now: Timestamp = ports.clock.now();
        let Accounts { by, account } = accounts_of(fleet, namespace);
        let object = super::subject::object(namespace, name);
        let Some(found) = ports.live.read(&by, &object).await? else { return Ok(None) };
        let mut subject = Subject::read(&found);
        if self.is_due(&subject.key, &subject.seen(), now) && !subject.is_deleting {
            let store = subject.spec.as_ref().map(|spec| spec.store.clone()).unwrap_or_default();
            let group = self.group(&(namespace.to_owned(), store));
            let mut group = group.lock().await;
            // Somebody may have given it its turn meanwhile.
            if let Some(found) = ports.live.read(&by, &object).await? {
                subject = Subject::read(&found);
            }
            if self.is_due(&subject.key, &subject.seen(), now) {
                let asking = Asking { vault: self, ports, by: &by, account: &account, now };
                let turn = take_turn(asking, &mut subject, &mut group).await;
                self.looked(&subject.key, subject.seen(), turn.next);
            }
        }
        Ok(Some(Standing::of(&subject)))
    }

    /// Who asks for a namespace of a Fleet.
    pub(super) fn asks(fleet: &FleetRecord, namespace: &str) -> (As, ServiceAccount) {
        let Accounts { by, account } = accounts_of(fleet, namespace);
        (by, account)
    }
}

/// How a VaultSecret stands.
pub(in crate::app::reconcile) struct Standing {
    /// The name of its Secret.
    pub(in crate::app::reconcile) secret: String,
    /// The reason of its condition.
    pub(in crate::app::reconcile) reason: String,
    /// The sentence of its condition.
    pub(in crate::app::reconcile) message: String,
}

impl Standing {
    fn of(subject: &Subject) -> Self {
        use crate::app::reconcile::resources::ConditionType;
        let resolved = subject.status.conditions.of(ConditionType::Resolved);
        let name =
            subject.spec.as_ref().map_or(subject.key.1.as_str(), |spec| spec.secret_name(&subject.key.1));
        Self {
            secret: name.to_owned(),
            reason: resolved.map(|one| one.reason.clone()).unwrap_or_default(),
            message: resolved.map(|one| one.message.clone()).unwrap_or_default(),
        }
    }
}
