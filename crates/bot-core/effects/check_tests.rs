//! What an older version, or another program, may have left in the record of a check.

use super::check::KeptReport;

#[test]
fn a_record_that_is_not_well_formed_has_no_pause() {
    for (content, inputs, until) in [
        ("", "", None),
        (":", "", None),
        ("abc@:", "abc", None),
        ("abc@soon:", "abc", None),
        ("abc@5@6:", "abc", None),
        ("abc@99999999999999999999:", "abc", None),
        ("abc@9223372036854775807:", "abc", None),
        ("abc@0:", "abc", Some(0)),
        ("abc@60", "abc", Some(60)),
    ] {
        let kept = KeptReport::read(content);
        assert_eq!((kept.inputs.as_str(), kept.until.map(|at| at.as_second())), (inputs, until), "{content}");
    }
}
