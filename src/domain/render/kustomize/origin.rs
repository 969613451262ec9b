//! `buildMetadata`: annotations that say where objects come from and what changed them.

use crate::render::resource::Resource;

/// Whether origins are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Tracks {
    #[default]
    Nothing,
    Origins,
}

/// Where the build is, seen from the outermost kustomization.
#[derive(Debug, Clone, Default)]
pub(in crate::render) struct Origin {
    tracks: Tracks,
    path: String,
}

impl Origin {
    pub(super) const fn top(tracks: Tracks) -> Self {
        Self { tracks, path: String::new() }
    }

    /// Goes into a folder; gives back what [`Self::leave`] wants.
    pub(super) fn enter(&mut self, folder: &str) -> String {
        let inside = join(&self.path, folder);
        std::mem::replace(&mut self.path, inside)
    }

    pub(super) fn leave(&mut self, outside: String) {
        self.path = outside;
    }

    pub(super) fn of_file(&self, name: &str, resources: &mut [Resource]) {
        if self.tracks == Tracks::Nothing {
            return;
        }
        for resource in resources {
            resource.origin = Some(format!("path: {}\n", join(&self.path, name)));
        }
    }

    pub(super) fn of_generator(&self, file: &str, kind: &str) -> Option<String> {
        (self.tracks == Tracks::Origins).then(|| {
            format!(
                "configuredIn: {}\nconfiguredBy:\n  apiVersion: builtin\n  kind: {kind}\n",
                join(&self.path, file)
            )
        })
    }

    /// What has an origin was changed; what has none was made by the transformer, which none of ours does.
    pub(super) fn of_transformer(&self, file: &str, kind: &str, resources: &mut [Resource]) {
        if self.tracks == Tracks::Nothing {
            return;
        }
        for resource in resources {
            resource.transformations.push(format!(
                "- configuredIn: {}\n  configuredBy:\n    apiVersion: builtin\n    kind: {kind}\n",
                join(&self.path, file)
            ));
        }
    }
}

/// Two paths as one, without `.` and with `..` only in front.
fn join(path: &str, more: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/').chain(more.split('/')) {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    if parts.is_empty() { ".".to_owned() } else { parts.join("/") }
}
