//! Conversations: issues, comments and reactions.

use serde_json::{Value, json};

use super::call::{ApiResult, ForgeCall, READ_TALK, Reply, WRITE_TALK};
use crate::actions::{SidebarEdit, check_length};
use crate::clock::{now, rfc3339};
use crate::error::ApiError;
use crate::state::{Account, ForgeRepository, Reaction};
use crate::views;

/// Refuses calls about issues where they are switched off; pull requests are not issues.
fn check_on(here: &ForgeRepository, number: Option<u64>) -> Result<(), ApiError> {
    let is_pull =
        number.and_then(|number| here.issues.get(&number)).is_some_and(|issue| issue.pull.is_some());
    if number.is_some_and(|number| here.deleted_issues.contains(&number)) {
        return Err(ApiError::new(410, "This issue was deleted"));
    }
    if here.has_issues || is_pull {
        Ok(())
    } else {
        Err(ApiError::new(410, "Issues are disabled for this repo"))
    }
}

pub(crate) fn get(call: &mut ForgeCall<'_>, owner: &str, name: &str, number: u64) -> ApiResult {
    let full_name = call.repository(owner, name, READ_TALK)?;
    let here = call.state.repository(&full_name)?;
    check_on(here, Some(number))?;
    let issue = here.issue(number)?;
    let mut view = views::issue(here, issue);
    view["closed_by"] = json!(issue.closed_by.as_ref().map(|by| views::simple_user(by, &here.web)));
    Ok(Reply::ok(view))
}

pub(crate) fn list(call: &mut ForgeCall<'_>, owner: &str, name: &str) -> ApiResult {
    let full_name = call.repository(owner, name, READ_TALK)?;
    let here = call.state.repository(&full_name)?;
    // Documented for single issues; of this list GitHub documents 404 alone.
    if !here.has_issues {
        return Err(ApiError::not_found());
    }
    let state = call.parameter("state").unwrap_or("open");
    let labels: Vec<&str> =
        call.parameter("labels").into_iter().flat_map(|labels| labels.split(',')).collect();
    let creator = call.parameter("creator");
    let mut items: Vec<Value> = here
        .issues
        .values()
        .rev()
        .filter(|issue| state == "all" || issue.open == (state == "open"))
        .filter(|issue| labels.iter().all(|wanted| issue.labels.iter().any(|label| label.name == *wanted)))
        .filter(|issue| creator.is_none_or(|creator| issue.user.login == creator))
        .map(|issue| views::issue(here, issue))
        .collect();
    if call.parameter("direction") == Some("asc") {
        items.reverse();
    }
    Ok(call.page(items))
}

pub(crate) fn create(call: &mut ForgeCall<'_>, owner: &str, name: &str) -> ApiResult {
    let full_name = call.repository(owner, name, WRITE_TALK)?;
    check_on(call.state.repository(&full_name)?, None)?;
    let by = call.account()?;
    let title = call.required_text("title")?.to_owned();
    let body = call.text("body").map(str::to_owned);
    check_length(body.as_deref().unwrap_or_default())?;
    let number = call.state.open_issue(&full_name, &by, &title, body)?;
    for label in call.texts("labels") {
        SidebarEdit { state: call.state, full_name: &full_name, number, by: &by }.add_label(&label)?;
    }
    let here = call.state.repository(&full_name)?;
    Ok(Reply::created(views::issue(here, here.issue(number)?)))
}

pub(crate) fn update(call: &mut ForgeCall<'_>, owner: &str, name: &str, number: u64) -> ApiResult {
    let full_name = call.repository(owner, name, WRITE_TALK)?;
    let by = call.account()?;
    check_on(call.state.repository(&full_name)?, Some(number))?;
    let (title, body) = (call.text("title").map(str::to_owned), call.text("body").map(str::to_owned));
    let issue = call.state.repository_mut(&full_name)?.issue_mut(number)?;
    issue.updated_at = now();
    if let Some(title) = title {
        issue.title = title;
    }
    if let Some(body) = body {
        call.state.edit_issue_body(&full_name, number, &by, &body)?;
    }
    match call.text("state") {
        Some("closed") => call.state.close_issue(&full_name, number, &by)?,
        Some("open") => call.state.reopen_issue(&full_name, number, &by)?,
        _ => {}
    }
    let here = call.state.repository(&full_name)?;
    Ok(Reply::ok(views::issue(here, here.issue(number)?)))
}

pub(crate) fn comments(call: &mut ForgeCall<'_>, owner: &str, name: &str, number: u64) -> ApiResult {
    let full_name = call.repository(owner, name, READ_TALK)?;
    let here = call.state.repository(&full_name)?;
    here.issue(number)?;
    let since = call.parameter("since").unwrap_or_default();
    let found = here
        .comments
        .values()
        .filter(|comment| comment.issue == number && rfc3339(comment.updated_at).as_str() >= since)
        .map(|comment| views::comment(call.state, here, comment));
    Ok(call.page(found.collect()))
}

