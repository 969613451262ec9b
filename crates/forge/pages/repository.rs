//! The list of repositories, and a repository with its pull requests.

use askama::Template;

use super::layout::rendered;
use super::markdown;
use super::page::{Page, Shown, state_name, time};
use crate::error::ApiError;
use crate::state::{ForgeIssue, ForgeRepository, Pull, State};

#[derive(Template)]
#[template(
    ext = "html",
    source = r#"{% if let Some(welcome) = welcome %}<article class="box"><div class="in md">{{ welcome|safe }}</div></article>{% endif %}
{% if names.is_empty() %}<p>There is no repository yet.</p>{% endif %}
<div class="box"><ul class="rows">
{% for (name, open) in names %}<li><a class="title" href="/{{ name }}">{{ name }}</a> <span class="quiet">{{ open }} open pull requests</span></li>
{% endfor %}</ul></div>"#
)]
struct Home {
    welcome: Option<String>,
    names: Vec<(String, usize)>,
}

pub(super) fn home(state: &State) -> Shown {
    let names = state.repositories.values().map(|here| (here.full_name(), open(here))).collect();
    let welcome = (!state.welcome.is_empty()).then(|| markdown::render(&state.welcome));
    Ok(Page { title: "Repositories".to_owned(), body: rendered(&Home { welcome, names })? })
}

fn open(here: &ForgeRepository) -> usize {
    here.issues.values().filter(|issue| issue.open && issue.pull.is_some()).count()
}

#[derive(Template)]
#[template(
    ext = "html",
    source = r#"<nav class="tabs"><a class="here" href="/{{ name }}">Pull requests</a><a href="/{{ name }}/tree/HEAD">Files</a></nav>
{% if pulls.is_empty() %}<p>There is no pull request yet.</p>{% else %}
<div class="box"><header><b>{{ open }} open</b> <span class="quiet">of {{ pulls.len() }}</span></header><ul class="rows">
{% for pull in pulls %}<li class="side"><span class="tag {{ pull.state }}">{{ pull.state }}</span>
<div style="flex:1"><a class="title" href="/{{ name }}/pull/{{ pull.number }}">{{ pull.title }}</a>
<div class="quiet small">#{{ pull.number }} by {{ pull.author }}, {{ pull.opened }}{% if pull.comments > 0 %} · {{ pull.comments }} comments{% endif %}</div></div>
{% for (name, verdict) in pull.checks %}<span class="small quiet">{{ name }} <span class="tag {{ verdict }}">{{ verdict }}</span></span>{% endfor %}</li>
{% endfor %}</ul></div>{% endif %}
{% if !issues.is_empty() %}<h2>Issues</h2><div class="box"><ul class="rows">
{% for (number, title) in issues %}<li><a class="title" href="/{{ name }}/issues/{{ number }}">{{ title }}</a> <span class="quiet">#{{ number }}</span></li>
{% endfor %}</ul></div>{% endif %}
{% if let Some(readme) = readme %}<article class="box"><header><b>README.md</b></header><div class="in md">{{ readme|safe }}</div></article>{% endif %}"#
)]
struct Overview<'a> {
    name: &'a str,
    open: usize,
    pulls: Vec<RepositoryLine<'a>>,
    /// Open ones.
    issues: Vec<(u64, &'a str)>,
    readme: Option<String>,
}

struct RepositoryLine<'a> {
    number: u64,
    title: &'a str,
    author: &'a str,
    opened: String,
    state: &'static str,
    comments: usize,
    checks: Vec<(&'a str, &'a str)>,
}

pub(super) fn show(state: &State, full_name: &str) -> Shown {
    let here = state.repository(full_name)?;
    let mut pulls: Vec<RepositoryLine<'_>> = here
        .issues
        .values()
        .rev()
        .filter_map(|issue| Some((issue, issue.pull.as_ref()?)))
        .map(|(issue, pull)| row(here, issue, pull))
        .collect();
    pulls.sort_by_key(|row| matches!(row.state, "merged" | "closed"));
    let name = here.full_name();
    let issues = here.issues.values().filter(|issue| issue.open && issue.pull.is_none());
    let issues = issues.map(|issue| (issue.number, issue.title.as_str())).collect();
    let body = rendered(&Overview { name: &name, open: open(here), pulls, issues, readme: readme(here)? })?;
    Ok(Page { title: name, body })
}

/// What the repository says of itself, as HTML.
fn readme(here: &ForgeRepository) -> Result<Option<String>, ApiError> {
    let Some(tip) = here.branch(&here.default_branch) else { return Ok(None) };
    let tree = here.store.known_commit(tip)?.tree;
    let Some(entry) = here.store.entry(tree, "README.md")?.filter(|entry| !entry.is_tree()) else {
        return Ok(None);
    };
    let text = here.store.blob(entry.id)?;
    Ok(text.map(|text| markdown::render(&String::from_utf8_lossy(&text))))
}

fn row<'a>(here: &'a ForgeRepository, issue: &'a ForgeIssue, pull: &'a Pull) -> RepositoryLine<'a> {
    let checks = here.checks.values().filter(|run| run.head == pull.head);
    RepositoryLine {
        number: issue.number,
        title: &issue.title,
        author: &issue.user.login,
        opened: time(issue.created_at),
        state: state_name(issue, pull),
        comments: here.comments.values().filter(|comment| comment.issue == issue.number).count(),
        checks: checks
            .map(|run| (run.name.as_str(), run.conclusion.as_deref().unwrap_or(&run.status)))
            .collect(),
    }
}
