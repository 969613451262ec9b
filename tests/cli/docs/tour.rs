//! Pages whose commands are run: the tour of the README, the tutorial of the inventory, the examples. The other tutorials
//! are run where their forge and their management cluster are, in `tests/bot` and `tests/cluster`.

use std::fs;

use capstan_test_parts::sandbox::Sandbox;
use capstan_test_parts::walk::{commands, shows, walk};

use super::{page, root};

#[test]
fn the_tour_of_the_readme_shows_what_the_program_prints() {
    let readme = page("README.md");
    let of = |info: &'static str| {
        let blocks = readme.blocks.iter().filter(move |block| block.info == info);
        blocks.map(|block| block.text.as_str())
    };
    let listed: Vec<&str> =
        of("text").flat_map(str::lines).filter_map(|line| line.split_whitespace().next()).collect();
    assert!(listed.len() > 2, "{listed:?}");
    let files: Vec<(&str, String)> = listed
        .iter()
        .map(|file| (*file, fs::read_to_string(root().join("docs/tour").join(file)).unwrap()))
        .collect();
    let sandbox = Sandbox::with(&files.iter().map(|(path, text)| (*path, text.as_str())).collect::<Vec<_>>());

    let steps: Vec<(String, String)> = of("console").flat_map(commands).collect();
    assert!(steps.len() > 2, "{steps:?}");
    for (command, shown) in steps {
        let words: Vec<&str> = command.split_whitespace().collect();
        let said = sandbox.capstan(words.strip_prefix(&["capstan"]).unwrap());
        let printed = &said.ended(0).out;
        assert!(shows(&shown, printed), "{command}\n-- the page shows\n{shown}\n-- printed is\n{printed}");
    }
}

#[test]
fn the_tutorial_of_the_inventory_shows_what_the_programs_print() {
    walk(&page("docs/tutorials/inventory.md"), &[], &[], || ());
}

#[test]
fn the_examples_do_what_their_page_shows() {
    walk(&page("docs/examples.md"), &[], &[], || ());
}
