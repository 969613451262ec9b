//! Components of providers that plans and judgements lack: which are asked for, and what counts where one cannot be had.

use std::collections::{BTreeMap, BTreeSet};

use capstan_model::ids::ClusterId;
use capstan_plan::settings::ComponentsRecord;
use capstan_providers::{MissingComponents, Supplies, Supply};

use crate::facts::TargetPlans;

/// What the open proposal of a set records of components, by label: it was judged with these, whatever was lost since.
/// The error says why that cannot be read.
pub type JudgedComponents = Result<BTreeMap<String, ComponentsRecord>, String>;

/// Components that sets lack.
pub type LackingComponents = BTreeSet<(ClusterId, MissingComponents)>;

/// What is asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AskedComponents {
    /// The components, each with the SHA-256 that was judged before.
    pub known: BTreeMap<MissingComponents, Option<String>>,
    /// Those of sets whose earlier verdicts cannot be read, and why.
    unread: Vec<(MissingComponents, String)>,
}

/// What plans of sets lack.
pub fn lacking(plans: &TargetPlans) -> LackingComponents {
    let upgrades = plans.values().filter_map(|plan| plan.as_ref().ok());
    let of_set = upgrades.filter_map(|upgrade| Some((upgrade.target.id()?, &upgrade.unasked)));
    of_set.flat_map(|(set, all)| all.iter().map(|wanted| (set.clone(), wanted.clone()))).collect()
}

impl AskedComponents {
    /// What sets lack, as it is asked for. If what was judged before cannot be read, nothing is asked for that set: a
    /// problem of its branch costs the others nothing.
    pub fn of(lacking: LackingComponents, judged: &BTreeMap<ClusterId, JudgedComponents>) -> Self {
        let mut asked = Self::default();
        for (set, wanted) in lacking {
            let record = match judged.get(&set) {
                Some(Err(error)) => {
                    let why = format!(
                        "the components that its open pull request was checked with cannot be read: {error}"
                    );
                    asked.unread.push((wanted, why));
                    continue;
                }
                Some(Ok(records)) => records.get(&wanted.label()),
                None => None,
            };
            let known = record.filter(|record| record.version == wanted.version);
            let known = known.map(|record| record.sha256.clone());
            let before = asked.known.entry(wanted).or_default();
            *before = before.take().or(known);
        }
        asked
    }

    /// Completes the answers. What a set could not ask for is missing, unless another set asked for it with a record.
    /// What was judged before and could not be had now is held by its record.
    pub fn settle(self, mut came: Supplies) -> Supplies {
        for (wanted, why) in self.unread {
            // Asked for by a set without a record, it came unverified.
            if !matches!(self.known.get(&wanted), Some(Some(_))) {
                came.add(wanted, Supply::Missing(why));
            }
        }
        for (wanted, known) in self.known {
            let Some(known) = known else { continue };
            if let Some(Supply::Missing(why)) = came.of(&wanted) {
                let held = Supply::Held { known, why: why.clone() };
                came.add(wanted, held);
            }
        }
        came
    }
}

