//! What `fuzz/` runs for hours, run here on what it found and on random mixtures of what the targets begin with.

mod inventory;
mod template;

use std::path::Path;

use capstan_test_support::random::{Random, seed};

type Check = fn(&[u8]);

const TARGETS: [(&str, Check); 2] = [("inventory", inventory::check), ("template", template::check)];

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

/// Inventories and templates that are put together of pieces, so that many of them are read and rendered.
#[test]
fn any_pieces_give_the_same_twice_and_no_panic() {
    let seed = seed();
    println!("CAPSTAN_SEED={seed}");
    let mut random = Random::new(seed);
    let (mut valued, mut rendered) = (0, 0);
    for _ in 0..400 {
        let text = of_pieces(&mut random, inventory::PIECES);
        valued += usize::from(inventory::values_of(text.as_bytes()) > 0);
        let text = of_pieces(&mut random, template::PIECES);
        rendered += usize::from(template::is_rendered(text.as_bytes()));
    }
    println!("{valued} with values, {rendered} rendered");
    assert!(valued > 100 && rendered > 40, "{valued} with values, {rendered} rendered");
}

/// Up to six pieces below the first one, which is a beginning.
fn of_pieces(random: &mut Random, pieces: &[&str]) -> String {
    let mut text = pieces[0].to_owned();
    for _ in 0..random.below(7) {
        text.push_str(pieces[random.below(pieces.len())]);
    }
    text
}
