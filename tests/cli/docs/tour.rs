//! The tour of the README, taken with the built program.

use capstan_test_parts::sandbox::Sandbox;

use super::{page, root};
use std::fs;

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

    let steps: Vec<&str> = of("console").flat_map(|block| block.split("$ capstan ").skip(1)).collect();
    assert!(steps.len() > 2, "{steps:?}");
    for step in steps {
        let (command, shown) = step.split_once('\n').unwrap();
        let said = sandbox.capstan(&command.split_whitespace().collect::<Vec<_>>());
        let out = &said.ended(0).out;
        match shown.strip_suffix("…\n") {
            Some(beginning) => {
                assert_eq!(&out[..beginning.len().min(out.len())], beginning, "capstan {command}")
            }
            None => assert_eq!(out.trim_end(), shown.trim_end(), "capstan {command}"),
        }
    }
}
