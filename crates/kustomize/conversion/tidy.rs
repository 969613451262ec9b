//! What of a converted object of Cluster API's own kinds says nothing and goes.

use super::step::AtHand;
use super::step::ConversionStep::{self, Remove, Replace};
use crate::schema::{FieldContent, TypeFields, Zero};
use capstan_model::object::FieldPath;
use capstan_yaml::scalar::ScalarReading;
use capstan_yaml::{Node, NodeKind};

/// What of a converted object says nothing, since the newer version drops it: null, and zero values of
/// fields that do not tell them from absent ones. Many of them the server would refuse.
pub(super) fn tidy(
    object: &Node,
    kind: &'static str,
    to: &'static TypeFields,
    at_hand: AtHand,
) -> Vec<ConversionStep> {
    let mut steps = Vec::new();
    let root = FieldPath::root();
    if let (Some(spec), Some(field)) = (object.get("spec"), to.field(kind, "spec")) {
        // An object without a spec stays as an empty one.
        let tidying = Tidying { to, at_hand };
        let Fate::Stays(found) = tidying.fate(&root.key("spec"), spec, &field.of, Zero::Kept) else {
            return steps;
        };
        steps = found;
    }
    steps
}

/// What becomes of a value.
enum Fate {
    /// It stays, after these steps.
    Stays(Vec<ConversionStep>),
    /// Its container removes it.
    Goes,
}

struct Tidying {
    to: &'static TypeFields,
    at_hand: AtHand,
}

impl Tidying {
    fn fate(&self, path: &FieldPath, node: &Node, of: &FieldContent, zero: Zero) -> Fate {
        if node.is_null() {
            // In a patch it takes the field out.
            return if self.at_hand == AtHand::Part { Fate::Stays(Vec::new()) } else { Fate::Goes };
        }
        let is_kept = zero != Zero::Dropped;
        match (of, &node.kind) {
            (FieldContent::Struct(name), NodeKind::Mapping(entries)) => {
                let mut steps = Vec::new();
                let mut gone = Vec::new();
                for entry in entries {
                    let below = path.key(&entry.key);
                    let Some(field) = self.to.field(name, &entry.key) else { continue };
                    match self.fate(&below, &entry.value, &field.of, field.zero) {
                        Fate::Stays(found) => steps.extend(found),
                        Fate::Goes => gone.push(Remove { at: below }),
                    }
                }
                if gone.len() < entries.len() {
                    steps.extend(gone);
                    return Fate::Stays(steps);
                }
                // An empty selector selects; and what is required must stay even where it says nothing.
                if !is_kept && *name != "LabelSelector" {
                    return Fate::Goes;
                }
                let is_new = !entries.is_empty();
                let empty = Node::new(NodeKind::Mapping(Vec::new()));
                Fate::Stays(is_new.then(|| Replace { at: path.clone(), value: empty }).into_iter().collect())
            }
            (FieldContent::Map(below), NodeKind::Mapping(entries)) if !entries.is_empty() => {
                let fates = entries
                    .iter()
                    .map(|entry| self.fate(&path.key(&entry.key), &entry.value, below, Zero::Kept));
                Fate::Stays(fates.flat_map(Fate::steps).collect())
            }
            (FieldContent::List(below), NodeKind::Sequence(items)) if !items.is_empty() => {
                let fates = items
                    .iter()
                    .enumerate()
                    .map(|(at, item)| self.fate(&path.index(at), item, below, Zero::Kept));
                Fate::Stays(fates.flat_map(Fate::steps).collect())
            }
            (FieldContent::Map(_) | FieldContent::List(_), _) if node.is_empty_collection() && !is_kept => {
                Fate::Goes
            }
            (
                FieldContent::Text | FieldContent::Integer | FieldContent::Truth | FieldContent::Number,
                NodeKind::Scalar(scalar),
            ) if !is_kept => {
                let says_nothing = matches!(
                    scalar.reading(),
                    ScalarReading::String("") | ScalarReading::Integer(0) | ScalarReading::Bool(false)
                );
                if says_nothing { Fate::Goes } else { Fate::Stays(Vec::new()) }
            }
            _ => Fate::Stays(Vec::new()),
        }
    }
}

impl Fate {
    fn steps(self) -> Vec<ConversionStep> {
        if let Self::Stays(steps) = self { steps } else { Vec::new() }
    }
}
