//! What is to be said of the owners of a cluster: of keys that nothing can be encrypted to, of a key that nobody can take
//! back, and of owners who come and go.

use std::collections::BTreeMap;

use super::access::{OwnersAccess, OwnersCredentials};
use super::key_path::{KeyPath, find};
use super::recipient::Recipient;
use super::services::Owner;
use capstan_model::finding::{Finding, Place, RuleEntry, rules};
use capstan_model::tree::RepoPath;

/// How many changes of owners are reported one by one.
const MOST_REPORTED: usize = 20;

/// What the `capstan.yaml` of a cluster says of its owners, and where.
#[derive(Debug, Clone, Copy)]
pub struct DeclaredOwners<'s> {
    /// The file.
    pub path: &'s RepoPath,
    pub text: &'s str,
    pub owners: &'s [Owner],
    /// What they are given; `None` in a file that does not say that: a release's.
    pub access: Option<&'s OwnersAccess>,
}

impl DeclaredOwners<'_> {
    fn finding(&self, rule: &'static RuleEntry, place: &KeyPath, message: String) -> Finding {
        let position = find(self.text, place).map(|found| found.value);
        Finding::new(rule, message).place(Place::maybe_at(self.path.clone(), position))
    }

    fn of_key(&self, rule: &'static RuleEntry, index: usize, message: String) -> Finding {
        self.finding(rule, &KeyPath::root().key("owners").index(index).key("key"), message)
    }

    /// By their names, each with its place in the list.
    fn by_name(&self) -> BTreeMap<&str, (usize, &Owner)> {
        let named = self.owners.iter().enumerate().map(|(at, owner)| (owner.name.as_str(), (at, owner)));
        named.rev().collect()
    }

    /// Whether they are given something that cannot be taken back.
    fn are_given_admin(&self) -> bool {
        let is_admin =
            |access: &OwnersAccess| access.credentials == OwnersCredentials::Admin && access.oidc.is_none();
        !self.owners.is_empty() && self.access.is_some_and(is_admin)
    }
}

/// Keys that nothing can be encrypted to, and that what is encrypted cannot be taken back, with their places.
pub fn judge_owners(said: DeclaredOwners<'_>) -> Vec<Finding> {
    let unusable = said.owners.iter().enumerate().filter_map(|(index, owner)| {
        let why = Recipient::parse(&owner.key).err()?;
        let message = format!("Capstan cannot encrypt to the key of `{}`: {why}", owner.name);
        Some(said.of_key(rules::INVALID_OWNERS, index, message))
    });
    let mut findings: Vec<Finding> = unusable.collect();
    if said.are_given_admin() {
        let place = KeyPath::root().key("access").key("credentials");
        let message = "The owners get Cluster API's own key. It belongs to the group system:masters and cannot be revoked. A person who leaves keeps full access until the certificate ends or the cluster gets another authority. Remove this, and the owners get a certificate of their own";
        findings.push(said.finding(rules::OWNERS_ADMIN, &place, message.to_owned()));
    }
    findings
}

/// The owners who come, go, or have another key, each with who it is and the fingerprint. `before` is `None` where the
/// cluster is new.
pub fn owners_changed(before: Option<DeclaredOwners<'_>>, after: DeclaredOwners<'_>) -> Vec<Finding> {
    let was = before.as_ref().map(DeclaredOwners::by_name).unwrap_or_default();
    let is = after.by_name();
    let mut found = Vec::new();
    for (name, (index, owner)) in &is {
        let shown = fingerprint(owner);
        let message = match was.get(name) {
            None => format!("`{name}` gets a key of this cluster: {shown}"),
            Some((_, earlier)) if fingerprint(earlier) != shown => format!(
                "`{name}` gets the key of this cluster under another public key: {shown}, no longer {}",
                fingerprint(earlier)
            ),
            Some(_) => continue,
        };
        found.push(after.of_key(rules::OWNERS_CHANGED, *index, message));
    }
    let stays = |owner: &Owner| is.values().any(|(_, other)| fingerprint(other) == fingerprint(owner));
    for (name, (_, owner)) in was.iter().filter(|(name, (_, owner))| !is.contains_key(*name) && !stays(owner))
    {
        let message = format!(
            "`{name}` no longer gets a key of this cluster: {}{}",
            fingerprint(owner),
            if after.are_given_admin() { ". Keys that were given before stay with the owner" } else { "" }
        );
        found.push(after.finding(rules::OWNERS_CHANGED, &KeyPath::root().key("owners"), message));
    }
    let more = found.len().saturating_sub(MOST_REPORTED);
    found.truncate(MOST_REPORTED);
    if more > 0 {
        let message = format!("{more} more owners are added, removed, or get another key");
        found.push(after.finding(rules::OWNERS_CHANGED, &KeyPath::root().key("owners"), message));
    }
    found
}

