//! The clouds that preflights ask, and what proposals asked of them lately.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use capstan_live::cloud::{Elsewhere, Need};
use capstan_model::ids::ClusterId;
use jiff::{SignedDuration, Timestamp};

use super::ports::FleetRecord;
use super::revision::{Print, Revision};
use crate::app::ports::{CloudProject, Clouds, NoClouds};

/// What a cluster asks of each project.
pub(super) type Needs = Vec<(CloudProject, Vec<Need>)>;

/// How long a proposal's needs are remembered.
const REMEMBERED: SignedDuration = SignedDuration::from_hours(24);
/// So many at most.
const MOST_REMEMBERED: usize = 2_000;

/// The clouds, and what proposals asked of them lately.
pub struct CloudPreflight {
    pub(super) clouds: Arc<dyn Clouds>,
    asked: Mutex<BTreeMap<(String, ClusterId), Asked>>,
}

/// What the head of a proposal needs.
struct Asked {
    commit: String,
    print: Option<Print>,
    needs: Needs,
    at: Timestamp,
}

impl CloudPreflight {
    /// Asks these clouds.
    pub fn new(clouds: Arc<dyn Clouds>) -> Self {
        Self { clouds, asked: Mutex::default() }
    }
}

impl Default for CloudPreflight {
    fn default() -> Self {
        Self::new(Arc::new(NoClouds))
    }
}

impl CloudPreflight {
    /// What other proposals that are still open asked of the same project.
    pub(super) fn elsewhere(
        &self,
        fleet: &FleetRecord,
        head: &Revision,
        clusters: &BTreeSet<&ClusterId>,
        project: &CloudProject,
        now: Timestamp,
    ) -> Vec<Elsewhere> {
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let fleet = fleet.key.to_string();
        let is_open = |of: &str, cluster: &ClusterId, one: &Asked| {
            let is_asked_now = clusters.contains(cluster) && of == fleet;
            // What the default branch has by now is in use, or on its way there.
            let is_merged = of == fleet && one.print.is_some() && head.print(cluster) == one.print.as_ref();
            !is_asked_now && !is_merged && now.duration_since(one.at) < REMEMBERED
        };
        let same = |other: &CloudProject| {
            other.keystone == project.keystone
                && other.region == project.region
                && other.project == project.project
        };
        asked
            .iter()
            .filter(|((of, cluster), one)| is_open(of, cluster, one))
            .flat_map(|((_, cluster), one)| {
                let commit: String = one.commit.chars().take(7).collect();
                one.needs.iter().filter(|(other, _)| same(other)).map(move |(_, needs)| Elsewhere {
                    who: format!("{cluster} at {commit}"),
                    needs: needs.clone(),
                })
            })
            .collect()
    }

    pub(super) fn remember(
        &self,
        fleet: &FleetRecord,
        head: &Revision,
        needed: Vec<(&ClusterId, Needs)>,
        now: Timestamp,
    ) {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.retain(|_, one| now.duration_since(one.at) < REMEMBERED);
        for (cluster, needs) in needed {
            let key = (fleet.key.to_string(), cluster.clone());
            if asked.len() >= MOST_REMEMBERED && !asked.contains_key(&key) {
                continue;
            }
            let print = head.print(cluster).cloned();
            asked.insert(key, Asked { commit: head.commit.to_string(), print, needs, at: now });
        }
    }
}
