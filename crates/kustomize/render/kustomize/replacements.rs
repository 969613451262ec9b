//! `replacements`: a value of one object copied to fields of others
//! (<https://github.com/kubernetes-sigs/kustomize/blob/master/api/filters/replacement/replacement.go>).

use serde_json::Value;

use super::field_path::{MissingPathPart, PathWay, change, look_up, split};
use super::id::{Gvk, Id};
use super::structured;
use crate::render::budget::{LOOK, RenderBudget, ValueSize, refuse_deeper};
use crate::render::error::RenderError;
use crate::render::keys::fields_of;
use crate::render::placed::{PlacedContent, PlacedValue, Scalar, SourceOffset};
use crate::render::resource::RenderedResource;
use crate::render::selector::PatchSelector;
use crate::render::spread;

/// One replacement.
pub(super) struct Replacement {
    place: SourceOffset,
    from: From,
    targets: Vec<ReplacementTarget>,
}

enum From {
    /// A text.
    Text(PlacedValue),
    /// A field of an object.
    Field { place: SourceOffset, wanted: Id, path: String, part: Option<DelimitedPart> },
}

/// A part of a text that has delimiters.
struct DelimitedPart {
    delimiter: String,
    index: i64,
}

struct ReplacementTarget {
    place: SourceOffset,
    select: PatchSelector,
    reject: Vec<PatchSelector>,
    paths: Vec<(String, SourceOffset)>,
    part: Option<DelimitedPart>,
    creates: Creates,
}

/// Whether a field stays of its kind: a number that gets the text of none breaks the object.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kinds {
    Kept,
    /// Annotations are texts in the end, whatever they were on the way.
    Any,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Creates {
    Yes,
    No,
}

/// The path where none is given.
pub(super) const NAME: &str = "metadata.name";

/// The fields of a replacement, or of what names a file of them.
pub(super) const REPLACEMENT: [&str; 4] = ["source", "sourceValue", "targets", "path"];

fn text(entry: &PlacedValue, key: &str) -> Result<Option<String>, RenderError> {
    match entry.field(key).filter(|value| !value.is_null()) {
        None => Ok(None),
        Some(value) => value
            .as_str()
            .map(|text| Some(text.to_owned()))
            .ok_or_else(|| RenderError::malformed(&value.place, format!("`{key}` is a text: quote it"))),
    }
}

fn options(entry: &PlacedValue) -> Result<(Option<DelimitedPart>, Creates), RenderError> {
    let Some(options) = entry.field("options").filter(|options| !options.is_null()) else {
        return Ok((None, Creates::No));
    };
    let fields = ["delimiter", "index", "encoding", "create"];
    let options = &*fields_of(options, "`options` of a replacement", &fields)?;
    let index = match options.field("index").map(|value| (value, value.to_value())) {
        None | Some((_, Value::Null)) => 0,
        Some((value, number)) => number
            .as_i64()
            .ok_or_else(|| RenderError::malformed(&value.place, "`index` is a whole number"))?,
    };
    let delimiter = text(options, "delimiter")?.filter(|delimiter| !delimiter.is_empty());
    let creates = match options.field("create").map(PlacedValue::to_value) {
        Some(Value::Bool(true)) => Creates::Yes,
        _ => Creates::No,
    };
    Ok((delimiter.map(|delimiter| DelimitedPart { delimiter, index }), creates))
}

