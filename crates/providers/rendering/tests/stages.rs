//! How far rendering had come when it was refused: the installer has a reason for each.

use super::*;
use crate::refusal::RenderStage;

const DEPLOYMENT: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: manager}
spec: {template: {spec: {containers: [{name: manager, image: a.example/b:c}]}}}
";

#[test]
fn a_refusal_knows_its_stage() {
    for (spec, map, configuration, stage) in [
        ("", config_map("${NO_VALUE}"), None, RenderStage::Components),
        ("  version: v9.0.0\n", config_map(DEPLOYMENT), None, RenderStage::Components),
        ("", config_map(DEPLOYMENT).replace("minor: 0", "minor: 7"), None, RenderStage::Contract),
        (
            "  deployment: {containers: [{name: nobody, command: [a]}]}\n",
            config_map(DEPLOYMENT),
            None,
            RenderStage::Customization,
        ),
        ("  patches: [{patch: '[{}]'}]\n", config_map(DEPLOYMENT), None, RenderStage::Patches),
    ] {
        let provider = format!("{PROVIDER}{spec}");
        let tree = Files::new(&[("p.yaml", &provider), ("m.yaml", &map)]);
        let set = ProviderSet::read(&tree, &RepoPath::root()).unwrap();
        let variables = VariableValues::default();
        let inputs = Inputs { tree: &tree, set: &set, variables: &variables, configuration };
        let refused = render(&set.providers()[0], inputs).unwrap_err();
        assert_eq!(refused.stage(), stage, "{refused}");
    }
}
