//! Webhook deliveries: stored together with the jobs that they call for, in one transaction a batch.

use async_trait::async_trait;
use sqlx::QueryBuilder;

use super::{Database, EngineNow, enqueue, failed, transaction};
use capstan_bot::intake::{Delivery, DeliveryStore, NamedRepository, Stored};
use capstan_ports::RecordsError;

/// Rows in one INSERT: 15 values each, far below both engines' limits, and few distinct statements.
const ROWS: usize = 64;

/// `$1`: the installation whose owner grants more.
const FORGET_REFUSED_WRITES: &str = "DELETE FROM refused_writes WHERE repository IN \
     (SELECT repository FROM jobs WHERE installation = $1)";

#[async_trait]
impl DeliveryStore for Database {
    async fn store(&self, deliveries: &[Delivery]) -> Result<Vec<Stored>, RecordsError> {
        let stored =
            DeliveryRows(self.now()).store(deliveries).await.map_err(failed("storing deliveries"))?;
        self.work.notify_one();
        self.arrived.notify_waiters();
        Ok(stored)
    }
}

/// Deliveries, and the jobs that they call for.
struct DeliveryRows<'a>(EngineNow<'a>);

impl DeliveryRows<'_> {
    async fn store(&self, deliveries: &[Delivery]) -> Result<Vec<Stored>, sqlx::Error> {
        let EngineNow { now_ms, .. } = self.0;
        // Ordered by repository, so that two processes that store at once lock jobs in the same order.
        let mut wanted: Vec<(u64, u64, &NamedRepository)> = deliveries
            .iter()
            .flat_map(|delivery| {
                delivery
                    .repositories
                    .iter()
                    .map(|repository| (repository.id, delivery.installation, repository))
            })
            .collect();
        wanted.sort_by_key(|&(id, installation, _)| (id, installation));
        wanted.dedup_by_key(|(id, _, _)| *id);

        let fresh: Vec<String> = transaction!(self.0, tx => {
            let mut fresh = Vec::with_capacity(deliveries.len());
            for rows in deliveries.chunks(ROWS) {
                let mut insert = QueryBuilder::new(
                    "INSERT INTO deliveries (guid, event, action, installation, repository, pull_request, \
                     comment, head, received_at_ms, state, pressed_by, pressed, issue, ticked_by, ticks) ",
                );
                insert.push_values(rows, |mut row, delivery| {
                    let repository = match delivery.repositories.as_slice() {
                        [one] => Some(one.id.cast_signed()),
                        _ => None,
                    };
                    let hint = &delivery.hint;
                    let says_more = repository.is_some() && !hint.is_nothing();
                    row.push_bind(&delivery.guid)
                        .push_bind(delivery.event.as_str())
                        .push_bind(&delivery.action)
                        .push_bind(delivery.installation.cast_signed())
                        .push_bind(repository)
                        .push_bind(hint.pull_request.map(u64::cast_signed))
                        .push_bind(hint.comment.map(u64::cast_signed))
                        .push_bind(hint.head.as_deref())
                        .push_bind(delivery.received_at.as_millisecond())
                        .push_bind(if says_more { "waiting" } else { "done" })
                        .push_bind(hint.press.as_ref().map(|press| press.by.as_str()))
                        .push_bind(hint.press.as_ref().map(|press| press.button.as_str()))
                        .push_bind(hint.issue.map(u64::cast_signed))
                        .push_bind(hint.ticks.as_ref().map(|ticks| ticks.by.as_str()))
                        .push_bind(hint.ticks.as_ref().map(|ticks| ticks.boxes.as_str()));
                });
                insert.push(" ON CONFLICT (guid) DO NOTHING RETURNING guid");
                let inserted: Vec<(String,)> = insert.build_query_as().fetch_all(&mut *tx).await?;
                fresh.extend(inserted.into_iter().map(|(guid,)| guid));
            }
            for delivery in deliveries.iter().filter(|delivery| delivery.grants_more()) {
                sqlx::query(FORGET_REFUSED_WRITES).bind(delivery.installation.cast_signed()).execute(&mut *tx).await?;
            }
            for &(id, installation, repository) in &wanted {
                let name = repository.name.to_string();
                enqueue!(tx, now_ms, id.cast_signed(), installation.cast_signed(), name);
            }
            fresh
        });
        // The same id twice in one batch: the first was new, the second known.
        let mut fresh: std::collections::HashSet<String> = fresh.into_iter().collect();
        Ok(deliveries
            .iter()
            .map(|delivery| if fresh.remove(&delivery.guid) { Stored::New } else { Stored::Known })
            .collect())
    }
}
