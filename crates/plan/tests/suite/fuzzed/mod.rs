//! What `fuzz/` runs for hours, run here on what it found: every file below `fuzz/regressions` is an
//! input that once broke something, or nearly did. The fuzz targets take in the same checks.

mod commands;
mod merge;
mod variables;
mod yaml;

use std::path::Path;

type Check = fn(&[u8]);

const TARGETS: [(&str, Check); 4] = [
    ("commands", commands::check),
    ("merge", merge::check),
    ("variables", variables::check),
    ("yaml", yaml::check),
];

#[test]
fn what_fuzzing_once_found_stays_mended() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/regressions");
    for (target, check) in TARGETS {
        let folder = root.join(target);
        let mut files: Vec<_> =
            std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        assert!(!files.is_empty(), "{} holds at least one example", folder.display());
        for file in files {
            println!("{}", file.display());
            check(&std::fs::read(&file).unwrap());
        }
    }
}

/// Random rows of choices through the same checks, so that they are seen to run.
#[test]
fn random_documents_merge_without_a_panic_and_twice_is_once() {
    let seed = capstan_test_support::random::seed();
    println!("CAPSTAN_SEED={seed}");
    let mut random = capstan_test_support::random::Random::new(seed);
    for _ in 0..2_000 {
        let mut data: Vec<u8> =
            (0..random.below(160)).map(|_| u8::try_from(random.below(256)).unwrap()).collect();
        if let Some(flags) = data.first_mut() {
            *flags |= 1;
        }
        merge::check(&data);
    }
}
