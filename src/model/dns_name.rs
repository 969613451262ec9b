//! Names as Kubernetes takes them from RFC 1123:
//! <https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#names>.

/// The longest label.
pub const LONGEST_LABEL: usize = 63;

/// The longest subdomain.
const LONGEST_SUBDOMAIN: usize = 253;

/// Whether a text is a label: the name of a namespace, the value of a label.
pub fn is_label(text: &str) -> bool {
    text.len() <= LONGEST_LABEL && is_word(text)
}

/// Whether a text is a subdomain: the name of most objects. Kubernetes does not bound the labels of one.
pub fn is_subdomain(text: &str) -> bool {
    text.len() <= LONGEST_SUBDOMAIN && text.split('.').all(is_word)
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
        assert!(is_subdomain(&"a".repeat(253)) && !is_subdomain(&"a".repeat(254)));
    }
}
