//! What ties a running command to who goes on with it: further input, its process id, whether it is silent.
//!
//! Who started the command holds one end, [`crate::Processes`] the other. Keeps the invariant that what waits for a
//! command that doesn't read is bounded.

use crate::{Failure, FailureKind, Survivor};
use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::sync::{Notify, watch};

/// Longest line that may be written in pieces.
const UNFINISHED_MAX_BYTES: usize = 2 << 20;
/// How much input waits for a command that doesn't read it.
const WAITING_MAX_BYTES: usize = 1 << 20;

/// Both ends in one; cheap to clone.
#[derive(Clone)]
pub struct Tether(Arc<Inner>);

struct Inner {
    takes_input: bool,
    input: Mutex<Waiting>,
    arrived: Notify,
    /// Something was taken, or nothing will be any more.
    taken: Notify,
    known: watch::Sender<Known>,
}

/// Input that the command hasn't taken yet.
#[derive(Default)]
struct Waiting {
    pieces: VecDeque<Vec<u8>>,
    /// With what is on its way already.
    bytes: usize,
    end: Option<InputEnd>,
    /// What was written since the last line break.
    unfinished: Vec<u8>,
}

/// Why no more input is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InputEnd {
    /// Who goes on with the command said so.
    Closed,
    /// The command did.
    Refused,
}

/// What is known of the command.
#[derive(Debug, Clone, Default)]
struct Known {
    pid: Option<i32>,
    quiet: Option<Quiet>,
}

/// A tree of processes that prints nothing and uses no processor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quiet {
    /// For how long, when it was noticed.
    pub time: Duration,
    /// Those that others would have to end before it goes on; at most four are named.
    pub waiting: Vec<Survivor>,
}

impl fmt::Display for Quiet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (time, unit) = match self.time.as_secs() {
            0 => (self.time.as_millis(), "ms"),
            seconds => (u128::from(seconds), "s"),
        };
        write!(
            f,
            "it has printed nothing for {time} {unit} and used no processor meanwhile; it may be waiting for input"
        )?;
        for (at, process) in self.waiting.iter().enumerate() {
            let before = if at == 0 { ": " } else { ", " };
            write!(f, "{before}{} (pid {})", process.name, process.pid)?;
        }
        Ok(())
    }
}

impl Tether {
    /// One whose command has its standard input open for [`Tether::write`].
    pub fn open() -> Self {
        Self::new(true)
    }

    /// One whose command gets no further input.
    pub fn closed() -> Self {
        Self::new(false)
    }

    fn new(takes_input: bool) -> Self {
        Self(Arc::new(Inner {
            takes_input,
            input: Mutex::default(),
            arrived: Notify::new(),
            taken: Notify::new(),
            known: watch::Sender::new(Known::default()),
        }))
    }

    /// Whether the command's standard input is open from its start.
    pub fn takes_input(&self) -> bool {
        self.0.takes_input
    }

    /// Gives the command further input.
    ///
    /// # Errors
    /// A conflict where its input is closed; unavailable where too much waits already.
    pub fn write(&self, bytes: Vec<u8>) -> Result<(), Failure> {
        let mut input = self.input();
        self.refusal(&input)?;
        if input.bytes.saturating_add(bytes.len()) > WAITING_MAX_BYTES {
            return Err(Failure::new(
                FailureKind::Unavailable,
                format!(
                    "{} bytes wait already for the command to read them, so nothing more was written; wait until it \
                     reads, or give less",
                    input.bytes
                ),
            ));
        }
        let unfinished = match bytes.iter().rposition(|byte| matches!(byte, b'\n' | b'\r')) {
            Some(end) => bytes.get(end + 1..).unwrap_or_default().to_vec(),
            None => [input.unfinished.as_slice(), bytes.as_slice()].concat(),
        };
        if unfinished.len() > UNFINISHED_MAX_BYTES {
            return Err(Failure::invalid(format!(
                "a line of input may have at most {UNFINISHED_MAX_BYTES} bytes; nothing more was written. Write its end \
                 with a line break first"
            )));
        }
        input.unfinished = unfinished;
        input.bytes = input.bytes.saturating_add(bytes.len());
        input.pieces.push_back(bytes);
        drop(input);
        self.0.arrived.notify_one();
        Ok(())
    }

    /// What was written since the last line break: whoever reads lines sees it as one with what comes next.
    pub fn unfinished(&self) -> String {
        String::from_utf8_lossy(&self.input().unfinished).into_owned()
    }

    /// As [`Tether::write`], once there is room for it; one that is longer than may wait goes alone.
    ///
    /// # Errors
    /// A conflict where its input is closed, also while this waits.
    ///
    /// # Cancellation
    /// All of it was given, or nothing.
    pub async fn write_in_turn(&self, bytes: Vec<u8>) -> Result<(), Failure> {
        loop {
            // Made before looking, so that room that comes in between wakes it.
            let taken = self.0.taken.notified();
            {
                let mut input = self.input();
                self.refusal(&input)?;
                let after = input.bytes.saturating_add(bytes.len());
                if input.bytes == 0 || after <= WAITING_MAX_BYTES {
                    input.bytes = after;
                    input.pieces.push_back(bytes);
                    drop(input);
                    self.0.arrived.notify_one();
                    return Ok(());
                }
            }
            taken.await;
        }
    }

    /// Ends the input once all that waits is read.
    ///
    /// # Errors
    /// A conflict where it is closed already.
    pub fn close(&self) -> Result<(), Failure> {
        let mut input = self.input();
        self.refusal(&input)?;
        input.end = Some(InputEnd::Closed);
        drop(input);
        self.0.arrived.notify_one();
        Ok(())
    }

