//! The JSON Schema that `capstan schema` prints.

use serde_json::Value;

use super::cluster::{ClusterSettings, OverlaySettings, ReleaseSettings};
use super::repository::RepositorySettings;

/// The JSON Schema of `.capstan.yaml`. The other files' schemas stand under `$defs`
/// (`ClusterSettings`, `OverlaySettings`, `ReleaseSettings`), so that one document serves an editor.
pub fn json_schema() -> Value {
    let mut generator = schemars::SchemaGenerator::default();
    generator.subschema_for::<ClusterSettings>();
    generator.subschema_for::<OverlaySettings>();
    generator.subschema_for::<ReleaseSettings>();
    generator.into_root_schema_for::<RepositorySettings>().to_value()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::json_schema;

    #[test]
    fn the_schema_knows_every_file_and_refuses_unknown_keys() {
        let schema = json_schema();
        assert_eq!(schema["title"], "RepositorySettings");
        assert_eq!(schema["additionalProperties"], json!(false));
        assert_eq!(schema["properties"]["mode"]["default"], "propose");
        assert_eq!(schema["$defs"]["ProposalSettings"]["properties"]["perHour"]["default"], json!(20));
        for file in ["ClusterSettings", "OverlaySettings", "ReleaseSettings"] {
            assert_eq!(schema["$defs"][file]["additionalProperties"], json!(false), "{file}");
        }
        assert!(schema["$defs"]["ClusterSettings"]["properties"]["releaseTree"].is_object());
    }
}
