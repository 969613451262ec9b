//! Passes over the VaultSecrets: which are due, and the turns of those of a store.
//!
//! Each store's are gone through apart from the others', so that a Vault that does not answer keeps nobody waiting but those
//! who ask it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use capstan_live::secrets::ResolvedReason;
use capstan_reconciler_core::leases::{Accounts, Appliers, GroupKey, VaultSecretKey, kind};
use futures_util::{StreamExt as _, stream};
use jiff::{SignedDuration, Timestamp};

use super::asking::Asking;
use super::logins::LoginGroup;
use super::memory::VaultSecrets;
use super::patience::CALLS_OF_ONE;
use super::subject::VaultSecretSubject;
use super::turn::{take_leave, take_turn};
use crate::reconcile::dependencies::Ports;
use capstan_ports::{As, LiveError, ManagementCluster as _, VaultError};

/// How often one pass goes through a group: after a login retired, its leases move to another one.
const ROUNDS: usize = 3;
/// Why nothing becomes of a VaultSecret.
const NO_FLEET: &str = "this management cluster has no Fleet, whose service account would read it and write its Secret: create one. Until then, the Secret does not change";
/// The longest pause until VaultSecrets are listed again, where no watch reports new ones.
const LONGEST: SignedDuration = SignedDuration::from_secs(60);

/// What a pass came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Passed {
    /// VaultSecrets that had their turn.
    pub turns: usize,
    /// After how long the next pass is due.
    pub next: SignedDuration,
}

/// What was found.
#[derive(Default)]
pub struct SecretsReport {
    /// What is due, by stores.
    pub due: Vec<StoreWork>,
    /// Namespaces with VaultSecrets, and with whose rights their Secrets are read there.
    pub namespaces: BTreeMap<String, As>,
}

/// The VaultSecrets of a store that are due.
pub struct StoreWork {
    /// Its name; empty for those whose spec nobody can read.
    pub store: String,
    groups: Vec<(GroupKey, Accounts)>,
    appliers: Arc<Appliers>,
}

/// A VaultSecret that has a turn for a store.
struct StoreMember {
    subject: VaultSecretSubject,
    /// It names another store by now, and has leases of this one still.
    leaves: bool,
}

impl VaultSecrets {
    /// Lists them, and finds out which are due.
    ///
    /// # Errors
    /// They, or the Fleets, cannot be listed.
    pub async fn look(&self, ports: &Ports) -> Result<SecretsReport, LiveError> {
        let now = ports.clock.now();
        let all = ports.live.list(&As::Reconciler, &kind(), None, &[]).await?;
        let subjects: Vec<VaultSecretSubject> = all.iter().map(VaultSecretSubject::read).collect();
        let there: BTreeSet<(String, VaultSecretKey)> = subjects.iter().flat_map(places).collect();
        self.keep(&there);
        if subjects.is_empty() {
            return Ok(SecretsReport::default());
        }
        let appliers = self.appliers(ports, &subjects, now).await?;
        if appliers.said.is_empty() {
            say_nobody_applies(ports, &subjects, now).await;
        }
        let mut found = SecretsReport::default();
        for subject in &subjects {
            if let Some(accounts) = subject.accounts(&appliers) {
                found.namespaces.entry(subject.key.0.clone()).or_insert(accounts.by);
            }
        }
        let mut stores: BTreeMap<String, Vec<(GroupKey, Accounts)>> = BTreeMap::new();
        for (key, (accounts, members)) in groups(&subjects, &appliers) {
            if members.iter().any(|member| self.is_due_in(&key, member, now)) {
                stores.entry(key.store.clone()).or_default().push((key, accounts));
            }
        }
        let work = |(store, groups)| StoreWork { store, groups, appliers: Arc::clone(&appliers) };
        found.due = stores.into_iter().map(work).collect();
        Ok(found)
    }

    fn is_due_in(&self, key: &GroupKey, member: &StoreMember, now: Timestamp) -> bool {
        self.is_due(&key.store, &member.subject.key, &member.subject.seen(), now)
    }

