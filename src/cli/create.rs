//! `capstan create CLUSTER --from RELEASE [--set KEY=VALUE]… [--write]`

use std::collections::BTreeMap;

use capstan_model::finding::Severity;
use capstan_model::ids::ClusterId;
use capstan_model::wording::count;
use capstan_plan::creation::CreatedCluster;
use capstan_plan::verbs::ClusterFrom;
use capstan_plan::{patch, upgrade};
use capstan_report::Refusal;
use serde_json::{Value, json};

use super::arguments::Create;
use super::context::Context;
use super::progress::say;
use super::typed_release::release;
use super::{ChangeFormat, CommandFailure, CommandOutcome, output, text, typed};
use capstan_fleet::generator::{Fleet, NotPossible, create_cluster};
use capstan_ports::Workspace;

impl From<NotPossible> for CommandFailure {
    fn from(why: NotPossible) -> Self {
        match why {
            NotPossible::Usage(message) => Self::Usage(Refusal::NotCreatedHere, message),
            NotPossible::Failed(message) => Self::Failed(Refusal::NotCreatedHere, message),
        }
    }
}

pub(super) fn run(context: &Context<'_>, command: &Create) -> Result<CommandOutcome, CommandFailure> {
    let workspace = context.workspace()?;
    let fleet = context.fleet_with_releases(workspace.as_ref())?;
    let wanted = wanted(workspace.as_ref(), &fleet, command)?;
    let created = create_cluster(&fleet, &wanted).map_err(in_words)?;
    if command.write {
        workspace.write(&created.files)?;
    }
    match command.output {
        ChangeFormat::Diff if command.write => {}
        ChangeFormat::Diff => output::print(&patch::unified(&created.files))?,
        ChangeFormat::Json => output::print_json(&element(&created, command.write))?,
        ChangeFormat::Yaml => output::print_yaml(&element(&created, command.write))?,
        ChangeFormat::Text => {
            for file in &created.files {
                output::print_line(&format!("{}", file.path))?;
            }
        }
    }
    for finding in &created.findings {
        say!("{}", text::finding(finding));
    }
    for note in &created.notes {
        say!("note: {note}");
    }
    let done = if command.write { "is written" } else { "would be made (with `--write`)" };
    say!(
        "{} {done}: {} of {}, and planning it to that release changes nothing",
        created.cluster,
        count(created.objects.len(), "object", "objects"),
        created.release
    );
    let errors = created.findings.iter().any(|finding| finding.severity() == Severity::Error);
    Ok(if errors { CommandOutcome::ErrorsStand } else { CommandOutcome::Done })
}

/// Why no cluster is made, with the flag that gives a value; several mistakes under one heading.
fn in_words(why: NotPossible) -> CommandFailure {
    let NotPossible::Usage(message) = why else { return why.into() };
    let message = message.replace("give it one, `", "give it one, `--set ");
    NotPossible::Usage(match message.lines().count() {
        0 | 1 => message,
        many => format!("{many} values are wrong or missing:\n{message}"),
    })
    .into()
}

fn wanted(workspace: &dyn Workspace, fleet: &Fleet, command: &Create) -> Result<ClusterFrom, CommandFailure> {
    let folder = typed::new_folder(workspace, &command.cluster);
    let folder = folder.ok_or_else(|| {
        CommandFailure::Usage(
            Refusal::NotCreatedHere,
            format!("`{}` is not a path of a folder in the repository, e.g. gauss/peu01", command.cluster),
        )
    })?;
    let release =
        release(fleet, &command.from).map_err(|why| CommandFailure::Usage(Refusal::NotCreatedHere, why))?;
    let mut variables = BTreeMap::new();
    for given in &command.set {
        let Some((name, value)) = given.split_once('=').filter(|(name, _)| !name.is_empty()) else {
            return Err(CommandFailure::Usage(
                Refusal::NotCreatedHere,
                format!("`--set {given}` is not KEY=VALUE"),
            ));
        };
        if variables.insert(name.to_owned(), value.to_owned()).is_some_and(|before| before != value) {
            return Err(CommandFailure::Usage(
                Refusal::NotCreatedHere,
                format!("`--set` gives {name} two values"),
            ));
        }
    }
    Ok(ClusterFrom { cluster: ClusterId::new(folder), release, variables })
}

fn element(created: &CreatedCluster, written: bool) -> Value {
    let files = created.files.iter().map(|file| json!({"path": file.path, "action": "add"}));
    json!({
        "cluster": created.cluster,
        "release": created.release,
        "written": written,
        "claimedBy": created.claimed_by,
        "variables": created.variables,
        "files": files.collect::<Vec<_>>(),
        "objects": created.objects,
        "findings": created.findings.iter().map(upgrade::finding_to_json).collect::<Vec<_>>(),
        "notes": created.notes,
    })
}
