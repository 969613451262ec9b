//! The onboarding pull request: what was found, what Capstan would do, and how to decline.

use super::body::shell_word;
use super::markdown::{Page, code, code_cell, more_below, prose, prose_cell};
use capstan_model::digest::sha256;
use capstan_model::ids::ClusterId;
use capstan_model::wording::count;
use capstan_plan::onboarding::{
    Applier, FirstOffer, FittingRelease, Onboarded, Onboarding, ReleaseExample, ReleaseGuess, RolledMachines,
};

pub const ONBOARDING_TITLE: &str = "Set up Capstan: add .capstan.yaml";

/// Marks the digest of Capstan's text in a body, so that a person's additions stay until the text changes. It
/// is not authenticated, and no decision depends on it.
const MARK: &str = "<!-- capstan-onboarding ";

/// Well below GitHub's limit, so that people may add text.
const LONGEST: usize = 60_000;

/// The whole body.
pub fn onboarding_body(onboarding: &Onboarding) -> String {
    let visible = visible(onboarding);
    let mark = mark(&visible);
    visible + "\n" + &mark
}

/// Whether a body was made from the same content, whatever people added to it since.
pub fn says_onboarding(body: &str, onboarding: &Onboarding) -> bool {
    body.contains(&mark(&visible(onboarding)))
}

fn mark(visible: &str) -> String {
    format!("{MARK}{} -->\n", &sha256(visible)[..16])
}

fn visible(onboarding: &Onboarding) -> String {
    let mut page = Page::new(LONGEST);
    page.push(
        "Capstan is installed here, and this repository has no `.capstan.yaml`. This pull request adds one that fits what Capstan found. **Until there is one on the default branch, Capstan does nothing else here**: no check, no comment, no other branch.\n",
    );
    let (moves, first, modes) = (moves(onboarding), first_release(onboarding), MODES);
    let end = NEXT_STEPS.len() + moves.len() + first.len() + modes.len();
    let mut section = |head: &str, rows: &[String], budget: usize, [one, many]: [&str; 2]| {
        let budget = budget.min(page.free().saturating_sub(end));
        page.section(head, rows, budget, |left| more_below(left, one, many));
    };
    let found = count(onboarding.clusters.len(), "cluster", "clusters");
    section(
        &format!(
            "\n### What was found\n\n{found}, {}.\n\n| Cluster | Release that it comes from | How well that fits | Applied by |\n|---|---|---|---|\n",
            count(onboarding.releases.len(), "release", "releases")
        ),
        &onboarding.clusters.iter().map(cluster_row).collect::<Vec<_>>(),
        25_000,
        ["cluster", "clusters"],
    );
    if onboarding.clusters.is_empty() {
        let releases = match onboarding.releases.len() {
            0 => "no release".to_owned(),
            some => count(some, "release", "releases"),
        };
        let row = format!("No folder that is a cluster by itself, {releases}.\n");
        section("\n### What was found\n\n", &[row], 1_000, ["cluster", "clusters"]);
    }
    let set = |set: &ClusterId| format!("- {}\n", code(set.as_str(), 200));
    section(
        "\n### Provider sets\n\nThese folders hold objects of the Cluster API operator. Capstan upgrades them like clusters. No file says yet which management cluster runs one: name it in `managementClusters`, as the settings show.\n\n",
        &onboarding.sets.iter().map(set).collect::<Vec<_>>(),
        4_000,
        ["provider set", "provider sets"],
    );
    section(
        "\n### Found, and left to you\n\n",
        &onboarding
            .left
            .iter()
            .map(|left| format!("- {}: {}\n", code(&left.place.to_string(), 300), prose(&left.message, 600)))
            .collect::<Vec<_>>(),
        12_000,
        ["place", "places"],
    );
    section(
        "\n### What would be offered first, with `mode: propose`\n\n| Cluster | To | What it would do |\n|---|---|---|\n",
        &onboarding.clusters.iter().filter_map(offer_row).collect::<Vec<_>>(),
        12_000,
        ["cluster", "clusters"],
    );
    page.push(&moves);
    page.push(&first);
    page.push(modes);
    page.push(NEXT_STEPS);
    page.finish()
}

fn cluster_row(cluster: &Onboarded) -> String {
    let (release, fit) = match &cluster.release {
        ReleaseGuess::Recorded(release) => (code_cell(release, 100), "recorded".to_owned()),
        ReleaseGuess::Fits(best) => (code_cell(best.release.as_str(), 100), fit(best)),
        ReleaseGuess::Equals(many, best) => (
            "unknown".to_owned(),
            format!(
                "{many} releases fit equally well, including {}: {}",
                code_cell(best.release.as_str(), 100),
                fit(best)
            ),
        ),
        ReleaseGuess::Poor(best) => (
            "unknown".to_owned(),
            format!("even {} fits badly: {}", code_cell(best.release.as_str(), 100), fit(best)),
        ),
        ReleaseGuess::NoCandidate => ("unknown".to_owned(), "no release that it could come from".to_owned()),
        ReleaseGuess::Refused(why) => {
            ("unknown".to_owned(), prose_cell(&format!("cannot be read: {why}"), 300))
        }
        ReleaseGuess::NotPlanned => ("not searched yet".to_owned(), String::new()),
    };
    format!(
        "| {} | {release} | {fit} | {} |\n",
        code_cell(cluster.id.as_str(), 200),
        applied_by(&cluster.applied_by)
    )
}

