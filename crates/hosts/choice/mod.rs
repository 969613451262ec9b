//! Which hosts a SIPCluster has, which it gets, which it gives back, and why not.
//!
//! *Guarantees.* Hosts that it has stay. Where the free hosts allow all roles their active ones, an assignment is found;
//! where not, nothing new is chosen, and each role that lacks hosts says why, host by host. Roles never share a host. The
//! same facts give the same choice, in whatever order they come. Nothing that somebody uses is given back.
//!
//! *Assumptions.* One SIPCluster at a time is decided, and a choice is recorded in its status before anything
//! else is done. A status counts only as far as the SIPCluster could have had those hosts by its spec
//! ([`ownership`]).
//!
//! | file | tells |
//! |---|---|
//! | `ownership` | whose a host is: by label, by note, or free |
//! | `flow` | the greatest flow through roles, domains and hosts |
//! | `matching` | which free host goes to which role |
//! | `giving_back` | what goes when less is wanted, or a broken one is replaced |
//! | `words` | sentences: too few, no standby, cannot go |

#[cfg(test)]
mod brute_force_tests;
mod flow;
mod giving_back;
mod matching;
mod ownership;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
mod words;

use std::collections::{BTreeMap, BTreeSet};

use capstan_model::dns_name::is_label_value;
use capstan_model::wording::quoted;

use self::matching::Demand;
use self::ownership::{Had, HostSurvey};
use self::words::Shortage;
use crate::cluster::{HostRole, NamespacedName, NotedHost, SipCluster};
use crate::host::Host;
use crate::selector::{HostDeployPolicy, Labels};

/// The facts besides the SIPCluster itself.
#[derive(Debug, Clone, Copy)]
pub struct HostFleet<'a> {
    /// The hosts of all namespaces that are read.
    pub hosts: &'a [Host],
    /// Every SIPCluster, this one included or not.
    pub clusters: &'a [SipCluster],
    /// Who else may take hosts of a namespace.
    pub policies: &'a [HostDeployPolicy],
    /// The labels of the SIPClusters' namespaces, for those policies. A namespace that is not here has none.
    pub namespace_labels: &'a BTreeMap<String, Labels>,
}

impl HostFleet<'_> {
    /// Whether a policy opens the hosts of a namespace to another.
    fn is_open(&self, hosts_of: &str, to: &str) -> bool {
        let none = Labels::new();
        let labels = self.namespace_labels.get(to).unwrap_or(&none);
        self.policies.iter().any(|policy| policy.namespace == hosts_of && policy.admits(to, labels))
    }
}

/// A host that it gives back.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Released {
    /// Which.
    pub host: NamespacedName,
    /// As it was read.
    pub uid: String,
    /// What it was for.
    pub role: String,
}

/// What is decided.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Choice {
    /// The hosts that it has from here on, by namespace and name: what is noted.
    pub hosts: Vec<NotedHost>,
    /// Hosts labelled for it that it has no more.
    pub released: Vec<Released>,
    /// Why nothing new is chosen: a sentence for each role without its active hosts, or that can have none.
    pub too_few: Vec<String>,
    /// Roles that lack standby alone.
    pub no_standby: Vec<String>,
    /// Roles with more hosts than wanted, which somebody uses.
    pub cannot_go: Vec<String>,
}

/// Decides for one SIPCluster. One that is being deleted has no choice, but
/// gives all back.
pub fn choose(cluster: &SipCluster, fleet: &HostFleet<'_>) -> Choice {
    let survey = HostSurvey::of(cluster, fleet);
    let (roles, mut choice) = read_roles(cluster);
    let has: Vec<RoleHosts<'_>> =
        roles.iter().map(|(name, role)| RoleHosts::of(name, role, &survey)).collect();
    let table = ChoiceTable::of(&has, &survey);
    let matching = matching::pick(&table.demands, &table.candidates);
    let is_enough = matching.is_enough() && choice.too_few.is_empty();
    for (at, role) in has.iter().enumerate() {
        let picks = matching.picks.iter().filter(|pick| pick.role == at);
        let new: Vec<&Host> = picks.map(|pick| survey.free[pick.host]).collect();
        let settled = giving_back::settle(role, if is_enough { &new } else { &[] });
        choice.hosts.extend(settled.hosts);
        choice.released.extend(settled.released);
        choice.cannot_go.extend(settled.cannot_go);
        let told = Shortage { cluster, role, at, survey: &survey, matching: &matching, has: &has };
        if matching.active_lacking[at] > 0 {
            choice.too_few.push(told.too_few(&new));
        } else if is_enough && role.steady.len() + new.len() < role.wish.count.wanted() {
            choice.no_standby.push(told.no_standby(&new));
        }
    }
    for had in survey.had.iter().filter(|had| !roles.iter().any(|(name, _)| *name == had.role)) {
        giving_back::without_role(had, &mut choice);
    }
    choice.hosts.sort();
    choice.released.sort();
    choice
}

