//! Sentences about a choice.

use capstan_model::wording;

use super::RoleHosts;
use super::matching::Matching;
use super::ownership::HostSurvey;
use crate::cluster::SipCluster;
use crate::host::Host;

/// So many hosts are named, the rest counted.
pub(super) const NAMED: usize = 20;

/// What a role lacks.
pub(super) struct Shortage<'a> {
    pub(super) cluster: &'a SipCluster,
    pub(super) role: &'a RoleHosts<'a>,
    /// The role's number.
    pub(super) at: usize,
    pub(super) survey: &'a HostSurvey<'a>,
    pub(super) matching: &'a Matching,
    /// All roles.
    pub(super) has: &'a [RoleHosts<'a>],
}

impl Shortage<'_> {
    /// `ControlPlane: 3 wanted, 2 available in 2 racks; bm-07 (r1): provisioned for gauss/b; …`, where `new` could be had.
    pub(super) fn too_few(&self, new: &[&Host]) -> String {
        let wanted = self.role.wish.count.active();
        format!("{}: {wanted} wanted, {}", self.role.name, self.had(new))
    }

    /// The same for standby.
    pub(super) fn no_standby(&self, new: &[&Host]) -> String {
        let count = self.role.wish.count;
        let standby = count.standby;
        format!("{}: {} wanted with {standby} standby, {}", self.role.name, count.wanted(), self.had(new))
    }

    fn had(&self, new: &[&Host]) -> String {
        let steady = self.role.steady.iter().map(|had| had.host);
        let had: Vec<&Host> = steady.chain(new.iter().copied()).collect();
        let mut told = format!("{} available", had.len());
        if let Some(key) = self.role.wish.topology_key() {
            let domains: std::collections::BTreeSet<&str> =
                had.iter().filter_map(|host| host.domain(key)).collect();
            let word = short(key);
            told.push_str(&format!(" in {}", wording::count(domains.len(), word, &format!("{word}s"))));
        }
        let mut others = self.others(new);
        others.sort();
        let more = others.len().saturating_sub(NAMED);
        for (name, why) in others.into_iter().take(NAMED) {
            told.push_str(&format!("; {name}: {why}"));
        }
        if more > 0 {
            told.push_str(&format!("; {more} more"));
        }
        told
    }

    /// Every other host that matches, and why not.
    fn others(&self, new: &[&Host]) -> Vec<(String, String)> {
        let mut others = Vec::new();
        let matches = |host: &Host| self.role.wish.label_selector.matches(&host.metadata.labels);
        let topology_key = self.role.wish.topology_key();
        for (host, why) in self.survey.not_free.iter().filter(|(host, _)| matches(host)) {
            others.push((self.name(host), why.clone()));
        }
        for had in self.survey.had.iter().filter(|had| had.role != self.role.name && matches(had.host)) {
            others.push((self.name(had.host), format!("had as {}", had.role)));
        }
        for had in &self.role.broken {
            others.push((self.name(had.host), had.host.fault().unwrap_or_default()));
        }
        let elsewhere: Vec<(usize, &str)> = self
            .matching
            .picks
            .iter()
            .filter(|pick| pick.role != self.at)
            .map(|pick| (pick.host, self.has[pick.role].name))
            .collect();
        for (at, host) in self.survey.free.iter().enumerate() {
            if !matches(host) || new.iter().any(|new| std::ptr::eq(*new, *host)) {
                continue;
            }
            let other_role = elsewhere.iter().find(|(pick, _)| *pick == at);
            let why = match (topology_key.map(|key| (key, host.domain(key))), other_role) {
                (Some((key, None)), _) => format!("no label {key}"),
                (_, Some((_, role))) => format!("needed for {role}"),
                (Some((_, Some(domain))), None) => {
                    let most = self.role.wish.most_per_domain();
                    format!(
                        "{domain} has {}",
                        wording::count(most, "host of this role", "hosts of this role")
                    )
                }
                (None, None) => "needed for another role".to_owned(),
            };
            others.push((self.name(host), why));
        }
        others
    }

    /// `bm-07 (r1)`; with its namespace where that is another.
    fn name(&self, host: &Host) -> String {
        let metadata = &host.metadata;
        let is_own = metadata.namespace == self.cluster.metadata.namespace;
        let name = if is_own { metadata.name.clone() } else { host.named().to_string() };
        match self.role.wish.topology_key().and_then(|key| host.domain(key)) {
            Some(domain) => format!("{name} ({domain})"),
            None => name,
        }
    }
}

/// The last part of a label's key: `rack` of `example.com/rack`.
fn short(key: &str) -> &str {
    key.rsplit('/').next().unwrap_or(key)
}
