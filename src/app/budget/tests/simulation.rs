//! Ten thousand clusters take a release, while people ask and machines roll.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use jiff::Timestamp;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

use super::super::{Ask, Cost, Ledger, Limit, Limits, Priority, Resource};

const HOUR_MS: i64 = 3_600_000;

/// The calls of one piece of work, in their order. What a proposal costs is counted where the bot opens some against the
/// forge (`bot::failing_calls` in the suite): no more reads than here.
fn calls(priority: Priority) -> &'static [Cost] {
    const R: Cost = Cost::READ;
    const W: Cost = Cost::WRITE;
    const C: Cost = Cost::CONTENT;
    match priority {
        // Heard, the pull request and rights read, 👍; plan; comment, check.
        Priority::Command => &[R, R, R, R, R, W, R, R, C, C],
        Priority::Rollout => &[R, R, C],
        Priority::Refresh => &[R, R, R, R, R, R, W],
        // Tree, commit, branch, pull request, check.
        Priority::Proposal => &[R, R, R, R, R, R, R, W, W, W, C, R, R, R, R, R, R, R, R, C],
    }
}

struct Work {
    priority: Priority,
    began_ms: i64,
    next: usize,
}

fn at(ms: i64) -> Timestamp {
    Timestamp::from_millisecond(1_700_000_000_000 + ms).unwrap()
}

#[test]
fn ten_thousand_clusters_take_a_release() {
    const CLUSTERS: usize = 10_000;
    let seed: u64 = rand::random();
    println!("seed {seed}");
    let mut random = StdRng::seed_from_u64(seed);
    let mut ledger = Ledger::default();
    // Moments at which something is tried: when, what.
    let mut due: BinaryHeap<Reverse<(i64, usize)>> = BinaryHeap::new();
    let mut works: Vec<Work> = Vec::new();
    // Three workers bring proposals up, one after the other.
    for worker in 0..3 {
        works.push(Work { priority: Priority::Proposal, began_ms: 0, next: 0 });
        due.push(Reverse((0, worker)));
    }
    let (mut opened, mut answers, mut content, mut points) = (0, Vec::new(), Vec::new(), Vec::new());
    let mut arrive_ms =
        [(Priority::Command, 0, 90_000), (Priority::Rollout, 0, 120_000), (Priority::Refresh, 0, 20_000)];
    let mut ended_ms = 0;
    while opened < CLUSTERS {
        for (priority, next_ms, mean) in &mut arrive_ms {
            let now_ms = due.peek().map_or(0, |Reverse((ms, _))| *ms);
            while *next_ms <= now_ms {
                works.push(Work { priority: *priority, began_ms: *next_ms, next: 0 });
                due.push(Reverse((*next_ms, works.len() - 1)));
                *next_ms += random.random_range(0..2 * *mean);
            }
        }
        let Some(Reverse((now_ms, index))) = due.pop() else { break };
        let work = &mut works[index];
        let cost = calls(work.priority)[work.next];
        let ask = Ask {
            priority: work.priority,
            resource: Resource::Core,
            cost,
            wish: cost,
            holder: ["one", "two", "three"][index % 3],
            seats: 8,
            good_for_ms: 1_000,
        };
        match ledger.ask(Some(&Limits::PUBLISHED), at(now_ms), &ask) {
            Err(wait) => {
                let until_ms = wait.until.duration_since(at(0)).as_millis() as i64;
                // What may be put off is put off; nobody asks more than once a second.
                due.push(Reverse((until_ms, index)));
            }
            Ok(grant) => {
                points.push((now_ms, grant.cost.points));
                if grant.cost.content > 0 {
                    content.push(now_ms);
                }
                work.next += 1;
                let took_ms = random.random_range(80..400);
                if work.next < calls(work.priority).len() {
                    due.push(Reverse((now_ms + took_ms, index)));
                    continue;
                }
                match work.priority {
                    Priority::Command => answers.push(now_ms + took_ms - work.began_ms),
                    Priority::Proposal => {
                        opened += 1;
                        ended_ms = now_ms;
                        *work = Work { priority: Priority::Proposal, began_ms: now_ms, next: 0 };
                        due.push(Reverse((now_ms + took_ms, index)));
                    }
                    Priority::Rollout | Priority::Refresh => {}
                }
            }
        }
    }

    answers.sort_unstable();
    let within =
        |from: i64, length: i64| content.iter().filter(|&&ms| (from..from + length).contains(&ms)).count();
    let hours: Vec<usize> = (0..ended_ms / HOUR_MS).map(|hour| within(hour * HOUR_MS, HOUR_MS)).collect();
    let most = |span: i64| {
        let mut first = 0;
        let sizes = content.iter().enumerate().map(|(last, ms)| {
            while content[first] <= ms - span {
                first += 1;
            }
            last + 1 - first
        });
        sizes.max().unwrap_or_default()
    };
    let (mut first, mut sum, mut most_points) = (0, 0, 0);
    for (ms, amount) in &points {
        sum += amount;
        while points[first].0 <= ms - 60_000 {
            sum -= points[first].1;
            first += 1;
        }
        most_points = most_points.max(sum);
    }
    let lowest = hours.iter().min().copied().unwrap_or_default();
    let p99 = answers[answers.len() * 99 / 100];
    println!(
        "{CLUSTERS} clusters in {:.1} h; content an hour: {lowest} to {} of 500 (sliding: at most {}), a minute: at most \
         {} of 80; points a minute: at most {most_points} of 900; {} commands answered in p50 {} ms, p99 {p99} ms, at most \
         {} ms; ledger at its end {:.0} % used",
        ended_ms as f64 / HOUR_MS as f64,
        hours.iter().max().copied().unwrap_or_default(),
        most(HOUR_MS),
        most(60_000),
        answers.len(),
        answers[answers.len() / 2],
        answers[answers.len() - 1],
        ledger.used(&Limits::PUBLISHED, Limit::ContentAnHour, at(ended_ms)) * 100.0,
    );
    assert!(most(HOUR_MS) <= 500 && most(60_000) <= 80 && most_points <= 900, "seed {seed}");
    assert!(lowest * 100 >= 500 * 95, "seed {seed}: {hours:?}");
    assert!(answers[answers.len() - 1] <= 10_000, "seed {seed}: {} ms", answers[answers.len() - 1]);
}
