//! `capstan campaign simulate` in a checkout.

use super::fleet;

const CAMPAIGN: &str = "\
campaigns:
- name: fleet
  waves:
  - {name: first, match: {clusters: [acme/a]}, soak: 24h}
  - {name: rest, match: {clusters: [\"**\", nobody/*]}}
";

const PACE: &[&str] = &["--begins", "2026-11-23T08:00:00Z", "--merge-after", "0s", "--machine-takes", "10m"];

#[test]
fn a_campaign_over_the_clusters_that_are_offered_a_release() {
    let sandbox = fleet();
    sandbox.write("campaigns.yaml", CAMPAIGN);
    let file = sandbox.at("campaigns.yaml");
    let simulate = ["campaign", "simulate", file.to_str().unwrap()];
    let said = sandbox.capstan(&[&simulate[..], PACE].concat());
    // Two machines are replaced, a third comes.
    assert_eq!(
        said.ended(0).out,
        "Mon 2026-11-23 08:00  wave `first` begins\n\
         Mon 2026-11-23 08:20  wave `first` is verified, and must stay well until Tue 2026-11-24 08:20\n\
         Tue 2026-11-24 08:20  wave `first` has ended\n\
         Tue 2026-11-24 08:20  wave `rest` begins\n\
         Tue 2026-11-24 08:40  wave `rest` has ended\n\
         \n\
         At most 1 pull requests were open, 1 clusters rolling, and 2 machines rolling or about to.\n\
         2 clusters were done 1 days and 0 hours after the push.\n"
    );
    assert_eq!(said.err, "warning: wave `rest` of campaign `fleet`: this pattern matches no cluster\n");

    let picture = sandbox.at("campaign.svg");
    let svg = ["--svg", picture.to_str().unwrap(), "--stuck-per-thousand", "1000", "-o", "json"];
    let said = sandbox.capstan(&[&simulate[..], PACE, &svg].concat());
    let value = said.json(3);
    assert_eq!(value["done"], 0);
    assert_eq!(value["standstill"][0]["why"], "of `acme/a` its rollout is stuck.");
    assert_eq!(value["events"][1]["what"], "stopped");
    assert!(sandbox.read("campaign.svg").starts_with("<svg xmlns="));
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