/// Roles whose names can be labels; of the others, what to do.
fn read_roles(cluster: &SipCluster) -> (Vec<(&str, &HostRole)>, Choice) {
    let mut choice = Choice::default();
    let NamespacedName { namespace, name } = cluster.named();
    if !is_label_value(&name) {
        choice.too_few.push(format!(
            "{namespace}/{name}: the name is longer than a label's value may be (63), so no host can be labelled for it; make a SIPCluster with a shorter one"
        ));
    }
    let mut roles = Vec::new();
    for (name, role) in &cluster.spec.nodes {
        if is_label_value(name) && !name.is_empty() {
            roles.push((name.as_str(), role));
        } else {
            choice.too_few.push(format!(
                "{}: no label can have this value, so no host can be labelled for the role; name it with letters, digits, `-`, `_` and `.`, at most 63",
                quoted(name)
            ));
        }
    }
    (roles, choice)
}

/// Whether hosts can be labelled for it and all of its roles.
fn has_names_for_labels(cluster: &SipCluster) -> bool {
    read_roles(cluster).1.too_few.is_empty()
}

/// A role and the hosts that it has.
struct RoleHosts<'a> {
    name: &'a str,
    wish: &'a HostRole,
    /// Those that it can count on, or that somebody uses.
    steady: Vec<&'a Had<'a>>,
    /// Broken ones that nobody uses: they go once others come.
    broken: Vec<&'a Had<'a>>,
}

impl<'a> RoleHosts<'a> {
    fn of(name: &'a str, wish: &'a HostRole, survey: &'a HostSurvey<'a>) -> Self {
        let of_role = survey.had.iter().filter(|had| had.role == name);
        let (steady, broken) = of_role.partition(|had| had.host.is_steady());
        Self { name, wish, steady, broken }
    }

    /// The domains of hosts that it can count on, each with how many.
    fn in_domains(&self) -> BTreeMap<&'a str, usize> {
        let mut domains = BTreeMap::new();
        if let Some(key) = self.wish.topology_key() {
            for domain in self.steady.iter().filter_map(|had| had.host.domain(key)) {
                *domains.entry(domain).or_insert(0) += 1;
            }
        }
        domains
    }
}

/// The question as numbers.
struct ChoiceTable {
    demands: Vec<Demand>,
    candidates: Vec<Vec<Option<usize>>>,
}

impl ChoiceTable {
    fn of(has: &[RoleHosts<'_>], survey: &HostSurvey<'_>) -> Self {
        let mut candidates = vec![Vec::with_capacity(has.len()); survey.free.len()];
        let mut demands = Vec::with_capacity(has.len());
        for role in has {
            let count = role.wish.count;
            let steady = role.steady.len();
            let active = count.active().saturating_sub(steady);
            let standby = count.wanted().saturating_sub(steady) - active;
            let fitting = |host: &Host| role.wish.label_selector.matches(&host.metadata.labels);
            let domains: Vec<usize> = match role.wish.topology_key() {
                None => {
                    for (host, row) in survey.free.iter().zip(&mut candidates) {
                        row.push(fitting(host).then_some(0));
                    }
                    vec![steady]
                }
                Some(key) => {
                    let had = role.in_domains();
                    let names: BTreeSet<&str> =
                        survey.free.iter().filter_map(|host| host.domain(key)).collect();
                    let names: Vec<&str> = names.into_iter().collect();
                    for (host, row) in survey.free.iter().zip(&mut candidates) {
                        let domain = host.domain(key).filter(|_| fitting(host));
                        row.push(domain.and_then(|domain| names.binary_search(&domain).ok()));
                    }
                    names.iter().map(|name| had.get(name).copied().unwrap_or(0)).collect()
                }
            };
            demands.push(Demand { active, standby, domains, most_per_domain: role.wish.most_per_domain() });
        }
        Self { demands, candidates }
    }
}
