//! Whether SQLite's file is as SQLite and Capstan left it: checked before it is opened for work, and only
//! read.
//!
//! SQLite reports some damage when it meets it, which may be in the middle of the work; some it never
//! reports. It ignores a write-ahead log with a damaged head, uses only the undamaged beginning of a log, and
//! applies the log of another database to this file. So the log is read here too, as
//! <https://www.sqlite.org/fileformat2.html#the_write_ahead_log> describes it.
//!
//! *Which database a log belongs to.* The file's head has a number of Capstan's (`user_version`): random at
//! first, and one more with each opening. The log has a copy of the head whenever that changed. The first
//! number in the log is the file's or the next one, and the log reaches the file's number.
//!
//! What cannot be seen: a byte that was changed within a value, since SQLite keeps no checksums of those.

use std::fs::File;
use std::io::{self, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, SqlitePool};

/// How long the structure is checked: enough for some gigabytes on a fast disk.
const PATIENCE: Duration = Duration::from_secs(10);
/// Steps of SQLite's between two looks at the clock.
const STEPS: i32 = 1000;
const MOST_DAMAGES: usize = 10;

const MAGIC: &[u8] = b"SQLite format 3\0";
const HEAD_BYTES: usize = 100;
/// Where the head of the file has the size of its pages, and Capstan's number.
const PAGE_SIZE_AT: usize = 16;
const NUMBER_AT: usize = 60;

const LOG_HEAD_BYTES: usize = 32;
const FRAME_HEAD_BYTES: usize = 24;
const LOG_MAGIC: u32 = 0x377f_0682;
/// Only what was being committed as the machine lost its power may lack its beginning.
const TORN_COMMITS: usize = 1;
/// Another process that has the file open may write during the check.
const LOOKS: usize = 3;
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

/// What is wrong with the file; nothing where it is well.
///
/// # Errors
/// It cannot be read, or SQLite cannot look at it.
pub(super) async fn damages(file: &Path) -> Result<Vec<String>, sqlx::Error> {
    for look in 1.. {
        let file = file.to_path_buf();
        let looked = tokio::task::spawn_blocking(move || look_at(&file)).await;
        match looked.map_err(io::Error::other)?? {
            IntactCheck::Well => break,
            IntactCheck::Damaged(what) if look == LOOKS => return Ok(vec![what.to_owned()]),
            IntactCheck::Damaged(_) => tokio::time::sleep(BETWEEN_LOOKS).await,
        }
    }
    check_structure(file).await
}

/// Whether the file is gone, and its log is there. SQLite would remove that.
pub(super) fn is_left_behind(file: &Path) -> bool {
    !file.exists() && holds_bytes(&beside(file, "-wal"))
}

/// Notes in the file's head that it was opened once more, and brings that from the log into the file.
pub(super) async fn count_opening(writer: &SqlitePool) -> Result<(), sqlx::Error> {
    let next = "SELECT CASE user_version WHEN 0 THEN 1 + (random() & 1073741823) ELSE user_version + 1 END
                FROM pragma_user_version";
    let next: i64 = sqlx::query_scalar(next).fetch_one(writer).await?;
    sqlx::raw_sql(AssertSqlSafe(format!("PRAGMA user_version = {next}"))).execute(writer).await?;
    sqlx::raw_sql("PRAGMA wal_checkpoint(PASSIVE)").execute(writer).await?;
    Ok(())
}

/// A file that SQLite or Capstan keeps beside the database.
pub(super) fn beside(database: &Path, suffix: &str) -> PathBuf {
    let mut beside = database.as_os_str().to_owned();
    beside.push(suffix);
    beside.into()
}

/// Has SQLite look at its pages and their order, for as long as there is patience; and at whose tables they are.
async fn check_structure(file: &Path) -> Result<Vec<String>, sqlx::Error> {
    let options =
        SqliteConnectOptions::new().filename(file).read_only(true).busy_timeout(Duration::from_secs(5));
    let looked = match options.connect().await {
        Ok(mut connection) => {
            let began = Instant::now();
            connection.lock_handle().await?.set_progress_handler(STEPS, move || began.elapsed() < PATIENCE);
            let looked = ask(&mut connection).await;
            connection.close().await?;
            looked
        }
        Err(error) => Err(error),
    };
    match looked {
        Ok(damages) => Ok(damages),
        Err(sqlx::Error::Database(refused)) => match primary_code(refused.as_ref()) {
            // SQLITE_CORRUPT, SQLITE_NOTADB: some damage appears as an error instead of a row.
            Some(11 | 26) => Ok(vec![format!("the file is damaged: {}", refused.message())]),
            // SQLITE_INTERRUPT
            Some(9) => {
                tracing::info!(
                    file = %file.display(),
                    "the database is large: after {} s, the check for damage was not finished; `capstan database check` finishes it",
                    PATIENCE.as_secs()
                );
                Ok(Vec::new())
            }
            _ => Err(sqlx::Error::Database(refused)),
        },
        Err(other) => Err(other),
    }
}

