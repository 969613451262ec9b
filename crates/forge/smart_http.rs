//! Git over HTTP: fetches and pushes by the `git` program, in the stateless form of its protocol (0, 1 and 2).

use std::io::Read as _;

use gix::ObjectId;

use crate::api::{Actor, READ_CODE, WRITE_CODE, permit};
use crate::error::ApiError;
use crate::shared::SharedState;
use crate::state::State;
use crate::store::run;

/// A request below `/{owner}/{name}.git/`.
pub(crate) struct GitRequest<'a> {
    pub(crate) full_name: &'a str,
    pub(crate) method: &'a str,
    pub(crate) rest: &'a str,
    pub(crate) service: Option<&'a str>,
    /// The header `Git-Protocol`.
    pub(crate) protocol: Option<&'a str>,
    pub(crate) gzip: bool,
    pub(crate) body: &'a [u8],
}

/// Content type and body of the answer.
pub(crate) type GitAnswer = Result<(String, Vec<u8>), ApiError>;

pub(crate) fn answer(shared: &SharedState, actor: &Actor, request: &GitRequest<'_>) -> GitAnswer {
    let service = match (request.method, request.rest) {
        ("GET", "info/refs") => request.service.unwrap_or_default(),
        ("POST", service) => service,
        _ => return Err(ApiError::not_found()),
    };
    let write = service == "git-receive-pack";
    if !write && service != "git-upload-pack" {
        return Err(ApiError::new(403, "Please upgrade your git client."));
    }
    let command = {
        let state = shared.lock();
        permit_git(&state, actor, request.full_name, write).map_err(|error| match (actor, error.status) {
            // Without credentials the client must be asked for some, or it never sends them.
            (Actor::Nobody, _) => ApiError::new(401, "Authentication required"),
            _ => error,
        })?;
        let mut command = state.repository(request.full_name)?.store.command();
        if let Some(protocol) = request.protocol {
            command.env("GIT_PROTOCOL", protocol);
        }
        command
    };
    let plain = if request.gzip { gunzip(request.body)? } else { request.body.to_vec() };
    serve(shared, actor, request, service, command, &plain)
}

/// Whether somebody with these credentials may use Git on a repository.
fn permit_git(state: &State, actor: &Actor, full_name: &str, write: bool) -> Result<(), ApiError> {
    let need = if write { WRITE_CODE } else { READ_CODE };
    permit(state, actor, state.repository(full_name)?, need)
}

fn serve(
    shared: &SharedState,
    actor: &Actor,
    request: &GitRequest<'_>,
    service: &str,
    mut command: std::process::Command,
    body: &[u8],
) -> GitAnswer {
    let program = service.trim_start_matches("git-");
    if request.method == "GET" {
        command.args([program, "--stateless-rpc", "--advertise-refs", "."]);
        let advertisement = run(&mut command, b"")?;
        // A client that asks for protocol 2 gets the capabilities at once; the others a line with the service first.
        let mut answer = Vec::new();
        if !request.protocol.is_some_and(|protocol| protocol.contains("version=2"))
            || program == "receive-pack"
        {
            let line = format!("# service={service}\n");
            answer.extend_from_slice(format!("{:04x}{line}0000", line.len() + 4).as_bytes());
        }
        answer.extend(advertisement);
        return Ok((format!("application/x-{service}-advertisement"), answer));
    }
    command.args([program, "--stateless-rpc", "."]);
    let answer = if program == "receive-pack" {
        push(shared, actor, request.full_name, command, body)?
    } else {
        run(&mut command, body)?
    };
    Ok((format!("application/x-{service}-result"), answer))
}

/// Receives a push while nothing else changes the repository, and does what follows from it.
fn push(
    shared: &SharedState,
    actor: &Actor,
    full_name: &str,
    mut command: std::process::Command,
    body: &[u8],
) -> Result<Vec<u8>, ApiError> {
    let mut state = shared.lock();
    let pusher = match actor {
        Actor::User(account) => account.clone(),
        _ => state.app.bot.clone(),
    };
    for reference in pushed_references(body) {
        if state.check_rules(full_name, &reference).is_err() {
            // Git gets the rule as a refusal of that one reference.
            command.env("GIT_CONFIG_COUNT", "1");
            command.env("GIT_CONFIG_KEY_0", "receive.hideRefs").env("GIT_CONFIG_VALUE_0", &reference);
        }
    }
    let store = &state.repository(full_name)?.store;
    let before = store.references("refs/");
    let answer = run(&mut command, body)?;
    let after = state.repository(full_name)?.store.references("refs/");
    for (name, old, new) in moved(&before, &after) {
        state.reference_moved(full_name, &name, old, new, &pusher)?;
    }
    shared.outbox_changed.notify_one();
    Ok(answer)
}

type MovedRef = (String, Option<ObjectId>, Option<ObjectId>);

fn moved(before: &[(String, ObjectId)], after: &[(String, ObjectId)]) -> Vec<MovedRef> {
    let find = |list: &[(String, ObjectId)], name: &str| {
        list.iter().find(|(known, _)| known == name).map(|(_, id)| *id)
    };
    let mut found = Vec::new();
    for (name, new) in after {
        let old = find(before, name);
        if old != Some(*new) {
            found.push((name.clone(), old, Some(*new)));
        }
    }
    for (name, old) in before {
        if find(after, name).is_none() {
            found.push((name.clone(), Some(*old), None));
        }
    }
    found
}

/// The references that a push asks to move: the first lines of the request, each `old new name`.
fn pushed_references(body: &[u8]) -> Vec<String> {
    let mut names = Vec::new();
    let mut rest = body;
    while let Some(length) = rest
        .get(..4)
        .and_then(|digits| std::str::from_utf8(digits).ok())
        .and_then(|digits| usize::from_str_radix(digits, 16).ok())
        .filter(|length| *length > 4)
    {
        let Some(line) = rest.get(4..length) else { break };
        let line = line.split(|byte| *byte == 0).next().unwrap_or(line);
        names.extend(String::from_utf8_lossy(line).split_whitespace().nth(2).map(str::to_owned));
        rest = rest.get(length..).unwrap_or_default();
    }
    names
}

fn gunzip(body: &[u8]) -> Result<Vec<u8>, ApiError> {
    let mut plain = Vec::new();
    flate2::read::GzDecoder::new(body)
        .read_to_end(&mut plain)
        .map_err(|error| ApiError::new(400, format!("the body is not gzip: {error}")))?;
    Ok(plain)
}

#[cfg(test)]
mod tests {
    use super::pushed_references;

    #[test]
    fn a_push_names_its_references_before_the_flush() {
        let zero = "0".repeat(40);
        let one = "1".repeat(40);
        let line = format!("{zero} {one} refs/heads/main\0 report-status");
        let body = format!("{:04x}{line}0000PACK", line.len() + 4);
        assert_eq!(pushed_references(body.as_bytes()), ["refs/heads/main"]);
    }
}
