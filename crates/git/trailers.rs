//! The trailers by which Capstan finds its own commits again.

use gix::bstr::{BStr, ByteSlice};

use capstan_ports::CommitTrailers;

/// Reads Capstan's trailers from a commit's message. Of a doubled trailer the last one counts, as in
/// `git interpret-trailers`.
pub(super) fn read_trailers(message: &BStr) -> CommitTrailers {
    let mut found = CommitTrailers::default();
    let Some(body) = gix::objs::commit::MessageRef::from_bytes(message).body() else { return found };
    for trailer in body.trailers() {
        let value = || trailer.value.to_str().ok().map(str::to_owned).filter(|value| !value.is_empty());
        if trailer.token.eq_ignore_ascii_case(b"Capstan-Source") {
            found.source = value();
        } else if trailer.token.eq_ignore_ascii_case(b"Capstan-Plan") {
            found.plan = value();
        } else if trailer.token.eq_ignore_ascii_case(b"Capstan-Seal") {
            found.seal = value();
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(message: &str) -> (Option<String>, Option<String>) {
        let CommitTrailers { source, plan, .. } = read_trailers(message.into());
        (source, plan)
    }

    #[test]
    fn trailers_are_in_the_last_paragraph() {
        let both = (Some("aws/v22.0.0@9d1f".to_owned()), Some("ab12".to_owned()));
        assert_eq!(
            read("Upgrade peu01\n\nWhy.\n\nCapstan-Source: aws/v22.0.0@9d1f\nCapstan-Plan: ab12\n"),
            both
        );
        assert_eq!(
            read("Upgrade peu01\n\ncapstan-source: aws/v22.0.0@9d1f\nCapstan-Plan: old\nCapstan-Plan: ab12"),
            both
        );
        assert_eq!(read("Capstan-Source: aws/v22.0.0@9d1f"), (None, None), "a subject is no trailer");
        assert_eq!(
            read("Quote\n\nSee `Capstan-Source: aws/v22.0.0@9d1f` in the log.\n\nAnd more text.\n"),
            (None, None)
        );
        assert_eq!(read(""), (None, None));
        let sealed = "Upgrade\n\nCapstan-Plan: 12\nCapstan-Seal: ab cd\n";
        assert_eq!(read_trailers(sealed.into()).seal.as_deref(), Some("ab cd"));
    }
}
