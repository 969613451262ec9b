//! `GET /clusters/<owner>/<name>/<folder>/kubeconfig.age`: the file that only the owners of a cluster can open, for
//! everybody; and `…/kubeconfig`, which says how to log in and holds no secret.
//!
//! Their addresses are below those of the pages of clusters, which need a login: so they are matched first. Nothing is
//! listed.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{
    ALLOW, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE, ETAG, IF_NONE_MATCH, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use capstan_live::agent::wire::DIGEST_HEADER;
use capstan_live::agent::{KubeconfigForm, PublishedFile};
use capstan_model::ids::ClusterId;
use capstan_model::tree::RepoPath;

use capstan_bot::agents::Agents;
use capstan_listener::answer::HttpRefusal;

/// Where clusters stand.
const CLUSTERS: &str = "/clusters/";
/// The longest path that is read.
const LONGEST: usize = 4_096;

/// A file that somebody asks for.
struct RequestedKubeconfig {
    repository: String,
    cluster: ClusterId,
    form: KubeconfigForm,
}

/// Serves the file; other paths go to the next handler.
pub(super) async fn give(State(agents): State<Arc<Agents>>, request: Request, next: Next) -> Response {
    let Some(asked) = RequestedKubeconfig::read(request.uri().path()) else { return next.run(request).await };
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return match asked.form {
            KubeconfigForm::Plain => next.run(request).await,
            KubeconfigForm::Age => {
                let refusal = HttpRefusal::new(StatusCode::METHOD_NOT_ALLOWED, "This can only be read");
                ([(ALLOW, "GET, HEAD")], refusal).into_response()
            }
        };
    }
    match agents.kubeconfig(&asked.repository, &asked.cluster, asked.form).await {
        Ok(Some(file)) => answer(&request, asked.form, file),
        // A page may be called so.
        Ok(None) if asked.form == KubeconfigForm::Plain => next.run(request).await,
        Ok(None) => HttpRefusal::new(StatusCode::NOT_FOUND, "There is nothing here").into_response(),
        Err(error) => {
            let sentence = "This cannot be done now: try again later";
            HttpRefusal::new(StatusCode::SERVICE_UNAVAILABLE, sentence).because(&error).into_response()
        }
    }
}

impl RequestedKubeconfig {
    fn read(path: &str) -> Option<Self> {
        let below = path.strip_prefix(CLUSTERS).filter(|_| path.len() <= LONGEST)?;
        let (folder, file) = below.rsplit_once('/')?;
        let forms = [KubeconfigForm::Age, KubeconfigForm::Plain];
        let form = forms.into_iter().find(|form| form.file_name() == file)?;
        let decoded = percent_decoded(folder)?;
        let mut parts = decoded.splitn(3, '/');
        let (owner, name, folder) = (parts.next()?, parts.next()?, parts.next()?);
        let cluster = ClusterId::new(RepoPath::parse(folder).ok()?);
        Some(Self { repository: format!("{owner}/{name}"), cluster, form })
    }
}

/// What a path says, once; `None` of one that is broken.
fn percent_decoded(path: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut left = path.as_bytes();
    while let Some((first, rest)) = left.split_first() {
        left = rest;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let (digits, rest) = left.split_at_checked(2)?;
        let digits =
            std::str::from_utf8(digits).ok().filter(|text| text.bytes().all(|b| b.is_ascii_hexdigit()))?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        left = rest;
    }
    String::from_utf8(bytes).ok()
}

fn answer(request: &Request, form: KubeconfigForm, file: PublishedFile) -> Response {
    let tag = format!("\"{}\"", file.said.sha256);
    let known = request.headers().get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    let is_known = known.flat_map(|tags| tags.split(',')).any(|one| {
        let one = one.trim();
        one == "*" || one.strip_prefix("W/").unwrap_or(one) == tag
    });
    let mut response = match is_known {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => Body::from(file.bytes).into_response(),
    };
    let fields = response.headers_mut();
    let attachment = format!("attachment; filename=\"{}\"", form.file_name());
    let texts = [
        (ETAG, tag.as_str()),
        (HeaderName::from_static(DIGEST_HEADER), file.said.sha256.as_str()),
        (CONTENT_DISPOSITION, attachment.as_str()),
    ];
    for (name, text) in texts {
        fields.extend(HeaderValue::from_str(text).ok().map(|value| (name, value)));
    }
    let content_type = match form {
        KubeconfigForm::Age => "application/octet-stream",
        KubeconfigForm::Plain => "application/yaml",
    };
    fields.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    fields.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // It is asked each time whether it is the newest.
    fields.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_names_a_repository_a_cluster_and_a_file() {
        let read = |path: &str| {
            let asked = RequestedKubeconfig::read(path)?;
            Some(format!("{} {} {}", asked.repository, asked.cluster, asked.form.file_name()))
        };
        for (path, told) in [
            (
                "/clusters/acme/gitops/gauss/peu01/kubeconfig.age",
                Some("acme/gitops gauss/peu01 kubeconfig.age"),
            ),
            (
                "/clusters/acme/gitops/gauss%2Fpeu01/kubeconfig.age",
                Some("acme/gitops gauss/peu01 kubeconfig.age"),
            ),
            ("/clusters/acme%2fgitops/peu01/kubeconfig", Some("acme/gitops peu01 kubeconfig")),
            ("/clusters/acme/gitops/kubeconfig.age", None),
            ("/clusters/acme/gitops/gauss/../x/kubeconfig.age", None),
            ("/clusters/acme/gitops/gauss/%2e%2e/x/kubeconfig.age", None),
            ("/clusters/acme/gitops/gauss/%zz/kubeconfig.age", None),
            ("/clusters/acme/gitops/gauss/peu01", None),
            ("/clusters/acme/gitops/gauss/peu01/kubeconfig.age/", None),
        ] {
            assert_eq!(read(path).as_deref(), told, "{path}");
        }
    }
}
