//! Pages for people: repositories, pull requests with their diff, checks and conversation, a box to comment in and
//! a button to merge. Whoever looks acts as the first person of the forge; it is a demo's page, not a site.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::call::{decode, parse_query};
use super::error::ApiError;
use super::merge::merge_pull;
use super::server::{Asked, Shared, Told};
use super::state::{Account, AccountKind, Issue, MergeMethod, Pull, Repository, State, rfc3339};

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:64rem;margin:2rem auto;padding:0 1rem;color:#1f2328}\
a{color:#0969da}pre{background:#f6f8fa;border:1px solid #d1d9e0;border-radius:6px;padding:.8rem;overflow:auto;\
white-space:pre-wrap}pre.diff{white-space:pre}.add{background:#dafbe1}.del{background:#ffebe9}.hunk{color:#59636e}\
.tag{border-radius:1rem;padding:.1rem .6rem;color:#fff;background:#59636e}.open,.success{background:#1a7f37}\
.merged{background:#8250df}.closed,.failure{background:#cf222e}.action_required,.neutral{background:#9a6700}\
textarea{width:100%;height:6rem}button{padding:.4rem 1rem}.who{color:#59636e}";

pub(crate) fn answer(shared: &Shared, asked: &Asked) -> Told {
    let path: Vec<String> = asked.path.split('/').filter(|part| !part.is_empty()).map(decode).collect();
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    let mut state = shared.lock();
    let page = match (asked.method.as_str(), path.as_slice()) {
        ("GET", []) => Ok(home(&state)),
        ("GET", [owner, name]) => repository(&state, &format!("{owner}/{name}")),
        ("GET", [owner, name, "pull", number]) => pull(&state, &format!("{owner}/{name}"), number),
        ("POST", [owner, name, "pull", number, action]) => {
            let form = parse_query(&String::from_utf8_lossy(&asked.body));
            return act(&mut state, &format!("{owner}/{name}"), number, action, &form);
        }
        _ => Err(ApiError::not_found()),
    };
    match page {
        Ok(html) => Told::new(200, "text/html; charset=utf-8", html.into_bytes()),
        Err(error) => failed(&error),
    }
}

fn failed(error: &ApiError) -> Told {
    let html = layout("Not possible", &format!("<p>{}</p>", escape(&error.message)));
    Told::new(error.status, "text/html; charset=utf-8", html.into_bytes())
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;")
}

fn layout(title: &str, body: &str) -> String {
    format!(
        "<!doctype html><html lang=en><meta charset=utf-8><title>{title}</title><style>{STYLE}</style>\
         <p><a href=/>All repositories</a></p><h1>{title}</h1>{body}</html>",
        title = escape(title)
    )
}

fn home(state: &State) -> String {
    let mut body = String::from("<ul>");
    for here in state.repositories.values() {
        let open = here.issues.values().filter(|issue| issue.open && issue.pull.is_some()).count();
        let name = escape(&here.full_name());
        write!(body, "<li><a href=\"/{name}\">{name}</a>: {open} open pull requests</li>").ok();
    }
    body.push_str("</ul>");
    layout("Repositories", &body)
}

fn state_name(issue: &Issue, pull: &Pull) -> &'static str {
    match (&pull.merged, issue.open) {
        (Some(_), _) => "merged",
        (None, true) => "open",
        (None, false) => "closed",
    }
}

fn repository(state: &State, full_name: &str) -> Result<String, ApiError> {
    let here = state.repository(full_name)?;
    let mut body = String::from("<h2>Pull requests</h2><ul>");
    for issue in here.issues.values().rev() {
        let Some(pull) = &issue.pull else { continue };
        let (number, kind) = (issue.number, state_name(issue, pull));
        let (title, author) = (escape(&issue.title), escape(&issue.user.login));
        write!(
            body,
            "<li><span class=\"tag {kind}\">{kind}</span> <a href=\"/{}/pull/{number}\">#{number} {title}</a> \
             <span class=who>{author}</span></li>",
            escape(full_name)
        )
        .ok();
    }
    body.push_str("</ul><h2>Files</h2><ul>");
    if let Some(tip) = here.branch(&here.default_branch) {
        let tree = here.store.known_commit(tip)?.tree;
        for (path, entry) in here.store.flatten(tree)? {
            if !entry.is_tree() {
                write!(body, "<li>{}</li>", escape(&path)).ok();
            }
        }
    }
    body.push_str("</ul>");
    Ok(layout(full_name, &body))
}

fn pull(state: &State, full_name: &str, number: &str) -> Result<String, ApiError> {
    let here = state.repository(full_name)?;
    let number = number.parse().map_err(|_| ApiError::not_found())?;
    let (issue, pull) = here.pull(number)?;
    let kind = state_name(issue, pull);
    let mut body = format!(
        "<p><span class=\"tag {kind}\">{kind}</span> {} wants to merge <b>{}</b> into <b>{}</b></p>",
        escape(&issue.user.login),
        escape(&pull.head_branch),
        escape(&pull.base_branch)
    );
    write!(body, "<pre>{}</pre>", escape(issue.body.as_deref().unwrap_or("No description."))).ok();
    body.push_str("<h2>Checks</h2>");
    for run in here.checks.values().filter(|run| run.head == pull.head) {
        let verdict = run.conclusion.as_deref().unwrap_or(&run.status);
        write!(
            body,
            "<p><span class=\"tag {0}\">{0}</span> <b>{1}</b> {2}</p><pre>{3}</pre>",
            escape(verdict),
            escape(&run.name),
            escape(run.title.as_deref().unwrap_or_default()),
            escape(run.summary.as_deref().unwrap_or_default())
        )
        .ok();
        for annotation in &run.annotations {
            let text = |field: &str| escape(annotation[field].as_str().unwrap_or_default());
            let line = &annotation["start_line"];
            let (level, path) = (text("annotation_level"), text("path"));
            write!(body, "<p>{level}: {path}:{line}: {}</p>", text("message")).ok();
        }
    }
    body.push_str("<h2>Conversation</h2>");
    for comment in here.comments.values().filter(|comment| comment.issue == number) {
        let (who, when) = (escape(&comment.user.login), rfc3339(comment.created_at));
        let text = escape(&comment.body);
        write!(body, "<p class=who><b>{who}</b> {when}</p><pre>{text}</pre>").ok();
    }
    let action = format!("/{}/pull/{number}", escape(full_name));
    write!(
        body,
        "<form method=post action=\"{action}/comment\"><textarea name=body></textarea>\
         <button>Comment</button></form>"
    )
    .ok();
    if issue.open {
        write!(body, "<form method=post action=\"{action}/merge\"><p><button>Merge</button></p></form>").ok();
    }
    write!(body, "<h2>Changes</h2>{}", diff(here, pull)?).ok();
    Ok(layout(&format!("#{number} {}", issue.title), &body))
}

fn diff(here: &Repository, pull: &Pull) -> Result<String, ApiError> {
    let tip = here.branch(&pull.base_branch).filter(|_| pull.merged.is_none()).unwrap_or(pull.base);
    let base = here.store.merge_base(tip, pull.head)?.unwrap_or(tip);
    let tree = |id| here.store.known_commit(id).map(|commit| commit.tree);
    let mut html = String::from("<pre class=diff>");
    for line in here.store.patch(tree(base)?, tree(pull.head)?)?.lines() {
        let class = match line.as_bytes().first() {
            Some(b'+') if !line.starts_with("+++") => "add",
            Some(b'-') if !line.starts_with("---") => "del",
            Some(b'@') => "hunk",
            _ => "",
        };
        writeln!(html, "<span class=\"{class}\">{}</span>", escape(line)).ok();
    }
    html.push_str("</pre>");
    Ok(html)
}

/// The person who looks: the first who is not a bot or an organization.
fn visitor(state: &State) -> Result<Account, ApiError> {
    let person = state.accounts.values().find(|account| account.kind == AccountKind::User);
    person.cloned().ok_or_else(|| ApiError::new(403, "The forge has no person to act as"))
}

fn act(
    state: &mut State,
    full_name: &str,
    number: &str,
    action: &str,
    form: &BTreeMap<String, String>,
) -> Told {
    let done = number.parse().map_err(|_| ApiError::not_found()).and_then(|number| {
        let by = visitor(state)?;
        match action {
            "merge" => merge_pull(state, full_name, number, MergeMethod::Merge, &by).map(|_| ()),
            "comment" => {
                let body = form.get("body").map(String::as_str).unwrap_or_default();
                state.comment(full_name, number, &by, false, body).map(|_| ())
            }
            _ => Err(ApiError::not_found()),
        }
    });
    if let Err(error) = done {
        return failed(&error);
    }
    let mut told = Told::new(303, "text/html; charset=utf-8", Vec::new());
    told.headers.push(("location".to_owned(), format!("/{full_name}/pull/{number}")));
    told
}

#[cfg(test)]
mod tests {
    use super::escape;

    #[test]
    fn what_people_write_stays_text() {
        assert_eq!(escape("<b a=\"1\" b='2'>&"), "&lt;b a=&quot;1&quot; b=&#39;2&#39;&gt;&amp;");
    }
}