impl Replacement {
    pub(super) fn read(entry: &PlacedValue, budget: &RenderBudget) -> Result<Self, RenderError> {
        let entry = &*fields_of(entry, "a replacement", &REPLACEMENT)?;
        let source = entry.field("source").filter(|source| !source.is_null());
        let value = entry.field("sourceValue").filter(|value| !value.is_null());
        let from = match (source, value) {
            (Some(source), None) => From::read(source)?,
            (None, Some(value)) => {
                let text = value.as_str().ok_or_else(|| {
                    RenderError::malformed(&value.place, "`sourceValue` is a text: quote it")
                })?;
                From::Text(PlacedValue::open(text, &value.place))
            }
            _ => {
                return Err(RenderError::malformed(
                    &entry.place,
                    "a replacement has either a `source` or a `sourceValue`: give one of them",
                ));
            }
        };
        let targets = entry.field("targets").filter(|targets| !targets.is_null()).ok_or_else(|| {
            RenderError::malformed(&entry.place, "a replacement has `targets`: say which fields it is for")
        })?;
        let targets = targets.items().iter().map(|target| ReplacementTarget::read(target, budget));
        let targets = targets.collect::<Result<_, RenderError>>()?;
        Ok(Self { place: entry.place.clone(), from, targets })
    }

    /// Copies the value.
    ///
    /// Kustomize copies from the source's own field each time: where a target changes that, what follows
    /// gets the new value, or part of it. Capstan refuses what would depend on it.
    pub(super) fn apply(
        &self,
        resources: &mut [RenderedResource],
        budget: &RenderBudget,
    ) -> Result<(), RenderError> {
        budget.pairs(resources.len(), LOOK, &self.place)?;
        let (value, own) = match &self.from {
            From::Text(value) => (value.clone(), None),
            From::Field { place, wanted, path, part } => {
                let (at, value) = source(resources, place, wanted, path, part.as_ref())?;
                (value, part.is_none().then(|| (at, split(path))))
            }
        };
        let mut stale = false;
        for target in &self.targets {
            budget.pairs(resources.len(), target.steps(), &target.place)?;
            for (at, resource) in resources.iter_mut().enumerate() {
                if !target.means(resource) {
                    continue;
                }
                if stale {
                    return Err(changes_its_source(&self.place));
                }
                stale = target.put(resource, &value, own.as_ref().filter(|own| own.0 == at), budget)?;
            }
        }
        Ok(())
    }
}

impl From {
    fn read(source: &PlacedValue) -> Result<Self, RenderError> {
        let fields = ["group", "version", "kind", "name", "namespace", "fieldPath", "options"];
        let source = &*fields_of(source, "`source` of a replacement", &fields)?;
        let get = |key: &str| text(source, key).map(Option::unwrap_or_default);
        let gvk = Gvk { group: get("group")?, version: get("version")?, kind: get("kind")? };
        let wanted = Id { gvk, namespace: get("namespace")?, name: get("name")? };
        let path = get("fieldPath")?;
        let path = if path.is_empty() { NAME.to_owned() } else { path };
        Ok(Self::Field { place: source.place.clone(), wanted, path, part: options(source)?.0 })
    }
}

/// The one object that a source names, under any of its names.
fn source(
    resources: &[RenderedResource],
    place: &SourceOffset,
    wanted: &Id,
    path: &str,
    part: Option<&DelimitedPart>,
) -> Result<(usize, PlacedValue), RenderError> {
    let namespace = |text: &str| if text.is_empty() { "default".to_owned() } else { text.to_owned() };
    let fits = |id: &Id| {
        (wanted.name.is_empty() || wanted.name == id.name)
            && (wanted.namespace.is_empty() || namespace(&wanted.namespace) == namespace(&id.namespace))
            && id.gvk.fits(&wanted.gvk)
    };
    let mut found = resources.iter().enumerate().filter(|(_, resource)| resource.ids().iter().any(fits));
    let named = || {
        let words = [wanted.gvk.kind.as_str(), wanted.namespace.as_str(), wanted.name.as_str()];
        words.iter().filter(|word| !word.is_empty()).copied().collect::<Vec<_>>().join(" ")
    };
    let (at, object) = match (found.next(), found.next()) {
        (Some(object), None) => object,
        (None, _) => {
            return Err(RenderError::reference(
                place,
                format!("there is no object {} to take a value from: correct the source", named()),
            ));
        }
        (Some(_), Some(_)) => {
            return Err(RenderError::reference(
                place,
                format!("several objects are {}: say which one to take a value from", named()),
            ));
        }
    };
    let missing = |why: &str| {
        RenderError::reference(
            place,
            format!("{} has no value at `{path}`{why}: correct the path", object.id().object_id()),
        )
    };
    let value = look_up(&object.value, &split(path))
        .map_err(|why| missing(&format!(", {why}")))?
        .filter(|value| !value.is_empty())
        .ok_or_else(|| missing(""))?;
    let Some(part) = part else {
        let mut value = value.clone();
        spread::part(&mut value);
        return Ok((at, value));
    };
    let PlacedContent::Scalar(scalar) = &value.content else {
        return Err(missing(" that a delimiter could split"));
    };
    let text = scalar.text();
    let piece = usize::try_from(part.index).ok().and_then(|index| text.split(&part.delimiter).nth(index));
    let piece = piece.ok_or_else(|| missing(&format!(" with a part {}", part.index)))?;
    let piece = scalar.with_text(piece).map_err(|why| missing(&format!(" that could be split, {why}")))?;
    Ok((at, PlacedValue { place: value.place.clone(), content: PlacedContent::Scalar(piece) }))
}

