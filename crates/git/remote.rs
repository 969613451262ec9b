//! Git over HTTP: gix' client, asked within the rules of `capstan_outbound`.
//!
//! gix by itself would follow to any host. Here nobody is followed beyond scheme, host and port of the remote, so that a
//! token never leaves it; and an answer ends, whatever the other side does.

use std::any::Any;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::sync::Arc;
use std::time::{Duration, Instant};

use capstan_model::wording::with_causes;
use capstan_outbound::{MOST_REDIRECTS, OutboundError, within_origin};
use gix::protocol::transport::client::blocking_io::http::{
    self, GetResponse, Http, PostBodyDataKind, PostResponse,
};
use url::Url;

type Client = http::reqwest::Remote;
type RemoteResult<T> = Result<T, gix::Error>;

/// The most bytes of a handshake: what the server can do, and of an old one every reference.
const HANDSHAKE_BYTES: u64 = 32 << 20;

/// A server that says nothing for that long is given up.
pub(super) const STALLED: Duration = Duration::from_secs(60);

/// What an answer may cost.
#[derive(Debug, Clone, Copy)]
pub(super) struct RemoteBounds {
    /// The most bytes of it; of a handshake less.
    pub(super) bytes: u64,
    /// How long it may take from the question to its last byte.
    pub(super) within: Duration,
}

/// A remote over HTTP.
pub(super) struct HttpRemote {
    client: Client,
    /// As sentences begin.
    host: Arc<str>,
    bounds: RemoteBounds,
    /// Where it led, without the end that Git puts to it.
    base: Option<String>,
}

impl HttpRemote {
    pub(super) fn new(host: &str, bounds: RemoteBounds) -> Self {
        Self { client: Client::default(), host: host.into(), bounds, base: None }
    }

    fn ending<A>(&self, answer: A, bounds: RemoteBounds, until: Instant) -> EndingAnswer<A> {
        EndingAnswer { answer, host: Arc::clone(&self.host), taken: 0, bounds, until }
    }
}

impl Http for HttpRemote {
    type Headers = Box<dyn BufRead + Send + Unpin>;
    type ResponseBody = EndingAnswer<<Client as Http>::ResponseBody>;
    type PostBody = <Client as Http>::PostBody;

