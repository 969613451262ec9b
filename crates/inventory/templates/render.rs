//! From templates and one cluster's values to files of objects.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use capstan_kustomize::render::refused_names;
use capstan_model::dns_name::LONGEST_LABEL;
use capstan_model::finding::{Finding, Place, rules};
use capstan_model::object::{FieldPath, ObjectId, api_group};
use capstan_model::tree::RepoPath;
use capstan_yaml::{Node, Value};
use minijinja::{Environment, Error, ErrorKind, Output, OutputSpan, OutputSpanKind, State};
use serde_json::Map;

use super::judge::Emission;
use super::place::{Mark, TemplateSource, place};
use super::{CLOSE, OBJECTS, OPEN, TEXT_BYTES, Templates};
use crate::context::{ContextShape, ValueContext, plain};
use crate::engine::{FUELS, RENDER_FUEL, Structured, deepest, is_limit, reason, to_json, weight};
use crate::merge::MergedValue;
use crate::origin::{InventoryOrigin, LevelKind};
use crate::values::ClusterValues;

/// What templates know of a cluster besides its values (T2).
#[derive(Debug, Clone, Copy)]
pub struct Cluster<'c> {
    /// `cluster.name`
    pub name: &'c str,
    /// `cluster.folder`
    pub folder: &'c RepoPath,
    /// `levels.<level>.name`
    pub levels: &'c BTreeMap<LevelKind, String>,
    /// `clusters`, of a management cluster.
    pub clusters: Option<&'c [Subordinate]>,
}

/// A cluster that a management cluster manages, as its templates see it.
#[derive(Debug, Clone)]
pub struct Subordinate {
    pub name: String,
    pub folder: RepoPath,
    /// Its namespace, where it has one.
    pub namespace: Option<String>,
    /// The names of its levels.
    pub levels: BTreeMap<LevelKind, String>,
}

/// What a release's templates come to for one cluster.
#[derive(Debug, Default)]
pub struct RenderedTemplates {
    /// A file a template, ordered by name.
    pub files: Vec<RenderedFile>,
    /// The values that no template read.
    pub unused: Vec<(FieldPath, InventoryOrigin)>,
}

/// What one template comes to.
#[derive(Debug)]
pub struct RenderedFile {
    /// The template's name below `templates/`.
    pub name: String,
    /// YAML, with the template's comments and order.
    pub text: String,
    pub objects: Vec<RenderedObject>,
}

/// An object and the fields of it that hold values.
#[derive(Debug)]
pub struct RenderedObject {
    /// Which.
    pub id: ObjectId,
    /// `cluster.x-k8s.io/v1beta2`
    pub api_version: String,
    /// The document of the file, from 0.
    pub document: usize,
    /// The object.
    pub node: Node,
    /// Where it begins in the template.
    pub template: Place,
    /// Fields that hold values.
    pub placements: Vec<Placement>,
}

/// A field that holds values.
#[derive(Debug, Clone)]
pub struct Placement {
    /// The field; of a mapping or list that was placed as a whole, that.
    pub path: FieldPath,
    /// The template's expression.
    pub template: Place,
    /// The values that it read.
    pub reads: Vec<FieldPath>,
}

