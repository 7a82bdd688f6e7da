//! Which foreign tools the user has let run, as they were then: a change since is shown part by part.
//!
//! Kept in the workspace's trust file, so that every process and every kind of source shares it. Leaves to the gates
//! what a new or changed tool comes to, and to each source what its tools are made of. Keeps the invariant "what
//! can't be read is not known".

use super::TrustFile;
use crate::{catalogue::Offer, session::Pins};
use haft_core::{AnyTool, Clock, Failure};
use haft_policy::Pin;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, PoisonError},
    time::{SystemTime, UNIX_EPOCH},
};

/// How many tools one workspace remembers, and how much of the trust file they may fill; the oldest go first.
const PINS_MAX: usize = 256;
const PINS_MAX_BYTES: usize = 2 * 1024 * 1024;
/// How many parts of one tool are told apart, and how much of their texts is kept.
const PARTS_MAX: usize = 128;
const PIN_MAX_BYTES: usize = 16 * 1024;
const TEXT_MAX_BYTES: usize = 2 * 1024;
const NAME_MAX_BYTES: usize = 200;
/// What the layout of the file adds to a part.
const LAYOUT_BYTES: usize = 100;
/// How many changes are shown, and how much of each.
const LINES_MAX: usize = 9;
const NAME_SHOWN_CHARS: usize = 80;
const SIDE_SHOWN_CHARS: usize = 120;
/// What is shown before the place where two long texts part.
const CONTEXT_CHARS: usize = 20;
/// Parts of such a name have a digest for their text, which nobody wants to read.
const FILE: &str = "file ";
/// The part that says what a tool is called where it comes from.
const NAME: &str = "name";

/// A tool as it was when the user let it run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SavedPin {
    /// The hash of definition and content.
    pub hash: Arc<str>,
    /// What it was made of.
    #[serde(default)]
    pub parts: Vec<PinnedPart>,
    /// When, in seconds since 1970.
    pub pinned_at: u64,
}

/// One part of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PinnedPart {
    /// Its name; `file NAME` for a file, whose text is a digest.
    pub name: String,
    /// Its text, or the beginning of it.
    pub text: String,
    /// The hash of the whole text, where only its beginning was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
}

impl PinnedPart {
    /// Takes what it keeps of the text out of `room`.
    fn new(name: &str, text: &str, room: &mut usize) -> Self {
        let max = TEXT_MAX_BYTES.min(*room);
        let kept = text.get(..text.floor_char_boundary(max)).unwrap_or_default();
        *room = room.saturating_sub(kept.len());
        let hash = (kept.len() < text.len()).then(|| format!("{:x}", Sha256::digest(text)));
        Self { name: bounded(name), text: kept.to_owned(), hash }
    }
}

impl SavedPin {
    /// A tool as it is now.
    pub fn of(tool: &dyn AnyTool, hash: Arc<str>, at: SystemTime) -> Self {
        Self::of_kept(parts_of(tool), hash, at)
    }

    /// Something else that is made of parts, as it is now.
    pub fn of_parts(parts: &[(String, String)], hash: Arc<str>, at: SystemTime) -> Self {
        Self::of_kept(kept_of(parts), hash, at)
    }

    fn of_kept(parts: Vec<PinnedPart>, hash: Arc<str>, at: SystemTime) -> Self {
        let pinned_at = at.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        Self { hash, parts, pinned_at }
    }

    /// What of a tool isn't as it was, a line each.
    pub fn changes(&self, tool: &dyn AnyTool) -> String {
        self.changes_to(&parts_of(tool))
    }

    /// The same of something else that is made of parts.
    pub fn changes_of(&self, parts: &[(String, String)]) -> String {
        self.changes_to(&kept_of(parts))
    }

    /// Whether nothing but its name is another: all its parts are there, and one says the name.
    fn is_renamed(&self, now: &[PinnedPart]) -> bool {
        let is_named = named(&self.parts, NAME).is_some() && named(now, NAME).is_some();
        let rest = |part: &&PinnedPart| part.name != NAME;
        is_named && self.parts.iter().filter(rest).eq(now.iter().filter(rest))
    }

