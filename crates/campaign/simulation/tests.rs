//! Campaigns under a virtual clock: a small one line by line, two thousand random ones by what must always hold.

use capstan_test_support::random::{Random, seed};
use jiff::SignedDuration;

use super::{Pace, Participant, picture, simulate as simulate_within, time_line};
use crate::decision_tests::{at, campaign, id, wave};
use crate::settings::{CampaignSettings, MaxRolling};
use crate::simulation::{Happening, History};
use crate::time::{Cron, Freeze, Moment, Period, Window, ZoneName};

fn pace(seed: u64) -> Pace {
    Pace {
        begins: at("2026-11-23T08:00:00Z"),
        merge_after: Period::minutes(60),
        machine_takes: Period::minutes(6),
        stuck_per_thousand: 0,
        resume_after: None,
        seed,
    }
}

/// Where GitHub lets everything be opened at once.
fn simulate(settings: &CampaignSettings, fleet: &[Participant], pace: Pace) -> History {
    simulate_within(settings, fleet, pace, &mut |wanted, count| vec![wanted; count])
}

fn fleet(sizes: &[usize], machines: u32) -> Vec<Participant> {
    let of_wave = |(wave, size): (usize, &usize)| {
        (0..*size).map(move |at| Participant { cluster: id(&format!("w{wave}/c{at}")), wave, machines })
    };
    sizes.iter().enumerate().flat_map(of_wave).collect()
}

#[test]
fn a_small_campaign_line_by_line() {
    let mut settings = campaign(vec![wave("canary", "w0/*"), wave("rest", "**")]);
    settings.time_zone = ZoneName::parse("Europe/Berlin").unwrap();
    settings.waves[0].soak = Period::parse("24h").unwrap();
    let office =
        Window { cron: Cron::parse("0 9 * * MON-FRI").unwrap(), duration: Period::parse("8h").unwrap() };
    settings.waves[1].windows = vec![office];
    let at_once = Pace { merge_after: Period::default(), ..pace(1) };
    let history = simulate(&settings, &fleet(&[1, 2], 10), at_once);
    // Pushed at 9 in Berlin, merged at once, ten machines of six minutes; after 17 h it is shut until Wednesday.
    assert_eq!(
        time_line(&settings, &history),
        "Mon 2026-11-23 09:00  wave `canary` begins\n\
         Mon 2026-11-23 10:00  wave `canary` is verified, and must stay healthy until Tue 2026-11-24 10:00\n\
         Tue 2026-11-24 10:00  wave `canary` has ended\n\
         Tue 2026-11-24 10:00  wave `rest` begins\n\
         Tue 2026-11-24 11:00  wave `rest` has ended\n\
         \n\
         At most 2 pull requests were open, 2 clusters rolling, and 20 machines rolling or about to.\n\
         3 clusters were done 1 day and 2 hours after the push.\n"
    );
    let day = |text| Moment::parse(text).unwrap();
    settings.freezes =
        vec![Freeze { from: day("2026-11-24"), until: day("2026-12-01"), reason: "fair".into() }];
    let history = simulate(&settings, &fleet(&[1, 2], 10), at_once);
    let text = time_line(&settings, &history);
    assert!(
        text.contains("Tue 2026-11-24 10:00  wave `rest` is frozen (fair) until 2026-12-01 09:00 CET\nTue 2026-12-01 09:00  wave `rest` begins\n"),
        "{text}"
    );
}

