//! What a Secret's `clouds.yaml` says of one cloud
//! (<https://docs.openstack.org/openstacksdk/latest/user/config/configuration.html>).

use std::collections::BTreeMap;

use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;

/// The largest that is read.
const MOST_BYTES: usize = 256 << 10;

/// One cloud, ready to be logged in to.
pub(super) struct CloudEntry {
    pub(super) keystone: Url,
    pub(super) region: Option<String>,
    /// `public`, `internal`, `admin`
    pub(super) interface: String,
    login: Login,
}

enum Login {
    ApplicationCredential { who: Value, secret: SecretString },
    Password { user: Value, password: SecretString, scope: Value },
}

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    clouds: BTreeMap<String, CloudSettings>,
}

#[derive(Deserialize)]
struct CloudSettings {
    auth_type: Option<String>,
    #[serde(default)]
    auth: Auth,
    region_name: Option<String>,
    interface: Option<String>,
    endpoint_type: Option<String>,
    verify: Option<Value>,
    profile: Option<Value>,
    cert: Option<Value>,
}

#[derive(Default, Deserialize)]
struct Auth {
    auth_url: Option<String>,
    application_credential_id: Option<String>,
    application_credential_name: Option<String>,
    application_credential_secret: Option<String>,
    user_id: Option<String>,
    username: Option<String>,
    password: Option<String>,
    user_domain_id: Option<String>,
    user_domain_name: Option<String>,
    project_id: Option<String>,
    project_name: Option<String>,
    project_domain_id: Option<String>,
    project_domain_name: Option<String>,
    domain_id: Option<String>,
    domain_name: Option<String>,
}

impl CloudEntry {
    /// Reads one entry.
    ///
    /// # Errors
    /// What is missing or not supported, as a sentence that shows nothing of the file but names of its fields.
    pub(super) fn read(text: &SecretString, cloud: &str) -> Result<Self, String> {
        let text = text.expose_secret();
        if text.len() > MOST_BYTES {
            return Err(format!("its `clouds.yaml` has more than {} KiB", MOST_BYTES >> 10));
        }
        let mut options = serde_saphyr::Options::default();
        // A snippet of the file could show a password; so could what else the parser says.
        options.with_snippet = false;
        let file: File = serde_saphyr::from_str_with_options(text, options).map_err(|error| {
            let line = error.location().map(|place| format!(" at line {}", place.line())).unwrap_or_default();
            format!("its `clouds.yaml` cannot be read: something is wrong{line}")
        })?;
        let entry =
            file.clouds.get(cloud).ok_or_else(|| format!("its `clouds.yaml` has no cloud `{cloud}`"))?;
        for (field, is_there) in [("profile", entry.profile.is_some()), ("cert", entry.cert.is_some())] {
            if is_there {
                return Err(format!("its `clouds.yaml` has `{field}`, which is not supported"));
            }
        }
        if entry.verify.as_ref().is_some_and(|verify| *verify != Value::Bool(true)) {
            return Err("its `clouds.yaml` has `verify: false`, but Capstan sends passwords only where it can verify the certificate: put the certificate of the CA under the key `cacert` of the Secret, and remove `verify`"
                .to_owned());
        }
        let auth = &entry.auth;
        let url = auth.auth_url.as_deref().ok_or_else(|| missing("auth_url"))?;
        let mut keystone = Url::parse(url)
            .map_err(|_it_may_hold_anything| "`auth.auth_url` is not an address".to_owned())?;
        let is_bare = keystone.username().is_empty() && keystone.password().is_none();
        if !is_bare || !matches!(keystone.scheme(), "http" | "https") || keystone.host_str().is_none() {
            return Err("`auth.auth_url` is not an address with only `https://` and a host".to_owned());
        }
        keystone.set_query(None);
        keystone.set_fragment(None);
        let path = keystone.path().trim_end_matches('/').to_owned();
        keystone.set_path(&if path.ends_with("/v3") { path } else { format!("{path}/v3") });
        let interface = entry.interface.as_deref().or(entry.endpoint_type.as_deref()).unwrap_or("public");
        Ok(Self {
            keystone,
            region: entry.region_name.clone(),
            interface: interface.trim_end_matches("URL").to_owned(),
            login: login(entry.auth_type.as_deref(), auth)?,
        })
    }

    /// The body of a login.
    pub(super) fn request(&self) -> Value {
        match &self.login {
            Login::ApplicationCredential { who, secret } => {
                let mut credential = who.clone();
                credential["secret"] = secret.expose_secret().into();
                json!({"auth": {"identity": {"methods": ["application_credential"], "application_credential": credential}}})
            }
            Login::Password { user, password, scope } => {
                let mut user = user.clone();
                user["password"] = password.expose_secret().into();
                json!({"auth": {
                    "identity": {"methods": ["password"], "password": {"user": user}},
                    "scope": scope,
                }})
            }
        }
    }
}

fn missing(field: &str) -> String {
    format!("its `clouds.yaml` has no `auth.{field}` for this cloud")
}

