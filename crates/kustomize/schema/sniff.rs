//! Whether a file may define a kind, at the least cost.

/// Whether a text holds a document (or a part of one) of kind CustomResourceDefinition. What merely
/// mentions the word, as roles and descriptions do, does not count.
pub fn may_define(text: &str) -> bool {
    const KIND: &str = "CustomResourceDefinition";
    // The search for the rare word settles nearly every file.
    let mut rest = text;
    while let Some(at) = rest.find(KIND) {
        let line = rest[..at].rsplit('\n').next().unwrap_or_default();
        let before = line.trim_end_matches(['"', '\'', ' ']);
        if before.strip_suffix(':').is_some_and(|key| key.trim_end_matches(['"', '\'']).ends_with("kind")) {
            return true;
        }
        rest = &rest[at + KIND.len()..];
    }
    false
}

/// The words that stand after `kind:` in a text, and so all kinds that it can define.
pub(super) fn kinds(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices("kind").filter_map(|(at, word)| {
        let rest = text[at + word.len()..].trim_start_matches(['"', '\'', '\\', ' ']);
        let value = rest.strip_prefix(':')?.trim_start_matches(['"', '\'', '\\', ' ']);
        let end = value.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(value.len());
        (end > 0).then(|| &value[..end])
    })
}

#[cfg(test)]
mod tests {
    use super::{kinds, may_define};

    #[test]
    fn kinds_are_found_however_they_are_quoted() {
        let text = "kind: Rack\nnames: {kind: 'Shelf', listKind: RackList}\n{\"kind\": \"Door\"}\n\"a\\n  kind: Lamp\\n\"\nkinds: x\nkind:\n";
        assert_eq!(kinds(text).collect::<Vec<_>>(), ["Rack", "Shelf", "Door", "Lamp"]);
    }

    #[test]
    fn a_kind_counts_and_a_mention_does_not() {
        let cases = [
            ("kind: CustomResourceDefinition\n", true),
            ("apiVersion: v1\nkind: \"CustomResourceDefinition\"\n", true),
            ("{\"kind\": \"CustomResourceDefinition\"}", true),
            ("items:\n- kind: CustomResourceDefinition\n", true),
            ("data:\n  components: |\n    kind: CustomResourceDefinition\n", true),
            ("# a CustomResourceDefinition\nkind: ConfigMap\n", false),
            ("description: the CustomResourceDefinition\n", false),
            ("resources: [customresourcedefinitions]\n", false),
            ("", false),
        ];
        for (text, expected) in cases {
            assert_eq!(may_define(text), expected, "{text}");
        }
    }
}
