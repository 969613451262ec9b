//! What is known of objects' fields: types, how lists merge, which texts are values.
//!
//! | file | idea |
//! |---|---|
//! | `node` | one schema, in compact form |
//! | `definition`, `read` | CustomResourceDefinitions, read into schemas |
//! | `discover`, `sniff` | finding them in a repository |
//! | `cursor` | a place in an object as its schemas see it |
//! | `value` | quantities, durations, versions |
//! | `immutable` | validation rules that forbid a change |
//! | `built_in` | the table that Capstan brings along |
//!
//! *Who decides*: the merge's own table goes before all of this (`crate::merge::lists`). Then the
//! repository's definitions, since they are what is applied; then those in `.capstan/crds`; then the
//! built-in table. Where files of the repository define the same version of a kind differently (several
//! management clusters, say), `.capstan/crds` goes first and so settles it, else the first by path.
//! Rules that find fault ask all definitions, and speak up only where each of them does.
//!
//! Deliberately absent: defaulting, conversion between versions, and validation by expressions: the
//! server does that.

mod built_in;
mod cursor;
mod definition;
mod discover;
mod immutable;
mod node;
mod read;
mod sniff;
#[cfg(test)]
mod tests;
mod value;

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

pub use cursor::{Cursor, Origin};
pub use definition::Flaw;
pub use discover::{FOLDER, discover};
pub use immutable::{Allowed, Immutable};
pub use node::{ListType, MapKey, Schema, Type, Unlisted};
pub use value::ValueKind;

use crate::layout::Problem;
use crate::tree::RepoPath;
use crate::yaml::YamlFile;

/// Every schema that is known. Asked once for an object, then walked along with it.
#[derive(Debug, Default)]
pub struct Schemas {
    /// By kind, then in the order in which they decide.
    kinds: HashMap<Box<str>, Vec<Known>>,
    problems: Vec<Problem>,
}

/// One version of a kind as one file defines it.
#[derive(Debug)]
struct Known {
    group: Box<str>,
    version: Box<str>,
    schema: Schema,
    origin: Origin,
}

/// A file that may define kinds.
#[derive(Debug, Clone)]
pub struct SchemaFile {
    /// The file.
    pub path: RepoPath,
    /// What it counts as: [`Origin::Repository`] or [`Origin::Capstan`], given path and line.
    pub origin: fn(RepoPath, u32) -> Origin,
    /// Its content, or why it cannot be had.
    pub bytes: Result<Arc<[u8]>, String>,
}

impl SchemaFile {
    /// A file of `.capstan/crds` that cannot be read.
    fn unreadable(path: RepoPath, reason: String) -> Self {
        Self { path, origin: Origin::Capstan, bytes: Err(reason) }
    }
}

impl Schemas {
    /// The built-in table alone.
    pub fn built_in() -> &'static Self {
        static BUILT_IN: LazyLock<Schemas> = LazyLock::new(Schemas::default);
        &BUILT_IN
    }

    /// Reads files, ordered by path. One that is broken is a problem of its own and hides nothing else.
    pub fn read(files: impl IntoIterator<Item = SchemaFile>) -> Self {
        let mut schemas = Self::default();
        let mut budget = read::Budget::default();
        for file in files {
            schemas.add(file, &mut budget);
        }
        for known in schemas.kinds.values_mut() {
            order(known);
        }
        schemas.problems.sort();
        schemas
    }

    fn add(&mut self, file: SchemaFile, budget: &mut read::Budget) {
        let problem = |line: Option<u32>, column: Option<u32>, message: String| Problem {
            path: file.path.clone(),
            line,
            column,
            message,
        };
        let bytes = match &file.bytes {
            Ok(bytes) => bytes,
            Err(reason) => {
                self.problems.push(problem(None, None, format!("this file cannot be read: {reason}")));
                return;
            }
        };
        let yaml = match YamlFile::read_bytes(bytes) {
            Ok(yaml) => yaml,
            Err(error) => {
                let (line, column) = (Some(error.position.line), Some(error.position.column));
                self.problems.push(problem(line, column, error.message));
                return;
            }
        };
        let (definitions, flaws) = definition::read_file(&yaml, budget);
        let is_own = matches!((file.origin)(file.path.clone(), 1), Origin::Capstan(..));
        if is_own && definitions.is_empty() && flaws.is_empty() {
            let message = format!("no CustomResourceDefinition stands here: {FOLDER} holds nothing else");
            self.problems.push(problem(None, None, message));
        }
        for flaw in flaws {
            let (line, column) = (Some(flaw.position.line), Some(flaw.position.column));
            self.problems.push(problem(line, column, flaw.message));
        }
        for definition in definitions {
            let known = self.kinds.entry(definition.kind).or_default();
            known.extend(definition.versions.into_iter().map(|(version, schema)| Known {
                group: definition.group.clone(),
                version,
                schema,
                origin: (file.origin)(file.path.clone(), definition.line),
            }));
        }
    }

    /// What is wrong in the files, ordered by path and line.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Whether no definition was found, so that only the built-in table speaks.
    pub fn is_empty(&self) -> bool {
        self.kinds.is_empty()
    }

    /// The root of an object of this kind. `versions` are the API versions (`group/version`) that it
    /// has and goes to, at most two; the first decides where both say something.
    pub fn object<'a>(&self, kind: &str, versions: impl IntoIterator<Item = &'a str> + Clone) -> Cursor<'_> {
        let mut last = "";
        let mut distinct = move |version: &&'a str| std::mem::replace(&mut last, version) != *version;
        let versions = versions.into_iter().filter(move |version| distinct(version)).take(2);
        let mut layers = [None; 4];
        let mut built_in = [None; 2];
        let mut count = 0;
        for (at, version) in versions.enumerate() {
            if let Some(first) = self.definitions(kind, version).next() {
                layers[count] = Some(first);
                count += 1;
            }
            built_in[at] = Some(built_in::schema(kind, version));
        }
        for schema in built_in {
            layers[count] = schema;
            count += 1;
        }
        Cursor::new(layers)
    }

    /// All definitions of a kind in an API version (`group/version`), in the order in which they decide.
    pub fn definitions(&self, kind: &str, api_version: &str) -> impl Iterator<Item = (&Schema, &Origin)> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let of_kind = self.kinds.get(kind).map(Vec::as_slice).unwrap_or_default();
        of_kind
            .iter()
            .filter(move |known| *known.group == *group && *known.version == *version)
            .map(|known| (&known.schema, &known.origin))
    }
}

/// The repository's before `.capstan/crds`, unless the repository's disagree.
fn order(known: &mut [Known]) {
    let is_own = |known: &Known| matches!(known.origin, Origin::Capstan(..));
    let disagree: Vec<(Box<str>, Box<str>)> = known
        .iter()
        .filter(|one| {
            known.iter().any(|other| {
                !is_own(one)
                    && !is_own(other)
                    && one.group == other.group
                    && one.version == other.version
                    && one.schema != other.schema
            })
        })
        .map(|known| (known.group.clone(), known.version.clone()))
        .collect();
    known.sort_by_key(|known| {
        let settles =
            disagree.iter().any(|(group, version)| *group == known.group && *version == known.version);
        is_own(known) != settles
    });
}
