//! The questions of a preflight, asked side by side.

use std::collections::BTreeSet;
use std::future::Future;
use std::time::Duration;

use async_trait::async_trait;
use capstan_live::cloud::{
    CloudAnswer, CloudFacts, CloudSelector, Image, MachineType, Network, PlacementGroup, Questions, Quota,
    Quotas, Resource, Unanswered,
};
use capstan_outbound::host_of;
use http::{HeaderValue, Method, StatusCode};
use jiff::Timestamp;
use serde_json::Value;
use url::Url;

use super::catalog::{Catalog, CloudService};
use super::credentials::Keystone;
use super::entrance::Entrance;
use super::http::{Call, CallFailure, CloudResponse, Http, Patience};
use capstan_ports::{CloudAccount, CloudError, CloudSession, CredentialForms, Issued, NewCredential};

/// How long one question may take, tries and pages included.
const QUESTION: Duration = Duration::from_secs(25);
/// Pages of a list that are read.
const MOST_PAGES: usize = 10;
/// Values of all of them together.
const MOST_VALUES: usize = 800_000;
/// What Glance says of an image that machines boot.
const ACTIVE: &str = "active";
/// What a page holds.
const PAGE: &str = "1000";

/// Somebody who is logged in.
pub(super) struct Session {
    http: Http,
    token: HeaderValue,
    account: CloudAccount,
    catalog: Catalog,
    keystone: Url,
    entrance: Entrance,
    within: Duration,
}

/// Where Keystone is, and how others come there.
pub(super) struct Door {
    pub(super) keystone: Url,
    pub(super) entrance: Entrance,
}

impl Session {
    pub(super) fn new(
        http: Http,
        token: HeaderValue,
        account: CloudAccount,
        catalog: Catalog,
        door: Door,
    ) -> Self {
        let Door { keystone, entrance } = door;
        Self { http, token, account, catalog, keystone, entrance, within: QUESTION }
    }

