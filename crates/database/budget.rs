//! What is left of GitHub's limits, and which deliveries were asked for again.

use std::collections::BTreeSet;

use async_trait::async_trait;
use jiff::Timestamp;

use super::{Database, failed, read, timestamp, write};
use capstan_ports::{BudgetWrite, Budgets, KeptBudget, MissedDeliveries, RecordsError};

/// What `last_looks` calls looking for missed deliveries.
const DELIVERIES: &str = "deliveries";

#[async_trait]
impl Budgets for Database {
    async fn budget(&self, counted_for: &str) -> Result<Option<KeptBudget>, RecordsError> {
        let sql = "SELECT version, ledger FROM call_budgets WHERE counted_for = $1";
        let row: Option<(i64, String)> = read!(self, pool => sqlx::query_as(sql)
            .bind(counted_for)
            .fetch_optional(pool)
            .await)
        .map_err(failed("reading what is left of GitHub's limits"))?;
        Ok(row.map(|(version, ledger)| KeptBudget { version: version.cast_unsigned(), ledger }))
    }

    async fn keep_budget(
        &self,
        counted_for: &str,
        read: Option<u64>,
        ledger: &str,
    ) -> Result<BudgetWrite, RecordsError> {
        let sql = match read {
            Some(_) => {
                "UPDATE call_budgets SET version = version + 1, ledger = $2
                 WHERE counted_for = $1 AND version = $3"
            }
            None => {
                "INSERT INTO call_budgets (counted_for, version, ledger) VALUES ($1, $3, $2)
                 ON CONFLICT (counted_for) DO NOTHING"
            }
        };
        let rows = write!(self, pool => sqlx::query(sql)
            .bind(counted_for)
            .bind(ledger)
            .bind(read.unwrap_or(1).cast_signed())
            .execute(pool)
            .await
            .map(|done| done.rows_affected()))
        .map_err(failed("writing what is left of GitHub's limits"))?;
        Ok(if rows == 1 { BudgetWrite::Written } else { BudgetWrite::Overtaken })
    }
}

#[async_trait]
impl MissedDeliveries for Database {
    async fn unheard(&self, guids: &[String]) -> Result<BTreeSet<String>, RecordsError> {
        let sql = "SELECT guid FROM deliveries WHERE guid = $1
                   UNION SELECT guid FROM redeliveries WHERE guid = $1";
        let mut unheard = BTreeSet::new();
        for guid in guids {
            let known: Option<(String,)> = read!(self, pool => sqlx::query_as(sql)
                .bind(guid)
                .fetch_optional(pool)
                .await)
            .map_err(failed("looking for a delivery"))?;
            if known.is_none() {
                unheard.insert(guid.clone());
            }
        }
        Ok(unheard)
    }

    async fn note_redelivery(&self, guid: &str) -> Result<bool, RecordsError> {
        let sql =
            "INSERT INTO redeliveries (guid, asked_at_ms) VALUES ($1, $2) ON CONFLICT (guid) DO NOTHING";
        write!(self, pool => sqlx::query(sql)
            .bind(guid)
            .bind(self.now_ms())
            .execute(pool)
            .await
            .map(|done| done.rows_affected() == 1))
        .map_err(failed("noting that a delivery is asked for again"))
    }

    async fn forget_redeliveries(&self, before: Timestamp) -> Result<u64, RecordsError> {
        write!(self, pool => sqlx::query("DELETE FROM redeliveries WHERE asked_at_ms < $1")
            .bind(before.as_millisecond())
            .execute(pool)
            .await
            .map(|done| done.rows_affected()))
        .map_err(failed("forgetting deliveries that were asked for again"))
    }

    async fn last_look(&self) -> Result<Option<Timestamp>, RecordsError> {
        let row: Option<(i64,)> = read!(self, pool =>
            sqlx::query_as("SELECT at_ms FROM last_looks WHERE what = $1")
                .bind(DELIVERIES)
                .fetch_optional(pool)
                .await)
        .map_err(failed("reading when deliveries were looked through"))?;
        Ok(row.map(|(at_ms,)| timestamp(at_ms)))
    }

    async fn note_look(&self, until: Timestamp) -> Result<(), RecordsError> {
        let sql = "INSERT INTO last_looks (what, at_ms) VALUES ($1, $2)
                   ON CONFLICT (what) DO UPDATE SET at_ms = excluded.at_ms WHERE last_looks.at_ms < excluded.at_ms";
        write!(self, pool => sqlx::query(sql)
            .bind(DELIVERIES)
            .bind(until.as_millisecond())
            .execute(pool)
            .await
            .map(drop))
        .map_err(failed("noting that deliveries were looked through"))
    }
}
