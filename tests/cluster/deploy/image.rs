//! The image can be built: what the sources include goes into it.

use std::fs;
use std::path::{Path, PathBuf};

use capstan_test_parts::sources::{is_test, sources};

#[test]
fn the_image_is_built_from_every_file_that_the_sources_include() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).canonicalize().unwrap();
    let ignored = fs::read_to_string(root.join(".dockerignore")).unwrap();
    assert!(ignored.lines().any(|line| line == "*"), "nothing goes in but what is named");
    let let_in: Vec<PathBuf> =
        ignored.lines().filter_map(|line| line.strip_prefix('!')).map(|path| root.join(path)).collect();
    let mut included = 0;
    for file in sources().iter().filter(|file| !is_test(file.strip_prefix(&root).unwrap())) {
        let source = fs::read_to_string(file).unwrap();
        let after =
            |macro_name: &str| source.split(macro_name).skip(1).map(str::to_owned).collect::<Vec<_>>();
        for rest in [after("include_str!("), after("include_bytes!(")].concat() {
            // A macro says the package, and the beginning of the path is what all of its files have in common.
            let path = match rest.strip_prefix("concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/") {
                Some(rest) => package(file).join(rest.split('"').next().unwrap()),
                None => file.parent().unwrap().join(rest.split('"').nth(1).unwrap()),
            };
            let path = path.canonicalize().unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            let is_let_in = let_in.iter().any(|folder| path.starts_with(folder));
            assert!(is_let_in, "{} is kept from the image by .dockerignore", path.display());
            included += 1;
        }
    }
    assert!(included > 60, "{included} files are included: where are the others?");
}

/// The folder of the package that the source belongs to.
fn package(source: &Path) -> &Path {
    source.ancestors().find(|folder| folder.join("Cargo.toml").exists()).unwrap()
}

/// The last stage holds the program and certificates, runs as nobody, and the program was linked statically: what its
/// container needs to be small and to stand on a read-only root.
#[test]
fn the_image_holds_a_static_program_and_certificates_alone() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let file = fs::read_to_string(root.join("Dockerfile")).unwrap().replace("\\\n", " ");
    let lines: Vec<String> = file
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    let last = lines.iter().rposition(|line| line.starts_with("FROM ")).unwrap();
    assert_eq!(
        lines[last..],
        [
            "FROM scratch",
            "COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt",
            "COPY --from=build /usr/local/bin/capstan /usr/local/bin/capstan",
            "USER 65532:65532",
            "ENTRYPOINT [\"/usr/local/bin/capstan\"]",
        ]
    );
    let build = lines.iter().find(|line| line.contains("cargo build")).unwrap();
    for said in [
        "RUSTFLAGS=\"-C target-feature=+crt-static\" cargo build --release --locked --features",
        "--target \"$target\"",
    ] {
        assert!(build.contains(said), "{said}: {build}");
    }
    // The pods of `deploy/` run as the same user.
    for manifest in ["deploy/bot/bot.yaml", "deploy/reconciler.yaml"] {
        let text = fs::read_to_string(root.join(manifest)).unwrap();
        assert!(
            text.contains("runAsUser: 65532") && text.contains("readOnlyRootFilesystem: true"),
            "{manifest}"
        );
    }
}
