//! `capstan init [--write [--move]]`: the settings that fit a repository which has none, what they find, and the moves that
//! give each cluster a folder of its own.

use std::sync::Arc;

use capstan_model::file_change::FileChange;
use capstan_model::finding::Place;
use capstan_model::tree::{RepoPath, Tree};
use capstan_plan::onboarding::{
    AppliedBelow, FirstOffer, FittingRelease, Moving, Onboarded, ReleaseGuess, RepositoryAddresses,
    RolledMachines, settings_in_the_way,
};
use capstan_plan::settings::REPOSITORY_FILE;
use capstan_ports::{GitObstacle, NewFile, Workspace};
use capstan_report::Refusal;
use serde_json::{Value, json};

use super::arguments::Init;
use super::context::Context;
use super::context::today;
use super::init_text::{FirstLook, InitOutcome, SettingsFile, in_words, reason};
use super::progress::say;
use super::{ChangeFormat, CommandFailure, CommandOutcome, init_release, output};
use capstan_fleet::generator::{
    NoWatch, SettingsAfterMove, move_clusters, onboard, templates_alone, uncommitted,
};

pub(super) fn run(context: &Context<'_>, command: &Init) -> Result<CommandOutcome, CommandFailure> {
    if let (Some(release), Some(from)) = (&command.release, &command.from) {
        return init_release::run(context, command, release, from);
    }
    let format = command.output.unwrap_or(ChangeFormat::Text);
    if format == ChangeFormat::Diff {
        let message =
            "`capstan init` prints text, json or yaml; with `--release` it prints a diff".to_owned();
        return Err(CommandFailure::Usage(Refusal::Usage, message));
    }
    let workspace = context.workspace()?;
    let tree = context.tree(workspace.as_ref(), context.arguments.at.as_deref())?;
    let path = RepoPath::parse(REPOSITORY_FILE)
        .map_err(|error| CommandFailure::Failed(Refusal::NotBegun, error.to_string()))?;
    let exists = tree.entry(&path).is_some();
    if exists && command.write && !command.moves {
        return Err(CommandFailure::Usage(
            Refusal::NotBegun,
            format!(
                "{REPOSITORY_FILE} already exists, and Capstan never overwrites it: edit it, or compare it with what `capstan init` prints"
            ),
        ));
    }
    let Some(onboarding) = onboard(&tree, today(), &NoWatch) else {
        return Err(CommandFailure::Usage(Refusal::NotBegun, nothing_here(tree.as_ref())));
    };
    let text = tree.entry(&path).and_then(|entry| tree.read(entry).ok());
    let settings = match text {
        None => SettingsFile::Absent,
        Some(text) if *text == *onboarding.settings.as_bytes() => SettingsFile::Proposed,
        Some(_) => SettingsFile::Kept,
    };
    if exists && !command.write {
        say!("warning: {REPOSITORY_FILE} already exists; without it, Capstan would write this");
    }
    let before_move = onboarding.settings.clone();
    let mut shown =
        FirstLook { onboarding, moves: None, settings, done: InitOutcome::Nothing, reached: true };
    let mut after = Arc::clone(&tree);
    if shown.onboarding.crowded > 0 || command.moves {
        let after_move = match settings {
            SettingsFile::Kept => SettingsAfterMove::Kept,
            SettingsFile::Absent | SettingsFile::Proposed => SettingsAfterMove::Proposed,
        };
        let applied_below = if command.applied_below { AppliedBelow::Stated } else { AppliedBelow::Shown };
        let moved = move_clusters(workspace.as_ref(), &tree, after_move, applied_below)?;
        after = moved.after;
        let is_needed = shown.onboarding.crowded > 0 || !moved.moving.refused.is_empty();
        shown.moves = is_needed.then_some(moved.moving);
    }
    if command.moves {
        may_move(workspace.as_ref(), tree.as_ref(), &shown)?;
        shown.onboarding = onboard(&after, today(), &NoWatch).unwrap_or(shown.onboarding);
    }
    if command.write && !command.moves {
        may_write(workspace.as_ref(), tree.as_ref())?;
    }
    if command.write {
        let mut changes = Vec::new();
        if command.moves {
            changes.extend(shown.moves.iter().flat_map(|moving| moving.changes.iter().cloned()));
        }
        if settings != SettingsFile::Kept {
            let before = exists.then(|| before_move.clone());
            changes.push(FileChange { path, before, after: Some(shown.onboarding.settings.clone()) });
        }
        workspace.write(&changes)?;
        shown.done =
            if command.moves && shown.moves.is_some() { InitOutcome::Moved } else { InitOutcome::Written };
    }
    shown.reached = shown.is_reached(context, workspace.as_ref())?;
    match format {
        ChangeFormat::Json => output::print_json(&element(&shown))?,
        ChangeFormat::Yaml => output::print_yaml(&element(&shown))?,
        _ => output::print_text(&in_words(&shown))?,
    }
    Ok(CommandOutcome::Done)
}

