//! Values that the inventory says and the cluster has not taken yet: what a step to another release goes without.

use capstan_yaml::Value;

/// The values for another release that say what the cluster has taken, and no more: those that the inventory says under
/// the new release, with whatever differs between what it says under the old release (`said`) and what the cluster
/// `took` put back. Mappings are compared key by key, everything else as a whole.
pub fn without_pending(said: &Value, took: &Value, under_new: &Value) -> Value {
    back(Some(said), Some(took), Some(under_new)).unwrap_or_default()
}

fn back(said: Option<&Value>, took: Option<&Value>, new: Option<&Value>) -> Option<Value> {
    if said == took {
        return new.cloned();
    }
    let (Some(Value::Object(took)), Some(Value::Object(new))) = (took, new) else { return took.cloned() };
    let nothing = serde_json::Map::new();
    let said = said.and_then(Value::as_object).unwrap_or(&nothing);
    let keys = new.keys().chain(took.keys().filter(|key| !new.contains_key(*key)));
    let one = |key: &String| Some((key.clone(), back(said.get(key), took.get(key), new.get(key))?));
    Some(Value::Object(keys.filter_map(one).collect()))
}
