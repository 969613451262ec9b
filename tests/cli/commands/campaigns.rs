//! `capstan campaign simulate` in a checkout.

use super::fleet;

const CAMPAIGN: &str = "\
campaigns:
- name: fleet
  waves:
  - {name: first, match: {clusters: [acme/a]}, soak: 24h}
  - {name: rest, match: {clusters: [\"**\", nobody/*]}}
";

const PACE: &[&str] = &[
    "--begins",
    "2026-11-23T08:00:00Z",
    "--merge-after",
    "0s",
    "--machine-takes",
    "10m",
    "--requests-an-hour",
    "4000",
];

/// The time line, and the line about GitHub's limits below it.
fn parted(out: &str) -> (&str, &str) {
    out.split_at(out.find("GitHub's limits: ").unwrap())
}

#[test]
fn a_campaign_over_the_clusters_that_are_offered_a_release() {
    let sandbox = fleet();
    sandbox.write("campaigns.yaml", CAMPAIGN);
    let file = sandbox.at("campaigns.yaml");
    let simulate = ["campaign", "simulate", file.to_str().unwrap()];
    let said = sandbox.capstan(&[&simulate[..], PACE].concat());
    // Two machines are replaced, a third comes.
    let (time_line, limits) = parted(&said.ended(0).out);
    assert_eq!(
        time_line,
        "Mon 2026-11-23 08:00  wave `first` begins\n\
         Mon 2026-11-23 08:20  wave `first` is verified, and must stay healthy until Tue 2026-11-24 08:20\n\
         Tue 2026-11-24 08:20  wave `first` has ended\n\
         Tue 2026-11-24 08:20  wave `rest` begins\n\
         Tue 2026-11-24 08:40  wave `rest` has ended\n\
         \n\
         At most 1 pull request was open, 1 cluster rolling, and 2 machines rolling or about to.\n\
         2 clusters were done 1 day and 0 hours after the push.\n"
    );
    let told = "GitHub's limits: no pull request waited for them for an hour; none was exceeded (at most ";
    assert!(limits.starts_with(told), "{limits}");
    for limit in [
        "of 4000 requests an hour,",
        "of 900 points a minute,",
        "of 500 requests an hour that create content,",
    ] {
        assert!(limits.contains(limit), "{limits}");
    }
    assert_eq!(said.err, "warning: wave `rest` of campaign `fleet`: this pattern matches no cluster\n");

    let picture = sandbox.at("campaign.svg");
    let svg = ["--svg", picture.to_str().unwrap(), "--stuck-per-thousand", "1000", "-o", "json"];
    let said = sandbox.capstan(&[&simulate[..], PACE, &svg].concat());
    let value = said.json(3);
    assert_eq!(value["done"], 0);
    assert_eq!(value["github"]["exceeded"], serde_json::json!([]));
    assert_eq!(value["github"]["least_used"], serde_json::Value::Null);
    assert!(value["github"]["longest_answer_ms"].as_u64().unwrap() <= 10_000, "{value}");
    assert_eq!(value["standstill"][0]["why"], "the rollout of `acme/a` is stuck.");
    assert_eq!(value["events"][1]["what"], "stopped");
    assert!(sandbox.read("campaign.svg").starts_with("<svg xmlns="));
}

#[test]
fn the_settings_of_the_checkout_are_simulated_and_judged_with_their_places() {
    let sandbox = fleet();
    let said = sandbox.capstan(&["campaign", "simulate"]);
    assert!(said.ended(2).err.contains(".capstan.yaml: it holds no `campaigns`; a draft is named as a file"));
    let two = "\
- name: openstack
  releases: [\"openstack/*\"]
  waves:
  - {name: all, match: {clusters: [\"**\"]}, windows: [{cron: 0 9 30 2 *, duration: 8h}]}
";
    sandbox.write(".capstan.yaml", &format!("mode: propose\n{CAMPAIGN}{two}"));
    let said = sandbox.capstan(&[&["campaign", "simulate"][..], PACE].concat());
    let listed = "it holds several campaigns (fleet, openstack): name one with `--campaign`";
    assert!(said.ended(2).err.contains(listed), "{}", said.err);
    let said = sandbox.capstan(&[&["campaign", "simulate", "--campaign", "fleet"][..], PACE].concat());
    assert!(
        parted(&said.ended(0).out).0.ends_with("2 clusters were done 1 day and 0 hours after the push.\n"),
        "{}",
        said.out
    );
    let said = sandbox.capstan(&["campaign", "simulate", "--campaign", "openstack"]);
    assert!(said.ended(1).err.contains("no cluster in a wave is offered a release"), "{}", said.err);

    let findings = sandbox.capstan(&["validate", "-o", "json"]).json(3);
    let told = |finding: &serde_json::Value| {
        let [rule, file, message] = [&finding["rule"], &finding["file"], &finding["message"]]
            .map(|value| value.as_str().unwrap_or("?").to_owned());
        format!("{rule} {file}:{}:{} {message}", finding["line"], finding["column"])
    };
    let told: Vec<String> = findings.as_array().unwrap().iter().map(told).collect();
    assert_eq!(
        told,
        [
            "campaign-waves .capstan.yaml:6:43 wave `rest` of campaign `fleet`: this pattern matches no cluster",
            "campaign-waves .capstan.yaml:8:14 campaign `openstack`: no release matches `openstack/*`, so the pattern has no effect: correct it, or remove it",
            "campaign-waits-for-ever .capstan.yaml:10:44 wave `all` of campaign `openstack`: every window of it is in a freeze: it would wait for ever",
        ]
    );
    // A warning reports a cluster that two waves match.
    let twice = CAMPAIGN.replace("[\"**\", nobody/*]", "[acme/a]");
    sandbox.write(".capstan.yaml", &twice);
    let said = sandbox.capstan(&["validate"]);
    let overlap = "campaign-waves";
    let words = "wave `rest` of campaign `fleet`: `acme/a` also matches an earlier wave";
    assert!(said.ended(0).err.contains(words) || said.out.contains(words), "{} {}", said.out, said.err);
    assert!(said.err.contains(overlap) || said.out.contains(overlap));
}

#[test]
fn a_wrong_file_is_refused_with_its_place() {
    let sandbox = fleet();
    sandbox.write("campaigns.yaml", &CAMPAIGN.replace("soak: 24h", "soak: tomorrow"));
    let file = sandbox.at("campaigns.yaml");
    let said = sandbox.capstan(&["campaign", "simulate", file.to_str().unwrap()]);
    let told = said.ended(1).err_before_page();
    assert!(told.contains("campaigns.yaml:4:"), "{told}");
    assert!(told.contains("`tomorrow` is not a duration"), "{told}");
    let said = sandbox.capstan(&["campaign", "simulate", "no-such-file.yaml"]);
    assert!(said.ended(2).err.contains("no-such-file.yaml: "), "{}", said.err);
}
