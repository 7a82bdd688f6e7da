//! A page of any shape, made small, flat and well-formed by its tokens.
//!
//! What comes out holds only elements of a short list, each closed where it should be, at most [`DEPTH_MAX`]
//! deep, links absolute. Every tag in it was written here, so whoever parses it can't be led deeper.

mod out;
mod writer;

use haft_core::WebUrl;
use html5ever::{
    tendril::StrTendril,
    tokenizer::{
        BufferQueue, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts, states::RawKind,
    },
};
use std::cell::RefCell;
use writer::Writer;

/// Elements stand in one another at most so deep; what is deeper loses its form and keeps its words.
pub(super) const DEPTH_MAX: usize = 60;

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

fn is_inline(name: &str) -> bool {
    matches!(name, "a" | "strong" | "em" | "code")
}

#[cfg(test)]
mod tests {
    use super::writer::INDENTS_MAX;
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