    /// How many bytes the command hasn't taken yet.
    pub fn waiting(&self) -> usize {
        self.input().bytes
    }

    fn refusal(&self, input: &Waiting) -> Result<(), Failure> {
        let why = match (self.0.takes_input, input.end) {
            (true, None) => return Ok(()),
            (false, _) => "the command was started without input",
            (true, Some(InputEnd::Closed)) => "its input was closed before",
            (true, Some(InputEnd::Refused)) => "the command closed its input",
        };
        Err(Failure::conflict(format!(
            "nothing was written: {why}. To talk to a command, start it with background=true (and pty=true where it \
             wants a terminal)"
        )))
    }

    /// The command's first process, once it runs.
    pub fn pid(&self) -> Option<i32> {
        self.0.known.borrow().pid
    }

    /// Waits until the command runs.
    ///
    /// # Cancellation
    /// Safe.
    pub async fn running(&self) {
        // The sender lives as long as this.
        let _ = self.0.known.subscribe().wait_for(|known| known.pid.is_some()).await;
    }

    /// What is known of its silence; none where it prints or works.
    pub fn quiet(&self) -> Option<Quiet> {
        self.0.known.borrow().quiet.clone()
    }

    /// Waits until it is found to be silent.
    ///
    /// # Cancellation
    /// Safe.
    pub async fn silent(&self) -> Quiet {
        loop {
            let mut known = self.0.known.subscribe();
            let found = known.wait_for(|known| known.quiet.is_some()).await;
            if let Some(quiet) = found.ok().and_then(|known| known.quiet.clone()) {
                return quiet;
            }
        }
    }
}

/// For those who run the command.
impl Tether {
    /// Says that it runs.
    pub fn has_started(&self, pid: i32) {
        self.0.known.send_modify(|known| known.pid = Some(pid));
    }

    /// Says that it is silent, or no longer.
    pub fn set_quiet(&self, quiet: Option<Quiet>) {
        self.0.known.send_modify(|known| known.quiet = quiet);
    }

    /// The next input; none once it is closed.
    ///
    /// # Cancellation
    /// Nothing is lost when the future is dropped.
    pub async fn next_input(&self) -> Option<Vec<u8>> {
        loop {
            {
                let mut input = self.input();
                if let Some(piece) = input.pieces.pop_front() {
                    return Some(piece);
                }
                if input.end.is_some() {
                    return None;
                }
            }
            self.0.arrived.notified().await;
        }
    }

    /// Says that the command has taken so many bytes.
    pub fn has_taken(&self, count: usize) {
        let mut input = self.input();
        input.bytes = input.bytes.saturating_sub(count);
        drop(input);
        self.0.taken.notify_waiters();
    }

    /// Says that the command takes no more input; what waits is dropped.
    pub fn refuse(&self) {
        let mut input = self.input();
        input.pieces.clear();
        input.bytes = 0;
        input.end.get_or_insert(InputEnd::Refused);
        drop(input);
        self.0.taken.notify_waiters();
    }

    fn input(&self) -> MutexGuard<'_, Waiting> {
        self.0.input.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Tether {
    /// Without the input, which may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tether").field("known", &*self.0.known.borrow()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        pin::{Pin, pin},
        task::{Context, Poll, Waker},
    };

    #[test]
    fn silence_names_who_waits() {
        let waiting = vec![Survivor { pid: 7, name: "cat".to_owned() }];
        let quiet = Quiet { time: Duration::from_secs(31), waiting };
        let text = quiet.to_string();
        assert!(text.contains("nothing for 31 s") && text.ends_with("for input: cat (pid 7)"), "{text}");
    }

    #[test]
    fn input_that_nobody_reads_is_bounded_and_a_closed_one_says_why() {
        let tether = Tether::open();
        tether.write(vec![b'x'; WAITING_MAX_BYTES]).unwrap();
        let full = tether.write(b"y".to_vec()).unwrap_err();
        assert_eq!((full.kind, tether.waiting()), (FailureKind::Unavailable, WAITING_MAX_BYTES));
        tether.has_taken(WAITING_MAX_BYTES);
        tether.write(b"y".to_vec()).unwrap();
        tether.close().unwrap();
        assert!(tether.write(b"z".to_vec()).unwrap_err().text.contains("closed before"));
        assert!(Tether::closed().write(b"z".to_vec()).unwrap_err().text.contains("without input"));
        let refused = Tether::open();
        refused.refuse();
        assert!(refused.close().unwrap_err().text.contains("the command closed its input"));
    }

    /// One look at a future.
    fn look<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
        future.poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn input_given_in_turn_waits_for_room_and_for_nothing_that_has_ended() {
        let tether = Tether::open();
        let mut first = pin!(tether.write_in_turn(vec![b'x'; 2 * WAITING_MAX_BYTES]));
        assert!(matches!(look(first.as_mut()), Poll::Ready(Ok(()))), "alone it may be of any length");
        let mut second = pin!(tether.write_in_turn(b"y".to_vec()));
        assert!(look(second.as_mut()).is_pending());
        tether.has_taken(2 * WAITING_MAX_BYTES);
        assert!(matches!(look(second.as_mut()), Poll::Ready(Ok(()))));
        let mut third = pin!(tether.write_in_turn(vec![b'z'; WAITING_MAX_BYTES]));
        assert!(look(third.as_mut()).is_pending());
        tether.refuse();
        assert!(
            matches!(look(third.as_mut()), Poll::Ready(Err(why)) if why.text.contains("closed its input"))
        );
    }
}
