//! Releases and their files.

use serde_json::{Value, json};

use super::repository::simple_user;
use crate::clock::rfc3339;
use crate::state::{Asset, ForgeRelease, ForgeRepository};

pub(crate) fn release(here: &ForgeRepository, release: &ForgeRelease) -> Value {
    let ForgeRelease { id, tag, .. } = release;
    let url = format!("{}/releases/{id}", here.api());
    json!({
        "url": url,
        "html_url": format!("{}/releases/tag/{tag}", here.html()),
        "assets_url": format!("{url}/assets"),
        "upload_url": format!("{url}/assets{{?name,label}}"),
        "tarball_url": format!("{}/tarball/{tag}", here.api()),
        "zipball_url": format!("{}/zipball/{tag}", here.api()),
        "id": id,
        "node_id": format!("RE_{id}"),
        "tag_name": tag,
        "target_commitish": here.default_branch,
        "name": tag,
        "body": "",
        "draft": false,
        "prerelease": release.prerelease,
        "created_at": rfc3339(release.created_at),
        "published_at": rfc3339(release.created_at),
        "author": simple_user(&release.author, &here.web),
        "assets": release.assets.iter().map(|asset| release_asset(here, release, asset)).collect::<Value>(),
    })
}

pub(crate) fn release_asset(here: &ForgeRepository, release: &ForgeRelease, asset: &Asset) -> Value {
    let Asset { id, name, content } = asset;
    json!({
        "url": format!("{}/releases/assets/{id}", here.api()),
        "browser_download_url": format!("{}/releases/download/{}/{name}", here.html(), release.tag),
        "id": id,
        "node_id": format!("RA_{id}"),
        "name": name,
        "label": null,
        "state": "uploaded",
        "content_type": "application/octet-stream",
        "size": content.len(),
        "digest": null,
        "download_count": 0,
        "created_at": rfc3339(release.created_at),
        "updated_at": rfc3339(release.created_at),
        "uploader": simple_user(&release.author, &here.web),
    })
}
