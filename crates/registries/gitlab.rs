//! Generic packages of GitLab. <https://docs.gitlab.com/user/packages/generic_packages/>

use capstan_providers::{COMPONENTS_BYTES, GitLabPackage, METADATA_BYTES};
use http::Method;
use secrecy::ExposeSecret as _;

use super::VersionFiles;
use super::http::{Ask, RegistryHttp, bearer, parse};
use capstan_ports::{FetchError, SourceCredentials};

const NAMES: &str = "so it needs other credentials: set `GITLAB_ACCESS_TOKEN` in the environment, or `gitlab-access-token` in the config Secret";

pub(super) async fn fetch(
    http: &RegistryHttp,
    package: &GitLabPackage,
    credentials: &SourceCredentials,
) -> Result<VersionFiles, FetchError> {
    let components = file(http, package, credentials, &package.file, COMPONENTS_BYTES).await?;
    let metadata = file(http, package, credentials, "metadata.yaml", METADATA_BYTES).await;
    let metadata = metadata.map_err(|error| match error {
        FetchError::NotFound { .. } => FetchError::Lacks {
            address: format!("package {} {} of {}", package.package, package.version, package.host),
            what: "metadata",
            wanted: "a file `metadata.yaml`".to_owned(),
        },
        error => error,
    })?;
    Ok(VersionFiles { version: package.version.clone(), metadata, components })
}

async fn file(
    http: &RegistryHttp,
    package: &GitLabPackage,
    credentials: &SourceCredentials,
    name: &str,
    most: usize,
) -> Result<Vec<u8>, FetchError> {
    let GitLabPackage { scheme, host, project, package, version, .. } = package;
    let url = parse(&format!(
        "{}://{host}/api/v4/projects/{project}/packages/generic/{package}/{version}/{name}",
        scheme.as_str()
    ))?;
    let token = credentials.gitlab_token.as_ref().and_then(|token| bearer(token.expose_secret()));
    let told = http.send(&Ask::new(Method::GET, url, most).authorization(token)).await?;
    Ok(told.success(NAMES)?.body)
}