    const fn keystone(&self) -> Keystone<'_> {
        Keystone {
            http: &self.http,
            token: &self.token,
            user: self.account.user.as_str(),
            url: &self.keystone,
        }
    }

    /// The address of a resource below a service.
    fn url(&self, service: CloudService, path: &[&str], query: &[(&str, &str)]) -> CloudAnswer<Url> {
        let mut url = self.catalog.endpoint(service).map_err(Unanswered)?;
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        Ok(url)
    }

    /// Reads one answer; `None` where there is no such thing.
    async fn read(&self, service: CloudService, url: Url) -> CloudAnswer<Option<Value>> {
        Ok(self.fetch(service, url).await?.map(|told| told.body))
    }

    async fn fetch(&self, service: CloudService, url: Url) -> CloudAnswer<Option<CloudResponse>> {
        let who = named(service, &url);
        let says = |reason: String| Unanswered(format!("{who} {reason}"));
        let call = Call { method: Method::GET, url, token: Some(&self.token), body: None };
        let told = self.http.send(&call, Patience::FreshToken).await.map_err(|failed| match failed {
            CallFailure::NotAllowed(host) => Unanswered(format!(
                "{host}, where the catalog has {}, is not among the hosts that the reconciler may ask ({}): add it to its setting `cloud-hosts`",
                service.name(),
                self.http.hosts()
            )),
            CallFailure::Trouble(reason) => says(reason),
        })?;
        match told.status {
            StatusCode::NOT_FOUND => Ok(None),
            StatusCode::UNAUTHORIZED => Err(says("answers 401 to a fresh token repeatedly".to_owned())),
            status if status.is_success() && told.body.is_object() => Ok(Some(told)),
            status if status.is_success() => {
                Err(says("answers with something that is not a JSON object".to_owned()))
            }
            status => Err(says(format!("answers {}", status.as_u16()))),
        }
    }

    async fn must_read(&self, service: CloudService, url: Url) -> CloudAnswer<Value> {
        Ok(self.must_fetch(service, url).await?.body)
    }

    async fn must_fetch(&self, service: CloudService, url: Url) -> CloudAnswer<CloudResponse> {
        let who = named(service, &url);
        let found = self.fetch(service, url).await?;
        found.ok_or_else(|| Unanswered(format!("{who} answers 404")))
    }

    /// Reads a list, page by page: the next one begins after the last one's id.
    async fn list(
        &self,
        service: CloudService,
        path: &[&str],
        query: &[(&str, &str)],
        key: &str,
    ) -> CloudAnswer<Vec<Value>> {
        let mut all: Vec<Value> = Vec::new();
        let mut seen: BTreeSet<String> = BTreeSet::new();
        let mut values = 0;
        let who = named(service, &self.url(service, &[], &[])?);
        for _ in 0..MOST_PAGES {
            let mut query = query.to_vec();
            query.push(("limit", PAGE));
            let marker = all.last().and_then(|last| last["id"].as_str()).map(str::to_owned);
            if let Some(marker) = &marker {
                query.push(("marker", marker));
            }
            let told = self.must_fetch(service, self.url(service, path, &query)?).await?;
            values += told.values;
            if values > MOST_VALUES {
                return Err(Unanswered(format!("{who} has more than {MOST_VALUES} values in its {key}")));
            }
            let mut answer = told.body;
            let page = match answer.get_mut(key).map(Value::take) {
                Some(Value::Array(page)) => page,
                _ => Vec::new(),
            };
            let full = page.len();
            // A service that knows no pages says the same again.
            let before = seen.len();
            for one in page {
                if one["id"].as_str().is_none_or(|id| seen.insert(id.to_owned())) {
                    all.push(one);
                }
            }
            let has_more = answer.get("next").is_some()
                || answer
                    .get(format!("{key}_links"))
                    .is_some_and(|links| links.to_string().contains("\"next\""));
            if full == 0 || !has_more || seen.len() == before {
                return Ok(all);
            }
        }
        Err(Unanswered(format!("{who} has more than {MOST_PAGES} pages of {key}")))
    }

    /// The answer within the time that a question has; empty where it is not asked.
    async fn asked<T: Default>(
        &self,
        service: CloudService,
        is_asked: bool,
        question: impl Future<Output = CloudAnswer<T>>,
    ) -> CloudAnswer<T> {
        if !is_asked {
            return Ok(T::default());
        }
        let who = named(service, &self.url(service, &[], &[])?);
        let slow = |_| {
            Unanswered(format!("{who} does not answer a question within {} s", self.within.as_secs_f64()))
        };
        tokio::time::timeout(self.within, question).await.map_err(slow)?
    }

    async fn flavors(&self) -> CloudAnswer<Vec<MachineType>> {
        let all = self.list(CloudService::Compute, &["flavors", "detail"], &[], "flavors").await?;
        let number = |value: &Value| value.as_u64().unwrap_or(0);
        Ok(all
            .iter()
            .filter_map(|one| {
                Some(MachineType {
                    id: text(one, "id")?,
                    name: text(one, "name")?,
                    cores: number(&one["vcpus"]),
                    ram_mib: number(&one["ram"]),
                    disk_gib: number(&one["disk"]),
                })
            })
            .collect())
    }

    async fn images(&self, wanted: &BTreeSet<CloudSelector>) -> CloudAnswer<Vec<Image>> {
        let (mut found, mut lacks_a_name) = (Vec::new(), false);
        for named in wanted {
            match named {
                CloudSelector::Id(id) => {
                    let url = self.url(CloudService::Image, &["images", id], &[])?;
                    found.extend(self.read(CloudService::Image, url).await?);
                }
                CloudSelector::Filter { name, tags } => {
                    let name = name.iter().map(|name| ("name", name.as_str()));
                    let query: Vec<(&str, &str)> =
                        name.chain(tags.iter().map(|tag| ("tag", tag.as_str()))).collect();
                    let meant = self.list(CloudService::Image, &["images"], &query, "images").await?;
                    lacks_a_name |= meant.is_empty();
                    found.extend(meant);
                }
            }
        }
        if lacks_a_name {
            // What is named nearly so is offered. An answer that does not come costs no more than that.
            let all = self.url(CloudService::Image, &["images"], &[("limit", PAGE)])?;
            let all = self.read(CloudService::Image, all).await.ok().flatten();
            found.extend(all.iter().filter_map(|all| all["images"].as_array()).flatten().cloned());
        }
        let mut images: Vec<Image> = found
            .iter()
            .filter_map(|one| {
                Some(Image {
                    id: text(one, "id")?,
                    name: text(one, "name").unwrap_or_default(),
                    tags: tags(one),
                    not_bootable: text(one, "status").map(|status| (status != ACTIVE).then_some(status))?,
                    min_disk_gib: one["min_disk"].as_u64().unwrap_or(0),
                    min_ram_mib: one["min_ram"].as_u64().unwrap_or(0),
                })
            })
            .collect();
        images.sort_by(|a, b| a.id.cmp(&b.id));
        images.dedup_by(|a, b| a.id == b.id);
        Ok(images)
    }

    async fn networks(&self) -> CloudAnswer<Vec<Network>> {
        let fields =
            [("fields", "id"), ("fields", "name"), ("fields", "tags"), ("fields", "router:external")];
        let all = self.list(CloudService::Network, &["networks"], &fields, "networks").await?;
        Ok(all
            .iter()
            .filter_map(|one| {
                Some(Network {
                    id: text(one, "id")?,
                    name: text(one, "name").unwrap_or_default(),
                    tags: tags(one),
                    external: one["router:external"].as_bool() == Some(true),
                })
            })
            .collect())
    }

    async fn key_pairs(&self) -> CloudAnswer<Vec<String>> {
        let url = self.url(CloudService::Compute, &["os-keypairs"], &[])?;
        let answer = self.must_read(CloudService::Compute, url).await?;
        let all = answer["keypairs"].as_array().into_iter().flatten();
        Ok(all.filter_map(|one| text(&one["keypair"], "name")).collect())
    }

    async fn zones(&self) -> CloudAnswer<Vec<String>> {
        let url = self.url(CloudService::Compute, &["os-availability-zone"], &[])?;
        let answer = self.must_read(CloudService::Compute, url).await?;
        let all = answer["availabilityZoneInfo"].as_array().into_iter().flatten();
        let usable = all.filter(|one| one.pointer("/zoneState/available") == Some(&Value::Bool(true)));
        Ok(usable.filter_map(|one| text(one, "zoneName")).collect())
    }

    async fn server_groups(&self) -> CloudAnswer<Vec<PlacementGroup>> {
        let url = self.url(CloudService::Compute, &["os-server-groups"], &[])?;
        let answer = self.must_read(CloudService::Compute, url).await?;
        let all = answer["server_groups"].as_array().into_iter().flatten();
        Ok(all
            .filter_map(|one| Some(PlacementGroup { id: text(one, "id")?, name: text(one, "name")? }))
            .collect())
    }

    /// Quotas of a service that tells them as absolute limits.
    async fn limits(&self, service: CloudService, names: &[(Resource, &str, &str)]) -> CloudAnswer<Quotas> {
        let answer = self.must_read(service, self.url(service, &["limits"], &[])?).await?;
        let absolute = &answer["limits"]["absolute"];
        Ok(names
            .iter()
            .filter_map(|(resource, limit, used)| {
                let used = u64::try_from(absolute[*used].as_i64()?).unwrap_or(0);
                Some((*resource, quota(absolute[*limit].as_i64()?, used)))
            })
            .collect())
    }

    async fn network_quotas(&self) -> CloudAnswer<Quotas> {
        let path = ["quotas", self.account.account.as_str(), "details"];
        let answer =
            self.must_read(CloudService::Network, self.url(CloudService::Network, &path, &[])?).await?;
        let of = |(resource, name): (Resource, &str)| {
            let one = &answer["quota"][name];
            let count = |key: &str| u64::try_from(one[key].as_i64().unwrap_or(0)).unwrap_or(0);
            Some((resource, quota(one["limit"].as_i64()?, count("used") + count("reserved"))))
        };
        let names = [
            (Resource::Ports, "port"),
            (Resource::PublicIps, "floatingip"),
            (Resource::SecurityGroups, "security_group"),
        ];
        Ok(names.into_iter().filter_map(of).collect())
    }
}

