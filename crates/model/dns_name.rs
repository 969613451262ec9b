//! Names as Kubernetes takes them from RFC 1123:
//! <https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#names>.

pub const LONGEST_LABEL: usize = 63;

const LONGEST_SUBDOMAIN: usize = 253;

/// Whether a text is a label: the name of a namespace.
pub fn is_label(text: &str) -> bool {
    text.len() <= LONGEST_LABEL && is_word(text)
}

/// Whether a text is a subdomain: the name of most objects. Kubernetes does not bound the labels of one.
pub fn is_subdomain(text: &str) -> bool {
    text.len() <= LONGEST_SUBDOMAIN && text.split('.').all(is_word)
}

/// Whether a text may be the value of a label:
/// <https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set>.
pub fn is_label_value(text: &str) -> bool {
    text.is_empty() || is_plain_name(text)
}

/// Whether a text may be the key of a label or an annotation: a name, and before it perhaps a subdomain and `/`.
pub fn is_qualified_name(text: &str) -> bool {
    match text.split_once('/') {
        Some((prefix, name)) => is_subdomain(prefix) && is_plain_name(name),
        None => is_plain_name(text),
    }
}

fn is_plain_name(text: &str) -> bool {
    let is_end = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
    text.len() <= LONGEST_LABEL
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
        && is_end(text.bytes().next())
        && is_end(text.bytes().last())
}

fn is_word(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !text.is_empty() && text.bytes().all(inner) && !text.starts_with('-') && !text.ends_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_kubernetes_reads_them() {
        let long = "a".repeat(64);
        for (text, label, subdomain) in [
            ("peu01-md-0", true, true),
            ("0", true, true),
            ("a.b-c.d", false, true),
            (long.as_str(), false, true),
            ("", false, false),
            ("-a", false, false),
            ("a-", false, false),
            ("a..b", false, false),
            ("a.-b", false, false),
            ("A", false, false),
            ("a_b", false, false),
            ("größe", false, false),
        ] {
            assert_eq!((is_label(text), is_subdomain(text)), (label, subdomain), "{text}");
        }
        for (text, value, key) in [
            ("Prod_1.a-b", true, true),
            ("", true, false),
            ("a b", false, false),
            ("-a", false, false),
            ("a.", false, false),
            (long.as_str(), false, false),
            ("example.com/Team", false, true),
            ("Example.com/team", false, false),
            ("/team", false, false),
            ("a/b/c", false, false),
        ] {
            assert_eq!((is_label_value(text), is_qualified_name(text)), (value, key), "{text}");
        }
        assert!(is_subdomain(&"a".repeat(253)) && !is_subdomain(&"a".repeat(254)));
    }
}
