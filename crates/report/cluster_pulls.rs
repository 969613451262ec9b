//! The pull requests that a command opens to create or destroy a cluster: title, body, commit.

use capstan_model::ids::ClusterId;
use capstan_model::object::ObjectId;
use capstan_model::source::{SourceId, SourceKind};
use capstan_model::wording::count;
use capstan_plan::creation::CreatedCluster;
use capstan_plan::proposal::{
    DESTROY, PlanDigest, ReleasesOrigin, SourceState, TRAILER_PLAN, TRAILER_RELEASES, TRAILER_SOURCE,
};
use capstan_plan::retirement::RetiredCluster;
use capstan_plan::upgrade::Rollout;

use super::comment::Answer;
use super::markdown::{Page, code, code_cell, plain, prose};
use super::pages::Refusal;
use super::tables::finding_rows;

/// Marks the comment that asked for a pull request, so that it is opened once.
const MARK: &str = "<!-- capstan-asked ";
/// Well below GitHub's limit, so that people may add text.
const LONGEST: usize = 60_000;

/// Who asked for a pull request, and where.
#[derive(Debug, Clone, Copy)]
pub struct AskedFor<'a> {
    /// Their login.
    pub by: &'a str,
    /// The issue or pull request.
    pub number: u64,
    /// Identifies the request, in a few letters: the comment's id.
    pub key: &'a str,
    /// Why, in their words.
    pub reason: Option<&'a str>,
}

/// The text of a pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterPull {
    pub title: String,
    pub body: String,
    /// The message of its one commit.
    pub commit: String,
}

/// Whether a body is that of the pull request with this key.
pub fn is_asked_for_by(body: &str, key: &str) -> bool {
    body.contains(&mark(key))
}

fn mark(key: &str) -> String {
    format!("{MARK}{key} -->\n")
}

/// The pull request that creates a cluster.
pub fn creation_pull(
    created: &CreatedCluster,
    origin: Option<&ReleasesOrigin>,
    asked: AskedFor<'_>,
) -> ClusterPull {
    let (cluster, release) = (plain(created.cluster.as_str(), 120), plain(created.release.as_str(), 100));
    let title = format!("Create {cluster} from {release}");
    let mut page = Page::new(LONGEST);
    let from = origin.map_or_else(String::new, |origin| {
        format!(" of {} at {}", code(&origin.repository, 200), code(short(origin.commit.as_str()), 20))
    });
    page.push(&format!(
        "A new cluster {}, made from {}{from}: {} in {}. {}\n\n{}\n",
        code(created.cluster.as_str(), 300),
        code(created.release.as_str(), 200),
        count(created.objects.len(), "object", "objects"),
        count(created.files.len(), "file", "files"),
        applied_by(created.claimed_by.as_deref()),
        said(asked),
    ));
    for note in &created.notes {
        page.push(&format!("\n{}\n", prose(note, 900)));
    }
    let row = |(name, value): (&String, &String)| {
        format!("| {} | {} |\n", code_cell(name, 100), code_cell(value, 300))
    };
    let values: Vec<String> = created.variables.iter().map(row).collect();
    section(&mut page, "\n### Values\n\n| Variable | Value |\n|---|---|\n", &values);
    section(&mut page, "\n### Objects\n\n", &objects(&created.objects));
    section(&mut page, "\n### Findings\n\n", &finding_rows(&created.findings));
    page.push(&format!(
        "\n### What follows\n\nThe files are those that an upgrade to {} gives, so later upgrades start from there. Capstan writes this pull request once: edit it as you like. For other values or a changed release, close it, delete its branch and comment the command again.\n",
        code(created.release.as_str(), 200),
    ));
    let source = SourceState::new(SourceId::from(&created.release), created.content.clone());
    let commit =
        commit(&title, "A command asked for it; see the pull request.", &source, origin, &created.files);
    ClusterPull { title, body: page.finish() + "\n" + &mark(asked.key), commit }
}

