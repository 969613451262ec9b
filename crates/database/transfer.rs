//! All of a database as a stream that either engine gives and takes: backup, and the way from one engine to the other.
//!
//! The stream is text, a JSON value a line; `docs/database.md` describes it for people:
//!
//! ```json
//! {"capstanDatabase":1,"schema":12,"madeBy":"0.1.0","madeAt":"2026-11-25T02:00:00Z","tables":[{"name":"jobs","columns":["repository","state"]}]}
//! ["jobs",[1004,"idle"]]
//! {"rows":1,"sha256":"9d1f…"}
//! ```
//!
//! *Guarantees.* An export is one state of the database, even during writes. An import is complete or has no
//! effect: the last line of a stream shows whether it was cut off or changed. Keys stay sealed.

use std::io::{BufRead, Write};
use std::sync::Arc;

use aws_lc_rs::digest;
use futures_util::TryStreamExt as _;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sqlx::AssertSqlSafe;

use super::open::{Tables, newest_schema};
use super::tables::{ColumnKind, SqlTable, describe};
use super::{Database, Engine, OpenError};
use capstan_ports::{Clock, Transferred};

/// The version of the stream.
const FORMAT: u32 = 1;
/// A longer line is not part of a stream: a reconciler's report is far below it.
const LINE_BYTES: u64 = 64 << 20;

/// Why nothing was taken out or put in.
#[derive(Debug, thiserror::Error)]
pub enum TransferError {
    /// It cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The database fails.
    #[error("the database failed while {doing}: {source}")]
    Database {
        /// What was being done.
        doing: &'static str,
        /// What it said.
        source: sqlx::Error,
    },
    /// The records cannot be counted.
    #[error("{0}")]
    Records(String),
    /// There are no tables in it.
    #[error(
        "this database has no tables of Capstan's: give the same --state-dir, --config or --database-url as for the bot"
    )]
    NoTables,
    /// Its tables are of another Capstan.
    #[error("the database's tables have schema {found}, and those of this Capstan have {known}: {}", what_to_do(*found, *known))]
    OtherSchema {
        /// The database's.
        found: i64,
        /// This Capstan's.
        known: i64,
    },
    /// The database holds something already.
    #[error(
        "the database is not empty: table `{table}` has {rows} rows; import into an empty one, because an import never mixes or overwrites rows"
    )]
    NotEmpty {
        /// A table with rows.
        table: &'static str,
        /// How many.
        rows: i64,
    },
    /// This Capstan cannot read the stream.
    #[error("line {line}: {reason}; nothing was imported")]
    Stream {
        /// From 1.
        line: u64,
        /// What is wrong, and what to do.
        reason: String,
    },
    /// The file cannot be read or written.
    #[error("{0}")]
    File(#[from] std::io::Error),
}

fn what_to_do(found: i64, known: i64) -> &'static str {
    if found > known {
        "export it with the Capstan that made it, or a newer one"
    } else {
        "export it with the Capstan that runs on it, or start this one on it once"
    }
}

fn failed(doing: &'static str) -> impl Fn(sqlx::Error) -> TransferError {
    move |source| TransferError::Database { doing, source }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Header {
    capstan_database: u32,
    schema: i64,
    made_by: String,
    made_at: String,
    tables: Vec<TableColumns>,
}

#[derive(Serialize, Deserialize)]
struct TableColumns {
    name: String,
    columns: Vec<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TransferEnd {
    rows: u64,
    sha256: String,
}

/// Writes lines and remembers what they were.
struct HashedLines<'a> {
    to: &'a mut (dyn Write + Send),
    digest: digest::Context,
    rows: u64,
}

impl HashedLines<'_> {
    fn write(&mut self, line: &str) -> std::io::Result<()> {
        for part in [line.as_bytes(), b"\n"] {
            self.digest.update(part);
            self.to.write_all(part)?;
        }
        Ok(())
    }
}

