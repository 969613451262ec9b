//! `capstan init [--write]`: the settings that fit a repository which has none, and what they find.

use capstan_model::file_change::FileChange;
use capstan_model::tree::{RepoPath, Tree};
use capstan_plan::onboarding::{
    FirstOffer, FittingRelease, Onboarded, Onboarding, ReleaseGuess, RolledMachines,
};
use capstan_plan::settings::REPOSITORY_FILE;
use capstan_report::{Refusal, first_release_command};
use serde_json::{Value, json};

use super::arguments::Init;
use super::context::today;
use super::progress::say;
use super::{ChangeFormat, Context, Failure, Outcome, init_release, output, text};
use capstan_fleet::generator::{NoWatch, onboard, templates_alone};

pub(super) fn run(context: &Context<'_>, command: &Init) -> Result<Outcome, Failure> {
    if let (Some(release), Some(from)) = (&command.release, &command.from) {
        return init_release::run(context, command, release, from);
    }
    let format = command.output.unwrap_or(ChangeFormat::Text);
    if format == ChangeFormat::Diff {
        let message =
            "`capstan init` prints text, json or yaml; with `--release` it prints a diff".to_owned();
        return Err(Failure::Usage(Refusal::Usage, message));
    }
    let workspace = context.workspace()?;
    let tree = context.tree(workspace.as_ref(), context.arguments.at.as_deref())?;
    let path = RepoPath::parse(REPOSITORY_FILE)
        .map_err(|error| Failure::Failed(Refusal::NotBegun, error.to_string()))?;
    let exists = tree.entry(&path).is_some();
    if exists && command.write {
        return Err(Failure::Usage(
            Refusal::NotBegun,
            format!(
                "{REPOSITORY_FILE} already exists, and Capstan never overwrites it: edit it, or compare it with what `capstan init` prints"
            ),
        ));
    }
    let Some(onboarding) = onboard(&tree, today(), &NoWatch) else {
        return Err(Failure::Usage(Refusal::NotBegun, nothing_here(tree.as_ref())));
    };
    if exists {
        say!("warning: {REPOSITORY_FILE} already exists; without it, Capstan would write this");
    }
    if command.write {
        workspace.write(&[FileChange { path, before: None, after: Some(onboarding.settings.clone()) }])?;
    }
    match format {
        ChangeFormat::Json => output::print_json(&element(&onboarding, command.write))?,
        ChangeFormat::Yaml => output::print_yaml(&element(&onboarding, command.write))?,
        _ => output::print_text(&in_words(&onboarding, command.write))?,
    }
    Ok(Outcome::Done)
}

fn nothing_here(tree: &dyn Tree) -> String {
    let templates = templates_alone(tree);
    if templates.is_empty() {
        return "there is nothing to set up here: no cluster, no provider set, no other object of Cluster API's and no release \
                was found"
            .to_owned();
    }
    let listed: String = templates.iter().map(|template| format!("\n  {template}")).collect();
    format!("there is nothing to set up here yet: only templates make clusters{listed}")
}

fn element(onboarding: &Onboarding, written: bool) -> Value {
    let left = onboarding.left.iter().map(|left| {
        let place = &left.place;
        json!({"file": place.file(), "line": place.line(), "column": place.column(), "message": left.message})
    });
    json!({
        "file": REPOSITORY_FILE,
        "written": written,
        "settings": onboarding.settings,
        "clusters": onboarding.clusters.iter().map(cluster).collect::<Vec<_>>(),
        "providerSets": onboarding.sets,
        "left": left.collect::<Vec<_>>(),
        "releases": onboarding.releases,
    })
}