    /// Gives those of a store their turn that are due, some namespaces at a time; how many had it.
    pub async fn work(&self, ports: &Ports, work: StoreWork, is_over: &(dyn Fn() -> bool + Sync)) -> usize {
        let appliers = work.appliers.as_ref();
        let groups = work.groups.into_iter().map(|(key, accounts)| async move {
            let Accounts { by, account } = &accounts;
            let asking = Asking { vault: self, ports, by, account, now: ports.clock.now() };
            self.pass_group(asking, (&key, appliers), is_over).await
        });
        // The futures are collected first: the compiler cannot prove `Send` for a stream that makes them.
        let groups: Vec<_> = groups.collect();
        let done: Vec<usize> = stream::iter(groups).buffer_unordered(CALLS_OF_ONE).collect().await;
        done.iter().sum()
    }

    /// Gives every VaultSecret that is due its turn.
    ///
    /// # Errors
    /// They cannot be listed.
    pub async fn pass(
        &self,
        ports: &Ports,
        is_over: &(dyn Fn() -> bool + Sync),
    ) -> Result<Passed, LiveError> {
        let found = self.look(ports).await?;
        let work = found.due.into_iter().map(|work| self.work(ports, work, is_over));
        let turns = futures_util::future::join_all(work.collect::<Vec<_>>()).await.iter().sum();
        Ok(Passed { turns, next: self.pause(ports.clock.now(), &BTreeSet::new()) })
    }

    /// After how long it is to be looked next, but for these stores'.
    pub fn pause(&self, now: Timestamp, but: &BTreeSet<String>) -> SignedDuration {
        let due = self.next(but).map(|due| due.duration_since(now));
        due.map_or(LONGEST, |due| due.clamp(SignedDuration::ZERO, LONGEST))
    }

    /// The VaultSecrets of one namespace and store, one after the other.
    async fn pass_group(
        &self,
        asking: Asking<'_>,
        (key, appliers): (&GroupKey, &Appliers),
        is_over: &(dyn Fn() -> bool + Sync),
    ) -> usize {
        let group = self.group(key);
        let mut group = group.lock().await;
        // The last holder of the lock may have taken a lease meanwhile: according to the earlier list, its login would
        // seem unused.
        let found = match asking.ports.live.list(&As::Reconciler, &kind(), Some(&key.namespace), &[]).await {
            Ok(found) => found,
            Err(error) => {
                tracing::warn!(namespace = key.namespace, %error, "VaultSecrets cannot be listed");
                return 0;
            }
        };
        let all: Vec<VaultSecretSubject> = found.iter().map(VaultSecretSubject::read).collect();
        let is_of = |subject: &&VaultSecretSubject| {
            subject.accounts(appliers).is_some_and(|by| by.group(&key.store) == *key)
        };
        let members = all.iter().filter(is_of).filter_map(|subject| StoreMember::of(subject, &key.store));
        let mut members: Vec<StoreMember> = members.collect();
        let mut turns = 0;
        for round in 0..ROUNDS {
            for member in &mut members {
                if is_over() {
                    return turns;
                }
                // A login that retired moves its leases, and may have ended what waited for that.
                let is_moved = round > 0 && (member.subject.has_lease() || member.subject.is_deleting);
                if !self.is_due_in(key, member, asking.ports.clock.now()) && !is_moved {
                    continue;
                }
                // Those before it may have taken long.
                let asking = Asking { now: asking.ports.clock.now(), ..asking };
                self.take_member(asking, key, member, &mut group).await;
                turns += 1;
            }
            let retired = group.take_retired();
            if let Err(trouble) = self.sweep(asking, key, (&all, &members), &mut group).await {
                tracing::debug!(namespace = key.namespace, store = key.store, %trouble, "earlier logins are not ended yet");
            }
            let waits =
                members.iter().any(|one| one.subject.has_lease() && (one.leaves || one.subject.is_deleting));
            if !retired && (!waits || round != 0) {
                break;
            }
        }
        turns
    }

    async fn take_member(
        &self,
        asking: Asking<'_>,
        key: &GroupKey,
        member: &mut StoreMember,
        group: &mut LoginGroup,
    ) {
        let subject = &mut member.subject;
        self.begins(&subject.key);
        let next = if member.leaves {
            take_leave(asking, subject, group, &key.store).await
        } else {
            take_turn(asking, subject, group).await.next
        };
        self.looked(&key.store, &subject.key, (subject.seen(), &subject.resource_version), next);
        for store in subject.earlier_stores().filter(|store| *store != key.store) {
            self.expects(store, &subject.key, subject.seen());
        }
    }