#[async_trait]
impl CloudSession for Session {
    fn account(&self) -> &CloudAccount {
        &self.account
    }

    fn place(&self) -> String {
        self.entrance.place()
    }

    fn forms(&self, credential: &NewCredential) -> CredentialForms {
        self.entrance.forms(credential)
    }

    async fn ask(&self, questions: &Questions) -> CloudFacts {
        let compute = [
            (Resource::Instances, "maxTotalInstances", "totalInstancesUsed"),
            (Resource::Cores, "maxTotalCores", "totalCoresUsed"),
            (Resource::Ram, "maxTotalRAMSize", "totalRAMUsed"),
        ];
        let volume = [
            (Resource::Volumes, "maxTotalVolumes", "totalVolumesUsed"),
            (Resource::Gigabytes, "maxTotalVolumeGigabytes", "totalGigabytesUsed"),
        ];
        let (machine_types, images, networks, key_pairs, zones, placement_groups, compute, volume, network) = tokio::join!(
            self.asked(CloudService::Compute, questions.machines, self.flavors()),
            self.asked(CloudService::Image, !questions.images.is_empty(), self.images(&questions.images)),
            self.asked(CloudService::Network, questions.networks, self.networks()),
            self.asked(CloudService::Compute, questions.key_pairs, self.key_pairs()),
            self.asked(CloudService::Compute, questions.zones, self.zones()),
            self.asked(CloudService::Compute, questions.placement_groups, self.server_groups()),
            self.asked(
                CloudService::Compute,
                questions.machines,
                self.limits(CloudService::Compute, &compute)
            ),
            self.asked(
                CloudService::BlockStorage,
                questions.volumes,
                self.limits(CloudService::BlockStorage, &volume)
            ),
            self.asked(CloudService::Network, true, self.network_quotas()),
        );
        CloudFacts {
            machine_types,
            images,
            networks,
            key_pairs,
            zones,
            placement_groups,
            compute,
            volume,
            network,
        }
    }

