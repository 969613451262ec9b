//! Where fields stand before the steps of a conversion, and after them.

use super::step::{Conversion, ConversionStep};
use capstan_model::object::{FieldPath, Step};
use capstan_yaml::{Node, NodeKind};

impl Conversion {
    /// Where a field stood before all steps. Of what the steps made, the path itself.
    pub fn before(&self, path: &FieldPath) -> FieldPath {
        before(&self.steps, path)
    }

    /// Where a field that stood there stands after all steps.
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

/// Where a field stood before these steps.
pub(super) fn before(steps: &[ConversionStep], path: &FieldPath) -> FieldPath {
    let mut path = path.clone();
    for step in steps.iter().rev() {
        match step {
            ConversionStep::Move { from, to } => {
                if let Some(rest) = rest(&path, to) {
                    path = join(from, rest);
                }
            }
            ConversionStep::Replace { at, value } => {
                // An argument was the field of that name.
                if let Some([Step::Index(index), ..]) = rest(&path, at)
                    && let NodeKind::Sequence(items) = &value.kind
                    && let Some(name) =
                        items.get(*index).and_then(|item| item.get("name")).and_then(Node::as_str)
                {
                    path = at.key(name);
                }
            }
            ConversionStep::Remove { .. } | ConversionStep::Add { .. } => {}
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
