//! Ten thousand clusters take a release, while people ask and machines roll.

use capstan_campaign::simulation::{Pace, Participant, simulate};
use capstan_campaign::time::Period;
use capstan_model::ids::ClusterId;
use capstan_model::tree::RepoPath;
use capstan_plan::settings::read_campaigns;
use capstan_test_support::random;
use jiff::{SignedDuration, Timestamp};

use super::super::{Figures, RateLimit, RateLimits, Rehearsal};

fn take_a_release(requests_an_hour: u32, seed: u64) -> (Figures, Timestamp) {
    const CLUSTERS: usize = 10_000;
    let begins: Timestamp = "2026-11-23T08:00:00Z".parse().unwrap();
    let mut rehearsal = Rehearsal::new(RateLimits::PUBLISHED, requests_an_hour, begins, seed);
    let opened = rehearsal.open(begins, CLUSTERS);
    assert_eq!(opened.len(), CLUSTERS);
    assert!(opened.is_sorted());
    let figures = rehearsal.figures();
    let last = opened[CLUSTERS - 1];
    println!(
        "seed {seed}, {requests_an_hour} requests an hour: {:.1} h, {figures:?}",
        last.duration_since(begins).as_secs_f64() / 3_600.0
    );
    assert_eq!(figures.opened, CLUSTERS);
    assert_eq!(figures.exceeded(), [], "seed {seed}: {figures:?}");
    assert_eq!(figures.most.len(), 5);
    let (_, used) = figures.least_used.unwrap();
    assert!(used >= 950, "seed {seed}: {figures:?}");
    assert!(figures.commands > 1_000, "seed {seed}: {figures:?}");
    assert!(figures.longest_answer <= SignedDuration::from_secs(10), "seed {seed}: {figures:?}");
    (figures, last)
}

#[test]
fn of_ten_thousand_clusters_that_take_a_release_what_creates_content_binds() {
    // The second one has seven commands in a row when all that others may use is used.
    for seed in [random::seed(), 123_416_829_035_177_747] {
        let (figures, _) = take_a_release(12_500, seed);
        assert_eq!(figures.least_used.unwrap().0, RateLimit::ContentAnHour);
    }
}

#[test]
fn where_little_may_be_requested_an_hour_that_binds_and_is_used_as_well() {
    let (figures, _) = take_a_release(5_000, random::seed());
    assert_eq!(figures.least_used.unwrap().0, RateLimit::Primary);
}

#[test]
fn the_same_seed_gives_the_same_times_and_pauses_of_days_cost_nothing() {
    let begins: Timestamp = "2026-11-23T08:00:00Z".parse().unwrap();
    let again = || {
        let mut rehearsal = Rehearsal::new(RateLimits::PUBLISHED, 5_000, begins, 7);
        let first = rehearsal.open(begins, 30);
        let second = rehearsal.open(begins + SignedDuration::from_hours(24 * 30), 2);
        // Wanted earlier than those before were opened: behind them.
        let third = rehearsal.open(begins, 1);
        (first, second, third, rehearsal.figures())
    };
    let (first, second, third, figures) = again();
    assert!(first[29] < begins + SignedDuration::from_mins(10), "{first:?}");
    assert!(second[0] > begins + SignedDuration::from_hours(24 * 30));
    assert!(third[0] > second[1]);
    assert_eq!((figures.opened, figures.least_used), (33, None));
    assert_eq!(again(), (first, second, third, figures));
}

/// What `capstan campaign simulate` does, for a fleet of that size.
#[test]
fn ten_thousand_clusters_in_five_waves_are_opened_as_githubs_limits_let_them() {
    let settings = "\
campaigns:
- name: fleet
  waves:
  - {name: canary, match: {clusters: [\"w0/*\"]}, soak: 24h}
  - {name: early, match: {clusters: [\"w1/*\"]}, soak: 12h}
  - {name: small, match: {clusters: [\"w2/*\"]}, soak: 12h}
  - {name: eu, match: {clusters: [\"w3/*\"]}}
  - {name: rest, match: {clusters: [\"w4/*\"]}}
";
    let settings = read_campaigns(settings).unwrap().remove(0);
    let of_wave = |(wave, size): (usize, usize)| {
        (0..size).map(move |nth| Participant {
            cluster: ClusterId::new(RepoPath::parse(&format!("w{wave}/c{nth}")).unwrap()),
            wave,
            machines: 3,
        })
    };
    let fleet: Vec<Participant> =
        [10, 90, 900, 3_000, 6_000].into_iter().enumerate().flat_map(of_wave).collect();
    let begins: Timestamp = "2026-11-23T08:00:00Z".parse().unwrap();
    let pace = Pace {
        begins,
        merge_after: Period::minutes(240),
        machine_takes: Period::minutes(6),
        stuck_per_thousand: 0,
        resume_after: None,
        seed: 7,
    };
    let mut rehearsal = Rehearsal::new(RateLimits::PUBLISHED, 12_500, begins, 7);
    let history = simulate(&settings, &fleet, pace, &mut |wanted, count| rehearsal.open(wanted, count));
    let (figures, ended) = (rehearsal.figures(), history.ended.unwrap());
    println!("{:.1} days: {figures:?}", ended.duration_since(begins).as_secs_f64() / 86_400.0);
    // Two days of soak, and at least forty hours in which ten thousand are opened.
    assert!(ended > begins + SignedDuration::from_hours(88), "{ended}");
    assert_eq!((figures.opened, figures.exceeded()), (10_000, vec![]));
    let (limit, used) = figures.least_used.unwrap();
    assert_eq!(limit, RateLimit::ContentAnHour);
    assert!(used >= 950, "{figures:?}");
    assert!(figures.longest_answer <= SignedDuration::from_secs(10), "{figures:?}");
}