    async fn credentials(&self, beginning: &str) -> Result<Vec<Issued>, CloudError> {
        self.keystone().list(beginning).await
    }

    async fn issue(&self, name: &str, expires_at: Timestamp) -> Result<NewCredential, CloudError> {
        self.keystone().issue(name, expires_at).await
    }

    async fn revoke(&self, id: &str) -> Result<(), CloudError> {
        self.keystone().revoke(id).await
    }
}

/// A service, as a sentence begins.
fn named(service: CloudService, url: &Url) -> String {
    format!("{} at {}", service.name(), host_of(url))
}

/// A negative limit means that there is no limit.
fn quota(limit: i64, used: u64) -> Quota {
    Quota { limit: u64::try_from(limit).ok(), used }
}

fn text(value: &Value, key: &str) -> Option<String> {
    value[key].as_str().map(str::to_owned)
}

fn tags(value: &Value) -> Vec<String> {
    value["tags"].as_array().into_iter().flatten().filter_map(|tag| tag.as_str().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use capstan_ports::AllowedHosts;
    use capstan_test_support::serving::serve_each;
    use serde_json::json;

    use super::*;

    /// A session whose Nova is at this host.
    fn session(host: &str) -> Session {
        let keystone = Url::parse(&format!("http://{host}/v3")).unwrap();
        let account = CloudAccount {
            host: host.to_owned(),
            region: None,
            account: "p".to_owned(),
            user: "u".to_owned(),
        };
        let entrance = Entrance {
            cloud: "openstack".to_owned(),
            auth_url: keystone.to_string(),
            region: None,
            interface: "public".to_owned(),
            ca: None,
        };
        let nova = json!({"interface": "public", "url": format!("http://{host}")});
        let catalog = json!({"catalog": [{"type": "compute", "endpoints": [nova]}]});
        let catalog = Catalog::of(&catalog, "public", None);
        let http = Http::new(&AllowedHosts::new([host]), None).unwrap();
        Session::new(http, HeaderValue::from_static("t"), account, catalog, Door { keystone, entrance })
    }

    /// The nth page of flavors, of so many values, and whether another one follows.
    fn page(n: usize, values: usize, is_last: bool) -> String {
        // What surrounds the numbers counts 20, and a link 11.
        let numbers = vec![0; values - if is_last { 20 } else { 31 }];
        let mut page = json!({"flavors": [{"id": n.to_string(), "numbers": numbers}]});
        if !is_last {
            page["flavors_links"] = json!([{"rel": "next"}]);
        }
        page.to_string()
    }

    #[tokio::test]
    async fn a_list_is_read_at_each_bound_and_refused_beyond() {
        for (what, pages, values, refused) in [
            ("pages", 10, [100; 11], None),
            ("a page more", 11, [100; 11], Some("has more than 10 pages of flavors")),
            ("values", 3, [300_000, 300_000, 200_000, 0, 0, 0, 0, 0, 0, 0, 0], None),
            (
                "a value more",
                3,
                [300_000, 300_000, 200_001, 0, 0, 0, 0, 0, 0, 0, 0],
                Some("has more than 800000 values in its flavors"),
            ),
        ] {
            let host = serve_each(move |n| Some(page(n, values[n], n + 1 == pages)));
            let listed = session(&host).list(CloudService::Compute, &["flavors"], &[], "flavors").await;
            let expected = match refused {
                Some(told) => Err(Unanswered(format!("Nova at {host} {told}"))),
                None => Ok(pages),
            };
            assert_eq!(listed.map(|all| all.len()), expected, "{what}");
        }
    }

    #[tokio::test]
    async fn a_question_has_a_time_in_all() {
        let host = serve_each(|_| None);
        let session = Session { within: Duration::from_millis(1), ..session(&host) };
        let facts = session.ask(&Questions { machines: true, ..Questions::default() }).await;
        let told = format!("Nova at {host} does not answer a question within 0.001 s");
        assert_eq!(facts.machine_types.err(), Some(Unanswered(told)));
        assert_eq!(facts.networks, Ok(Vec::new()), "what is not asked is empty");
    }
}