/// Whether the settings may be written: Flux would not take them for a manifest.
fn may_write(workspace: &dyn Workspace, tree: &dyn Tree) -> Result<(), CommandFailure> {
    let remotes = workspace.remotes();
    let own = RepositoryAddresses::of(remotes.iter().map(String::as_str));
    let in_the_way = settings_in_the_way(tree, &own);
    if in_the_way.is_empty() {
        return Ok(());
    }
    let listed: String = in_the_way.iter().map(|error| format!("\n  {error}")).collect();
    Err(CommandFailure::Failed(Refusal::NotBegun, format!("nothing is written:{listed}")))
}

/// Whether files may move: nothing is refused, and no file that moves or proves the move has changes that the last
/// commit lacks.
fn may_move(workspace: &dyn Workspace, tree: &dyn Tree, shown: &FirstLook) -> Result<(), CommandFailure> {
    let Some(moving) = &shown.moves else {
        if shown.settings == SettingsFile::Absent {
            return may_write(workspace, tree);
        }
        let message = format!(
            "{REPOSITORY_FILE} already exists, and each cluster has its folder: there is nothing to move"
        );
        return Err(CommandFailure::Usage(Refusal::NotBegun, message));
    };
    if !moving.refused.is_empty() {
        let listed: String = moving.refused.iter().map(|refused| format!("\n  {refused}")).collect();
        return Err(CommandFailure::Failed(Refusal::NotBegun, format!("nothing is moved:{listed}")));
    }
    let dirty = uncommitted(workspace, tree, &moving.changes)?;
    if dirty.is_empty() {
        return not_kept_from_git(workspace, moving);
    }
    let listed: String = dirty.iter().map(|path| format!("\n  {path}")).collect();
    let message = format!(
        "nothing is moved: these files have changes that are not committed. Commit or stash them first: only what is committed shows what is applied, and the move can be undone then{listed}"
    );
    Err(CommandFailure::Failed(Refusal::NotBegun, message))
}

/// Whether Git takes the new files, and stores them as it stores those that they are from.
fn not_kept_from_git(workspace: &dyn Workspace, moving: &Moving) -> Result<(), CommandFailure> {
    let created = moving.changes.iter().filter(|change| change.before.is_none());
    let mut files: Vec<NewFile> = Vec::new();
    for FileChange { path, .. } in created {
        let from = moving.moves.iter().find(|(_, targets)| targets.contains(path));
        files.push(NewFile { path: path.clone(), from: from.map(|(from, _)| from.clone()) });
    }
    let obstacles = workspace.obstacles(&files)?;
    if obstacles.is_empty() {
        return Ok(());
    }
    let words = |obstacle: &GitObstacle| match obstacle {
        GitObstacle::NotTaken(path) => format!(
            "\n  {path}: `git add` would not take this new file, so its cluster would be missing from the next commit: it is ignored, or in another repository. Change `.gitignore`, or remove the other repository"
        ),
        GitObstacle::OutsideSparseCheckout(path) => format!(
            "\n  {path}: `git add` would not take this new file, since it would be outside of the sparse checkout: run `git sparse-checkout add {}`, and the command again",
            path.parent().filter(|folder| !folder.is_root()).as_ref().unwrap_or(path)
        ),
        GitObstacle::Converted(NewFile { path, from }) => format!(
            "\n  {path}: Git would store this new file otherwise than {}, perhaps without encryption: write `.gitattributes` so that both have the same attributes",
            from.as_ref().map_or("before", RepoPath::as_str)
        ),
    };
    let listed: String = obstacles.iter().map(words).collect();
    Err(CommandFailure::Failed(Refusal::NotBegun, format!("nothing is moved:{listed}")))
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

fn element(shown: &FirstLook) -> Value {
    let onboarding = &shown.onboarding;
    let told = |place: &Place, message: &str| json!({"file": place.file(), "line": place.line(), "column": place.column(), "message": message});
    let left = onboarding.left.iter().map(|left| told(&left.place, &left.message));
    let moves = shown.moves.as_ref().map(|moving| {
        let files = moving.moves.iter().map(|(from, to)| json!({"from": from, "to": to}));
        let kept = moving.kept.iter().map(|(place, message)| told(place, message));
        let refused = moving.refused.iter().map(|refused| told(&refused.place, &refused.message));
        json!({
            "files": files.collect::<Vec<_>>(),
            "kustomizations": moving.edited,
            "kept": kept.collect::<Vec<_>>(),
            "refused": refused.collect::<Vec<_>>(),
            "moved": shown.done == InitOutcome::Moved,
        })
    });
    json!({
        "file": REPOSITORY_FILE,
        "written": shown.done != InitOutcome::Nothing && shown.settings != SettingsFile::Kept,
        "settings": onboarding.settings,
        "clusters": onboarding.clusters.iter().map(cluster).collect::<Vec<_>>(),
        "providerSets": onboarding.sets,
        "left": left.collect::<Vec<_>>(),
        "moves": moves,
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
        ReleaseGuess::NotPlanned => ("not-looked-at", None, None),
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
        FirstOffer::Nothing(_) | FirstOffer::Refused(_) | FirstOffer::NotPlanned => Value::Null,
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