    /// Ends logins that have no lease.
    async fn sweep(
        &self,
        asking: Asking<'_>,
        key: &GroupKey,
        (all, members): (&[VaultSecretSubject], &[StoreMember]),
        group: &mut LoginGroup,
    ) -> Result<(), VaultError> {
        if !group.hangs() {
            return Ok(());
        }
        let store = self.store(asking.ports, &key.store, &key.namespace).await?;
        // As they are now; of those that name another store by now what they had when they were listed.
        let of_members: BTreeSet<&VaultSecretKey> =
            members.iter().map(|member| &member.subject.key).collect();
        let others = all.iter().filter(|subject| !of_members.contains(&subject.key));
        let subjects: Vec<&VaultSecretSubject> =
            members.iter().map(|member| &member.subject).chain(others).collect();
        let told = subjects.iter().flat_map(|subject| {
            let status = &subject.status;
            let lease = status.lease.as_ref().map(|lease| (&lease.id, &lease.login));
            let earlier = status.earlier.iter().filter_map(|one| Some((one.id.as_ref()?, &one.login)));
            let told = lease.into_iter().chain(earlier);
            let held = told.filter(|(id, login)| group.holds(&subject.uid, id, login));
            held.map(|(id, _)| id.clone()).collect::<Vec<_>>()
        });
        let told = told.collect();
        // A VaultSecret that is being deleted does not hold its login.
        let used = subjects.iter().filter(|subject| !subject.is_deleting).flat_map(|subject| {
            // Another Vault may call another login the same.
            let is_here = |store: &str| store.is_empty() || store == key.store;
            let status = &subject.status;
            let lease = status.lease.as_ref().filter(|lease| is_here(&lease.store));
            let lease = lease.filter(|lease| group.holds(&subject.uid, &lease.id, &lease.login));
            let asked = status.asked_with.clone();
            let asked = asked.filter(|_| is_here(status.asked_of.as_deref().unwrap_or_default()));
            lease.map(|lease| lease.login.clone()).into_iter().chain(asked)
        });
        let used = used.collect();
        group.sweep(asking, &store, (&used, &told)).await
    }
}

/// Writes to VaultSecrets that nothing handles them: there is no Fleet, whose service account would. Their Secrets keep
/// their content.
async fn say_nobody_applies(ports: &Ports, subjects: &[VaultSecretSubject], now: Timestamp) {
    let stay: Vec<VaultSecretSubject> =
        subjects.iter().filter(|subject| !subject.is_deleting).cloned().collect();
    for mut subject in stay {
        let _news = subject.say(now, ResolvedReason::NotAllowed, NO_FLEET);
        if let Err(error) = subject.save(ports).await {
            let (namespace, name) = &subject.key;
            tracing::warn!(namespace, secret = name, %error, "there is no Fleet, and the status of a VaultSecret cannot say so");
        }
    }
}

impl StoreMember {
    /// A VaultSecret as a member of a store; `None` if it neither names the store nor has earlier leases there.
    fn of(subject: &VaultSecretSubject, store: &str) -> Option<Self> {
        let is_of = subject.store_name() == store;
        let leaves = !is_of && subject.earlier_stores().any(|of| of == store);
        (is_of || leaves).then(|| Self { subject: subject.clone(), leaves })
    }
}

/// The stores that a VaultSecret belongs to: the one that it names, and those where it still has leases.
fn places(subject: &VaultSecretSubject) -> BTreeSet<(String, VaultSecretKey)> {
    let stores = std::iter::once(subject.store_name()).chain(subject.earlier_stores());
    stores.map(|store| (store.to_owned(), subject.key.clone())).collect()
}

/// By namespace, account and store. One whose spec cannot be read is a group's that nobody else is of.
fn groups(
    subjects: &[VaultSecretSubject],
    appliers: &Appliers,
) -> BTreeMap<GroupKey, (Accounts, Vec<StoreMember>)> {
    let mut groups: BTreeMap<GroupKey, (Accounts, Vec<StoreMember>)> = BTreeMap::new();
    for subject in subjects {
        let Some(accounts) = subject.accounts(appliers) else { continue };
        for (store, _) in places(subject) {
            let Some(member) = StoreMember::of(subject, &store) else { continue };
            let key = accounts.group(&store);
            groups.entry(key).or_insert_with(|| (accounts.clone(), Vec::new())).1.push(member);
        }
    }
    groups
}
