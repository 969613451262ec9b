//! Agents: their enrolment, their tokens, and the bot's own signing key.

use async_trait::async_trait;
use capstan_live::agent::{AgentId, PublicKey};
use capstan_model::digest::hex;
use capstan_plan::settings::ManagementClusterUid;
use jiff::Timestamp;

use super::{Database, EngineNow, audit, corrupt, failed, read, timestamp, transaction, write};
use capstan_ports::{Agent, Enrolled, Enrolment, Invitation, RecordsError, TokenUse};

type AgentRow = (String, String, String, String, String, i64, Option<i64>, Option<i64>);

const AGENTS: &str =
    "SELECT id, management_cluster, name, public_key, invited_by, enrolled_at_ms, seen_at_ms, revoked_at_ms
                      FROM agents";

#[async_trait]
impl Enrolment for Database {
    async fn signing_key(&self, name: &str, fresh: &[u8]) -> Result<Vec<u8>, RecordsError> {
        const DOING: &str = "reading the bot's signing key";
        let insert = "INSERT INTO signing_keys (name, pkcs8, made_at_ms) VALUES ($1, $2, $3)
                      ON CONFLICT (name) DO NOTHING";
        write!(self, pool => sqlx::query(insert)
            .bind(name)
            .bind(hex(fresh))
            .bind(self.now_ms())
            .execute(pool)
            .await
            .map(drop))
        .map_err(failed(DOING))?;
        let select = "SELECT pkcs8 FROM signing_keys WHERE name = $1";
        let (kept,): (String,) =
            write!(self, pool => sqlx::query_as(select).bind(name).fetch_one(pool).await)
                .map_err(failed(DOING))?;
        from_hex(&kept).ok_or_else(|| corrupt(DOING, "it is not hexadecimal"))
    }

    async fn replace_signing_key(&self, name: &str, before: &[u8], now: &[u8]) -> Result<(), RecordsError> {
        let sql = "UPDATE signing_keys SET pkcs8 = $3 WHERE name = $1 AND pkcs8 = $2";
        write!(self, pool => sqlx::query(sql)
            .bind(name)
            .bind(hex(before))
            .bind(hex(now))
            .execute(pool)
            .await
            .map(drop))
        .map_err(failed("sealing the bot's signing key"))
    }

    async fn save_invitation(&self, invitation: &Invitation) -> Result<(), RecordsError> {
        let sql =
            "INSERT INTO join_codes (hash, management_cluster, made_at_ms, expires_at_ms, agent, invited_by)
                   VALUES ($1, $2, $3, $4, $5, $6)";
        write!(self, pool => sqlx::query(sql)
            .bind(&invitation.hash)
            .bind(invitation.management_cluster.as_str().to_ascii_lowercase())
            .bind(self.now_ms())
            .bind(invitation.expires_at.as_millisecond())
            .bind(&invitation.agent)
            .bind(&invitation.invited_by)
            .execute(pool)
            .await
            .map(drop))
        .map_err(failed("saving a join code"))
    }

    async fn is_invited(&self, code_hash: &str) -> Result<bool, RecordsError> {
        let sql = "SELECT COUNT(*) FROM join_codes WHERE hash = $1 AND expires_at_ms > $2";
        let (codes,): (i64,) = read!(self, pool => sqlx::query_as(sql)
            .bind(code_hash)
            .bind(self.now_ms())
            .fetch_one(pool)
            .await)
        .map_err(failed("reading a join code"))?;
        Ok(codes > 0)
    }

    async fn enrol(&self, code_hash: &str, agent: &Agent) -> Result<Enrolled, RecordsError> {
        AgentRows(self.now()).enrol(code_hash, agent).await.map_err(failed("enrolling an agent"))
    }

    async fn agents(&self) -> Result<Vec<Agent>, RecordsError> {
        let sql = format!("{AGENTS} ORDER BY enrolled_at_ms, id");
        let rows: Vec<AgentRow> =
            read!(self, pool => sqlx::query_as(sqlx::AssertSqlSafe(sql)).fetch_all(pool).await)
                .map_err(failed("reading agents"))?;
        rows.into_iter().map(agent).collect()
    }

    async fn agent(&self, id: &AgentId) -> Result<Option<Agent>, RecordsError> {
        let sql = format!("{AGENTS} WHERE id = $1");
        let row: Option<AgentRow> = read!(self, pool => sqlx::query_as(sqlx::AssertSqlSafe(sql))
            .bind(id.as_str())
            .fetch_optional(pool)
            .await)
        .map_err(failed("reading an agent"))?;
        row.map(agent).transpose()
    }