pub(crate) fn repository_comments(call: &mut ForgeCall<'_>, owner: &str, name: &str) -> ApiResult {
    let full_name = call.repository(owner, name, READ_TALK)?;
    let here = call.state.repository(&full_name)?;
    // Documented for single issues; of this list GitHub documents 404 alone.
    if !here.has_issues {
        return Err(ApiError::not_found());
    }
    let since = call.parameter("since").unwrap_or_default();
    let mut found: Vec<Value> = here
        .comments
        .values()
        .filter(|comment| rfc3339(comment.updated_at).as_str() >= since)
        .map(|comment| views::comment(call.state, here, comment))
        .collect();
    if call.parameter("direction") == Some("desc") {
        found.reverse();
    }
    Ok(call.page(found))
}

fn show_comment(call: &ForgeCall<'_>, here: &ForgeRepository, id: u64, status: u16) -> ApiResult {
    let comment = here.comments.get(&id).ok_or_else(ApiError::not_found)?;
    Ok(Reply::new(status, views::comment(call.state, here, comment)))
}

pub(crate) fn comment(call: &mut ForgeCall<'_>, owner: &str, name: &str, id: u64) -> ApiResult {
    let full_name = call.repository(owner, name, READ_TALK)?;
    show_comment(call, call.state.repository(&full_name)?, id, 200)
}

pub(crate) fn create_comment(call: &mut ForgeCall<'_>, owner: &str, name: &str, number: u64) -> ApiResult {
    let full_name = call.repository(owner, name, WRITE_TALK)?;
    let by = call.account()?;
    let body = call.required_text("body")?.to_owned();
    let by_app = call.is_app();
    let id = call.state.comment(&full_name, number, &by, by_app, &body)?;
    show_comment(call, call.state.repository(&full_name)?, id, 201)
}

pub(crate) fn update_comment(call: &mut ForgeCall<'_>, owner: &str, name: &str, id: u64) -> ApiResult {
    let full_name = call.repository(owner, name, WRITE_TALK)?;
    let by = call.account()?;
    let body = call.required_text("body")?.to_owned();
    call.state.edit_comment(&full_name, id, &by, &body)?;
    show_comment(call, call.state.repository(&full_name)?, id, 200)
}

pub(crate) fn delete_comment(call: &mut ForgeCall<'_>, owner: &str, name: &str, id: u64) -> ApiResult {
    let full_name = call.repository(owner, name, WRITE_TALK)?;
    let by = call.account()?;
    call.state.delete_comment(&full_name, id, &by)?;
    Ok(Reply::no_content())
}

const REACTIONS: [&str; 8] = ["+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes"];

/// Adds a reaction unless the account has it there already: 201 for a new one, 200 for a known one.
fn react(reactions: &mut Vec<Reaction>, id: u64, by: Account, content: &str) -> (u16, Reaction) {
    let known = reactions.iter().find(|known| known.user.id == by.id && known.content == content);
    if let Some(known) = known {
        return (200, known.clone());
    }
    let reaction = Reaction { id, user: by, content: content.to_owned(), at: now() };
    reactions.push(reaction.clone());
    (201, reaction)
}

/// Where reactions hang.
pub(crate) enum Reactable {
    Issue(u64),
    Comment(u64),
}

fn reactions_of<'a>(
    here: &'a mut ForgeRepository,
    on: &Reactable,
) -> Result<&'a mut Vec<Reaction>, ApiError> {
    match on {
        Reactable::Issue(number) => Ok(&mut here.issue_mut(*number)?.reactions),
        Reactable::Comment(id) => {
            Ok(&mut here.comments.get_mut(id).ok_or_else(ApiError::not_found)?.reactions)
        }
    }
}

pub(crate) fn reactions(call: &mut ForgeCall<'_>, owner: &str, name: &str, on: Reactable) -> ApiResult {
    let full_name = call.repository(owner, name, READ_TALK)?;
    let web = call.state.web.clone();
    let content = call.parameter("content").map(str::to_owned);
    let found = reactions_of(call.state.repository_mut(&full_name)?, &on)?;
    let items = found
        .iter()
        .filter(|reaction| content.as_deref().is_none_or(|content| reaction.content == content))
        .map(|reaction| views::reaction(reaction, &web))
        .collect();
    Ok(call.page(items))
}

pub(crate) fn create_reaction(call: &mut ForgeCall<'_>, owner: &str, name: &str, on: Reactable) -> ApiResult {
    let full_name = call.repository(owner, name, WRITE_TALK)?;
    let by = call.account()?;
    let content = call.required_text("content")?;
    if !REACTIONS.contains(&content) {
        return Err(ApiError::invalid("Reaction", "content", "invalid"));
    }
    let number = match on {
        Reactable::Issue(number) => number,
        Reactable::Comment(id) => {
            let here = call.state.repository(&full_name)?;
            here.comments.get(&id).ok_or_else(ApiError::not_found)?.issue
        }
    };
    call.state.check_open_to(&full_name, number, &by, "reaction")?;
    let id = call.state.fresh_id();
    let here = call.state.repository_mut(&full_name)?;
    let (status, reaction) = react(reactions_of(here, &on)?, id, by, content);
    Ok(Reply::new(status, views::reaction(&reaction, &here.web)))
}

pub(crate) fn delete_reaction(
    call: &mut ForgeCall<'_>,
    owner: &str,
    name: &str,
    on: Reactable,
    id: u64,
) -> ApiResult {
    let full_name = call.repository(owner, name, WRITE_TALK)?;
    reactions_of(call.state.repository_mut(&full_name)?, &on)?.retain(|reaction| reaction.id != id);
    Ok(Reply::no_content())
}
