//! Where fields stand before the steps of a conversion, and after them.

use super::step::{Conversion, ConversionStep};
use capstan_model::object::{FieldPath, Step};

impl Conversion {
    /// A field's place before all steps. For a field that the steps made, the path itself.
    pub fn before(&self, path: &FieldPath) -> FieldPath {
        before(&self.steps, path)
    }

    /// The place after all steps of a field that was there.
    pub fn after(&self, path: &FieldPath) -> FieldPath {
        let mut path = path.clone();
        for step in &self.steps {
            if let ConversionStep::Move { from, to } = step
                && let Some(rest) = rest(&path, from)
            {
                path = join(to, rest);
            }
        }
        path
    }
}

/// A field's place before these steps.
pub(super) fn before(steps: &[ConversionStep], now: &FieldPath) -> FieldPath {
    let mut path = now.clone();
    for step in steps.iter().rev() {
        match step {
            ConversionStep::Move { from, to } => {
                if let Some(rest) = rest(&path, to) {
                    path = join(from, rest);
                }
            }
            ConversionStep::Itemize { at, value, item: fields } => {
                // An item was the entry of that name.
                if let Some([Step::Index(index), below @ ..]) = rest(&path, at)
                    && let Some(item) = value.as_sequence().and_then(|items| items.get(*index))
                    && let Some(name) = item.text_at(fields.name)
                {
                    let is_entry = |key: &str| key == fields.name || fields.value == Some(key);
                    let below = match below {
                        [Step::Key(key), below @ ..] if is_entry(key) => below,
                        _ => below,
                    };
                    path = join(&at.key(name), below);
                }
            }
            // What is below was made here: it had no place before.
            ConversionStep::Replace { at, .. } if rest(&path, at).is_some_and(|below| !below.is_empty()) => {
                return now.clone();
            }
            ConversionStep::Replace { .. } | ConversionStep::Remove { .. } | ConversionStep::Add { .. } => {}
        }
    }
    path
}

fn rest<'p>(path: &'p FieldPath, above: &FieldPath) -> Option<&'p [Step]> {
    path.steps().strip_prefix(above.steps())
}

fn join(above: &FieldPath, rest: &[Step]) -> FieldPath {
    above.steps().iter().chain(rest).cloned().collect()
}
