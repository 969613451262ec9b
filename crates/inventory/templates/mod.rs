//! A release's templates: read once, rendered for each cluster (T1 to T8).
//!
//! # T3
//! An expression's value never becomes text of the template. It is stored, a mark is written in its place,
//! and after the result was read as YAML, the value is placed in the scalar with the mark. So no value can
//! change the YAML around it.
//!
//! Deliberately absent: what becomes of the objects.

mod judge;
mod known;
mod layout;
mod names;
mod part;
mod place;
mod render;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use capstan_model::finding::{Finding, Place, rules};
use capstan_model::tree::RepoPath;
use minijinja::Environment;

pub use render::{Cluster, Placement, RenderedFile, RenderedObject, RenderedTemplates, Subordinate};

use super::context::GIVEN;
use super::engine::{Guarded, ROW, environment, guard, is_limit, reason, syntax, too_long};
use super::kinds::SourceText;
use names::{lines_of, position_in};

/// Name of the folder in a release's.
pub const FOLDER: &str = "templates";

/// How many bytes a render may come to (T6); templates together may have as many.
pub const TEXT_BYTES: usize = 4 << 20;

/// How many objects a render may come to (T6).
pub const OBJECTS: usize = 10_000;

/// How deep includes may go (T6).
pub const INCLUDES: usize = 16;

/// Marks of a value that is placed later. Characters for private use, which no YAML needs: a template that holds
/// one itself is refused.
const OPEN: char = '\u{E0F0}';
/// The end of a mark.
const CLOSE: char = '\u{E0F1}';

/// What is compiled behind each template: it notes the steps that were taken until then, and writes nothing.
const NOTE_STEPS: &str = "{%+ if capstan__steps() %}{% endif %}";

/// The templates of one release.
#[derive(Debug)]
pub struct Templates {
    environment: Environment<'static>,
    /// Every file, by its name below the folder.
    files: BTreeMap<String, TemplateFile>,
    /// The steps that renders took so far.
    steps: AtomicU64,
}

#[derive(Debug)]
struct TemplateFile {
    path: RepoPath,
    text: String,
    /// Where its lines begin.
    lines: Vec<usize>,
    /// What is compiled.
    guarded: Guarded,
    /// Its expressions, ordered by where they begin.
    emissions: Vec<judge::Emission>,
}

impl TemplateFile {
    fn place(&self, offset: usize) -> Place {
        Place::at(self.path.clone(), position_in(&self.text, &self.lines, offset))
    }
}

impl Templates {
    /// Reads the files below `<release>/templates`. `None` where something is wrong in them: a release is used as
    /// a whole or not at all.
    ///
    /// # Errors
    /// What is wrong.
    pub fn read(folder: &RepoPath, files: &[SourceText]) -> Result<Self, Vec<Finding>> {
        let mut findings = Vec::new();
        let mut known = BTreeMap::new();
        let mut bytes = 0_usize;
        for source in files {
            let Some(name) = source.path.below(folder) else { continue };
            let whole = || Place::whole(source.path.clone());
            let text = match &source.bytes {
                Ok(bytes) => std::str::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned()),
                Err(reason) => Err(reason.clone()),
            };
            match text {
                Ok(text) => {
                    bytes = bytes.saturating_add(text.len());
                    known.insert(name.to_owned(), (source.path.clone(), text.to_owned()));
                }
                Err(reason) => {
                    let message = format!("this template cannot be read: {reason}");
                    findings.push(Finding::new(rules::TEMPLATE_ERROR, message).place(whole()));
                }
            }
        }
        if bytes > TEXT_BYTES {
            let message = format!("the templates have {bytes} bytes, and {TEXT_BYTES} at most are read");
            let finding = Finding::new(rules::TEMPLATE_LIMIT, message).place(Place::whole(folder.clone()));
            return Err(vec![finding]);
        }
        let Ok(mut environment) = environment(0, GIVEN) else { return Err(findings) };
        let mut read = BTreeMap::new();
        for (name, (path, text)) in known {
            let lines = lines_of(&text);
            let mut file =
                TemplateFile { path, text, lines, guarded: Guarded::default(), emissions: Vec::new() };
            if let Some(offset) = file.text.find([OPEN, CLOSE]) {
                let message =
                    "this character is for private use, and Capstan uses it to mark values: take it out";
                findings.push(Finding::new(rules::TEMPLATE_ERROR, message).place(file.place(offset)));
                continue;
            }
            if let Some(offset) = syntax().ok().and_then(|syntax| too_long(&file.text, syntax)) {
                let message = format!(
                    "more than {ROW} operators or branches are in a row here: give parts of it a name with `{{% set %}}`"
                );
                findings.push(Finding::new(rules::TEMPLATE_LIMIT, message).place(file.place(offset)));
                continue;
            }
            file.guarded = guard(&file.text);
            let compiled = file.guarded.text.clone();
            let plain = environment.add_template_owned(name.clone(), compiled.clone());
            // Where nothing is wrong nothing is open at its end, so that something may follow.
            match plain.and_then(|()| {
                environment.add_template_owned(name.clone(), format!("{compiled}{NOTE_STEPS}"))
            }) {
                Ok(()) => {
                    let judged = judge::judge(&name, &file.text);
                    findings.extend(judged.findings.into_iter().map(|(offset, message)| {
                        Finding::new(rules::TEMPLATE_ERROR, message).place(file.place(offset))
                    }));
                    file.emissions = judged.emissions;
                    read.insert(name, (file, judged.names));
                }
                Err(error) => {
                    let offset = error.range().map_or(0, |range| file.guarded.written(range.start));
                    let rule = if is_limit(&error) { rules::TEMPLATE_LIMIT } else { rules::TEMPLATE_ERROR };
                    let message = format!("this is not a template: {}", reason(&error));
                    findings.push(Finding::new(rule, message).place(file.place(offset)));
                }
            }
        }
        if findings.is_empty() {
            findings.extend(names::judge(&read));
        }
        if !findings.is_empty() {
            return Err(findings);
        }
        let files = read.into_iter().map(|(name, (file, _))| (name, file)).collect();
        Ok(Self { environment, files, steps: AtomicU64::new(0) })
    }

    /// The steps that all renders took so far.
    pub fn steps(&self) -> u64 {
        self.steps.load(Ordering::Relaxed)
    }

    /// The names of those that are rendered: the others serve includes and imports.
    fn rendered(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str).filter(|name| {
            let last = name.rsplit('/').next().unwrap_or_default();
            !last.starts_with('_') && (last.ends_with(".yaml") || last.ends_with(".yml"))
        })
    }
}
