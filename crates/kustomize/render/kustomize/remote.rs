//! Remote resources and bases: never fetched, read only where the repository keeps them.
//!
//! `https://github.com/acme/x//config?ref=v1` is looked for in `.capstan/vendor/github.com/acme/x@v1/config`,
//! `https://example.com/crds/a.yaml` in `.capstan/vendor/example.com/crds/a.yaml`.

use crate::render::error::RenderError;
use crate::render::placed::SourceOffset;
use capstan_model::tree::{RepoPath, Tree};

/// Something that is not in the repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RemoteResource {
    /// Without credentials and without what else a query may hold.
    shown: String,
    /// Below the folder of vendored things.
    path: String,
}

/// Where a repository keeps what is remote.
const VENDOR: &str = ".capstan/vendor";

impl RemoteResource {
    /// Whether kustomize would fetch this: a URL, `host:path` as ssh writes it, or a path on GitHub.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = text.strip_prefix("git::").unwrap_or(text);
        let (address, query) = text.split_once('?').unwrap_or((text, ""));
        let reference = |key: &str| {
            query.split('&').filter_map(|pair| pair.split_once('=')).find(|(name, _)| *name == key)
        };
        let reference = reference("ref").or_else(|| reference("version")).map(|(_, value)| value);
        let (scheme, rest) = match address.split_once("://") {
            Some((scheme, rest)) => (format!("{scheme}://"), rest),
            None => (String::new(), address),
        };
        let host_end = rest.find(['/', ':']).unwrap_or(rest.len());
        let user = rest.get(..host_end).and_then(|host| host.rfind('@'));
        let (host_start, has_user) = user.map_or((0, false), |at| (at + 1, true));
        // A password may hold the signs that end a host.
        let host_start = match rest.rfind('@') {
            Some(at) if !scheme.is_empty() && !rest.get(..at).is_some_and(|start| start.contains('/')) => {
                at + 1
            }
            _ => host_start,
        };
        let bare = rest.get(host_start..)?;
        let github = ["github.com/", "github.com:"].iter().any(|start| bare.starts_with(start));
        let is_remote =
            !scheme.is_empty() || (has_user && bare.contains(':')) || github || reference.is_some();
        if !is_remote {
            return None;
        }
        let shown = format!("{scheme}{bare}{}", reference.map(|at| format!("?ref={at}")).unwrap_or_default());
        Some(Self { shown, path: vendored_path(bare, reference) })
    }

    /// Where the repository keeps it.
    pub(super) fn vendored(&self, tree: &dyn Tree, place: &SourceOffset) -> Result<RepoPath, RenderError> {
        let path = RepoPath::parse(VENDOR).and_then(|vendor| vendor.join(&self.path)).ok();
        let path = path.filter(|path| path.as_str().starts_with(VENDOR));
        match path {
            Some(path) if tree.entry(&path).is_some() || !tree.entries_in(&path).is_empty() => Ok(path),
            _ => Err(RenderError::unsupported(
                place,
                format!(
                    "`{}` is outside the repository, and Capstan fetches nothing: copy it to {VENDOR}/{}, where Capstan looks for it, or list your own copy",
                    self.shown, self.path
                ),
            )),
        }
    }
}

fn vendored_path(bare: &str, reference: Option<&str>) -> String {
    let address = bare.replacen(':', "/", 1);
    let (repository, inside) = match address.split_once("//") {
        Some((repository, inside)) => (repository.to_owned(), inside.to_owned()),
        None => match address.split_once(".git/") {
            Some((repository, inside)) => (repository.to_owned(), inside.to_owned()),
            None if reference.is_some() || address.starts_with("github.com/") => {
                // Host, organisation and repository.
                let parts: Vec<&str> = address.split('/').collect();
                let (repository, inside) = parts.split_at(parts.len().min(3));
                (repository.join("/"), inside.join("/"))
            }
            None => (address.clone(), String::new()),
        },
    };
    let repository = repository.trim_end_matches('/').trim_end_matches(".git");
    let at = reference.map(|reference| format!("@{reference}")).unwrap_or_default();
    format!("{repository}{at}/{inside}").trim_end_matches('/').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remote_things_have_one_place_in_the_repository_and_their_credentials_are_not_shown() {
        let cases = [
            ("../base", None),
            ("base/v1.2", None),
            ("github.com/acme/x?ref=v1", Some(("github.com/acme/x?ref=v1", "github.com/acme/x@v1"))),
            (
                "https://github.com/acme/x//config/default?ref=v1&timeout=9",
                Some((
                    "https://github.com/acme/x//config/default?ref=v1",
                    "github.com/acme/x@v1/config/default",
                )),
            ),
            (
                "https://github.com/acme/x/config?ref=v1",
                Some(("https://github.com/acme/x/config?ref=v1", "github.com/acme/x@v1/config")),
            ),
            ("git@github.com:acme/x.git", Some(("github.com:acme/x.git", "github.com/acme/x"))),
            (
                "https://bot:s3cret@git.acme.io/x/y.git//a?ref=main",
                Some(("https://git.acme.io/x/y.git//a?ref=main", "git.acme.io/x/y@main/a")),
            ),
            (
                "https://raw.example.com/a/b.yaml?token=s3cret",
                Some(("https://raw.example.com/a/b.yaml", "raw.example.com/a/b.yaml")),
            ),
            (
                "ssh://git@git.acme.io:2222/x/y?version=v2",
                Some(("ssh://git.acme.io:2222/x/y?ref=v2", "git.acme.io/2222/x@v2/y")),
            ),
        ];
        for (text, expected) in cases {
            let found = RemoteResource::parse(text);
            let found = found.as_ref().map(|remote| (remote.shown.as_str(), remote.path.as_str()));
            assert_eq!(found, expected, "{text}");
        }
    }
}
