//! Decisions about proposals: a row has facts, requests and the decision.

use std::collections::{BTreeMap, BTreeSet};

use capstan_facts::{
    AuditEntry, EarlierPullRequest, MergeQueueState, PullRequest, PullRequestState, RefusedWrite,
    ReviewDecision,
};
use capstan_model::ids::ReleaseName;
use capstan_model::rest::Rest;
use capstan_model::source::SourceKind;
use capstan_model::target::Target;
use capstan_model::tree::RepoPath;
use capstan_plan::proposal::{
    Action, Approval, Authorship, Branch, BranchStep, Closer, Decisions, Draft, Drafted, LeaveReason,
    Leaving, Means, Mergeable, OfBase, OnHold, PlanDigest, ProposalCommand, ProposalId, ProposalPlan, Pull,
    PullState, Reviewed, Sidebar, SidebarStanding, Skipped, Stage, TitleDigest, WhyLeftOut,
};
use capstan_plan::settings::{GroupPattern, GroupSettings, LabelName, Mode};
use capstan_plan::upgrade::Upgrade;
use capstan_report::{Block, BlockPart, ClosedBy, DashboardRecord, Gate, ProposalState};

use super::deciding::strongest;
use super::holding::without_those_that_wait;
use super::intent::intent;
use super::states::offered;
use super::*;
use crate::effects::{Effect, Numbered, PullText};
use crate::facts::Write;
use crate::planned::PlannedRun;
use crate::requests::Request;
use crate::testing::{Case, V21, V22, block, carried, comment, commit, id, key, now, pull, source, upgrade};

fn hold() -> OnHold {
    OnHold { by: "ada".to_owned(), reason: None, until: None }
}

fn noted(target: &str, decisions: Decisions) -> DashboardRecord {
    DashboardRecord { decisions: vec![(id(target), decisions)], ..DashboardRecord::default() }
}

/// A branch that Capstan wrote, with the present plan of that release.
fn written(planned: PlannedRun<'_>, target: &str, head: char) -> Option<Branch> {
    let files = planned.plan_of(&id(target)).map(|plan| plan.files.clone()).unwrap_or_default();
    let source = capstan_plan::proposal::SourceState::new(crate::testing::release(V22), None);
    let authorship = Authorship::Capstan { source, plan: PlanDigest::of(&files) };
    Some(Branch { head: commit(head), authorship, of_base: OfBase::Yes })
}

fn persons(head: char) -> Option<Branch> {
    Some(Branch { head: commit(head), authorship: Authorship::Person, of_base: OfBase::Yes })
}

