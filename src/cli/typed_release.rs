//! Releases as people type them.

use capstan_model::ids::ReleaseName;
use capstan_plan::release::nearest_release;

use capstan_fleet::generator::Fleet;

/// The release that is meant; or that no release has that name, with the nearest one.
pub(super) fn release(fleet: &Fleet, typed: &str) -> Result<ReleaseName, String> {
    let name = typed.trim_end_matches('/');
    if fleet.targets().any(|target| target.as_str() == name) {
        return Err(format!("`{typed}` is a cluster, and a release is asked for{LIST}"));
    }
    ReleaseName::parse(name).ok_or_else(|| match nearest_release(name, fleet.catalogue().releases().iter()) {
        Some(meant) => format!("`{typed}` is not a release; did you mean `{meant}`?{LIST}"),
        None => format!("`{typed}` is not a release: give its id, e.g. aws/v21.0.0{LIST}"),
    })
}

/// Where the releases are listed, at the end of a message.
pub(super) const LIST: &str = " (`capstan releases` lists them)";
