//! The folded block of a proposal's body: what Capstan wrote, authenticated with its own key.
//!
//! Anyone with write access can edit a body. A block counts only if its code matches, and only for the
//! repository and proposal it was made for; otherwise the proposal is read from its commits.
//!
//! A branch can have several pull requests, one after the other. So a block names its own pull request and
//! counts for no other. The block of a pull request that is being opened cannot name a number yet: it says
//! what is offered, and holds no decision.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use capstan_model::digest::hex;
use capstan_model::source::SourceKind;
use capstan_model::target::Target;
use capstan_plan::proposal::{Decisions, Drafted, PlanDigest, ProposalId, Sidebar, SourceState, TitleDigest};
use capstan_plan::upgrade::Retarget;

const HEAD: &str = "<details><summary>Capstan's record</summary>";
pub(super) const FENCE: &str = "```capstan-record";
const EXPLAINED: &str = "Written and read by Capstan; an edit here is ignored.";
/// Codes of a block that are compared.
const CODES: usize = 4;

/// Capstan's own keys for blocks, derived from secrets that outlive the database. Each block carries a code
/// for each key, and one match is enough. So one secret may change or be lost without losing a decision.
#[derive(Clone)]
pub struct BlockKey(Vec<[u8; 32]>);

impl std::fmt::Debug for BlockKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("BlockKey(…)")
    }
}

impl BlockKey {
    /// Derives the key from a secret of the App (its private key), for this purpose only.
    pub fn derive(secret: &[u8]) -> Self {
        Self(vec![Self::of(secret)])
    }

    /// The same, and a key that is derived from another secret.
    #[must_use]
    pub fn and(mut self, secret: &[u8]) -> Self {
        self.0.push(Self::of(secret));
        self
    }

    fn of(secret: &[u8]) -> [u8; 32] {
        hmac_sha256(secret, b"capstan block v1")
    }

    /// A code in hex for each key.
    pub(super) fn codes(&self, payload: &[u8]) -> impl Iterator<Item = String> {
        self.0.iter().map(|key| hex(&hmac_sha256(key, payload)))
    }
}

/// HMAC (RFC 2104) with SHA-256.
fn hmac_sha256(key: &[u8], message: &[u8]) -> [u8; 32] {
    let mut block = [0_u8; 64];
    if key.len() > block.len() {
        block[..32].copy_from_slice(&Sha256::digest(key));
    } else {
        block[..key.len()].copy_from_slice(key);
    }
    let inner = Sha256::new().chain_update(block.map(|b| b ^ 0x36)).chain_update(message).finalize();
    Sha256::new().chain_update(block.map(|b| b ^ 0x5c)).chain_update(inner).finalize().into()
}

/// Who closed the proposal, if Capstan did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClosedBy {
    /// Capstan: nothing was left to do.
    Capstan,
    /// Capstan, because a person asked for it: the offer is declined.
    Person,
}

/// One of the clusters that share a pull request, as its block records it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockPart {
    /// The cluster.
    pub target: Target,
    /// Whether the pull request brings its changes.
    pub place: BlockPlace,
    /// Whether somebody asked for `retarget`.
    pub retarget: Retarget,
    /// Decisions about it made by command.
    pub decisions: Decisions,
}

impl BlockPart {
    /// The record of a cluster that the pull request leaves out.
    pub fn left_out(target: Target, decisions: Decisions) -> Self {
        Self { target, place: BlockPlace::LeftOut, retarget: Retarget::default(), decisions }
    }
}

/// Whether a shared pull request brings a cluster's changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockPlace {
    /// The pull request brings its changes.
    Carried,
    /// The pull request leaves it out, and its decisions have no other place.
    LeftOut,
}

/// What a pull request offered before a newer offer replaced it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreviousOffer {
    /// What was offered.
    pub source: SourceState,
    /// When the newer offer replaced it.
    pub until: jiff::Timestamp,
}

/// Previous offers kept in a block; the oldest are dropped first.
const MOST_PREVIOUS: usize = 10;

