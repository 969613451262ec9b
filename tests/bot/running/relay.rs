//! A wire between two programs that can be cut: what is said over it waits, or is lost with the connection.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::time::Duration;

/// Where the wire leads.
pub(super) enum Far {
    /// To a program on a socket in the file system.
    Socket(PathBuf),
    /// To one of several that do the same, in turn; one that does not answer is passed over.
    OneOf(Vec<SocketAddr>),
}

/// How the wire is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Wire {
    Whole = 0,
    /// Nothing arrives, and neither side gets an error.
    Silent = 1,
    /// Connections break, and no new one is made.
    Broken = 2,
}

pub(super) struct Relay {
    pub(super) address: SocketAddr,
    wire: Arc<AtomicU8>,
}

impl Relay {
    pub(super) fn to(far: Far) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let wire = Arc::new(AtomicU8::new(0));
        let here = Arc::clone(&wire);
        // Both end with the process of the test.
        std::thread::spawn(move || {
            let turn = AtomicUsize::new(0);
            for near in listener.incoming().flatten() {
                await_wire(&here, Wire::Silent);
                if is(&here, Wire::Broken) {
                    continue;
                }
                match &far {
                    Far::Socket(path) => {
                        if let Ok(far) = UnixStream::connect(path) {
                            join(near, far, &here);
                        }
                    }
                    Far::OneOf(all) => {
                        let first = turn.fetch_add(1, Ordering::Relaxed);
                        let in_turn = (0..all.len()).map(|n| all[(first + n) % all.len()]);
                        if let Some(far) = in_turn.flat_map(TcpStream::connect).next() {
                            join(near, far, &here);
                        }
                    }
                }
            }
        });
        Self { address, wire }
    }

    pub(super) fn be(&self, wire: Wire) {
        self.wire.store(wire as u8, Ordering::SeqCst);
    }
}

fn is(state: &AtomicU8, wire: Wire) -> bool {
    state.load(Ordering::SeqCst) == wire as u8
}

fn await_wire(state: &AtomicU8, wire: Wire) {
    while is(state, wire) {
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// What both kinds of connections can do.
trait End: Read + Write + Sized + Send + 'static {
    fn another(&self) -> Self;
    fn impatient(&self);
    fn hang_up(&self);
}

macro_rules! end {
    ($kind:ty) => {
        impl End for $kind {
            fn another(&self) -> Self {
                self.try_clone().unwrap()
            }
            fn impatient(&self) {
                self.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
            }
            fn hang_up(&self) {
                self.shutdown(Shutdown::Both).ok();
            }
        }
    };
}

end!(TcpStream);
end!(UnixStream);

fn join(near: impl End, far: impl End, wire: &Arc<AtomicU8>) {
    carry(near.another(), far.another(), Arc::clone(wire));
    carry(far, near, Arc::clone(wire));
}

fn carry(mut from: impl End, mut to: impl End, wire: Arc<AtomicU8>) {
    from.impatient();
    std::thread::spawn(move || {
        let mut bytes = [0; 16 << 10];
        loop {
            let read = match from.read(&mut bytes) {
                Ok(0) => break,
                Ok(read) => read,
                Err(error)
                    if matches!(
                        error.kind(),
                        std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut
                    ) =>
                {
                    0
                }
                Err(_) => break,
            };
            await_wire(&wire, Wire::Silent);
            if is(&wire, Wire::Broken) || to.write_all(&bytes[..read]).is_err() {
                break;
            }
        }
        from.hang_up();
        to.hang_up();
    });
}
