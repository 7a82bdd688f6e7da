//! What haft says, read by the thread that carries it out: handing it over from a thread that only reads would cost each
//! call of a script another wake. While a script runs, the engine looks here now and then, since it may be to stop.

use crate::wire::Order;
use serde::Deserialize;
use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    io::{self, Read as _},
    mem,
    process::exit,
    time::{Duration, Instant},
};

/// A longer order isn't one.
const ORDER_MAX_BYTES: usize = 64 << 20;
/// While so much waits here, the rest waits in the pipe, an order to stop too. A script's calls give far less at once.
const WAITING_MAX_BYTES: usize = 64 << 20;
/// How much is read at once.
const PIECE_BYTES: usize = 64 * 1024;
/// At most so often a look is taken at what came in while a script runs.
const LOOK_TIME: Duration = Duration::from_millis(1);
/// How the orders begin that most are: more of them needn't be known before the engine reads them.
const ANSWER: &[u8] = br#"{"do":"answer","#;
/// The exit of a child that was told what isn't in the language.
const NOT_UNDERSTOOD_EXIT: i32 = 3;

/// Waits, at most so long, until standard input has something or has ended; whether it does.
pub(super) type HasInput = fn(Duration) -> bool;

/// What came in.
#[derive(Debug)]
pub(super) enum Incoming {
    /// For the engine.
    Order(Box<Order>),
    /// For what stands around the script, as it came.
    Raw(Vec<u8>),
}

impl Incoming {
    /// What it takes while it waits. Of orders to the engine there are one or two in a child's life.
    fn bytes(&self) -> usize {
        match self {
            Self::Order(_) => 0,
            Self::Raw(line) => line.len(),
        }
    }
}

/// Standard input as orders. Where it has ended haft is gone, and so is the child.
pub(super) struct Intake {
    has_input: HasInput,
    lines: RefCell<Lines>,
    piece: RefCell<Box<[u8]>>,
    looked: Cell<Instant>,
    is_stop_due: Cell<bool>,
    was_stop_asked: Cell<bool>,
}

impl Intake {
    pub(super) fn new(has_input: HasInput) -> Self {
        Self {
            has_input,
            lines: RefCell::default(),
            piece: RefCell::new(vec![0; PIECE_BYTES].into_boxed_slice()),
            looked: Cell::new(Instant::now()),
            is_stop_due: Cell::default(),
            was_stop_asked: Cell::default(),
        }
    }

    /// What comes next.
    pub(super) fn wait(&self) -> Incoming {
        loop {
            if let Some(incoming) = self.take() {
                return incoming;
            }
            self.read();
        }
    }

    /// What comes next, where it comes within so long.
    pub(super) fn wait_for(&self, most: Duration) -> Option<Incoming> {
        let began = Instant::now();
        loop {
            let incoming = self.take();
            if incoming.is_some() {
                return incoming;
            }
            if !(self.has_input)(most.saturating_sub(began.elapsed())) {
                return None;
            }
            self.read();
        }
    }

    /// Whether to interrupt now; true once.
    pub(super) fn is_stop_due(&self) -> bool {
        self.look();
        self.is_stop_due.take()
    }

    /// Whether a stop was asked for at any time.
    pub(super) fn was_stop_asked(&self) -> bool {
        self.look();
        self.was_stop_asked.get()
    }

    /// Reads what is there, unless it was just done.
    fn look(&self) {
        if self.looked.get().elapsed() < LOOK_TIME {
            return;
        }
        while self.has_room() && (self.has_input)(Duration::ZERO) {
            self.read();
        }
        self.looked.set(Instant::now());
    }

    fn take(&self) -> Option<Incoming> {
        self.lines.borrow_mut().take()
    }

    fn has_room(&self) -> bool {
        self.lines.borrow().has_room()
    }

    /// Waits for something to be there, and reads it.
    fn read(&self) {
        let mut piece = self.piece.borrow_mut();
        let count = match io::stdin().lock().read(&mut piece) {
            Ok(0) => exit(0),
            Ok(count) => count,
            Err(fault) if fault.kind() == io::ErrorKind::Interrupted => return,
            Err(_) => exit(0),
        };
        match self.lines.borrow_mut().push(piece.get(..count).unwrap_or_default()) {
            Ok(Stop::Asked) => {
                self.was_stop_asked.set(true);
                self.is_stop_due.set(true);
            }
            Ok(Stop::NotAsked) => {}
            Err(NotUnderstood) => exit(NOT_UNDERSTOOD_EXIT),
        }
    }
}

/// Orders put together from what is read.
#[derive(Debug, Default)]
struct Lines {
    /// A line that hasn't ended.
    begun: Vec<u8>,
    waiting: VecDeque<Incoming>,
    /// What waits, in bytes.
    waiting_bytes: usize,
}

/// Whether an order to stop is among what was read.
#[derive(Debug, PartialEq, Eq)]
enum Stop {
    Asked,
    NotAsked,
}

/// What was read isn't in the language.
#[derive(Debug, PartialEq, Eq)]
struct NotUnderstood;

