//! The columns of the fleet's table: which of them say something, and how each is sorted by.

use capstan_ports::{ClusterOrder, SortKey};

use super::row::Row;

/// The order of a page whose address names none.
const USUAL: ClusterOrder = ClusterOrder { key: SortKey::Need, is_reversed: false };

/// A column: the word above it, what it is sorted by, and whether a row says something in it.
type FleetColumn = (&'static str, SortKey, fn(&Row<'_>) -> bool);

/// The columns, in their order.
const COLUMNS: [FleetColumn; 9] = [
    ("Cluster", SortKey::Cluster, |_| true),
    ("State", SortKey::Need, |_| true),
    ("Kubernetes", SortKey::Kubernetes, |row| row.kubernetes.is_some() || row.kubernetes_offered.is_some()),
    ("Release", SortKey::Release, |row| row.is_at_known || row.to.is_some()),
    ("Since", SortKey::Since, |row| row.since.is_some()),
    ("Wave", SortKey::Wave, |row| row.wave.is_some()),
    ("Machines", SortKey::Machines, |row| row.machines.is_some()),
    ("Proposal", SortKey::Proposal, |row| row.proposal.is_some()),
    ("Check", SortKey::Check, |row| row.check.is_some()),
];

/// The head of a column.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Heading {
    pub(super) name: &'static str,
    /// Where the list is sorted by it; the other way round where it is already.
    pub(super) url: String,
    /// `ascending` or `descending`, where the list is sorted by it.
    pub(super) sorted: Option<&'static str>,
}

/// The columns that are shown: those in which any row says something.
pub(super) fn headings(
    rows: &[Row<'_>],
    order: ClusterOrder,
    link: impl Fn(ClusterOrder) -> String,
) -> Vec<Heading> {
    let shown = COLUMNS.iter().filter(|(_, _, says)| rows.iter().any(says));
    let heading = |(name, key, _): &FleetColumn| {
        let is_current = *key == order.key;
        Heading {
            name,
            url: link(ClusterOrder { key: *key, is_reversed: is_current && !order.is_reversed }),
            sorted: is_current.then_some(if order.is_reversed { "descending" } else { "ascending" }),
        }
    };
    shown.map(heading).collect()
}

/// Reads the order from an address: `kubernetes`, or `-kubernetes` for the reverse. Any other text is the
/// usual order.
pub(super) fn order_of(text: &str) -> ClusterOrder {
    let (word, is_reversed) = text.strip_prefix('-').map_or((text, false), |word| (word, true));
    let key = SortKey::ALL.into_iter().find(|key| key.as_str() == word);
    key.map_or(USUAL, |key| ClusterOrder { key, is_reversed })
}

/// As an address has it; empty for the usual one.
pub(super) fn order_in_address(order: ClusterOrder) -> String {
    if order == USUAL {
        return String::new();
    }
    format!("{}{}", if order.is_reversed { "-" } else { "" }, order.key.as_str())
}

/// What a row is listed under, where the order has such: its customer, which is the folder that it is in, or its wave.
pub(super) fn group_of(row: &Row<'_>, order: ClusterOrder) -> Option<String> {
    match order.key {
        SortKey::Cluster => {
            let customer = row.target.rsplit_once('/').map_or("no folder", |(folder, _)| folder);
            Some(format!("{customer} in {}", row.repository))
        }
        SortKey::Wave => {
            Some(row.wave.map_or_else(|| "In no wave".to_owned(), |wave| format!("Wave {wave}")))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_read_from_an_address_and_written_back() {
        let order = |key, is_reversed| ClusterOrder { key, is_reversed };
        for (text, expected, written) in [
            ("", order(SortKey::Need, false), ""),
            ("need", order(SortKey::Need, false), ""),
            ("-need", order(SortKey::Need, true), "-need"),
            ("kubernetes", order(SortKey::Kubernetes, false), "kubernetes"),
            ("-since", order(SortKey::Since, true), "-since"),
            ("t.state; DROP TABLE jobs", order(SortKey::Need, false), ""),
            ("-", order(SortKey::Need, false), ""),
        ] {
            assert_eq!(order_of(text), expected, "{text}");
            assert_eq!(order_in_address(expected), written, "{text}");
        }
    }

    #[test]
    fn a_column_in_which_no_row_says_anything_is_not_shown() {
        let row = Row { target: "gauss/peu01", repository: "acme/gitops", ..Row::default() };
        let order = ClusterOrder { key: SortKey::Wave, is_reversed: false };
        let names = |rows: &[Row<'_>]| -> Vec<&str> {
            headings(rows, order, order_in_address).into_iter().map(|heading| heading.name).collect()
        };
        assert_eq!(names(std::slice::from_ref(&row)), ["Cluster", "State"]);
        let with = Row { wave: Some("canary"), proposal: Some((String::new(), 12)), ..Row::default() };
        assert_eq!(names(&[row, with]), ["Cluster", "State", "Wave", "Proposal"]);
    }

    #[test]
    fn a_second_press_turns_the_order_round() {
        let rows = [Row { wave: Some("canary"), ..Row::default() }];
        let by_wave = |is_reversed| {
            let order = ClusterOrder { key: SortKey::Wave, is_reversed };
            headings(&rows, order, order_in_address).pop().unwrap()
        };
        let heading = |url: &str, sorted| Heading { name: "Wave", url: url.to_owned(), sorted: Some(sorted) };
        assert_eq!(by_wave(false), heading("-wave", "ascending"));
        assert_eq!(by_wave(true), heading("wave", "descending"));
    }

    #[test]
    fn rows_are_listed_under_their_customer_or_wave() {
        let row = Row { target: "gauss/eu/peu01", repository: "acme/gitops", ..Row::default() };
        let top = Row { target: "peu01", wave: Some("canary"), ..row.clone() };
        let by = |key| ClusterOrder { key, is_reversed: false };
        assert_eq!(group_of(&row, by(SortKey::Cluster)).as_deref(), Some("gauss/eu in acme/gitops"));
        assert_eq!(group_of(&top, by(SortKey::Cluster)).as_deref(), Some("no folder in acme/gitops"));
        assert_eq!(group_of(&row, by(SortKey::Wave)).as_deref(), Some("In no wave"));
        assert_eq!(group_of(&top, by(SortKey::Wave)).as_deref(), Some("Wave canary"));
        assert_eq!(group_of(&row, by(SortKey::Need)), None);
    }
}
