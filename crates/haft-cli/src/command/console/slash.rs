//! What is typed with a slash before it and is for an extension: which of its commands is meant, and its run.
//!
//! Nothing of it reaches a model: what a command says and returns is shown to the person who typed it.

use super::super::Interrupts;
use crate::{
    app::{ExtensionCommand, Live, Meant},
    print,
    terminal::clean,
};
use haft_core::{Cancel, FailureKind};
use haft_script::Say;
use std::{
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

/// How much of what a command says is shown.
const SHOWN_MAX_BYTES: usize = 64 * 1024;
/// What is haft's own, whatever follows it: a command of that name is typed with its extension's.
const OWN: [&str; 7] = ["help", "tools", "jobs", "quit", "exit", "background", "bg"];
/// How long a command's description is in a list, and how many are listed.
const SUMMARY_MAX_CHARS: usize = 70;
const LISTED_MAX: usize = 100;

/// A line that begins with a slash and the name of a command.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Slash<'l> {
    /// The name.
    pub(super) name: &'l str,
    /// What follows it.
    pub(super) words: &'l str,
}

impl<'l> Slash<'l> {
    /// Reads a line. A path is no command, and neither is a line with a blank before its slash.
    pub(super) fn parse(line: &'l str) -> Option<Self> {
        let rest = line.strip_prefix('/')?;
        let (name, words) = rest.trim_end().split_once(char::is_whitespace).unwrap_or((rest.trim_end(), ""));
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ':');
        let is_name = name.starts_with(char::is_alphanumeric) && name.chars().all(is_part);
        is_name.then(|| Self { name, words: words.trim() })
    }

    /// Runs the command that is meant; where there is none, says which there are. `own` are haft's.
    pub(super) async fn run(&self, live: &Live, own: &[&str], interrupts: &mut Interrupts) {
        if OWN.contains(&self.name) {
            print::note(&format!("/{} is haft's own, and takes no words", self.name));
            return;
        }
        live.tools.renew().await;
        let all = live.tools.commands();
        match ExtensionCommand::meant(&all, self.name) {
            Meant::One(command) => show(&command, self.words, interrupts).await,
            Meant::Several(names) => {
                let names: Vec<String> = names.iter().map(|name| format!("/{name}")).collect();
                print::note(&format!(
                    "several extensions have a /{}: type one of {}",
                    self.name,
                    names.join(", ")
                ));
            }
            Meant::Unknown => print::note(&unknown(self.name, own, &all)),
        }
    }
}

/// The commands of extensions, one a line; nothing where there are none.
pub(super) fn list(all: &[ExtensionCommand]) -> Option<String> {
    if all.is_empty() {
        return None;
    }
    let row = |command: &ExtensionCommand| {
        let summary = print::one_line(&clean(&command.description), SUMMARY_MAX_CHARS);
        vec![format!("  /{}", clean(&typed(command, all))), format!("({})", clean(&command.id)), summary]
    };
    let rows: Vec<Vec<String>> = all.iter().take(LISTED_MAX).map(row).collect();
    let further = all.len().saturating_sub(LISTED_MAX);
    let more = if further > 0 { format!("\n  and {further} more") } else { String::new() };
    Some(format!("What extensions offer:\n{}{more}", print::table(&rows)))
}

/// What is typed for a command: its name, with its extension's where that alone means another.
fn typed(command: &ExtensionCommand, all: &[ExtensionCommand]) -> String {
    let namesakes = all.iter().filter(|other| other.name == command.name).count();
    if namesakes > 1 || OWN.contains(&command.name.as_str()) { command.whole() } else { command.name.clone() }
}

fn unknown(name: &str, own: &[&str], all: &[ExtensionCommand]) -> String {
    let own = own.iter().map(|name| (*name).to_owned());
    let theirs = all.iter().map(|command| format!("/{}", typed(command, all)));
    let known: Vec<String> = own.chain(theirs).take(LISTED_MAX).collect();
    format!(
        "there is no command /{name}; there are: {}. With a blank before the slash a line is no command",
        known.join(", ")
    )
}