/// Writes the rows of all tables of one state of the database; a line each.
macro_rules! write_tables {
    ($tx:expr, $array:literal, $lines:expr, $header:expr) => {{
        const READING: &str = "reading its tables";
        let tables = describe(&mut *$tx).await.map_err(failed(READING))?;
        $lines.write(&$header(&tables))?;
        for table in &tables {
            let columns: Vec<String> =
                table.columns.iter().map(|column| format!("\"{}\"", column.name)).collect();
            let sql = format!("SELECT {} FROM {}", $array.replace("{}", &columns.join(", ")), table.name);
            let mut rows = sqlx::query_scalar::<_, String>(AssertSqlSafe(sql)).fetch(&mut *$tx);
            while let Some(row) = rows.try_next().await.map_err(failed(READING))? {
                $lines.write(&format!("[\"{}\",{row}]", table.name))?;
                $lines.rows += 1;
            }
        }
    }};
}

/// Puts the rows of a stream into empty tables; how many they were. What leaves it early rolls everything back.
macro_rules! read_tables {
    ($tx:expr, $header:expr, $stream:expr) => {{
        const LOOKING: &str = "looking whether it is empty";
        const WRITING: &str = "writing its tables";
        let there = describe(&mut *$tx).await.map_err(failed(LOOKING))?;
        for table in &there {
            let sql = format!("SELECT COUNT(*) FROM {}", table.name);
            let rows: i64 =
                sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(&mut *$tx).await.map_err(failed(LOOKING))?;
            if rows > 0 {
                return Err(TransferError::NotEmpty { table: table.name, rows });
            }
        }
        let inserts = $stream.inserts($header, &there)?;
        while let Some((table, values)) = $stream.row(&inserts)? {
            let mut insert = sqlx::query(AssertSqlSafe(table.sql.clone()));
            for value in values {
                insert = insert.bind(value);
            }
            if let Err(error) = insert.execute(&mut *$tx).await {
                return Err(match error {
                    sqlx::Error::Database(refused) => {
                        $stream.wrong(format!("table `{}`: {refused}", table.name))
                    }
                    other => failed(WRITING)(other),
                });
            }
        }
        $stream.rows
    }};
}

impl Database {
    /// Writes all of the database behind `url` into `to`.
    ///
    /// # Errors
    /// It cannot be read, or its tables are of another schema than this Capstan's: those are left as they are.
    pub async fn export(
        url: &str,
        clock: Arc<dyn Clock>,
        to: &mut (dyn Write + Send),
    ) -> Result<Transferred, TransferError> {
        let database = Self::open_with(url, Arc::clone(&clock), Tables::AsTheyAre).await?;
        let ended = database.write_all(to).await;
        database.close().await;
        ended
    }

    async fn write_all(&self, to: &mut (dyn Write + Send)) -> Result<Transferred, TransferError> {
        const BEGINNING: &str = "beginning to read";
        let known = newest_schema();
        match self.schema().await.map_err(failed("reading its schema"))? {
            None => return Err(TransferError::NoTables),
            Some(found) if found != known => return Err(TransferError::OtherSchema { found, known }),
            Some(_) => {}
        }
        let made_at = self.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let header = |tables: &[SqlTable]| header(known, &made_at, tables);
        let mut lines = HashedLines { to, digest: digest::Context::new(&digest::SHA256), rows: 0 };
        match &self.engine {
            Engine::Sqlite { reader, .. } => {
                let mut tx = reader.begin().await.map_err(failed(BEGINNING))?;
                write_tables!(tx, "json_array({})", lines, header);
            }
            #[cfg(feature = "postgres")]
            Engine::Postgres(pool) => {
                let one_state = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY";
                let mut tx = pool.begin_with(one_state).await.map_err(failed(BEGINNING))?;
                // Its text of an array has spaces and line breaks between values only.
                write_tables!(tx, "json_build_array({})::text", lines, header);
            }
        }
        let end = TransferEnd { rows: lines.rows, sha256: hex(&lines.digest.clone().finish()) };
        lines.write(&serde_json::to_string(&end).map_err(std::io::Error::other)?)?;
        lines.to.flush()?;
        Ok(Transferred { rows: lines.rows, schema: known })
    }

