//! Artifacts of OCI registries. <https://github.com/opencontainers/distribution-spec/blob/main/spec.md>

use capstan_model::digest::sha256;
use capstan_providers::{COMPONENTS_BYTES, METADATA_BYTES, OciArtifact};
use http::header::{LOCATION, WWW_AUTHENTICATE};
use http::{HeaderValue, Method, StatusCode};
use secrecy::ExposeSecret as _;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;
use url::Url;

use super::VersionFiles;
use super::challenge::{Challenge, NAMES};
use super::http::{Ask, RegistryAnswer, RegistryHttp, bearer, parse};
use capstan_ports::{FetchError, SourceCredentials, WantedComponents};

const TITLE: &str = "org.opencontainers.image.title";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const TAKEN: &str = "application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json, application/vnd.docker.distribution.manifest.v2+json";
/// What a manifest may measure: registries take no larger ones.
const MANIFEST_BYTES: usize = 4 << 20;
/// Manifests that an index may name.
const MANIFESTS: usize = 16;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct OciManifest {
    #[serde(default)]
    layers: Vec<Descriptor>,
    /// Of an index.
    #[serde(default)]
    manifests: Vec<Descriptor>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Descriptor {
    #[serde(default)]
    media_type: String,
    digest: String,
    size: u64,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    annotations: BTreeMap<String, String>,
}

impl Descriptor {
    fn of(media_type: &str, content: &[u8]) -> Self {
        Self {
            media_type: media_type.to_owned(),
            digest: format!("sha256:{}", sha256(content)),
            size: content.len() as u64,
            annotations: BTreeMap::new(),
        }
    }

    fn title(&self) -> Option<&str> {
        self.annotations.get(TITLE).map(String::as_str)
    }
}

/// A repository of a registry, and what it takes for a proof of who asks.
struct RegistrySession<'a> {
    http: &'a RegistryHttp,
    artifact: &'a OciArtifact,
    credentials: &'a SourceCredentials,
    authorization: Option<HeaderValue>,
}

pub(super) async fn fetch(
    http: &RegistryHttp,
    artifact: &OciArtifact,
    wanted: &WantedComponents,
) -> Result<VersionFiles, FetchError> {
    let mut session = RegistrySession::new(http, artifact, &wanted.credentials);
    let layers = session.layers().await?;
    if layers.iter().all(|layer| layer.title().is_none()) {
        return Err(FetchError::NoTitles { address: artifact.to_string() });
    }
    let version = wanted.version.as_ref().unwrap_or(&artifact.tag).clone();
    let (metadata, components) = wanted.kind.artifact_titles(&wanted.name, &version);
    let metadata = session.file(&layers, "metadata", &metadata, METADATA_BYTES).await?;
    let components = session.file(&layers, "components", &components, COMPONENTS_BYTES).await?;
    Ok(VersionFiles { version, metadata, components })
}

pub(super) async fn push(
    http: &RegistryHttp,
    artifact: &OciArtifact,
    files: &[(String, Vec<u8>)],
    credentials: &SourceCredentials,
) -> Result<String, FetchError> {
    let mut session = RegistrySession::new(http, artifact, credentials);
    let config = Descriptor::of("application/vnd.oci.empty.v1+json", b"{}");
    session.upload(&config, b"{}").await?;
    let mut layers = Vec::new();
    for (title, content) in files {
        let mut layer = Descriptor::of("application/yaml", content);
        layer.annotations.insert(TITLE.to_owned(), title.clone());
        session.upload(&layer, content).await?;
        layers.push(layer);
    }
    // As oras writes it of files that nobody gave a type.
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "artifactType": "application/vnd.unknown.artifact.v1",
        "config": config,
        "layers": layers,
    });
    let manifest = manifest.to_string().into_bytes();
    let digest = format!("sha256:{}", sha256(&manifest));
    let url = session.url(&format!("manifests/{}", artifact.tag))?;
    session
        .send(Ask::new(Method::PUT, url, MANIFEST_BYTES).body(MANIFEST, manifest))
        .await?
        .success(NAMES)?;
    Ok(digest)
}

impl<'a> RegistrySession<'a> {
    fn new(http: &'a RegistryHttp, artifact: &'a OciArtifact, credentials: &'a SourceCredentials) -> Self {
        let token = credentials.oci_access_token.as_ref();
        let authorization = token.and_then(|token| bearer(token.expose_secret()));
        Self { http, artifact, credentials, authorization }
    }

    fn url(&self, path: &str) -> Result<Url, FetchError> {
        let OciArtifact { scheme, registry, repository, .. } = self.artifact;
        // Docker's own name of its registry is not its host.
        let host = if registry == "docker.io" { "registry-1.docker.io" } else { registry };
        parse(&format!("{}://{host}/v2/{repository}/{path}", scheme.as_str()))
    }

    fn unexpected(&self, reason: impl Into<String>) -> FetchError {
        FetchError::Unexpected { address: self.artifact.to_string(), reason: reason.into() }
    }

