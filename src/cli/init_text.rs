//! What `capstan init` prints: the settings, what they find, what moves, and the commands that come next.
//!
//! Each command that is printed works as it is, in this order, in the repository as the text leaves it.

use capstan_plan::onboarding::{FirstOffer, FittingRelease, Moving, Onboarded, Onboarding, ReleaseGuess};
use capstan_plan::settings::REPOSITORY_FILE;
use capstan_ports::Workspace;
use capstan_report::{MOVE_COMMAND, first_release_command};

use super::context::Context;
use super::{CommandFailure, text};

/// What was found, and what was done.
pub(super) struct FirstLook {
    pub(super) onboarding: Onboarding,
    /// What moves, where clusters have no folder of their own.
    pub(super) moves: Option<Moving>,
    pub(super) settings: SettingsFile,
    pub(super) done: InitOutcome,
    /// Whether the settings that are in force find the cluster of which the first release can be made.
    pub(super) reached: bool,
}

/// The file of settings before the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SettingsFile {
    Absent,
    /// As Capstan would write it.
    Proposed,
    /// Otherwise: it stays.
    Kept,
}

/// What the command wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InitOutcome {
    Nothing,
    /// The settings alone.
    Written,
    /// The files of clusters too.
    Moved,
}

impl FirstLook {
    /// Whether the settings that are in force, now or after the next command, find the example.
    pub(super) fn is_reached(
        &self,
        context: &Context<'_>,
        workspace: &dyn Workspace,
    ) -> Result<bool, CommandFailure> {
        let Some(example) = &self.onboarding.example else { return Ok(false) };
        if self.settings != SettingsFile::Kept {
            return Ok(true);
        }
        let fleet = context.fleet_of(workspace)?;
        Ok(fleet.layout().releases.is_empty() && fleet.layout().target(example.cluster.as_str()).is_some())
    }

    const fn can_move(&self) -> bool {
        match &self.moves {
            Some(moving) => moving.refused.is_empty() && !matches!(self.done, InitOutcome::Moved),
            None => false,
        }
    }
}

pub(super) fn in_words(shown: &FirstLook) -> String {
    let onboarding = &shown.onboarding;
    let done = match (shown.settings, shown.done) {
        (SettingsFile::Kept, _) => "as Capstan would write it",
        (_, InitOutcome::Nothing) => "as `--write` writes it",
        (_, InitOutcome::Written | InitOutcome::Moved) => "written",
    };
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
    let sets: Vec<String> = onboarding.sets.iter().map(ToString::to_string).collect();
    push_section(&mut said, "provider sets", &sets);
    let left: Vec<String> = onboarding.left.iter().map(ToString::to_string).collect();
    push_section(&mut said, "found, and left for you to decide", &left);
    if let Some(moving) = &shown.moves {
        push_moves(&mut said, moving, shown.done);
    }
    said + &next(shown)
}

fn push_section(said: &mut String, head: &str, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    said.push_str(&format!("{head}\n"));
    lines.iter().for_each(|line| said.push_str(&format!("  {line}\n")));
    said.push('\n');
}

fn push_moves(said: &mut String, moving: &Moving, done: InitOutcome) {
    if !moving.refused.is_empty() {
        let refused: Vec<String> = moving.refused.iter().map(ToString::to_string).collect();
        push_section(said, "`--write --move` gives each cluster its folder, once this is settled", &refused);
        return;
    }
    let mut lines = Vec::new();
    for (from, targets) in &moving.moves {
        lines.push(from.to_string());
        lines.extend(targets.iter().filter(|target| *target != from).map(|target| format!("  -> {target}")));
        if targets.contains(from) {
            lines.push("  the rest stays".to_owned());
        }
    }
    lines.extend(moving.edited.iter().map(|path| format!("{path} names the clusters' folders")));
    let moved = if done == InitOutcome::Moved { "moved" } else { "`--write --move` moves" };
    push_section(said, moved, &lines);
    let kept: Vec<String> = moving.kept.iter().map(|(place, words)| format!("{place}: {words}")).collect();
    push_section(said, "stays where it is", &kept);
}

/// The commands that come next.
fn next(shown: &FirstLook) -> String {
    let mut said = String::new();
    if shown.can_move() {
        let writes = if shown.settings == SettingsFile::Kept { "" } else { ", and writes the settings" };
        said.push_str(&format!(
            "This command gives each cluster a folder of its own{writes}. What the Flux and Argo CD objects in this repository apply stays the same. Capstan does not know objects elsewhere:\n  {MOVE_COMMAND}\n"
        ));
    }
    if !shown.onboarding.releases.is_empty() {
        return said;
    }
    let Some(example) = shown.onboarding.example.as_ref().filter(|_| shown.reached) else {
        said.push_str("There is no release yet. This page says how one is made:\n  capstan help first-contact#the-first-release\n");
        return said;
    };
    let command = first_release_command(example);
    let is_settled = shown.settings != SettingsFile::Absent || shown.done != InitOutcome::Nothing;
    if is_settled || shown.can_move() {
        said.push_str(&format!(
            "There is no release yet. Make the first one from a cluster in its desired state:\n  {command}\n"
        ));
    } else {
        said.push_str(&format!(
            "There is no release yet. Write the settings, and make the first one from a cluster in its desired state:\n  capstan init --write\n  {command}\n"
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
        ReleaseGuess::NotPlanned => (dash(), dash()),
    };
    let appliers: Vec<String> = cluster
        .applied_by
        .iter()
        .take(3)
        .map(|applier| format!("{} {}", applier.with.in_words(), applier.name))
        .collect();
    let offered = match &cluster.offer {
        FirstOffer::Offered { to, .. } => to.clone(),
        FirstOffer::Nothing(_) | FirstOffer::Refused(_) | FirstOffer::NotPlanned => dash(),
    };
    let by = if appliers.is_empty() { dash() } else { appliers.join(", ") };
    vec![cluster.id.to_string(), release, fit, by, offered, reason(cluster).unwrap_or_default()]
}

/// Why there is no release, or why nothing is offered, where somebody should know.
pub(super) fn reason(cluster: &Onboarded) -> Option<String> {
    match (&cluster.release, &cluster.offer) {
        (ReleaseGuess::Refused(why), _) | (_, FirstOffer::Refused(why) | FirstOffer::Nothing(Some(why))) => {
            Some(why.clone())
        }
        _ => None,
    }
}
