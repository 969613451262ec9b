use super::*;
use capstan_live::agent::{Machine, ReportId, WireReason, Words};
use capstan_model::tree::RepoPath;
use capstan_plan::settings::RepositoryName;
use jiff::Timestamp;

const WEB: &str = "https://github.com/acme/gitops";

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_795_262_400 + second).unwrap()
}

fn commit() -> CommitId {
    CommitId::parse(&"a".repeat(40)).unwrap()
}

fn report(number: u32, cluster: &str, state: RolloutState) -> RolloutReport {
    let machine = |name: &str, phase: &str, age| Machine {
        name: Words::new(name),
        owner: Words::new("MachineDeployment md-0"),
        state: Words::new(phase),
        age,
        created_at: None,
    };
    RolloutReport {
        id: ReportId::parse(&format!("{number:026}")).unwrap(),
        repository: RepositoryName::parse("acme/gitops").unwrap(),
        cluster: ClusterId::new(RepoPath::parse(cluster).unwrap()),
        attempted: commit(),
        applied: Some(commit()),
        state,
        observed_at: at(i64::from(number)),
        since: None,
        words: (state == RolloutState::Stuck).then(|| Words::new("no IP addresses left, says @ipam")),
        reasons: vec![],
        wanted: 3,
        ready: 1,
        machines: vec![
            machine("md-0-x7k2p-a", "Running", MachineAge::New),
            machine("md-0-9fj2s-b", "Deleting", MachineAge::Old),
        ],
        machines_left_out: 0,
        kubeconfig: None,
        names: vec![],
    }
}

fn subject(cluster: &str, reports: &[RolloutReport]) -> RolloutSubject {
    let mut progress = Progress::waiting(at(0));
    for report in reports {
        progress = progress.after(None, report).unwrap_or(progress);
    }
    RolloutSubject {
        cluster: ClusterId::new(RepoPath::parse(cluster).unwrap()),
        management_cluster: "mc-eu".to_owned(),
        progress,
        files_url: Some("https://capstan.example/clusters/acme/gitops/gauss/peu01".to_owned()),
    }
}

#[test]
fn one_cluster_is_shown_with_its_machines_turns_and_duration() {
    use RolloutState::{Done, Rolling, Stuck};
    let one = |number, state| report(number, "gauss/peu01", state);
    let waiting = rollout_check(&[subject("gauss/peu01", &[])], &commit(), WEB);
    assert_eq!(
        (waiting.conclusion, waiting.title.as_str()),
        (Conclusion::Pending, "gauss/peu01: waiting for the reconciler")
    );

    let rolling = rollout_check(&[subject("gauss/peu01", &[one(1, Rolling)])], &commit(), WEB);
    assert_eq!(rolling.title, "gauss/peu01: 1 of 3 machines are up to date");
    assert!(
        rolling.summary.contains("| `md-0-9fj2s-b` | `MachineDeployment md-0` | Deleting | to be replaced |")
    );

    let stuck = rollout_check(&[subject("gauss/peu01", &[one(1, Rolling), one(60, Stuck)])], &commit(), WEB);
    assert_eq!(
        (stuck.conclusion, stuck.title.as_str()),
        (Conclusion::Failure, "gauss/peu01: stuck, 1 of 3 machines are up to date")
    );
    assert!(
        stuck.summary.contains("- 2026-11-21 12:01 UTC **stuck**: no IP addresses left, says @\u{200b}ipam"),
        "{}",
        stuck.summary
    );

    let reports = [one(1, Rolling), one(60, Stuck), one(120, Rolling), one(750, Done)];
    let done = rollout_check(&[subject("gauss/peu01", &reports)], &commit(), WEB);
    assert_eq!(
        (done.conclusion, done.title.as_str()),
        (Conclusion::Success, "gauss/peu01: done, 3 machines")
    );
    assert!(
        done.summary.contains("Done, 3 machines (applied by `mc-eu`, in 12 min 30 s)."),
        "{}",
        done.summary
    );
    assert_eq!(done.summary.matches("**stuck**").count(), 1);
    assert_eq!(done.summary.matches("continues").count(), 1);
    assert!(done.summary.contains(&format!("({WEB}/commit/{})", "a".repeat(40))));
    assert!(done.summary.contains(&format!("]({WEB}/tree/{}/gauss/peu01)", "a".repeat(40))));
}

