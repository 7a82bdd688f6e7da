//! The page as it goes on: what a tag begins or ends, given what is open.

use super::{DEPTH_MAX, Simple, Wanted, is_inline, out::escape};
use crate::fetch::{
    grid::Grid,
    markup::{Role, ends, role},
};
use haft_core::WebUrl;
use html5ever::tokenizer::Tag;

/// Lists and quotations stand in one another at most so deep: each level adds to every line in it.
pub(super) const INDENTS_MAX: usize = 8;
/// A title has at most so many characters.
const TITLE_MAX_CHARS: usize = 300;

/// What was read of a page so far, and what was written of it.
pub(super) struct Writer {
    base: WebUrl,
    pub(super) wanted: Wanted,
    skips_frame: bool,
    pub(super) out: String,
    title: String,
    in_title: bool,
    /// The elements that were written and not yet closed.
    pub(super) open: Vec<&'static str>,
    /// The outermost open table.
    pub(super) grid: Option<Grid>,
    /// Blocks that weren't written, so that their ends are passed over too.
    pub(super) over: usize,
    /// What is being left out, and how many of its name are open.
    skip: Option<(String, usize)>,
    flattened: u64,
    words: usize,
}

impl Writer {
    pub(super) fn new(base: &WebUrl, wanted: Wanted, skips_frame: bool) -> Self {
        Self {
            base: base.clone(),
            wanted,
            skips_frame,
            out: String::new(),
            title: String::new(),
            in_title: false,
            open: Vec::new(),
            grid: None,
            over: 0,
            skip: None,
            flattened: 0,
            words: 0,
        }
    }

    pub(super) fn finish(mut self) -> (Simple, usize) {
        self.close_to(0);
        let title: Vec<_> = self.title.split_whitespace().collect();
        let title = title.join(" ").chars().take(TITLE_MAX_CHARS).collect();
        // A menu that never ends may have taken the page with it.
        let is_lost = self.skip.as_ref().is_some_and(|(name, _)| role(name) == Role::Frame);
        let words = if is_lost { 0 } else { self.words };
        (Simple { title, body: self.out, flattened: self.flattened }, words)
    }

    pub(super) fn start(&mut self, tag: &Tag) {
        let name: &str = &tag.name;
        if let Some((skipped, depth)) = &mut self.skip {
            *depth += usize::from(*skipped == name);
            return;
        }
        match role(name) {
            Role::Noise if !(tag.self_closing && matches!(name, "svg" | "math")) => self.skip_all(name),
            Role::Frame if self.skips_frame => self.skip_all(name),
            Role::Frame => self.block("div"),
            Role::Block(name) => self.block(name),
            Role::Cell(name) if self.open.contains(&"table") => self.block(name),
            Role::Cell(_) => self.block("div"),
            Role::Inline(name) => self.inline(name, tag),
            Role::Break => self.line_break(),
            Role::Rule => self.rule(),
            Role::Picture => self.picture(tag),
            Role::Title => self.in_title = self.title.is_empty(),
            Role::Base => {
                if let Some(base) = attribute(tag, "href").and_then(|href| self.base.join(href).ok()) {
                    self.base = base;
                }
            }
            Role::Noise | Role::Nothing => {}
        }
    }

    pub(super) fn end(&mut self, name: &str) {
        if let Some((skipped, depth)) = &mut self.skip {
            if *skipped == name {
                *depth -= 1;
                if *depth == 0 {
                    self.skip = None;
                }
            }
            return;
        }
        match role(name) {
            Role::Title => self.in_title = false,
            Role::Block(name) | Role::Cell(name) => self.end_block(name),
            Role::Frame => self.end_block("div"),
            Role::Inline(name) => self.end_inline(name),
            _ => {}
        }
    }

    pub(super) fn text(&mut self, text: &str) {
        if self.skip.is_some() {
            return;
        }
        if self.in_title {
            if self.title.len() < 4 * TITLE_MAX_CHARS {
                self.title.push_str(text);
            }
            return;
        }
        self.words += text.split_whitespace().map(str::len).sum::<usize>();
        match self.wanted {
            Wanted::Markup => escape(text, &mut self.out),
            Wanted::Words if self.open.contains(&"pre") => self.out.push_str(text),
            Wanted::Words => self.flow(text),
        }
    }

    fn skip_all(&mut self, name: &str) {
        self.skip = Some((name.to_owned(), 1));
    }