impl Templates {
    /// Renders all templates for a cluster.
    ///
    /// # Errors
    /// What is wrong, each with the template's place and that of every value that was read there.
    pub fn render(
        &self,
        cluster: Cluster<'_>,
        values: &ClusterValues,
    ) -> Result<RenderedTemplates, Vec<Finding>> {
        let known = known(cluster, values);
        let context = ValueContext::of(ContextShape::of(&known), None);
        let marks: Arc<Mutex<Marks>> = Arc::default();
        let mut environment = self.environment.clone();
        let (held, seen) = (Arc::clone(&marks), Arc::clone(&context));
        environment.set_formatter(move |out, state, value| emit(&held, &seen, out, state, value));
        let noted = Arc::new(AtomicU64::new(0));
        let note = Arc::clone(&noted);
        environment.add_function("capstan__steps", move |state: &State<'_, '_>| {
            note.store(state.fuel_levels().map_or(0, |(taken, _)| taken), Ordering::Relaxed);
            false
        });
        let mut rendered = RenderedTemplates::default();
        let mut findings = Vec::new();
        let (mut bytes, mut objects) = (0_usize, 0_usize);
        let mut left = RENDER_FUEL;
        for name in self.rendered() {
            let mut result = None;
            for fuel in FUELS {
                // A template that needs less than what is left has it.
                let given = fuel.min(left);
                environment.set_fuel(Some(given));
                let run = TemplateRun {
                    templates: self,
                    environment: &environment,
                    context: &context,
                    marks: &marks,
                    values,
                };
                noted.store(0, Ordering::Relaxed);
                let output = run.output(name);
                // A run that fails is charged with all that it might have taken.
                let taken = Some(noted.load(Ordering::Relaxed)).filter(|taken| *taken > 0 && output.is_ok());
                let taken = taken.unwrap_or(given).min(given);
                left -= taken;
                self.steps.fetch_add(taken, Ordering::Relaxed);
                let is_over = output.as_ref().is_err_and(is_limit);
                if is_over && given < fuel {
                    let finding = Finding::new(rules::TEMPLATE_LIMIT, over_all(name));
                    findings.push(finding.maybe_place(self.whole(name)));
                    break;
                }
                if !is_over || fuel == FUELS[FUELS.len() - 1] {
                    result = Some(run.file(name, output));
                    break;
                }
            }
            match result {
                Some(Ok(file)) => {
                    bytes = bytes.saturating_add(file.text.len());
                    objects += file.objects.len();
                    rendered.files.push(file);
                }
                Some(Err(found)) => findings.extend(found),
                None => break,
            }
            if bytes > TEXT_BYTES || objects > OBJECTS {
                let message = format!("the render exceeds {} MiB or {OBJECTS} objects", TEXT_BYTES >> 20);
                findings.push(Finding::new(rules::TEMPLATE_LIMIT, message).maybe_place(self.whole(name)));
                break;
            }
        }
        findings.extend(duplicates(&rendered.files));
        if !findings.is_empty() {
            return Err(findings);
        }
        let was_read = context.was_read();
        values.merged.leaves(&FieldPath::root(), &mut |path, leaf| {
            if leaf.value().is_some() && leaf.origin.level.kind != LevelKind::Default && !was_read(path) {
                rendered.unused.push((path.clone(), leaf.origin.clone()));
            }
        });
        Ok(rendered)
    }

    fn whole(&self, name: &str) -> Option<Place> {
        self.files.get(name).map(|file| Place::whole(file.path.clone()))
    }

    /// The template's place of a byte of what was compiled.
    fn place_of(&self, name: &str, compiled: usize) -> Option<Place> {
        self.files.get(name).map(|file| file.place(file.guarded.written(compiled)))
    }
}

/// What is said of the template at which the steps of all end.
fn over_all(name: &str) -> String {
    format!(
        "the templates of this release take more than {} million steps for one cluster: `{name}` is the first one over the limit. Use shorter loops or smaller lists",
        RENDER_FUEL / 1_000_000
    )
}

/// The values, `cluster`, `levels` and `clusters`.
fn known(cluster: Cluster<'_>, values: &ClusterValues) -> Value {
    let mut known = match values.value() {
        Value::Object(fields) => fields,
        _ => Map::new(),
    };
    let levels = |levels: &BTreeMap<LevelKind, String>| -> Value {
        levels
            .iter()
            .map(|(level, name)| (level.word().to_owned(), serde_json::json!({"name": name})))
            .collect::<Map<_, _>>()
            .into()
    };
    known.insert(
        "cluster".to_owned(),
        serde_json::json!({"name": cluster.name, "folder": cluster.folder.as_str()}),
    );
    known.insert("levels".to_owned(), levels(cluster.levels));
    if let Some(clusters) = cluster.clusters {
        let one = |one: &Subordinate| {
            serde_json::json!({
                "name": one.name,
                "folder": one.folder.as_str(),
                "namespace": one.namespace,
                "levels": levels(&one.levels),
            })
        };
        known.insert("clusters".to_owned(), clusters.iter().map(one).collect());
    }
    Value::Object(known)
}