    fn changes_to(&self, now: &[PinnedPart]) -> String {
        let mut lines = Vec::new();
        for part in now {
            let before = named(&self.parts, &part.name);
            if before != Some(part) {
                lines.push(change(&part.name, before, Some(part)));
            }
        }
        for part in &self.parts {
            if named(now, &part.name).is_none() {
                lines.push(change(&part.name, Some(part), None));
            }
        }
        let further = lines.len().saturating_sub(LINES_MAX);
        lines.truncate(LINES_MAX);
        match further {
            0 => {}
            1 => lines.push("and 1 further change".to_owned()),
            _ => lines.push(format!("and {further} further changes")),
        }
        if lines.is_empty() { "its content changed".to_owned() } else { lines.join("\n") }
    }

    fn size(&self) -> usize {
        let written = serde_json::to_vec(self).map_or(0, |bytes| bytes.len());
        written.saturating_add(LAYOUT_BYTES.saturating_mul(self.parts.len().saturating_add(1)))
    }
}

fn named<'p>(parts: &'p [PinnedPart], name: &str) -> Option<&'p PinnedPart> {
    parts.iter().find(|part| part.name == name)
}

/// What a tool is remembered by: two owners may have a tool of the same name, one after the other.
fn pin_key(owner: &str, name: &str) -> String {
    format!("{owner}/{name}")
}

/// Lets the oldest go until the rest fits; the newest stays. What is forgotten asks again.
pub(super) fn fit(pins: &mut BTreeMap<String, SavedPin>, newest: &str) {
    let size = |key: &str, pin: &SavedPin| key.len().saturating_add(pin.size());
    let mut total: usize = pins.iter().map(|(key, pin)| size(key, pin)).sum();
    while pins.len() > PINS_MAX || total > PINS_MAX_BYTES {
        let others = pins.iter().filter(|(key, _)| key.as_str() != newest);
        let oldest = others.min_by_key(|(_, pin)| pin.pinned_at).map(|(key, _)| key.clone());
        let Some((key, pin)) = oldest.and_then(|key| pins.remove_entry(&key)) else { return };
        total = total.saturating_sub(size(&key, &pin));
    }
}

/// The parts of a tool as they are kept. A tool that panics has none.
fn parts_of(tool: &dyn AnyTool) -> Vec<PinnedPart> {
    kept_of(&catch_unwind(AssertUnwindSafe(|| tool.parts())).unwrap_or_default())
}

/// Parts as they are kept.
fn kept_of(all: &[(String, String)]) -> Vec<PinnedPart> {
    let mut room = PIN_MAX_BYTES;
    let kept = all.iter().take(PARTS_MAX);
    let mut parts: Vec<PinnedPart> =
        kept.map(|(name, text)| PinnedPart::new(name, text, &mut room)).collect();
    let further = all.get(PARTS_MAX..).unwrap_or_default();
    if !further.is_empty() {
        let mut hasher = Sha256::new();
        for (name, text) in further {
            hasher.update(format!("{name}\0{text}\0"));
        }
        let text = format!("{}, together {:x}", further.len(), hasher.finalize());
        parts.push(PinnedPart { name: "further parts".to_owned(), text, hash: None });
    }
    parts
}

/// A long name by its beginning and its hash, so that two stay two.
fn bounded(name: &str) -> String {
    match name.get(..name.floor_char_boundary(NAME_MAX_BYTES)) {
        Some(start) if start.len() < name.len() => format!("{start}… {:x}", Sha256::digest(name)),
        _ => name.to_owned(),
    }
}

/// One part's change on one line, with what hides in it.
fn change(name: &str, before: Option<&PinnedPart>, after: Option<&PinnedPart>) -> String {
    let shown: String = name.escape_debug().take(NAME_SHOWN_CHARS).collect();
    let verb = match (before, after) {
        (None, _) => "added",
        (_, None) => "removed",
        _ => "changed",
    };
    if name.starts_with(FILE) {
        return format!("{shown} {verb}");
    }
    let texts = (before.map(|part| part.text.as_str()), after.map(|part| part.text.as_str()));
    let start = match texts {
        (Some(before), Some(after)) if before == after => {
            return format!("{shown} changed, further on than what was kept of it");
        }
        (Some(before), Some(after)) => parting(before, after),
        _ => 0,
    };
    let side = |text: Option<&str>| text.map_or_else(|| "not stated".to_owned(), |text| excerpt(text, start));
    format!("{shown}: {} → {}", side(texts.0), side(texts.1))
}

