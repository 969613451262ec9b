//! The tables as the engine itself describes them: which there are, their columns, which migration made them.

use sqlx::{AssertSqlSafe, SqliteConnection};

use super::retention::COUNTS;
use super::{Database, Engine, read};

/// Tables that others refer to: their rows go in first.
const PARENTS: &[&str] = &["campaigns"];

/// A table and its columns, by name: the engines made them in different orders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SqlTable {
    pub(super) name: &'static str,
    pub(super) columns: Vec<Column>,
}

/// A column: all of them are either of these.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) kind: ColumnKind,
}

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ColumnKind {
    Integer,
    Text,
}

impl Column {
    fn read((name, kind): (String, String)) -> Self {
        let is_integer = matches!(kind.to_ascii_lowercase().as_str(), "integer" | "bigint");
        Self { name, kind: if is_integer { ColumnKind::Integer } else { ColumnKind::Text } }
    }
}

/// A connection that can be asked for a table's columns.
pub(super) trait Describes {
    /// By name; none where there is no such table.
    async fn columns(&mut self, table: &'static str) -> Result<Vec<Column>, sqlx::Error>;
}

impl Describes for SqliteConnection {
    async fn columns(&mut self, table: &'static str) -> Result<Vec<Column>, sqlx::Error> {
        let sql = "SELECT name, type FROM pragma_table_info($1) ORDER BY name";
        let rows: Vec<(String, String)> = sqlx::query_as(sql).bind(table).fetch_all(self).await?;
        Ok(rows.into_iter().map(Column::read).collect())
    }
}

#[cfg(feature = "postgres")]
impl Describes for sqlx::PgConnection {
    async fn columns(&mut self, table: &'static str) -> Result<Vec<Column>, sqlx::Error> {
        let sql = "SELECT column_name::text, data_type::text FROM information_schema.columns
                   WHERE table_schema = current_schema() AND table_name = $1 ORDER BY column_name COLLATE \"C\"";
        let rows: Vec<(String, String)> = sqlx::query_as(sql).bind(table).fetch_all(self).await?;
        Ok(rows.into_iter().map(Column::read).collect())
    }
}

/// Capstan's tables, those first that others refer to. A database may hold tables of other programs.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    let others = COUNTS.iter().map(|(table, _)| *table).filter(|table| !PARENTS.contains(table));
    PARENTS.iter().copied().chain(others)
}

/// The tables that are there.
pub(super) async fn describe(connection: &mut impl Describes) -> Result<Vec<SqlTable>, sqlx::Error> {
    let mut tables = Vec::new();
    for name in names() {
        let columns = connection.columns(name).await?;
        if !columns.is_empty() {
            tables.push(SqlTable { name, columns });
        }
    }
    Ok(tables)
}

impl Database {
    /// The newest migration that was applied; `None` where no tables were made yet.
    pub(super) async fn schema(&self) -> Result<Option<i64>, sqlx::Error> {
        let sql = match self.engine {
            Engine::Sqlite { .. } => "SELECT COUNT(*) FROM sqlite_master WHERE name = 'capstan_migrations'",
            #[cfg(feature = "postgres")]
            Engine::Postgres(_) => {
                "SELECT COUNT(*) FROM information_schema.tables
                WHERE table_schema = current_schema() AND table_name = 'capstan_migrations'"
            }
        };
        let there: i64 = read!(self, pool => sqlx::query_scalar(sql).fetch_one(pool).await)?;
        if there == 0 {
            return Ok(None);
        }
        let sql = "SELECT MAX(version) FROM capstan_migrations";
        read!(self, pool => sqlx::query_scalar(sql).fetch_one(pool).await)
    }

    /// How many rows a query counts.
    pub(super) async fn count(&self, sql: String) -> Result<u64, sqlx::Error> {
        let rows: i64 = read!(self, pool => sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(pool).await)?;
        Ok(rows.cast_unsigned())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use super::*;
    use capstan_ports::SystemClock;

    /// A table with a foreign key is imported after the one that it refers to.
    #[tokio::test]
    async fn what_others_refer_to_goes_in_first() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}", folder.path().join("capstan.sqlite").display());
        let database = Database::open(&url, Arc::new(SystemClock)).await.unwrap();
        let sql = "SELECT referred.\"table\" FROM sqlite_master AS tables,
                   pragma_foreign_key_list(tables.name) AS referred WHERE tables.type = 'table'";
        let referred: Vec<String> =
            read!(database, pool => sqlx::query_scalar::<_, String>(sql).fetch_all(pool).await.unwrap());
        let referred: BTreeSet<&str> = referred.iter().map(String::as_str).collect();
        assert_eq!(referred, PARENTS.iter().copied().collect());
        assert_eq!(names().count(), COUNTS.len());
        database.close().await;
    }
}