fn fit(fit: &FittingRelease) -> String {
    let equal = count(fit.equal, "field", "fields");
    format!("{}%: {equal} equal, {} otherwise, {} missing", fit.percent, fit.differing, fit.missing)
}

fn applied_by(appliers: &[Applier]) -> String {
    const SHOWN: usize = 3;
    let mut words: Vec<String> = appliers
        .iter()
        .take(SHOWN)
        .map(|applier| format!("{} {}", applier.with.in_words(), code_cell(&applier.name, 100)))
        .collect();
    if appliers.len() > SHOWN {
        words.push(format!("{} more", appliers.len() - SHOWN));
    }
    if words.is_empty() { "none found".to_owned() } else { words.join(", ") }
}

fn offer_row(cluster: &Onboarded) -> Option<String> {
    let (to, what) = match &cluster.offer {
        FirstOffer::Offered { to, changes, machines, blocked } => {
            let changes = count(*changes, "change", "changes");
            let rolls = match machines {
                RolledMachines::Known(0) => "no machine is replaced".to_owned(),
                RolledMachines::Known(number) => {
                    let number = count(usize::try_from(*number).unwrap_or(usize::MAX), "machine", "machines");
                    format!("replaces {number}")
                }
                RolledMachines::Unknown => "replaces an unknown number of machines".to_owned(),
            };
            let held =
                blocked.as_ref().map(|why| format!("; waits: {}", prose_cell(why, 300))).unwrap_or_default();
            (code_cell(to, 100), format!("{changes}, {rolls}{held}"))
        }
        FirstOffer::Refused(why) => ("-".to_owned(), prose_cell(&format!("cannot be planned: {why}"), 300)),
        FirstOffer::Nothing(_) | FirstOffer::NotPlanned => return None,
    };
    Some(format!("| {} | {to} | {what} |\n", code_cell(cluster.id.as_str(), 200)))
}

/// The command that makes the first release from a cluster, as a shell reads it.
pub fn first_release_command(example: &ReleaseExample) -> String {
    let cluster = shell_word(example.cluster.as_str());
    format!("capstan init --release {} --from {cluster} --write", first_release_of(example))
}

/// The release that the command makes.
fn first_release_of(example: &ReleaseExample) -> String {
    format!("{}/v1.0.0", example.provider)
}

/// The command that writes the settings and gives each cluster a folder of its own.
pub const MOVE_COMMAND: &str = "capstan init --write --move";

/// How clusters that share a folder or a file get folders of their own.
fn moves(onboarding: &Onboarding) -> String {
    let folders = match onboarding.crowded {
        0 => return String::new(),
        1 => "one folder".to_owned(),
        many => format!("{many} folders"),
    };
    format!(
        "\n### Clusters without a folder of their own\n\nA cluster is a folder, and the clusters of {folders} here have none of their own. In a checkout, this command moves \
         their manifests, and writes the settings for that. What the Flux and Argo CD objects in this repository apply stays the same. Capstan does \
         not know objects elsewhere:\n\n{}\n",
        code(MOVE_COMMAND, 400)
    )
}

/// How to make the first release, where there is none.
fn first_release(onboarding: &Onboarding) -> String {
    if !onboarding.releases.is_empty() {
        return String::new();
    }
    let example = onboarding.example.as_ref().map(|example| {
        format!(
            "Make the first release from a cluster that is in good order, in a checkout:\n\n{}\n\nThis copies its objects to \
             `{}/base/` with `${{CLUSTER_NAME}}` for its name, and records the release in the cluster's `capstan.yaml`. ",
            code(&first_release_command(example), 400),
            first_release_of(example)
        )
    });
    format!(
        "\n### Releases\n\nThere is no release here: a folder `<provider>/<version>/` with `base/`, which clusters are upgraded to. {}Where \
         another repository holds them, name it with `releases: {{repository: owner/name}}`.\n",
        example.unwrap_or_default()
    )
}

const MODES: &str = "
### What Capstan does with `mode: observe`

- It reports the check `capstan` on pull requests: what the clusters will be, which machines roll, which rules are broken.
- It answers commands in comments.
- It opens no pull request, makes no branch and no commit, and applies nothing. The tools that apply the clusters today continue to do so.
";

const NEXT_STEPS: &str = "
### What to do next

- Look at `.capstan.yaml` here, and merge. You may push commits to this branch: Capstan then leaves it alone.
- Later, set `mode: propose`: Capstan then offers newer releases, each cluster in a pull request of its own. Capstan's reconciler may apply the clusters that `managementClusters` names. Without it nothing changes there.
- Close this pull request to decline: Capstan does not propose it again. To change your mind, reopen it, or add a `.capstan.yaml` yourself.
- `capstan init` shows the same for a checkout.
";

#[cfg(test)]
#[path = "onboarding_tests.rs"]
mod tests;