fn fingerprint(owner: &Owner) -> String {
    match Recipient::parse(&owner.key) {
        Ok(recipient) => recipient.fingerprint().to_owned(),
        Err(_) => "a key that Capstan cannot encrypt to".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::cluster::ClusterSettings;
    use super::*;

    const ADA: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB/SIL13EX5ly7Fe3nnGtzIgWIx8Fe8qhaisPRJFHXhs";
    const BOB: &str = "age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj";
    const EVE: &str = "age19dxrgt65x047tydpmfm7qy73kuj8243dfptcmj5tsjavvegu8jusxey9mx";

    fn said<T>(text: &str, judge: impl FnOnce(DeclaredOwners<'_>) -> T) -> T {
        let path = RepoPath::parse("peu01/capstan.yaml").unwrap();
        let settings = ClusterSettings::read(&path, text).unwrap();
        judge(DeclaredOwners { path: &path, text, owners: &settings.owners, access: Some(&settings.access) })
    }

    fn finding_lines(findings: Vec<Finding>) -> Vec<String> {
        let one = |finding: &Finding| {
            let place = finding.place.as_ref().unwrap();
            format!("{place} {}: {}", finding.rule.id(), finding.message)
        };
        findings.iter().map(one).collect()
    }

    #[test]
    fn an_unusable_key_is_reported_with_line_column_and_a_remedy() {
        let text =
            format!("owners:\n- {{name: ada, key: {ADA}}}\n- name: carol\n  key: ecdsa-sha2-nistp256 AAAA\n");
        let [found] = finding_lines(said(&text, judge_owners)).try_into().unwrap();
        assert_eq!(
            found,
            "peu01/capstan.yaml:4:8 invalid-owners: Capstan cannot encrypt to the key of `carol`: it is an ecdsa key, which age does not encrypt to: use an age key (`age-keygen` prints `age1…`), or an SSH key of type ssh-ed25519 or ssh-rsa (2048 to 4096 bits)"
        );
    }

    #[test]
    fn a_key_that_cannot_be_revoked_is_reported() {
        let owners = format!("owners:\n- {{name: ada, key: {ADA}}}\n");
        let rules = |text: &str| finding_lines(said(text, judge_owners)).len();
        assert_eq!(rules(&owners), 0);
        let [found] = finding_lines(said(&format!("{owners}access:\n  credentials: admin\n"), judge_owners))
            .try_into()
            .unwrap();
        assert!(
            found.starts_with("peu01/capstan.yaml:4:16 owners-admin: ")
                && found.contains("cannot be revoked"),
            "{found}"
        );
        assert_eq!(rules("access: {credentials: admin}\n"), 0, "nobody is given it");
        let login = "access: {credentials: admin, oidc: {issuerUrl: 'https://login.example.com', clientId: kubernetes}}\n";
        assert_eq!(rules(&format!("{owners}{login}")), 0, "a login is given instead");
    }

    #[test]
    fn new_removed_and_changed_owners_are_reported_by_name_and_fingerprint() {
        let before = format!(
            "owners:\n- {{name: ada, key: {ADA} old@laptop}}\n- {{name: bob, key: {BOB}}}\n- {{name: carl, key: {BOB}}}\n"
        );
        let after = format!(
            "owners:\n- {{name: ada, key: {ADA} new@laptop}}\n- {{name: bob, key: {EVE}}}\n- {{name: eve, key: {EVE}}}\n"
        );
        let found =
            said(&before, |before| said(&after, |after| finding_lines(owners_changed(Some(before), after))));
        assert_eq!(
            found,
            [
                format!(
                    "peu01/capstan.yaml:3:20 owners-changed: `bob` gets the key of this cluster under another public key: {EVE}, no longer {BOB}"
                ),
                format!("peu01/capstan.yaml:4:20 owners-changed: `eve` gets a key of this cluster: {EVE}"),
                format!(
                    "peu01/capstan.yaml:2:1 owners-changed: `carl` no longer gets a key of this cluster: {BOB}"
                ),
            ]
        );
        let first = said(&before, |new| owners_changed(None, new).len());
        assert_eq!(first, 3, "of a new cluster all");
    }

    #[test]
    fn what_access_may_say_is_read_and_bounded() {
        let path = RepoPath::parse("c.yaml").unwrap();
        let read = |text: &str| ClusterSettings::read(&path, text).map_err(|error| error.to_string());
        let access = read("access: {lifetimeDays: 7, publish: git}\n").unwrap().access;
        assert_eq!(access.lifetime_days.days(), 7);
        assert_eq!(read("cloud: eu\n").unwrap().access.lifetime_days.days(), 30);
        for (text, told) in [
            ("access: {lifetimeDays: 0}\n", "from 1 to 365"),
            ("access: {lifetimeDays: 366}\n", "from 1 to 365"),
            ("access: {credentials: root}\n", "`access.credentials` must be certificate or admin"),
            (
                "access: {oidc: {issuerUrl: 'http://a', clientId: b}}\n",
                "is not the address of an OpenID Connect issuer",
            ),
            ("access: {key: a}\n", "unknown key `key` in `access`"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(told), "{text}: {error}");
        }
    }
}
