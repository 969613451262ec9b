//! What hyper lets through in the head of a request and this server does not, because a proxy before it may read it
//! otherwise: lines that end in a bare line feed; a body whose length is said in two ways; and a host that is named twice,
//! not at all, or as several.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::http::header::HOST;
use axum::http::uri::Authority;
use axum::http::{Request, Version};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// As much of a line is kept as tells what it says of the body.
const LINE_BYTES: usize = 128;

/// Whether a request names one host: of HTTP/1.0 alone it need not name any. A target that is a whole URL names the same.
pub(super) fn names_one_host<B>(request: &Request<B>) -> bool {
    let mut hosts = request.headers().get_all(HOST).iter();
    let target = request.uri().authority();
    match (hosts.next(), hosts.next()) {
        (None, _) => request.version() < Version::HTTP_11 && target.is_none(),
        (Some(host), None) => {
            let fits = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._:[]".contains(byte);
            let is_one = !host.is_empty() && host.as_bytes().iter().all(fits);
            let is_it = |target: &Authority| target.as_str().as_bytes().eq_ignore_ascii_case(host.as_bytes());
            is_one && target.is_none_or(is_it)
        }
        (Some(_), Some(_)) => false,
    }
}

/// A connection in whose heads a line feed that hyper should not take is read as a byte that no head may have, so that hyper
/// refuses it.
pub(super) struct Strict<S> {
    stream: S,
    reading: RequestReading,
}

