//! Releases of GitHub and of GitHub Enterprise Servers, through the API alone.
//! <https://docs.github.com/en/rest/releases>

use capstan_model::version::ReleaseVersion;
use capstan_outbound::shown;
use capstan_providers::{COMPONENTS_BYTES, GitHubRelease, METADATA_BYTES};
use http::Method;
use secrecy::ExposeSecret as _;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use url::Url;

use super::VersionFiles;
use super::http::{Ask, RegistryHttp, bearer, parse};
use capstan_ports::{FetchError, SourceCredentials};

const NAMES: &str = "so it needs other credentials: set `GITHUB_TOKEN` in the environment, or `github-token` in the config Secret";
const PER_PAGE: usize = 100;
/// What a list or a release may measure.
const ANSWER_BYTES: usize = 16 << 20;

/// What the API says of a release.
#[derive(Debug, Deserialize)]
struct ApiRelease {
    tag_name: String,
    #[serde(default)]
    draft: bool,
    #[serde(default)]
    prerelease: bool,
    #[serde(default)]
    assets: Vec<Asset>,
}

#[derive(Debug, Deserialize)]
struct Asset {
    id: u64,
    name: String,
}

struct RepositoryApi<'a> {
    http: &'a RegistryHttp,
    release: &'a GitHubRelease,
    credentials: &'a SourceCredentials,
}

pub(super) async fn fetch(
    http: &RegistryHttp,
    release: &GitHubRelease,
    credentials: &SourceCredentials,
) -> Result<VersionFiles, FetchError> {
    let repository = RepositoryApi { http, release, credentials };
    let found = match &release.tag {
        Some(tag) => repository.json(&["tags", tag], &[]).await?,
        None => repository.newest().await?,
    };
    let metadata = repository.asset(&found, "metadata", "metadata.yaml", METADATA_BYTES).await?;
    let components = repository.asset(&found, "components", &release.file, COMPONENTS_BYTES).await?;
    Ok(VersionFiles { version: found.tag_name, metadata, components })
}

impl RepositoryApi<'_> {
    fn url(&self, path: &[&str]) -> Result<Url, FetchError> {
        let GitHubRelease { scheme, host, owner, repository, .. } = self.release;
        let api = if host.eq_ignore_ascii_case("github.com") {
            "https://api.github.com".to_owned()
        } else {
            format!("{}://{host}/api/v3", scheme.as_str())
        };
        let mut url = parse(&format!("{api}/repos/{owner}/{repository}/releases"))?;
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.extend(path);
        }
        Ok(url)
    }

    fn ask(&self, url: Url, most: usize) -> Ask {
        let token = self.credentials.github_token.as_ref();
        let token = token.and_then(|token| bearer(token.expose_secret()));
        Ask::new(Method::GET, url, most).authorization(token)
    }

    async fn json<T: DeserializeOwned>(
        &self,
        path: &[&str],
        query: &[(&str, String)],
    ) -> Result<T, FetchError> {
        let mut url = self.url(path)?;
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        let ask = self.ask(url, ANSWER_BYTES).accept("application/vnd.github+json");
        let told = self.http.send(&ask).await?.success(NAMES)?;
        serde_json::from_slice(&told.body).map_err(|_it_may_quote_the_answer| FetchError::Unexpected {
            address: told.address,
            reason: "its answer is not a release".to_owned(),
        })
    }

    /// The newest release by its version; a pre-release only where there is nothing else.
    async fn newest(&self) -> Result<ApiRelease, FetchError> {
        let mut all: Vec<ApiRelease> = Vec::new();
        let most = self.http.limits().pages;
        // A full page does not say whether another one follows.
        for page in 1..=most + 1 {
            let query = [("per_page", PER_PAGE.to_string()), ("page", page.to_string())];
            let found: Vec<ApiRelease> = self.json(&[], &query).await?;
            if page > most && !found.is_empty() {
                // The newest may be among those that are not read.
                let reason = format!(
                    "its list of releases has more than {most} pages of {PER_PAGE}, which is too much to read: name a version"
                );
                return Err(FetchError::Unexpected { address: shown(&self.url(&[])?), reason });
            }
            let is_last = found.len() < PER_PAGE;
            all.extend(found);
            if is_last {
                break;
            }
        }
        let versions = all.into_iter().filter(|release| !release.draft).filter_map(|release| {
            let version = ReleaseVersion::parse(&release.tag_name)?;
            let is_final = !release.prerelease && !release.tag_name.contains('-');
            Some(((is_final, version), release))
        });
        let newest = versions.max_by(|(a, _), (b, _)| a.cmp(b));
        newest.map(|(_, release)| release).ok_or_else(|| FetchError::Lacks {
            address: format!("{}/{}", self.release.host, self.release.repository),
            what: "release",
            wanted: "a release whose tag is a version such as `v1.2.3`".to_owned(),
        })
    }

    async fn asset(
        &self,
        found: &ApiRelease,
        what: &'static str,
        name: &str,
        most: usize,
    ) -> Result<Vec<u8>, FetchError> {
        let asset = found.assets.iter().find(|asset| asset.name == name).ok_or_else(|| {
            let GitHubRelease { host, owner, repository, .. } = self.release;
            FetchError::Lacks {
                address: format!("release {} of {host}/{owner}/{repository}", found.tag_name),
                what,
                wanted: format!("a file `{name}`"),
            }
        })?;
        let url = self.url(&["assets", &asset.id.to_string()])?;
        let told = self.http.send(&self.ask(url, most).accept("application/octet-stream")).await?;
        Ok(told.success(NAMES)?.body)
    }
}
