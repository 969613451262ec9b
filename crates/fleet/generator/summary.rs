//! One cluster's status, for tables.

use capstan_model::ids::{ClusterId, ReleaseId};
use capstan_model::source::SourceKind;
use capstan_model::target::TargetKind;
use capstan_plan::proposal::{ProposalPlan, wanted};
use capstan_plan::upgrade::ValuesCourse;

use super::gather::offered;
use super::plan::Planned;
use super::valued_plan::plan_values;
use super::{Fleet, Refused};

/// The status of a cluster, for tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// What it is.
    pub kind: TargetKind,
    /// Its release; `None` = unknown.
    pub current: Option<ReleaseId>,
    /// The release that it is offered next: one to which its upgrade would be written.
    pub offered: Option<ReleaseId>,
    /// The same if its upgrade must not be written before a person has decided something.
    pub blocked: Option<ReleaseId>,
    /// Whether something that is meant for it cannot be planned; the notes say why.
    pub failed: bool,
    /// Why nothing is offered, and what else a person should know.
    pub notes: Vec<String>,
}

impl Summary {
    /// Withdraws the offered release if its plan changes nothing, is blocked or failed, and notes why.
    fn see(&mut self, planned: &Planned) {
        let Some(to) = self.offered.take() else { return };
        match wanted(&SourceKind::RELEASE, &planned.as_ref().map_err(ToString::to_string)) {
            ProposalPlan::Offer(_) => self.offered = Some(to),
            ProposalPlan::Blocked { why } => {
                self.notes.insert(0, format!("Its upgrade to {to} is blocked. {}", why.join(" ")));
                self.blocked = Some(to);
            }
            ProposalPlan::Nothing { why, .. } => self.notes.insert(0, why),
            ProposalPlan::Unplannable { why } => {
                self.failed = true;
                let why = why.trim_end_matches('.');
                self.notes.insert(0, format!("Its upgrade to {to} cannot be planned: {why}."));
            }
        }
    }

    /// Notes the change that the inventory brings, or why it brings none.
    fn see_inventory(&mut self, planned: Option<&Planned>) {
        let Some(planned) = planned else { return };
        let planned = planned.as_ref().map_err(ToString::to_string);
        match wanted(&SourceKind::INVENTORY, &planned) {
            ProposalPlan::Blocked { why } => {
                self.notes.push(format!("Its change by the inventory is blocked. {}", why.join(" ")));
            }
            ProposalPlan::Unplannable { why } => {
                self.failed = true;
                let why = why.trim_end_matches('.');
                self.notes.push(format!("Its change by the inventory cannot be planned: {why}."));
            }
            ProposalPlan::Offer(_) => {
                let goes = planned.iter().filter_map(|upgrade| upgrade.values.as_ref());
                let says = match goes.map(|values| values.course).next() {
                    Some(ValuesCourse::Goes) => "The inventory removes it.",
                    _ => "The inventory changes its values.",
                };
                self.notes.push(says.to_owned());
            }
            ProposalPlan::Nothing { .. } => {}
        }
    }
}

/// The status of a cluster and what it is offered, by its plan: a blocked upgrade is not offered.
///
/// # Errors
/// A file of it that cannot be read.
pub fn summary(fleet: &Fleet, id: &ClusterId, planned: &Planned) -> Result<Summary, Refused> {
    let offered = offered(fleet, id, None)?;
    let (unknown, _) = offered.unknown_release(fleet.conditions(), fleet);
    let mut notes: Vec<String> = unknown.into_iter().map(|finding| finding.message + ".").collect();
    notes.extend(offered.reason());
    let offer = &offered.offer;
    notes.extend(offer.notes.iter().cloned());
    let mut summary = Summary {
        kind: offered.reading.cluster.folder.kind,
        offered: offer.step().map(|step| step.to.clone()),
        blocked: None,
        failed: false,
        current: offer.from.clone(),
        notes,
    };
    summary.see(planned);
    summary.see_inventory(plan_values(fleet, id).as_ref());
    Ok(summary)
}
