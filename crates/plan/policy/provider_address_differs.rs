//! `provider-address-differs`

use super::evidence::ClusterEvidence;
use super::rule::{About, PolicyRule};
use capstan_kustomize::render::RenderedObject;
use capstan_model::finding::{Finding, Place, rules};
use capstan_model::kinds::is_of_operator;
use capstan_model::object::FieldPath;
use capstan_model::version::ReleaseVersion;

pub(super) struct ProviderAddressDiffers;

static ABOUT: About = About::new(
    rules::PROVIDER_ADDRESS_DIFFERS,
    include_str!("../../../docs/rules/provider-address-differs.md"),
);

impl PolicyRule for ProviderAddressDiffers {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inspect(&self, cluster: &ClusterEvidence<'_>, verdicts: &mut Vec<Finding>) {
        let providers = cluster.objects.iter().filter(|object| is_of_operator(&object.id.group));
        verdicts.extend(providers.filter_map(differs));
    }
}

/// Versions of a provider object and of its address that are two.
fn differs(provider: &RenderedObject) -> Option<Finding> {
    let asked = provider.placed.at(&["spec", "version"])?;
    let (field, address, named) = ["url", "oci"].into_iter().find_map(|field| {
        let address = provider.placed.at(&["spec", "fetchConfig", field])?;
        let text = address.as_str()?;
        let named = if field == "oci" { tag_of(text) } else { version_of(text) }?;
        Some((field, address, named))
    })?;
    let (one, other) = (ReleaseVersion::parse(asked.as_str()?)?, ReleaseVersion::parse(named)?);
    if one == other {
        return None;
    }
    let line = Place::from(&asked.place).line().map(|line| format!(" in line {line}")).unwrap_or_default();
    let message = format!(
        "the address in `fetchConfig.{field}` of {} names version {named}, but `spec.version`{line} is {}. `spec.version` decides which version is installed, so a new address alone upgrades nothing: write the same version in both places",
        provider.id,
        asked.as_str().unwrap_or_default()
    );
    let path = FieldPath::of_keys(["spec", "fetchConfig", field]);
    let verdict = Finding::new(rules::PROVIDER_ADDRESS_DIFFERS, message).object(&provider.id).path(&path);
    Some(verdict.place(&address.place))
}

/// The tag of an OCI address: `REGISTRY/REPOSITORY:TAG`.
fn tag_of(address: &str) -> Option<&str> {
    address.rsplit('/').next()?.split_once(':').map(|(_, tag)| tag.split('@').next().unwrap_or(tag))
}

/// The version in an address of a release's file, or of a generic package.
fn version_of(address: &str) -> Option<&str> {
    address.split('/').rev().find(|part| {
        part.starts_with(|first: char| first == 'v' || first.is_ascii_digit())
            && ReleaseVersion::parse(part).is_some()
    })
}