fn login(auth_type: Option<&str>, auth: &Auth) -> Result<Login, String> {
    let by_credential =
        auth.application_credential_secret.is_some() || auth.application_credential_id.is_some();
    match auth_type {
        Some("v3applicationcredential") => application_credential(auth),
        Some("password" | "v3password") => password(auth),
        None if by_credential => application_credential(auth),
        None => password(auth),
        Some(_) => {
            Err("its `clouds.yaml` has an `auth_type` that is not supported: `v3applicationcredential` and \
                        `v3password` are"
                .to_owned())
        }
    }
}

fn application_credential(auth: &Auth) -> Result<Login, String> {
    let secret = auth.application_credential_secret.clone();
    let secret = SecretString::from(secret.ok_or_else(|| missing("application_credential_secret"))?);
    let who = match (&auth.application_credential_id, &auth.application_credential_name) {
        (Some(id), _) => json!({"id": id}),
        (None, Some(name)) => json!({"name": name, "user": user(auth)?}),
        (None, None) => return Err(missing("application_credential_id")),
    };
    Ok(Login::ApplicationCredential { who, secret })
}

fn password(auth: &Auth) -> Result<Login, String> {
    let password = SecretString::from(auth.password.clone().ok_or_else(|| missing("password"))?);
    let project = match (&auth.project_id, &auth.project_name) {
        (Some(id), _) => json!({"id": id}),
        (None, Some(name)) => json!({
            "name": name,
            "domain": domain(auth, auth.project_domain_id.as_ref(), auth.project_domain_name.as_ref())?,
        }),
        (None, None) => return Err(missing("project_id")),
    };
    Ok(Login::Password { user: user(auth)?, password, scope: json!({"project": project}) })
}

fn user(auth: &Auth) -> Result<Value, String> {
    Ok(match (&auth.user_id, &auth.username) {
        (Some(id), _) => json!({"id": id}),
        (None, Some(name)) => json!({
            "name": name,
            "domain": domain(auth, auth.user_domain_id.as_ref(), auth.user_domain_name.as_ref())?,
        }),
        (None, None) => return Err(missing("username")),
    })
}

fn domain(auth: &Auth, id: Option<&String>, name: Option<&String>) -> Result<Value, String> {
    match (id.or(auth.domain_id.as_ref()), name.or(auth.domain_name.as_ref())) {
        (Some(id), _) => Ok(json!({"id": id})),
        (None, Some(name)) => Ok(json!({"name": name})),
        (None, None) => Err(missing("user_domain_name")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<CloudEntry, String> {
        CloudEntry::read(&SecretString::from(text.to_owned()), "openstack")
    }

    const CREDENTIAL: &str = "clouds:\n  openstack:\n    auth_type: v3applicationcredential\n    region_name: RegionOne\n    auth:\n      auth_url: https://keystone.example.com:5000\n      application_credential_id: 1d\n      application_credential_secret: s3cr3t\n";

    #[test]
    fn an_application_credential_is_its_own_scope() {
        let entry = read(CREDENTIAL).unwrap();
        assert_eq!(entry.keystone.as_str(), "https://keystone.example.com:5000/v3");
        assert_eq!((entry.region.as_deref(), entry.interface.as_str()), (Some("RegionOne"), "public"));
        let credential = json!({"id": "1d", "secret": "s3cr3t"});
        assert_eq!(
            entry.request(),
            json!({"auth": {"identity": {"methods": ["application_credential"], "application_credential": credential}}})
        );
    }

    #[test]
    fn a_password_is_scoped_to_its_project() {
        let entry = read("clouds:\n  openstack:\n    interface: internal\n    auth: {auth_url: 'http://k/identity/v3/', username: u, password: p, user_domain_name: Default, project_name: x, project_domain_id: default}\n").unwrap();
        assert_eq!(entry.keystone.as_str(), "http://k/identity/v3");
        assert_eq!(entry.interface, "internal");
        assert_eq!(
            entry.request(),
            json!({"auth": {
                "identity": {"methods": ["password"], "password": {"user": {"name": "u", "domain": {"name": "Default"}, "password": "p"}}},
                "scope": {"project": {"name": "x", "domain": {"id": "default"}}},
            }})
        );
    }

    #[test]
    fn what_cannot_be_used_is_said_without_a_byte_of_it() {
        for (from, to, says) in [
            ("  openstack:", "  other:", "has no cloud `openstack`"),
            ("      auth_url", "      url", "has no `auth.auth_url`"),
            ("https://keystone.example.com:5000", "ftp://s3cr3t", "is not an address"),
            ("https://keystone", "https://u:s3cr3t@keystone", "is not an address"),
            ("v3applicationcredential", "v3oidcpassword", "`auth_type` that is not supported"),
            (
                "      application_credential_secret",
                "      password",
                "has no `auth.application_credential_secret`",
            ),
            ("    region_name", "    verify: false\n    region_name", "has `verify: false`"),
            ("    region_name", "    profile: s3cr3t\n    region_name", "has `profile`"),
            ("clouds:", "s3cr3t: [", "cannot be read"),
            ("    auth:", "    auth: s3cr3t\n    x:", "cannot be read"),
        ] {
            let text = CREDENTIAL.replacen(from, to, 1);
            let error = read(&text).err().unwrap_or_default();
            assert!(error.contains(says), "{from}: {error}");
            assert!(!error.contains("s3cr3t"), "{error}");
        }
    }
}