#[test]
fn what_github_does_not_let_be_opened_at_once_is_merged_later() {
    let settings = campaign(vec![wave("canary", "w0/*"), wave("rest", "**")]);
    let at_once = Pace { merge_after: Period::default(), ..pace(1) };
    let mut asked = Vec::new();
    let history = simulate_within(&settings, &fleet(&[2, 1], 10), at_once, &mut |wanted, count| {
        asked.push((wanted, count));
        // One every two hours.
        (0..count).map(|nth| wanted + SignedDuration::from_mins(120 * nth as i64)).collect()
    });
    assert_eq!(
        time_line(&settings, &history),
        "Mon 2026-11-23 08:00  wave `canary` begins\n\
         Mon 2026-11-23 11:00  wave `canary` has ended\n\
         Mon 2026-11-23 11:00  wave `rest` begins\n\
         Mon 2026-11-23 12:00  wave `rest` has ended\n\
         \n\
         At most 2 pull requests were open, 1 cluster rolling, and 20 machines rolling or about to.\n\
         3 clusters were done 0 days and 4 hours after the push.\n"
    );
    assert_eq!(asked, [(at("2026-11-23T08:00:00Z"), 2), (at("2026-11-23T11:00:00Z"), 1)]);
}

#[test]
fn a_stuck_rollout_stops_the_campaign_and_resuming_leaves_it_out() {
    let settings = campaign(vec![wave("canary", "w0/*"), wave("rest", "**")]);
    let stuck = Pace { stuck_per_thousand: 1_000, ..pace(3) };
    let history = simulate(&settings, &fleet(&[1, 1], 1), stuck);
    assert_eq!(history.ended, None);
    let text = time_line(&settings, &history);
    assert!(text.contains("the campaign is stopped: the rollout of `w0/c0` is stuck."), "{text}");
    assert!(text.contains("It stopped with 0 clusters done:\n"), "{text}");
    let resumed = Pace { resume_after: Some(Period::minutes(240)), ..stuck };
    let history = simulate(&settings, &fleet(&[1, 1], 1), resumed);
    assert!(history.ended.is_some());
    let skipped = history.events.iter().filter(|event| matches!(event.what, Happening::Skipped(_))).count();
    assert_eq!(skipped, 2);
}

#[test]
fn a_wave_whose_clusters_are_done_in_the_last_moment_has_a_mark() {
    let settings = campaign(vec![wave("canary", "w0/*")]);
    let svg = picture(&settings, &simulate(&settings, &fleet(&[1], 10), pace(1)));
    let mark = "M150.0 84.0L1027.0 84.0L1027.0 50.0L1030.0 50.0L1030.0 84.0Z";
    for part in [mark, ">canary</text>", ">1 done</text>"] {
        assert!(svg.contains(part), "{part}: {svg}");
    }
}