/// The pull request that deletes a cluster.
pub fn retirement_pull(retired: &RetiredCluster, asked: AskedFor<'_>) -> ClusterPull {
    let title = format!("Destroy {}", plain(retired.cluster.as_str(), 120));
    let mut page = Page::new(LONGEST);
    let cluster = code(retired.cluster.as_str(), 300);
    page.push(&format!(
        "**Once this is merged, the live cluster {cluster} is deleted, with {}.** Nothing happens before the merge, and a merge cannot be undone.\n\n{}\n",
        machines(&retired.machines),
        said(asked),
    ));
    page.push(&format!(
        "\nThe tombstone `delete: cluster` in {} is the only change. After the merge, the reconciler of {} deletes, in this order:\n\n1. the `Cluster`, and with it its machines and its infrastructure; it waits until they are gone;\n2. everything else that it applied from this folder;\n3. the credentials.\n\nThe folder stays. Remove it in another pull request after the reconciler has reported that the cluster is gone. Without the folder the reconciler does not know what to delete.\n",
        code(retired.file.path.as_str(), 300),
        code(&retired.claimed_by, 100),
    ));
    let pools: Vec<String> = retired
        .machines
        .iter()
        .map(|pool| format!("- {}: {}\n", code(&pool.object.to_string(), 300), machines_of(pool)))
        .collect();
    section(&mut page, "\n### Machines\n\n", &pools);
    section(&mut page, "\n### Objects\n\n", &objects(&retired.objects));
    page.push("\nThe check `capstan` shows the finding `removes-machines`. It passes as long as this pull request adds only the tombstone.\n");
    let kind = SourceKind::parse(DESTROY).unwrap_or(SourceKind::RELEASE);
    let source = SourceState::new(SourceId::new(kind, retired.cluster.as_str()), None);
    let files = std::slice::from_ref(&retired.file);
    let commit = commit(
        &title,
        "A command asked for it; the pull request says what is deleted.",
        &source,
        None,
        files,
    );
    ClusterPull { title, body: page.finish() + "\n" + &mark(asked.key), commit }
}

/// The answer where a pull request was opened, or exists already.
pub fn cluster_pull_answer(cluster: &ClusterId, number: u64, is_new: IsNew) -> Answer {
    let cluster = code(cluster.as_str(), 300);
    match is_new {
        IsNew::Yes => Answer::info(format!("#{number} is open for {cluster}.\n")),
        IsNew::No => Answer::info(format!(
            "#{number} is already open for {cluster}. Close it and delete its branch before you ask again.\n"
        )),
    }
}

/// Whether the pull request was opened by this command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IsNew {
    /// It was.
    Yes,
    /// It existed already.
    No,
}

/// The answer where a cluster is left as it is; the reason may have several lines.
pub fn not_done(cluster: &ClusterId, why: &str, refusal: Refusal) -> Answer {
    let lines: Vec<&str> = why.lines().filter(|line| !line.is_empty()).collect();
    let cluster = code(cluster.as_str(), 300);
    match lines.as_slice() {
        [line] => {
            Answer::refused(refusal, &format!("{cluster}: {}.\n", prose(line.trim_end_matches('.'), 1_500)))
        }
        lines => {
            let rows: Vec<String> = lines.iter().map(|line| format!("- {}\n", prose(line, 600))).collect();
            let mut page = Page::new(20_000);
            page.push(&format!("{cluster}: nothing was written.\n"));
            section(&mut page, "\n", &rows);
            Answer::refused(refusal, &page.finish())
        }
    }
}

fn applied_by(claimed_by: Option<&str>) -> String {
    match claimed_by {
        Some(management) => format!("The reconciler of {} applies it once this is merged.", code(management, 100)),
        None => "No management cluster claims it in `.capstan.yaml`. Add it to the tool that applies this repository.".to_owned(),
    }
}

fn said(asked: AskedFor<'_>) -> String {
    let reason = asked.reason.map_or_else(String::new, |reason| format!(": {}", prose(reason, 900)));
    format!("Asked for by {} in #{}{reason}", code(asked.by, 100), asked.number)
}

fn objects(objects: &[ObjectId]) -> Vec<String> {
    objects.iter().map(|id| format!("- {}\n", code(&id.to_string(), 300))).collect()
}

fn section(page: &mut Page, head: &str, rows: &[String]) {
    let budget = page.free().saturating_sub(3_000).min(18_000);
    page.section(head, rows, budget, |left| format!("\n… and {left} more.\n"));
}

/// `3 machines`, as far as Git shows.
fn machines(pools: &[Rollout]) -> String {
    let known: u64 = pools.iter().filter_map(|pool| pool.machines.map(u64::from)).sum();
    let unknown = pools.iter().any(|pool| pool.machines.is_none());
    match (known, unknown) {
        (0, _) => "all its machines".to_owned(),
        (known, true) => {
            format!("at least {}", count(usize::try_from(known).unwrap_or(usize::MAX), "machine", "machines"))
        }
        (known, false) => count(usize::try_from(known).unwrap_or(usize::MAX), "machine", "machines"),
    }
}

fn machines_of(pool: &Rollout) -> String {
    match pool.machines {
        Some(number) => count(usize::try_from(number).unwrap_or(usize::MAX), "machine", "machines"),
        None => "as many as there are".to_owned(),
    }
}

fn commit(
    title: &str,
    text: &str,
    source: &SourceState,
    origin: Option<&ReleasesOrigin>,
    files: &[capstan_model::file_change::FileChange],
) -> String {
    let origin = origin.map_or_else(String::new, |origin| format!("{TRAILER_RELEASES}: {origin}\n"));
    let plan = PlanDigest::of(files);
    format!("{title}\n\n{text}\n\n{TRAILER_SOURCE}: {source}\n{origin}{TRAILER_PLAN}: {plan}\n")
}

fn short(commit: &str) -> &str {
    commit.get(..8).unwrap_or(commit)
}
