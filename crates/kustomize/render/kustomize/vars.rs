//! `vars`: `$(NAME)` becomes the value of an object's field, in the fields that kustomize knows for it and in
//! those that a configuration names under `varReference`.
//!
//! Kustomize calls them deprecated and still renders them; the manifests that kubebuilder made for years, so
//! those of most providers, have them. Therefore they are rendered, quirks included
//! (<https://github.com/kubernetes-sigs/kustomize/tree/master/api/filters/refvar>, and `ResAccumulator`): the
//! object is looked up where a variable is defined, under any name that it has or had there, its value is
//! taken at the very end, and as soon as there is any variable, `$$` in such a field becomes `$`.

use serde_json::Value;

use super::field_path::{look_up, split};
use super::fields::{Blank, FieldSpec};
use super::id::{Gvk, Id};
use super::replacements::NAME;
use crate::render::budget::{BYTES, LOOK, RenderBudget};
use crate::render::error::{RenderError, RenderErrorKind};
use crate::render::keys::fields_of;
use crate::render::placed::{PlacedContent, PlacedValue, SourceOffset};
use crate::render::resource::RenderedResource;
use crate::render::scalar::{Tag, resolve};

/// An entry of `vars`.
#[derive(Debug, Clone)]
pub(super) struct Var {
    place: SourceOffset,
    name: String,
    wanted: Id,
    path: String,
}

impl Var {
    pub(super) fn read(entry: &PlacedValue) -> Result<Self, RenderError> {
        let entry = &*fields_of(entry, "an entry of `vars`", &["name", "objref", "fieldref"])?;
        let object = match entry.field("objref").filter(|object| !object.is_null()) {
            Some(object) => {
                let fields = ["apiVersion", "group", "version", "kind", "name", "namespace"];
                fields_of(object, "`objref` of a variable", &fields)?
            }
            None => {
                return Err(RenderError::malformed(
                    &entry.place,
                    "a variable has an `objref`: say which object it takes its value from",
                ));
            }
        };
        let mut gvk = Gvk {
            group: text(&object, "group")?,
            version: text(&object, "version")?,
            kind: text(&object, "kind")?,
        };
        let api_version = text(&object, "apiVersion")?;
        match *api_version.split('/').collect::<Vec<_>>() {
            [group, version] => (gvk.group, gvk.version) = (group.to_owned(), version.to_owned()),
            [version] if !version.is_empty() => version.clone_into(&mut gvk.version),
            _ => {}
        }
        let path = match entry.field("fieldref").filter(|field| !field.is_null()) {
            Some(field) => {
                text(&*fields_of(field, "`fieldref` of a variable", &["fieldPath"])?, "fieldPath")?
            }
            None => String::new(),
        };
        Ok(Self {
            place: entry.place.clone(),
            name: text(entry, "name")?,
            wanted: Id { gvk, namespace: text(&object, "namespace")?, name: text(&object, "name")? },
            path: if path.is_empty() { NAME.to_owned() } else { path },
        })
    }

    /// No namespace is any; one is never that of an object without.
    fn means(&self, id: &Id) -> bool {
        let wanted = &self.wanted;
        wanted.gvk == id.gvk
            && wanted.name == id.name
            && (wanted.namespace.is_empty() || wanted.namespace == id.effective_namespace())
    }

    /// The value in the object that gives it.
    fn value(&self, resources: &[RenderedResource]) -> Result<VarValue, RenderError> {
        let Some(object) = resources.iter().find(|resource| resource.gives.contains(&self.name)) else {
            return Err(RenderError::reference(
                &self.place,
                format!(
                    "there is no {} in API version `{}` for the variable `{}` to take its value from: correct its `objref`",
                    self.wanted.object_id(),
                    self.wanted.gvk.api_version(),
                    self.name
                ),
            ));
        };
        let found = look_up(&object.value, &steps(&self.path)).ok().flatten();
        found.and_then(VarValue::of).ok_or_else(|| {
            RenderError::reference(
                &self.place,
                format!(
                    "{} has no value at `{}` for the variable `{}`: correct its `fieldref`",
                    object.id().object_id(),
                    self.path,
                    self.name
                ),
            )
        })
    }
}

fn text(entry: &PlacedValue, key: &str) -> Result<String, RenderError> {
    match entry.field(key).filter(|value| !value.is_null()) {
        None => Ok(String::new()),
        Some(value) => value.as_str().map(str::to_owned).ok_or_else(|| {
            RenderError::malformed(&value.place, format!("`{key}` of a variable is a text: quote it"))
        }),
    }
}

/// The parts of a path, in which an item of a list may stand as `ports[0]`.
fn steps(path: &str) -> Vec<String> {
    let mut steps = Vec::new();
    for part in split(path) {
        let item = part.strip_suffix(']').and_then(|part| part.rsplit_once('['));
        match item.filter(|(_, index)| !index.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit())) {
            Some((list, index)) => {
                let list = (!list.is_empty()).then(|| list.to_owned());
                steps.extend(list.into_iter().chain([index.to_owned()]));
            }
            None => steps.push(part),
        }
    }
    steps
}