    /// Starts a block: what can't go on around it ends first.
    fn block(&mut self, name: &'static str) {
        // A link or a listing stays one piece; the blocks in it only separate words.
        if self.open.contains(&"a") || self.open.contains(&"pre") {
            self.over += 1;
            self.separate();
            return;
        }
        while self.open.last().is_some_and(|last| is_inline(last) || *last == "p") {
            self.close_last();
        }
        let (ended, kept) = ends(name);
        let ending = self
            .open
            .iter()
            .enumerate()
            .rev()
            .take_while(|(_, open)| !kept.contains(*open))
            .find(|(_, open)| ended.contains(*open));
        if let Some((at, _)) = ending {
            self.close_to(at);
        }
        if self.open.len() >= DEPTH_MAX {
            self.over += 1;
            self.flattened += 1;
            self.separate();
            return;
        }
        let indents = self.open.iter().filter(|open| is_indent(open)).count();
        self.open_tag(if is_indent(name) && indents >= INDENTS_MAX { "div" } else { name }, &[]);
    }

    fn end_block(&mut self, name: &'static str) {
        let within = self.open.iter().any(|open| matches!(*open, "a" | "pre"));
        if self.over > 0 && (!within || name != "pre") {
            self.over -= 1;
            self.separate();
            return;
        }
        let is_cell = matches!(role(name), Role::Cell(_)) || name == "table";
        let found = self
            .open
            .iter()
            .enumerate()
            .rev()
            // A stray end within a cell doesn't end the table around it.
            .take_while(|(_, open)| is_cell || !matches!(**open, "td" | "th" | "caption"))
            .find(|(_, open)| **open == name);
        if let Some((at, _)) = found {
            self.close_to(at);
        }
    }

    fn inline(&mut self, name: &'static str, tag: &Tag) {
        if name == "a" {
            // One link never stands in another.
            self.end_inline("a");
        }
        let in_listing = self.open.contains(&"pre");
        if self.open.contains(&name) || (in_listing && name != "code") {
            return;
        }
        if self.open.len() >= DEPTH_MAX {
            self.flattened += 1;
            return;
        }
        match name {
            "a" => {
                let href = attribute(tag, "href").filter(|href| !href.trim_start().starts_with('#'));
                if let Some(link) = href.and_then(|href| self.base.join(href).ok()) {
                    self.open_tag("a", &[("href", link.as_str())]);
                }
            }
            "code" => match attribute(tag, "class").and_then(language) {
                Some(language) if in_listing => self.open_tag("code", &[("class", language.as_str())]),
                _ => self.open_tag("code", &[]),
            },
            name => self.open_tag(name, &[]),
        }
    }

    fn end_inline(&mut self, name: &'static str) {
        let mut inner = self.open.iter().enumerate().rev().take_while(|(_, open)| is_inline(open));
        let found = inner.find(|(_, open)| **open == name).map(|(at, _)| at);
        if let Some(at) = found {
            self.close_to(at);
        }
    }

    fn line_break(&mut self) {
        match self.wanted {
            Wanted::Markup => self.out.push_str("<br>"),
            Wanted::Words => self.out.push('\n'),
        }
    }

    fn rule(&mut self) {
        if self.wanted == Wanted::Markup && !self.open.iter().any(|open| is_inline(open) || *open == "pre") {
            self.out.push_str("<hr>");
        } else {
            self.separate();
        }
    }

    fn picture(&mut self, tag: &Tag) {
        let Some(words) = attribute(tag, "alt").filter(|alt| !alt.trim().is_empty()) else {
            return;
        };
        let source = attribute(tag, "src").and_then(|source| self.base.join(source).ok());
        match (self.wanted, source) {
            (Wanted::Markup, Some(source)) => {
                self.tag("img", &[("src", source.as_str()), ("alt", words.trim())]);
            }
            (Wanted::Markup, None) => escape(words, &mut self.out),
            (Wanted::Words, _) => self.flow(words),
        }
    }
}

fn is_indent(name: &str) -> bool {
    matches!(name, "ul" | "ol" | "blockquote")
}

fn attribute<'a>(tag: &'a Tag, name: &str) -> Option<&'a str> {
    tag.attrs.iter().find(|attribute| &*attribute.name.local == name).map(|attribute| &*attribute.value)
}

/// The class that names a listing's language, as the Markdown writer knows it.
fn language(classes: &str) -> Option<String> {
    let mut classes = classes.split_ascii_whitespace();
    let name =
        classes.find_map(|class| class.strip_prefix("language-").or_else(|| class.strip_prefix("lang-")))?;
    let is_plain = name.chars().all(|one| one.is_ascii_alphanumeric() || "+-#._".contains(one));
    (is_plain && name.len() < 30).then(|| format!("language-{name}"))
}
