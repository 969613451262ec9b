//! D15: generated sets. The seed is printed; `CAPSTAN_SEED` repeats a run, `CAPSTAN_SPECS` says how many.

use std::collections::BTreeMap;

use capstan_test_support::random::{Random, seed};

use super::compare::{Came, compare};
use super::generator::case;
use super::operator::Operator;

#[expect(clippy::print_stdout, reason = "figures and the seed")]
#[test]
fn generated_specs_come_to_the_same() {
    let Some(mut operator) = Operator::start() else { return };
    let seed = seed();
    let specs = std::env::var("CAPSTAN_SPECS").ok().and_then(|count| count.parse().ok()).unwrap_or(10_000);
    let (mut same, mut meant, mut different) = (0, 0, Vec::new());
    let mut refused: BTreeMap<String, usize> = BTreeMap::new();
    for number in 0..specs {
        let case = case(&mut Random::new(seed.wrapping_add(number)));
        match compare(&mut operator, &case) {
            Ok(Came::Same) => same += 1,
            Ok(Came::Refused(why)) => *refused.entry(words(&why)).or_default() += 1,
            Ok(Came::Meant) => meant += 1,
            Err(difference) => different.push((seed.wrapping_add(number), difference, case)),
        }
    }
    println!(
        "seed {seed}: of {specs} specs {same} come to the same, {} are refused by both, {meant} by Capstan alone on purpose, {} differ",
        refused.values().sum::<usize>(),
        different.len()
    );
    for (why, count) in &refused {
        println!("  {count} by both: {why}");
    }
    for (seed, difference, case) in different.iter().take(10) {
        println!(
            "CAPSTAN_SPECS=1 CAPSTAN_SEED={seed}: {difference}\n  spec {}\n  objects {}",
            case.provider["spec"],
            serde_json::Value::from(case.objects.clone())
        );
    }
    assert!(different.is_empty(), "{} of {specs} differ", different.len());
    assert!(same * 2 > specs, "most have to be rendered");
}

/// The words of a refusal that others share.
fn words(why: &str) -> String {
    let letters: String = why.chars().map(|c| if c.is_ascii_digit() { '#' } else { c }).collect();
    letters.split([':', '"', '\n']).next().unwrap_or_default().chars().take(70).collect()
}