fn changes_its_source(place: &SourceOffset) -> RenderError {
    RenderError::unsupported(
        place,
        "Capstan does not render `replacements` that change their own source: put that target last, or take the value from a field that does not change",
    )
}

/// Why a field is not set.
enum RefusedReplacement {
    Misfit(String),
    TooLarge(RenderError),
}

impl ReplacementTarget {
    fn read(entry: &PlacedValue, budget: &RenderBudget) -> Result<Self, RenderError> {
        let fields = ["select", "reject", "fieldPaths", "options"];
        let entry = &*fields_of(entry, "a target of a replacement", &fields)?;
        let select = entry.field("select").filter(|select| !select.is_null()).ok_or_else(|| {
            RenderError::malformed(
                &entry.place,
                "a target of a replacement has no `select`: name its objects",
            )
        })?;
        let reject = entry.field("reject").map(PlacedValue::items).unwrap_or_default();
        let path = |item: &PlacedValue| {
            let text = item
                .as_str()
                .ok_or_else(|| RenderError::malformed(&item.place, "a field path is a text: quote it"))?;
            Ok((text.to_owned(), item.place.clone()))
        };
        let paths = entry.field("fieldPaths").map(PlacedValue::items).unwrap_or_default();
        let mut paths = paths.iter().map(path).collect::<Result<Vec<_>, RenderError>>()?;
        if paths.is_empty() {
            paths.push((NAME.to_owned(), entry.place.clone()));
        }
        let (part, creates) = options(entry)?;
        Ok(Self {
            place: entry.place.clone(),
            select: PatchSelector::read(select, budget)?,
            reject: reject
                .iter()
                .map(|reject| PatchSelector::read(reject, budget))
                .collect::<Result<_, RenderError>>()?,
            paths,
            part,
            creates,
        })
    }

    /// Steps of asking whether it means an object, of which several identities are known.
    fn steps(&self) -> usize {
        [&self.select].into_iter().chain(&self.reject).map(PatchSelector::steps).sum()
    }

    fn means(&self, resource: &RenderedResource) -> bool {
        let ids = resource.ids();
        self.select.fits_marks(resource)
            && !self.reject.iter().any(|reject| {
                (reject.has_marks() && reject.fits_marks(resource))
                    || (reject.has_names() && ids.iter().any(|id| reject.fits_id(id)))
            })
            && ids.iter().any(|id| self.select.fits_id(id))
    }

