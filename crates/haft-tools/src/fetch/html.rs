//! A page of any shape, made small, flat and well-formed by its tokens.
//!
//! What comes out holds only elements of a short list, each closed where it should be, at most [`DEPTH_MAX`]
//! deep, links absolute. Every tag in it was written here, so whoever parses it can't be led deeper.

use super::{
    grid::Grid,
    markup::{Role, ends, role},
};
use haft_core::WebUrl;
use html5ever::{
    tendril::StrTendril,
    tokenizer::{
        BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
        states::RawKind,
    },
};
use std::cell::RefCell;

/// Elements stand in one another at most so deep; what is deeper loses its form and keeps its words.
pub(super) const DEPTH_MAX: usize = 60;
/// Lists and quotations stand in one another at most so deep: each level adds to every line in it.
const INDENTS_MAX: usize = 8;
/// A title has at most so many characters.
const TITLE_MAX_CHARS: usize = 300;
/// Below so many characters of words the frame of a page is read too.
const WORDS_MIN_BYTES: usize = 200;

/// What is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// HTML again.
    Markup,
    /// The words, a line a block.
    Words,
}

/// A page made simple.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Simple {
    pub(super) title: String,
    pub(super) body: String,
    /// Elements that lost their form.
    pub(super) flattened: u64,
}

/// Makes a page simple. Its menus and footer are left out where something else remains.
pub(super) fn simplify(html: &str, url: &WebUrl, wanted: Wanted) -> Simple {
    let (simple, words) = pass(html, Writer::new(url, wanted, true));
    if words >= WORDS_MIN_BYTES { simple } else { pass(html, Writer::new(url, wanted, false)).0 }
}

fn pass(html: &str, writer: Writer) -> (Simple, usize) {
    let tokenizer = Tokenizer::new(Sink(RefCell::new(writer)), TokenizerOpts::default());
    let input = BufferQueue::default();
    input.push_back(StrTendril::from(html));
    let _ = tokenizer.feed(&input);
    tokenizer.end();
    tokenizer.sink.0.into_inner().finish()
}

struct Sink(RefCell<Writer>);

impl TokenSink for Sink {
    type Handle = ();

    fn process_token(&self, token: Token, _: u64) -> TokenSinkResult<()> {
        let mut writer = self.0.borrow_mut();
        match token {
            Token::TagToken(tag) if tag.kind == TagKind::StartTag => {
                writer.start(&tag);
                return raw_state(&tag.name);
            }
            Token::TagToken(tag) => writer.end(&tag.name),
            Token::CharacterTokens(text) => writer.text(&text),
            _ => {}
        }
        TokenSinkResult::Continue
    }
}

/// How what follows a start tag is to be read.
fn raw_state(name: &str) -> TokenSinkResult<()> {
    match name {
        "script" => TokenSinkResult::RawData(RawKind::ScriptData),
        "style" | "xmp" | "iframe" | "noembed" | "noframes" => TokenSinkResult::RawData(RawKind::Rawtext),
        "textarea" | "title" => TokenSinkResult::RawData(RawKind::Rcdata),
        "plaintext" => TokenSinkResult::Plaintext,
        _ => TokenSinkResult::Continue,
    }
}

struct Writer {
    base: WebUrl,
    wanted: Wanted,
    skips_frame: bool,
    out: String,
    title: String,
    in_title: bool,
    /// The elements that were written and not yet closed.
    open: Vec<&'static str>,
    /// The outermost open table.
    grid: Option<Grid>,
    /// Blocks that weren't written, so that their ends are passed over too.
    over: usize,
    /// What is being left out, and how many of its name are open.
    skip: Option<(String, usize)>,
    flattened: u64,
    words: usize,
}