/// Runs a command and shows what it says; a signal cancels it, and its end is still waited for.
async fn show(command: &ExtensionCommand, words: &str, interrupts: &mut Interrupts) {
    let shown = Shown::new();
    let (cancel, say) = (Cancel::new(), shown.say());
    let mut running = pin!(command.run(words, &cancel, &say));
    let ended = loop {
        tokio::select! {
            biased;
            ended = &mut running => break ended,
            () = interrupts.next() => cancel.fire(),
        }
    };
    match ended {
        Ok(text) => {
            if !text.is_empty() {
                shown.piece(&text, print::line);
            }
        }
        Err(failure) if failure.kind == FailureKind::Cancelled => {
            print::note(&format!("/{} was cancelled", command.name));
        }
        Err(failure) => {
            // That it failed is said whatever it printed before.
            let why =
                failure.text.get(..failure.text.floor_char_boundary(SHOWN_MAX_BYTES)).unwrap_or_default();
            print::note(&format!("/{} failed: {why}", command.name));
        }
    }
    shown.end();
}

/// What of one command was shown so far.
struct Shown(Arc<Counts>);

#[derive(Default)]
struct Counts {
    bytes: AtomicUsize,
    left_out: AtomicUsize,
}

impl Shown {
    fn new() -> Self {
        Self(Arc::default())
    }

    /// Shows what it prints while it runs, beside its result.
    fn say(&self) -> Say {
        let shown = Self(Arc::clone(&self.0));
        Arc::new(move |text: &str| shown.piece(text, print::note))
    }

    /// Shows as much of a text as there is room for.
    fn piece(&self, text: &str, show: impl Fn(&str)) {
        // The end of its line counts too, so that empty ones come to an end as well.
        let size = text.len().saturating_add(1);
        let before = self.0.bytes.fetch_add(size, Ordering::Relaxed);
        let room = SHOWN_MAX_BYTES.saturating_sub(before);
        if room == 0 {
            self.0.left_out.fetch_add(size, Ordering::Relaxed);
            return;
        }
        let end = text.floor_char_boundary(room);
        self.0.left_out.fetch_add(text.len().saturating_sub(end), Ordering::Relaxed);
        show(&clean(text.get(..end).unwrap_or_default()));
    }

    /// Says how much wasn't shown.
    fn end(&self) {
        let left_out = self.0.left_out.load(Ordering::Relaxed);
        if left_out > 0 {
            print::note(&format!("… {left_out} bytes more, which aren't shown"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    #[test]
    fn only_a_name_after_a_slash_is_a_command() {
        for (line, expected) in [
            ("/greet", Some(("greet", ""))),
            ("/greet  the whole world \n", Some(("greet", "the whole world"))),
            ("/my-pack:greet x", Some(("my-pack:greet", "x"))),
            ("/usr/bin/env is gone", None),
            (" /greet", None),
            ("/ greet", None),
            ("/", None),
            ("greet", None),
        ] {
            let read = Slash::parse(line).map(|slash| (slash.name, slash.words));
            assert_eq!(read, expected, "{line:?}");
        }
    }

    #[test]
    fn what_a_command_says_has_an_end() {
        let (shown, seen) = (Shown::new(), RefCell::new(Vec::new()));
        for text in ["ä".repeat(SHOWN_MAX_BYTES / 2 - 1), "ä".repeat(3), "late".to_owned()] {
            shown.piece(&text, |text| seen.borrow_mut().push(text.len()));
        }
        assert_eq!(*seen.borrow(), [SHOWN_MAX_BYTES - 2, 0]);
        assert_eq!(shown.0.left_out.load(Ordering::Relaxed), 6 + 5);
    }

    #[test]
    fn empty_lines_have_an_end_too() {
        let (shown, seen) = (Shown::new(), RefCell::new(0));
        for _ in 0..2 * SHOWN_MAX_BYTES {
            shown.piece("", |_| *seen.borrow_mut() += 1);
        }
        assert_eq!(*seen.borrow(), SHOWN_MAX_BYTES);
        assert_eq!(shown.0.left_out.load(Ordering::Relaxed), SHOWN_MAX_BYTES);
    }

    #[test]
    fn an_unknown_command_is_told_which_there_are() {
        let text = unknown("nope", &["/help", "/quit"], &[]);
        assert!(text.contains("no command /nope") && text.contains("/help, /quit"), "{text}");
    }
}
