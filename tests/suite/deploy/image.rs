//! The image can be built: what the sources include goes into it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::house::{is_test, walk};

#[test]
fn the_image_is_built_from_every_file_that_the_sources_include() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).canonicalize().unwrap();
    let ignored = fs::read_to_string(root.join(".dockerignore")).unwrap();
    assert!(ignored.lines().any(|line| line == "*"), "nothing goes in but what is named");
    let let_in: Vec<PathBuf> =
        ignored.lines().filter_map(|line| line.strip_prefix('!')).map(|path| root.join(path)).collect();
    let sources = walk(&root.join("src"));
    let mut included = 0;
    for file in sources.iter().filter(|file| !is_test(file.strip_prefix(&root).unwrap())) {
        let source = fs::read_to_string(file).unwrap();
        let after =
            |macro_name: &str| source.split(macro_name).skip(1).map(str::to_owned).collect::<Vec<_>>();
        for rest in [after("include_str!("), after("include_bytes!(")].concat() {
            let path = file.parent().unwrap().join(rest.split('"').nth(1).unwrap());
            let path = path.canonicalize().unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            let is_let_in = let_in.iter().any(|folder| path.starts_with(folder));
            assert!(is_let_in, "{} is kept from the image by .dockerignore", path.display());
            included += 1;
        }
    }
    assert!(included > 60, "{included} files are included: where are the others?");
}
