//! A pull request: what it says, what its checks say, what people say, what it changes, and the buttons.

use askama::Template;

use super::diff::{self, Annotation};
use super::layout::rendered;
use super::markdown;
use super::page::{Page, Shown, state_name, time, visitor};
use crate::actions::compute_mergeability;
use crate::error::ApiError;
use crate::state::{
    CheckRun, ForgeIssue, ForgeRepository, Mergeability, Permission, Pull, Reaction, ReviewState, State,
};

#[derive(Template)]
#[template(
    ext = "html",
    source = r##"<p><span class="tag {{ state }}">{{ state }}</span> <b>{{ author }}</b> wants to merge <code>{{ head }}</code> into <code>{{ base }}</code> of <a href="/{{ name }}">{{ name }}</a></p>
<nav class="tabs"><a href="#conversation">Conversation</a><a href="#checks">Checks</a><a href="#changes">Files changed</a></nav>
<section id="conversation">
<article class="box"><header><b>{{ author }}</b> <span class="quiet small">{{ opened }}</span></header><div class="in md">{{ text|safe }}</div></article>
{% for note in talk %}<article class="box"><header><b>{{ note.author }}</b> <span class="quiet small">{{ note.verb }} {{ note.at }}</span></header>{% if !note.text.is_empty() %}<div class="in md">{{ note.text|safe }}</div>{% endif %}{% if !note.reactions.is_empty() %}<div class="in quiet">{{ note.reactions }}</div>{% endif %}</article>
{% endfor %}
</section>
<section id="checks"><h2>Checks</h2>
{% if checks.is_empty() %}<p class="quiet">None has reported on {{ commit }} yet.</p>{% endif %}
{% for check in checks %}<details class="box"{% if check.opened %} open{% endif %}><summary><span class="tag {{ check.verdict }}">{{ check.verdict }}</span> <b>{{ check.name }}</b> {{ check.title }}</summary>
<div class="in md">{{ check.summary|safe }}{{ check.text|safe }}</div>
{% if !check.annotations.is_empty() %}<ul class="rows">{% for note in check.annotations %}<li class="side"><span class="tag {{ note.level }}">{{ note.level }}</span><div><a href="/{{ name }}/blob/{{ commit }}/{{ note.path }}#L{{ note.line }}"><code>{{ note.path }}:{{ note.line }}</code></a> <b>{{ note.title }}</b><br>{{ note.message }}</div></li>
{% endfor %}</ul>{% endif %}</details>
{% endfor %}</section>
{% if let Some(visitor) = visitor %}<section class="box"><div class="in">
{% if is_open %}<p>{{ standing }}</p>
<form method="post" action="/{{ name }}/pull/{{ number }}/merge" style="display:inline"><button class="main"{% if !may_merge %} disabled{% endif %}>Merge pull request</button></form>
<form method="post" action="/{{ name }}/pull/{{ number }}/close" style="display:inline"><button>Close without merging</button></form>
{% if state == "draft" %}<form method="post" action="/{{ name }}/pull/{{ number }}/ready" style="display:inline"><button>Ready for review</button></form>{% endif %}
{% else %}<p>{{ standing }}</p>{% if state == "closed" %}<form method="post" action="/{{ name }}/pull/{{ number }}/reopen"><button>Open again</button></form>{% endif %}{% endif %}
<form method="post" action="/{{ name }}/pull/{{ number }}/comment"><h3>Comment</h3>
<textarea name="body" aria-label="Comment" placeholder="/capstan help" required></textarea>
<div class="buttons"><button>Comment</button><span class="quiet small">You act as {{ visitor }}. Answers come within a second or two: load the page again.</span></div></form>
</div></section>{% endif %}
<section id="changes"><h2>Files changed <span class="small quiet">{{ files }} {% if files == 1 %}file{% else %}files{% endif %}, <span class="plus">+{{ additions }}</span> <span class="minus">−{{ deletions }}</span></span></h2>
{{ diff|safe }}</section>"##
)]
struct Show<'a> {
    name: &'a str,
    number: u64,
    state: &'static str,
    author: &'a str,
    opened: String,
    head: &'a str,
    base: &'a str,
    commit: String,
    text: String,
    talk: Vec<PullNote<'a>>,
    checks: Vec<CheckBadge<'a>>,
    visitor: Option<String>,
    is_open: bool,
    may_merge: bool,
    standing: String,
    files: usize,
    additions: usize,
    deletions: usize,
    diff: String,
}

/// A comment or a review.
pub(super) struct PullNote<'a> {
    pub(super) author: &'a str,
    pub(super) verb: &'static str,
    pub(super) at: String,
    pub(super) text: String,
    pub(super) reactions: String,
}

struct CheckBadge<'a> {
    name: &'a str,
    verdict: &'a str,
    title: &'a str,
    summary: String,
    text: String,
    opened: bool,
    annotations: Vec<Annotation>,
}