/// Whether some of these are not here: what is judged without them is judged again at the next look.
pub fn are_lacking<'w>(supplies: &Supplies, wanted: impl IntoIterator<Item = &'w MissingComponents>) -> bool {
    wanted.into_iter().any(|wanted| !matches!(supplies.of(wanted), Some(Supply::Fetched(_))))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use capstan_model::target::Target;
    use capstan_model::tree::RepoPath;
    use capstan_plan::proposal::ProposalId;
    use capstan_plan::upgrade::Upgrade;
    use capstan_providers::{ComponentOrigin, OciArtifact, ProviderKind, Published};

    use super::*;

    fn wanted(version: &str) -> MissingComponents {
        MissingComponents {
            kind: ProviderKind::Infrastructure,
            name: "aws".to_owned(),
            version: version.to_owned(),
            origin: ComponentOrigin::Oci(
                OciArtifact::parse("registry.example.com/aws:v2.8.4", None).unwrap(),
            ),
            recorded: None,
        }
    }

    fn set(name: &str) -> ClusterId {
        ClusterId::new(RepoPath::parse(name).unwrap())
    }

    fn record(version: &str) -> JudgedComponents {
        let (version, sha256) = (version.to_owned(), "a".repeat(64));
        Ok(BTreeMap::from([("infrastructure-aws".to_owned(), ComponentsRecord { version, sha256 })]))
    }

    fn unread() -> JudgedComponents {
        Err("Git does not answer".to_owned())
    }

    fn fetched() -> Supply {
        let [metadata, components, from] = ["", "", ""].map(str::to_owned);
        Supply::Fetched(Arc::new(Published { version: "v2.8.4".to_owned(), metadata, components, from }))
    }

    #[test]
    fn what_plans_of_sets_lack_is_asked_for_by_set() {
        let target = Target::Providers(set("mgmt/providers"));
        let unasked = vec![wanted("v2.8.4"), wanted("v2.9.0")];
        let upgrade = Upgrade { unasked, ..Upgrade::nothing(target.clone()) };
        let plans = TargetPlans::from([
            (ProposalId::of_release(target), Ok(Arc::new(upgrade))),
            (ProposalId::of_release(Target::parse("gauss/peu01").unwrap()), Err("no.".to_owned())),
        ]);
        let expected = LackingComponents::from([
            (set("mgmt/providers"), wanted("v2.8.4")),
            (set("mgmt/providers"), wanted("v2.9.0")),
        ]);
        assert_eq!(lacking(&plans), expected);
    }

    #[test]
    fn what_was_judged_before_is_known_under_the_same_version_alone() {
        let sha256 = Some("a".repeat(64));
        for (judged, expected) in [
            (vec![], Some(None)),
            (vec![("one", record("v2.8.4"))], Some(sha256.clone())),
            (vec![("one", record("v2.8.3"))], Some(None)),
            // Another set wants the same, and knows it.
            (vec![("one", record("v2.8.3")), ("two", record("v2.8.4"))], Some(sha256.clone())),
            (vec![("one", unread()), ("two", record("v2.8.4"))], Some(sha256)),
            (vec![("one", unread()), ("two", unread())], None),
        ] {
            let lacking =
                LackingComponents::from([(set("one"), wanted("v2.8.4")), (set("two"), wanted("v2.8.4"))]);
            let judged = judged.into_iter().map(|(name, judged)| (set(name), judged)).collect();
            let asked = AskedComponents::of(lacking, &judged);
            assert_eq!(asked.known.get(&wanted("v2.8.4")).cloned(), expected);
        }
    }

    #[test]
    fn what_cannot_be_had_is_held_where_it_is_known_which_it_is() {
        let missing = || Supply::Missing("the registry does not answer".to_owned());
        let held = || Supply::Held { known: "a".repeat(64), why: "the registry does not answer".to_owned() };
        let unreadable = || {
            Supply::Missing(
                "the components that its open pull request was checked with cannot be read: Git does not answer"
                    .to_owned(),
            )
        };
        for (judged, came, expected) in [
            (vec![], missing(), missing()),
            (vec![("one", record("v2.8.4"))], missing(), held()),
            (vec![("one", record("v2.8.4"))], fetched(), fetched()),
            (vec![], fetched(), fetched()),
            // What another set without a record had fetched came unverified.
            (vec![("one", unread())], fetched(), unreadable()),
            (vec![("one", unread()), ("two", record("v2.8.4"))], fetched(), fetched()),
        ] {
            let lacking =
                LackingComponents::from([(set("one"), wanted("v2.8.4")), (set("two"), wanted("v2.8.4"))]);
            let judged = judged.into_iter().map(|(name, judged)| (set(name), judged)).collect();
            let came = Supplies::from(vec![(wanted("v2.8.4"), came)]);
            let known = AskedComponents::of(lacking, &judged).settle(came);
            assert_eq!(known.of(&wanted("v2.8.4")), Some(&expected));
        }
    }

    #[test]
    fn only_what_was_fetched_is_here() {
        for (supply, expected) in [
            (None, true),
            (Some(Supply::Missing("no".to_owned())), true),
            (Some(Supply::Held { known: "a".repeat(64), why: "no".to_owned() }), true),
            (Some(fetched()), false),
        ] {
            let supplies: Vec<_> = supply.into_iter().map(|supply| (wanted("v2.8.4"), supply)).collect();
            assert_eq!(are_lacking(&Supplies::from(supplies), [&wanted("v2.8.4")]), expected);
        }
        assert!(!are_lacking(&Supplies::default(), []));
    }
}