    /// Reads a stream into the database behind `url`, which is empty or does not exist yet. One of an older Capstan is
    /// brought up to date behind it.
    ///
    /// # Errors
    /// The database is not empty or fails, or the stream is not valid: then nothing was imported.
    pub async fn import(
        url: &str,
        clock: Arc<dyn Clock>,
        from: &mut (dyn BufRead + Send),
    ) -> Result<Transferred, TransferError> {
        let mut stream = Stream::begin(from)?;
        let header = stream.header()?;
        let known = newest_schema();
        if header.schema > known {
            return Err(stream.wrong(format!(
                "it was made by a newer Capstan ({}): its tables have schema {}, and those of this one have {known}; import it with that version",
                header.made_by.escape_debug(),
                header.schema
            )));
        }
        let database = Self::open_with(url, clock, Tables::UpTo(header.schema)).await?;
        let read = match database.read_all(&header, &mut stream).await {
            Ok(rows) => database.bring_up_to_date().await.map(|()| rows).map_err(TransferError::from),
            Err(error) => Err(error),
        };
        database.close().await;
        read.map(|rows| Transferred { rows, schema: header.schema })
    }

    async fn read_all(&self, header: &Header, stream: &mut Stream<'_>) -> Result<u64, TransferError> {
        const WRITING: &str = "writing its tables";
        match &self.engine {
            Engine::Sqlite { writer, .. } => {
                let mut tx = writer.begin_with("BEGIN IMMEDIATE").await.map_err(failed(WRITING))?;
                let rows = read_tables!(tx, header, stream);
                tx.commit().await.map_err(failed(WRITING))?;
                Ok(rows)
            }
            #[cfg(feature = "postgres")]
            Engine::Postgres(pool) => {
                let mut tx = pool.begin().await.map_err(failed(WRITING))?;
                let rows = read_tables!(tx, header, stream);
                tx.commit().await.map_err(failed(WRITING))?;
                Ok(rows)
            }
        }
    }
}

fn header(schema: i64, made_at: &str, tables: &[SqlTable]) -> String {
    let columns = |table: &SqlTable| TableColumns {
        name: table.name.to_owned(),
        columns: table.columns.iter().map(|column| column.name.clone()).collect(),
    };
    let header = Header {
        capstan_database: FORMAT,
        schema,
        made_by: env!("CARGO_PKG_VERSION").to_owned(),
        made_at: made_at.to_owned(),
        tables: tables.iter().map(columns).collect(),
    };
    serde_json::json!(header).to_string()
}

fn hex(digest: &digest::Digest) -> String {
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// How rows of one table go in.
struct Insert {
    name: &'static str,
    columns: Vec<(String, ColumnKind)>,
    sql: String,
}

/// A row and how it goes in; values as text.
type TransferRow<'i> = (&'i Insert, Vec<Option<String>>);

/// A stream that is read.
struct Stream<'a> {
    from: &'a mut (dyn BufRead + Send),
    line: u64,
    rows: u64,
    digest: digest::Context,
}

impl<'a> Stream<'a> {
    fn begin(from: &'a mut (dyn BufRead + Send)) -> Result<Self, TransferError> {
        Ok(Self { from, line: 0, rows: 0, digest: digest::Context::new(&digest::SHA256) })
    }

    fn wrong(&self, reason: impl Into<String>) -> TransferError {
        TransferError::Stream { line: self.line, reason: reason.into() }
    }

    /// The next line with its end.
    fn next(&mut self) -> Result<String, TransferError> {
        self.line += 1;
        let mut line = Vec::new();
        let mut bounded = std::io::Read::take(&mut *self.from, LINE_BYTES);
        bounded.read_until(b'\n', &mut line)?;
        if line.is_empty() {
            return Err(self.wrong("the file ends here, before its last line: it was cut off; export again"));
        }
        if line.last() != Some(&b'\n') {
            return Err(self.wrong("the line is cut off, or longer than 64 MiB; export again"));
        }
        String::from_utf8(line)
            .map_err(|_| self.wrong("it is not UTF-8, so it is not an export of `capstan database export`"))
    }

    fn header(&mut self) -> Result<Header, TransferError> {
        let line = self.next()?;
        self.digest.update(line.as_bytes());
        let value: Value = serde_json::from_str(&line).unwrap_or_default();
        match value.get("capstanDatabase").and_then(Value::as_u64) {
            None => return Err(self.wrong("this is not an export of `capstan database export`")),
            Some(format) if format != u64::from(FORMAT) => {
                return Err(self.wrong(format!(
                    "it has format {format}, but this Capstan reads format {FORMAT}; import it with the version that made it"
                )));
            }
            Some(_) => {}
        }
        serde_json::from_value(value)
            .map_err(|error| self.wrong(format!("the header cannot be read: {error}")))
    }