    fn get(
        &mut self,
        url: &str,
        base_url: &str,
        headers: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> RemoteResult<GetResponse<Self::Headers, Self::ResponseBody>> {
        let sent: Vec<String> = headers.into_iter().map(|header| header.as_ref().to_owned()).collect();
        let bounds = RemoteBounds { bytes: self.bounds.bytes.min(HANDSHAKE_BYTES), ..self.bounds };
        let until = Instant::now() + bounds.within;
        let (mut url, mut base) = (url.to_owned(), base_url.to_owned());
        let mut redirects = 0..MOST_REDIRECTS;
        loop {
            let GetResponse { mut headers, body } = self.client.get(&url, &base, &sent)?;
            let body = self.ending(body, bounds, until);
            let mut read = Vec::new();
            if let Err(error) = headers.read_to_end(&mut read) {
                // The reader of the headers distinguishes an error status.
                let failed = MissingHeaders(Some(sanitize(&self.host, error)));
                return Ok(GetResponse { headers: Box::new(BufReader::new(failed)), body });
            }
            let Some(location) = leads(&read) else {
                return Ok(GetResponse { headers: Box::new(Cursor::new(read)), body });
            };
            let next = redirects.next().and_then(|_| led_to(&url, &base, &location));
            let Some((next, next_base)) = next else {
                let reason = "it redirects to another server, to something that is not a repository, or too often, and Capstan does not follow: give the address of the repository itself";
                return Err(gix::Error::from_error(gix::error::message(reason)));
            };
            self.base = Some(next_base.clone());
            (url, base) = (next, next_base);
        }
    }

    fn post(
        &mut self,
        url: &str,
        base_url: &str,
        headers: impl IntoIterator<Item = impl AsRef<str>>,
        kind: PostBodyDataKind,
    ) -> RemoteResult<PostResponse<Self::Headers, Self::ResponseBody, Self::PostBody>> {
        let until = Instant::now() + self.bounds.within;
        let PostResponse { post_body, headers, body } = self.client.post(url, base_url, headers, kind)?;
        let body = self.ending(body, self.bounds, until);
        let headers = self.ending(headers, self.bounds, until);
        Ok(PostResponse { post_body, headers: Box::new(headers), body })
    }

    fn configure(&mut self, config: &dyn Any) -> RemoteResult<()> {
        self.client.configure(config)
    }

    fn redirected_base_url(&self) -> Option<String> {
        self.base.clone()
    }
}

/// The reason why headers are not an answer of Git's: the status is not passed on.
fn leads(headers: &[u8]) -> Option<String> {
    let headers = String::from_utf8_lossy(headers);
    let value = |wanted: &str| {
        let named = headers.lines().filter_map(|line| line.split_once(':'));
        let mut values = named.filter(|(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, value)| value);
        values.next().map(|value| value.trim().to_owned())
    };
    let is_git = value("content-type").is_some_and(|kind| kind.starts_with("application/x-git-"));
    value("location").filter(|_| !is_git)
}

/// The address to which `url` is led, and its beginning there; it has to end in the same way.
fn led_to(url: &str, base: &str, location: &str) -> Option<(String, String)> {
    let end = url.strip_prefix(base)?;
    let next = String::from(within_origin(&Url::parse(url).ok()?, location)?);
    let base = next.strip_suffix(end)?.to_owned();
    Some((next, base))
}

/// A failure of the client's as a kind, without a word that the other side chose; the rest is in the log. What else failed
/// stays as it is, a status above all.
fn sanitize(host: &str, error: io::Error) -> io::Error {
    let trouble = error.get_ref().and_then(|inner| match inner.downcast_ref::<gix::Error>() {
        Some(several) => several.iter_errors().find_map(|error| OutboundError::of_client(error, STALLED)),
        None => OutboundError::of_client(inner, STALLED),
    });
    let Some(trouble) = trouble else { return error };
    tracing::debug!(error = %with_causes(&error), "a Git request failed");
    io::Error::other(format!("{host} {trouble}"))
}

/// Headers that did not come.
struct MissingHeaders(Option<io::Error>);

impl Read for MissingHeaders {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}

/// An answer that ends.
pub(super) struct EndingAnswer<A> {
    answer: A,
    host: Arc<str>,
    taken: u64,
    bounds: RemoteBounds,
    until: Instant,
}

impl<A> EndingAnswer<A> {
    fn check(&self) -> io::Result<()> {
        if Instant::now() > self.until {
            let seconds = self.bounds.within.as_secs();
            return Err(io::Error::other(format!("{} does not answer within {seconds} s", self.host)));
        }
        if self.taken > self.bounds.bytes {
            return Err(io::Error::other(format!(
                "{} answers with more than {} bytes",
                self.host, self.bounds.bytes
            )));
        }
        Ok(())
    }
}

impl<A: Read> Read for EndingAnswer<A> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.check()?;
        let count = self.answer.read(buffer).map_err(|error| sanitize(&self.host, error))?;
        self.taken += count as u64;
        Ok(count)
    }
}

