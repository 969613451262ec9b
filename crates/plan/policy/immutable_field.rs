//! `immutable-field`

use super::evidence::Evidence;
use super::fitting::{Trail, defined_in};
use super::rule::{About, PolicyRule};
use capstan_kustomize::render::{PlacedContent, PlacedValue, RenderedObject, diff_placed};
use capstan_kustomize::schema::{Absent, Immutable, ListType, MapKey, RuleAllows, Schema, SchemaOrigin};
use capstan_model::finding::{Finding, Place, rules};
use capstan_model::object::FieldPath;

pub(super) struct ImmutableField;

static ABOUT: About =
    About::new(rules::IMMUTABLE_FIELD, include_str!("../../../docs/rules/immutable-field.md"));

impl PolicyRule for ImmutableField {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn compare(&self, change: &Evidence<'_>, verdicts: &mut Vec<Finding>) {
        for (old, new) in change.pairs() {
            let mut definitions = change.schemas.definitions(&new.id.kind, &new.api_version);
            let Some((first, origin)) = definitions.next() else { continue };
            let mut broken = broken_in(first, old, new);
            for (other, _) in definitions {
                let there = broken_in(other, old, new);
                broken.retain(|one| there.iter().any(|other| other.path == one.path));
            }
            verdicts.extend(broken.into_iter().map(|broken| broken.verdict(change, new, origin)));
        }
    }
}

/// A rule that a change breaks.
struct BrokenRule<'a> {
    rule: &'a Immutable,
    path: FieldPath,
    place: Place,
}

impl BrokenRule<'_> {
    fn verdict(self, change: &Evidence<'_>, object: &RenderedObject, origin: &SchemaOrigin) -> Finding {
        let Self { rule, path, place } = self;
        let said = rule.message.as_deref().map(|said| format!(", “{said}”")).unwrap_or_default();
        let message = format!(
            "`{path}` of {} is immutable once the object exists ({}{said}): revert the change, or add a new object with a new name",
            object.id,
            defined_in(origin),
        );
        let verdict =
            Finding::new(rules::IMMUTABLE_FIELD, message).object(&object.id).path(&path).place(place);
        change.in_words_of_the_occasion(verdict)
    }
}

fn broken_in<'a>(schema: &'a Schema, old: &RenderedObject, new: &RenderedObject) -> Vec<BrokenRule<'a>> {
    let mut walk = ImmutableWalk { object: new, found: Vec::new() };
    walk.pair(schema, &old.placed, &new.placed, &Trail::Root);
    walk.found
}

struct ImmutableWalk<'w, 'a> {
    object: &'w RenderedObject,
    found: Vec<BrokenRule<'a>>,
}

impl<'a> ImmutableWalk<'_, 'a> {
    fn pair(&mut self, schema: &'a Schema, old: &PlacedValue, new: &PlacedValue, path: &Trail<'_>) {
        if !schema.guards {
            return;
        }
        for rule in &schema.immutable {
            self.judge(rule, old, new, &path.path());
        }
        match (&old.content, &new.content) {
            (PlacedContent::Mapping(_), PlacedContent::Mapping(fields)) => {
                for (name, new) in fields {
                    let status = matches!(path, Trail::Root) && name == "status";
                    if let (Some(below), Some(old), false) = (schema.field(name), old.field(name), status) {
                        self.pair(below, old, new, &Trail::Key(path, name));
                    }
                }
            }
            // Items of other lists have no old self: the server cannot tell which it was.
            (PlacedContent::Sequence(old), PlacedContent::Sequence(new)) => {
                let (Some(item), Some(ListType::Map(keys))) = (schema.item(), &schema.list) else { return };
                for (at, new) in new.iter().enumerate() {
                    if let Some(old) = old.iter().find(|old| key(old, keys) == key(new, keys)) {
                        self.pair(item, old, new, &Trail::Index(path, at));
                    }
                }
            }
            _ => {}
        }
    }

    fn judge(&mut self, rule: &'a Immutable, old: &PlacedValue, new: &PlacedValue, path: &FieldPath) {
        let below = |value: &'_ PlacedValue| -> Option<PlacedValue> {
            rule.below.iter().try_fold(value, |value, name| value.field(name)).cloned()
        };
        let present = |value: Option<PlacedValue>| value.filter(|value| !value.is_null());
        let was = present(below(old)).filter(|old| rule.absent == Absent::Alone || !says_nothing(old));
        let at = rule.below.iter().fold(path.clone(), |path, name| path.key(name));
        let place = match (was, present(below(new))) {
            (Some(_), Some(_)) if rule.changing == RuleAllows::Yes => return,
            (Some(old), Some(new)) => {
                let Some(first) = diff_placed(&self.object.id, &old, &new).into_iter().next() else { return };
                let place =
                    first.new_place.map_or_else(|| Place::from(&new.place), |place| Place::from(&place));
                let path: FieldPath = at
                    .steps()
                    .iter()
                    .cloned()
                    .chain(first.path.steps().iter().cloned())
                    .collect::<FieldPath>();
                self.found.push(BrokenRule { rule, path, place });
                return;
            }
            (None, Some(new)) if rule.setting == RuleAllows::No => Place::from(&new.place),
            (Some(_), None) if rule.removing == RuleAllows::No => Place::from(&new.place),
            _ => return,
        };
        self.found.push(BrokenRule { rule, path: at, place });
    }
}

/// Whether a value is there and empty.
fn says_nothing(value: &PlacedValue) -> bool {
    match &value.content {
        PlacedContent::Scalar(scalar) => scalar.value() == "" || scalar.value() == 0,
        PlacedContent::Mapping(entries) => entries.is_empty(),
        PlacedContent::Sequence(items) => items.is_empty(),
    }
}

fn key(item: &PlacedValue, keys: &[MapKey]) -> Vec<Option<String>> {
    keys.iter()
        .map(|key| {
            let value = item.field(&key.name).map(|value| value.to_value().to_string());
            value.or_else(|| key.default.as_ref().map(|text| format!("\"{text}\"")))
        })
        .collect()
}
