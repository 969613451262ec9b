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
//! | `limits` | how many, how long, how large, what must be there |
//! | `built_in` | what Capstan brings along, of Cluster API's own kinds every field |
//!
//! *Who decides*: the merge's own table goes before all of this (`capstan_plan::merge::lists`). Then the
//! repository's definitions, since they are what is applied; then those in `.capstan/crds`; then the
//! built-in table. Where files of the repository define the same version of a kind differently (several
//! management clusters, say), `.capstan/crds` goes first and so settles it, else the first by path.
//! Rules that find fault ask all definitions, and speak up only where each of them does; of Cluster API's own
//! kinds, of which there is none, they ask the built-in one.
//!
//! Deliberately absent: defaulting, conversion between versions, and validation by expressions: the
//! server does that.

mod built_in;
mod cursor;
mod definition;
mod immutable;
mod limits;
mod node;
mod read;
mod sniff;
#[cfg(test)]
mod tests;
mod value;

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, OnceLock};

pub use built_in::fields::{FieldContent, NEWEST_MINOR as CLUSTER_API_MINOR, TypeField, TypeFields, Zero};
pub use built_in::limits::is_filled_in;
pub use cursor::{Cursor, SchemaOrigin};
pub use definition::Flaw;
pub use immutable::{Absent, Immutable, RuleAllows};
pub use limits::{Pattern, Range, ValueLimits};
pub use node::{ListType, MapKey, Schema, SchemaParts, SchemaType, Unlisted};
pub use sniff::may_define as seems_to_define;
pub use value::ValueKind;
pub use value::nanoseconds;

use definition::KindDefinition;

use capstan_model::finding::{FileError, Place, Position, rules};
use capstan_model::tree::RepoPath;
use capstan_yaml::YamlFile;

/// Where definitions lie that are there for Capstan.
pub const FOLDER: &str = ".capstan/crds";

/// Every schema that is known. Asked once for an object, then walked along with it.
///
/// A file is parsed when somebody asks for a kind that its text names: a repository may hold megabytes
/// of definitions, and its clusters are of a dozen kinds.
#[derive(Debug, Default)]
pub struct Schemas {
    /// Ordered by path.
    files: Vec<LazyFile>,
    kinds: HashMap<Box<str>, LazyKind>,
}

#[derive(Debug)]
struct LazyFile {
    file: SchemaFile,
    read: OnceLock<FileRead>,
}

/// What a file defines, and what is wrong in it.
#[derive(Debug, Default)]
struct FileRead {
    definitions: Vec<(KindDefinition, SchemaOrigin)>,
    problems: Vec<FileError>,
}

/// A kind that some files name.
#[derive(Debug, Default)]
struct LazyKind {
    files: Vec<usize>,
    /// In the order in which they decide.
    known: OnceLock<Vec<DefinitionIndex>>,
}

/// One version of a kind as one file defines it: indexes of file, definition, version.
#[derive(Debug, Clone, Copy)]
struct DefinitionIndex {
    file: usize,
    definition: usize,
    version: usize,
}

/// How many files may define one kind.
const FILES_OF_A_KIND: usize = 100;

/// A file that may define kinds. One in [`FOLDER`] is Capstan's own and takes precedence over the
/// repository's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaFile {
    /// The file.
    pub path: RepoPath,
    /// Its content, or why it cannot be had.
    pub bytes: Result<Arc<[u8]>, String>,
}

impl SchemaFile {
    /// Whether a file is in [`FOLDER`].
    pub fn is_own(path: &RepoPath) -> bool {
        path.as_str().strip_prefix(FOLDER).is_some_and(|rest| rest.starts_with('/'))
    }

    /// The place of its definition.
    fn origin(&self, line: u32) -> SchemaOrigin {
        let of = if Self::is_own(&self.path) { SchemaOrigin::Capstan } else { SchemaOrigin::Repository };
        of(Place::line_of(self.path.clone(), line))
    }
}

