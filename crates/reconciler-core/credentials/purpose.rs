//! The two credentials of a cluster, and what lies in their Secrets.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use capstan_model::digest::sha256;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Map, Value, json};

use capstan_ports::{CloudEntrance, NewCredential};

/// Where `cloud.conf` and what lies beside it are mounted in the charts of the cloud's controller and its storage driver
/// (<https://github.com/kubernetes/cloud-provider-openstack/tree/master/charts>).
const MOUNTED_AT: &str = "/etc/config";

/// What a credential is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Cluster API's OpenStack provider, here.
    ClusterApi,
    /// The cloud's controller and its storage driver, inside of the cluster.
    Controllers,
}

impl Purpose {
    /// Both of them.
    pub const ALL: [Self; 2] = [Self::ClusterApi, Self::Controllers];

    /// The word for it in labels and in names in Keystone.
    pub const fn word(self) -> &'static str {
        match self {
            Self::ClusterApi => "capo",
            Self::Controllers => "controllers",
        }
    }

    /// The name of the Secret beside the `Cluster` that holds it.
    pub fn secret_name(self, cluster: &str) -> String {
        match self {
            // As the provider's own templates call it.
            Self::ClusterApi => format!("{cluster}-cloud-config"),
            Self::Controllers => format!("{cluster}-cloud-controllers"),
        }
    }

    /// What lies in the Secret, by keys, encoded as Kubernetes wants it.
    pub fn data(self, place: &Place, credential: &NewCredential) -> Map<String, Value> {
        let (key, text) = match self {
            Self::ClusterApi => ("clouds.yaml", place.clouds_yaml(credential)),
            Self::Controllers => ("cloud.conf", place.cloud_conf(credential)),
        };
        let mut data = Map::new();
        data.insert(key.to_owned(), STANDARD.encode(text.expose_secret()).into());
        if let Some(ca) = &place.ca {
            data.insert("cacert".to_owned(), STANDARD.encode(ca).into());
        }
        data
    }
}

/// Where a cluster's cloud is, and how it is called.
#[derive(Debug, Clone)]
pub struct Place {
    /// The entry of `clouds.yaml`.
    pub cloud: String,
    /// How it is entered.
    pub entrance: CloudEntrance,
    /// The authority of its certificates, as PEM.
    pub ca: Option<String>,
}

impl Place {
    /// What tells it from other places: a Secret of another one does not serve.
    pub fn print(&self) -> String {
        let CloudEntrance { auth_url, region, interface } = &self.entrance;
        sha256(json!([self.cloud, auth_url, region, interface, self.ca]).to_string())
    }

    /// JSON is YAML, too.
    fn clouds_yaml(&self, credential: &NewCredential) -> SecretString {
        let mut entry = json!({
            "auth_type": "v3applicationcredential",
            "auth": {
                "auth_url": self.entrance.auth_url,
                "application_credential_id": credential.id,
                "application_credential_secret": credential.secret.expose_secret(),
            },
            "interface": self.entrance.interface,
            "identity_api_version": 3,
        });
        if let Some(region) = &self.entrance.region {
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
            setting("auth-url", &self.entrance.auth_url),
            setting("application-credential-id", &credential.id),
            setting("application-credential-secret", credential.secret.expose_secret()),
            setting("os-endpoint-type", &self.entrance.interface),
        ];
        lines.extend(self.entrance.region.as_ref().map(|region| setting("region", region)));
        lines.extend(self.ca.as_ref().map(|_| setting("ca-file", &format!("{MOUNTED_AT}/cacert"))));
        SecretString::from(lines.join("\n") + "\n")
    }
}

/// A line of Git's configuration syntax, which `cloud.conf` is written in.
fn setting(key: &str, value: &str) -> String {
    format!("{key} = \"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(ca: Option<&str>) -> Place {
        Place {
            cloud: "eu-1".to_owned(),
            entrance: CloudEntrance {
                auth_url: "https://keystone.example.com:5000/v3".to_owned(),
                region: Some("RegionOne".to_owned()),
                interface: "public".to_owned(),
            },
            ca: ca.map(str::to_owned),
        }
    }

    fn text(data: &Map<String, Value>, key: &str) -> String {
        String::from_utf8(STANDARD.decode(data[key].as_str().unwrap()).unwrap()).unwrap()
    }

    fn credential() -> NewCredential {
        NewCredential { id: "1d".to_owned(), secret: SecretString::from("s3\\cr\"3t".to_owned()) }
    }

    #[test]
    fn clouds_yaml_names_the_cloud_as_capstan_yaml_does() {
        let data = Purpose::ClusterApi.data(&place(None), &credential());
        assert_eq!(data.keys().collect::<Vec<_>>(), ["clouds.yaml"]);
        let written: Value = serde_json::from_str(&text(&data, "clouds.yaml")).unwrap();
        assert_eq!(
            written,
            json!({"clouds": {"eu-1": {
                "auth_type": "v3applicationcredential",
                "auth": {
                    "auth_url": "https://keystone.example.com:5000/v3",
                    "application_credential_id": "1d",
                    "application_credential_secret": "s3\\cr\"3t",
                },
                "identity_api_version": 3,
                "interface": "public",
                "region_name": "RegionOne",
            }}})
        );
    }

    #[test]
    fn cloud_conf_quotes_what_it_says_and_names_the_authority_where_it_is_mounted() {
        let data = Purpose::Controllers.data(&place(Some("PEM")), &credential());
        assert_eq!(
            text(&data, "cloud.conf"),
            "[Global]\n\
             auth-url = \"https://keystone.example.com:5000/v3\"\n\
             application-credential-id = \"1d\"\n\
             application-credential-secret = \"s3\\\\cr\\\"3t\"\n\
             os-endpoint-type = \"public\"\n\
             region = \"RegionOne\"\n\
             ca-file = \"/etc/config/cacert\"\n"
        );
        assert_eq!(text(&data, "cacert"), "PEM");
    }
}
