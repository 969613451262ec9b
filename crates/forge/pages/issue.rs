//! An issue: what it says, with boxes that can be ticked, what people say, and a box to comment in.

use askama::Template;

use super::layout::rendered;
use super::markdown;
use super::page::{Page, Shown, time, visitor};
use super::pull::{PullNote, reactions};
use crate::error::ApiError;
use crate::state::{Account, ForgeIssue, ForgeRepository, State};

/// A box of a list of tasks as the renderer of Markdown writes it, open and ticked.
const BOXES: [&str; 2] =
    ["<input disabled=\"\" type=\"checkbox\"/>", "<input disabled=\"\" type=\"checkbox\" checked=\"\"/>"];
/// The same in the text.
const MARKS: [&str; 2] = ["- [ ] ", "- [x] "];

#[derive(Template)]
#[template(
    ext = "html",
    source = r##"<p><span class="tag {% if is_open %}open{% else %}closed{% endif %}">{% if is_open %}open{% else %}closed{% endif %}</span> <b>{{ author }}</b> opened this in <a href="/{{ name }}">{{ name }}</a></p>
<article class="box"><header><b>{{ author }}</b> <span class="quiet small">{{ opened }}</span></header><form class="in md" method="post" action="/{{ name }}/issues/{{ number }}/tick">{{ text|safe }}</form></article>
{% for note in talk %}<article class="box"><header><b>{{ note.author }}</b> <span class="quiet small">{{ note.verb }} {{ note.at }}</span></header><div class="in md">{{ note.text|safe }}</div>{% if !note.reactions.is_empty() %}<div class="in quiet">{{ note.reactions }}</div>{% endif %}</article>
{% endfor %}
{% if let Some(visitor) = visitor %}<section class="box"><div class="in">
<form method="post" action="/{{ name }}/issues/{{ number }}/comment"><h3>Comment</h3>
<textarea name="body" aria-label="Comment" placeholder="/capstan help" required></textarea>
<div class="buttons"><button>Comment</button><span class="quiet small">You act as {{ visitor }}. Answers come within a second or two: load the page again.</span></div></form>
</div></section>{% endif %}"##
)]
struct Show<'a> {
    name: &'a str,
    number: u64,
    is_open: bool,
    author: &'a str,
    opened: String,
    text: String,
    talk: Vec<PullNote<'a>>,
    visitor: Option<String>,
}

pub(super) fn show(state: &State, full_name: &str, number: &str) -> Shown {
    let number: u64 = number.parse().map_err(|_| ApiError::not_found())?;
    let here = state.repository(full_name)?;
    let issue = issue(here, number)?;
    let visitor = visitor(state, here).ok();
    let name = here.full_name();
    let text = markdown::render(issue.body.as_deref().unwrap_or("*No description.*"));
    let body = rendered(&Show {
        name: &name,
        number,
        is_open: issue.open,
        author: &issue.user.login,
        opened: time(issue.created_at),
        text: if visitor.is_some() { with_buttons(&text) } else { text },
        talk: talk(here, number),
        visitor: visitor.map(|who| who.login),
    })?;
    Ok(Page { title: format!("{} #{number}", issue.title), body })
}

/// Ticks a box of the body, or takes its tick back.
pub(super) fn tick(
    state: &mut State,
    full_name: &str,
    number: u64,
    by: &Account,
    which: usize,
) -> Result<(), ApiError> {
    let body = issue(state.repository(full_name)?, number)?.body.clone().unwrap_or_default();
    let ticked = ticked(&body, which).ok_or_else(|| ApiError::unprocessable("There is no such box."))?;
    state.edit_issue_body(full_name, number, by, &ticked)
}

fn issue(here: &ForgeRepository, number: u64) -> Result<&ForgeIssue, ApiError> {
    here.issues.get(&number).filter(|issue| issue.pull.is_none()).ok_or_else(ApiError::not_found)
}

fn talk(here: &ForgeRepository, number: u64) -> Vec<PullNote<'_>> {
    let comments = here.comments.values().filter(|comment| comment.issue == number);
    comments
        .map(|comment| PullNote {
            author: &comment.user.login,
            verb: "commented",
            at: time(comment.created_at),
            text: markdown::render(&comment.body),
            reactions: reactions(&comment.reactions),
        })
        .collect()
}

/// Where a box is, and whether it is ticked.
fn next_box(text: &str, forms: [&str; 2]) -> Option<(usize, bool)> {
    let found = [false, true].map(|ticked| Some((text.find(forms[usize::from(ticked)])?, ticked)));
    found.into_iter().flatten().min()
}

/// HTML with a button in the place of each box.
fn with_buttons(html: &str) -> String {
    let (mut out, mut rest, mut at) = (String::new(), html, 0);
    while let Some((place, is_ticked)) = next_box(rest, BOXES) {
        let (label, sign) = if is_ticked { ("Untick", "☑") } else { ("Tick", "☐") };
        out.push_str(&rest[..place]);
        out.push_str(&format!(
            "<button class=\"tick\" name=\"box\" value=\"{at}\" aria-label=\"{label}\">{sign}</button>"
        ));
        rest = &rest[place + BOXES[usize::from(is_ticked)].len()..];
        at += 1;
    }
    out.push_str(rest);
    out
}

fn ticked(body: &str, which: usize) -> Option<String> {
    let mut from = 0;
    for _ in 0..which {
        from += next_box(&body[from..], MARKS)?.0 + MARKS[0].len();
    }
    let (place, is_ticked) = next_box(&body[from..], MARKS)?;
    let (before, after) = body.split_at(from + place);
    Some(format!("{before}{}{}", MARKS[usize::from(!is_ticked)], &after[MARKS[0].len()..]))
}

#[cfg(test)]
mod tests {
    use super::{markdown, ticked, with_buttons};

    const BODY: &str = "- [ ] <!-- a -->one\n- text\n  - [x] two\n";

    #[test]
    fn a_box_becomes_a_button_that_changes_its_line() {
        let html = with_buttons(&markdown::render(BODY));
        assert!(html.contains("value=\"0\" aria-label=\"Tick\">☐</button>"), "{html}");
        assert!(html.contains("value=\"1\" aria-label=\"Untick\">☑</button>"), "{html}");
        assert!(!html.contains("checkbox"), "{html}");
        assert_eq!(ticked(BODY, 0).as_deref(), Some("- [x] <!-- a -->one\n- text\n  - [x] two\n"));
        assert_eq!(ticked(BODY, 1).as_deref(), Some("- [ ] <!-- a -->one\n- text\n  - [ ] two\n"));
        assert_eq!(ticked(BODY, 2), None);
    }
}