/// What the pull request with block `known` offered before `next`, the oldest first.
pub fn previous_offers(
    known: Option<&Block>,
    next: &SourceState,
    now: jiff::Timestamp,
) -> Vec<PreviousOffer> {
    let Some(block) = known else { return Vec::new() };
    let mut previous = block.previous.clone();
    if block.source.source() != next.source() {
        // To the second: the length of a text must not depend on the moment it was written.
        let until = jiff::Timestamp::from_second(now.as_second()).unwrap_or(now);
        previous.push(PreviousOffer { source: block.source.clone(), until });
    }
    let old = previous.len().saturating_sub(MOST_PREVIOUS);
    previous.split_off(old)
}

/// What a block says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// The repository's id.
    pub repository: u64,
    /// The pull request's number; `None` in the body that it is opened with.
    pub pull_request: Option<u64>,
    /// What is changed.
    pub target: Target,
    /// What is offered.
    pub source: SourceState,
    /// What was written.
    pub plan: PlanDigest,
    /// Digest of the visible text as Capstan wrote it. While it is the same, the body and a person's
    /// additions are not touched.
    pub text: String,
    /// Whether somebody asked for `retarget`: it holds as long as the proposal does.
    pub retarget: Retarget,
    /// Decisions made by command.
    pub decisions: Decisions,
    /// Whether Capstan made it a draft.
    pub drafted: Drafted,
    /// The title that Capstan wrote last; `None` in a block of an earlier version of Capstan.
    pub title: Option<TitleDigest>,
    /// What Capstan did in the sidebar, as the settings ask.
    pub sidebar: Sidebar,
    /// Set when Capstan closes the pull request.
    pub closed_by: Option<ClosedBy>,
    /// The clusters of a group that share the pull request; empty where it is one cluster's own.
    pub parts: Vec<BlockPart>,
    /// In the body that a group's pull request is opened with: the previous pull request, whose block holds
    /// the declined offers until this one has a number.
    pub after: Option<u64>,
    /// What it offered before, the oldest first.
    pub previous: Vec<PreviousOffer>,
}

#[derive(Serialize, Deserialize)]
struct PartPayload {
    cluster: String,
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    out: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    retarget: bool,
    #[serde(skip_serializing_if = "Decisions::is_empty", default)]
    decisions: Decisions,
}

impl PartPayload {
    fn of(part: &BlockPart) -> Self {
        Self {
            cluster: part.target.to_string(),
            out: part.place == BlockPlace::LeftOut,
            retarget: part.retarget == Retarget::Allowed,
            decisions: part.decisions.clone(),
        }
    }

    fn read(self, is_bound: bool) -> Option<BlockPart> {
        Some(BlockPart {
            target: Target::parse(&self.cluster).filter(|target| target.cluster().is_some())?,
            place: if self.out { BlockPlace::LeftOut } else { BlockPlace::Carried },
            retarget: if self.retarget && is_bound { Retarget::Allowed } else { Retarget::Refused },
            decisions: if is_bound { self.decisions } else { Decisions::default() },
        })
    }
}

#[derive(Serialize, Deserialize)]
struct PreviousPayload {
    source: String,
    until: jiff::Timestamp,
}

impl PreviousPayload {
    fn of(previous: &PreviousOffer) -> Self {
        Self { source: previous.source.to_string(), until: previous.until }
    }

    fn read(self) -> Option<PreviousOffer> {
        Some(PreviousOffer { source: SourceState::parse(&self.source)?, until: self.until })
    }
}

#[derive(Serialize, Deserialize)]
struct BlockPayload {
    repository: u64,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pull_request: Option<u64>,
    cluster: String,
    source: String,
    plan: String,
    text: String,
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    retarget: bool,
    #[serde(skip_serializing_if = "Decisions::is_empty", default)]
    decisions: Decisions,
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    drafted: bool,
    #[serde(skip_serializing_if = "String::is_empty", default)]
    title: String,
    #[serde(skip_serializing_if = "Sidebar::is_empty", default)]
    sidebar: Sidebar,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    closed_by: Option<ClosedBy>,
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    parts: Vec<PartPayload>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    after: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    previous: Vec<PreviousPayload>,
}