/// Values that were put aside in one template.
#[derive(Default)]
struct Marks {
    marks: Vec<Mark>,
    /// How much had been read when the last one was made.
    read: usize,
}

/// Writes a mark in a value's stead. What is captured holds marks already, and is written as it is.
fn emit(
    marks: &Mutex<Marks>,
    context: &Arc<ValueContext>,
    out: &mut Output<'_>,
    state: &State<'_, '_>,
    value: &minijinja::Value,
) -> Result<(), Error> {
    // What is undefined elsewhere ends the render: this is a condition without its `else`.
    if value.is_undefined() {
        return Ok(());
    }
    let failed = |_| Error::new(ErrorKind::WriteFailure, "the output cannot be written");
    if let (true, Some(text)) = (value.is_safe(), value.as_str()) {
        return out.write_str(text).map_err(failed);
    }
    let json = to_json(value, &plain)?;
    let structured = value.downcast_object_ref::<Structured>();
    state.consume_fuel((weight(&json) + structured.map_or(0, Structured::written)) / 16)?;
    let text = structured.map(Structured::text);
    let mut marks = marks.lock().unwrap_or_else(PoisonError::into_inner);
    let mut reads = context.reads_since(marks.read);
    marks.read = context.mark();
    // Of a variable that was filled before, the last reading is what is known.
    if let (true, Some(last)) = (reads.is_empty(), marks.marks.last()) {
        reads.clone_from(&last.reads);
    }
    state.consume_fuel(reads.len() as u64 / 2)?;
    let number = marks.marks.len();
    marks.marks.push(Mark { value: json, text, reads });
    write!(out, "{OPEN}{number}{CLOSE}").map_err(failed)
}

struct TemplateRun<'r> {
    templates: &'r Templates,
    environment: &'r Environment<'static>,
    context: &'r Arc<ValueContext>,
    marks: &'r Mutex<Marks>,
    values: &'r ClusterValues,
}