    async fn revoke(&self, id: &AgentId, by: &str) -> Result<bool, RecordsError> {
        AgentRows(self.now()).revoke(id, by).await.map_err(failed("revoking an agent"))
    }

    async fn saw_agent(&self, id: &AgentId) -> Result<(), RecordsError> {
        // At most one write in ten seconds: it is for people.
        let sql = "UPDATE agents SET seen_at_ms = $2
                   WHERE id = $1 AND (seen_at_ms IS NULL OR seen_at_ms < $2 - 10000)";
        write!(self, pool => sqlx::query(sql)
            .bind(id.as_str())
            .bind(self.now_ms())
            .execute(pool)
            .await
            .map(drop))
        .map_err(failed("noting that an agent was seen"))
    }

    async fn use_token(
        &self,
        agent: &AgentId,
        jti: &str,
        until: Timestamp,
        limit: u32,
    ) -> Result<TokenUse, RecordsError> {
        AgentRows(self.now())
            .use_token(agent, jti, until.as_millisecond(), i64::from(limit))
            .await
            .map_err(failed("using a token"))
    }
}

/// Whether an agent is known and not revoked, in a transaction. A revocation waits for the transaction's end,
/// and then also deletes what it stored.
macro_rules! is_believed {
    ($tx:ident, $agent:expr) => {
        sqlx::query("UPDATE agents SET seen_at_ms = seen_at_ms WHERE id = $1 AND revoked_at_ms IS NULL")
            .bind($agent.as_str())
            .execute(&mut *$tx)
            .await?
            .rows_affected()
            == 1
    };
}

pub(super) use is_believed;

/// Agents, their join codes, and the tokens that they used.
struct AgentRows<'a>(EngineNow<'a>);