impl Block {
    /// The block as Markdown, for the end of a body.
    pub fn render(&self, key: &BlockKey) -> String {
        let payload = BlockPayload {
            repository: self.repository,
            pull_request: self.pull_request,
            cluster: self.target.to_string(),
            source: self.source.to_string(),
            plan: self.plan.to_string(),
            text: self.text.clone(),
            retarget: self.retarget == Retarget::Allowed,
            decisions: self.decisions.clone(),
            drafted: self.drafted == Drafted::ByCapstan,
            title: self.title.as_ref().map_or_else(String::new, |title| title.as_str().to_owned()),
            sidebar: self.sidebar.clone(),
            closed_by: self.closed_by,
            parts: self.parts.iter().map(PartPayload::of).collect(),
            after: self.after.filter(|_| self.pull_request.is_none()),
            previous: self.previous.iter().map(PreviousPayload::of).collect(),
        };
        seal(&serde_json::to_string(&payload).unwrap_or_default(), key)
    }

    /// Reads the block in the body of the pull request `number`. `None` if there is no block, it was changed,
    /// or it is for another repository, pull request, target or kind of source. A block without a number
    /// holds no decision.
    pub fn read(
        body: &str,
        key: &BlockKey,
        repository: u64,
        number: u64,
        proposal: &ProposalId,
    ) -> Option<Self> {
        let payload: BlockPayload = serde_json::from_str(unseal(body, key)?).ok()?;
        let source = SourceState::parse(&payload.source)?;
        let is_bound = payload.pull_request.is_some();
        let is_own = payload.repository == repository
            && payload.pull_request.is_none_or(|named| named == number)
            && payload.cluster == proposal.target.to_string()
            && (*source.source().kind() == proposal.kind || proposal.kind == SourceKind::INVENTORY);
        if !is_own {
            return None;
        }
        Some(Self {
            repository,
            pull_request: payload.pull_request,
            target: proposal.target.clone(),
            source,
            plan: PlanDigest::parse(&payload.plan)?,
            text: payload.text,
            retarget: if payload.retarget && is_bound { Retarget::Allowed } else { Retarget::Refused },
            decisions: if is_bound { payload.decisions } else { Decisions::default() },
            // Capstan made every draft that it opened.
            drafted: if payload.drafted { Drafted::ByCapstan } else { Drafted::No },
            title: TitleDigest::noted(&payload.title),
            // The first body is written before the sidebar is filled.
            sidebar: if is_bound { payload.sidebar } else { Sidebar::default() },
            closed_by: payload.closed_by.filter(|_| is_bound),
            parts: payload.parts.into_iter().map(|part| part.read(is_bound)).collect::<Option<_>>()?,
            after: payload.after.filter(|_| !is_bound),
            previous: payload.previous.into_iter().map(PreviousPayload::read).collect::<Option<_>>()?,
        })
    }
}

/// What Capstan recorded, as Markdown for the end of a body: folded, with a code for each key.
pub(super) fn seal(json: &str, key: &BlockKey) -> String {
    // One line of ASCII: other characters are escaped, and so is the backtick, which could end the fence.
    let json = ascii(json);
    let codes = key.codes(json.as_bytes()).collect::<Vec<_>>().join("\n");
    format!("\n{HEAD}\n\n{EXPLAINED}\n\n{FENCE}\n{json}\n{codes}\n```\n\n</details>\n")
}

/// The record in a body; `None` if there is none or somebody changed it.
pub(super) fn unseal<'b>(body: &'b str, key: &BlockKey) -> Option<&'b str> {
    let (_, after) = body.rsplit_once(FENCE)?;
    let mut lines = after.lines().map(str::trim).filter(|line| !line.is_empty());
    let json = lines.next()?;
    let own: Vec<String> = key.codes(json.as_bytes()).collect();
    let mut codes = lines.take(CODES).take_while(|line| *line != "```");
    codes.any(|code| own.iter().any(|own| equal(code.as_bytes(), own.as_bytes()))).then_some(json)
}