impl<S> Strict<S> {
    pub(super) fn new(stream: S) -> Self {
        Self { stream, reading: RequestReading::default() }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Strict<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        ready!(Pin::new(&mut this.stream).poll_read(context, buffer))?;
        for byte in buffer.filled_mut().iter_mut().skip(before) {
            if this.reading.take(*byte) != ByteVerdict::Well {
                *byte = 0;
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Strict<S> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write_vectored(context, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

/// What a byte is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ByteVerdict {
    /// Nothing to object to.
    Well,
    /// A line feed without a carriage return before it, where lines are read.
    BareLineFeed,
    /// The end of a head that says in two ways where the body ends: hyper believes `Transfer-Encoding`, others may not.
    TwoLengths,
}

/// Where in its requests a connection is.
#[derive(Debug, Default)]
struct RequestReading {
    at: HeadPosition,
    /// The line so far.
    line: Vec<u8>,
    /// The byte before.
    last: u8,
    /// Whether a line of this head was read: empty ones before it are passed over.
    began: bool,
    /// What this head says of the body.
    body_bytes: Option<u64>,
    is_chunked: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum HeadPosition {
    #[default]
    Head,
    /// In a body of so many bytes more.
    Body(u64),
    /// In the line that says how long a chunk is.
    ChunkSize,
    /// In a chunk of so many bytes more, its end of line included.
    Chunk(u64),
    /// Behind the last chunk.
    Trailer,
}

impl RequestReading {
    fn take(&mut self, byte: u8) -> ByteVerdict {
        let last = std::mem::replace(&mut self.last, byte);
        match self.at {
            HeadPosition::Body(left) => {
                self.at = if left <= 1 { self.next_head() } else { HeadPosition::Body(left - 1) };
                return ByteVerdict::Well;
            }
            HeadPosition::Chunk(left) => {
                self.at = if left <= 1 { HeadPosition::ChunkSize } else { HeadPosition::Chunk(left - 1) };
                return ByteVerdict::Well;
            }
            HeadPosition::Head | HeadPosition::ChunkSize | HeadPosition::Trailer => {}
        }
        if byte != b'\n' {
            if self.line.len() < LINE_BYTES {
                self.line.push(byte);
            }
            return ByteVerdict::Well;
        }
        if last != b'\r' {
            return ByteVerdict::BareLineFeed;
        }
        let line = std::mem::take(&mut self.line);
        let line = line.strip_suffix(b"\r").unwrap_or(&line);
        let ends_head = self.at == HeadPosition::Head && self.began && line.is_empty();
        let has_two = ends_head && self.is_chunked && self.body_bytes.is_some();
        self.end_line(line);
        if has_two { ByteVerdict::TwoLengths } else { ByteVerdict::Well }
    }

    fn end_line(&mut self, line: &[u8]) {
        match self.at {
            HeadPosition::Head if line.is_empty() && self.began => {
                self.at = match (self.is_chunked, self.body_bytes.unwrap_or_default()) {
                    (true, _) => HeadPosition::ChunkSize,
                    (false, 0) => self.next_head(),
                    (false, bytes) => HeadPosition::Body(bytes),
                };
            }
            HeadPosition::Head if line.is_empty() => {}
            HeadPosition::Head => {
                self.began = true;
                self.read_header(line);
            }
            HeadPosition::ChunkSize => {
                let size = line.split(|byte| !byte.is_ascii_hexdigit()).next().unwrap_or_default();
                let size = std::str::from_utf8(size).ok().and_then(|size| u64::from_str_radix(size, 16).ok());
                self.at = match size.unwrap_or(0) {
                    0 => HeadPosition::Trailer,
                    size => HeadPosition::Chunk(size.saturating_add(2)),
                };
            }
            HeadPosition::Trailer if line.is_empty() => self.at = self.next_head(),
            HeadPosition::Trailer | HeadPosition::Body(_) | HeadPosition::Chunk(_) => {}
        }
    }

    fn read_header(&mut self, line: &[u8]) {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { return };
        let (name, value) = line.split_at(colon);
        let value = value.get(1..).unwrap_or_default().trim_ascii();
        if name.eq_ignore_ascii_case(b"transfer-encoding") {
            self.is_chunked = true;
        } else if name.eq_ignore_ascii_case(b"content-length") {
            // hyper refuses a value that is not a number.
            let bytes = std::str::from_utf8(value).ok().and_then(|value| value.parse().ok());
            self.body_bytes = Some(bytes.unwrap_or(0));
        }
    }

    fn next_head(&mut self) -> HeadPosition {
        (self.began, self.body_bytes, self.is_chunked) = (false, None, false);
        HeadPosition::Head
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bare(bytes: &[u8]) -> Vec<usize> {
        let mut reading = RequestReading::default();
        let taken = bytes.iter().enumerate().map(|(at, byte)| (at, reading.take(*byte)));
        taken.filter(|(_, taken)| *taken == ByteVerdict::BareLineFeed).map(|(at, _)| at).collect()
    }

    #[test]
    fn bare_line_feeds_are_found_in_heads_and_nowhere_else() {
        let next = "GET / HTTP/1.1\nHost: bot\r\n\r\n";
        for (before, name) in [
            ("", "at once"),
            ("\r\n", "behind an empty line"),
            ("GET / HTTP/1.1\r\nHost: bot\r\n\r\n", "behind a request without a body"),
            ("POST / HTTP/1.1\r\nContent-Length: 4\r\n\r\n\n\n\n\n", "behind a body"),
            ("POST / HTTP/1.1\r\ncontent-length:4\r\n\r\n\r\n\r\n", "behind a body of lines"),
            (
                "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\n\n\n\n\r\na\r\n0123456\n89\r\n0\r\nA: b\r\n\r\n",
                "behind chunks",
            ),
        ] {
            assert_eq!(bare(before.as_bytes()), Vec::<usize>::new(), "{name}");
            let found = bare(format!("{before}{next}").as_bytes());
            assert_eq!(found, [before.len() + next.find('\n').unwrap()], "{name}");
        }
        assert_eq!(bare(b"GET / HTTP/1.1\r\nHost: bot\n\n"), [25, 26]);
        assert_eq!(bare(b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\nabc"), [48]);
    }

    #[test]
    fn a_head_that_says_two_lengths_does_not_end() {
        let (length, chunks) = ("content-length: 5\r\n", "Transfer-Encoding: chunked\r\n");
        let body = "\r\n0\r\n\r\n";
        let ends = |text: &str| {
            let mut reading = RequestReading::default();
            text.bytes().any(|byte| reading.take(byte) == ByteVerdict::TwoLengths)
        };
        let begins = "GET / HTTP/1.1\r\nHost: bot\r\n\r\nPOST / HTTP/1.1\r\n";
        for both in [format!("{length}{chunks}"), format!("{chunks}{length}")] {
            assert!(ends(&format!("{begins}{both}{body}")), "{both}");
        }
        for one in [length, chunks] {
            assert!(!ends(&format!("{begins}{one}{body}")), "{one}");
        }
        // One of each, in two requests.
        assert!(!ends(&format!("POST / HTTP/1.1\r\n{length}\r\n12345POST / HTTP/1.1\r\n{chunks}{body}")));
    }
}
