//! `capstan create CLUSTER --from RELEASE [--set KEY=VALUE]… [--write]`

use std::collections::BTreeMap;

use capstan_model::finding::Severity;
use capstan_model::ids::{ClusterId, ReleaseName};
use capstan_model::tree::RepoPath;
use capstan_model::wording::count;
use capstan_plan::creation::CreatedCluster;
use capstan_plan::verbs::ClusterFrom;
use capstan_plan::{patch, upgrade};
use capstan_report::Refusal;
use serde_json::{Value, json};

use super::arguments::Create;
use super::{Context, Failure, Format, Outcome, output, text};
use capstan_fleet::generator::NotPossible;

impl From<NotPossible> for Failure {
    fn from(why: NotPossible) -> Self {
        match why {
            NotPossible::Usage(message) => Self::Usage(Refusal::NotCreatedHere, message),
            NotPossible::Failed(message) => Self::Failed(Refusal::NotCreatedHere, message),
        }
    }
}

pub(super) fn run(context: &Context<'_>, command: &Create) -> Result<Outcome, Failure> {
    if command.output == Format::Markdown {
        return Err(output::unsupported("create", command.output, "diff, text, json or yaml"));
    }
    let wanted = wanted(command)?;
    let workspace = context.workspace()?;
    let fleet = context.fleet_with_releases(workspace.as_ref())?;
    let created = fleet.create_cluster(&wanted)?;
    if command.write {
        workspace.write(&created.files)?;
    }
    match command.output {
        Format::Diff if command.write => {}
        Format::Diff => output::print(&patch::unified(&created.files))?,
        Format::Json => output::print_json(&element(&created, command.write))?,
        Format::Yaml => output::print_yaml(&element(&created, command.write))?,
        Format::Text | Format::Markdown => {
            for file in &created.files {
                output::print(&format!("{}\n", file.path))?;
            }
        }
    }
    for finding in &created.findings {
        anstream::eprintln!("{}", text::finding(finding));
    }
    for note in &created.notes {
        anstream::eprintln!("note: {note}");
    }
    let done = if command.write { "is written" } else { "would be made (`--write` does)" };
    anstream::eprintln!(
        "{} {done}: {} of {}, and planning it to that release changes nothing",
        created.cluster,
        count(created.objects.len(), "object", "objects"),
        created.release
    );
    let errors = created.findings.iter().any(|finding| finding.severity() == Severity::Error);
    Ok(if errors { Outcome::ErrorsStand } else { Outcome::Done })
}

fn wanted(command: &Create) -> Result<ClusterFrom, Failure> {
    let typed = command.cluster.trim_start_matches("./").trim_end_matches('/');
    let folder = RepoPath::parse(typed).ok().filter(|path| !path.is_root());
    let folder = folder.ok_or_else(|| {
        Failure::Usage(
            Refusal::NotCreatedHere,
            format!("`{typed}` is no path of a folder in the repository, e.g. gauss/peu01"),
        )
    })?;
    let release = ReleaseName::parse(command.from.trim_end_matches('/')).ok_or_else(|| {
        Failure::Usage(
            Refusal::NotCreatedHere,
            format!(
                "`{}` is no release: give its id, e.g. aws/v21.0.0 (`capstan releases` lists them)",
                command.from
            ),
        )
    })?;
    let mut variables = BTreeMap::new();
    for given in &command.set {
        let Some((name, value)) = given.split_once('=').filter(|(name, _)| !name.is_empty()) else {
            return Err(Failure::Usage(Refusal::NotCreatedHere, format!("`--set {given}` is no KEY=VALUE")));
        };
        if variables.insert(name.to_owned(), value.to_owned()).is_some_and(|before| before != value) {
            return Err(Failure::Usage(Refusal::NotCreatedHere, format!("`--set` gives {name} two values")));
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
