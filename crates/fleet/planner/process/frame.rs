//! Frames: the length of a message in bytes, four of them, the highest first, and the message as MessagePack with the
//! names of fields: most of it is texts, which JSON would escape.

use std::io::{self, Read, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// A question is at most this long, in bytes: it may hold all files of an old release.
pub const LONGEST_REQUEST: u32 = 256 << 20;

/// A part of an answer is at most this long, in bytes: a repository's whole plan comes in many, and the bot may have to
/// hold some of each process.
pub const LONGEST_RESPONSE: u32 = 32 << 20;

/// Room that is made for a message before it comes, in bytes: for most, all of it.
const ROOM: usize = 64 << 10;

/// So deep a message may be nested: values of objects are, 200 deep.
const MOST_NESTED: usize = 2_000;

/// A message as a frame of at most `longest` bytes.
///
/// # Errors
/// A message that is too long.
pub fn encode(message: &impl Serialize, longest: u32) -> io::Result<Vec<u8>> {
    let mut frame = Vec::with_capacity(16 << 10);
    frame.extend([0; 4]);
    rmp_serde::encode::write_named(&mut frame, message).map_err(io::Error::other)?;
    let length = u32::try_from(frame.len() - 4).ok().filter(|length| *length <= longest);
    let length = length.ok_or_else(|| {
        io::Error::other(format!("the message has more than the allowed {} MiB", longest >> 20))
    })?;
    frame[..4].copy_from_slice(&length.to_be_bytes());
    Ok(frame)
}

/// Writes a frame at once.
///
/// # Errors
/// The writer's.
pub fn write(to: &mut impl Write, frame: &[u8]) -> io::Result<()> {
    to.write_all(frame)?;
    to.flush()
}

/// Whether bytes that came begin with a whole frame.
pub fn is_whole(came: &[u8]) -> bool {
    let length = came.first_chunk().map(|length| u32::from_be_bytes(*length) as usize);
    length.is_some_and(|length| came.len() - 4 >= length)
}

/// Reads a frame's message of at most `longest` bytes, not decoded yet; `None` where the input ends before it.
///
/// # Errors
/// The reader's; an end in the middle of a frame; a length that no message has.
pub fn read(from: &mut impl Read, longest: u32) -> io::Result<Option<Vec<u8>>> {
    let mut length = [0; 4];
    match from.read_exact(&mut length) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    let length = u32::from_be_bytes(length);
    if length > longest {
        return Err(io::Error::other(format!("{length} bytes are not a message")));
    }
    // What was promised may never come: beyond some room, more is made for what does.
    let mut message = Vec::with_capacity((length as usize).min(ROOM));
    let read = from.take(length.into()).read_to_end(&mut message)?;
    if read != length as usize {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(Some(message))
}

/// A message from what a frame holds.
///
/// # Errors
/// No such message.
pub fn decode<T: DeserializeOwned>(message: &[u8]) -> io::Result<T> {
    let mut deserializer = rmp_serde::Deserializer::from_read_ref(message);
    // Values of manifests may be nested deeply; budgets bound how deep.
    deserializer.set_max_depth(MOST_NESTED);
    T::deserialize(&mut deserializer).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_arrive_unchanged_and_broken_ones_are_reported() {
        let deep = (0..300).fold(serde_json::json!(0.1), |value, _| serde_json::json!([value]));
        let mut sent = encode(&deep, 1_000).unwrap();
        sent.extend(encode(&"second", 1_000).unwrap());
        let mut from = sent.as_slice();
        assert_eq!(decode::<serde_json::Value>(&read(&mut from, 1_000).unwrap().unwrap()).unwrap(), deep);
        assert_eq!(decode::<String>(&read(&mut from, 1_000).unwrap().unwrap()).unwrap(), "second");
        assert!(read(&mut from, 1_000).unwrap().is_none());
        assert!(is_whole(&sent) && !is_whole(&sent[..20]) && !is_whole(&sent[..3]) && is_whole(&[0; 4]));
        assert!(read(&mut &sent[..20], 1_000).is_err(), "an end in the middle");
        assert!(read(&mut sent.as_slice(), 300).is_err(), "a length that no message has");
        assert!(encode(&deep, 300).is_err());
    }
}
