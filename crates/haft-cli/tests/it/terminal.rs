//! Questions at a real terminal, answered by what is typed there.

use crate::place::{Place, Ran, ended};
use rustix::{
    fs::OFlags,
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
};
use std::{
    fs::{File, OpenOptions},
    io::{Read, Write},
    os::unix::fs::OpenOptionsExt,
    process::{Child, Command, Stdio},
    sync::mpsc::{self, Receiver},
    time::Duration,
};

const WRITE: &str = r#"{"path":"a.txt","content":"new\n"}"#;
/// The end of the line that asks.
const MENU: &str = "deny with feedback > ";
/// Only a fault takes that long.
const SHOWN_WITHIN: Duration = Duration::from_secs(60);

/// A terminal with a person at it.
struct Terminal {
    keys: File,
    /// The other end, kept open for what is typed before a program runs.
    line: Option<File>,
    pieces: Receiver<Vec<u8>>,
    seen: String,
}

impl Terminal {
    fn new() -> Self {
        let main = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&main).unwrap();
        unlockpt(&main).unwrap();
        let name = ptsname(&main, Vec::<u8>::new()).unwrap().into_string().unwrap();
        let line =
            OpenOptions::new().read(true).write(true).custom_flags(no_controlling()).open(name).unwrap();
        let keys = File::from(main);
        let mut screen = keys.try_clone().unwrap();
        let (sender, pieces) = mpsc::channel();
        // Apart, so that waiting for a text can have an end.
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(len @ 1..) = screen.read(&mut bytes) {
                if sender.send(bytes[..len].to_vec()).is_err() {
                    break;
                }
            }
        });
        Self { keys, line: Some(line), pieces, seen: String::new() }
    }

    /// Starts a program whose input and error stream are this terminal.
    fn start(&mut self, mut command: Command) -> Child {
        let line = self.line.take().unwrap();
        command.env("NO_COLOR", "1").stdin(line.try_clone().unwrap()).stderr(line).stdout(Stdio::piped());
        command.spawn().unwrap()
    }

    fn key_in(&mut self, text: &str) {
        self.keys.write_all(text.as_bytes()).unwrap();
    }

    /// Waits until a text is shown and gives all that was shown up to its end since the last time.
    #[track_caller]
    fn until(&mut self, text: &str) -> String {
        loop {
            if let Some(at) = self.seen.find(text) {
                let rest = self.seen.split_off(at + text.len());
                return std::mem::replace(&mut self.seen, rest);
            }
            match self.pieces.recv_timeout(SHOWN_WITHIN) {
                Ok(piece) => self.seen.push_str(&String::from_utf8_lossy(&piece)),
                Err(error) => panic!("{text:?} isn't shown ({error}): {}", self.seen),
            }
        }
    }
}

impl Terminal {
    /// All that is shown until nobody has the terminal any more.
    fn rest(self) -> String {
        let mut seen = self.seen;
        while let Ok(piece) = self.pieces.recv_timeout(SHOWN_WITHIN) {
            seen.push_str(&String::from_utf8_lossy(&piece));
        }
        seen
    }
}

/// The test doesn't take the terminal for its own.
fn no_controlling() -> i32 {
    i32::try_from(OFlags::NOCTTY.bits()).unwrap()
}

/// Starts a call that asks, types what is given once it has asked, and waits for its end.
fn answered(place: &Place, typed: &str) -> (Ran, String) {
    let mut terminal = Terminal::new();
    let child = terminal.start(place.command(&["call", "--json", "write", WRITE]));
    let shown = terminal.until(MENU);
    terminal.key_in(typed);
    (ended(child), shown)
}

#[test]
fn what_was_typed_before_the_question_is_no_answer() {
    let place = Place::new();
    let mut terminal = Terminal::new();
    terminal.key_in("o\ny\n");
    // Its echo says that it is in the terminal's queue.
    terminal.until("y\r\n");
    let child = terminal.start(place.command(&["call", "--json", "write", WRITE]));
    terminal.until(MENU);
    terminal.key_in("d\n");
    let ran = ended(child).with(3).json();
    assert_eq!(ran["outcome"], "denied");
    assert_eq!(place.read("a.txt"), None);
}

#[test]
fn a_fresh_answer_allows_and_a_call_has_no_session_to_offer() {
    let place = Place::new();
    let (ran, shown) = answered(&place, "o\n");
    assert_eq!(ran.with(0).json()["outcome"], "completed");
    assert_eq!(place.read("a.txt").as_deref(), Some("new\n"));
    assert!(shown.contains("[o]nce") && !shown.contains("[s]ession"), "{shown}");
}

#[test]
fn feedback_comes_with_the_denial() {
    let place = Place::new();
    for typed in ["f use b.txt\n", "f\nuse b.txt\n"] {
        let (ran, _) = answered(&place, typed);
        assert_eq!(ran.with(3).json()["denied"]["feedback"], "use b.txt");
        assert_eq!(place.read("a.txt"), None);
    }
}

#[test]
fn an_answer_for_the_session_settles_the_next_call_too() {
    let place = Place::new();
    let write = |content: &str| {
        format!(
            r#"{{"text": "", "calls": [{{"tool": "write", "input": {{"path": "a.txt", "content": "{content}"}}}}]}}"#
        )
    };
    place.write("turns.jsonl", &format!("{}\n{}\n{{\"text\": \"done\"}}\n", write("one"), write("two")));
    let mut terminal = Terminal::new();
    let child = terminal.start(place.command(&["run", "--model", "scripted:turns.jsonl", "go"]));
    let shown = terminal.until(MENU);
    assert!(shown.contains("[s]ession"), "{shown}");
    terminal.key_in("s\n");
    terminal.until("completed");
    let shown = terminal.until("completed");
    assert!(!shown.contains("[o]nce"), "{shown}");
    let ran = ended(child).with(0);
    assert!(ran.out.contains("done"), "{ran:?}");
    assert_eq!(place.read("a.txt").as_deref(), Some("two"));
}

#[test]
fn a_secret_is_typed_without_being_shown() {
    let place = Place::new();
    let mut terminal = Terminal::new();
    let child = terminal.start(place.command(&["secret", "set", "work"]));
    let asked = terminal.until("(it isn't shown): ");
    assert!(asked.contains("The value of work"), "{asked}");
    terminal.key_in("k3y-of-the-house\n");
    let ran = ended(child).with(0);
    assert!(ran.out.contains("stored work (16 bytes)"), "{ran:?}");
    let shown = terminal.rest();
    assert!(!shown.contains("k3y"), "{shown}");
}

#[test]
fn a_new_passphrase_is_typed_twice() {
    for (again, status) in [("correct horse", 0), ("correct house", 2)] {
        let place = Place::new();
        let mut terminal = Terminal::new();
        let child = terminal.start(place.command(&["secret", "rekey", "--passphrase"]));
        terminal.until("The new passphrase (it isn't shown): ");
        terminal.key_in("correct horse\n");
        terminal.until("The same again: ");
        terminal.key_in(&format!("{again}\n"));
        ended(child).with(status);
        let shown = terminal.rest();
        assert!(!shown.contains("horse") && !shown.contains("house"), "{shown}");
        assert_eq!(place.home().join("state/vault/secrets.vault").exists(), status == 0);
    }
}
