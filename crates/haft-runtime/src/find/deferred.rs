//! Which definitions go with each request, and what a model is told of the others.

use crate::{Offer, Session, Snapshot};
use haft_core::{Exposure, Output};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, fmt::Write, sync::Arc};

/// The key of the session's state that says, with a tool's name behind it, that the tool was looked up or called.
pub(crate) const LOADED: &str = "loaded";
/// Definitions that together cost more than this aren't all sent, where a tool leaves that to haft.
const DIRECT_MAX_TOKENS: usize = 10_000;
/// The part of a model's window that they may take, a tenth.
const WINDOW_SHARE: u64 = 10;
/// Most tokens of what is said about tools that aren't sent.
pub const LISTED_MAX_TOKENS: usize = 2_000;
/// Bytes of names and plain words in a token, at least: names of tools are cut finer than prose.
const TOKEN_BYTES: usize = 3;
/// Most bytes that are said about one source.
const ABOUT_MAX_BYTES: usize = 100;

/// When definitions that a tool leaves to haft are sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Deferral {
    /// While all of them together are small.
    #[default]
    Auto,
    /// Never, until one is looked up.
    Always,
    /// Always.
    Never,
}

/// When definitions are sent to one model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Deferring {
    /// When those are that leave it to haft.
    pub deferral: Deferral,
    /// How many tokens the model takes at all, where that is known.
    pub window_tokens: Option<u64>,
}

impl Deferring {
    /// Whether a tool's definition goes with the first request.
    pub fn sends(self, offer: &Offer, snapshot: &Snapshot) -> bool {
        let spec = offer.spec();
        match spec.exposure {
            Exposure::Direct => true,
            Exposure::Auto => spec.always_load || !self.defers(snapshot),
            Exposure::Deferred => spec.always_load,
            Exposure::Code | Exposure::Hidden => false,
        }
    }

    /// What the model reads about a tool. `tool_search` tells what there is besides what is sent unasked; that stays the
    /// same while tools are looked up, so that prompts cache.
    pub fn prompt(self, offer: &Offer, snapshot: &Snapshot, denies: &dyn Fn(&Offer) -> bool) -> String {
        let prompt = offer.spec().prompt().to_owned();
        if offer.name.as_ref() != super::TOOL_SEARCH || !offer.is_core() {
            return prompt;
        }
        let listed = self.listed(snapshot, denies);
        if listed.is_empty() { prompt } else { format!("{prompt}\n{listed}") }
    }

    /// What `tool_search` tells of the tools that aren't sent unasked: at most about 2,000 tokens, however many there are.
    pub fn listed(self, snapshot: &Snapshot, denies: &dyn Fn(&Offer) -> bool) -> String {
        let deferred = snapshot
            .offers()
            .filter(|other| is_loaded_on_demand(other) && !self.sends(other, snapshot) && !denies(other));
        listing(deferred, |source| snapshot.about(source))
    }

    /// Whether what is left to haft isn't sent.
    fn defers(self, snapshot: &Snapshot) -> bool {
        match self.deferral {
            Deferral::Always => true,
            Deferral::Never => false,
            Deferral::Auto => snapshot.tokens() > self.direct_max_tokens(),
        }
    }

    /// What all definitions together may cost and still be sent.
    fn direct_max_tokens(self) -> usize {
        let share =
            self.window_tokens.map(|tokens| usize::try_from(tokens / WINDOW_SHARE).unwrap_or(usize::MAX));
        share.unwrap_or(DIRECT_MAX_TOKENS).min(DIRECT_MAX_TOKENS)
    }
}

fn is_loaded_on_demand(offer: &Offer) -> bool {
    matches!(offer.spec().exposure, Exposure::Auto | Exposure::Deferred)
}

/// Whether it is the tool for jobs, which is of use once there is one.
fn is_of_jobs(offer: &Offer) -> bool {
    offer.is_core() && offer.name.as_ref() == "job"
}

impl Session {
    /// Whether a tool's definition goes with each request that is made with this snapshot.
    pub fn sends(&self, offer: &Offer, snapshot: &Snapshot) -> bool {
        let is_wanted = || self.has_loaded(&offer.name) || is_of_jobs(offer) && self.job_table().has_any();
        self.deferral().sends(offer, snapshot) || is_loaded_on_demand(offer) && is_wanted()
    }

    /// What the model reads about a tool.
    pub fn prompt_of(&self, offer: &Offer, snapshot: &Snapshot) -> String {
        // As with the listing, by what is sent unasked: what was looked up meanwhile changes no prompt.
        let sent = || {
            let of_scripts = |other: &Offer| other.spec().exposure == Exposure::Code;
            let is_shown = |other: &&Offer| self.deferral().sends(other, snapshot) || of_scripts(other);
            let shown = snapshot.offers().filter(is_shown).filter(|other| !self.denies(other));
            shown.map(|other| (Arc::clone(&other.name), Arc::clone(other.spec()))).collect::<Vec<_>>()
        };
        let beside = offer.tool.prompt_beside(&sent);
        beside.unwrap_or_else(|| self.deferral().prompt(offer, snapshot, &|other| self.denies(other)))
    }