#[test]
fn the_check_shows_what_it_waits_for() {
    let mut waiting = report(1, "gauss/peu01", RolloutState::Waiting);
    waiting.machines.clear();
    let words = "MachineDeployment org/md: waiting: rollout.after: its machines are replaced from 2026-12-01T02:00:00Z on";
    waiting.words = Some(Words::new(words));
    let subjects = [subject("gauss/peu01", &[waiting])];
    let check = rollout_check(&subjects, &commit(), WEB);
    assert_eq!(
        (check.conclusion, check.title.as_str()),
        (Conclusion::Pending, "gauss/peu01: waiting, no machine is being replaced")
    );
    let expected = "Waiting, no machine is being replaced (applied by `mc-eu`).\n\n> MachineDeployment org/md: waiting: rollout.after: its machines are replaced from 2026-12-01T02";
    assert!(check.summary.contains(expected), "{}", check.summary);
    assert_eq!(
        rollout_status(&subjects),
        (StatusState::Pending, "The machines of gauss/peu01 are being followed".to_owned())
    );
}

#[test]
fn several_clusters_are_counted_and_the_gravest_decides() {
    use RolloutState::{Done, Refused, Rolling, Unknown};
    let of = |states: &[RolloutState]| {
        let names = ["gauss/a", "gauss/b", "gauss/c"];
        let subjects: Vec<RolloutSubject> =
            names.iter().zip(states).map(|(name, state)| subject(name, &[report(1, name, *state)])).collect();
        let check = rollout_check(&subjects, &commit(), WEB);
        let (state, text) = rollout_status(&subjects);
        (check.conclusion, check.title, state, text)
    };
    let text = |text: &str| text.to_owned();
    assert_eq!(
        of(&[Done, Rolling, Done]),
        (
            Conclusion::Pending,
            text("3 clusters: 1 rolling, 2 done"),
            StatusState::Pending,
            text("The machines of 3 clusters are being followed")
        )
    );
    assert_eq!(
        of(&[Done, Refused, Rolling]),
        (
            Conclusion::Failure,
            text("3 clusters: 1 refused, 1 rolling, 1 done"),
            StatusState::Failure,
            text("gauss/b needs attention: see the check on the pull request")
        )
    );
    assert_eq!(
        of(&[Done, Unknown]),
        (
            Conclusion::Neutral,
            text("2 clusters: 1 unknown, 1 done"),
            StatusState::Success,
            text("Applied; unknown: the machines of gauss/b")
        )
    );
    assert_eq!(of(&[Done, Done]).3, "2 clusters are up to date with Git");
    assert_eq!(of(&[Done]).3, "gauss/a is up to date with Git");
}

#[test]
fn what_is_refused_is_annotated_where_the_file_says_it() {
    let mut refused = report(1, "gauss/peu01", RolloutState::Refused);
    refused.reasons = vec![WireReason {
        severity: Severity::Error,
        kind: "VersionBelowLive".to_owned(),
        message: Words::new("v1.20.1 is below the live v1.21.4"),
        object: None,
        field: None,
        file: RepoPath::parse("gauss/peu01/base/cp.yaml").ok(),
        line: Some(9),
        column: Some(12),
    }];
    let check = rollout_check(&[subject("gauss/peu01", &[refused])], &commit(), WEB);
    assert_eq!(check.conclusion, Conclusion::Failure);
    let found = &check.annotations[0];
    assert_eq!(
        (found.path.as_str(), found.line, found.title.as_str()),
        ("gauss/peu01/base/cp.yaml", 9, "VersionBelowLive")
    );
    assert!(check.summary.contains("- v1.20.1 is below the live v1.21.4 (`gauss/peu01/base/cp.yaml:9`)"));
}