impl Schemas {
    /// The built-in table alone.
    pub fn built_in() -> &'static Self {
        static BUILT_IN: LazyLock<Schemas> = LazyLock::new(Schemas::default);
        &BUILT_IN
    }

    /// Takes files, ordered by path. One that is broken is a problem of its own and hides nothing else.
    pub fn read(files: impl IntoIterator<Item = SchemaFile>) -> Self {
        let mut schemas = Self::default();
        for file in files {
            let at = schemas.files.len();
            let text = file.bytes.as_ref().ok().and_then(|bytes| std::str::from_utf8(bytes).ok());
            for kind in text.map(sniff::kinds).into_iter().flatten() {
                let known: &mut LazyKind = schemas.kinds.entry(kind.into()).or_default();
                if known.files.last() != Some(&at) && known.files.len() < FILES_OF_A_KIND {
                    known.files.push(at);
                }
            }
            schemas.files.push(LazyFile { file, read: OnceLock::new() });
        }
        schemas
    }

    /// What is wrong in the files, ordered by path and line. Reads them all.
    pub fn problems(&self) -> Vec<FileError> {
        let mut problems: Vec<FileError> =
            self.files.iter().flat_map(|file| file.read().problems.iter().cloned()).collect();
        problems.sort();
        problems
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
    pub fn definitions(
        &self,
        kind: &str,
        api_version: &str,
    ) -> impl Iterator<Item = (&Schema, &SchemaOrigin)> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        self.of_kind(kind)
            .filter(move |(definition, name, _)| *definition.group == *group && ***name == *version)
            .filter_map(|(definition, name, origin)| {
                let (_, schema) = definition.versions.iter().find(|(version, _)| version == name)?;
                Some((schema, origin))
            })
    }

    /// What objects of a kind in an API version (`group/version`) are judged by: its definitions, in the order
    /// in which they decide. Where there is none, the built-in one of Cluster API's own kinds (v1beta1 and
    /// v1beta2), which knows every field up to Cluster API 1.[`CLUSTER_API_MINOR`].
    pub fn judges(&self, kind: &str, api_version: &str) -> impl Iterator<Item = (&Schema, &SchemaOrigin)> {
        let mut definitions = self.definitions(kind, api_version).peekable();
        let built_in =
            definitions.peek().is_none().then(|| built_in::definition(kind, api_version)).flatten();
        definitions.chain(built_in)
    }

    /// Where it is defined that a kind is not served in an API version (`group/version`), and in which
    /// versions it is; `None` where no definition has that version, or one serves it.
    pub fn not_served(&self, kind: &str, api_version: &str) -> Option<(&SchemaOrigin, Vec<&str>)> {
        let (group, version) = api_version.split_once('/')?;
        let served = self.served(kind, group);
        let mut of_kind = self.of_kind(kind);
        let (_, _, origin) =
            of_kind.find(|(known, name, _)| *known.group == *group && ***name == *version)?;
        (!served.contains(&version)).then_some((origin, served))
    }

    /// The versions of a kind that its definitions serve, each once; none where no definition is at hand.
    pub fn served(&self, kind: &str, group: &str) -> Vec<&str> {
        let mut served = Vec::new();
        for (definition, name, _) in self.of_kind(kind).filter(|(known, ..)| *known.group == *group) {
            if !definition.unserved.contains(name) && !served.contains(&&**name) {
                served.push(&**name);
            }
        }
        served
    }

    /// Every version of a kind that a file defines.
    fn of_kind(&self, kind: &str) -> impl Iterator<Item = (&KindDefinition, &Box<str>, &SchemaOrigin)> {
        let known = self.kinds.get(kind).map(|lazy| lazy.known.get_or_init(|| self.order(kind, lazy)));
        known.into_iter().flatten().filter_map(|known| {
            let (definition, origin) =
                self.files.get(known.file)?.read().definitions.get(known.definition)?;
            Some((definition, &definition.versions.get(known.version)?.0, origin))
        })
    }

    /// The repository's before `.capstan/crds`, unless the repository's disagree.
    fn order(&self, kind: &str, lazy: &LazyKind) -> Vec<DefinitionIndex> {
        struct SchemaCandidate<'s> {
            known: DefinitionIndex,
            group: &'s str,
            version: &'s str,
            schema: &'s Schema,
            is_own: bool,
        }
        let mut found: Vec<SchemaCandidate<'_>> = Vec::new();
        for file in &lazy.files {
            let Some(read) = self.files.get(*file).map(LazyFile::read) else { continue };
            for (definition, (defined, origin)) in read.definitions.iter().enumerate() {
                if *defined.kind != *kind {
                    continue;
                }
                let is_own = matches!(origin, SchemaOrigin::Capstan(_));
                found.extend(defined.versions.iter().enumerate().map(|(version, (name, schema))| {
                    SchemaCandidate {
                        known: DefinitionIndex { file: *file, definition, version },
                        group: &defined.group,
                        version: name,
                        schema,
                        is_own,
                    }
                }));
            }
        }
        let of_one =
            |a: &SchemaCandidate<'_>, b: &SchemaCandidate<'_>| a.group == b.group && a.version == b.version;
        let disagrees = |one: &SchemaCandidate<'_>| {
            let mut others = found.iter().filter(|other| of_one(one, other) && !other.is_own);
            let first = others.next();
            first.is_some_and(|first| others.any(|other| other.schema != first.schema))
        };
        let later: Vec<bool> = found.iter().map(|one| one.is_own != disagrees(one)).collect();
        let mut order: Vec<(bool, DefinitionIndex)> =
            later.into_iter().zip(&found).map(|(later, candidate)| (later, candidate.known)).collect();
        order.sort_by_key(|(later, _)| *later);
        order.into_iter().map(|(_, known)| known).collect()
    }
}

impl LazyFile {
    fn read(&self) -> &FileRead {
        self.read.get_or_init(|| read_file(&self.file))
    }
}

fn read_file(file: &SchemaFile) -> FileRead {
    let problem = |position: Option<Position>, message: String| {
        FileError::new(rules::INVALID_DEFINITION, Place::maybe_at(file.path.clone(), position), message)
    };
    let broken = |problem: FileError| FileRead { definitions: Vec::new(), problems: vec![problem] };
    let bytes = match &file.bytes {
        Ok(bytes) => bytes,
        Err(reason) => return broken(problem(None, format!("this file cannot be read: {reason}"))),
    };
    let yaml = match YamlFile::read_bytes(bytes) {
        Ok(yaml) => yaml,
        Err(error) => {
            return broken(problem(Some(error.position), error.message));
        }
    };
    let (definitions, flaws) = definition::read_file(&yaml);
    if SchemaFile::is_own(&file.path) && definitions.is_empty() && flaws.is_empty() {
        let message = format!("this is not a CustomResourceDefinition: {FOLDER} holds nothing else");
        return broken(problem(None, message));
    }
    let flaw = |flaw: Flaw| problem(Some(flaw.position), flaw.message);
    let placed = |definition: KindDefinition| {
        let origin = file.origin(definition.line);
        (definition, origin)
    };
    FileRead {
        definitions: definitions.into_iter().map(placed).collect(),
        problems: flaws.into_iter().map(flaw).collect(),
    }
}
