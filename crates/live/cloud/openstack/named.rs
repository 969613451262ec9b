//! What is meant in a cloud.

use capstan_yaml::Value;

use crate::cloud::named::CloudSelector;

/// What `{id}` or `{filter: {name, tags}}` names; `None` where it says something that is not judged here: an object
/// of the OpenStack resource controller, or a filter with fields beside these.
pub(super) fn of(param: &Value) -> Option<CloudSelector> {
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    if let Some(id) = text(param, "id") {
        return Some(CloudSelector::Id(id));
    }
    let filter = param.get("filter")?.as_object()?;
    if !filter.keys().all(|key| key == "name" || key == "tags") {
        return None;
    }
    let tags = filter.get("tags").and_then(Value::as_array).into_iter().flatten();
    let tags = tags.filter_map(|tag| tag.as_str().map(str::to_owned)).collect();
    let filter = param.get("filter")?;
    Some(CloudSelector::Filter { name: text(filter, "name"), tags })
}