/// Marks the objects that give values, as they are called where the variables are defined.
pub(super) fn mark(
    vars: &[Var],
    resources: &mut [RenderedResource],
    budget: &RenderBudget,
) -> Result<(), RenderError> {
    for var in vars {
        budget.pairs(resources.len(), LOOK, &var.place)?;
        let mut found = resources.iter_mut().filter(|resource| resource.ids().iter().any(|id| var.means(id)));
        let Some(first) = found.next() else { continue };
        if found.next().is_some() {
            return Err(RenderError::reference(
                &var.place,
                format!(
                    "several objects are or were {}: say in `objref` which one the variable `{}` takes its value from",
                    var.wanted.object_id(),
                    var.name
                ),
            ));
        }
        first.gives.push(var.name.clone());
    }
    Ok(())
}

/// Adds variables to others. A name is one variable's in the whole tree.
pub(super) fn join(all: &mut Vec<Var>, more: &[Var], budget: &RenderBudget) -> Result<(), RenderError> {
    for var in more {
        budget.steps(all.len(), &var.place)?;
        if let Some(twin) = all.iter().find(|known| known.name == var.name) {
            return Err(RenderError::at(
                &var.place,
                RenderErrorKind::Duplicate,
                format!(
                    "the variable `{}` is defined here and in {} line {} too: rename one",
                    var.name,
                    twin.place.file(),
                    twin.place.position().line
                ),
            ));
        }
        all.push(var.clone());
    }
    Ok(())
}

/// Replaces the variables.
pub(super) fn replace_all(
    resources: &mut [RenderedResource],
    mut vars: Vec<Var>,
    fields: &[FieldSpec],
    budget: &RenderBudget,
) -> Result<(), RenderError> {
    vars.sort_by(|a, b| a.name.cmp(&b.name));
    if let Some(first) = vars.first() {
        let given: usize = resources.iter().map(|resource| 1 + resource.gives.len()).sum();
        budget.pairs(vars.len(), given, &first.place)?;
        budget.pairs(resources.len(), fields.len().saturating_mul(LOOK), &first.place)?;
    }
    let values = vars.iter().map(|var| Ok((var.name.as_str(), var.value(resources)?)));
    let values = values.collect::<Result<Vec<_>, RenderError>>()?;
    let Some(place) = vars.first().map(|var| &var.place) else { return Ok(()) };
    for resource in resources {
        for field in fields {
            field.visit(resource, Blank::Nothing, place, budget, &mut |found| {
                replace_below(found, &values, budget)
            })?;
        }
    }
    Ok(())
}

/// What variables give, ordered by their names.
type VarValues<'v> = [(&'v str, VarValue)];

/// The texts of a field, of its entries, or of its items, and no deeper.
fn replace_below(
    field: &mut PlacedValue,
    values: &VarValues<'_>,
    budget: &RenderBudget,
) -> Result<(), RenderError> {
    match &mut field.content {
        PlacedContent::Scalar(_) => replace(field, values, budget).map(drop),
        PlacedContent::Mapping(entries) => {
            entries.iter_mut().try_for_each(|(_, value)| replace(value, values, budget).map(drop))
        }
        PlacedContent::Sequence(items) => {
            items.iter_mut().try_for_each(|item| match replace(item, values, budget)? {
                ReplacedVar::Text => Ok(()),
                ReplacedVar::NoText => Err(RenderError::malformed(
                    &item.place,
                    "kustomize replaces variables in this list, whose items are texts: quote this one",
                )),
            })
        }
    }
}

enum ReplacedVar {
    Text,
    NoText,
}

fn replace(
    value: &mut PlacedValue,
    values: &VarValues<'_>,
    budget: &RenderBudget,
) -> Result<ReplacedVar, RenderError> {
    let PlacedContent::Scalar(scalar) = &value.content else { return Ok(ReplacedVar::NoText) };
    if !matches!(scalar.tag(), Tag::Text | Tag::Open) {
        return Ok(ReplacedVar::NoText);
    }
    let new = expand(&scalar.text(), values).ok_or_else(|| {
        RenderError::unsupported(
            &value.place,
            "Capstan does not render `vars` beside a dollar sign before a letter beyond ASCII, which kustomize breaks: write `$$` there",
        )
    })?;
    budget.text(new.as_str().map_or(0, str::len), &value.place)?;
    value.content = PlacedContent::Scalar(scalar.updated(new));
    Ok(ReplacedVar::Text)
}

