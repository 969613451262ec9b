//! The body of a proposal that Capstan closes, or that has a new decision while the proposal is not updated.

use super::block::strip;
use super::markdown::{MAX_BODY_CHARACTERS, prose};
use super::merging::{APPROVAL_BY, APPROVED_BY, approvals_above};
use super::standing::hold_in_words;
use super::{Block, BlockKey, BlockPart};

/// Characters shown of the reason.
const LONGEST_REASON: usize = 900;
const CUT: &str = "\n\n… the rest does not fit here.\n";

/// The previous text, below the reason and above Capstan's record: at most GitHub's 65,536 characters. The
/// old text is cut where it does not fit, since people may have filled it to the limit; the reason and the
/// record stay.
pub fn closed_body(before: &str, why: &str, record: Option<(&Block, &BlockKey)>) -> String {
    let reason = format!("> Closed by Capstan: {}\n\n", prose(why, LONGEST_REASON));
    let (visible, record) = match record {
        Some((block, key)) => (strip(before), block.render(key)),
        None => (before, String::new()),
    };
    let room = MAX_BODY_CHARACTERS.saturating_sub(length(&reason) + length(&record) + 1);
    reason + &cut_to(visible, room) + "\n" + &record
}

/// The beginning of a hold's line.
const ON_HOLD: &str = "> On hold by ";

/// The same for one of several clusters, after its name.
const ITS_HOLD: &str = "`: On hold by ";
/// Holds listed at most.
const MOST_HOLDS: usize = 20;

/// Who holds which of the clusters that share a pull request, a line each.
fn holds_above(parts: &[BlockPart]) -> String {
    let held = parts.iter().filter_map(|part| {
        let hold = part.decisions.hold.as_ref()?;
        let words = format!("`{}`: {}", part.target, hold_in_words(hold));
        Some(format!("> {}\n\n", prose(&words, LONGEST_REASON)))
    });
    held.take(MOST_HOLDS).collect()
}

/// The previous text with another record, below its holds and approvals, if any.
pub fn decided_body(before: &str, record: (&Block, &BlockKey)) -> String {
    let (block, key) = record;
    let mut visible = strip(before);
    while let Some((first, rest)) = visible.split_once("\n\n")
        && ([ON_HOLD, APPROVED_BY, APPROVAL_BY].iter().any(|begin| first.starts_with(begin))
            || (first.starts_with("> `") && first.contains(ITS_HOLD)))
    {
        visible = rest;
    }
    let hold = block.decisions.hold.as_ref();
    let hold = hold
        .map_or_else(String::new, |hold| format!("> {}\n\n", prose(&hold_in_words(hold), LONGEST_REASON)));
    let above = hold + &holds_above(&block.parts) + &approvals_above(&block.decisions);
    let record = block.render(key);
    let room = MAX_BODY_CHARACTERS.saturating_sub(length(&above) + length(&record) + 1);
    above + &cut_to(visible, room) + "\n" + &record
}

fn cut_to(text: &str, room: usize) -> String {
    let text = text.trim_end();
    if length(text) <= room {
        return text.to_owned();
    }
    let kept: String = text.chars().take(room.saturating_sub(length(CUT))).collect();
    kept + CUT
}