impl Writer {
    fn new(base: &WebUrl, wanted: Wanted, skips_frame: bool) -> Self {
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

    fn finish(mut self) -> (Simple, usize) {
        self.close_to(0);
        let title: Vec<_> = self.title.split_whitespace().collect();
        let title = title.join(" ").chars().take(TITLE_MAX_CHARS).collect();
        // A menu that never ends may have taken the page with it.
        let is_lost = self.skip.as_ref().is_some_and(|(name, _)| role(name) == Role::Frame);
        let words = if is_lost { 0 } else { self.words };
        (Simple { title, body: self.out, flattened: self.flattened }, words)
    }

    fn start(&mut self, tag: &Tag) {
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

    fn end(&mut self, name: &str) {
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

    fn text(&mut self, text: &str) {
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

    /// Keeps words apart where a block would have.
    fn separate(&mut self) {
        match self.wanted {
            Wanted::Markup if self.open.contains(&"pre") => self.out.push('\n'),
            Wanted::Markup => self.out.push(' '),
            Wanted::Words => self.new_line(),
        }
    }

    fn open_tag(&mut self, name: &'static str, attributes: &[(&str, &str)]) {
        self.measure(name);
        self.open.push(name);
        match self.wanted {
            Wanted::Markup if is_inline(name) && attributes.is_empty() => self.go_on(name),
            Wanted::Markup => self.tag(name, attributes),
            Wanted::Words if !is_inline(name) && !matches!(name, "td" | "th") => {
                self.new_line();
                if name == "li" {
                    self.out.push_str("- ");
                }
            }
            Wanted::Words => {}
        }
    }

    /// Keeps the measures of the outermost table.
    fn measure(&mut self, name: &str) {
        let at = self.out.len();
        let tables = self.open.iter().filter(|open| **open == "table").count();
        if name == "table" && tables == 0 {
            self.grid = Some(Grid::new(at));
        }
        let Some(grid) = self.grid.as_mut().filter(|_| tables == 1) else {
            return;
        };
        match name {
            "tr" => grid.row(),
            "td" | "th" => grid.cell(at),
            _ => {}
        }
    }

    /// Opens an element within a line; one that ended right here goes on instead.
    fn go_on(&mut self, name: &'static str) {
        let kept = self.out.strip_suffix('>').and_then(|rest| rest.strip_suffix(name));
        match kept.and_then(|rest| rest.strip_suffix("</")).map(str::len) {
            Some(kept) => self.out.truncate(kept),
            None => self.tag(name, &[]),
        }
    }

    fn tag(&mut self, name: &str, attributes: &[(&str, &str)]) {
        self.out.push('<');
        self.out.push_str(name);
        for (attribute, value) in attributes {
            self.out.push(' ');
            self.out.push_str(attribute);
            self.out.push_str("=\"");
            escape(value, &mut self.out);
            self.out.push('"');
        }
        self.out.push('>');
    }

    /// Closes all that is open from that place on.
    fn close_to(&mut self, at: usize) {
        while self.open.len() > at {
            self.close_last();
        }
    }

    fn close_last(&mut self) {
        let Some(name) = self.open.pop() else {
            return;
        };
        if matches!(name, "a" | "pre") {
            self.over = 0;
        }
        if let (Some(grid), "td" | "th") = (&mut self.grid, name) {
            grid.cell_end(self.out.len());
        }
        match self.wanted {
            Wanted::Markup => {
                self.out.push_str("</");
                self.out.push_str(name);
                self.out.push('>');
            }
            Wanted::Words if is_inline(name) => {}
            Wanted::Words if matches!(name, "td" | "th") => self.out.push('\t'),
            Wanted::Words => self.new_line(),
        }
        if name == "table" && !self.open.contains(&"table") {
            let grid = self.grid.take().filter(|_| self.wanted == Wanted::Markup);
            if let Some(grid) = grid {
                grid.finish(&mut self.out);
            }
        }
    }

    fn new_line(&mut self) {
        // The mark of a list's item waits for its words.
        if self.out.ends_with("\n- ") || self.out == "- " {
            return;
        }
        let kept = self.out.trim_end_matches([' ', '\t']).len();
        self.out.truncate(kept);
        if !self.out.is_empty() && !self.out.ends_with('\n') {
            self.out.push('\n');
        }
    }

    /// Adds words with single blanks between them.
    fn flow(&mut self, text: &str) {
        for piece in text.split_inclusive(char::is_whitespace) {
            let word = piece.trim_end();
            self.out.push_str(word);
            let is_apart = self.out.is_empty() || self.out.ends_with([' ', '\n', '\t']);
            if word.len() < piece.len() && !is_apart {
                self.out.push(' ');
            }
        }
    }
}

fn is_inline(name: &str) -> bool {
    matches!(name, "a" | "strong" | "em" | "code")
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

fn escape(text: &str, out: &mut String) {
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\0' => {}
            other => out.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(html: &str, wanted: Wanted) -> Simple {
        simplify(html, &WebUrl::parse("https://example.com/docs/a").unwrap(), wanted)
    }

    fn markup(html: &str) -> String {
        made(html, Wanted::Markup).body
    }

    #[test]
    fn what_nobody_reads_is_left_out() {
        let html = "<html><head><title> A\n page </title><style>p{}</style></head><body><p>one\
                    <script>if (a < b) { document.write('</nav><p>'); }</script> two<svg><p>x</p></svg></p>";
        let simple = made(html, Wanted::Markup);
        assert_eq!(simple.title, "A page");
        assert_eq!(simple.body, "<div><div><p>one two</p></div></div>");
    }

    #[test]
    fn links_are_absolute_and_those_that_lead_nowhere_are_words() {
        let link = markup("<a href='../b?x=1&y=2#t'>b</a>");
        assert_eq!(link, "<a href=\"https://example.com/b?x=1&amp;y=2\">b</a>");
        assert_eq!(markup("<a href='#top'>up</a> <a href='javascript:x()'>x</a>"), "up x");
        let based = "<base href='https://other.org/d/'><a href=e>e</a>";
        assert_eq!(markup(based), "<a href=\"https://other.org/d/e\">e</a>");
    }

    #[test]
    fn what_is_not_closed_is_closed_where_it_should_be() {
        assert_eq!(markup("<ul><li>a<li>b</ul>"), "<ul><li>a</li><li>b</li></ul>");
        assert_eq!(markup("<p>a<p>b"), "<p>a</p><p>b</p>");
        assert_eq!(
            markup("<table><tr><td>a</div><td>b<tr><td>c</table>d"),
            "<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>d"
        );
        assert_eq!(markup("<p><b>a<p>b</b>"), "<p><strong>a</strong></p><p>b</p>");
        let link = markup("<a href=b><div>x</div><p>y</a>z");
        assert_eq!(link, "<a href=\"https://example.com/docs/b\"> x  y</a>z");
    }

    #[test]
    fn depth_has_a_limit_whatever_the_page_does() {
        for piece in ["<div>", "<b><i><p>", "<table><tr><td>", "<a href=x><b>", "<ul><li>", "<blockquote><b>"]
        {
            let simple = made(&format!("{}deep", piece.repeat(50_000)), Wanted::Markup);
            let mut depth = 0usize;
            let mut deepest = 0;
            for tag in simple.body.split('<').skip(1) {
                if tag.starts_with('/') {
                    depth -= 1;
                } else {
                    depth += 1;
                }
                deepest = deepest.max(depth);
            }
            assert!(deepest <= DEPTH_MAX && depth == 0, "{piece}: {deepest}");
            assert!(simple.body.contains("deep"));
        }
    }

    #[test]
    fn no_page_makes_the_markdown_writer_repeat_itself() {
        assert_eq!(markup("<b>a</b><b>b</b> <b>c</b>"), "<strong>ab</strong> <strong>c</strong>");
        assert_eq!(markup(&"<blockquote>".repeat(20)).matches("<blockquote>").count(), INDENTS_MAX);
        let rows = "<tr><td>a<td>b".repeat(1_000);
        let wide = format!("<table><tr><th>{}<th>x{rows}</table>", "w".repeat(2_000));
        assert!(!markup(&wide).contains("<th>"));
        assert!(markup(&format!("<table><tr><th>w<th>x{rows}</table>")).contains("<th>"));
    }

    #[test]
    fn menus_are_left_out_unless_nothing_else_is_there() {
        let words = "word ".repeat(100);
        let page = format!("<nav><a href=x>menu</a></nav><p>{words}</p><footer>foot</footer>");
        let body = markup(&page);
        assert!(!body.contains("menu") && !body.contains("foot") && body.contains("word"));
        assert!(markup("<nav><a href=x>menu</a></nav>").contains("menu"));
        assert!(markup(&format!("<nav>menu<p>{words}")).contains("word"));
    }

    #[test]
    fn words_stand_on_a_line_a_block() {
        let html = "<h1>Head</h1><p>a <b>b</b>\n c<br>d</p><ul><li>x<li>y</ul><pre>k\n  l</pre>\
                    <table><tr><td>1<td>2</table>";
        assert_eq!(made(html, Wanted::Words).body, "Head\na b c\nd\n- x\n- y\nk\n  l\n1\t2\n");
    }

    #[test]
    fn a_listing_keeps_its_lines_and_language() {
        let html = "<pre><code class='x language-rust'><span>fn</span> a() {\n<div>b</div>}</code></pre>";
        assert_eq!(markup(html), "<pre><code class=\"language-rust\">fn a() {\n\nb\n}</code></pre>");
    }
}