/// The decision, and the questions before it. `told` answers.
fn drive(
    planned: PlannedRun<'_>,
    (target, members): (&str, &[&str]),
    earlier: &Earlier,
    told: &Answers,
) -> (Vec<String>, DecidedPull) {
    let (proposal, members): (_, Vec<ProposalId>) = (id(target), members.iter().map(|one| id(one)).collect());
    let wanted = wanted_of(planned);
    let carrier = Carrier::new(planned, (&proposal, &members), &wanted, earlier);
    let (mut answers, mut asked) = (Answers::default(), Vec::new());
    loop {
        let need = match carrier.decide(&answers) {
            DecisionStep::Decided(decided) => return (asked, decided),
            DecisionStep::Ask(need) => need,
        };
        asked.push(match &need {
            Need::Branch { .. } => "branch".to_owned(),
            Need::Reviewed => "reviewed".to_owned(),
            Need::Mergeable => "mergeable".to_owned(),
            Need::Ended(on, _) => format!("ended {on}"),
            Need::Rollouts(members) => {
                format!("rollouts {}", members.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
            }
        });
        match need {
            Need::Branch { .. } => {
                answers.of_pull.branch = Some(told.of_pull.branch.clone().unwrap_or_default())
            }
            Need::Reviewed => answers.of_pull.reviewed = Some(told.of_pull.reviewed.unwrap_or(Reviewed::Not)),
            Need::Mergeable => {
                answers.of_pull.mergeable = Some(told.of_pull.mergeable.unwrap_or(Mergeable::PerhapsYes));
            }
            Need::Ended(on, _) => drop(answers.ended.insert(on.clone(), told.ended[&on].clone())),
            Need::Rollouts(members) => answers.rollouts.extend(members.into_iter().map(|member| {
                let why = told.rollouts.get(&member).cloned().flatten();
                (member, why)
            })),
        }
        assert!(asked.len() < 20, "it is asked for ever: {asked:?}");
    }
}

/// An action in words.
fn words(action: &Action) -> String {
    let step = |branch: &BranchStep| match branch {
        BranchStep::Keep => "keeps the branch".to_owned(),
        BranchStep::Create => "creates the branch".to_owned(),
        BranchStep::Move { .. } => "writes the branch anew".to_owned(),
    };
    match action {
        Action::Open { branch } => format!("opens, {}", step(branch)),
        Action::Update { pull, branch } => format!("updates #{pull}, {}", step(branch)),
        Action::Close { pull, by, .. } => format!("closes #{pull} for {by:?}"),
        Action::Leave(standing) => match standing {
            LeaveReason::NothingOffered { .. } => "leaves it: nothing offered".to_owned(),
            LeaveReason::Blocked { .. } => "leaves it: blocked".to_owned(),
            LeaveReason::Unplannable { .. } => "leaves it: unplannable".to_owned(),
            LeaveReason::Waits { reviewed, .. } => format!("leaves it: {reviewed:?}"),
            LeaveReason::Held { .. } => "leaves it: held".to_owned(),
            LeaveReason::Paused { .. } => "leaves it: paused".to_owned(),
            LeaveReason::Edited { .. } => "leaves it: edited".to_owned(),
            LeaveReason::Skipped { by } => format!("leaves it: skipped by {by}"),
            LeaveReason::Declined { pull } => format!("leaves it: #{pull} was declined"),
            LeaveReason::RolledBack { pull } => format!("leaves it: #{pull} rolled back"),
            LeaveReason::Merged { pull } => format!("leaves it: #{pull} was merged"),
        },
    }
}

#[test]
fn what_is_done_about_one_clusters_pull_request() {
    let none = Answers::default;
    let branch = |branch: fn(PlannedRun<'_>) -> Option<Branch>| branch;
    let (absent, own, edited) =
        (branch(|_| None), branch(|planned| written(planned, "gauss/peu01", 'a')), branch(|_| persons('a')));
    let offered = || Case::new().offered("gauss/peu01");
    let open = || offered().proposed(3, "gauss/peu01", 'a');
    let held = || Decisions { hold: Some(hold()), ..Decisions::default() };
    let skipped = || {
        let skipped = Some(Skipped { source: V22.to_owned(), by: "eve".to_owned() });
        Decisions { skipped, ..Decisions::default() }
    };
    let with = |case: Case, decisions: Decisions| Case { record: noted("gauss/peu01", decisions), ..case };
    let held_open = || {
        let block = Block { decisions: held(), ..block(3, &id("gauss/peu01"), V22) };
        offered().proposed_with(3, "gauss/peu01", 'a', block)
    };
    for (case, branch, asked, expected) in [
        (offered(), absent, "branch", "opens, creates the branch"),
        (offered(), own, "branch", "opens, keeps the branch"),
        (offered(), edited, "branch", "leaves it: edited"),
        (with(offered(), held()), absent, "", "leaves it: held"),
        (with(offered(), skipped()), absent, "", "leaves it: skipped by eve"),
        (open(), own, "branch mergeable", "updates #3, keeps the branch"),
        (open(), absent, "branch", "updates #3, creates the branch"),
        (open(), edited, "branch", "leaves it: edited"),
        (held_open(), own, "", "leaves it: held"),
        (Case::new().current("gauss/peu01"), absent, "", "leaves it: nothing offered"),
        (
            Case::new().current("gauss/peu01").proposed(3, "gauss/peu01", 'a'),
            own,
            "branch reviewed",
            "closes #3 for Capstan",
        ),
        (
            Case::new().current("gauss/peu01").proposed(3, "gauss/peu01", 'a'),
            edited,
            "branch",
            "leaves it: edited",
        ),
        (Case::new().plan("gauss/peu01", Err("unreadable.")), absent, "", "leaves it: unplannable"),
        (Case::new().proposed(3, "gauss/peu01", 'a'), own, "branch reviewed", "closes #3 for Capstan"),
    ] {
        case.look(|planned| {
            let mut told = none();
            told.of_pull.branch = Some(branch(planned));
            let (questions, decided) =
                drive(planned, ("gauss/peu01", &["gauss/peu01"]), &Earlier::default(), &told);
            assert_eq!((questions.join(" ").as_str(), words(&decided.action).as_str()), (asked, expected));
            assert_eq!(decided.carried, [id("gauss/peu01")]);
            assert_eq!(decided.opens(), expected.starts_with("opens"));
        });
    }
}

#[test]
fn edited_branches_stay_and_conflicting_ones_are_rewritten() {
    let open = Case::new().offered("gauss/peu01").proposed(3, "gauss/peu01", 'a');
    let old = |planned: PlannedRun<'_>| {
        let plan = PlanDigest::of(&[]);
        let source = written(planned, "gauss/peu01", 'a').map(|branch| branch.authorship);
        let Some(Authorship::Capstan { source, .. }) = source else { panic!("Capstan's") };
        Some(Branch {
            head: commit('a'),
            authorship: Authorship::Capstan { source, plan },
            of_base: OfBase::Yes,
        })
    };
    for (reviewed, mergeable, is_old, expected) in [
        (Reviewed::Not, Mergeable::PerhapsYes, false, "updates #3, keeps the branch"),
        (Reviewed::Not, Mergeable::Conflicts, false, "updates #3, writes the branch anew"),
        (Reviewed::Approved, Mergeable::Conflicts, false, "updates #3, writes the branch anew"),
        (Reviewed::Queued, Mergeable::Conflicts, false, "leaves it: Queued"),
        (Reviewed::Not, Mergeable::PerhapsYes, true, "updates #3, writes the branch anew"),
        (Reviewed::Approved, Mergeable::PerhapsYes, true, "leaves it: Approved"),
        (Reviewed::AutoMerge, Mergeable::PerhapsYes, true, "leaves it: AutoMerge"),
    ] {
        open.look(|planned| {
            let mut told = Answers::default();
            let branch = if is_old { old(planned) } else { written(planned, "gauss/peu01", 'a') };
            told.of_pull.branch = Some(branch);
            (told.of_pull.reviewed, told.of_pull.mergeable) = (Some(reviewed), Some(mergeable));
            let (_, decided) = drive(planned, ("gauss/peu01", &["gauss/peu01"]), &Earlier::default(), &told);
            assert_eq!(words(&decided.action), expected, "{reviewed:?} {mergeable:?} {is_old}");
        });
    }
}

fn earlier_pull(number: u64, target: &str, state: PullRequestState) -> EarlierPullRequest {
    EarlierPullRequest {
        number,
        state,
        body: String::new(),
        head_branch: id(target).branch(),
        head: commit('e'),
        base: commit('0'),
    }
}

fn before(number: u64, target: &str) -> Earlier {
    let pulls = [(id(target), earlier_pull(number, target, PullRequestState::Closed))];
    Earlier { pulls: pulls.into_iter().collect(), ..Earlier::default() }
}

fn ended(number: u64, state: PullState, offered: Option<&str>) -> Pull {
    let source =
        offered.map(|_| capstan_plan::proposal::SourceState::new(crate::testing::release(V22), None));
    let source = match offered {
        Some(V22) | None => source,
        Some(other) => Some(crate::testing::source(other)),
    };
    Pull { number, state, head: commit('e'), source, leaves: None }
}

#[test]
fn what_became_of_the_pull_request_before_decides_whether_it_is_offered_again() {
    let case = Case::new().offered("gauss/peu01");
    for (text, state, offered, expected) in [
        ("", PullState::Closed(Closer::Person), Some(V22), "leaves it: #2 was declined"),
        ("", PullState::Closed(Closer::Person), Some(V21), "opens, creates the branch"),
        ("", PullState::Closed(Closer::Capstan), Some(V22), "opens, creates the branch"),
        ("", PullState::Merged, Some(V22), "leaves it: #2 was merged"),
        ("", PullState::Merged, Some(V21), "opens, creates the branch"),
        (
            "/capstan upgrade gauss/peu01",
            PullState::Closed(Closer::Person),
            Some(V22),
            "opens, creates the branch",
        ),
        ("/capstan unskip for gauss/peu01", PullState::Merged, Some(V22), "opens, creates the branch"),
    ] {
        let requests: Vec<Request> =
            (!text.is_empty()).then(|| comment(1, "ada", None, text)).into_iter().collect();
        case.heard(&requests, |planned| {
            let mut told = Answers {
                ended: [(id("gauss/peu01"), ended(2, state, offered))].into_iter().collect(),
                ..Answers::default()
            };
            told.of_pull.branch = Some(None);
            let (asked, decided) =
                drive(planned, ("gauss/peu01", &["gauss/peu01"]), &before(2, "gauss/peu01"), &told);
            assert_eq!(words(&decided.action), expected, "{text} {state:?} {offered:?}");
            assert_eq!(asked[0], "ended gauss/peu01");
        });
    }
}

#[test]
fn an_open_pull_request_does_not_ask_for_the_one_before() {
    let case = Case::new().offered("gauss/peu01").proposed(3, "gauss/peu01", 'a');
    case.look(|planned| {
        let mut told = Answers::default();
        told.of_pull.branch = Some(written(planned, "gauss/peu01", 'a'));
        let (asked, _) = drive(planned, ("gauss/peu01", &["gauss/peu01"]), &before(2, "gauss/peu01"), &told);
        assert_eq!(asked, ["branch", "mergeable"]);
    });
}

/// Members that are carried, and those that are left out.
fn membership(decided: &DecidedPull) -> String {
    let carried: Vec<String> = decided.carried.iter().map(ToString::to_string).collect();
    let out = decided.left_out.iter().map(|(member, why)| {
        let why = match why {
            WhyLeftOut::Waits(why) => why.clone(),
            WhyLeftOut::LeftAlone(standing) => {
                words(&Action::Leave(standing.clone())).replace("leaves it: ", "")
            }
        };
        format!("{member} ({why})")
    });
    format!("{}; out: {}", carried.join(" "), out.collect::<Vec<_>>().join(" "))
}

const GROUP: (&str, &[&str]) = ("group://gauss", &["gauss/peu01", "gauss/peu02", "gauss/peu03"]);

fn group() -> Case {
    GROUP.1.iter().fold(Case::new(), |case, target| case.offered(target))
}

#[test]
fn a_group_is_opened_with_those_that_may_come() {
    let held = || Decisions { hold: Some(hold()), ..Decisions::default() };
    let broken =
        Upgrade { blocked: vec!["It has a conflict.".to_owned()], ..upgrade("gauss/peu02", V21, V22) };
    let waits = |why: &str| [(id("gauss/peu01"), Some(why.to_owned()))].into_iter().collect();
    for (case, rollouts, expected) in [
        (group(), BTreeMap::new(), "gauss/peu01 gauss/peu02 gauss/peu03; out: "),
        (
            Case { record: noted("gauss/peu02", held()), ..group() },
            BTreeMap::new(),
            "gauss/peu01 gauss/peu03; out: gauss/peu02 (held)",
        ),
        (
            group().plan("gauss/peu02", Ok(broken)),
            BTreeMap::new(),
            "gauss/peu01 gauss/peu03; out: gauss/peu02 (blocked)",
        ),
        (
            group().current("gauss/peu03"),
            BTreeMap::new(),
            "gauss/peu01 gauss/peu02; out: gauss/peu03 (nothing offered)",
        ),
        (
            group(),
            waits("Its machines still follow the last one."),
            "gauss/peu02 gauss/peu03; out: gauss/peu01 (Its machines still follow the last one.)",
        ),
    ] {
        case.look(|planned| {
            let mut told = Answers { rollouts, ..Answers::default() };
            told.of_pull.branch = Some(None);
            let (_, decided) = drive(planned, GROUP, &Earlier::default(), &told);
            assert_eq!(membership(&decided), expected);
            assert_eq!(words(&decided.action), "opens, creates the branch");
        });
    }
}

#[test]
fn machines_are_asked_for_of_those_that_come_in_and_of_nobody_who_asked() {
    for (requests, expected) in [
        (vec![], "branch rollouts gauss/peu01, gauss/peu02, gauss/peu03"),
        (
            vec![comment(1, "ada", None, "/capstan upgrade gauss/peu02")],
            "branch rollouts gauss/peu01, gauss/peu03",
        ),
    ] {
        group().heard(&requests, |planned| {
            let mut told = Answers::default();
            told.of_pull.branch = Some(None);
            let (asked, _) = drive(planned, GROUP, &Earlier::default(), &told);
            assert_eq!(asked.join(" "), expected);
        });
    }
    // Members of the open pull request need not wait.
    let case = group().shared(3, "group://gauss", 'a', &["gauss/peu01", "gauss/peu02"]);
    case.look(|planned| {
        let mut told = Answers::default();
        told.of_pull.branch = Some(written(planned, "gauss/peu01", 'a'));
        let (asked, decided) = drive(planned, GROUP, &Earlier::default(), &told);
        assert_eq!(words(&decided.action), "updates #3, writes the branch anew");
        assert_eq!(asked.last().unwrap(), "rollouts gauss/peu03");
    });
}

#[test]
fn who_must_not_be_merged_leaves_a_shared_pull_request() {
    let parts: Vec<BlockPart> = vec![
        BlockPart {
            decisions: Decisions { hold: Some(hold()), ..Decisions::default() },
            ..carried("gauss/peu01")
        },
        carried("gauss/peu02"),
        carried("gauss/peu03"),
    ];
    let shared = Block { parts, ..block(3, &id("group://gauss"), V22) };
    let case = group().proposed_with(3, "group://gauss", 'a', shared);
    case.look(|planned| {
        let mut told = Answers::default();
        told.of_pull.branch = Some(written(planned, "gauss/peu01", 'a'));
        told.of_pull.reviewed = Some(Reviewed::Approved);
        let (_, decided) = drive(planned, GROUP, &Earlier::default(), &told);
        assert_eq!(membership(&decided), "gauss/peu02 gauss/peu03; out: gauss/peu01 (held)");
        assert_eq!(decided.leaving, Leaving::Somebody);
        assert_eq!(words(&decided.action), "updates #3, writes the branch anew");
    });
}

#[test]
fn who_has_a_pull_request_of_its_own_now_leaves_the_shared_one() {
    let case = group().shared(3, "group://gauss", 'a', GROUP.1);
    case.look(|planned| {
        let mut told = Answers::default();
        told.of_pull.branch = Some(written(planned, "gauss/peu01", 'a'));
        let those = ("group://gauss", &["gauss/peu01", "gauss/peu02"][..]);
        let (_, decided) = drive(planned, those, &Earlier::default(), &told);
        assert_eq!(decided.leaving, Leaving::Somebody);
        assert_eq!(decided.carried, [id("gauss/peu01"), id("gauss/peu02")]);
    });
}

#[test]
fn the_end_of_a_shared_pull_request_concerns_the_clusters_it_carried() {
    let members: BTreeSet<ProposalId> = [id("gauss/peu01")].into_iter().collect();
    let earlier = Earlier {
        members: [(id("group://gauss"), members)].into_iter().collect(),
        ..before(2, "group://gauss")
    };
    for (state, expected) in [
        (
            PullState::Closed(Closer::Person),
            "gauss/peu02 gauss/peu03; out: gauss/peu01 (skipped by the person who closed #2)",
        ),
        (
            PullState::Merged,
            "gauss/peu02 gauss/peu03; out: gauss/peu01 (skipped by the person who reverted #2)",
        ),
        (PullState::Closed(Closer::Capstan), "gauss/peu01 gauss/peu02 gauss/peu03; out: "),
    ] {
        group().look(|planned| {
            let ended = [(id("group://gauss"), ended(2, state, Some(V22)))].into_iter().collect();
            let mut told = Answers { ended, ..Answers::default() };
            told.of_pull.branch = Some(None);
            let (asked, decided) = drive(planned, GROUP, &earlier, &told);
            assert_eq!(membership(&decided), expected, "{state:?}");
            assert_eq!(decided.after, Some(2));
            assert_eq!(asked.iter().filter(|asked| *asked == "ended group://gauss").count(), 1);
        });
    }
}

#[test]
fn a_plan_that_writes_elsewhere_is_left_out_and_reported() {
    let path = RepoPath::parse("kiel/peu01/base/a.yaml").unwrap();
    let mut astray = upgrade("gauss/peu02", V21, V22);
    astray.files[0].path = path;
    group().plan("gauss/peu02", Ok(astray)).look(|planned| {
        let mut told = Answers::default();
        told.of_pull.branch = Some(None);
        let (_, decided) = drive(planned, GROUP, &Earlier::default(), &told);
        assert_eq!(membership(&decided), "gauss/peu01 gauss/peu03; out: gauss/peu02 (unplannable)");
        assert_eq!(decided.outside.unwrap().target, id("gauss/peu02").target);
    });
}

#[test]
fn what_is_skipped_as_a_whole_is_closed_for_a_person() {
    let case = group().shared(3, "group://gauss", 'a', GROUP.1);
    let on = case.open[0].clone();
    case.heard(&[comment(1, "ada", Some(&on), "/capstan skip")], |planned| {
        let mut told = Answers::default();
        told.of_pull.branch = Some(written(planned, "gauss/peu01", 'a'));
        let (_, decided) = drive(planned, GROUP, &Earlier::default(), &told);
        assert_eq!(words(&decided.action), "closes #3 for Person");
        assert_eq!(decided.command, ProposalCommand::Skip);
    });
}

#[test]
fn the_strongest_wish_is_the_one_that_the_others_are_part_of() {
    for (wishes, expected) in [
        (vec![], ProposalCommand::None),
        (vec![ProposalCommand::None, ProposalCommand::Offer], ProposalCommand::Offer),
        (vec![ProposalCommand::Replan, ProposalCommand::Offer], ProposalCommand::Replan),
        (vec![ProposalCommand::Skip, ProposalCommand::Replan, ProposalCommand::None], ProposalCommand::Skip),
    ] {
        assert_eq!(strongest(wishes), expected);
    }
}

#[test]
fn how_far_people_took_a_pull_request() {
    let state = |review, queued, auto_merge| MergeQueueState { review, queued, auto_merge };
    let approval = Approval {
        by: "ada".to_owned(),
        at: now(),
        head: commit('a'),
        result: capstan_plan::proposal::ResultDigest::of(
            &crate::testing::tree(&[]),
            &crate::testing::tree(&[]),
        ),
        means: Means::Command,
        dismissed: None,
    };
    let approved = Decisions { approvals: vec![approval], ..Decisions::default() };
    let none = Decisions::default();
    for (state, decisions, expected) in [
        (state(ReviewDecision::None, false, false), &none, Reviewed::Not),
        (state(ReviewDecision::ChangesRequested, false, false), &none, Reviewed::Not),
        (state(ReviewDecision::Approved, false, false), &none, Reviewed::Approved),
        (state(ReviewDecision::None, false, false), &approved, Reviewed::Approved),
        (state(ReviewDecision::Approved, false, true), &none, Reviewed::AutoMerge),
        (state(ReviewDecision::Approved, true, true), &none, Reviewed::Queued),
    ] {
        assert_eq!(reviewed(&state, decisions), expected, "{state:?}");
    }
}

fn by_site(case: Case) -> Case {
    let by = GroupPattern::parse("*/").unwrap();
    case.settings(|settings| settings.upgrade.proposals.group = Some(GroupSettings { by }))
}

fn arranged(case: &Case, keep: &[(&str, Form)]) -> Result<Arranged, String> {
    case.look(|planned| {
        let keep = keep.iter().map(|(target, form)| (id(target), *form)).collect();
        match arrange(planned, &wanted_of(planned), &keep) {
            Arranging::Arranged(arranged) => Ok(arranged),
            Arranging::AskForm(id) => Err(format!("form of {id}")),
        }
    })
}

fn carriers_of(arranged: &Arranged) -> String {
    let one = |(id, members): (&ProposalId, &Vec<ProposalId>)| {
        format!("{id}: {}", members.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "))
    };
    arranged.carriers.iter().map(one).collect::<Vec<_>>().join("; ")
}

#[test]
fn settings_say_which_pull_request_carries_a_cluster() {
    let two = || Case::new().offered("gauss/peu01").offered("gauss/peu02");
    let own = || two().proposed(3, "gauss/peu01", 'a');
    let shared = || two().shared(5, "group://gauss", 'b', &["gauss/peu01", "gauss/peu02"]);
    let asked = Decisions { release: ReleaseName::parse(V22), ..Decisions::default() };
    let asked_alone = || Case { record: noted("gauss/peu02", asked.clone()), ..two() };
    let asked_in = || {
        let part = BlockPart { decisions: asked.clone(), ..carried("gauss/peu02") };
        let parts = vec![carried("gauss/peu01"), part];
        two().proposed_with(5, "group://gauss", 'b', Block { parts, ..block(5, &id("group://gauss"), V22) })
    };
    for (case, keep, carriers, leaving) in [
        (two(), vec![], "gauss/peu01: gauss/peu01; gauss/peu02: gauss/peu02", vec![]),
        (by_site(two()), vec![], "group://gauss: gauss/peu01 gauss/peu02", vec![]),
        (own(), vec![], "gauss/peu01: gauss/peu01; gauss/peu02: gauss/peu02", vec![]),
        (
            by_site(own()),
            vec![("gauss/peu01", Form::Moves)],
            "group://gauss: gauss/peu01 gauss/peu02",
            vec!["gauss/peu01"],
        ),
        (
            by_site(own()),
            vec![("gauss/peu01", Form::Keeps)],
            "gauss/peu01: gauss/peu01; group://gauss: gauss/peu02",
            vec![],
        ),
        (by_site(shared()), vec![], "group://gauss: gauss/peu01 gauss/peu02", vec![]),
        (
            shared(),
            vec![("group://gauss", Form::Moves)],
            "gauss/peu01: gauss/peu01; gauss/peu02: gauss/peu02",
            vec!["group://gauss"],
        ),
        (shared(), vec![("group://gauss", Form::Keeps)], "group://gauss: gauss/peu01 gauss/peu02", vec![]),
        // A person who asks for a release by name gets a pull request of their own, unless it is the last
        // member.
        (by_site(asked_alone()), vec![], "gauss/peu02: gauss/peu02; group://gauss: gauss/peu01", vec![]),
        (
            by_site(asked_in()),
            vec![("group://gauss", Form::Keeps)],
            "gauss/peu02: gauss/peu02; group://gauss: gauss/peu01",
            vec![],
        ),
        (
            by_site(asked_in()),
            vec![("group://gauss", Form::Moves)],
            "gauss/peu02: gauss/peu02; group://gauss: gauss/peu01",
            vec![],
        ),
    ] {
        let arranged = arranged(&case, &keep).unwrap();
        assert_eq!(carriers_of(&arranged), carriers);
        let left: Vec<String> = arranged.leaving.keys().map(ToString::to_string).collect();
        assert_eq!(left, leaving, "{carriers}");
    }
    for (case, expected) in [(by_site(own()), "form of gauss/peu01"), (shared(), "form of group://gauss")] {
        assert_eq!(arranged(&case, &[]).unwrap_err(), expected);
    }
    // With `mode: observe` nothing moves, and no question is asked.
    let observed = shared().settings(|settings| settings.mode = Mode::Observe);
    assert_eq!(carriers_of(&arranged(&observed, &[]).unwrap()), "group://gauss: gauss/peu01 gauss/peu02");
}

#[test]
fn a_form_is_kept_where_people_worked_on_it_or_took_it_further() {
    let open = Case::new().offered("gauss/peu01").proposed(3, "gauss/peu01", 'a');
    let form = |case: &Case, requests: &[Request], branch: Option<Branch>, reviewed| {
        case.heard(requests, |planned| {
            let mut answers = Answers::default();
            loop {
                match keeps_its_form(planned, &id("gauss/peu01"), &answers) {
                    DecisionStep::Decided(form) => return form,
                    DecisionStep::Ask(Need::Branch { .. }) => answers.of_pull.branch = Some(branch.clone()),
                    DecisionStep::Ask(Need::Reviewed) => answers.of_pull.reviewed = Some(reviewed),
                    DecisionStep::Ask(need) => panic!("{need:?}"),
                }
            }
        })
    };
    let own = open.look(|planned| written(planned, "gauss/peu01", 'a'));
    let on = open.open[0].clone();
    let replan = [comment(1, "ada", Some(&on), "/capstan replan")];
    for (requests, branch, reviewed, expected) in [
        (&[][..], own.clone(), Reviewed::Not, Form::Moves),
        (&[][..], own.clone(), Reviewed::Approved, Form::Keeps),
        (&[][..], own.clone(), Reviewed::Queued, Form::Keeps),
        (&[][..], persons('a'), Reviewed::Not, Form::Keeps),
        (&replan[..], persons('a'), Reviewed::Approved, Form::Moves),
    ] {
        assert_eq!(form(&open, requests, branch, reviewed), expected, "{reviewed:?}");
    }
    assert_eq!(form(&Case::new(), &[], None, Reviewed::Not), Form::Moves);
}

#[test]
fn what_became_of_one_that_was_left_is_noted_by_what_was_to_be_written() {
    let (proposal, members) = (id("gauss/peu01"), [id("gauss/peu01")]);
    let closes = || Parting::Closes {
        why: "It is elsewhere.".to_owned(),
        forgotten: Vec::new(),
        without: BTreeSet::from([id("gauss/peu02")]),
    };
    let case = Case::new().offered("gauss/peu01").proposed(3, "gauss/peu01", 'a');
    for (parting, writes) in [(Parting::Stays, false), (Parting::Notes, true), (closes(), true)] {
        let write = case.look(|planned| parting.write(planned, &proposal));
        assert_eq!(
            write.map(|write| write.what().to_owned()),
            writes.then(|| "proposal gauss/peu01".to_owned())
        );
    }
    for (parting, superseded, without) in
        [(Parting::Notes, vec![], vec![]), (closes(), vec![id("gauss/peu01")], vec![id("gauss/peu02")])]
    {
        let (mut outcome, mut kept) = (Outcome::default(), BTreeSet::new());
        parting.done(&proposal, &mut outcome, &mut kept);
        assert_eq!(outcome.wrote, Wrote::PullRequests);
        assert_eq!(
            (outcome.superseded, kept),
            (superseded.into_iter().collect(), without.into_iter().collect())
        );
    }
    let failed = ProposalFailure::Failed("Git does not answer".to_owned(), NextRun::MayGetFurther);
    for (parting, of_refusal, of_failure) in [
        (Parting::Notes, Some("refused: It is locked."), Some("failed: Git does not answer")),
        (closes(), None, None),
    ] {
        let state = |outcome: &Outcome| {
            let one = outcome.proposals.get(&proposal)?;
            Some(format!("{}: {}", one.state.as_str(), one.why))
        };
        let mut outcome = Outcome::default();
        parting.refused((&proposal, &members), "It is locked.", &mut outcome);
        assert_eq!(state(&outcome).as_deref(), of_refusal);
        assert!(outcome.undecided.is_empty());
        let mut outcome = Outcome::default();
        parting.failed((&proposal, &members), &failed, &mut outcome);
        assert_eq!(state(&outcome).as_deref(), of_failure);
        assert!(outcome.undecided.contains(&proposal), "its commands are heard again");
    }
}

#[test]
fn what_was_left_is_closed_once_its_changes_are_elsewhere() {
    let case =
        by_site(Case::new().offered("gauss/peu01").offered("gauss/peu02").proposed(3, "gauss/peu01", 'a'));
    let homes = [(id("gauss/peu01"), id("group://gauss")), (id("gauss/peu02"), id("group://gauss"))];
    let arranged = Arranged {
        leaving: Carriers::from([(id("gauss/peu01"), vec![id("gauss/peu01")])]),
        homes: BTreeMap::from(homes),
        ..Arranged::default()
    };
    let outcome = |members: &[&str]| {
        let mut outcome = Outcome::default();
        let state = ProposalOutcome { pull: Some(8), ..ProposalOutcome::waiting("") };
        for member in members {
            outcome.proposals.insert(id(member), state.clone());
        }
        if !members.is_empty() {
            outcome.carried.insert(id("group://gauss"), members.iter().map(|member| id(member)).collect());
        }
        outcome
    };
    let parting = |case: &Case, requests: &[Request], outcome: &Outcome| {
        case.heard(requests, |planned| {
            part(planned, &arranged, &id("gauss/peu01"), &wanted_of(planned), outcome, &BTreeSet::new())
        })
    };
    let on = case.open[0].clone();
    let held = [comment(1, "ada", Some(&on), "/capstan hold")];
    let both = outcome(&["gauss/peu01", "gauss/peu02"]);
    let Parting::Closes { why, forgotten, .. } = parting(&case, &[], &both) else { panic!("it is closed") };
    assert_eq!(
        why,
        "What this offers is now in #8. The settings group several clusters in one pull request (`upgrade.proposals.group`)."
    );
    assert!(forgotten.is_empty());
    // A member that is left out of the group's is carried nowhere now.
    let Parting::Closes { forgotten, .. } = parting(&case, &[], &outcome(&["gauss/peu02"])) else {
        panic!("it is closed")
    };
    assert_eq!(forgotten, [id("gauss/peu01")]);
    assert_eq!(parting(&case, &[], &outcome(&[])), Parting::Stays, "the new one is not open yet");
    assert_eq!(parting(&case, &held, &outcome(&[])), Parting::Notes);
    let pause = [comment(1, "ada", None, "/capstan pause")];
    assert_eq!(parting(&case, &pause, &both), Parting::Stays);
    let observed = case.clone().settings(|settings| settings.mode = Mode::Observe);
    assert_eq!(parting(&observed, &[], &both), Parting::Stays);
    // A decision needs a place to be recorded.
    let nowhere = Case { no_dashboard: Some("none".to_owned()), ..case };
    assert_eq!(parting(&nowhere, &held, &outcome(&["gauss/peu02"])), Parting::Notes);
}

#[test]
fn the_newest_pull_request_that_brought_a_clusters_changes_counts() {
    let facts = Case::new().facts();
    let body = |number, group: &str, members: &[&str]| {
        let parts = members.iter().map(|member| carried(member)).collect();
        Block { parts, ..block(number, &id(group), V22) }.render(&key())
    };
    let of = |number, target: &str, body: String| EarlierPullRequest {
        body,
        ..earlier_pull(number, target, PullRequestState::Closed)
    };
    let found = vec![
        of(2, "gauss/peu01", String::new()),
        of(5, "group://gauss", body(5, "group://gauss", &["gauss/peu01", "gauss/peu02"])),
        of(6, "group://kiel", body(6, "group://kiel", &["kiel/peu01"])),
        of(7, "group://lost", String::new()),
    ];
    let asked: BTreeSet<ProposalId> =
        ["gauss/peu01", "group://gauss", "group://kiel"].iter().map(|target| id(target)).collect();
    let earlier = Earlier::read(&facts, &Carriers::new(), asked.clone(), found.clone());
    let newest = |earlier: &Earlier, target: &str| earlier.of(&id(target)).map(|(_, pull)| pull.number);
    for (target, expected) in
        [("gauss/peu01", Some(5)), ("gauss/peu02", Some(5)), ("kiel/peu01", Some(6)), ("other/peu01", None)]
    {
        assert_eq!(newest(&earlier, target), expected, "{target}");
    }
    // Without the block any cluster may have been a member.
    let asked = asked.into_iter().chain([id("group://lost")]).collect();
    let earlier = Earlier::read(&facts, &Carriers::new(), asked, found);
    assert_eq!(newest(&earlier, "other/peu01"), Some(7));
}

#[test]
fn earlier_ones_are_asked_for_of_what_may_be_opened() {
    let carriers = |all: &[(&str, &[&str])]| -> Carriers {
        let members = |all: &[&str]| all.iter().map(|one| id(one)).collect();
        all.iter().map(|(carrier, those)| (id(carrier), members(those))).collect()
    };
    let two = || Case::new().offered("gauss/peu01").offered("gauss/peu02");
    let group: &[(&str, &[&str])] = &[("group://gauss", &["gauss/peu01", "gauss/peu02"])];
    for (case, those, expected) in [
        (two(), &[("gauss/peu01", &["gauss/peu01"][..])][..], vec!["gauss/peu01"]),
        (two().proposed(3, "gauss/peu01", 'a'), &[("gauss/peu01", &["gauss/peu01"][..])][..], vec![]),
        (Case::new().current("gauss/peu01"), &[("gauss/peu01", &["gauss/peu01"][..])][..], vec![]),
        (two(), group, vec!["gauss/peu01", "gauss/peu02", "group://gauss"]),
        (two().shared(3, "group://gauss", 'a', &["gauss/peu01"]), group, vec!["gauss/peu02"]),
        (two().shared(3, "group://gauss", 'a', &["gauss/peu01", "gauss/peu02"]), group, vec![]),
    ] {
        case.look(|planned| {
            let asked = asked_earlier(planned.facts, &carriers(those), &wanted_of(planned));
            assert_eq!(asked.iter().map(ToString::to_string).collect::<Vec<_>>(), expected);
        });
    }
}

#[test]
fn what_became_of_a_pull_request_is_read_from_its_head_before_its_body() {
    let facts = Case::new().facts();
    let body = |closed_by| Block { closed_by, ..block(2, &id("gauss/peu01"), V22) }.render(&key());
    let of = |state, body: String| EarlierPullRequest { body, ..earlier_pull(2, "gauss/peu01", state) };
    let (closed, merged) = (PullRequestState::Closed, PullRequestState::Merged);
    for (pull, of_head, state, offered) in [
        (of(closed, body(None)), None, PullState::Closed(Closer::Person), Some(V22)),
        (of(closed, body(Some(ClosedBy::Person))), None, PullState::Closed(Closer::Person), Some(V22)),
        (of(closed, body(Some(ClosedBy::Capstan))), None, PullState::Closed(Closer::Capstan), Some(V22)),
        (of(merged, body(None)), Some(source(V21)), PullState::Merged, Some(V21)),
        (of(closed, String::new()), None, PullState::Closed(Closer::Person), None),
        (of(PullRequestState::Open, body(None)), Some(source(V21)), PullState::Open, Some(V22)),
    ] {
        let became = became(&facts, &id("gauss/peu01"), &pull, of_head);
        assert_eq!((became.state, became.source), (state, offered.map(source)));
    }
}

#[test]
fn a_pull_request_of_another_branch_is_not_the_previous_one() {
    let facts = Case::new().facts();
    let open = pull(9, "capstan/upgrade/gauss/peu01", 'a');
    for (target, expected) in [("gauss/peu01", Some(9)), ("kiel/peu01", None)] {
        let found = as_earlier(&facts, &id(target), open.clone());
        assert_eq!(found.map(|pull| pull.number), expected);
    }
    // A block that does not name the previous pull request yet leads to a question about it.
    let after = Block { after: Some(4), pull_request: None, ..block(5, &id("group://gauss"), V22) };
    let case = Case::new().proposed_with(5, "group://gauss", 'a', after).proposed(6, "gauss/peu01", 'b');
    let carriers: Carriers =
        [(id("group://gauss"), vec![]), (id("gauss/peu01"), vec![])].into_iter().collect();
    assert_eq!(unbound(&case.facts(), &carriers), [(&id("group://gauss"), 4)]);
}

#[test]
fn what_is_wanted_is_what_is_planned_and_what_is_open_though_it_is_gone() {
    let blocked = Upgrade { blocked: vec!["No.".to_owned()], ..upgrade("kiel/peu02", V21, V22) };
    let case = Case::new()
        .offered("gauss/peu01")
        .current("gauss/peu02")
        .plan("kiel/peu01", Err("unreadable."))
        .plan("kiel/peu02", Ok(blocked))
        .proposed(3, "gone/peu01", 'a');
    let words = |wanted: &ProposalPlan| match wanted {
        ProposalPlan::Offer(offer) => format!("offers {}", offer.source.source()),
        ProposalPlan::Nothing { rest, .. } => format!("{rest:?}"),
        ProposalPlan::Blocked { .. } => "blocked".to_owned(),
        ProposalPlan::Unplannable { .. } => "unplannable".to_owned(),
    };
    case.look(|planned| {
        let wanted = wanted_of(planned);
        for (target, expected) in [
            ("gauss/peu01", "offers aws/v22.0.0"),
            ("gauss/peu02", "Current"),
            ("kiel/peu01", "unplannable"),
            ("kiel/peu02", "blocked"),
            ("gone/peu01", "Gone"),
        ] {
            assert_eq!(words(&wanted[&id(target)]), expected, "{target}");
        }
        assert_eq!(wanted.len(), 5);
    });
}

pub(super) fn decided_pull(action: Action, command: ProposalCommand, carried: &[&str]) -> DecidedPull {
    let wanted = ProposalPlan::Offer(capstan_plan::proposal::Offer {
        source: source(V22),
        plan: PlanDigest::of(&[]),
        draft: Draft::Ready,
        brought_by: SourceKind::RELEASE,
        writes: capstan_plan::proposal::Writes::Objects,
    });
    DecidedPull {
        wanted,
        action,
        command,
        carried: carried.iter().map(|one| id(one)).collect(),
        left_out: Vec::new(),
        leaving: Leaving::Nobody,
        outside: None,
        after: None,
    }
}

#[test]
fn what_github_refused_waits_unless_somebody_asks_or_it_says_something_else() {
    let open = || Action::Open { branch: BranchStep::Create };
    let close = Action::Close { pull: 3, why: "gone".to_owned(), by: Closer::Capstan, rest: Rest::Gone };
    let write = decided_pull(open(), ProposalCommand::None, &[]).write(&id("gauss/peu01")).unwrap();
    let refused = RefusedWrite {
        not_before: now() + jiff::SignedDuration::from_mins(5),
        ..crate::facts::Refusals::default().refused(&write, 7, "a ruleset", now())
    };
    for (refused, action, command, expected) in [
        (vec![refused.clone()], open(), ProposalCommand::None, true),
        (vec![refused.clone()], open(), ProposalCommand::Replan, false),
        (vec![], open(), ProposalCommand::None, false),
        (vec![refused.clone()], close, ProposalCommand::None, false),
        (vec![refused], Action::Leave(LeaveReason::Edited { pull: None }), ProposalCommand::None, false),
    ] {
        let case = Case { refused, ..Case::new().offered("gauss/peu01") };
        let decided =
            [(id("gauss/peu01"), decided_pull(action, command, &["gauss/peu01"]))].into_iter().collect();
        let held = case.look(|planned| held_by_refusals(planned, &decided, now()));
        assert_eq!(held.len(), usize::from(expected), "{command:?}");
    }
}

#[test]
fn who_waits_for_a_campaign_is_left_out_of_a_shared_pull_request() {
    let decided = decided_pull(Action::Open { branch: BranchStep::Create }, ProposalCommand::None, GROUP.1);
    let members: Vec<ProposalId> = GROUP.1.iter().map(|one| id(one)).collect();
    let asks = [comment(1, "ada", None, "/capstan upgrade gauss/peu01")];
    let names = |all: Vec<ProposalId>| all.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    for (requests, waiting, expected) in [
        (&[][..], vec![], None),
        (&[][..], vec![("gauss/peu01", false)], Some("gauss/peu02 gauss/peu03")),
        // A person's command passes waves and windows, but not a stopped campaign.
        (&asks[..], vec![("gauss/peu01", false)], None),
        (&asks[..], vec![("gauss/peu01", true)], Some("gauss/peu02 gauss/peu03")),
        // If all members wait, the pull request waits as a whole.
        (&[][..], vec![("gauss/peu01", false), ("gauss/peu02", false), ("gauss/peu03", false)], None),
    ] {
        group().heard(requests, |planned| {
            let waits = |member: &ProposalId| {
                waiting.iter().find(|(target, _)| id(target) == *member).map(|(_, for_all)| *for_all)
            };
            let going = without_those_that_wait(planned, (&decided, &members), waits);
            assert_eq!(going.map(names).as_deref(), expected);
        });
    }
}

#[test]
fn what_was_decided_is_written_into_what_is_left_as_it_is() {
    let open = || Case::new().offered("gauss/peu01").proposed(3, "gauss/peu01", 'a');
    let on = open().open[0].clone();
    let over = OnHold { until: Some(crate::testing::TODAY), ..hold() };
    let over = Block {
        decisions: Decisions { hold: Some(over), ..Decisions::default() },
        ..block(3, &id("gauss/peu01"), V22)
    };
    let over = Case::new().offered("gauss/peu01").proposed_with(3, "gauss/peu01", 'a', over);
    let edited = || LeaveReason::Edited { pull: Some(3) };
    let held = || LeaveReason::Held { pull: Some(3), hold: hold() };
    let asks = |text: &str| vec![comment(1, "ada", Some(&on), text)];
    for (case, requests, standing, expected) in [
        (open(), vec![], edited(), None),
        (open(), asks("/capstan hold"), held(), Some(Draft::Draft)),
        (open(), asks("/capstan override kubernetes-minor-skip tested"), edited(), Some(Draft::Ready)),
        // A proposal that is held or blocked is a draft, whenever that was decided.
        (open(), vec![], held(), Some(Draft::Draft)),
        (open(), vec![], LeaveReason::Blocked { pull: Some(3), why: vec![] }, Some(Draft::Draft)),
        (over, vec![], edited(), Some(Draft::Ready)),
        (open().settings(|settings| settings.mode = Mode::Observe), asks("/capstan hold"), held(), None),
        (Case::new().offered("gauss/peu01"), vec![], held(), None),
    ] {
        case.heard(&requests, |planned| {
            let decided =
                decided_pull(Action::Leave(standing.clone()), ProposalCommand::None, &["gauss/peu01"]);
            let kept = kept_decisions(planned, &id("gauss/peu01"), (&standing, &decided));
            assert_eq!(kept.map(|(_, want, _, _)| want), expected, "{standing:?}");
        });
    }
}

#[test]
fn what_was_decided_of_a_pull_request_ends_with_it() {
    let skipped = Skipped { source: V22.to_owned(), by: "ada".to_owned() };
    let decisions = Decisions { hold: Some(hold()), skipped: Some(skipped.clone()), ..Decisions::default() };
    let parts = vec![
        BlockPart { decisions: decisions.clone(), ..carried("gauss/peu01") },
        BlockPart::left_out(id("gauss/peu02").target, decisions.clone()),
    ];
    let block = Block { decisions, parts, ..block(3, &id("group://gauss"), V22) };
    for (by, expected) in [(Closer::Capstan, ClosedBy::Capstan), (Closer::Person, ClosedBy::Person)] {
        let closed = closed_block(block.clone(), by);
        assert_eq!(closed.closed_by, Some(expected));
        assert!(closed.decisions.is_empty() && closed.parts[0].decisions.is_empty());
        // An earlier decline is looked up there.
        let left = Decisions { skipped: Some(skipped.clone()), ..Decisions::default() };
        assert_eq!(closed.parts[1].decisions, left);
    }
}

#[test]
fn each_state_leaves_its_stage_for_the_buttons_of_its_check() {
    let case = || Case::new().offered("gauss/peu01").proposed(3, "gauss/peu01", 'a');
    for (state, mode, expected) in [
        (ProposalState::Proposed, Mode::Propose, Some(Stage::Offered)),
        (ProposalState::Held, Mode::Propose, Some(Stage::Held)),
        (ProposalState::Paused, Mode::Propose, Some(Stage::Paused)),
        (ProposalState::Refused, Mode::Propose, Some(Stage::Refused)),
        (ProposalState::Proposed, Mode::Observe, None),
    ] {
        let mut outcome = Outcome::default();
        outcome.note(&[id("gauss/peu01")], &ProposalOutcome::new(state, "why"));
        case().settings(|settings| settings.mode = mode).look(|planned| remark(planned, &mut outcome));
        assert_eq!(outcome.remarks.get(&3).and_then(|remarks| remarks.stage), expected, "{state:?}");
    }
    // In a group pull request, what prevents the merge for any member.
    let shared = group().shared(5, "group://gauss", 'b', &["gauss/peu01", "gauss/peu02"]);
    let mut outcome = Outcome::default();
    outcome.note(&[id("gauss/peu01")], &ProposalOutcome::new(ProposalState::Held, ""));
    outcome.note(&[id("gauss/peu02"), id("gauss/peu03")], &ProposalOutcome::new(ProposalState::Proposed, ""));
    shared.look(|planned| remark(planned, &mut outcome));
    assert_eq!(outcome.remarks[&5].stage, Some(Stage::Held));
}

#[test]
fn the_check_reports_overrides_and_edits() {
    let overruled = Block {
        decisions: Decisions {
            overrides: vec![capstan_plan::proposal::Override {
                rule: "kubernetes-minor-skip".to_owned(),
                reason: "tested".to_owned(),
                by: "ada".to_owned(),
                source: V22.to_owned(),
            }],
            ..Decisions::default()
        },
        ..block(3, &id("gauss/peu01"), V22)
    };
    let case = Case::new().offered("gauss/peu01").proposed_with(3, "gauss/peu01", 'a', overruled);
    for (state, is_edited, upgrades) in
        [(ProposalState::Proposed, false, 0), (ProposalState::Edited, true, 1)]
    {
        let mut outcome = Outcome::default();
        outcome.note(&[id("gauss/peu01")], &ProposalOutcome::new(state, ""));
        case.look(|planned| remark(planned, &mut outcome));
        let remarks = &outcome.remarks[&3];
        assert_eq!((remarks.is_edited, remarks.upgrades.len()), (is_edited, upgrades));
        let target = Target::parse("gauss/peu01").unwrap();
        assert_eq!(remarks.overrides[&target].len(), 1);
    }
}

#[test]
fn members_that_would_join_what_is_left_alone_wait() {
    let case = group().shared(5, "group://gauss", 'b', &["gauss/peu01"]);
    let facts = case.facts();
    let lost = group().facts();
    let state = ProposalOutcome::new(ProposalState::Edited, "People worked on it.");
    for (facts, action, expected) in [
        (&facts, Action::Leave(LeaveReason::Edited { pull: Some(5) }), vec!["gauss/peu02", "gauss/peu03"]),
        (
            &facts,
            Action::Leave(LeaveReason::Waits { pull: 5, reviewed: Reviewed::Approved, newer: None }),
            vec!["gauss/peu02", "gauss/peu03"],
        ),
        (&facts, Action::Leave(LeaveReason::Edited { pull: None }), vec![]),
        (&facts, Action::Update { pull: 5, branch: BranchStep::Keep }, vec![]),
        // With unknown members no cluster is said to be outside.
        (&lost, Action::Leave(LeaveReason::Edited { pull: Some(5) }), vec![]),
    ] {
        let decided = decided_pull(action, ProposalCommand::None, GROUP.1);
        let mut outcome = Outcome::default();
        note_newcomers(facts, &id("group://gauss"), &decided, &state, &mut outcome);
        let noted: Vec<String> = outcome.proposals.keys().map(ToString::to_string).collect();
        assert_eq!(noted, expected);
        for one in outcome.proposals.values() {
            assert_eq!(one.state, ProposalState::Waiting);
            assert_eq!(
                one.why,
                "#5 of its group does not change, and does not have this cluster: People worked on it."
            );
        }
    }
}

#[test]
fn an_offer_gives_one_line_for_each_kind() {
    let case = Case::new()
        .offered("gauss/peu01")
        .offered("gauss/peu02")
        .current("kiel/peu01")
        .plan("kiel/peu02", Err("no."));
    let kinds = [SourceKind::RELEASE, SourceKind::INVENTORY];
    let offered = offered(&kinds, &case.plans);
    assert_eq!(offered[&SourceKind::RELEASE], V22);
    assert_eq!(offered[&SourceKind::INVENTORY], "");
}

#[test]
fn a_failure_leaves_a_proposal_undecided_if_the_next_run_may_get_further() {
    let failed = |next| ProposalFailure::Failed("Git does not answer".to_owned(), next);
    for (failure, undecided) in [
        (failed(NextRun::MayGetFurther), 1),
        (failed(NextRun::FailsAgain), 0),
        (ProposalFailure::BudgetSpent("Git does not answer".to_owned()), 1),
        (ProposalFailure::Outside("Git does not answer".to_owned()), 0),
    ] {
        let mut outcome = Outcome::default();
        let state = outcome.fail(&[id("gauss/peu01")], &failure);
        assert_eq!((state.state, state.why.as_str()), (ProposalState::Failed, "Git does not answer"));
        assert_eq!(outcome.undecided.len(), undecided);
    }
}

#[test]
fn what_was_decided_is_noted_where_a_pull_request_brings_the_cluster() {
    let facts = Case::new().shared(5, "group://gauss", 'b', &["gauss/peu01"]).facts();
    let mut moved = Outcome::default();
    moved.carried.insert(id("group://gauss"), vec![id("gauss/peu02")]);
    let mut superseded = Outcome::default();
    superseded.superseded.insert(id("group://gauss"));
    let mut beside = Outcome::default();
    beside.noted_besides.insert(id("gauss/peu03"));
    for (outcome, target, expected) in [
        (&Outcome::default(), "gauss/peu01", true),
        (&Outcome::default(), "gauss/peu02", false),
        (&moved, "gauss/peu01", false),
        (&moved, "gauss/peu02", true),
        (&superseded, "gauss/peu01", false),
        (&beside, "gauss/peu03", true),
    ] {
        assert_eq!(outcome.is_noted(&facts, &id(target)), expected, "{target}");
    }
}

#[test]
fn what_blocks_the_pull_request_below_blocks_the_one_above() {
    let below = Remarks {
        blocked: vec!["It has a conflict.".to_owned()],
        gates: vec![Gate { title: "approvals".to_owned(), why: "One is missing.".to_owned() }],
        ..Remarks::default()
    };
    let mut above = Remarks::default();
    above.add_below(4, &below);
    assert_eq!(above.blocked, ["#4, which is below it: It has a conflict."]);
    assert_eq!(above.gates[0].title, "#4: approvals");
    assert_eq!(above.gates[0].why, "#4, which is below it: One is missing.");
}

#[test]
fn what_is_written_is_known_again_by_what_it_says() {
    let leave = decided_pull(Action::Leave(LeaveReason::Edited { pull: None }), ProposalCommand::None, &[]);
    assert!(leave.write(&id("gauss/peu01")).is_none());
    let open = decided_pull(Action::Open { branch: BranchStep::Create }, ProposalCommand::None, &[]);
    let write: Write = open.write(&id("gauss/peu01")).unwrap();
    assert_eq!(write.what(), "proposal gauss/peu01");
    let nothing =
        DecidedPull { wanted: ProposalPlan::Nothing { why: String::new(), rest: Rest::Gone }, ..open };
    assert!(nothing.write(&id("gauss/peu01")).is_none());
}

/// The content of a group pull request.
#[test]
fn an_intention_names_the_members_it_carries_and_those_left_out() {
    let mut decided = decided_pull(
        Action::Open { branch: BranchStep::Create },
        ProposalCommand::None,
        &["gauss/peu01", "gauss/peu02"],
    );
    let held = WhyLeftOut::LeftAlone(LeaveReason::Held { pull: None, hold: hold() });
    let current = WhyLeftOut::LeftAlone(LeaveReason::NothingOffered {
        why: "It has it.".to_owned(),
        rest: Rest::Current,
    });
    decided.left_out = vec![(id("gauss/peu03"), held), (id("gauss/peu04"), current)];
    let case = Case {
        no_dashboard: Some("none".to_owned()),
        record: noted("gauss/peu03", Decisions { hold: Some(hold()), ..Decisions::default() }),
        ..group()
    };
    let mut outcome = Outcome::default();
    outcome.note(&[id("gauss/peu03")], &ProposalOutcome::new(ProposalState::Held, "On hold by `ada`."));
    case.look(|planned| {
        let group = id("group://gauss");
        let intent = intent(planned, &group, &decided, &outcome, now()).unwrap();
        let carried: Vec<String> = intent.parts.iter().map(|part| part.proposal.to_string()).collect();
        assert_eq!(carried, ["gauss/peu01", "gauss/peu02"]);
        // A member that has all of it already is not mentioned.
        assert_eq!(intent.left_out, [(id("gauss/peu03").target, "held: On hold by `ada`.".to_owned())]);
        // Without a dashboard, decisions about left out members are recorded here.
        assert_eq!(intent.noted_besides.len(), 1);
        assert!(intent.without_room.is_empty() && intent.holds_decisions());
        let title = intent.wanted_title();
        assert!(title.contains("gauss") && title.contains("2 clusters"), "{title}");
        let mut published = Outcome::default();
        let state = published.published(&intent, 8);
        assert_eq!(state.why, "#8 offers `aws/v22.0.0` to 2 clusters.");
        assert_eq!(published.carried[&group].len(), 2);
        let overtaken = published.overtaken(&intent);
        assert_eq!(overtaken.state, ProposalState::Waiting);
        assert_eq!(published.overtaken.len(), 3);
    });
}

#[test]
fn a_body_that_says_the_same_is_not_written_again() {
    let decided = decided_pull(
        Action::Update { pull: 3, branch: BranchStep::Keep },
        ProposalCommand::None,
        &["gauss/peu01"],
    );
    let case = Case::new().offered("gauss/peu01").proposed(3, "gauss/peu01", 'a');
    case.look(|planned| {
        let proposal = id("gauss/peu01");
        let intent = intent(planned, &proposal, &decided, &Outcome::default(), now()).unwrap();
        let sidebar = SidebarStanding::default();
        let title = intent.title_step(&intent.wanted_title(), None, Some(&source(V22)));
        let written = TitleDigest::of(&intent.wanted_title());
        let body = intent.body((7, Some(3)), Drafted::No, &sidebar, &written, &key());
        let block = planned.facts.block(&proposal, 3, &body).unwrap();
        assert!(intent.is_said(&block, Drafted::No, &sidebar, &title));
        for other in [
            Block { source: source(V21), ..block.clone() },
            Block { text: "other".to_owned(), ..block.clone() },
            Block { decisions: Decisions { hold: Some(hold()), ..Decisions::default() }, ..block.clone() },
            Block { closed_by: Some(ClosedBy::Capstan), ..block.clone() },
        ] {
            assert!(!intent.is_said(&other, Drafted::No, &sidebar, &title));
        }
        assert!(!intent.is_said(&block, Drafted::ByCapstan, &sidebar, &title));
        assert!(!intent.holds_decisions());
    });
}

/// The pull request of a proposal that is opened: a decision counts only in a body that names its number.
#[test]
fn a_new_pull_request_is_opened_as_the_settings_and_decisions_say() {
    let decided =
        decided_pull(Action::Open { branch: BranchStep::Create }, ProposalCommand::None, &["gauss/peu01"]);
    let label = LabelName::parse("upgrade").unwrap();
    let case = Case::new()
        .offered("gauss/peu01")
        .settings(|settings| settings.upgrade.proposals.labels = vec![label.clone()]);
    let held = Decisions { hold: Some(hold()), ..Decisions::default() };
    let held = Case { record: noted("gauss/peu01", held), ..case.clone() };
    for (case, numbered) in [(case, Numbered::WithTheNext), (held, Numbered::AtOnce)] {
        case.look(|planned| {
            let (facts, proposal) = (planned.facts, id("gauss/peu01"));
            let intent = intent(planned, &proposal, &decided, &Outcome::default(), now()).unwrap();
            let desired = intent.desired_pull(facts, None, now());
            let PullText::New(new) = &desired.text else { panic!("none is open") };
            let opened = new.opened("main", desired.draft);
            assert_eq!((opened.head_branch.as_str(), opened.draft), ("capstan/upgrade/gauss/peu01", false));
            assert_eq!(new.numbered, numbered);
            let sidebar = desired.sidebar.as_ref().unwrap();
            assert_eq!(sidebar.asked.labels, ["upgrade"]);
            assert_eq!(sidebar.done, Sidebar::default());
            let remembered = (new.remembered)(&pull(8, "capstan/upgrade/gauss/peu01", 'a'));
            let [Effect::SaveProposal(record)] = remembered.as_slice() else { panic!("{remembered:?}") };
            assert_eq!((record.pull_request, &record.head), (Some(8), &commit('a')));
            let told = "offers aws/v22.0.0 in #8".to_owned();
            let told = AuditEntry::own(7, Some(&proposal), "proposal-opened", told);
            let audited = desired.audited.entries(7, desired.audited.opened, 8);
            assert_eq!(audited, [Effect::Audit(told)]);
        });
    }
}

/// A row is the title and the body of an open one, what its head offers where the body does not say it, and whether it is
/// written, with which title.
#[test]
fn an_open_pull_request_is_written_where_something_of_it_changed() {
    let decided = decided_pull(
        Action::Update { pull: 3, branch: BranchStep::Keep },
        ProposalCommand::None,
        &["gauss/peu01"],
    );
    let nothing = SidebarStanding::default();
    let first = Case::new().offered("gauss/peu01");
    let (title, body) = first.look(|planned| {
        let proposal = id("gauss/peu01");
        let intent = intent(planned, &proposal, &decided, &Outcome::default(), now()).unwrap();
        let title = intent.wanted_title();
        let written = TitleDigest::of(&title);
        (title, intent.body((7, Some(3)), Drafted::No, &nothing, &written, &key()))
    });
    let proposed = first.proposed(3, "gauss/peu01", 'a');
    let says = |title: &str, body: &str| {
        let open = PullRequest { title: title.to_owned(), body: body.to_owned(), ..proposed.open[0].clone() };
        Case { open: vec![open], ..proposed.clone() }
    };
    let longer = format!("A person's words.\n\n{body}");
    for (case, offered, drafted, expected) in [
        (says(&title, &body), None, Drafted::No, None),
        (says(&title, &longer), None, Drafted::No, None),
        // A person's title stays as long as the same is offered.
        (says("Mine", &body), None, Drafted::No, None),
        (says(&title, &body), None, Drafted::ByCapstan, Some(None)),
        // The block is gone: the head says what was offered.
        (says("Mine", "Nothing."), Some(source(V22)), Drafted::No, Some(None)),
        (says("Mine", "Nothing."), Some(source(V21)), Drafted::No, Some(Some(title.clone()))),
    ] {
        case.look(|planned| {
            let (facts, proposal, pull) = (planned.facts, id("gauss/peu01"), &case.open[0]);
            let intent = intent(planned, &proposal, &decided, &Outcome::default(), now()).unwrap();
            assert_eq!(intent.head_to_ask(facts), (pull.body == "Nothing.").then_some(&pull.head));
            let desired = intent.desired_pull(facts, offered, now());
            let PullText::Open(open) = &desired.text else { panic!("it is open") };
            let edit = (open.edit)(drafted, &nothing);
            assert_eq!(edit.map(|edit| edit.title), expected, "{} {}", pull.title, pull.body);
        });
    }
}

#[test]
fn what_was_decided_is_written_into_a_body_that_does_not_say_it() {
    let block = block(3, &id("gauss/peu01"), V22);
    let case = Case::new().offered("gauss/peu01").proposed_with(3, "gauss/peu01", 'a', block.clone());
    let held = Decisions { hold: Some(hold()), ..Decisions::default() };
    for (decisions, drafted, written) in [
        (Decisions::default(), Drafted::No, false),
        (Decisions::default(), Drafted::ByCapstan, true),
        (held, Drafted::No, true),
    ] {
        case.look(|planned| {
            let (now, proposal) = (&case.open[0], id("gauss/peu01"));
            let want = (decisions.clone(), Draft::Draft);
            let desired = pull_with_decisions(planned, &proposal, (now, block.clone()), want);
            let PullText::Open(open) = &desired.text else { panic!("it is open") };
            assert_eq!((open.drafted, desired.draft), (Drafted::No, Some(Draft::Draft)));
            let edit = (open.edit)(drafted, &SidebarStanding::default());
            assert_eq!(edit.is_some(), written, "{decisions:?} {drafted:?}");
            let Some(edit) = edit else { return };
            let said = planned.facts.block(&proposal, 3, &edit.body).unwrap();
            assert_eq!((said.decisions, said.drafted, edit.title), (decisions, drafted, None));
        });
    }
}

/// Each row has a proposal, the proposals that no pull request carries afterwards, and those whose audit trail records
/// the end.
#[test]
fn a_pull_request_is_closed_with_why_and_what_it_brought_is_forgotten() {
    let case = Case::new().offered("gauss/peu01").proposed(3, "gauss/peu01", 'a');
    let shared = group().shared(5, "group://gauss", 'b', &["gauss/peu01", "gauss/peu02"]);
    for (case, target, forgotten, told) in [
        (&case, "gauss/peu01", &["gauss/peu01"][..], &["gauss/peu01"][..]),
        (&shared, "group://gauss", &["gauss/peu02"], &["gauss/peu01", "gauss/peu02"]),
    ] {
        case.look(|planned| {
            let (facts, proposal, now) = (planned.facts, id(target), &case.open[0]);
            let members: Vec<ProposalId> = forgotten.iter().map(|one| id(one)).collect();
            let block = facts.block(&proposal, now.number, &now.body);
            let closed =
                closing(facts, &proposal, (now, block), ("It has it.", Closer::Capstan)).forgetting(&members);
            assert!(closed.body.contains("It has it."), "{}", closed.body);
            let said = facts.block(&proposal, now.number, &closed.body).unwrap();
            assert_eq!(said.closed_by, Some(ClosedBy::Capstan));
            let detail = format!("#{}: It has it.", now.number);
            let audit = |one: &&str| AuditEntry::own(7, Some(&id(one)), "proposal-closed", detail.clone());
            let forget = members.into_iter().map(Effect::ForgetProposal);
            let expected: Vec<Effect> = forget.chain(told.iter().map(audit).map(Effect::Audit)).collect();
            assert_eq!(closed.then, expected);
        });
    }
}

#[test]
fn where_the_block_is_gone_the_head_says_what_is_offered() {
    let case = Case::new().offered("gauss/peu01").proposed(3, "gauss/peu01", 'a');
    case.look(|planned| {
        let block = block_of_head(planned.facts, &id("gauss/peu01"), &case.open[0], source(V21));
        assert_eq!((block.pull_request, block.source), (Some(3), source(V21)));
        assert!(block.decisions.is_empty() && block.parts.is_empty() && block.closed_by.is_none());
    });
}

#[test]
fn machines_are_waited_for_where_the_inventory_does_not_say_that_the_cluster_comes_or_goes() {
    let case = Case::new().offered("gauss/peu01").plan("providers://mc/set", Err("no."));
    case.look(|planned| {
        for (target, expected) in [
            ("gauss/peu01", true),
            ("kiel/peu01", true),
            ("providers://mc/set", false),
            ("group://gauss", false),
        ] {
            assert_eq!(awaited_cluster(planned, &id(target)).is_some(), expected, "{target}");
        }
    });
}
