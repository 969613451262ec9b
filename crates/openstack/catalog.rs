//! Where the services of a project are.

use serde_json::Value;
use url::Url;

/// The catalog that comes with a token.
#[derive(Debug, Clone)]
pub(super) struct Catalog {
    services: Vec<Value>,
    interface: String,
    region: Option<String>,
}

/// A service, as catalogs call it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CloudService {
    Compute,
    Image,
    Network,
    BlockStorage,
}

impl CloudService {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Compute => "Nova",
            Self::Image => "Glance",
            Self::Network => "Neutron",
            Self::BlockStorage => "Cinder",
        }
    }

    /// The official type first (<https://service-types.openstack.org>), then older ones.
    const fn types(self) -> &'static [&'static str] {
        match self {
            Self::Compute => &["compute"],
            Self::Image => &["image"],
            Self::Network => &["network"],
            Self::BlockStorage => &["block-storage", "block-store", "volumev3", "volume"],
        }
    }

    /// The version of the API that a catalog's address may lack.
    const fn version(self) -> Option<&'static str> {
        match self {
            Self::Compute | Self::BlockStorage => None,
            Self::Image => Some("v2"),
            Self::Network => Some("v2.0"),
        }
    }
}

impl Catalog {
    pub(super) fn of(token: &Value, interface: &str, region: Option<&str>) -> Self {
        Self {
            services: token["catalog"].as_array().cloned().unwrap_or_default(),
            interface: interface.to_owned(),
            region: region.map(str::to_owned),
        }
    }

    /// The address of a service, its version included, without a slash at its end.
    ///
    /// # Errors
    /// Why there is none.
    pub(super) fn endpoint(&self, service: CloudService) -> Result<Url, String> {
        let name = service.name();
        let found = service
            .types()
            .iter()
            .find_map(|sort| self.services.iter().find(|entry| entry["type"].as_str() == Some(sort)));
        let entry = found.ok_or_else(|| format!("the cloud's catalog has no {name}"))?;
        let in_region = |endpoint: &&Value| {
            let id = endpoint["region_id"].as_str().or_else(|| endpoint["region"].as_str());
            self.region.as_deref().is_none_or(|region| id == Some(region))
        };
        let endpoints = entry["endpoints"].as_array().into_iter().flatten();
        let endpoint = endpoints
            .filter(|endpoint| endpoint["interface"].as_str() == Some(self.interface.as_str()))
            .find(in_region);
        let url = endpoint.and_then(|endpoint| endpoint["url"].as_str()).and_then(|url| Url::parse(url).ok());
        let mut url = url.ok_or_else(|| match &self.region {
            Some(region) => format!(
                "the cloud's catalog has no {} address of {name} in the region `{region}`",
                self.interface
            ),
            None => format!("the cloud's catalog has no {} address of {name}", self.interface),
        })?;
        let path = url.path().trim_end_matches('/').to_owned();
        let path = match service.version() {
            Some(version) if !path.ends_with(&format!("/{version}")) => format!("{path}/{version}"),
            _ => path,
        };
        url.set_path(&path);
        Ok(url)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn addresses_are_of_the_interface_and_region_and_have_their_version() {
        let at = |interface: &str, region: &str, url: &str| json!({"interface": interface, "region_id": region, "url": url});
        let token = json!({"catalog": [
            {"type": "compute", "endpoints": [at("admin", "A", "http://x/v2.1"), at("public", "A", "http://a/v2.1/"), at("public", "B", "http://b/v2.1")]},
            {"type": "image", "endpoints": [at("public", "A", "http://a:9292")]},
            {"type": "network", "endpoints": [at("public", "A", "http://a/net/v2.0")]},
            {"type": "volumev3", "endpoints": [at("public", "A", "http://a/v3/p1")]},
        ]});
        let of = |region: Option<&str>, service| {
            Catalog::of(&token, "public", region).endpoint(service).map(|url| url.to_string())
        };
        for (region, service, url) in [
            (None, CloudService::Compute, "http://a/v2.1"),
            (Some("B"), CloudService::Compute, "http://b/v2.1"),
            (Some("A"), CloudService::Image, "http://a:9292/v2"),
            (Some("A"), CloudService::Network, "http://a/net/v2.0"),
            (Some("A"), CloudService::BlockStorage, "http://a/v3/p1"),
        ] {
            assert_eq!(of(region, service).as_deref(), Ok(url));
        }
        assert_eq!(
            of(Some("B"), CloudService::Image).unwrap_err(),
            "the cloud's catalog has no public address of Glance in the region `B`"
        );
        let empty = Catalog::of(&json!({}), "public", None);
        assert_eq!(
            empty.endpoint(CloudService::BlockStorage).unwrap_err(),
            "the cloud's catalog has no Cinder"
        );
    }
}
