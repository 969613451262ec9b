//! Whether two proposals have room together.

use std::collections::BTreeMap;

use super::facts::{CloudFacts, Resource};
use super::quota::Need;

/// What another proposal needs of the same project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Elsewhere {
    /// What it is called: `gauss/peu02 at 3f2a91c`.
    pub who: String,
    /// What it needs.
    pub needs: Vec<Need>,
}

/// A sentence for each quota that leaves room for these needs, and none for those of other proposals besides.
pub fn exceeded_together(own: &[Need], others: &[Elsewhere], facts: &CloudFacts) -> Vec<(Resource, String)> {
    let mut said = Vec::new();
    for need in own {
        let Ok(Some(quota)) = facts.quota(need.resource) else { continue };
        let (Some(limit), Some(free)) = (quota.limit, quota.free()) else { continue };
        let theirs: BTreeMap<&str, u64> = others
            .iter()
            .filter_map(|other| {
                let their = other.needs.iter().find(|their| their.resource == need.resource)?;
                Some((other.who.as_str(), their.amount))
            })
            .collect();
        let together = theirs.values().fold(need.amount, |sum, amount| sum.saturating_add(*amount));
        if theirs.is_empty() || need.amount > free || together <= free {
            continue;
        }
        let of = |amount| need.resource.amount(amount);
        let list: Vec<String> =
            theirs.iter().map(|(who, amount)| format!("{} of {who}", of(*amount))).collect();
        said.push((
            need.resource,
            format!(
                "{}: {} more needed ({}) besides {}, {} free of {}: each has room alone, and both together have not",
                need.resource.words(),
                of(need.amount),
                need.why,
                list.join(" and "),
                of(free),
                of(limit),
            ),
        ));
    }
    said
}