    fn has_loaded(&self, name: &str) -> bool {
        self.state_of(&key(name)).is_some()
    }

    /// Keeps a tool that was called without having been sent: from the next request on it is.
    pub(crate) fn loads(&self, offer: &Offer, output: &mut Output) {
        if is_loaded_on_demand(offer) && !self.sends(offer, &self.snapshot()) {
            load(output, &offer.name);
        }
    }
}

/// Has a tool sent from the next request on.
pub(crate) fn load(output: &mut Output, name: &str) {
    output.session.push((key(name).into(), true.into()));
}

fn key(name: &str) -> String {
    format!("{LOADED}:{name}")
}

/// The tools that aren't sent, by source: how many, and their names as far as they fit, taken evenly from the sources.
fn listing<'a>(offers: impl Iterator<Item = &'a Offer>, about: impl Fn(&str) -> Option<&'a str>) -> String {
    let mut sources: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for offer in offers {
        sources.entry(&offer.owner).or_default().push(&offer.name);
    }
    let mut left = LISTED_MAX_TOKENS * TOKEN_BYTES;
    let all = sources.len();
    let full: Vec<Line<'_>> =
        sources.iter().map(|(source, names)| Line::full(source, names, about(source))).collect();
    // What sources are for leaves half of the room to names, or isn't said.
    let is_roomy = full.iter().map(Line::cost).sum::<usize>() <= left / 2;
    let short = || sources.iter().map(|(source, names)| Line::short(source, names.clone())).collect();
    let wanted: Vec<Line<'_>> = if is_roomy { full } else { short() };
    let mut lines: Vec<Line<'_>> = Vec::new();
    for line in wanted {
        // Room for the line that counts what is left out.
        let Some(rest) = left.checked_sub(line.cost()).filter(|rest| *rest > ABOUT_MAX_BYTES) else { break };
        left = rest;
        lines.push(line);
    }
    let mut place = 0;
    loop {
        let mut is_done = true;
        for line in &mut lines {
            let Some(name) = line.names.get(place) else { continue };
            let cost = name.len() + 2;
            if cost + ABOUT_MAX_BYTES > left {
                continue;
            }
            left -= cost;
            line.shown = place + 1;
            is_done = false;
        }
        if is_done {
            break;
        }
        place += 1;
    }
    let mut text = String::new();
    for line in &lines {
        line.write(&mut text);
    }
    if lines.len() < all {
        let _ = writeln!(text, "and {} more sources, found by words", all - lines.len());
    }
    text.truncate(text.trim_end().len());
    text
}

/// One source of the listing.
struct Line<'a> {
    head: String,
    names: Vec<&'a str>,
    shown: usize,
}

impl<'a> Line<'a> {
    fn short(source: &str, names: Vec<&'a str>) -> Self {
        Self { head: format!("{source}, {} tools:", names.len()), names, shown: 0 }
    }

    fn full(source: &str, names: &[&'a str], about: Option<&str>) -> Self {
        // What all names begin with is said once.
        let start = names.first().and_then(|name| name.get(..name.rfind("__")? + 2)).unwrap_or_default();
        let start = if names.iter().all(|name| name.starts_with(start)) { start } else { "" };
        let names: Vec<&str> = names.iter().map(|name| name.strip_prefix(start).unwrap_or(name)).collect();
        let about = about.map(str::trim).filter(|about| !about.is_empty());
        let about = about.map(|about| {
            let line = about.lines().next().unwrap_or_default();
            let cut = line.get(..line.floor_char_boundary(ABOUT_MAX_BYTES)).unwrap_or(line);
            format!(" ({}{})", cut, if cut.len() < line.len() { "…" } else { "" })
        });
        let who = if source == "core" { "built in" } else { source };
        let start = if start.is_empty() { String::new() } else { format!(" {start}…") };
        Self {
            head: format!("{who}{}, {} tools{start}:", about.unwrap_or_default(), names.len()),
            names,
            shown: 0,
        }
    }

    fn cost(&self) -> usize {
        self.head.len() + "  not named here\n".len() + 5
    }

    fn write(&self, text: &mut String) {
        let shown = self.names.get(..self.shown).unwrap_or_default().join(", ");
        let more = match self.names.len() - self.shown.min(self.names.len()) {
            0 => String::new(),
            more if self.shown == 0 => format!("{more} not named here"),
            more => format!(", {more} more"),
        };
        let _ = writeln!(text, "{} {shown}{more}", self.head);
    }
}
