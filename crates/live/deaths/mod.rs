//! Which folder processes die of: inferred from what each process worked on when it ended; and when such a folder is
//! tried again.
//!
//! A process notes each turn before it begins and after it ended. The next process finds what was under way at a death.
//! It cannot know the cause: the folder, or kills from outside, at random or at each start.
//!
//! *Rules*: what was under way when a process died is **suspected**. Suspects are tried after the others, one at a
//! time, while the others continue; a turn that comes to its end clears its folder. If a process dies while it tries a
//! suspect, only that suspect is to blame. This counts the more, the longer the process had lived compared with the
//! turn: random kills rarely hit the first second of a turn after minutes without it. So the folder is tried again
//! after ten seconds of the next process's life, or up to two minutes if there is evidence; everything else continues
//! meanwhile. Only evidence beyond chance makes it wait longer: [4, 8, 16 minutes](Suspect::pause). A death at anything
//! else counts in favour of a suspect. An end in order says nothing.
//!
//! *Guarantees*, which the simulation checks: random kills, however many, hold back no folder for longer than two
//! minutes after the last of them. A folder that kills the process at once is [known](TurnStart::Known) after five
//! deaths, and no folder beside it ever is. *Caveat*: kills at every turn of one folder, and only there, look like the
//! folder's own fault. It is held back no longer than they lasted, and for 16 minutes at most.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

#[cfg(test)]
mod simulation;

/// While a suspect is tried, it is to be noted that often that the process [lives](Turns::live).
pub const BEAT: SignedDuration = SignedDuration::from_secs(1);
/// How long a suspect waits for another one, and how often it is checked again.
const PATIENCE: SignedDuration = SignedDuration::from_mins(2);
const ASK_AGAIN: SignedDuration = SignedDuration::from_secs(1);
/// What was not begun for this long is not suspected any more: a head that is not asked about again, for example.
const REMEMBERED: SignedDuration = SignedDuration::from_hours(24);

/// What one death may say at most: a doubling each of the life before it, against the turn.
const MOST_EVIDENCE: u32 = 5;
/// What a death at something else says against it.
const COUNTER_EVIDENCE: u32 = 3;
/// So much evidence is beyond chance: it takes four deaths in a row, and none of a million random kills reaches it.
const BEYOND_CHANCE: u32 = 17;

/// What is under way, what is suspected, and since when the process lives that notes it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Turns {
    /// `None` before the first, and after an end in order.
    process: Option<Process>,
    folders: BTreeMap<String, SuspectFolder>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Process {
    since: Timestamp,
    /// When it lived still.
    seen: Timestamp,
}

/// A folder that is under way or suspected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct SuspectFolder {
    /// What tells its contents apart.
    content: String,
    /// Its turn now.
    turn: Option<DeathTurn>,
    /// When its last turn began.
    begun: Timestamp,
    #[serde(flatten)]
    suspect: Suspect,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum DeathTurn {
    /// Beside others.
    Beside,
    /// It is suspected, and the only one that is tried now.
    Tried,
}

/// What speaks against a folder.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suspect {
    /// How many processes died at it; none, where it is not suspected.
    pub deaths: u32,
    /// How much that says.
    evidence: u32,
}

/// Whether a folder's turn may begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnStart {
    /// It has begun. Of a suspect that is tried, [`BEAT`] wants to be kept.
    Turn {
        /// Whether it is one.
        is_tried: bool,
    },
    /// It is suspected, and waits at most two minutes of the process's life: it is to be asked about again then.
    Wait(SignedDuration),
    /// Processes die of it, beyond chance: it is tried again at that time.
    Known {
        /// How many did.
        deaths: u32,
        /// Then.
        until: Timestamp,
    },
}

impl Turns {
    /// A process takes over from the one that noted this. Gives what is suspected now, by folder.
    pub fn take_over(&mut self, now: Timestamp) -> BTreeMap<&str, Suspect> {
        let died = self.process.replace(Process { since: now, seen: now });
        let is_explained = self.folders.values().any(|folder| folder.turn == Some(DeathTurn::Tried));
        self.folders.retain(|_, folder| now.duration_since(folder.begun) < REMEMBERED);
        for folder in self.folders.values_mut() {
            let turn = folder.turn.take();
            let Some(died) = &died else { continue };
            let suspect = &mut folder.suspect;
            match turn {
                Some(DeathTurn::Tried) => {
                    suspect.deaths += 1;
                    suspect.evidence += died.evidence(folder.begun);
                }
                Some(DeathTurn::Beside) => suspect.deaths += u32::from(!is_explained),
                None if suspect.evidence > COUNTER_EVIDENCE => suspect.evidence -= COUNTER_EVIDENCE,
                None => *suspect = Suspect::default(),
            }
        }
        self.folders.retain(|_, folder| folder.suspect.deaths > 0);
        self.suspects().collect()
    }

