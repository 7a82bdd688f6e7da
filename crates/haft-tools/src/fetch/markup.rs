//! What the elements of a page are, for reading.

/// What is done with an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Starts on a line of its own; written under this name.
    Block(&'static str),
    /// A part of a table, which is a plain block outside of one.
    Cell(&'static str),
    /// Stands within a line; written under this name.
    Inline(&'static str),
    /// A break in a line.
    Break,
    /// A rule between blocks.
    Rule,
    /// A picture, of which the words are kept.
    Picture,
    /// The page's title.
    Title,
    /// Where relative links start from.
    Base,
    /// Left out with all that is in it: nobody reads it.
    Noise,
    /// Left out with all that is in it, unless the page is nothing else.
    Frame,
    /// Only its content is kept.
    Nothing,
}

/// The role of an element.
pub(super) fn role(name: &str) -> Role {
    match name {
        "h1" => Role::Block("h1"),
        "h2" => Role::Block("h2"),
        "h3" => Role::Block("h3"),
        "h4" => Role::Block("h4"),
        "h5" => Role::Block("h5"),
        "h6" => Role::Block("h6"),
        "p" => Role::Block("p"),
        "ul" | "menu" | "dir" => Role::Block("ul"),
        "ol" => Role::Block("ol"),
        "li" => Role::Block("li"),
        "pre" | "listing" | "xmp" => Role::Block("pre"),
        "blockquote" => Role::Block("blockquote"),
        "table" => Role::Block("table"),
        "address" | "article" | "aside" | "body" | "center" | "dd" | "details" | "dialog" | "div" | "dl"
        | "dt" | "fieldset" | "figcaption" | "figure" | "form" | "header" | "hgroup" | "html" | "legend"
        | "main" | "option" | "search" | "section" | "summary" => Role::Block("div"),
        "caption" => Role::Cell("caption"),
        "thead" => Role::Cell("thead"),
        "tbody" | "tfoot" => Role::Cell("tbody"),
        "tr" => Role::Cell("tr"),
        "td" => Role::Cell("td"),
        "th" => Role::Cell("th"),
        "a" => Role::Inline("a"),
        "b" | "strong" => Role::Inline("strong"),
        "i" | "em" | "cite" | "dfn" => Role::Inline("em"),
        "code" | "kbd" | "samp" | "tt" => Role::Inline("code"),
        "br" => Role::Break,
        "hr" => Role::Rule,
        "img" => Role::Picture,
        "title" => Role::Title,
        "base" => Role::Base,
        "script" | "style" | "template" | "svg" | "math" | "iframe" | "object" | "canvas" | "audio"
        | "video" | "noembed" | "noframes" | "select" | "textarea" | "button" | "datalist" => Role::Noise,
        "nav" | "footer" => Role::Frame,
        _ => Role::Nothing,
    }
}

/// Which open elements end where this one starts, and which ones keep them open.
pub(super) fn ends(name: &str) -> (&'static [&'static str], &'static [&'static str]) {
    match name {
        "li" => (&["li"], &["ul", "ol", "table", "blockquote"]),
        "tr" => (&["tr", "caption"], &["table"]),
        "td" | "th" => (&["td", "th"], &["tr", "table"]),
        "thead" | "tbody" => (&["thead", "tbody", "caption"], &["table"]),
        _ => (&[], &[]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_that_say_nothing_are_not_written() {
        assert_eq!(role("span"), Role::Nothing);
        assert_eq!(role("x-card"), Role::Nothing);
        assert_eq!(role("script"), Role::Noise);
        assert_eq!(role("section"), Role::Block("div"));
        assert!(ends("p").0.is_empty());
    }
}