impl<A: BufRead> BufRead for EndingAnswer<A> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.check()?;
        self.answer.fill_buf().map_err(|error| sanitize(&self.host, error))
    }

    fn consume(&mut self, count: usize) {
        self.taken += count as u64;
        self.answer.consume(count);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::net::{TcpListener, TcpStream};
    use std::sync::Mutex;
    use std::thread;

    use secrecy::SecretString;

    use super::*;
    use crate::access::RemoteCredential;
    use crate::fetch::{FetchFailure, resolve_branch};

    const TIP: &str = "9d1f000000000000000000000000000000000000";
    const END: &str = "/info/refs?service=git-upload-pack";

    /// A server that has `/new.git`, leads from some paths elsewhere, and never ends `/endless.git`.
    struct Server {
        port: u16,
        /// Method and path, and whether a token came along.
        asked: Arc<Mutex<Vec<(String, bool)>>>,
    }

    impl Server {
        fn start(leads: Vec<(&'static str, String)>) -> Self {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let (port, asked) = (listener.local_addr().unwrap().port(), Arc::<Mutex<Vec<_>>>::default());
            let noted = Arc::clone(&asked);
            thread::spawn(move || {
                for stream in listener.incoming() {
                    let (noted, leads) = (Arc::clone(&noted), leads.clone());
                    thread::spawn(move || answer(stream.unwrap(), &noted, &leads));
                }
            });
            Self { port, asked }
        }

        fn ask(&self, path: &str, access: &RemoteCredential) -> Result<String, String> {
            match resolve_branch(&format!("http://127.0.0.1:{}{path}", self.port), access, "main") {
                Ok(tip) => Ok(tip.unwrap().to_string()),
                Err(FetchFailure::Remote(reason)) => Err(reason),
                Err(other) => Err(format!("another failure: {other}")),
            }
        }

        fn take_asked(&self) -> Vec<(String, bool)> {
            std::mem::take(&mut self.asked.lock().unwrap())
        }
    }

    /// Unknown capabilities of so many bytes in all.
    fn filling(mut bytes: usize) -> String {
        let mut text = String::with_capacity(bytes);
        while bytes > 0 {
            // None is as short as the head of a packet.
            let next = if bytes > 50_000 { 40_000 } else { bytes };
            text.push_str(&format!("{next:04x}{}\n", "x".repeat(next - 5)));
            bytes -= next;
        }
        text
    }

    fn answer(mut stream: TcpStream, noted: &Mutex<Vec<(String, bool)>>, leads: &[(&str, String)]) {
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let lines = reader.by_ref().lines().map_while(Result::ok);
        let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
        let value = |name: &str| {
            let named = head.iter().filter_map(|line| line.split_once(": "));
            named.filter(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value).next()
        };
        let length = value("content-length").map_or(0, |value| value.parse().unwrap());
        reader.read_exact(&mut vec![0; length]).unwrap();
        let asked = head[0].trim_end_matches(" HTTP/1.1").to_owned();
        noted.lock().unwrap().push((asked.clone(), value("authorization").is_some()));

        let packet = |line: &str| format!("{:04x}{line}", line.len() + 4);
        let said = |kind: &str, text: &str| {
            let kind = format!("content-type: application/x-git-upload-pack-{kind}");
            format!("HTTP/1.1 200 OK\r\n{kind}\r\nconnection: close\r\n\r\n{text}")
        };
        let begins = format!("{}0000{}", packet("# service=git-upload-pack\n"), packet("version 2\n"));
        let led = leads.iter().find(|(path, _)| asked == format!("GET {path}{END}"));
        let text = match led {
            Some((_, location)) => {
                let location = format!("location: {location}\r\ncontent-length: 0");
                format!("HTTP/1.1 301 Moved\r\n{location}\r\nconnection: close\r\n\r\n")
            }
            None if asked.starts_with("GET /endless.git") => {
                let mut text = said("advertisement", &begins);
                let more = packet(&format!("{}\n", "x".repeat(60_000)));
                while stream.write_all(text.as_bytes()).is_ok() {
                    text.clone_from(&more);
                }
                return;
            }
            None if asked.starts_with("GET ") => {
                let can = packet("ls-refs\n") + &packet("fetch=shallow\n");
                let rest = format!("{can}0000");
                let whole = match asked {
                    _ if asked.starts_with("GET /large.git") => 33_554_432,
                    _ if asked.starts_with("GET /larger.git") => 33_554_433,
                    _ => 0,
                };
                let more = filling(usize::saturating_sub(whole, begins.len() + rest.len()));
                said("advertisement", &format!("{begins}{more}{rest}"))
            }
            None => said("result", &format!("{}0000", packet(&format!("{TIP} refs/heads/main\n")))),
        };
        stream.write_all(text.as_bytes()).unwrap();
    }

    #[test]
    fn nobody_is_followed_to_another_server_with_a_token_or_without() {
        let other = Server::start(Vec::new());
        let server = Server::start(vec![
            ("/old.git", format!("/new.git{END}")),
            ("/older.git", format!("/old.git{END}")),
            ("/elsewhere.git", format!("http://127.0.0.1:{}/new.git{END}", other.port)),
            ("/by-another-name.git", format!("http://localhost:{}/new.git{END}", other.port)),
            ("/metadata.git", format!("http://169.254.169.254/new.git{END}")),
            ("/round.git", format!("/round.git{END}")),
            ("/another-end.git", "/latest/meta-data".to_owned()),
            ("/3.git", format!("/older.git{END}")),
            ("/4.git", format!("/3.git{END}")),
            ("/5.git", format!("/4.git{END}")),
            ("/6.git", format!("/5.git{END}")),
        ]);
        let token = RemoteCredential::token(&SecretString::from("s3cret"));
        for (access, has_token) in [(RemoteCredential::Public, false), (token, true)] {
            for path in ["/new.git", "/old.git", "/older.git", "/5.git"] {
                assert_eq!(server.ask(path, &access).as_deref(), Ok(TIP), "{path} {access:?}");
                let asked = server.take_asked();
                let last = [format!("GET /new.git{END}"), "POST /new.git/git-upload-pack".to_owned()];
                assert!(asked.ends_with(&last.map(|asked| (asked, has_token))), "{asked:?}");
            }
            for (path, questions) in [
                ("/elsewhere.git", 1),
                ("/by-another-name.git", 1),
                ("/metadata.git", 1),
                ("/another-end.git", 1),
                ("/round.git", 6),
                ("/6.git", 6),
            ] {
                let reason = server.ask(path, &access).unwrap_err();
                assert!(reason.contains("give the address of the repository itself"), "{path}: {reason}");
                assert!(!reason.contains("new.git"), "it quotes where it leads: {reason}");
                assert_eq!(server.take_asked().len(), questions, "{path}");
            }
        }
        assert_eq!(other.take_asked(), []);
    }

    #[test]
    fn a_failure_says_its_kind_and_no_word_of_the_other_side() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let ask = |scheme: &str| {
            let asked = resolve_branch(
                &format!("{scheme}://127.0.0.1:{port}/a.git"),
                &RemoteCredential::Public,
                "main",
            );
            asked.unwrap_err().to_string()
        };
        let speaking = thread::spawn(move || {
            for _ in 0..2 {
                let (mut stream, _) = listener.accept().unwrap();
                stream.write_all(b"220 inside.example ESMTP\r\n").unwrap();
                let _rest = stream.read(&mut [0; 4_096]);
            }
        });
        for (scheme, expected) in [
            ("http", "breaks off"),
            ("https", "does not speak TLS, or only versions that Capstan does not accept"),
        ] {
            let reason = ask(scheme);
            assert!(reason.ends_with(&format!("127.0.0.1:{port} {expected}")), "{reason}");
            assert!(!reason.contains("inside"), "{reason}");
        }
        speaking.join().unwrap();
        let reason = ask("http");
        assert!(reason.ends_with("refuses the connection"), "{reason}");
    }

    #[test]
    fn a_handshake_is_read_up_to_its_bound_and_no_further() {
        let server = Server::start(Vec::new());
        assert_eq!(server.ask("/large.git", &RemoteCredential::Public).as_deref(), Ok(TIP));
        for path in ["/larger.git", "/endless.git"] {
            let reason = server.ask(path, &RemoteCredential::Public).unwrap_err();
            let told = format!("127.0.0.1:{} answers with more than 33554432 bytes", server.port);
            assert!(reason.ends_with(&told), "{path}: {reason}");
        }
    }

    #[test]
    fn an_answer_ends_by_bytes_and_by_time() {
        let ending = |bytes, until| {
            let bounds = RemoteBounds { bytes, within: Duration::from_secs(7) };
            let mut text = String::new();
            let mut answer =
                HttpRemote::new("git.example.com", bounds).ending(Cursor::new("ten bytes."), bounds, until);
            answer.read_to_string(&mut text).map(|_| text).map_err(|error| error.to_string())
        };
        let later = Instant::now() + Duration::from_secs(3_600);
        assert_eq!(ending(10, later).as_deref(), Ok("ten bytes."));
        assert_eq!(ending(9, later).unwrap_err(), "git.example.com answers with more than 9 bytes");
        let before = Instant::now().checked_sub(Duration::from_millis(1)).unwrap();
        assert_eq!(ending(10, before).unwrap_err(), "git.example.com does not answer within 7 s");
    }
}
