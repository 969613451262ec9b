//! What a pull request takes over from those below it in a stack.

use capstan_plan::proposal::Stage;
use capstan_report::Gate;

use super::outcome::Remarks;

fn blocked(why: &str) -> Remarks {
    Remarks { blocked: vec![why.to_owned()], ..Remarks::default() }
}

#[test]
fn what_blocks_below_blocks_above_with_its_number() {
    let mut above = blocked("own");
    above.add_below(2, &blocked("held"));
    above.add_below(7, &blocked("held"));
    assert_eq!(above.blocked, ["own", "#2, which is below it: held", "#7, which is below it: held"]);
}

#[test]
fn a_gate_below_is_named_after_its_pull_request() {
    let gate = Gate { title: "1 approval is missing".to_owned(), why: "Approve it.".to_owned() };
    let mut above = Remarks::default();
    above.add_below(2, &Remarks { gates: vec![gate], ..Remarks::default() });
    let expected = Gate {
        title: "#2: 1 approval is missing".to_owned(),
        why: "#2, which is below it: Approve it.".to_owned(),
    };
    assert_eq!(
        (above.gates.len(), &above.gates[0].title, &above.gates[0].why),
        (1, &expected.title, &expected.why)
    );
}

#[test]
fn notes_and_buttons_below_stay_below() {
    let mut above = Remarks::default();
    let notes = vec!["a note".to_owned()];
    above
        .add_below(2, &Remarks { notes, stage: Some(Stage::Offered), is_edited: true, ..Remarks::default() });
    assert!(above.notes.is_empty() && above.stage.is_none() && !above.is_edited && above.blocked.is_empty());
}