impl TemplateRun<'_> {
    /// What the engine writes: text with marks.
    fn output(&self, name: &str) -> Result<(String, Vec<OutputSpan>), Error> {
        {
            let mut marks = self.marks.lock().unwrap_or_else(PoisonError::into_inner);
            *marks = Marks { marks: Vec::new(), read: self.context.mark() };
        }
        self.environment.get_template(name)?.render_with_spans(self.context.root())
    }

    /// What comes of it.
    fn file(
        &self,
        name: &str,
        output: Result<(String, Vec<OutputSpan>), Error>,
    ) -> Result<RenderedFile, Vec<Finding>> {
        let (text, spans) = output.map_err(|error| vec![self.failed(name, &error)])?;
        let marks = std::mem::take(&mut self.marks.lock().unwrap_or_else(PoisonError::into_inner).marks);
        if text.len() > TEXT_BYTES {
            let message = format!("the output of this template exceeds {} MiB", TEXT_BYTES >> 20);
            let finding = Finding::new(rules::TEMPLATE_LIMIT, message);
            return Err(vec![finding.maybe_place(self.templates.whole(name))]);
        }
        let source = Origins { run: self, name, spans: &spans };
        let placed = place(&text, &marks, &source).map_err(|wrong| {
            let rule = if wrong.is_limit { rules::TEMPLATE_LIMIT } else { rules::TEMPLATE_ERROR };
            let finding = Finding::new(rule, format!("{}{}", wrong.message, self.read_at(&wrong.reads)));
            vec![finding.maybe_place(source.place(wrong.offset))]
        })?;
        let mut findings = Vec::new();
        let mut objects = Vec::new();
        for (document, placed) in placed.documents.into_iter().enumerate() {
            if placed.node.is_null() {
                continue;
            }
            let begin = source.place(placed.offset).unwrap_or_else(|| Place::whole(RepoPath::root()));
            match identity(&placed.node) {
                Ok((id, api_version)) => objects.push(RenderedObject {
                    id,
                    api_version,
                    document,
                    node: placed.node,
                    template: begin,
                    placements: placed
                        .placed
                        .into_iter()
                        .map(|(path, offset, reads)| Placement {
                            path,
                            template: source.place(offset).unwrap_or_else(|| Place::whole(RepoPath::root())),
                            reads: own(&reads),
                        })
                        .collect(),
                }),
                Err((path, message)) => {
                    let field = |(at, ..): &&(FieldPath, usize, Vec<FieldPath>)| *at == path;
                    let (offset, reads) = match placed.placed.iter().find(field) {
                        Some((_, offset, reads)) => (*offset, reads.clone()),
                        None => {
                            let at = Some(&path).filter(|path| !path.is_root());
                            let written = at.and_then(|path| placed.node.at(path));
                            (written.map_or(placed.offset, |node| node.span.start), Vec::new())
                        }
                    };
                    let message = format!("{message}{}", self.read_at(&reads));
                    let finding = Finding::new(rules::TEMPLATE_ERROR, message);
                    findings.push(finding.maybe_place(source.place(offset)));
                }
            }
        }
        if findings.is_empty() {
            Ok(RenderedFile { name: name.to_owned(), text: placed.text, objects })
        } else {
            Err(findings)
        }
    }

    /// What the engine says, where, and the values that had been read since the last expression.
    fn failed(&self, name: &str, error: &Error) -> Finding {
        let mut place = self.templates.whole(name);
        let mut current: Option<&(dyn std::error::Error + 'static)> = Some(error);
        while let Some(cause) = current {
            if let Some(inner) = cause.downcast_ref::<Error>()
                && let Some(named) = inner.name()
                && let Some(found) =
                    inner.range().and_then(|range| self.templates.place_of(named, range.start))
            {
                place = Some(found);
            }
            current = cause.source();
        }
        let since = self.marks.lock().unwrap_or_else(PoisonError::into_inner).read;
        let reads = self.context.reads_since(since);
        if is_limit(error) {
            let message = format!(
                "this template exceeds the limits of a render (steps, memory or depth){}",
                self.read_at(&reads)
            );
            return Finding::new(rules::TEMPLATE_LIMIT, message).maybe_place(place);
        }
        let undefined = deepest(error).kind() == ErrorKind::UndefinedError;
        let reason = match reason(error) {
            reason if undefined => {
                format!(
                    "{reason}: set it in a level, give it a default in the schema, or write `| default(…)`"
                )
            }
            reason => reason,
        };
        let message = format!("{reason}{}", self.read_at(&reads));
        Finding::new(rules::TEMPLATE_ERROR, message).maybe_place(place)
    }

    /// `. Read there: `/a` (inventory/prod.yaml:9:3)`
    fn read_at(&self, reads: &[FieldPath]) -> String {
        const MOST: usize = 5;
        let told = own(reads).into_iter().map(|path| {
            let origin = nearest(&self.values.merged, &path);
            format!("`{path}` ({})", origin.place())
        });
        let told = capstan_model::wording::few(told, MOST, "more");
        if told.is_empty() {
            String::new()
        } else {
            format!(". Read there: {}", capstan_model::wording::list(&told))
        }
    }
}

/// What was read of the values, without `cluster` and `levels`.
fn own(reads: &[FieldPath]) -> Vec<FieldPath> {
    let known = ["cluster", "levels", "clusters"].map(|name| FieldPath::of_keys([name]));
    reads.iter().filter(|path| !known.iter().any(|name| path.starts_with(name))).cloned().collect()
}

/// The place of a value, or of the nearest one around it.
fn nearest<'m>(values: &'m MergedValue, path: &FieldPath) -> &'m InventoryOrigin {
    let mut here = values;
    for step in path.steps() {
        match here.step(step) {
            Some(below) => here = below,
            None => break,
        }
    }
    &here.origin
}

