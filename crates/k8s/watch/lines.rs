//! A body cut into lines as it arrives.

use http_body_util::BodyExt;
use kube::client::Body;

/// A longer line is not metadata of an object (etcd's limit bounds those).
const LONGEST_LINE: usize = 16 << 20;

/// The lines of a body that continues for long.
pub(super) struct BodyLines {
    body: Body,
    buffer: Vec<u8>,
    /// Up to where the buffer was looked through.
    searched: usize,
}

/// The body ended in another way than at its end.
#[derive(Debug)]
pub(super) struct BrokenBody;

impl BodyLines {
    pub(super) fn new(body: Body) -> Self {
        Self { body, buffer: Vec::new(), searched: 0 }
    }

    /// The next line without its end; `None` at the end of the body (a line begun is dropped).
    pub(super) async fn next(&mut self) -> Option<Result<Vec<u8>, BrokenBody>> {
        loop {
            if let Some(length) = self.buffer[self.searched..].iter().position(|byte| *byte == b'\n') {
                let rest = self.buffer.split_off(self.searched + length + 1);
                let mut line = std::mem::replace(&mut self.buffer, rest);
                line.pop();
                self.searched = 0;
                return Some(Ok(line));
            }
            self.searched = self.buffer.len();
            if self.searched > LONGEST_LINE {
                return Some(Err(BrokenBody));
            }
            match self.body.frame().await? {
                Ok(frame) => {
                    if let Some(data) = frame.data_ref() {
                        self.buffer.extend_from_slice(data);
                    }
                }
                Err(_) => return Some(Err(BrokenBody)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn lines_are_cut_where_they_end() {
        let mut lines = BodyLines::new(Body::from(b"one\n\ntwo\nthr".to_vec()));
        assert_eq!(lines.next().await.unwrap().unwrap(), b"one");
        assert_eq!(lines.next().await.unwrap().unwrap(), b"");
        assert_eq!(lines.next().await.unwrap().unwrap(), b"two");
        assert!(lines.next().await.is_none());
    }

    #[tokio::test]
    async fn a_line_without_end_is_not_read_to_its_end() {
        let line = |length: usize, end: &str| Body::from([vec![b'x'; length], end.into()].concat());
        let longest = BodyLines::new(line(16_777_216, "\n")).next().await.unwrap().unwrap();
        assert_eq!(longest.len(), 16_777_216);
        assert!(BodyLines::new(line(16_777_217, "")).next().await.unwrap().is_err());
    }
}