impl Lines {
    fn push(&mut self, piece: &[u8]) -> Result<Stop, NotUnderstood> {
        let mut stop = Stop::NotAsked;
        for part in piece.split_inclusive(|byte| *byte == b'\n') {
            self.begun.extend_from_slice(part);
            if self.begun.len() > ORDER_MAX_BYTES {
                return Err(NotUnderstood);
            }
            if !part.ends_with(b"\n") {
                break;
            }
            let incoming = understood(mem::take(&mut self.begun))?;
            if matches!(&incoming, Incoming::Order(order) if matches!(**order, Order::Stop)) {
                stop = Stop::Asked;
            }
            self.waiting_bytes = self.waiting_bytes.saturating_add(incoming.bytes());
            self.waiting.push_back(incoming);
        }
        Ok(stop)
    }

    fn take(&mut self) -> Option<Incoming> {
        let incoming = self.waiting.pop_front()?;
        self.waiting_bytes = self.waiting_bytes.saturating_sub(incoming.bytes());
        Some(incoming)
    }

    fn has_room(&self) -> bool {
        self.waiting_bytes < WAITING_MAX_BYTES
    }
}

#[derive(Deserialize)]
struct Head {
    #[serde(rename = "do")]
    what: String,
}

fn understood(line: Vec<u8>) -> Result<Incoming, NotUnderstood> {
    if line.starts_with(ANSWER) {
        return Ok(Incoming::Raw(line));
    }
    let head: Head = serde_json::from_slice(&line).map_err(|_| NotUnderstood)?;
    match head.what.as_str() {
        "run" | "save" | "load" | "stop" => {
            let order = serde_json::from_slice(&line).map_err(|_| NotUnderstood)?;
            Ok(Incoming::Order(Box::new(order)))
        }
        _ => Ok(Incoming::Raw(line)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(lines: &mut Lines) -> Option<String> {
        match lines.take()? {
            Incoming::Raw(line) => Some(String::from_utf8(line).unwrap()),
            Incoming::Order(order) => panic!("{order:?}"),
        }
    }

    #[test]
    fn orders_are_whole_lines_however_they_are_cut() {
        let said = "{\"do\":\"answer\",\"id\":1,\"value\":\"ä\"}\n{\"do\":\"end\"}\n";
        for size in 1..said.len() {
            let mut lines = Lines::default();
            for piece in said.as_bytes().chunks(size) {
                assert_eq!(lines.push(piece), Ok(Stop::NotAsked));
            }
            assert_eq!(raw(&mut lines).unwrap(), "{\"do\":\"answer\",\"id\":1,\"value\":\"ä\"}\n");
            assert_eq!(raw(&mut lines).unwrap(), "{\"do\":\"end\"}\n");
            assert!(lines.waiting.is_empty() && lines.begun.is_empty());
        }
    }

    #[test]
    fn answers_are_known_by_how_they_begin() {
        let answer = serde_json::to_vec(&Order::answer(1, Ok(1.into()))).unwrap();
        assert!(answer.starts_with(ANSWER));
    }

    #[test]
    fn a_stop_is_seen_at_once_and_keeps_its_place() {
        let mut lines = Lines::default();
        let said = b"{\"do\":\"answer\",\"id\":1,\"value\":1}\n{\"do\":\"stop\"}\n{\"do\":\"en";
        assert_eq!(lines.push(said), Ok(Stop::Asked));
        assert!(raw(&mut lines).is_some());
        assert!(matches!(lines.take(), Some(Incoming::Order(order)) if matches!(*order, Order::Stop)));
        assert_eq!(lines.push(b"d\"}\n"), Ok(Stop::NotAsked));
        assert!(raw(&mut lines).is_some());
    }

    #[test]
    fn a_stop_is_read_behind_the_answers_to_all_calls_of_a_script_that_is_busy() {
        let mut lines = Lines::default();
        for id in 0..1_000 {
            assert!(lines.has_room());
            let answer = serde_json::to_vec(&Order::answer(id, Ok("x".repeat(1_000).into()))).unwrap();
            assert_eq!(lines.push(&answer), Ok(Stop::NotAsked));
            assert_eq!(lines.push(b"\n"), Ok(Stop::NotAsked));
        }
        assert!(lines.has_room());
        assert_eq!(lines.push(b"{\"do\":\"stop\"}\n"), Ok(Stop::Asked));
    }

    #[test]
    fn what_waits_is_bounded_by_its_bytes() {
        let mut lines = Lines::default();
        let answer =
            format!("{{\"do\":\"answer\",\"id\":1,\"value\":\"{}\"}}\n", "x".repeat(WAITING_MAX_BYTES / 2));
        for _ in 0..2 {
            assert!(lines.has_room());
            assert_eq!(lines.push(answer.as_bytes()), Ok(Stop::NotAsked));
        }
        assert!(!lines.has_room());
        assert!(raw(&mut lines).is_some() && lines.has_room());
        assert!(raw(&mut lines).is_some() && lines.waiting_bytes == 0);
    }

    #[test]
    fn what_is_no_order_is_told_from_one() {
        for said in ["[]\n", "\n", "{\"do\":1}\n", "{\"do\":\"run\"}\n", "{\"do\":\"answer\"\n", "nothing\n"]
        {
            assert_eq!(Lines::default().push(said.as_bytes()), Err(NotUnderstood), "{said}");
        }
        assert_eq!(Lines::default().push(b"{\"do\":\"a\xff\"}\n"), Err(NotUnderstood));
        let mut lines = Lines { begun: vec![b' '; ORDER_MAX_BYTES], ..Lines::default() };
        assert_eq!(lines.push(b" "), Err(NotUnderstood));
    }
}
