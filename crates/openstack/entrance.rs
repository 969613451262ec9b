//! How a project is entered with a credential of one's own, and what those read who work with it.

use capstan_model::digest::sha256;
use capstan_ports::{CredentialForms, NewCredential};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::json;

/// Where the charts of the cloud's controller and its storage driver mount `cloud.conf` and the files beside it
/// (<https://github.com/kubernetes/cloud-provider-openstack/tree/master/charts>).
const MOUNTED_AT: &str = "/etc/config";
/// The key of a Secret with a `clouds.yaml`.
pub(super) const CLOUDS_YAML: &str = "clouds.yaml";
/// That with the authority of its certificates, as PEM.
pub(super) const CA: &str = "cacert";

/// Where a project is, and how it is called.
#[derive(Debug, Clone)]
pub struct Entrance {
    /// The entry of `clouds.yaml`.
    pub cloud: String,
    /// Keystone's address, with `/v3`.
    pub auth_url: String,
    /// The region, where one is named.
    pub region: Option<String>,
    /// `public`, `internal`, `admin`
    pub interface: String,
    /// The authority of its certificates, as PEM.
    pub ca: Option<String>,
}

impl Entrance {
    /// What tells it from other places.
    pub fn place(&self) -> String {
        let Self { cloud, auth_url, region, interface, ca } = self;
        sha256(json!([cloud, auth_url, region, interface, ca]).to_string())
    }

    /// `clouds.yaml` for Cluster API's provider, and `cloud.conf` for the cloud's controller and its storage driver.
    pub fn forms(&self, credential: &NewCredential) -> CredentialForms {
        let with_ca = |key: &str, text: SecretString| {
            let ca = self.ca.clone().map(|ca| (CA.to_owned(), SecretString::from(ca)));
            ca.into_iter().chain([(key.to_owned(), text)]).collect()
        };
        CredentialForms {
            cluster_api: with_ca(CLOUDS_YAML, self.clouds_yaml(credential)),
            controllers: with_ca("cloud.conf", self.cloud_conf(credential)),
        }
    }

    /// JSON is YAML, too.
    fn clouds_yaml(&self, credential: &NewCredential) -> SecretString {
        let mut entry = json!({
            "auth_type": "v3applicationcredential",
            "auth": {
                "auth_url": self.auth_url,
                "application_credential_id": credential.id,
                "application_credential_secret": credential.secret.expose_secret(),
            },
            "interface": self.interface,
            "identity_api_version": 3,
        });
        if let Some(region) = &self.region {
            entry["region_name"] = region.as_str().into();
        }
        let text = json!({"clouds": {self.cloud.as_str(): entry}}).to_string();
        SecretString::from(text)
    }

    /// Source of the keys:
    /// <https://github.com/kubernetes/cloud-provider-openstack/blob/master/docs/openstack-cloud-controller-manager/using-openstack-cloud-controller-manager.md#global>
    fn cloud_conf(&self, credential: &NewCredential) -> SecretString {
        let mut lines = vec![
            "[Global]".to_owned(),
            setting("auth-url", &self.auth_url),
            setting("application-credential-id", &credential.id),
            setting("application-credential-secret", credential.secret.expose_secret()),
            setting("os-endpoint-type", &self.interface),
        ];
        lines.extend(self.region.as_ref().map(|region| setting("region", region)));
        lines.extend(self.ca.as_ref().map(|_| setting("ca-file", &format!("{MOUNTED_AT}/{CA}"))));
        SecretString::from(lines.join("\n") + "\n")
    }
}

/// A line of Git's configuration syntax, which `cloud.conf` is written in.
fn setting(key: &str, value: &str) -> String {
    format!("{key} = \"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::Value;

    use super::*;

    fn entrance(ca: Option<&str>) -> Entrance {
        Entrance {
            cloud: "eu-1".to_owned(),
            auth_url: "https://keystone.example.com:5000/v3".to_owned(),
            region: Some("RegionOne".to_owned()),
            interface: "public".to_owned(),
            ca: ca.map(str::to_owned),
        }
    }

    fn forms(ca: Option<&str>) -> CredentialForms {
        let secret = SecretString::from("s3\\cr\"3t".to_owned());
        entrance(ca).forms(&NewCredential { id: "1d".to_owned(), secret })
    }

    fn keys(form: &BTreeMap<String, SecretString>) -> Vec<&str> {
        form.keys().map(String::as_str).collect()
    }

    #[test]
    fn clouds_yaml_names_the_cloud_as_capstan_yaml_does() {
        let form = forms(None).cluster_api;
        assert_eq!(keys(&form), ["clouds.yaml"]);
        let written: Value = serde_json::from_str(form["clouds.yaml"].expose_secret()).unwrap();
        assert_eq!(
            written,
            json!({"clouds": {"eu-1": {
                "auth_type": "v3applicationcredential",
                "auth": {
                    "auth_url": "https://keystone.example.com:5000/v3",
                    "application_credential_id": "1d",
                    "application_credential_secret": "s3\\cr\"3t",
                },
                "interface": "public",
                "identity_api_version": 3,
                "region_name": "RegionOne",
            }}})
        );
    }

    #[test]
    fn cloud_conf_is_quoted_and_names_the_authority() {
        let form = forms(Some("PEM")).controllers;
        assert_eq!(keys(&form), ["cacert", "cloud.conf"]);
        assert_eq!(
            form["cloud.conf"].expose_secret(),
            "[Global]\n\
             auth-url = \"https://keystone.example.com:5000/v3\"\n\
             application-credential-id = \"1d\"\n\
             application-credential-secret = \"s3\\\\cr\\\"3t\"\n\
             os-endpoint-type = \"public\"\n\
             region = \"RegionOne\"\n\
             ca-file = \"/etc/config/cacert\"\n"
        );
        assert_eq!(form["cacert"].expose_secret(), "PEM");
    }

    /// Another digest would have every credential renewed at once.
    #[test]
    fn a_place_has_the_digest_that_secrets_bear() {
        for (ca, digest) in [
            (None, "8ba93ee8b6da4e795f04824a39be7f74dc5f2ccad4b2de41d637aad8353cc1c2"),
            (Some("PEM"), "494685d6ac27cb935ba89bcf5434ead76960f949104de06bfd36779de341ce56"),
        ] {
            assert_eq!(entrance(ca).place(), digest);
        }
    }
}
