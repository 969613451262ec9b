//! All mistakes of a settings file are reported at once, each with its own place.

use super::fleet;

/// Four mistakes, two of them in one line.
const SETTINGS: &str = "\
mode: propos
upgrade:
  proposals: {open: many, ordre: [a]}
polcy: {component-downgrade: warning}
";

const PLACES: [(u64, u64); 4] = [(1, 7), (3, 21), (3, 27), (4, 1)];

#[test]
fn each_mistake_in_the_settings_is_a_finding_in_every_format() {
    let sandbox = fleet();
    sandbox.write(".capstan.yaml", SETTINGS);
    let text = sandbox.capstan(&["validate"]);
    let lines: Vec<&str> = text.ended(3).out.lines().collect();
    for ((line, column), said) in PLACES.iter().zip(&lines) {
        let expected = format!("error[invalid-settings] .capstan.yaml:{line}:{column}: ");
        assert!(said.starts_with(&expected), "{said}");
    }
    assert_eq!(lines[4], "4 errors, 0 warnings; checked nothing but settings; correct .capstan.yaml first");

    let findings = sandbox.capstan(&["validate", "-o", "json"]).json(3);
    let places: Vec<(u64, u64)> = findings
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| (finding["line"].as_u64().unwrap(), finding["column"].as_u64().unwrap()))
        .collect();
    assert_eq!(places, PLACES);

    let sarif = sandbox.capstan(&["validate", "-o", "sarif"]).json(3);
    let places: Vec<(u64, u64)> = sarif["runs"][0]["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|result| {
            let region = &result["locations"][0]["physicalLocation"]["region"];
            (region["startLine"].as_u64().unwrap(), region["startColumn"].as_u64().unwrap())
        })
        .collect();
    assert_eq!(places, PLACES);

    let github = sandbox.capstan(&["validate", "-o", "github"]);
    let commands: Vec<&str> = github.ended(3).out.lines().collect();
    assert_eq!(commands.len(), 4);
    for ((line, column), command) in PLACES.iter().zip(commands) {
        assert!(command.starts_with("::error file=.capstan.yaml,"), "{command}");
        assert!(command.contains(&format!("line={line},col={column}")), "{command}");
    }
}

#[test]
fn mistakes_of_the_repository_hide_none_of_a_cluster() {
    let sandbox = fleet();
    sandbox.write(".capstan.yaml", "mode: propos\n");
    sandbox.write("acme/a/capstan.yaml", "release: aws/v1.0.0\ntrak: minor\n");
    sandbox.write("acme/b/overlay/capstan.yaml", "track: some\n");
    let said = sandbox.capstan(&["validate"]);
    let begins: Vec<&str> =
        said.ended(3).out.lines().filter_map(|line| line.split_once(": ").map(|(at, _)| at)).collect();
    assert_eq!(
        begins[..3],
        [
            "error[invalid-settings] .capstan.yaml:1:7",
            "error[invalid-settings] acme/a/capstan.yaml:2:1",
            "error[invalid-settings] acme/b/overlay/capstan.yaml:1:8"
        ],
        "{}",
        said.out
    );
}

#[test]
fn other_commands_list_them_under_one_heading() {
    let sandbox = fleet();
    sandbox.write(".capstan.yaml", SETTINGS);
    let said = sandbox.capstan(&["clusters"]);
    let lines: Vec<&str> = said.ended(1).err.lines().collect();
    assert_eq!(lines[0], "error: 4 mistakes in .capstan.yaml:");
    for ((line, column), said) in PLACES.iter().zip(&lines[1..]) {
        assert!(said.starts_with(&format!("  .capstan.yaml:{line}:{column}: ")), "{said}");
    }
    assert_eq!(lines.len(), 6, "{lines:#?}");
}

#[test]
fn mistakes_of_a_cluster_and_of_an_overlay_are_all_reported() {
    let sandbox = fleet();
    sandbox.write("acme/a/capstan.yaml", "release: aws/v1.0.0\ntrak: minor\nholdd: x\n");
    sandbox.write("acme/b/overlay/capstan.yaml", "hold: {reason: \"\"}\ntrack: some\n");
    let findings = sandbox.capstan(&["validate", "-o", "json"]).json(3);
    let places: Vec<String> = findings
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| format!("{}:{}", finding["file"].as_str().unwrap(), finding["line"]))
        .collect();
    assert_eq!(
        places,
        [
            "acme/a/capstan.yaml:2",
            "acme/a/capstan.yaml:3",
            "acme/b/overlay/capstan.yaml:1",
            "acme/b/overlay/capstan.yaml:2"
        ]
    );
    // A plan has one place for what stops it, and says how many more there are.
    let plans = sandbox.capstan(&["plan", "-o", "json"]).json(1);
    let message = plans[0]["error"]["message"].as_str().unwrap();
    assert!(
        message.ends_with(" (and 1 other mistake in this file, which `capstan validate` lists)"),
        "{message}"
    );
}

#[test]
fn a_service_tells_all_that_is_wrong_in_its_file_and_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("settings.yaml");
    let state = folder.path().join("state").display().to_string();
    for (service, text, expected) in [
        (
            "reconcile",
            "namespce: a\nnamespace: c\nrender-timeout-seconds: 0\ncloud-hosts: [a]\nlistn: x\nnamespace: B_\n",
            [
                "settings.yaml:1:1: unknown setting `namespce`; did you mean `namespace`?",
                "settings.yaml:4:14: `cloud-hosts` must be text or a number",
                "settings.yaml:5:1: unknown setting `listn`; did you mean `listen`?",
                "settings.yaml:6:1: `namespace` occurs twice",
                "settings.yaml:6:12): `B_` is not a name of a namespace",
                "listen (from --listen): `x` is not an address",
                "settings.yaml:3:25): `0` is not a number from 1 to 3600",
            ],
        ),
        (
            "serve",
            "listn: 127.0.0.1:1\nworkers: 0\njob-seconds: x\nconnections: 1\nbody-memory-mib: 1\nretention-days: 1\n",
            [
                "settings.yaml:1:1: unknown setting `listn`; did you mean `listen`?",
                "listen (from --listen): `x` is not an address",
                "settings.yaml:4:14): `1` is not a number from 8",
                "settings.yaml:5:18): `1` is not a number from 25",
                "settings.yaml:6:17): `1` is not a number from 7",
                "settings.yaml:2:10): `0` is not a number from 1 to 64",
                "settings.yaml:3:14): `x` is not a number from 1",
            ],
        ),
    ] {
        std::fs::write(&file, text).unwrap();
        let typed = [service, "--config", file.to_str().unwrap(), "--listen", "x", "--state-dir", &state];
        let said = super::sandbox::capstan(folder.path(), &typed);
        said.ended(2);
        let mut rest = said.err.as_str();
        for part in expected {
            let Some((_, after)) = rest.split_once(part) else { panic!("{part}: {}", said.err) };
            rest = after;
        }
        let heading = said.err.lines().next().unwrap();
        assert!(heading.ends_with(" settings are wrong or missing:"), "{heading}");
    }
}
