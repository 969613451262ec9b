//! Lines and columns of a text's bytes, for people.

pub use capstan_model::finding::Position;

/// Line and column of a byte offset of a text that is not kept.
pub(super) fn position_in(text: &str, offset: usize) -> Position {
    let before = &text[..floor_boundary(text, offset)];
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    place(before.bytes().filter(|byte| *byte == b'\n').count() + 1, &before[start..])
}

/// The position behind the text `before` of a line.
pub(super) fn place(line: usize, before: &str) -> Position {
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    Position { line: number(line), column: number(before.trim_start_matches('\u{feff}').chars().count() + 1) }
}

/// The offset, or the start of the character that it is in; past the end it is the end.
pub(super) fn floor_boundary(text: &str, offset: usize) -> usize {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}
