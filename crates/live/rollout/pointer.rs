//! Fields by their JSON Pointers, looked up without copying a step: a prediction takes hundreds of them.

use capstan_yaml::Value;

/// Lookup by JSON Pointer.
pub(super) trait PointerTarget {
    /// The value at a JSON Pointer; `None` if there is none.
    fn at(&self, pointer: &str) -> Option<&Self>;
}

impl PointerTarget for Value {
    fn at(&self, pointer: &str) -> Option<&Self> {
        if pointer.contains('~') {
            return self.pointer(pointer);
        }
        pointer.split('/').skip(1).try_fold(self, |value, step| match value {
            Self::Object(fields) => fields.get(step),
            Self::Array(items) => items.get(step.parse::<usize>().ok()?),
            _ => None,
        })
    }
}

/// Whether a pointer leads to a field or to something below it.
pub(super) fn is_below(path: &str, field: &str) -> bool {
    path.strip_prefix(field).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
