//! Folders and files of a repository at a revision.

use std::collections::BTreeSet;

use askama::Template;

use super::layout::rendered;
use super::page::{Page, Shown};
use crate::error::ApiError;
use crate::state::{ForgeRepository, State};
use crate::url_encoding::encode;

#[derive(Template)]
#[template(
    ext = "html",
    source = r#"<nav class="tabs"><a href="/{{ name }}">Pull requests</a><a class="here" href="/{{ name }}/tree/{{ revision }}">Files</a></nav>
<p><a href="/{{ name }}/tree/{{ revision }}">{{ name }}</a>{% for (part, path) in way %} / <a href="/{{ name }}/tree/{{ revision }}/{{ path }}">{{ part }}</a>{% endfor %} <span class="quiet small">at {{ revision }}</span></p>
{% if let Some(lines) = lines %}
<div class="box"><div class="scroll"><table class="code">{% for (number, line) in lines %}<tr id="L{{ number }}"><td class="n">{{ number }}</td><td>{{ line }}</td></tr>
{% endfor %}</table></div></div>
{% else %}
<div class="box"><ul class="rows">{% for (entry, path) in entries %}<li><a href="/{{ name }}/tree/{{ revision }}/{{ path }}">{{ entry }}</a></li>
{% endfor %}</ul></div>
{% endif %}"#
)]
struct FilesView<'a> {
    name: &'a str,
    revision: &'a str,
    /// The folders on the way, with their paths.
    way: Vec<(&'a str, String)>,
    lines: Option<Vec<(usize, &'a str)>>,
    entries: Vec<(String, String)>,
}

pub(super) fn show(state: &State, full_name: &str, revision: &str, path: &str) -> Shown {
    let here = state.repository(full_name)?;
    let commit = if revision == "HEAD" { here.branch(&here.default_branch) } else { here.resolve(revision) };
    let tree = here.store.known_commit(commit.ok_or_else(ApiError::not_found)?)?.tree;
    let entry = if path.is_empty() { None } else { here.store.entry(tree, path)? };
    let text = match entry {
        Some(entry) if !entry.is_tree() => {
            let blob = here.store.blob(entry.id)?.ok_or_else(ApiError::not_found)?;
            Some(String::from_utf8_lossy(&blob).into_owned())
        }
        Some(_) => None,
        None if path.is_empty() => None,
        None => return Err(ApiError::not_found()),
    };
    let entries = if text.is_none() { entries(here, tree, path)? } else { Vec::new() };
    let name = here.full_name();
    let revision = encode(revision);
    let mut way = Vec::new();
    let mut so_far = String::new();
    for part in path.split('/').filter(|part| !part.is_empty()) {
        so_far.push_str(if so_far.is_empty() { "" } else { "/" });
        so_far.push_str(&encode(part));
        way.push((part, so_far.clone()));
    }
    let lines =
        text.as_ref().map(|text| text.lines().enumerate().map(|(index, line)| (index + 1, line)).collect());
    let body = rendered(&FilesView { name: &name, revision: &revision, way, lines, entries })?;
    Ok(Page { title: if path.is_empty() { name.clone() } else { path.to_owned() }, body })
}

/// What a folder holds, with addresses: folders first.
fn entries(
    here: &ForgeRepository,
    tree: gix::ObjectId,
    path: &str,
) -> Result<Vec<(String, String)>, ApiError> {
    let prefix = if path.is_empty() { String::new() } else { format!("{path}/") };
    let (mut folders, mut files) = (BTreeSet::new(), BTreeSet::new());
    for (found, entry) in here.store.flatten(tree)? {
        let Some(rest) = found.strip_prefix(&prefix).filter(|_| !entry.is_tree()) else { continue };
        match rest.split_once('/') {
            Some((folder, _)) => folders.insert(folder.to_owned()),
            None => files.insert(rest.to_owned()),
        };
    }
    let address = |name: &str| format!("{prefix}{name}").split('/').map(encode).collect::<Vec<_>>().join("/");
    let folders = folders.into_iter().map(|name| (format!("{name}/"), address(&name)));
    let files = files.into_iter().map(|name| (name.clone(), address(&name)));
    Ok(folders.chain(files).collect())
}