    /// What is suspected.
    pub fn suspects(&self) -> impl Iterator<Item = (&str, Suspect)> {
        let all = self.folders.iter().map(|(folder, known)| (folder.as_str(), known.suspect));
        all.filter(|(_, suspect)| suspect.deaths > 0)
    }

    /// Begins a folder's turn, where it may begin. What has another content is another folder. After the process has
    /// [left](Self::leave), nothing is noted.
    pub fn begin(&mut self, folder: &str, content: &str, now: Timestamp) -> TurnStart {
        let Some(process) = &mut self.process else { return TurnStart::Turn { is_tried: false } };
        process.seen = process.seen.max(now);
        // A clock that was set back makes no pause longer.
        process.since = process.since.min(now);
        let known = self.folders.get(folder).filter(|known| known.content == content);
        let suspect = known.map(|known| known.suspect).unwrap_or_default();
        let is_suspected = suspect.deaths > 0;
        let lived = now.duration_since(process.since);
        let pause = suspect.pause();
        if lived < pause {
            return match suspect.is_beyond_chance() {
                true => TurnStart::Known {
                    deaths: suspect.deaths,
                    until: process.since.saturating_add(pause).unwrap_or(Timestamp::MAX),
                },
                false => TurnStart::Wait(pause - lived),
            };
        }
        let is_another_tried = self.folders.values().any(|folder| folder.turn == Some(DeathTurn::Tried));
        if is_suspected && is_another_tried && (lived < PATIENCE || suspect.is_beyond_chance()) {
            return TurnStart::Wait(ASK_AGAIN);
        }
        let is_tried = is_suspected && !is_another_tried;
        let turn = Some(if is_tried { DeathTurn::Tried } else { DeathTurn::Beside });
        let begun = SuspectFolder { content: content.to_owned(), turn, begun: now, suspect };
        self.folders.insert(folder.to_owned(), begun);
        TurnStart::Turn { is_tried }
    }

    /// A turn has ended, and the process lives.
    pub fn end(&mut self, folder: &str, now: Timestamp) {
        self.folders.remove(folder);
        self.live(now);
    }

    /// The process lives.
    pub fn live(&mut self, now: Timestamp) {
        if let Some(process) = &mut self.process {
            process.seen = process.seen.max(now);
        }
    }

    /// The process ends in order: whatever ends it then, nothing that is under way is to blame.
    pub fn leave(&mut self) {
        self.process = None;
        self.folders.values_mut().for_each(|folder| folder.turn = None);
        self.folders.retain(|_, folder| folder.suspect.deaths > 0);
    }

    /// Whether the process has left, or none has come.
    pub const fn is_left(&self) -> bool {
        self.process.is_none()
    }
}

impl Process {
    /// What its death says against the folder that it tried: how often the turn, doubled, fits into its life.
    fn evidence(&self, begun: Timestamp) -> u32 {
        let lived = self.seen.duration_since(self.since).as_millis();
        let ran = self.seen.duration_since(begun).max(BEAT).as_millis();
        (lived / ran).max(1).ilog2().min(MOST_EVIDENCE)
    }
}

impl Suspect {
    const fn is_beyond_chance(self) -> bool {
        self.evidence >= BEYOND_CHANCE
    }

    /// How long a process lives before it tries it: what only was under way at a death, behind the others at once.
    const fn pause(self) -> SignedDuration {
        let minute = 60;
        SignedDuration::from_secs(match (self.deaths, self.evidence) {
            (0 | 1, _) => 0,
            (_, 0) => 10,
            (_, 1) => 20,
            (_, 2) => 40,
            (_, 3) => minute,
            (_, 4..BEYOND_CHANCE) => 2 * minute,
            (_, BEYOND_CHANCE..=21) => 4 * minute,
            (_, 22..=26) => 8 * minute,
            _ => 16 * minute,
        })
    }
}