    /// Returns whether this changed the source's value.
    fn put(
        &self,
        resource: &mut RenderedResource,
        value: &PlacedValue,
        source: Option<&(usize, Vec<String>)>,
        budget: &RenderBudget,
    ) -> Result<bool, RenderError> {
        let mut stale = false;
        let missing = match (self.creates, &value.content) {
            (Creates::No, _) => MissingPathPart::Stays,
            (Creates::Yes, PlacedContent::Scalar(_)) => {
                MissingPathPart::Made(PlacedContent::Scalar(Scalar::open("")))
            }
            (Creates::Yes, PlacedContent::Mapping(_)) => {
                MissingPathPart::Made(PlacedContent::Mapping(Vec::new()))
            }
            (Creates::Yes, PlacedContent::Sequence(_)) => {
                MissingPathPart::Made(PlacedContent::Sequence(Vec::new()))
            }
        };
        for (path, place) in &self.paths {
            if stale {
                return Err(changes_its_source(place));
            }
            let parts = split(path);
            let size = ValueSize::of(value);
            budget.steps(LOOK + size.values, place)?;
            refuse_deeper(parts.len() + size.height.max(1), place)?;
            budget.size(ValueSize { values: parts.len(), bytes: path.len(), height: 0 }, place)?;
            let way = PathWay::of(&parts, &missing, place, budget)?;
            let of = Id::of(&resource.value).object_id();
            let object = &mut resource.value;
            if structured::put(object, &parts, value, &way)? {
                resource.spread();
                continue;
            }
            let kinds = match parts.as_slice() {
                [metadata, annotations, _] if metadata == "metadata" && annotations == "annotations" => {
                    Kinds::Any
                }
                _ => Kinds::Kept,
            };
            let mut exceeded = None;
            let set = &mut |field: &mut PlacedValue| {
                self.set(field, value, kinds, budget, place).map_err(|refused| match refused {
                    RefusedReplacement::Misfit(why) => why,
                    RefusedReplacement::TooLarge(error) => {
                        exceeded = Some(error);
                        String::new()
                    }
                })
            };
            let changed = change(object, &parts, &way.written_at(&value.place), set);
            if let Some(error) = exceeded {
                return Err(error);
            }
            let wrong = |why: &str| {
                RenderError::reference(
                    place,
                    format!("{of} has no field `{path}`{why}: correct the path of this target"),
                )
            };
            match changed {
                Ok(0) => return Err(wrong("")),
                Ok(_) => resource.spread(),
                Err(why) => return Err(wrong(&format!(" that could be set, {why}"))),
            }
            stale = source.is_some_and(|(_, path)| {
                let now = look_up(&resource.value, path).ok().flatten();
                now.is_none_or(|now| now.to_value() != value.to_value())
            });
        }
        Ok(stale)
    }

    fn set(
        &self,
        field: &mut PlacedValue,
        value: &PlacedValue,
        kinds: Kinds,
        budget: &RenderBudget,
        place: &SourceOffset,
    ) -> Result<(), RefusedReplacement> {
        let text = match &self.part {
            None => value.written().into_owned(),
            Some(part) => {
                if !matches!(field.content, PlacedContent::Scalar(_)) {
                    let why = "a delimiter is for single values, but this is not one";
                    return Err(RefusedReplacement::Misfit(why.to_owned()));
                }
                joined(&field.written(), part, &value.written())
            }
        };
        budget.text(text.len(), place).map_err(RefusedReplacement::TooLarge)?;
        match &field.content {
            PlacedContent::Scalar(old) => {
                let new = match (old.with_text(&text), kinds) {
                    (Err(_), Kinds::Any) => Scalar::open(&text),
                    (new, _) => new.map_err(RefusedReplacement::Misfit)?,
                };
                field.content = PlacedContent::Scalar(new);
                field.place = value.place.clone();
            }
            PlacedContent::Mapping(_) | PlacedContent::Sequence(_) => {
                budget.value(value, place).map_err(RefusedReplacement::TooLarge)?;
                *field = value.clone();
            }
        }
        Ok(())
    }
}

fn joined(old: &str, part: &DelimitedPart, new: &str) -> String {
    let mut pieces: Vec<&str> = old.split(&part.delimiter).collect();
    match usize::try_from(part.index) {
        Err(_) => pieces.insert(0, new),
        Ok(index) => match pieces.get_mut(index) {
            Some(piece) => *piece = new,
            None => pieces.push(new),
        },
    }
    pieces.join(&part.delimiter)
}