fn cluster(cluster: &Onboarded) -> Value {
    let fit = |best: &FittingRelease| {
        json!({
            "release": best.release, "equal": best.equal, "differing": best.differing, "missing": best.missing,
            "percent": best.percent,
        })
    };
    let (outcome, release, best) = match &cluster.release {
        ReleaseGuess::Recorded(release) => ("recorded", Some(release.clone()), None),
        ReleaseGuess::Fits(best) => ("fits", Some(best.release.to_string()), Some(fit(best))),
        ReleaseGuess::Equals(_, best) => ("equals", None, Some(fit(best))),
        ReleaseGuess::Poor(best) => ("poor", None, Some(fit(best))),
        ReleaseGuess::NoCandidate => ("no-candidate", None, None),
        ReleaseGuess::Refused(_) => ("refused", None, None),
        ReleaseGuess::NotLookedAt => ("not-looked-at", None, None),
    };
    let appliers = cluster.applied_by.iter().map(|applier| {
        json!({"with": applier.with, "name": applier.name, "file": applier.place.file(), "line": applier.place.line()})
    });
    let offered = match &cluster.offer {
        FirstOffer::Offered { to, changes, machines, blocked } => {
            let machines = match machines {
                RolledMachines::Known(number) => Some(*number),
                RolledMachines::Unknown => None,
            };
            json!({"to": to, "changes": changes, "machines": machines, "blocked": blocked})
        }
        FirstOffer::Nothing(_) | FirstOffer::Refused(_) | FirstOffer::NotLookedAt => Value::Null,
    };
    json!({
        "cluster": cluster.id,
        "outcome": outcome,
        "release": release,
        "fit": best,
        "appliedBy": appliers.collect::<Vec<_>>(),
        "offered": offered,
        "reason": reason(cluster),
    })
}

/// Why there is no release, or why nothing is offered, where somebody should know.
fn reason(cluster: &Onboarded) -> Option<String> {
    match (&cluster.release, &cluster.offer) {
        (ReleaseGuess::Refused(why), _) | (_, FirstOffer::Refused(why) | FirstOffer::Nothing(Some(why))) => {
            Some(why.clone())
        }
        _ => None,
    }
}

fn in_words(onboarding: &Onboarding, written: bool) -> String {
    let done = if written { "written" } else { "as `--write` writes it" };
    let mut said = format!("{REPOSITORY_FILE}, {done}:\n\n");
    for line in onboarding.settings.lines() {
        said.push_str(if line.is_empty() { "" } else { "  " });
        said.push_str(line);
        said.push('\n');
    }
    said.push('\n');
    if !onboarding.clusters.is_empty() {
        let rows: Vec<Vec<String>> = onboarding.clusters.iter().map(row).collect();
        said.push_str(&text::table(&["cluster", "release", "fit", "applied by", "offered", "remark"], &rows));
        said.push('\n');
    }
    if !onboarding.sets.is_empty() {
        said.push_str("provider sets\n");
        for set in &onboarding.sets {
            said.push_str(&format!("  {set}\n"));
        }
        said.push('\n');
    }
    if !onboarding.left.is_empty() {
        said.push_str("found, and left for you to decide\n");
        for left in &onboarding.left {
            said.push_str(&format!("  {left}\n"));
        }
        said.push('\n');
    }
    if onboarding.releases.is_empty() {
        let from = onboarding.clusters.first().map_or("CLUSTER", |cluster| cluster.id.as_str());
        said.push_str(&format!(
            "There is no release yet. Make the first one from a cluster in its desired state:\n  {}\n",
            first_release_command(from)
        ));
    }
    said
}

fn row(cluster: &Onboarded) -> Vec<String> {
    let fit = |best: &FittingRelease| {
        format!(
            "{}%: {} equal, {} differing, {} missing",
            best.percent, best.equal, best.differing, best.missing
        )
    };
    let dash = || "-".to_owned();
    let (release, fit) = match &cluster.release {
        ReleaseGuess::Recorded(release) => (release.clone(), "recorded".to_owned()),
        ReleaseGuess::Fits(best) => (best.release.to_string(), fit(best)),
        ReleaseGuess::Equals(many, best) => {
            ("unknown".to_owned(), format!("{many} fit equally, {}", fit(best)))
        }
        ReleaseGuess::Poor(best) => {
            ("unknown".to_owned(), format!("even {} only {}", best.release, fit(best)))
        }
        ReleaseGuess::NoCandidate | ReleaseGuess::Refused(_) => ("unknown".to_owned(), dash()),
        ReleaseGuess::NotLookedAt => (dash(), dash()),
    };
    let appliers: Vec<String> = cluster
        .applied_by
        .iter()
        .take(3)
        .map(|applier| format!("{} {}", applier.with.in_words(), applier.name))
        .collect();
    let offered = match &cluster.offer {
        FirstOffer::Offered { to, .. } => to.clone(),
        FirstOffer::Nothing(_) | FirstOffer::Refused(_) | FirstOffer::NotLookedAt => dash(),
    };
    let by = if appliers.is_empty() { dash() } else { appliers.join(", ") };
    vec![cluster.id.to_string(), release, fit, by, offered, reason(cluster).unwrap_or_default()]
}