impl AgentRows<'_> {
    async fn enrol(&self, code_hash: &str, agent: &Agent) -> Result<Enrolled, sqlx::Error> {
        let EngineNow { now_ms, .. } = self.0;
        let uid = agent.management_cluster.as_str().to_ascii_lowercase();
        let enrolled = transaction!(self.0, tx => {
            // Takes all codes of the management cluster in hand, so that of two who enrol one waits for the other.
            sqlx::query("UPDATE join_codes SET used_by = used_by WHERE management_cluster = $1")
                .bind(&uid)
                .execute(&mut *tx)
                .await?;
            let used = sqlx::query(
                "UPDATE join_codes SET used_by = $2
                 WHERE hash = $1 AND used_by IS NULL AND expires_at_ms > $3 AND management_cluster = $4",
            )
            .bind(code_hash)
            .bind(agent.id.as_str())
            .bind(now_ms)
            .bind(&uid)
            .execute(&mut *tx)
            .await?
            .rows_affected();
            if used == 1 {
                let (name, invited_by): (Option<String>, String) =
                    sqlx::query_as("SELECT agent, invited_by FROM join_codes WHERE hash = $1")
                        .bind(code_hash)
                        .fetch_one(&mut *tx)
                        .await?;
                // Two codes without a name may have been made before the first was used.
                let inserted = sqlx::query(
                    "INSERT INTO agents (id, management_cluster, name, public_key, enrolled_at_ms, invited_by)
                     SELECT $1, $2, $3, $4, $5, $6
                     WHERE $7 = 1 OR NOT EXISTS (
                         SELECT 1 FROM agents WHERE management_cluster = $2 AND revoked_at_ms IS NULL)",
                )
                .bind(agent.id.as_str())
                .bind(&uid)
                .bind(name.as_ref().unwrap_or(&agent.name))
                .bind(agent.public_key.to_string())
                .bind(now_ms)
                .bind(&invited_by)
                .bind(i64::from(name.is_some()))
                .execute(&mut *tx)
                .await?
                .rows_affected();
                if inserted == 1 {
                    let detail = format!(
                        "{} ({}) enrolled for the management cluster {uid}, with the key {}",
                        agent.id,
                        name.as_ref().unwrap_or(&agent.name),
                        agent.public_key.fingerprint()
                    );
                    audit!(tx, now_ms, 0_i64, &invited_by, "agent-enrolled", &detail);
                    Enrolled::Yes
                } else {
                    sqlx::query("UPDATE join_codes SET used_by = NULL WHERE hash = $1")
                        .bind(code_hash)
                        .execute(&mut *tx)
                        .await?;
                    Enrolled::NotAlone
                }
            } else {
                let before: Option<(String,)> = sqlx::query_as(
                    "SELECT a.id FROM join_codes c JOIN agents a ON a.id = c.used_by
                     WHERE c.hash = $1 AND c.expires_at_ms > $2 AND a.revoked_at_ms IS NULL
                         AND a.management_cluster = $3 AND a.public_key = $4",
                )
                .bind(code_hash)
                .bind(now_ms)
                .bind(&uid)
                .bind(agent.public_key.to_string())
                .fetch_optional(&mut *tx)
                .await?;
                match before.and_then(|(id,)| AgentId::parse(&id).ok()) {
                    Some(id) => Enrolled::Before(id),
                    None => Enrolled::CodeRefused,
                }
            }
        });
        Ok(enrolled)
    }

    async fn revoke(&self, id: &AgentId, by: &str) -> Result<bool, sqlx::Error> {
        let EngineNow { now_ms, .. } = self.0;
        let revoked = transaction!(self.0, tx => {
            let revoked = sqlx::query("UPDATE agents SET revoked_at_ms = $2 WHERE id = $1 AND revoked_at_ms IS NULL")
                .bind(id.as_str())
                .bind(now_ms)
                .execute(&mut *tx)
                .await?
                .rows_affected();
            if revoked > 0 {
                for forget in [
                    "DELETE FROM standings WHERE agent = $1",
                    "DELETE FROM waiting_reports WHERE agent = $1",
                    "DELETE FROM kubeconfigs WHERE agent = $1",
                    "DELETE FROM agent_tokens WHERE agent = $1",
                ] {
                    sqlx::query(forget).bind(id.as_str()).execute(&mut *tx).await?;
                }
                audit!(tx, now_ms, 0_i64, by, "agent-revoked", &format!("{id} was revoked, and what it reported forgotten"));
            }
            revoked > 0
        });
        Ok(revoked)
    }

    async fn use_token(
        &self,
        agent: &AgentId,
        jti: &str,
        until_ms: i64,
        limit: i64,
    ) -> Result<TokenUse, sqlx::Error> {
        let EngineNow { now_ms, .. } = self.0;
        let used = transaction!(self.0, tx => {
            // Locks the agent's row: of two tokens at once the second counts the first.
            sqlx::query("UPDATE agents SET seen_at_ms = seen_at_ms WHERE id = $1")
                .bind(agent.as_str())
                .execute(&mut *tx)
                .await?;
            sqlx::query("DELETE FROM agent_tokens WHERE agent = $1 AND until_ms <= $2")
                .bind(agent.as_str())
                .bind(now_ms)
                .execute(&mut *tx)
                .await?;
            let (known,): (i64,) = sqlx::query_as("SELECT COUNT(*) FROM agent_tokens WHERE agent = $1")
                .bind(agent.as_str())
                .fetch_one(&mut *tx)
                .await?;
            if known >= limit {
                TokenUse::TooMany
            } else {
                let inserted = sqlx::query(
                    "INSERT INTO agent_tokens (agent, jti, until_ms) VALUES ($1, $2, $3)
                     ON CONFLICT (agent, jti) DO NOTHING",
                )
                .bind(agent.as_str())
                .bind(jti)
                .bind(until_ms)
                .execute(&mut *tx)
                .await?
                .rows_affected();
                if inserted == 1 { TokenUse::First } else { TokenUse::Replayed }
            }
        });
        Ok(used)
    }
}

fn agent(row: AgentRow) -> Result<Agent, RecordsError> {
    const DOING: &str = "reading agents";
    let (id, management_cluster, name, public_key, invited_by, enrolled_at_ms, seen_at_ms, revoked_at_ms) =
        row;
    Ok(Agent {
        id: AgentId::parse(&id).map_err(|error| corrupt(DOING, error))?,
        management_cluster: uid(DOING, &management_cluster)?,
        name,
        public_key: PublicKey::parse(&public_key).map_err(|error| corrupt(DOING, error))?,
        invited_by,
        enrolled_at: timestamp(enrolled_at_ms),
        seen_at: seen_at_ms.map(timestamp),
        revoked_at: revoked_at_ms.map(timestamp),
    })
}

/// UIDs are kept in lower case.
pub(super) fn uid(doing: &'static str, text: &str) -> Result<ManagementClusterUid, RecordsError> {
    ManagementClusterUid::parse(text).map_err(|error| corrupt(doing, error))
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> =
        text.chars().map(|digit| digit.to_digit(16).and_then(|digit| u8::try_from(digit).ok())).collect();
    let digits = digits.filter(|digits| digits.len() % 2 == 0)?;
    Some(digits.chunks_exact(2).map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit)).collect())
}
