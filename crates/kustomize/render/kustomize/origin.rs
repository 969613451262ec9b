//! `buildMetadata`: annotations that say where objects come from and what changed them.
//!
//! While a tree is built they are annotations like others, as in kustomize: a patch that replaces all
//! annotations makes an object look as if the patch had made it.

use super::id::text_at;
use crate::render::budget::RenderBudget;
use crate::render::error::RenderError;
use crate::render::placed::PlacedValue;
use crate::render::resource::RenderedResource;
use crate::render::spread::part;

/// Whether origins are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Tracks {
    #[default]
    Nothing,
    Origins,
}

/// Where the build is, seen from the outermost kustomization.
#[derive(Debug, Clone, Default)]
pub(in crate::render) struct BuildOrigin {
    tracks: Tracks,
    path: String,
}

pub(super) const ORIGIN: &str = "config.kubernetes.io/origin";
pub(super) const TRANSFORMATIONS: &str = "alpha.config.kubernetes.io/transformations";

impl BuildOrigin {
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

    pub(super) fn of_file(&self, name: &str, resources: &mut [RenderedResource]) {
        if self.tracks == Tracks::Nothing {
            return;
        }
        for resource in resources {
            annotate(&mut resource.value, ORIGIN, &format!("path: {}\n", join(&self.path, name)));
        }
    }

    /// What is made by a step that is written somewhere: `step` says where.
    pub(super) fn of_generator(&self, step: &str, value: &mut PlacedValue) {
        if self.tracks == Tracks::Origins && annotation(value, ORIGIN).is_none() {
            annotate(value, ORIGIN, step);
        }
    }

    pub(super) fn of_transformer(
        &self,
        step: &str,
        resources: &mut [RenderedResource],
        budget: &RenderBudget,
    ) -> Result<(), RenderError> {
        if self.tracks == Tracks::Nothing {
            return Ok(());
        }
        for resource in resources {
            let value = &mut resource.value;
            if annotation(value, ORIGIN).is_none() {
                annotate(value, ORIGIN, step);
                continue;
            }
            let mut all = annotation(value, TRANSFORMATIONS).unwrap_or_default();
            budget.text(step.len(), &value.place)?;
            budget.steps(all.len(), &value.place)?;
            for (at, line) in step.lines().enumerate() {
                all.push_str(if at == 0 { "- " } else { "  " });
                all.push_str(line);
                all.push('\n');
            }
            annotate(value, TRANSFORMATIONS, &all);
        }
        Ok(())
    }

    /// A step of a kustomization's own field.
    pub(super) fn step(&self, file: &str, kind: &str) -> String {
        format!(
            "configuredIn: {}\nconfiguredBy:\n  apiVersion: builtin\n  kind: {kind}\n",
            join(&self.path, file)
        )
    }

    /// A step that is an object of a file, or of the kustomization itself.
    pub(super) fn plugin_step(&self, file: &str, plugin: &PlacedValue) -> String {
        let place = annotation(plugin, ORIGIN)
            .and_then(|origin| Some(origin.strip_prefix("path: ")?.trim_end().to_owned()))
            .unwrap_or_else(|| join(&self.path, file));
        let mut step = format!(
            "configuredIn: {place}\nconfiguredBy:\n  apiVersion: builtin\n  kind: {}\n",
            text_at(plugin, &["kind"])
        );
        for field in ["name", "namespace"] {
            match text_at(plugin, &["metadata", field]) {
                text if text.is_empty() => {}
                text => step = format!("{step}  {field}: {text}\n"),
            }
        }
        step
    }
}

fn annotation(value: &PlacedValue, key: &str) -> Option<String> {
    Some(value.at(&["metadata", "annotations", key])?.written().into_owned())
}

/// Kustomize writes all annotations again.
fn annotate(value: &mut PlacedValue, key: &str, text: &str) {
    let place = value.place.clone();
    if let Some(annotations) = value.mapping_at(&["metadata", "annotations"], &place) {
        part(annotations);
        annotations.set(key, PlacedValue::text(text, &place));
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
