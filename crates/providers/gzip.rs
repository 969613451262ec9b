//! Unpacking gzip, up to a bound: a few kilobytes can ask for gigabytes.

use flate2::{Decompress, FlushDecompress, Status};

/// Bytes that components may have: as many as a text that is read.
pub(crate) const UNPACKED_BYTES: usize = capstan_yaml::limits::BYTES;

/// Bytes that are unpacked at once.
const STEP: usize = 256 << 10;

/// The window of every gzip file (RFC 1951).
const WINDOW_BITS: u8 = 15;

/// Why something is not unpacked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GzipError {
    /// It is not gzip, or its content does not fit its checksum.
    Malformed,
    /// It ends before its end.
    Cut,
    /// It unpacks to more than the bound.
    TooLarge,
}

/// Unpacks all members of a gzip file, one behind the other, as Go's reader does.
pub(crate) fn unpack(packed: &[u8], most: usize) -> Result<Vec<u8>, GzipError> {
    let mut unpacked = Vec::new();
    let mut rest = packed;
    if rest.is_empty() {
        return Err(GzipError::Malformed);
    }
    while !rest.is_empty() {
        let mut member = Decompress::new_gzip(WINDOW_BITS);
        loop {
            let begin = usize::try_from(member.total_in()).map_err(|_| GzipError::TooLarge)?;
            let input = rest.get(begin..).unwrap_or_default();
            let (read, made) = (member.total_in(), member.total_out());
            unpacked.reserve(STEP);
            let status = member
                .decompress_vec(input, &mut unpacked, FlushDecompress::None)
                .map_err(|_| GzipError::Malformed)?;
            if unpacked.len() > most {
                return Err(GzipError::TooLarge);
            }
            if status == Status::StreamEnd {
                break;
            }
            if (read, made) == (member.total_in(), member.total_out()) {
                return Err(GzipError::Cut);
            }
        }
        let end = usize::try_from(member.total_in()).map_err(|_| GzipError::TooLarge)?;
        rest = rest.get(end..).unwrap_or_default();
    }
    Ok(unpacked)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn packed_data_is_unpacked_and_other_data_is_recognised() {
        let text = b"kind: Namespace\n".repeat(100_000);
        let whole = packed(&text);
        assert_eq!(unpack(&whole, text.len()), Ok(text.clone()));
        assert_eq!(
            unpack(&[whole.clone(), packed(b"more")].concat(), 1 << 30),
            Ok([&text[..], b"more"].concat())
        );
        assert_eq!(unpack(&packed(b""), 1), Ok(Vec::new()));
        assert_eq!(unpack(&whole[..whole.len() - 9], 1 << 30), Err(GzipError::Cut));
        assert_eq!(unpack(&whole[..5], 1 << 30), Err(GzipError::Cut));
        assert_eq!(unpack(b"kind: Namespace", 1 << 30), Err(GzipError::Malformed));
        assert_eq!(unpack(b"", 1 << 30), Err(GzipError::Malformed));
        assert_eq!(unpack(&[&whole[..], b"garbage"].concat(), 1 << 30), Err(GzipError::Malformed));
        let mut other = whole.clone();
        *other.last_mut().unwrap() ^= 1;
        assert_eq!(unpack(&other, 1 << 30), Err(GzipError::Malformed));
    }

    /// A gigabyte of zeros packs into a megabyte; nothing of that size is ever in memory.
    #[test]
    fn a_bomb_is_left_at_the_bound() {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        let block = vec![b'a'; 1 << 20];
        for _ in 0..1024 {
            encoder.write_all(&block).unwrap();
        }
        assert_eq!(unpack(&encoder.finish().unwrap(), UNPACKED_BYTES), Err(GzipError::TooLarge));
    }
}
