//! Whether two proposals have room together.

use std::collections::BTreeMap;

use super::ask::CloudAsk;
use super::facts::CloudFacts;
use super::quota::Need;
use super::reason::{CloudReason, Weight};

/// What another proposal needs of the same account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherProposal {
    /// What it is called: `gauss/peu02 at 3f2a91c`.
    pub who: String,
    /// What it needs.
    pub needs: Vec<Need>,
}

/// Reports each quota that has room for what a folder needs, but not for that and the needs of other proposals
/// together.
pub fn exceeded_together(
    ask: &CloudAsk,
    own: &[Need],
    others: &[OtherProposal],
    facts: &CloudFacts,
) -> Vec<CloudReason> {
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
        let (object, field) = ask.named_by.clone();
        said.push(CloudReason {
            kind: "QuotaShared",
            weight: Weight::Notable,
            message: format!(
                "{}: {} more needed ({}) besides {}, {} free of {}: each fits alone, but both together do not",
                ask.words.resource(need.resource),
                of(need.amount),
                need.why,
                list.join(" and "),
                of(free),
                of(limit),
            ),
            object,
            field,
        });
    }
    said
}
