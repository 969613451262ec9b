//! What the check says of services inside a cluster: which are switched on or off, and what changes in each.

use super::markdown::{Page, code, more_below, more_items, prose};
use super::tables;
use capstan_model::wording::count;
use capstan_plan::settings::ServiceRole;
use capstan_plan::upgrade::Change;
use serde::{Deserialize, Serialize};

/// Bytes that the changes of a service need; with less room the list above names it.
const LEAST_OF_A_SERVICE: usize = 600;
/// Characters of each note.
const LONGEST_NOTE: usize = 1_200;

/// Changes of one service between two trees.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JudgedService {
    pub name: String,
    /// What it is for.
    pub role: ServiceRole,
    /// Whether it is on after the change, if that differs.
    pub is_on: Option<bool>,
    /// Difference of its rendered objects.
    pub changes: Vec<Change>,
    /// Notes for the person who merges, in sentences.
    #[serde(default, rename = "told")]
    pub notes: Vec<String>,
}

impl JudgedService {
    /// How many changes it counts as.
    pub(super) fn count(&self) -> usize {
        self.changes.len() + usize::from(self.is_on.is_some())
    }

    fn line(&self) -> String {
        let name = code(&self.name, 80);
        let switched = match self.is_on {
            Some(true) => Some("it comes"),
            Some(false) => Some("it goes"),
            None => None,
        };
        let changes = (!self.changes.is_empty()).then(|| count(self.changes.len(), "change", "changes"));
        let mut said: Vec<&str> = switched.into_iter().chain(changes.as_deref()).collect();
        if said.is_empty() {
            said.push("its entry changes");
        }
        let notes: String =
            self.notes.iter().map(|note| format!(". **Note:** {}", prose(note, LONGEST_NOTE))).collect();
        format!("- {name} ({}): {}{notes}\n", self.role, said.join(", "))
    }
}

/// Appends these sections, in at most `room` bytes.
pub(super) fn sections(page: &mut Page, services: &[JudgedService], room: usize) {
    if services.is_empty() {
        return;
    }
    let lines: Vec<String> = services.iter().map(JudgedService::line).collect();
    page.section("\nServices inside it:\n\n", &lines, room / 4, |left| {
        more_items(left, "service", "services")
    });
    let end = page.free().saturating_sub(room - room / 4);
    let changed: Vec<&JudgedService> = services.iter().filter(|one| !one.changes.is_empty()).collect();
    for (at, service) in changed.iter().enumerate() {
        let left = changed.len() - at;
        let free = page.free().saturating_sub(end);
        if free < LEAST_OF_A_SERVICE {
            page.push(&more_below(left, "service", "services"));
            break;
        }
        let share = (free / left).max(LEAST_OF_A_SERVICE);
        let title = format!("\nChanges of {}:\n\n", code(&service.name, 80));
        tables::differences_table(&service.changes).push(page, &title, share, "`capstan diff`");
    }
}

#[cfg(test)]
mod tests {
    use super::{JudgedService, Page, sections};
    use crate::body::tests::change;
    use capstan_plan::settings::ServiceRole;
    use serde_json::json;

    /// An equal part of the room is less than a table takes, and all small tables fit in it together.
    #[test]
    fn small_services_are_all_shown_and_large_ones_leave_room_for_the_next() {
        let service = |at: usize, changes: usize| JudgedService {
            name: format!("service-{at}"),
            role: ServiceRole::Cni,
            is_on: None,
            changes: (0..changes).map(|at| change(&format!("/spec/f{at}"), json!(1), json!(2))).collect(),
            notes: Vec::new(),
        };
        for (changes, shown) in [([1; 6], 6), ([200, 1, 1, 1, 1, 1], 6), ([200; 6], 5)] {
            let services: Vec<JudgedService> =
                changes.into_iter().enumerate().map(|(at, changes)| service(at, changes)).collect();
            let mut page = Page::new(10_000);
            sections(&mut page, &services, 4_000);
            let text = page.finish();
            assert_eq!(text.matches("\nChanges of ").count(), shown, "{text}");
            assert!(text.len() <= 4_000, "{}", text.len());
        }
    }
}
