//! An inventory that is opened, and the cluster of it that was typed.

use capstan_fleet::generator::Fleet;
use capstan_fleet::inventory;
use capstan_inventory::survey::Survey;
use capstan_inventory::values::{ClusterValues, Member};
use capstan_model::finding::Finding;
use capstan_model::spelling::{hint, nearest};
use capstan_plan::settings::InventorySettings;
use capstan_ports::Workspace;
use capstan_report::Refusal;

use super::super::{Failure, typed};
use super::printed::in_words;
use crate::cli::progress::say;

/// An inventory, and the checkout that it is in.
#[derive(Clone, Copy)]
pub(super) struct OpenedInventory<'a> {
    pub(super) workspace: &'a dyn Workspace,
    pub(super) fleet: &'a Fleet,
    pub(super) survey: &'a Survey,
}

/// What `.capstan.yaml` of a snapshot says of its inventory, which there must be.
pub(crate) fn settings_of(fleet: &Fleet) -> Result<&InventorySettings, Failure> {
    fleet.settings().inventory.as_ref().ok_or_else(|| {
        Failure::Usage(
            Refusal::Settings,
            "there is no inventory here: `.capstan.yaml` names its folder, `inventory: {path: inventory}`"
                .to_owned(),
        )
    })
}

/// The inventory that `.capstan.yaml` of a snapshot names.
pub(super) fn open_in(fleet: &Fleet) -> Result<Survey, Failure> {
    let settings = settings_of(fleet)?;
    let survey = inventory::survey(fleet, settings);
    for finding in &survey.inventory.findings {
        say!("{}", in_words(finding));
    }
    match &survey.inventory.unreadable {
        Some(place) => Err(Failure::Failed(
            Refusal::Unreadable,
            format!("part of the inventory cannot be read, so its values are unknown: see {place}"),
        )),
        None => Ok(survey),
    }
}

/// The definition that was typed, by its name or its folder, with its values.
pub(super) fn named<'s>(
    opened: OpenedInventory<'s>,
    typed: &str,
) -> Result<(Member<'s>, ClusterValues), Failure> {
    let survey = opened.survey;
    let paths = typed::paths(opened.workspace, typed);
    let by_name = survey.member(typed);
    let member = match by_name {
        Some(member) => member,
        None => survey
            .inventory
            .clusters()
            .filter_map(|cluster| Member::of(&survey.inventory, cluster).ok())
            .find(|member| survey.folder(member).is_ok_and(|folder| paths.contains(&folder)))
            .map(Ok)
            .ok_or_else(|| {
                Failure::Usage(
                    Refusal::NotFound,
                    format!("the inventory defines no cluster `{typed}`{}", meant(survey, typed)),
                )
            })?,
    };
    let member = member.map_err(|findings| refused(&findings))?;
    let values = survey.values(&member);
    Ok((member, values))
}

/// Which cluster may have been meant, by its name or its folder.
fn meant(survey: &Survey, typed: &str) -> String {
    let clusters = || survey.inventory.clusters();
    let names: Vec<&str> = clusters().map(|cluster| cluster.level.name.as_str()).collect();
    let members = clusters().filter_map(|cluster| Member::of(&survey.inventory, cluster).ok());
    let folders: Vec<String> =
        members.filter_map(|member| Some(survey.folder(&member).ok()?.to_string())).collect();
    match nearest(typed.trim_end_matches('/'), folders.iter().map(String::as_str)) {
        Some(folder) if nearest(typed, names.iter().copied()).is_none() => {
            format!("; did you mean `{folder}`?")
        }
        _ => hint(typed, &names),
    }
}

/// Says why a cluster has no values.
pub(super) fn refused(findings: &[Finding]) -> Failure {
    let lines: Vec<String> = findings.iter().map(in_words).collect();
    Failure::Failed(Refusal::Unreadable, format!("this cluster is refused:\n{}", lines.join("\n")))
}