/// From where on two texts are shown: from their beginning where both fit, else from shortly before they part.
fn parting(before: &str, after: &str) -> usize {
    if before.chars().count().max(after.chars().count()) <= SIDE_SHOWN_CHARS {
        return 0;
    }
    let same = before.chars().zip(after.chars()).take_while(|(old, new)| old == new).count();
    same.saturating_sub(CONTEXT_CHARS)
}

fn excerpt(text: &str, start: usize) -> String {
    let shown: String = text.chars().skip(start).take(SIDE_SHOWN_CHARS).collect();
    let left = if start > 0 { "…" } else { "" };
    let right = if text.chars().count() > start.saturating_add(SIDE_SHOWN_CHARS) { "…" } else { "" };
    format!("{left}{shown:?}{right}")
}

/// The pins of one workspace's trust file. A damaged file knows no tool.
pub struct TrustPins {
    trust: TrustFile,
    clock: Arc<dyn Clock>,
    read: Mutex<Read>,
}

/// What was read last: the file is looked at for every call of a foreign tool, and seldom changes.
#[derive(Default)]
struct Read {
    bytes: Option<Arc<[u8]>>,
    pins: Arc<BTreeMap<String, SavedPin>>,
}

impl TrustPins {
    /// The pins in a trust file.
    pub fn new(trust: TrustFile, clock: Arc<dyn Clock>) -> Self {
        Self { trust, clock, read: Mutex::default() }
    }

    /// What is pinned now; another process may have pinned since the last look.
    fn pins(&self) -> Arc<BTreeMap<String, SavedPin>> {
        let bytes = self.trust.bytes();
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if read.bytes != bytes {
            read.pins = Arc::new(self.trust.pins_in(bytes.as_deref()));
            read.bytes = bytes;
        }
        Arc::clone(&read.pins)
    }

    /// A tool that its source offered under another name: told as what it is.
    fn renamed(&self, tool: &Offer) -> Option<Pin> {
        let (pins, start) = (self.pins(), pin_key(&tool.owner, ""));
        let mut own = pins.iter().filter(|(key, _)| key.starts_with(&start)).peekable();
        own.peek()?;
        let now = parts_of(tool.tool.as_ref());
        let (_, before) = own.find(|(_, saved)| saved.is_renamed(&now))?;
        Some(Pin::Changed(before.changes_to(&now)))
    }
}

impl Pins for TrustPins {
    fn look(&self, tool: &Offer) -> Pin {
        let Some(hash) = &tool.hash else { return Pin::Known };
        match self.pins().get(&pin_key(&tool.owner, &tool.name)) {
            None => self.renamed(tool).unwrap_or(Pin::New),
            Some(saved) if saved.hash == *hash => Pin::Known,
            Some(saved) => Pin::Changed(saved.changes(tool.tool.as_ref())),
        }
    }