async fn ask(connection: &mut SqliteConnection) -> Result<Vec<String>, sqlx::Error> {
    let of_another_program =
        "SELECT COUNT(*) > 0 AND SUM(name = 'capstan_migrations') = 0 FROM sqlite_schema";
    if sqlx::query_scalar(of_another_program).fetch_one(&mut *connection).await? {
        return Ok(vec!["the file is a database of another program".to_owned()]);
    }
    let check = format!("PRAGMA quick_check({MOST_DAMAGES})");
    let told: Vec<String> = sqlx::query_scalar(AssertSqlSafe(check)).fetch_all(connection).await?;
    let damages = told.into_iter().filter(|line| line != "ok");
    Ok(damages.map(|line| format!("the file is damaged: {}", line.replace('\n', " "))).collect())
}

/// SQLite's code without what extends it.
fn primary_code(error: &dyn sqlx::error::DatabaseError) -> Option<u32> {
    Some(error.code()?.parse::<u32>().ok()? & 0xff)
}

enum IntactCheck {
    Well,
    Damaged(&'static str),
}

/// Looks at the heads of the file and of its log.
fn look_at(file: &Path) -> io::Result<IntactCheck> {
    // The log first: the file may only be newer than it.
    let log = match File::open(beside(file, "-wal")) {
        Ok(log) => Log::read(log)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Log::Empty,
        Err(error) => return Err(error),
    };
    if holds_bytes(&beside(file, "-journal")) {
        return Ok(IntactCheck::Damaged(
            "a rollback journal (-journal) is beside the file, as Capstan leaves none: SQLite would write it into the file",
        ));
    }
    let mut head = Vec::new();
    let length = match File::open(file) {
        Ok(file) => {
            let length = file.metadata()?.len();
            file.take(HEAD_BYTES as u64).read_to_end(&mut head)?;
            length
        }
        Err(_) if is_left_behind(file) => {
            return Ok(IntactCheck::Damaged("the file is not there, and its write-ahead log (-wal) is"));
        }
        Err(error) => return Err(error),
    };
    Ok(match log {
        _ if head.is_empty() => {
            IntactCheck::Damaged("the file is empty, as no database of Capstan's is: what was in it is gone")
        }
        _ if head.len() < HEAD_BYTES || !head.starts_with(MAGIC) => {
            IntactCheck::Damaged("the file is not a database of SQLite's, or its beginning is damaged")
        }
        // Where there is a log, a checkpoint may have been under way.
        Log::Empty if length.checked_rem(page_size_of(&head).into()) != Some(0) => {
            IntactCheck::Damaged("the file is cut off within its last page")
        }
        log => log.beside(&head),
    })
}

fn holds_bytes(file: &Path) -> bool {
    file.metadata().is_ok_and(|metadata| metadata.len() > 0)
}

/// What a write-ahead log says.
enum Log {
    /// Nothing: it was begun at most.
    Empty,
    /// Its head is not valid.
    Headless,
    /// Commits are lost: they stand behind something that does not belong there.
    Broken,
    /// It can be read to the end of what was committed.
    Whole {
        page_size: u32,
        /// Capstan's numbers in the first and in the last copy of the file's head, where there is one.
        numbers: Option<(u32, u32)>,
    },
}

impl Log {
    fn read(log: File) -> io::Result<Self> {
        let mut log = BufReader::with_capacity(1 << 20, log);
        let mut head = [0; LOG_HEAD_BYTES];
        if !fill(&mut log, &mut head)? {
            return Ok(Self::Empty);
        }
        let (magic, page_size) = (number_at(&head, 0), number_at(&head, 8));
        let sum = Sum { is_big_endian: magic & 1 == 1, values: (0, 0) }.and(&head[..24]);
        let is_page_size = page_size.is_power_of_two() && (512..=65536).contains(&page_size);
        let is_head = magic & !1 == LOG_MAGIC && is_page_size && sum.values == pair_at(&head, 24);
        let (mut frame, mut page) = ([0; FRAME_HEAD_BYTES], vec![0; page_size.min(65536) as usize]);
        if !is_head {
            // Nothing is written behind a head that is not on the disk.
            return Ok(if fill(&mut log, &mut [0])? { Self::Headless } else { Self::Empty });
        }
        let (mut sum, mut is_broken, mut lost, mut numbers) = (sum, false, 0, None);
        while fill(&mut log, &mut frame)? && fill(&mut log, &mut page)? {
            // Those of an earlier round are behind the end, until they are written over.
            let is_of_this_round = frame[8..16] == head[16..24];
            let next = sum.and(&frame[..8]).and(&page);
            let told = pair_at(&frame, 16);
            let follows = is_of_this_round && next.values == told;
            is_broken |= !follows;
            // Behind what does not belong there, what follows is measured by what it says of itself.
            sum.values = told;
            match (is_broken, number_at(&frame, 0)) {
                (false, 1) => {
                    let number = number_at(&page, NUMBER_AT);
                    numbers = Some((numbers.map_or(number, |(first, _)| first), number));
                }
                (true, _) if follows && number_at(&frame, 4) != 0 => lost += 1,
                _ => {}
            }
        }
        Ok(if lost > TORN_COMMITS { Self::Broken } else { Self::Whole { page_size, numbers } })
    }