/// From a byte of what came out to a place of a template.
struct Origins<'o> {
    run: &'o TemplateRun<'o>,
    name: &'o str,
    spans: &'o [OutputSpan],
}

impl Origins<'_> {
    fn span(&self, offset: usize) -> Option<&OutputSpan> {
        let at = self.spans.partition_point(|span| span.output_range().start <= offset);
        self.spans.get(at.checked_sub(1)?)
    }

    /// Where a span begins in the template as it was written.
    fn written(&self, span: &OutputSpan) -> Option<usize> {
        let file = self.run.templates.files.get(span.name())?;
        Some(file.guarded.written(span.source_range().start))
    }

    fn emission(&self, span: &OutputSpan) -> Option<&Emission> {
        let file = self.run.templates.files.get(span.name())?;
        let begin = self.written(span)?;
        // The engine's span of an expression begins at its beginning, or at the name of its last filter.
        file.emissions.iter().find(|emission| emission.start == begin || emission.begin == begin)
    }

    fn place(&self, offset: usize) -> Option<Place> {
        let Some(span) = self.span(offset) else { return self.run.templates.place_of(self.name, 0) };
        let begin = self.written(span)?;
        let at = match span.kind() {
            OutputSpanKind::Raw => {
                begin + (offset - span.output_range().start).min(span.source_range().len())
            }
            _ => self.emission(span).map_or(begin, |emission| emission.begin),
        };
        let file = self.run.templates.files.get(span.name())?;
        Some(file.place(at))
    }
}

impl TemplateSource for Origins<'_> {
    fn indent_at(&self, offset: usize) -> Option<usize> {
        self.emission(self.span(offset)?)?.indent
    }

    fn literal_at(&self, offset: usize) -> Option<&str> {
        self.emission(self.span(offset)?)?.literal.as_deref()
    }
}

/// Who an object is; else the field to blame and what is wrong with it.
fn identity(node: &Node) -> Result<(ObjectId, String), (FieldPath, String)> {
    if node.as_mapping().is_none() {
        return Err((FieldPath::root(), "a document that is not an object: it must be a mapping".to_owned()));
    }
    let text = |keys: &[&str]| {
        let path = FieldPath::of_keys(keys);
        match node.at(&path).map(Node::value) {
            Some(Value::String(text)) if !text.is_empty() => Ok(text),
            Some(Value::Null) | None => {
                Err((path.clone(), format!("an object without `{}`", keys.join("."))))
            }
            Some(_) => Err((path.clone(), format!("`{}` of an object must be text", keys.join(".")))),
        }
    };
    let (api_version, kind) = (text(&["apiVersion"])?, text(&["kind"])?);
    let name = text(&["metadata", "name"])?;
    if name.len() > LONGEST_LABEL {
        let message = format!(
            "the name `{name}` of this {kind} has {} characters, but at most {LONGEST_LABEL} are allowed, because it becomes a label",
            name.len()
        );
        return Err((FieldPath::of_keys(["metadata", "name"]), message));
    }
    let namespace = match node.at(&FieldPath::of_keys(["metadata", "namespace"])) {
        None => None,
        Some(_) => Some(text(&["metadata", "namespace"])?),
    };
    let id = ObjectId { group: api_group(&api_version).to_owned(), kind, namespace, name };
    match refused_names(&id, &node.value()).into_iter().next() {
        Some(refused) => Err((refused.path.clone(), refused.words(&id))),
        None => Ok((id, api_version)),
    }
}

fn duplicates(files: &[RenderedFile]) -> Vec<Finding> {
    let mut known: BTreeMap<&ObjectId, &Place> = BTreeMap::new();
    let mut findings = Vec::new();
    for object in files.iter().flat_map(|file| &file.objects) {
        if let Some(first) = known.insert(&object.id, &object.template) {
            let message = format!("{} is rendered twice: also in {first}", object.id);
            let finding = Finding::new(rules::TEMPLATE_ERROR, message).object(&object.id);
            findings.push(finding.place(object.template.clone()));
        }
    }
    findings
}
