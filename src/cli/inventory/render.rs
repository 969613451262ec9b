//! The objects of templates, before they meet anything else.

use std::fs;
use std::path::Path;

use capstan_inventory::values::Member;
use capstan_model::finding::Severity;
use capstan_model::ids::ClusterId;
use capstan_model::wording::in_one_line;
use capstan_report::Refusal;

use super::super::arguments::InventoryRender;
use super::super::{CommandFailure, CommandOutcome, output};
use super::opened::{OpenedInventory, in_folder, in_folders, named};
use super::printed::{id, in_words};
use crate::cli::progress::say;

pub(super) fn run(
    opened: OpenedInventory<'_>,
    command: &InventoryRender,
) -> Result<CommandOutcome, CommandFailure> {
    let survey = opened.survey;
    let names: Vec<String> = match (command.all, command.clusters.is_empty()) {
        (true, _) => survey.inventory.clusters().map(|cluster| cluster.level.name.clone()).collect(),
        (false, false) => {
            let meant = command.clusters.iter().map(|typed| below(opened, typed));
            meant.collect::<Result<Vec<_>, CommandFailure>>()?.concat()
        }
        (false, true) => {
            let message = "name the clusters to render, or `--all`".to_owned();
            return Err(CommandFailure::Usage(Refusal::Usage, message));
        }
    };
    let mut outcome = CommandOutcome::Done;
    for name in names {
        let (member, values) = match named(opened, &name) {
            Ok(found) => found,
            Err(CommandFailure::Failed(_, message)) => {
                say!("{message}");
                outcome = outcome.max(CommandOutcome::PartlyFailed);
                continue;
            }
            Err(failure) => return Err(failure),
        };
        let rendered = match survey.render(&member, &values) {
            Ok(rendered) => rendered,
            Err(findings) => {
                for finding in findings.iter().filter(|finding| finding.severity() == Severity::Error) {
                    say!("{name}: {}", in_words(finding));
                }
                outcome = outcome.max(CommandOutcome::PartlyFailed);
                continue;
            }
        };
        let cluster = id(survey, &member);
        for file in &rendered.files {
            match &command.out {
                Some(out) => write(&out.join(&cluster).join(&file.name), &file.text)?,
                None => {
                    output::print(&format!("---\n# {}: {}\n", in_one_line(&cluster), file.name))?;
                    output::print(&file.text)?;
                }
            }
        }
    }
    Ok(outcome)
}

/// What one name means: a definition, or all definitions whose folders are below a path.
fn below(opened: OpenedInventory<'_>, typed: &str) -> Result<Vec<String>, CommandFailure> {
    if opened.survey.member(typed).is_some() {
        return Ok(vec![typed.to_owned()]);
    }
    let (folders, members): (Vec<ClusterId>, Vec<Member<'_>>) = in_folders(opened.survey).into_iter().unzip();
    let meant = in_folder(opened, &folders, typed)?;
    // By their names: a folder may be called like another definition.
    let found = folders.iter().zip(&members).filter(|(folder, _)| meant.contains(folder));
    Ok(found.map(|(_, member)| member.name().to_owned()).collect())
}

fn write(path: &Path, text: &str) -> Result<(), CommandFailure> {
    let written = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(path, text));
    written.map_err(|error| {
        CommandFailure::Failed(Refusal::Unreadable, format!("{} cannot be written: {error}", path.display()))
    })
}