    /// Asks; says who asks where the registry wants to know it.
    async fn send(&mut self, ask: Ask) -> Result<RegistryAnswer, FetchError> {
        let registry = self.url("")?;
        // Where a registry wants bytes put elsewhere, its tokens do not go along.
        if !ask.is_for(&registry) {
            return self.http.send(&ask).await;
        }
        let told = self.http.send(&ask.clone().authorization(self.authorization.clone())).await?;
        if told.status != StatusCode::UNAUTHORIZED {
            return Ok(told);
        }
        let Some(challenge) = told.header(WWW_AUTHENTICATE.as_str()).and_then(Challenge::parse) else {
            return Ok(told);
        };
        match challenge.meet(self.http, &registry, self.credentials).await? {
            None => Ok(told),
            met => {
                self.authorization = met;
                self.http.send(&ask.authorization(self.authorization.clone())).await
            }
        }
    }

    /// The layers of the artifact, those of all manifests where it is an index.
    async fn layers(&mut self) -> Result<Vec<Descriptor>, FetchError> {
        let tag = self.artifact.tag.clone();
        let manifest = self.manifest(&tag, None).await?;
        let mut layers = manifest.layers;
        if manifest.manifests.len() > MANIFESTS {
            let many = manifest.manifests.len();
            return Err(self
                .unexpected(format!("its index names {many} manifests, but at most {MANIFESTS} are read")));
        }
        for one in manifest.manifests.iter().filter(|one| one.media_type != INDEX) {
            if !is_digest(&one.digest) {
                return Err(self.unexpected("its index names a digest that is not SHA-256"));
            }
            layers.extend(self.manifest(&one.digest, Some(one)).await?.layers);
        }
        Ok(layers)
    }

    async fn manifest(
        &mut self,
        reference: &str,
        wanted: Option<&Descriptor>,
    ) -> Result<OciManifest, FetchError> {
        let url = self.url(&format!("manifests/{reference}"))?;
        let ask = Ask::new(Method::GET, url, MANIFEST_BYTES).accept(TAKEN);
        let told = self.send(ask).await?.success(NAMES)?;
        if let Some(wanted) = wanted {
            self.compare(wanted, &told.body)?;
        }
        serde_json::from_slice(&told.body)
            .map_err(|_it_may_quote_the_answer| self.unexpected("its manifest is not valid"))
    }

    /// The first of these files that is there, and not empty.
    async fn file(
        &mut self,
        layers: &[Descriptor],
        what: &'static str,
        titles: &[String],
        most: usize,
    ) -> Result<Vec<u8>, FetchError> {
        let named = |title: &String| {
            layers.iter().find(|layer| layer.title() == Some(title.as_str()) && layer.size > 0)
        };
        let layer = titles.iter().find_map(named).ok_or_else(|| FetchError::Lacks {
            address: self.artifact.to_string(),
            what,
            wanted: format!("a layer with the title {}", titles.join(" or ")),
        })?;
        if layer.size > most as u64 {
            return Err(FetchError::TooLarge { address: self.artifact.to_string(), most });
        }
        if !is_digest(&layer.digest) {
            return Err(self.unexpected("a layer has a digest that is not SHA-256"));
        }
        let url = self.url(&format!("blobs/{}", layer.digest))?;
        let told = self.send(Ask::new(Method::GET, url, most)).await?.success(NAMES)?;
        self.compare(layer, &told.body)?;
        Ok(told.body)
    }

    fn compare(&self, wanted: &Descriptor, content: &[u8]) -> Result<(), FetchError> {
        if Descriptor::of("", content).digest == wanted.digest {
            return Ok(());
        }
        Err(self.unexpected(format!("its content for {} has another digest", wanted.digest)))
    }

    /// Puts a blob into the repository, unless it is there.
    async fn upload(&mut self, blob: &Descriptor, content: &[u8]) -> Result<(), FetchError> {
        let there = self.url(&format!("blobs/{}", blob.digest))?;
        if self.send(Ask::new(Method::HEAD, there, 0)).await?.status.is_success() {
            return Ok(());
        }
        let begin = self.url("blobs/uploads/")?;
        let ask = Ask::new(Method::POST, begin.clone(), MANIFEST_BYTES);
        let told = self.send(ask.body("application/octet-stream", Vec::new())).await?.success(NAMES)?;
        let next = told.header(LOCATION.as_str()).and_then(|next| begin.join(next).ok());
        let mut next = next.ok_or_else(|| self.unexpected("it does not say where to put a blob"))?;
        next.query_pairs_mut().append_pair("digest", &blob.digest);
        let ask = Ask::new(Method::PUT, next, MANIFEST_BYTES);
        self.send(ask.body("application/octet-stream", content.to_vec())).await?.success(NAMES)?;
        Ok(())
    }
}

fn is_digest(text: &str) -> bool {
    text.strip_prefix("sha256:")
        .is_some_and(|hex| hex.len() == 64 && hex.bytes().all(|byte| byte.is_ascii_hexdigit()))
}