/// A text with its variables replaced. One that is a variable and nothing else becomes what that gives, a
/// number for one. `None` where kustomize makes broken text of it. It ends as soon as it is longer than any render's
/// text may be.
fn expand(text: &str, values: &VarValues<'_>) -> Option<Value> {
    let mut expanded = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        expanded.push_str(before);
        if expanded.len() > BYTES {
            break;
        }
        let Some(next) = after.chars().next() else {
            expanded.push('$');
            return Some(Value::String(expanded));
        };
        if let Some((name, behind)) = after.strip_prefix('(').and_then(|after| after.split_once(')')) {
            let whole = text.len() == name.len() + "$()".len();
            let given =
                values.binary_search_by(|(known, _)| (*known).cmp(name)).ok().and_then(|at| values.get(at));
            let given = given.map(|(_, given)| given);
            match given.filter(|given| !matches!(given, VarValue::Several)) {
                Some(given) if whole => return Some(given.value()),
                Some(given) => expanded.push_str(&given.text()),
                None => expanded.extend(["$(", name, ")"]),
            }
            rest = behind;
            continue;
        }
        match next {
            '$' => expanded.push('$'),
            next if next.is_ascii() => expanded.extend(['$', next]),
            _ => return None,
        }
        rest = &after[1..];
    }
    expanded.push_str(rest);
    Some(Value::String(expanded))
}

/// What a variable gives.
#[derive(Debug, Clone, PartialEq)]
enum VarValue {
    Text(String),
    Integer(i64),
    Float(f64),
    Bool(bool),
    /// A mapping or a list: kustomize leaves the variable as it is.
    Several,
}

impl VarValue {
    fn of(value: &PlacedValue) -> Option<Self> {
        let PlacedContent::Scalar(scalar) = &value.content else { return Some(Self::Several) };
        let text = scalar.text();
        // Numbers as Go's own functions read them: `0644` is 644, and `0x10` is not a number.
        match scalar.tag() {
            Tag::Integer => text.parse().ok().map(Self::Integer),
            Tag::Float => text.parse().ok().filter(|number: &f64| number.is_finite()).map(Self::Float),
            Tag::Bool => Some(Self::Bool(text.eq_ignore_ascii_case("true"))),
            Tag::Open | Tag::Null | Tag::Date | Tag::Text => Some(Self::Text(text.into_owned())),
        }
    }

    /// As the whole scalar.
    fn value(&self) -> Value {
        match self {
            Self::Bool(value) => Value::Bool(*value),
            Self::Float(number) => resolve(&number.to_string()).value().clone(),
            Self::Integer(number) => Value::from(*number),
            Self::Text(_) | Self::Several => Value::String(self.text()),
        }
    }

    /// Within a text.
    fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Integer(number) => number.to_string(),
            Self::Bool(value) => value.to_string(),
            Self::Float(number) => float_text(*number),
            Self::Several => String::new(),
        }
    }
}

/// As Go prints a number that no format is given for.
fn float_text(number: f64) -> String {
    let size = number.abs();
    if size == 0.0 || (1e-4..1e21).contains(&size) {
        return number.to_string();
    }
    let text = format!("{number:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    match exponent.strip_prefix('-') {
        Some(exponent) => format!("{digits}e-{exponent:0>2}"),
        None => format!("{digits}e+{exponent:0>2}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn variables_are_replaced_as_go_replaces_them() {
        let values = [
            ("A", VarValue::Text("a".to_owned())),
            ("B", VarValue::Bool(true)),
            ("F", VarValue::Float(1e21)),
            ("M", VarValue::Several),
            ("N", VarValue::Integer(8)),
        ];
        let cases = [
            ("$(A)", json!("a")),
            ("$(N)", json!(8)),
            ("$(B)", json!(true)),
            ("$(N)$(B)", json!("8true")),
            ("x-$(A).$(A)", json!("x-a.a")),
            ("=$(F)", json!("=1e+21")),
            ("$(M)", json!("$(M)")),
            ("$(C) $(A)", json!("$(C) a")),
            ("$$(A)", json!("$(A)")),
            ("$$$(A)", json!("$a")),
            ("$(A", json!("$(A")),
            ("$A ${A}", json!("$A ${A}")),
            ("$()", json!("$()")),
            ("a$", json!("a$")),
            ("\u{e9}$(A)\u{e9}", json!("\u{e9}a\u{e9}")),
        ];
        for (text, expected) in cases {
            assert_eq!(expand(text, &values), Some(expected), "{text}");
        }
        assert_eq!(expand("$\u{e9}", &values), None);
    }

    #[test]
    fn items_of_lists_stand_behind_their_name_or_alone() {
        let cases = [
            ("spec.ports[0].port", vec!["spec", "ports", "0", "port"]),
            ("spec.ports.[0].port", vec!["spec", "ports", "0", "port"]),
            ("metadata.annotations.[a.io/b]", vec!["metadata", "annotations", "a.io/b"]),
            ("data.a[b]", vec!["data", "a[b]"]),
        ];
        for (path, parts) in cases {
            assert_eq!(steps(path), parts, "{path}");
        }
    }

    #[test]
    fn numbers_are_printed_as_go_prints_them() {
        let cases = [(1.5, "1.5"), (1.0, "1"), (1e21, "1e+21"), (1.5e-7, "1.5e-07"), (0.0001, "0.0001")];
        for (number, text) in cases {
            assert_eq!(float_text(number), text);
        }
    }
}