#[test]
fn the_limits_hold_whatever_is_reported() {
    let mut huge = report(1, "gauss/peu01", RolloutState::Rolling);
    huge.machines = vec![huge.machines[0].clone(); 500];
    huge.machines_left_out = 500;
    let subjects: Vec<RolloutSubject> =
        (0..300).map(|number| subject(&format!("gauss/p{number}"), &[huge.clone()])).collect();
    let check = rollout_check(&subjects, &commit(), WEB);
    assert!(check.summary.len() <= 65_535 && check.summary.contains("more clusters"));
    let alone = rollout_check(&[subject("gauss/peu01", &[huge])], &commit(), WEB);
    assert!(alone.summary.len() <= 65_535);
    let long = "x/".repeat(400) + "y";
    let (_, text) = rollout_status(&[subject(&long, &[])]);
    assert!(text.chars().count() <= 140, "{text}");
    let check = rollout_check(&[subject("a b/c)(d", &[])], &commit(), WEB);
    assert!(check.summary.contains("/a%20b/c%29%28d)"), "{}", check.summary);
}

#[test]
fn owners_see_where_their_key_is_and_its_fingerprint() {
    use capstan_live::agent::{Kubeconfig, KubeconfigForm, KubeconfigPlace, KubeconfigRecipient};
    let said = Kubeconfig {
        form: KubeconfigForm::Age,
        sha256: "ab".repeat(32),
        recipients: vec![KubeconfigRecipient {
            name: Words::new("ada"),
            fingerprint: Words::new("SHA256:Wb"),
        }],
        expires_at: Some(at(0)),
        place: KubeconfigPlace::Git,
    };
    let with_key = RolloutReport { kubeconfig: Some(said), ..report(1, "gauss/peu01", RolloutState::Done) };
    let check = rollout_check(&[subject("gauss/peu01", &[with_key])], &commit(), WEB);
    let told = format!(
        "The owners' key, which only they can decrypt with `age -d`: [`kubeconfig.age`](https://capstan.example/clusters/acme/gitops/gauss/peu01/kubeconfig.age), valid until 2026-11-21 12:00 UTC, SHA-256 `{}`; a pull request adds it to the cluster's folder.\n\n- `ada`: `SHA256:Wb`\n",
        "ab".repeat(32)
    );
    assert!(check.summary.contains(&told), "{}", check.summary);
}

#[test]
fn counts_of_machines_and_clusters_read_as_one_speaks() {
    for (ready, wanted, said) in [
        (0, 1, "0 of 1 machine is up to date"),
        (1, 1, "1 of 1 machine is up to date"),
        (0, 3, "0 of 3 machines are up to date"),
        (1, 3, "1 of 3 machines are up to date"),
        (3, 3, "3 of 3 machines are up to date"),
    ] {
        let report = RolloutReport { ready, wanted, ..report(1, "gauss/peu01", RolloutState::Rolling) };
        assert_eq!(as_wished(&report), said);
    }
    let done = subject("gauss/peu01", &[report(1, "gauss/peu01", RolloutState::Done)]);
    for (subjects, status, title) in [
        (vec![], "no cluster is up to date with Git", "No cluster is followed"),
        (vec![done.clone()], "gauss/peu01 is up to date with Git", "gauss/peu01: done"),
        (vec![done; 2], "2 clusters are up to date with Git", "2 clusters: 2 done"),
    ] {
        assert_eq!(rollout_status(&subjects).1, status);
        let check = rollout_check(&subjects, &commit(), WEB);
        assert!(check.title.starts_with(title), "{}", check.title);
    }
}

#[test]
fn machines_that_no_report_names_are_counted_below_those_that_it_names() {
    for (left_out, said) in
        [(0, None), (1, Some("… and 1 more machine.")), (7, Some("… and 7 more machines."))]
    {
        let report =
            RolloutReport { machines_left_out: left_out, ..report(1, "gauss/peu01", RolloutState::Rolling) };
        let summary = rollout_check(&[subject("gauss/peu01", &[report])], &commit(), WEB).summary;
        match said {
            Some(said) => assert_eq!(summary.matches(said).count(), 1, "{summary}"),
            None => assert!(!summary.contains("more machine"), "{summary}"),
        }
    }
}
