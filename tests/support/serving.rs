//! A server that answers as a test says, or never.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// The same answer to every question: see [`serve_each`].
///
/// # Panics
/// The machine has no port.
pub fn serve(body: Option<String>) -> String {
    serve_each(move |_| body.clone())
}

/// `127.0.0.1:PORT` of a server that answers the nth question, counted from 0, with 200 and this body. With `None` it takes
/// the question, and never answers. It ends with the test's process.
///
/// # Panics
/// The machine has no port.
pub fn serve_each(answers: impl Fn(usize) -> Option<String> + Send + Sync + 'static) -> String {
    start(move |nth| answers(nth).map(|body| (200, body))).0
}

/// `127.0.0.1:PORT` of a server that answers every question with this status, and how many questions came.
///
/// # Panics
/// The machine has no port.
pub fn serve_status(status: u16) -> (String, Arc<AtomicUsize>) {
    start(move |_| Some((status, String::new())))
}

fn start(
    answers: impl Fn(usize) -> Option<(u16, String)> + Send + Sync + 'static,
) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = listener.local_addr().unwrap().to_string();
    let (answers, asked) = (Arc::new(answers), Arc::new(AtomicUsize::new(0)));
    let count = Arc::clone(&asked);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (answers, asked) = (Arc::clone(&answers), Arc::clone(&asked));
            // The other side may be gone.
            thread::spawn(move || answer(stream, || answers(asked.fetch_add(1, Ordering::SeqCst))).ok());
        }
    });
    (host, count)
}

fn answer(mut stream: TcpStream, given: impl FnOnce() -> Option<(u16, String)>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let lines = reader.by_ref().lines().map_while(Result::ok);
    let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
    let length =
        |line: &String| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse::<usize>().ok();
    reader.read_exact(&mut vec![0; head.iter().filter_map(length).sum()])?;
    match given() {
        Some((status, body)) => {
            let head = format!("HTTP/1.1 {status} -\r\ncontent-type: application/json\r\nconnection: close");
            write!(stream, "{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len())
        }
        // Until the other side goes.
        None => reader.read_to_end(&mut Vec::new()).map(drop),
    }
}
