//! An inventory that is opened, and the cluster of it that was typed.

use capstan_fleet::generator::Fleet;
use capstan_fleet::inventory;
use capstan_inventory::survey::Survey;
use capstan_inventory::values::{ClusterValues, Member};
use capstan_model::finding::Finding;
use capstan_model::ids::ClusterId;
use capstan_model::spelling::{hint, suggestion};
use capstan_plan::settings::InventorySettings;
use capstan_ports::Workspace;
use capstan_report::Refusal;

use super::super::{CommandFailure, typed};
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
pub(crate) fn settings_of(fleet: &Fleet) -> Result<&InventorySettings, CommandFailure> {
    fleet.settings().inventory.as_ref().ok_or_else(|| {
        CommandFailure::Usage(
            Refusal::Settings,
            "there is no inventory here: `.capstan.yaml` names its folder, `inventory: {path: inventory}`"
                .to_owned(),
        )
    })
}

/// The inventory that `.capstan.yaml` of a snapshot names.
pub(super) fn open_in(fleet: &Fleet) -> Result<Survey, CommandFailure> {
    let settings = settings_of(fleet)?;
    let survey = inventory::survey(fleet, settings);
    for finding in &survey.inventory.findings {
        say!("{}", in_words(finding));
    }
    match &survey.inventory.unreadable {
        Some(place) => Err(CommandFailure::Failed(
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
) -> Result<(Member<'s>, ClusterValues), CommandFailure> {
    let survey = opened.survey;
    let member = match survey.member(typed) {
        Some(member) => member.map_err(|findings| refused(&findings))?,
        None => {
            let (folders, members): (Vec<ClusterId>, Vec<Member<'_>>) =
                in_folders(survey).into_iter().unzip();
            let meant = typed::only(in_folder(opened, &folders, typed)?, typed)?;
            let found = folders.iter().zip(members).find(|(folder, _)| **folder == meant);
            found.map(|(_, member)| member).ok_or_else(|| undefined(survey, &folders, typed))?
        }
    };
    let values = survey.values(&member);
    Ok((member, values))
}

/// The definitions that have a folder, with it.
pub(super) fn in_folders(survey: &Survey) -> Vec<(ClusterId, Member<'_>)> {
    let members =
        survey.inventory.clusters().filter_map(|cluster| Member::of(&survey.inventory, cluster).ok());
    members.filter_map(|member| Some((ClusterId::new(survey.folder(&member).ok()?), member))).collect()
}

/// The folders of definitions that a path means, of which there is one at least.
pub(super) fn in_folder(
    opened: OpenedInventory<'_>,
    folders: &[ClusterId],
    typed: &str,
) -> Result<Vec<ClusterId>, CommandFailure> {
    let known: Vec<&ClusterId> = folders.iter().collect();
    let meant = typed::matching(opened.workspace, opened.fleet.tree().as_ref(), &known, typed)?;
    if meant.is_empty() { Err(undefined(opened.survey, folders, typed)) } else { Ok(meant) }
}

/// What the inventory does not define, and which cluster may have been meant, by its name or its folder.
fn undefined(survey: &Survey, folders: &[ClusterId], typed: &str) -> CommandFailure {
    let names: Vec<&str> = survey.inventory.clusters().map(|cluster| cluster.level.name.as_str()).collect();
    let by_folder = suggestion(typed.trim_end_matches('/'), folders.iter().map(ClusterId::as_str));
    let meant = match suggestion(typed, names.iter().copied()) {
        none if none.is_empty() && !by_folder.is_empty() => by_folder,
        _ => hint(typed, &names),
    };
    CommandFailure::Usage(Refusal::NotFound, format!("the inventory defines no cluster `{typed}`{meant}"))
}

/// Says why a cluster has no values.
pub(super) fn refused(findings: &[Finding]) -> CommandFailure {
    let lines: Vec<String> = findings.iter().map(in_words).collect();
    CommandFailure::Failed(Refusal::Unreadable, format!("this cluster is refused:\n{}", lines.join("\n")))
}
