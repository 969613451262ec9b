//! What the other providers of a management cluster mean for one that is to be begun.
//!
//! One that cannot go on waits alone. The others go on, except where they need it:
//!
//! | who | waits |
//! |---|---|
//! | anybody but a core provider | where there is no core provider, or it is not installed yet, or is on its way |
//! | anybody but a core provider | where the core provider cannot go on, and what is installed of it does not take the contract |
//! | a core provider | where another one is installed that cannot go on, and whose contract it would not take |
//! | kubeadm's two | where the core provider cannot go on: the three are released and tested together |
//! | a control plane | where the bootstrap provider of its name cannot go on: they are one project's |
//! | anybody | while another one is on its way and has not waited for too long |

use std::collections::BTreeMap;

use capstan_model::object::ObjectId;
use capstan_providers::{ProviderKind, accepts_contract};

use super::facts::{DesiredProvider, ProviderFacts};
use super::record::ProviderRecord;
use super::step::Wait;

/// Whose bootstrap and control plane providers come with core.
const KUBEADM: &str = "kubeadm";

/// The providers, and what is known to be waited for.
pub(super) struct Others<'d> {
    pub(super) providers: &'d [ProviderFacts],
    pub(super) waits: &'d BTreeMap<ObjectId, Wait>,
}

impl Others<'_> {
    /// What keeps a provider from being begun that is due.
    pub(super) fn keep(&self, provider: &ProviderFacts) -> Option<Wait> {
        if let Some(on_its_way) = self.providers.iter().find(|other| self.is_on_its_way(other)) {
            return Some(Wait::ForSet(format!("{} is being installed, and goes first", on_its_way.id)));
        }
        let components = provider.components()?;
        if let Some((object, why)) = provider.refused() {
            return Some(Wait::Refused { object: object.clone(), why: why.to_owned() });
        }
        let contract = components.revision.contract.as_str();
        match provider.kind {
            ProviderKind::Core => self.hold_core(provider, contract),
            _ => self.hold_beside_core(provider, contract),
        }
    }

    fn hold_core(&self, core: &ProviderFacts, contract: &str) -> Option<Wait> {
        self.providers.iter().filter(|other| other.id != core.id).find_map(|other| {
            let why = self.trouble(other)?;
            let installed = other.record.as_ref()?.installed.as_ref()?;
            (!accepts_contract(contract, &installed.contract)).then(|| {
                Wait::ForSet(format!(
                    "{} is installed with contract {}, which a core provider of contract {contract} does not accept, and it cannot continue: {why}",
                    other.id, installed.contract
                ))
            })
        })
    }

    fn hold_beside_core(&self, provider: &ProviderFacts, contract: &str) -> Option<Wait> {
        let is_core = |other: &&ProviderFacts| {
            other.kind == ProviderKind::Core && !matches!(other.wanted, DesiredProvider::Nothing)
        };
        let Some(core) = self.providers.iter().find(is_core) else { return Some(Wait::ForCore) };
        let standing_still = |other: &ProviderFacts, why: &str| {
            Wait::ForSet(format!("{} goes first, but is stuck: {why}", other.id))
        };
        if let Some(why) = self.trouble(core) {
            let record = core.record.as_ref();
            let installed =
                record.filter(|record| !record.is_under_way()).and_then(|record| record.installed.as_ref());
            match installed {
                None => return Some(standing_still(core, &why)),
                Some(_) if is_of_kubeadm(provider) => return Some(standing_still(core, &why)),
                Some(installed) if !accepts_contract(&installed.contract, contract) => {
                    return Some(Wait::ForSet(format!(
                        "{} is installed with contract {}, which does not accept contract {contract}, and it cannot continue: {why}",
                        core.id, installed.contract
                    )));
                }
                Some(_) => {}
            }
        }
        let is_its_bootstrap = |other: &&ProviderFacts| {
            provider.kind == ProviderKind::ControlPlane
                && other.kind == ProviderKind::Bootstrap
                && other.id.name == provider.id.name
        };
        let bootstrap = self.providers.iter().find(is_its_bootstrap)?;
        self.trouble(bootstrap).map(|why| standing_still(bootstrap, &why))
    }

    /// Whether a pass has it in hand, and nothing is wrong with it.
    fn is_on_its_way(&self, provider: &ProviderFacts) -> bool {
        provider.record.as_ref().is_some_and(ProviderRecord::is_under_way)
            && matches!(self.waits.get(&provider.id), Some(Wait::For(_)))
    }

    /// Why a provider cannot go on; `None` where it can, or has nothing to do.
    fn trouble(&self, provider: &ProviderFacts) -> Option<String> {
        if let DesiredProvider::Halted(why) | DesiredProvider::Back { why, .. } = &provider.wanted {
            return Some(why.clone());
        }
        if let Some(why) = &provider.failed {
            return Some(why.clone());
        }
        match self.waits.get(&provider.id) {
            Some(Wait::Refused { object, why }) => Some(format!("{object}: {why}")),
            Some(Wait::ForSet(why) | Wait::TimedOut(why) | Wait::Stuck(why)) => Some(why.clone()),
            Some(Wait::ForCore | Wait::For(_)) => None,
            None => provider.refused().map(|(object, why)| format!("{object}: {why}")),
        }
    }
}

fn is_of_kubeadm(provider: &ProviderFacts) -> bool {
    matches!(provider.kind, ProviderKind::Bootstrap | ProviderKind::ControlPlane)
        && provider.id.name == KUBEADM
}
