//! `capstan adopt [CLUSTER…] [--write]`

use capstan_model::file_change::FileChange;
use capstan_model::ids::ClusterId;
use capstan_model::tree::TreeId;
use capstan_plan::inference::{Inference, ReleaseCandidate, SENSIBLE_PERCENT, Verdict};
use capstan_plan::merge::ReleaseFit;
use serde_json::{Value, json};

use super::arguments::Adopt;
use super::context::Context;
use super::harmless::line;
use super::refusal::refusal;
use super::{CommandFailure, CommandOutcome, Format, output};
use capstan_fleet::generator::{Inferred, Refused, infer_release};

/// Releases that are shown of one cluster.
const SHOWN: usize = 5;

type AdoptResult = Result<Inferred, Refused>;

pub(super) fn run(context: &Context<'_>, command: &Adopt) -> Result<CommandOutcome, CommandFailure> {
    let workspace = context.workspace()?;
    let fleet = context.fleet_with_releases(workspace.as_ref())?;
    let clusters = context.clusters(workspace.as_ref(), &fleet, &command.clusters)?;
    let results: Vec<(ClusterId, AdoptResult)> =
        clusters.into_iter().map(|cluster| (cluster.clone(), infer_release(&fleet, &cluster))).collect();
    if command.write {
        workspace.write(&results.iter().filter_map(change).cloned().collect::<Vec<FileChange>>())?;
    }
    let elements = || results.iter().map(|(cluster, result)| element(cluster, result)).collect();
    match command.output {
        Format::Json => output::print_json(&elements())?,
        Format::Yaml => output::print_yaml(&elements())?,
        _ => {
            for (cluster, result) in &results {
                output::print_text(&text(cluster, result, command.write))?;
            }
        }
    }
    let is_open = |result: &AdoptResult| matches!(result, Ok(Inferred::Undecided(_)));
    Ok(if results.iter().any(|(_, result)| result.is_err()) {
        CommandOutcome::PartlyFailed
    } else if results.iter().any(|(_, result)| is_open(result)) {
        CommandOutcome::ErrorsStand
    } else {
        CommandOutcome::Done
    })
}

const fn change((_, result): &(ClusterId, AdoptResult)) -> Option<&FileChange> {
    match result {
        Ok(Inferred::Fits { change, .. }) => Some(change),
        _ => None,
    }
}

fn element(cluster: &ClusterId, result: &AdoptResult) -> Value {
    let adopted = match result {
        Ok(adopted) => adopted,
        Err(refused) => return refusal(cluster, refused),
    };
    let chosen = match adopted {
        Inferred::Fits { inference, .. } => inference.candidates.first(),
        _ => None,
    };
    let candidates: Vec<Value> = adopted.candidates().iter().take(SHOWN).map(candidate).collect();
    json!({
        "cluster": cluster,
        "outcome": word(adopted),
        "recorded": if let Inferred::Recorded(release) = adopted { Some(release) } else { None },
        "release": chosen.map(|candidate| &candidate.release),
        "releaseTree": chosen.and_then(tree),
        "fit": chosen.map(|candidate| fit(candidate.fit)),
        "file": if let Inferred::Fits { change, .. } = adopted { Some(&change.path) } else { None },
        "reason": reason(adopted),
        "candidates": candidates,
    })
}

fn candidate(candidate: &ReleaseCandidate) -> Value {
    json!({"release": candidate.release, "releaseTree": tree(candidate), "fit": fit(candidate.fit)})
}

fn tree(candidate: &ReleaseCandidate) -> Option<&TreeId> {
    candidate.content.as_ref().map(|content| &content.tree)
}

fn fit(fit: ReleaseFit) -> Value {
    json!({
        "equal": fit.equal, "differing": fit.differing, "missing": fit.missing, "percent": fit.percent(),
    })
}

const fn word(adopted: &Inferred) -> &'static str {
    match adopted {
        Inferred::Recorded(_) => "recorded",
        Inferred::Fits { .. } => "fits",
        Inferred::Undecided(Inference { verdict: Verdict::Equals(_), .. }) => "equals",
        Inferred::Undecided(Inference { verdict: Verdict::NoCandidate, .. }) => "no-candidate",
        Inferred::Undecided(_) => "poor",
    }
}

/// Why no release is recorded, in a sentence; `None` where one is.
fn reason(adopted: &Inferred) -> Option<String> {
    match adopted {
        Inferred::Fits { .. } => None,
        Inferred::Recorded(release) => Some(format!("Its release is recorded already: {release}.")),
        Inferred::Undecided(inference) => Some(match (inference.verdict, inference.candidates.first()) {
            (Verdict::Equals(count), Some(first)) => {
                let equals = inference.candidates.iter().take(count);
                let names: Vec<&str> = equals.map(|candidate| candidate.release.as_str()).collect();
                format!(
                    "{} fit equally well ({}), so none is taken: record `release` in its capstan.yaml.",
                    names.join(" and "),
                    in_words(first.fit),
                )
            }
            (_, Some(best)) => format!(
                "Even {} has only {}. Below {SENSIBLE_PERCENT}%, the base comes from another release, and every difference would count as the cluster's own edit for ever: record `release` in its capstan.yaml if you know it.",
                best.release,
                in_words(best.fit),
            ),
            (_, None) => {
                "It comes from no known release: no provider has releases with its infrastructure kinds."
                    .to_owned()
            }
        }),
    }
}

/// `95% of its fields: 38 equal, 1 differing, 1 missing`
fn in_words(fit: ReleaseFit) -> String {
    format!(
        "{}% of its fields: {} equal, {} differing, {} missing",
        fit.percent(),
        fit.equal,
        fit.differing,
        fit.missing
    )
}

fn text(cluster: &ClusterId, result: &AdoptResult, written: bool) -> String {
    let mut text = String::new();
    let (inference, change) = match result {
        Err(refused) => {
            line!(text, "{cluster}  cannot be read: {refused}");
            return text;
        }
        Ok(Inferred::Fits { inference, change }) => (inference, change),
        Ok(adopted) => {
            line!(text, "{cluster}  {}", reason(adopted).unwrap_or_default());
            return text;
        }
    };
    let mut candidates = inference.candidates.iter();
    if let Some(best) = candidates.next() {
        line!(text, "{cluster}  {}  has {}", best.release, in_words(best.fit));
    }
    if let Some(next) = candidates.next() {
        line!(text, "    next best: {}, {}", next.release, in_words(next.fit));
    }
    if written {
        line!(text, "    recorded in {}", change.path);
    }
    text
}