    fn keep(&self, tool: &Offer) -> Result<(), Failure> {
        let Some(hash) = &tool.hash else { return Ok(()) };
        let pin = SavedPin::of(tool.tool.as_ref(), Arc::clone(hash), self.clock.now());
        self.trust.add_pin(&pin_key(&tool.owner, &tool.name), &pin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_core::{Bound, Spec};
    use serde_json::Value;

    struct Parted(Arc<Spec>, Vec<(String, String)>);

    impl AnyTool for Parted {
        fn spec(&self) -> &Arc<Spec> {
            &self.0
        }

        fn parts(&self) -> Vec<(String, String)> {
            self.1.clone()
        }

        fn bind(self: Arc<Self>, _: Arc<Value>) -> Result<Box<dyn Bound>, Failure> {
            Err(Failure::internal("unused"))
        }
    }

    fn tool(parts: &[(&str, &str)]) -> Parted {
        let parts = parts.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
        Parted(Arc::new(Spec::new("x", "d")), parts)
    }

    fn pin(tool: &Parted, at: u64) -> SavedPin {
        SavedPin::of(tool, "h".into(), UNIX_EPOCH + std::time::Duration::from_secs(at))
    }

    #[test]
    fn each_changed_part_is_named_and_short_texts_are_shown() {
        let before = pin(
            &tool(&[("command", "./a.sh"), ("readOnly", "true"), ("file a.sh", "1"), ("file b.sh", "1")]),
            7,
        );
        let after =
            tool(&[("command", "./b\u{202e}.sh"), ("risk", "safe"), ("file a.sh", "2"), ("file c.sh", "1")]);
        let expected = "command: \"./a.sh\" → \"./b\\u{202e}.sh\"\nrisk: not stated → \"safe\"\n\
            file a.sh changed\nfile c.sh added\nreadOnly: \"true\" → not stated\nfile b.sh removed";
        assert_eq!(before.changes(&after), expected);
        let one =
            tool(&[("command", "./a.sh"), ("readOnly", "true"), ("file a.sh", "2"), ("file b.sh", "1")]);
        assert_eq!(before.changes(&one), "file a.sh changed");
    }

    #[test]
    fn long_texts_are_shown_where_they_part() {
        let (old, new) = (format!("{}old", "é".repeat(500)), format!("{}new", "é".repeat(500)));
        let changes = pin(&tool(&[("description", &old)]), 7).changes(&tool(&[("description", &new)]));
        let same = "é".repeat(CONTEXT_CHARS);
        assert_eq!(changes, format!("description: …\"{same}old\" → …\"{same}new\""));
    }

    #[test]
    fn what_isnt_kept_is_still_compared() {
        let text = |end: &str| format!("{}{end}", "x".repeat(TEXT_MAX_BYTES));
        let before = pin(&tool(&[("description", &text("a"))]), 7);
        assert!(before.parts[0].text.len() == TEXT_MAX_BYTES && before.parts[0].hash.is_some());
        let changes = before.changes(&tool(&[("description", &text("b"))]));
        assert_eq!(changes, "description changed, further on than what was kept of it");
        let long = |end: &str| format!("{}{end}", "n".repeat(NAME_MAX_BYTES));
        let changes = pin(&tool(&[(&long("a"), "1")]), 7).changes(&tool(&[(&long("b"), "1")]));
        assert_eq!(changes.lines().filter(|line| line.contains("not stated")).count(), 2, "{changes}");
    }

    #[test]
    fn many_parts_and_many_changes_are_counted() {
        let many = |text: &str| {
            let parts = (0..PARTS_MAX + 2).map(|number| (format!("p{number}"), text.repeat(1_000)));
            Parted(Arc::new(Spec::new("x", "d")), parts.collect())
        };
        let before = pin(&many("a"), 7);
        assert_eq!(before.parts.len(), PARTS_MAX + 1);
        assert!(before.parts[PARTS_MAX].text.starts_with("2, together "));
        assert!(before.parts.iter().map(|part| part.text.len()).sum::<usize>() < 2 * PIN_MAX_BYTES);
        let changes = before.changes(&many("b"));
        assert!(changes.ends_with("\nand 120 further changes"), "{changes}");
    }

    #[test]
    fn the_oldest_go_when_there_are_too_many_or_too_much() {
        let small = tool(&[("command", "x")]);
        let of = |number: usize| pin(&small, u64::try_from(number).unwrap());
        let mut pins: BTreeMap<_, _> =
            (0..=PINS_MAX).map(|number| (format!("o/{number}"), of(number + 1))).collect();
        fit(&mut pins, "o/0");
        assert_eq!(pins.len(), PINS_MAX);
        assert!(pins.contains_key("o/0") && !pins.contains_key("o/1"));

        let mut large = of(1);
        large.parts[0].text = "x".repeat(PINS_MAX_BYTES / 2);
        let mut pins: BTreeMap<_, _> = ["a", "b", "c"].map(|key| (key.to_owned(), large.clone())).into();
        fit(&mut pins, "c");
        assert_eq!(pins.into_keys().collect::<Vec<_>>(), ["c"]);
    }
}