/// Whether a body ends with such a record, and nothing was written into it or below it.
pub(super) fn ends_sealed(body: &str) -> bool {
    let Some((_, after)) = body.rsplit_once(HEAD) else { return false };
    let lines: Vec<&str> = after.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let [EXPLAINED, FENCE, _, codes @ .., "```", "</details>"] = lines.as_slice() else { return false };
    codes.len() <= CODES && codes.iter().all(|code| code.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// The body without the record at its end.
pub(super) fn strip(body: &str) -> &str {
    body.rsplit_once(HEAD).map_or(body, |(visible, _)| visible)
}

/// Bytes that decisions take in a block: the whole block has to fit into a body.
pub fn room_for(decisions: &Decisions) -> usize {
    if decisions.is_empty() {
        return 0;
    }
    ascii(&serde_json::to_string(decisions).unwrap_or_default()).len() + 20
}

/// The same for one of the clusters that share a pull request, with its decisions.
pub fn room_for_part(part: &BlockPart) -> usize {
    ascii(&serde_json::to_string(&PartPayload::of(part)).unwrap_or_default()).len() + 1
}

/// The same for all of them.
pub(super) fn room_for_parts(parts: &[BlockPart]) -> usize {
    parts.iter().map(room_for_part).sum::<usize>() + 20
}

/// The same for previous offers.
pub(super) fn room_for_previous(previous: &[PreviousOffer]) -> usize {
    let room = |one: &PreviousOffer| {
        ascii(&serde_json::to_string(&PreviousPayload::of(one)).unwrap_or_default()).len() + 1
    };
    previous.iter().map(room).sum::<usize>() + 20
}

/// The same for the sidebar.
pub(super) fn room_for_sidebar(sidebar: &Sidebar) -> usize {
    if sidebar.is_empty() {
        return 0;
    }
    ascii(&serde_json::to_string(sidebar).unwrap_or_default()).len() + 20
}

/// Compares in constant time.
pub(super) fn equal(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |different, (x, y)| different | (x ^ y)) == 0
}

/// JSON in characters that end neither a fence nor a tag, and mention nobody.
pub(super) fn ascii(json: &str) -> String {
    use std::fmt::Write as _;

    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        if c.is_ascii() && c != '`' && c != '<' && c != '@' && c != '\u{7f}' {
            text.push(c);
        } else {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                let _ = write!(text, "\\u{unit:04x}");
            }
        }
    }
    text
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use capstan_model::ids::ReleaseName;
    use capstan_model::object::{FieldPath, ObjectId};
    use capstan_plan::proposal::OnHold;
    use capstan_plan::upgrade::{SettledConflict, Side};

    pub(crate) fn block(target: &str) -> Block {
        Block {
            repository: 7,
            pull_request: Some(12),
            target: Target::parse(target).unwrap(),
            source: SourceState::parse("aws/v22.0.0@-").unwrap(),
            plan: PlanDigest::parse(&"1".repeat(32)).unwrap(),
            text: "abc".to_owned(),
            retarget: Retarget::Refused,
            decisions: Decisions::default(),
            drafted: Drafted::No,
            title: Some(TitleDigest::of("Upgrade gauss/peu01 to aws/v22.0.0")),
            sidebar: Sidebar::default(),
            closed_by: None,
            parts: Vec::new(),
            after: None,
            previous: Vec::new(),
        }
    }

    fn decisions() -> Decisions {
        let hold = OnHold {
            by: "ada".to_owned(),
            reason: Some("the `audit` of <ops> @all".to_owned()),
            until: Some(jiff::civil::date(2026, 12, 1)),
        };
        let object = ObjectId {
            group: "cluster.x-k8s.io".to_owned(),
            kind: "MachineDeployment".to_owned(),
            namespace: Some("org".to_owned()),
            name: "web-md-0".to_owned(),
        };
        let settled = SettledConflict {
            object,
            path: FieldPath::parse("/spec/replicas").unwrap(),
            side: Side::Release,
            values: "0123".to_owned(),
            by: "grace".to_owned(),
        };
        Decisions {
            hold: Some(hold),
            skipped: None,
            release: ReleaseName::parse("aws/v22.0.0"),
            rollback: None,
            overrides: Vec::new(),
            settled: vec![settled],
            approvals: Vec::new(),
        }
    }

    pub(crate) fn id(target: &str) -> ProposalId {
        ProposalId::of_release(Target::parse(target).unwrap())
    }

    #[test]
    fn the_code_is_hmac_sha256_as_rfc_4231_has_it() {
        let code = hmac_sha256(b"Jefe", b"what do ya want for nothing?");
        assert_eq!(hex(&code), "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
        let code = hmac_sha256(&[0xaa; 131], b"Test Using Larger Than Block-Size Key - Hash Key First");
        assert_eq!(hex(&code), "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
    }

    #[test]
    fn a_block_survives_windows_line_ends() {
        let key = BlockKey::derive(b"secret");
        for cluster in ["gauss/peu01", "odd `name` @all", "größe"] {
            let body = format!("Text.\n{}", block(cluster).render(&key));
            assert_eq!(Block::read(&body, &key, 7, 12, &id(cluster)), Some(block(cluster)));
            let allowed = Block {
                retarget: Retarget::Allowed,
                decisions: decisions(),
                drafted: Drafted::ByCapstan,
                sidebar: Sidebar { labels: vec!["`kind` <größe>".to_owned()], ..Sidebar::default() },
                previous: vec![PreviousOffer {
                    source: SourceState::parse("aws/v21.0.0@-").unwrap(),
                    until: "2026-11-23T02:00:00Z".parse().unwrap(),
                }],
                ..block(cluster)
            };
            assert_eq!(Block::read(&allowed.render(&key), &key, 7, 12, &id(cluster)), Some(allowed));
            assert_eq!(
                Block::read(&body.replace('\n', "\r\n"), &key, 7, 12, &id(cluster)),
                Some(block(cluster))
            );
        }
    }

    #[test]
    fn previous_offers_are_kept_newest_last_and_the_oldest_is_dropped() {
        let source = |name: &str| SourceState::parse(&format!("aws/v{name}.0.0@-")).unwrap();
        let now: jiff::Timestamp = "2026-11-23T02:00:00.123Z".parse().unwrap();
        assert_eq!(previous_offers(None, &source("22"), now), Vec::new());
        let offered = block("gauss/peu01");
        assert_eq!(previous_offers(Some(&offered), &source("22"), now), Vec::new(), "the same is offered");
        let mut offered = Block { source: source("1"), ..offered };
        for next in 2..=13 {
            let previous = previous_offers(Some(&offered), &source(&next.to_string()), now);
            offered = Block { source: source(&next.to_string()), previous, ..offered };
        }
        let told: Vec<String> =
            offered.previous.iter().map(|one| format!("{} until {}", one.source, one.until)).collect();
        let expected: Vec<String> =
            (3..=12).map(|name| format!("aws/v{name}.0.0@- until 2026-11-23T02:00:00Z")).collect();
        assert_eq!(told, expected);
    }

    #[test]
    fn a_group_notes_each_of_its_clusters_with_what_was_decided_about_it() {
        let key = BlockKey::derive(b"secret");
        let part = |target: &str, place, retarget, decisions| BlockPart {
            target: Target::parse(target).unwrap(),
            place,
            retarget,
            decisions,
        };
        let none = Decisions::default();
        let parts = vec![
            part("gauss/peu01", BlockPlace::Carried, Retarget::Allowed, decisions()),
            part("gauss/peu02", BlockPlace::Carried, Retarget::Refused, none.clone()),
            part("gauss/peu03", BlockPlace::LeftOut, Retarget::Refused, decisions()),
        ];
        let group = Block { parts, ..block("group://gauss") };
        let read = |block: &Block| Block::read(&block.render(&key), &key, 7, 12, &id("group://gauss"));
        assert_eq!(read(&group), Some(group.clone()));
        // A block without a pull request number names the clusters that share it, and holds no decision.
        let opened = Block { pull_request: None, after: Some(9), ..group };
        let told = read(&opened).unwrap();
        assert_eq!(told.after, Some(9));
        assert_eq!(read(&Block { pull_request: Some(12), ..opened }).unwrap().after, None);
        let targets: Vec<&str> = told.parts.iter().map(|part| part.target.path()).collect();
        assert_eq!(targets, ["gauss/peu01", "gauss/peu02", "gauss/peu03"]);
        for part in &told.parts {
            assert_eq!((part.retarget, &part.decisions), (Retarget::Refused, &none));
        }
        let own = block("gauss/peu01").render(&key);
        assert!(!own.contains("parts"), "what is one cluster's own is written as ever: {own}");
    }

    #[test]
    fn a_block_outlives_the_change_of_one_of_two_secrets() {
        let before = BlockKey::derive(b"the App's").and(b"own");
        let body = block("gauss/peu01").render(&before);
        let read = |key: BlockKey| Block::read(&body, &key, 7, 12, &id("gauss/peu01"));
        assert_eq!(read(before.clone()), Some(block("gauss/peu01")));
        assert_eq!(read(BlockKey::derive(b"the App's new one").and(b"own")), Some(block("gauss/peu01")));
        assert_eq!(read(BlockKey::derive(b"the App's").and(b"another disk's")), Some(block("gauss/peu01")));
        assert_eq!(read(BlockKey::derive(b"the App's")), Some(block("gauss/peu01")), "an earlier Capstan");
        assert_eq!(read(BlockKey::derive(b"the App's new one").and(b"another disk's")), None);
        let earlier = block("gauss/peu01").render(&BlockKey::derive(b"the App's"));
        assert!(Block::read(&earlier, &before, 7, 12, &id("gauss/peu01")).is_some());
        assert_eq!(Block::read(&body.replace("v22", "v23"), &before, 7, 12, &id("gauss/peu01")), None);
    }

    /// The text that a pull request is opened with can be copied into the next one of the same branch.
    #[test]
    fn a_block_that_names_no_pull_request_decides_nothing() {
        let key = BlockKey::derive(b"secret");
        let opened = Block { pull_request: None, ..block("gauss/peu01") };
        let decides = Block {
            retarget: Retarget::Allowed,
            decisions: decisions(),
            sidebar: Sidebar { labels: vec!["capstan".to_owned()], ..Sidebar::default() },
            closed_by: Some(ClosedBy::Capstan),
            ..opened.clone()
        };
        let read = |block: &Block| Block::read(&block.render(&key), &key, 7, 13, &id("gauss/peu01"));
        assert_eq!(read(&opened), Some(opened.clone()));
        assert_eq!(read(&decides), Some(opened));
    }

    #[test]
    fn a_block_that_was_edited_copied_or_made_with_another_key_does_not_count() {
        let key = BlockKey::derive(b"secret");
        let body = block("gauss/peu01").render(&key);
        assert_eq!(Block::read(&body.replace("v22", "v23"), &key, 7, 12, &id("gauss/peu01")), None);
        assert_eq!(Block::read(&body, &key, 8, 12, &id("gauss/peu01")), None);
        assert_eq!(Block::read(&body, &key, 7, 12, &id("gauss/peu02")), None);
        assert_eq!(
            Block::read(&body, &key, 7, 13, &id("gauss/peu01")),
            None,
            "another pull request of the branch"
        );
        assert_eq!(Block::read(&body, &BlockKey::derive(b"other"), 7, 12, &id("gauss/peu01")), None);
        let of_values = ProposalId { kind: SourceKind::parse("values").unwrap(), ..id("gauss/peu01") };
        assert_eq!(Block::read(&body, &key, 7, 12, &of_values), None);
        assert_eq!(Block::read("nothing", &key, 7, 12, &id("gauss/peu01")), None);
    }
}
