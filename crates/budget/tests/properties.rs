//! Whatever is asked, by however many processes and at whatever moments, no limit is exceeded in any span of time.

use jiff::Timestamp;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

use super::super::{Ask, Cost, Ledger, Primary, Priority, RateLimit, RateLimits, RateResource};

fn at(ms: i64) -> Timestamp {
    Timestamp::from_millisecond(1_700_000_000_000 + ms).unwrap()
}

fn ask(priority: Priority, cost: Cost, wish: Cost) -> Ask<'static> {
    Ask { priority, resource: RateResource::Core, cost, wish, holder: "one", seats: 8, good_for_ms: 1_000 }
}

/// The most within a span of that length.
fn most_within(used: &[(i64, u32)], span_ms: i64) -> u32 {
    let (mut most, mut sum, mut first) = (0, 0, 0);
    for &(ms, amount) in used {
        sum += amount;
        while used[first].0 <= ms - span_ms {
            sum -= used[first].1;
            first += 1;
        }
        most = most.max(sum);
    }
    most
}

#[test]
fn no_span_of_time_holds_more_than_github_allows() {
    let seed = capstan_test_support::random::seed();
    println!("seed {seed}");
    let mut random = StdRng::seed_from_u64(seed);
    for run in 0..12 {
        let (mut ledger, mut now_ms) = (Ledger::default(), 0);
        let (mut points, mut content) = (Vec::new(), Vec::new());
        let pause = [3, 40, 400][run % 3];
        for _ in 0..6_000 {
            now_ms += random.random_range(0..=pause);
            let priority = Priority::ALL[random.random_range(0..4)];
            let cost = [Cost::READ, Cost::WRITE, Cost::CONTENT][random.random_range(0..3)];
            let wish = if random.random_bool(0.5) { cost } else { Cost { requests: 15, points: 15, ..cost } };
            let asked = ledger.ask(Some(&RateLimits::PUBLISHED), at(now_ms), &ask(priority, cost, wish));
            let grant = match asked {
                Ok(grant) => grant,
                Err(wait) => {
                    if random.random_bool(0.1) {
                        now_ms = wait.until.duration_since(at(0)).as_millis() as i64;
                    }
                    continue;
                }
            };
            // It is used at any moment up to its end, in part.
            let points_used = random.random_range(cost.points..=grant.cost.points);
            let used_at = now_ms + random.random_range(0..1_000);
            points.push((used_at, points_used));
            content.push((used_at, grant.cost.content));
            if random.random_bool(0.3) {
                let unused = Cost { points: grant.cost.points - points_used, ..Cost::default() };
                ledger.give_back(&grant, unused);
            }
            // As the database keeps it.
            if random.random_bool(0.05) {
                ledger = serde_json::from_str(&serde_json::to_string(&ledger).unwrap()).unwrap();
            }
        }
        points.sort_unstable();
        content.sort_unstable();
        assert!(most_within(&points, 60_000) <= 900, "seed {seed}, run {run}");
        assert!(most_within(&content, 60_000) <= 80, "seed {seed}, run {run}");
        assert!(most_within(&content, 3_600_000) <= 500, "seed {seed}, run {run}");
        assert!(serde_json::to_string(&ledger).unwrap().len() < 32_000);
    }
}

#[test]
fn a_wait_that_is_over_delays_nothing() {
    let seed = capstan_test_support::random::seed();
    println!("seed {seed}");
    let mut random = StdRng::seed_from_u64(seed);
    let (mut ledger, mut now_ms) = (Ledger::default(), 0);
    let asked = ask(Priority::Command, Cost::CONTENT, Cost::CONTENT);
    for _ in 0..3_000 {
        match ledger.ask(Some(&RateLimits::PUBLISHED), at(now_ms), &asked) {
            Ok(_) => now_ms += random.random_range(0..50),
            Err(wait) => {
                assert!(wait.until > at(now_ms), "seed {seed}");
                now_ms = wait.until.duration_since(at(0)).as_millis() as i64;
                assert!(ledger.ask(Some(&RateLimits::PUBLISHED), at(now_ms), &asked).is_ok(), "seed {seed}");
            }
        }
    }
}

#[test]
fn the_lesser_leave_something_and_step_aside() {
    let limits = Some(RateLimits::PUBLISHED);
    let one = |priority| ask(priority, Cost::CONTENT, Cost::CONTENT);
    let mut ledger = Ledger::default();
    let mut given = 0;
    // As fast as it is given, for an hour.
    let mut now_ms = 0;
    while now_ms < 3_600_000 {
        match ledger.ask(limits.as_ref(), at(now_ms), &one(Priority::Proposal)) {
            Ok(_) => given += 1,
            Err(wait) => now_ms = wait.until.duration_since(at(0)).as_millis() as i64,
        }
    }
    assert!((478..=488).contains(&given), "{given} of 500");
    // A person is never refused what is left, however much was asked for before.
    for _ in 0..10 {
        ledger.ask(limits.as_ref(), at(now_ms), &one(Priority::Command)).unwrap();
    }

    // Who waits goes before those who are less important.
    let mut ledger = Ledger::default();
    for _ in 0..80 {
        ledger.ask(limits.as_ref(), at(0), &one(Priority::Command)).unwrap();
    }
    let wait = ledger.ask(limits.as_ref(), at(0), &one(Priority::Command)).unwrap_err();
    assert_eq!((wait.limit, wait.until), (RateLimit::ContentAMinute, at(61_000)));
}