pub(super) fn show(state: &mut State, full_name: &str, number: &str) -> Shown {
    let number: u64 = number.parse().map_err(|_| ApiError::not_found())?;
    let (issue, _) = state.repository(full_name)?.pull(number)?;
    // As on GitHub, somebody who looks wants to know whether it merges.
    let mergeability = if issue.open { Some(compute_mergeability(state, full_name, number)?) } else { None };
    let here = state.repository(full_name)?;
    let (issue, pull) = here.pull(number)?;
    let checks: Vec<CheckBadge<'_>> =
        here.checks.values().filter(|run| run.head == pull.head).map(check).collect();
    let patch = patch(here, pull)?;
    let annotations: Vec<Annotation> =
        here.checks.values().filter(|run| run.head == pull.head).flat_map(annotations).collect();
    let visitor = visitor(state, here).ok();
    let may_write = visitor.as_ref().is_some_and(|who| here.permission_of(&who.login) >= Permission::Write);
    let count = |sign: char, head: &str| {
        patch.lines().filter(|line| line.starts_with(sign) && !line.starts_with(head)).count()
    };
    let name = here.full_name();
    let body = rendered(&Show {
        name: &name,
        number,
        state: state_name(issue, pull),
        author: &issue.user.login,
        opened: time(issue.created_at),
        head: &pull.head_branch,
        base: &pull.base_branch,
        commit: pull.head.to_string(),
        text: markdown::render(issue.body.as_deref().unwrap_or("*No description.*")),
        talk: talk(here, issue, pull),
        visitor: visitor.map(|who| who.login),
        is_open: issue.open,
        may_merge: may_write && !pull.draft && matches!(mergeability, Some(Mergeability::Clean(_))),
        standing: standing(pull, mergeability, &checks),
        checks,
        files: patch.lines().filter(|line| line.starts_with("diff --git ")).count(),
        additions: count('+', "+++ "),
        deletions: count('-', "--- "),
        diff: diff::render(&patch, &annotations),
    })?;
    Ok(Page { title: format!("{} #{number}", issue.title), body })
}

fn patch(here: &ForgeRepository, pull: &Pull) -> Result<String, ApiError> {
    let tip = here.branch(&pull.base_branch).filter(|_| pull.merged.is_none()).unwrap_or(pull.base);
    let base = here.store.merge_base(tip, pull.head)?.unwrap_or(tip);
    let tree = |id| here.store.known_commit(id).map(|commit| commit.tree);
    Ok(here.store.patch(tree(base)?, tree(pull.head)?)?)
}

fn standing(pull: &Pull, mergeability: Option<Mergeability>, checks: &[CheckBadge<'_>]) -> String {
    if let Some(merged) = &pull.merged {
        return format!("{} merged this at {}.", merged.by.login, time(merged.at));
    }
    let Some(mergeability) = mergeability else { return "This was closed without a merge.".to_owned() };
    let failed: Vec<&str> = checks
        .iter()
        .filter(|check| matches!(check.verdict, "failure" | "action_required"))
        .map(|check| check.name)
        .collect();
    let checks = match (failed.as_slice(), checks.is_empty()) {
        ([], true) => "No check has reported.".to_owned(),
        ([], false) => "All checks have passed.".to_owned(),
        (failed, _) => {
            format!("Not passed: {}. Nothing here requires it, so it could be merged.", failed.join(", "))
        }
    };
    match mergeability {
        Mergeability::Conflicting => "This conflicts with its base branch and cannot be merged.".to_owned(),
        _ if pull.draft => format!("This is a draft. {checks}"),
        _ => format!("{checks} No conflicts with the base branch."),
    }
}

fn talk<'a>(here: &'a ForgeRepository, issue: &ForgeIssue, pull: &'a Pull) -> Vec<PullNote<'a>> {
    let comments = here.comments.values().filter(|comment| comment.issue == issue.number).map(|comment| {
        let note = PullNote {
            author: &comment.user.login,
            verb: "commented",
            at: time(comment.created_at),
            text: markdown::render(&comment.body),
            reactions: reactions(&comment.reactions),
        };
        (comment.created_at, note)
    });
    let reviews = pull.reviews.iter().map(|review| {
        let verb = match review.state {
            ReviewState::Approved => "approved this",
            ReviewState::ChangesRequested => "asked for changes",
            ReviewState::Commented => "reviewed this",
            ReviewState::Dismissed => "had a review dismissed",
        };
        let (at, text) = (time(review.at), markdown::render(&review.body));
        (review.at, PullNote { author: &review.user.login, verb, at, text, reactions: String::new() })
    });
    let mut all: Vec<_> = comments.chain(reviews).collect();
    all.sort_by_key(|(at, _)| *at);
    all.into_iter().map(|(_, note)| note).collect()
}

pub(super) fn reactions(reactions: &[Reaction]) -> String {
    let one = |reaction: &Reaction| {
        let sign = match reaction.content.as_str() {
            "+1" => "👍",
            "-1" => "👎",
            "confused" => "😕",
            "eyes" => "👀",
            "heart" => "❤️",
            "hooray" => "🎉",
            "laugh" => "😄",
            "rocket" => "🚀",
            other => other,
        };
        format!("{sign} {}", reaction.user.login)
    };
    reactions.iter().map(one).collect::<Vec<_>>().join("  ")
}

fn check(run: &CheckRun) -> CheckBadge<'_> {
    let verdict = run.conclusion.as_deref().unwrap_or(&run.status);
    CheckBadge {
        name: &run.name,
        verdict,
        title: run.title.as_deref().unwrap_or_default(),
        summary: markdown::render(run.summary.as_deref().unwrap_or_default()),
        text: markdown::render(run.text.as_deref().unwrap_or_default()),
        opened: verdict != "success",
        annotations: annotations(run),
    }
}

fn annotations(run: &CheckRun) -> Vec<Annotation> {
    let one = |annotation: &serde_json::Value| {
        let text = |field: &str| annotation[field].as_str().unwrap_or_default().to_owned();
        Annotation {
            path: text("path"),
            line: annotation["start_line"].as_u64().unwrap_or_default(),
            level: text("annotation_level"),
            title: text("title"),
            message: text("message"),
        }
    };
    run.annotations.iter().map(one).collect()
}