#[test]
fn ten_thousand_clusters_in_five_waves_have_a_time_line_and_a_picture() {
    let sizes = [10, 90, 900, 3_000, 6_000];
    let names = ["canary", "early", "small", "eu", "rest & others"];
    let waves = (0..5).zip(names).map(|(at, name)| {
        let mut wave = wave(name, &format!("w{at}/*"));
        wave.soak = Period::minutes(if at < 3 { 24 * 60 } else { 0 });
        wave.max_rolling.clusters = Some(600);
        wave
    });
    let settings = campaign(waves.collect());
    let stuck = Pace { stuck_per_thousand: 1, resume_after: Some(Period::minutes(120)), ..pace(7) };
    let history = simulate(&settings, &fleet(&sizes, 3), stuck);
    let ended = history.events.iter().filter_map(|event| match event.what {
        Happening::Ended(wave) => Some(wave),
        _ => None,
    });
    assert_eq!(ended.collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    let stops = history.events.iter().filter(|event| matches!(event.what, Happening::Stopped(_))).count();
    let skips = history.events.iter().filter(|event| matches!(event.what, Happening::Skipped(_))).count();
    assert!(stops > 0 && skips >= stops, "{stops} {skips}");
    let most = history.samples.iter().map(|sample| sample.open + sample.rolling).max().unwrap();
    assert_eq!(most, 600);
    let text = time_line(&settings, &history);
    assert!(text.contains(&format!("{} clusters were done ", 10_000 - skips)), "{text}");
    let svg = picture(&settings, &history);
    for (what, count) in [("class=\"done\"", 5), ("class=\"stop\"", stops), (">rest &amp; others<", 1)] {
        assert_eq!(svg.matches(what).count(), count, "{what}");
    }
    // The day after the push has its line and its date.
    assert!(svg.contains(">Nov 24<"), "{svg}");
    assert!(svg.len() < 1_000_000, "{}", svg.len());
}

/// What must hold in every campaign, read from what happened alone.
fn hold(settings: &CampaignSettings, sizes: &[usize], history: &History, seed: u64) {
    let sum = |counts: &[u32]| counts.iter().sum::<u32>();
    let mut done_before = vec![0_u32; sizes.len()];
    let resumes = history.events.iter().filter(|event| matches!(event.what, Happening::Skipped(_))).count();
    for sample in &history.samples {
        // With one wave's limit for all of them, since only one wave is begun at a time.
        for wave in &settings.waves {
            let limit = wave.max_rolling;
            let exposed = sample.open + sample.rolling;
            assert!(
                limit.clusters.is_none_or(|most| exposed <= most),
                "seed {seed}: {sample:?} beyond {limit:?}"
            );
            assert!(limit.machines.is_none_or(|most| sample.machines <= most), "seed {seed}: {sample:?}");
            assert!(wave.max_open.is_none_or(|most| sample.open <= most), "seed {seed}: {sample:?}");
        }
        // No wave overtakes: what is done of a wave is so after all earlier ones were, skipped clusters aside.
        for (at, done) in sample.done.iter().enumerate() {
            assert!(*done >= done_before[at], "seed {seed}: done clusters came back");
            let earlier: usize = sizes[..at].iter().sum();
            let done_earlier = usize::try_from(sum(&sample.done[..at])).unwrap();
            assert!(
                *done == 0 || done_earlier + resumes >= earlier,
                "seed {seed}: wave {at} overtook: {sample:?}"
            );
        }
        done_before.clone_from(&sample.done);
    }
    match history.ended {
        Some(_) => {
            let all: usize = sizes.iter().sum();
            let done = usize::try_from(sum(&done_before)).unwrap();
            assert_eq!(done + resumes, all, "seed {seed}: it ended without somebody");
        }
        None => assert!(!history.standstill.is_empty(), "seed {seed}: it stands still and does not say why"),
    }
}

#[test]
fn in_two_thousand_random_campaigns_no_wave_overtakes_and_limits_hold() {
    let first = seed();
    eprintln!("seed {first}");
    for seed in first..first + 2_000 {
        let mut random = Random::new(seed);
        let small = |random: &mut Random, below: usize| u32::try_from(random.below(below)).unwrap();
        let sizes: Vec<usize> = (0..=random.below(4)).map(|_| random.below(7)).collect();
        let machines = 1 + small(&mut random, 9);
        let limit = |random: &mut Random, least: u32| random.percent(50).then(|| least + small(random, 6));
        let max_rolling =
            MaxRolling { clusters: limit(&mut random, 1), machines: limit(&mut random, machines) };
        let max_open = limit(&mut random, 1);
        let soak = Period::minutes(i64::from(small(&mut random, 3)) * 90);
        let has_windows = random.percent(33);
        let all = (0..sizes.len()).map(|at| {
            let mut wave = wave(&format!("w{at}"), &format!("w{at}/*"));
            (wave.soak, wave.max_rolling, wave.max_open) = (soak, max_rolling, max_open);
            if has_windows {
                let cron = Cron::parse("30 6 * * TUE,THU").unwrap();
                wave.windows = vec![Window { cron, duration: Period::minutes(120) }];
            }
            wave
        });
        let mut settings = campaign(all.collect());
        settings.stop_on.count = 1 + small(&mut random, 3);
        let pace = Pace {
            merge_after: Period::minutes(i64::from(small(&mut random, 300))),
            stuck_per_thousand: small(&mut random, 200),
            resume_after: random.percent(50).then(|| Period::minutes(60)),
            ..pace(seed)
        };
        let history = simulate(&settings, &fleet(&sizes, machines), pace);
        hold(&settings, &sizes, &history, seed);
        let again = simulate(&settings, &fleet(&sizes, machines), pace);
        assert_eq!(history, again, "seed {seed}: the same question has another answer");
    }
}