    /// How the rows of each table go in: the tables of the stream are those that are there, to the last column.
    fn inserts(&self, header: &Header, there: &[SqlTable]) -> Result<Vec<Insert>, TransferError> {
        let mut inserts = Vec::new();
        for told in &header.tables {
            let name = told.name.escape_debug();
            let Some(table) = there.iter().find(|table| table.name == told.name) else {
                return Err(self.wrong(format!("there is no table `{name}` in schema {}", header.schema)));
            };
            let column = |wanted: &String| table.columns.iter().find(|column| column.name == *wanted);
            let known: Option<Vec<(String, ColumnKind)>> = told
                .columns
                .iter()
                .map(|name| column(name).map(|known| (known.name.clone(), known.kind)))
                .collect();
            let known = known.filter(|known| known.len() == table.columns.len()).ok_or_else(|| {
                self.wrong(format!("table `{name}` has other columns in schema {}", header.schema))
            })?;
            inserts.push(Insert { name: table.name, sql: insert_sql(table.name, &known), columns: known });
        }
        Ok(inserts)
    }

    /// The next row; `None` after the last, once all is as the last line says.
    fn row<'i>(&mut self, inserts: &'i [Insert]) -> Result<Option<TransferRow<'i>>, TransferError> {
        let line = self.next()?;
        let value: Value =
            serde_json::from_str(&line).map_err(|error| self.wrong(format!("it is not JSON: {error}")))?;
        if value.is_object() {
            return self.end(value).map(|()| None);
        }
        self.digest.update(line.as_bytes());
        self.rows += 1;
        let (table, values): (String, Vec<Value>) =
            serde_json::from_value(value).map_err(|error| self.wrong(format!("it is not a row: {error}")))?;
        let insert = inserts
            .iter()
            .find(|insert| insert.name == table)
            .ok_or_else(|| self.wrong(format!("the header names no table `{}`", table.escape_debug())))?;
        if values.len() != insert.columns.len() {
            return Err(self.wrong(format!(
                "a row of `{table}` has {} values for {} columns",
                values.len(),
                insert.columns.len()
            )));
        }
        let texts = insert.columns.iter().zip(values).map(|((column, kind), value)| match (kind, value) {
            (_, Value::Null) => Ok(None),
            (ColumnKind::Integer, Value::Number(number)) if number.is_i64() => Ok(Some(number.to_string())),
            (ColumnKind::Text, Value::String(text)) => Ok(Some(text)),
            _ => Err(self.wrong(format!("`{table}.{column}` cannot hold this value"))),
        });
        let texts = texts.collect::<Result<Vec<_>, _>>()?;
        Ok(Some((insert, texts)))
    }

    fn end(&mut self, value: Value) -> Result<(), TransferError> {
        let end: TransferEnd = serde_json::from_value(value)
            .map_err(|error| self.wrong(format!("it is not a last line: {error}")))?;
        if end.rows != self.rows {
            return Err(self.wrong(format!(
                "{} rows were announced, but there are {}; export again",
                end.rows, self.rows
            )));
        }
        if end.sha256 != hex(&self.digest.clone().finish()) {
            return Err(
                self.wrong("the lines are not those that were written: their SHA-256 differs; export again")
            );
        }
        self.line += 1;
        match self.from.fill_buf()? {
            [] => Ok(()),
            _ => Err(self.wrong("something follows the last line")),
        }
    }
}

/// Values come as text; both engines cast.
fn insert_sql(table: &str, columns: &[(String, ColumnKind)]) -> String {
    let names: Vec<String> = columns.iter().map(|(name, _)| format!("\"{name}\"")).collect();
    let values: Vec<String> = (1..)
        .zip(columns)
        .map(|(n, (_, kind))| match kind {
            ColumnKind::Integer => format!("CAST(CAST(${n} AS TEXT) AS BIGINT)"),
            ColumnKind::Text => format!("CAST(${n} AS TEXT)"),
        })
        .collect();
    format!("INSERT INTO {table} ({}) VALUES ({})", names.join(", "), values.join(", "))
}