#[test]
fn the_primary_limit_is_what_headers_say_less_a_reserve() {
    let mut ledger = Ledger::default();
    let read = |priority| ask(priority, Cost::READ, Cost::READ);
    // The last minute of its hour: what is left is used up.
    let reset_ms = at(50_000).as_millisecond();
    ledger.note_primary(RateResource::Core, Primary { limit: 5_000, remaining: 151, reset_ms });
    // An answer that was overtaken.
    ledger.note_primary(RateResource::Core, Primary { limit: 5_000, remaining: 165, reset_ms });
    assert!(ledger.ask(None, at(0), &read(Priority::Proposal)).is_ok());
    let wait = ledger.ask(None, at(10), &read(Priority::Proposal)).unwrap_err();
    assert_eq!((wait.limit, wait.until), (RateLimit::Primary, at(50_000)));
    assert!(ledger.ask(None, at(20), &read(Priority::Refresh)).is_ok());
    ledger.note_primary(RateResource::Core, Primary { limit: 5_000, remaining: 0, reset_ms });
    assert!(ledger.ask(None, at(30), &read(Priority::Command)).is_err());
    // GraphQL has one of its own; and the next hour is another.
    assert!(
        ledger.ask(None, at(30), &Ask { resource: RateResource::Graphql, ..read(Priority::Refresh) }).is_ok()
    );
    assert!(ledger.ask(None, at(50_000), &read(Priority::Proposal)).is_ok());
}

#[test]
fn the_primary_limit_is_spread_over_its_hour_by_those_who_can_wait() {
    let read = |priority| ask(priority, Cost::READ, Cost::READ);
    let told = |remaining| {
        let mut ledger = Ledger::default();
        let reset_ms = at(3_600_000).as_millisecond();
        ledger.note_primary(RateResource::Core, Primary { limit: 5_000, remaining, reset_ms });
        ledger
    };
    // Of the 4,850 that are theirs a quarter may be used at once, and what the minute brings that may be caught up with.
    assert!(told(5_000 - 1_271).ask(None, at(0), &read(Priority::Proposal)).is_ok());
    let wait = told(5_000 - 1_272).ask(None, at(0), &read(Priority::Proposal)).unwrap_err();
    assert_eq!(wait.limit, RateLimit::Primary);
    // The rest comes about once in a second.
    assert!(wait.until > at(0) && wait.until <= at(1_000), "{wait:?}");
    assert!(told(5_000 - 1_272).ask(None, wait.until, &read(Priority::Proposal)).is_ok());
    for urgent in [Priority::Command, Priority::Rollout] {
        assert!(told(5_000 - 4_800).ask(None, at(0), &read(urgent)).is_ok(), "{urgent:?}");
    }
    let wait = told(5_000 - 4_800).ask(None, at(0), &read(Priority::Proposal)).unwrap_err();
    assert!(wait.until > at(3_400_000) && wait.until < at(3_600_000), "{wait:?}");
    // Others used up what was theirs: nothing more before the hour ends.
    let wait = told(5_000 - 4_890).ask(None, at(0), &read(Priority::Proposal)).unwrap_err();
    assert_eq!(wait.until, at(3_600_000));
}

#[test]
fn processes_share_what_may_be_asked_at_once() {
    let mut ledger = Ledger::default();
    let limits = RateLimits { concurrent: 16, ..RateLimits::PUBLISHED };
    let of = |holder| Ask { holder, ..ask(Priority::Command, Cost::READ, Cost::READ) };
    assert!(ledger.ask(Some(&limits), at(0), &of("one")).is_ok());
    assert!(ledger.ask(Some(&limits), at(10), &of("two")).is_ok());
    let wait = ledger.ask(Some(&limits), at(20), &of("three")).unwrap_err();
    assert_eq!((wait.limit, wait.until), (RateLimit::Concurrent, at(60_000)));
    // The first has gone.
    assert!(ledger.ask(Some(&limits), at(60_000), &of("three")).is_ok());
}

#[test]
fn a_clock_that_is_set_back_stalls_nothing_for_longer_than_a_limit_counts() {
    let limits = RateLimits::PUBLISHED;
    let mut ledger = Ledger::default();
    let noon = 12 * 3_600_000;
    let content = ask(Priority::Command, Cost::CONTENT, Cost::CONTENT);
    for at_ms in 0..80 {
        ledger.ask(Some(&limits), at(noon + at_ms), &content).unwrap();
    }
    ledger.be_quiet(at(noon + 40_000));
    ledger
        .note_primary(RateResource::Core, Primary { limit: 5_000, remaining: 0, reset_ms: noon + 3_600_000 });
    // Somebody sets the clock back by three hours.
    let now = noon - 3 * 3_600_000;
    let wait = ledger.ask(Some(&limits), at(now), &content).unwrap_err();
    assert_eq!(wait.until, at(now + 3_600_000), "of what GitHub asked for nobody knows how much is left");
    let later = ledger.ask(Some(&limits), at(now + 3_600_000), &content).unwrap();
    assert_eq!(later.cost, Cost::CONTENT);

    let mut ledger = Ledger::default();
    for at_ms in 0..80 {
        ledger.ask(Some(&limits), at(noon + at_ms), &content).unwrap();
    }
    let wait = ledger.ask(Some(&limits), at(now), &content).unwrap_err();
    assert_eq!(
        (wait.limit, wait.until),
        (RateLimit::ContentAMinute, at(now + 60_000)),
        "they count from now on"
    );
    ledger.ask(Some(&limits), at(now + 60_000), &content).unwrap();
}