fn length(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::tests::{block, id};

    #[test]
    fn the_reason_is_above_and_the_record_is_replaced() {
        let key = BlockKey::derive(b"secret");
        let before = format!("Text.\n{}", block("gauss/peu01").render(&key));
        let closed = Block { closed_by: Some(super::super::ClosedBy::Capstan), ..block("gauss/peu01") };
        let body = closed_body(&before, "Nothing is offered.", Some((&closed, &key)));
        assert!(body.starts_with("> Closed by Capstan: Nothing is offered.\n\nText.\n\n<details>"), "{body}");
        assert_eq!(body.matches("Capstan's record").count(), 1);
        assert_eq!(Block::read(&body, &key, 7, 12, &id("gauss/peu01")), Some(closed));
        assert_eq!(
            closed_body("Text.\n", "Nothing is offered.", None),
            "> Closed by Capstan: Nothing is offered.\n\nText.\n"
        );
    }

    #[test]
    fn the_hold_is_above_once_and_goes_with_its_end() {
        let key = BlockKey::derive(b"secret");
        let mut record = block("gauss/peu01");
        let hold = |by: &str, reason: &str| {
            Some(capstan_plan::proposal::OnHold {
                by: by.to_owned(),
                reason: Some(reason.to_owned()),
                until: Some(jiff::civil::date(2026, 12, 1)),
            })
        };
        let before = format!("Text.\n{}", record.render(&key));
        record.decisions.hold = hold("ada", "an <b>audit</b>.");
        let held = decided_body(&before, (&record, &key));
        let expected =
            "> On hold by `ada` until 2026-12-01: an &lt;b&gt;audit&lt;/b&gt;.\n\nText.\n\n<details>";
        assert!(held.starts_with(expected), "{held}");
        record.decisions.hold = hold("grace", "two");
        let again = decided_body(&held, (&record, &key));
        assert!(
            again.starts_with("> On hold by `grace` until 2026-12-01: two.\n\nText.\n\n<details>"),
            "{again}"
        );
        record.decisions.hold = None;
        assert!(decided_body(&again, (&record, &key)).starts_with("Text.\n\n<details>"));
    }

    #[test]
    fn each_hold_is_listed_with_its_cluster() {
        use crate::block::BlockPlace;
        use capstan_model::target::Target;
        use capstan_plan::proposal::{Decisions, OnHold};

        let key = BlockKey::derive(b"secret");
        let mut record = block("group://gauss");
        let held = |target: &str| BlockPart {
            target: Target::parse(target).unwrap(),
            place: BlockPlace::Carried,
            retarget: capstan_plan::upgrade::Retarget::Refused,
            decisions: Decisions {
                hold: Some(OnHold { by: "ada".to_owned(), reason: None, until: None }),
                ..Decisions::default()
            },
        };
        record.parts = vec![held("gauss/peu01"), held("gauss/peu02")];
        let body = decided_body(&format!("Text.\n{}", record.render(&key)), (&record, &key));
        let both =
            "> `gauss/peu01`: On hold by `ada`.\n\n> `gauss/peu02`: On hold by `ada`.\n\nText.\n\n<details>";
        assert!(body.starts_with(both), "{body}");
        record.parts.clear();
        assert!(decided_body(&body, (&record, &key)).starts_with("Text.\n\n<details>"));
    }

    #[test]
    fn a_full_body_gives_way_to_the_reason_and_the_record() {
        let key = BlockKey::derive(b"secret");
        let why = "`a`: <b> & c. ".repeat(200);
        // Each letter of the name takes six characters in the record.
        for cluster in ["gauss/peu01".to_owned(), "ö".repeat(2_000)] {
            let record = block(&cluster);
            let before = "ö".repeat(65_536);
            let body = closed_body(&before, &why, Some((&record, &key)));
            assert_eq!(body.chars().count(), 65_536, "{cluster}");
            assert!(body.starts_with("> Closed by Capstan: `a`: &lt;b&gt; &amp; c. "), "{cluster}");
            assert!(body.contains("ö\n\n… the rest does not fit here.\n"), "{cluster}");
            assert_eq!(Block::read(&body, &key, 7, 12, &id(&cluster)), Some(record));
        }
        let without = closed_body(&"x".repeat(65_536), "Nothing is offered.", None);
        assert_eq!(without.chars().count(), 65_536);
    }

    #[test]
    fn a_record_at_the_end_of_a_full_body_leaves_no_half_behind() {
        let key = BlockKey::derive(b"secret");
        let record = block("gauss/peu01");
        let before = "x".repeat(64_000) + &record.render(&key);
        let body = closed_body(&before, "Nothing is offered.", Some((&record, &key)));
        assert!(body.chars().count() <= 65_536);
        assert_eq!(body.matches("<details>").count(), 1);
        assert_eq!(Block::read(&body, &key, 7, 12, &id("gauss/peu01")), Some(record));
    }
}