    /// How it fits the file with this head.
    fn beside(&self, head: &[u8]) -> IntactCheck {
        let of_file = number_at(head, NUMBER_AT);
        match *self {
            Self::Empty => IntactCheck::Well,
            Self::Headless => {
                IntactCheck::Damaged("the beginning of the file's write-ahead log (-wal) is damaged")
            }
            Self::Broken => {
                IntactCheck::Damaged("the file's write-ahead log (-wal) is damaged in its middle")
            }
            Self::Whole { page_size, .. } if page_size != page_size_of(head) => {
                IntactCheck::Damaged(OTHERS_LOG)
            }
            Self::Whole { numbers: Some((first, last)), .. } => {
                // A file that no Capstan opened which counts has no number.
                let is_known = first != 0 && of_file != 0;
                let is_its_own = (first.saturating_sub(1)..=last).contains(&of_file);
                if is_known && !is_its_own { IntactCheck::Damaged(OTHERS_LOG) } else { IntactCheck::Well }
            }
            Self::Whole { numbers: None, .. } => IntactCheck::Well,
        }
    }
}

const OTHERS_LOG: &str =
    "the write-ahead log (-wal) beside the file is of another database, or of this one at another time";

/// The size of the file's pages: 1 means 65,536, which two bytes cannot hold.
fn page_size_of(head: &[u8]) -> u32 {
    match number_at(head, PAGE_SIZE_AT) >> 16 {
        1 => 65536,
        size => size,
    }
}

/// Reads as much as there is room for; `false` where there is less.
fn fill(from: &mut impl io::Read, room: &mut [u8]) -> io::Result<bool> {
    match from.read_exact(room) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

fn number_at(bytes: &[u8], at: usize) -> u32 {
    let number = bytes.get(at..).and_then(|bytes| bytes.first_chunk());
    number.copied().map_or(0, u32::from_be_bytes)
}

fn pair_at(bytes: &[u8], at: usize) -> (u32, u32) {
    (number_at(bytes, at), number_at(bytes, at + 4))
}

/// The running checksum of a log.
#[derive(Clone, Copy)]
struct Sum {
    is_big_endian: bool,
    values: (u32, u32),
}

impl Sum {
    fn and(self, bytes: &[u8]) -> Self {
        let (pairs, _) = bytes.as_chunks::<8>();
        let (mut first, mut second) = self.values;
        for pair in pairs {
            let (mut left, mut right) = pair_at(pair, 0);
            if !self.is_big_endian {
                (left, right) = (left.swap_bytes(), right.swap_bytes());
            }
            first = first.wrapping_add(left).wrapping_add(second);
            second = second.wrapping_add(right).wrapping_add(first);
        }
        Self { values: (first, second), ..self }
    }
}
