//! The objects of templates, before they meet anything else.

use std::fs;
use std::path::Path;

use capstan_model::finding::Severity;
use capstan_model::wording::in_one_line;
use capstan_report::Refusal;

use super::super::arguments::InventoryRender;
use super::super::{Failure, Outcome, output};
use super::{OpenedInventory, id, in_words, named};
use crate::cli::progress::say;

pub(super) fn run(opened: OpenedInventory<'_>, command: &InventoryRender) -> Result<Outcome, Failure> {
    let survey = opened.survey;
    let names: Vec<String> = match (command.all, command.clusters.is_empty()) {
        (true, _) => survey.inventory.clusters().map(|cluster| cluster.level.name.clone()).collect(),
        (false, false) => command.clusters.clone(),
        (false, true) => {
            let message = "name the clusters to render, or `--all`".to_owned();
            return Err(Failure::Usage(Refusal::Usage, message));
        }
    };
    let mut outcome = Outcome::Done;
    for name in names {
        let (member, values) = match named(opened, &name) {
            Ok(found) => found,
            Err(Failure::Failed(_, message)) => {
                say!("{message}");
                outcome = outcome.max(Outcome::PartlyFailed);
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
                outcome = outcome.max(Outcome::PartlyFailed);
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

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let written = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(path, text));
    written.map_err(|error| {
        Failure::Failed(Refusal::Unreadable, format!("{} cannot be written: {error}", path.display()))
    })
}
