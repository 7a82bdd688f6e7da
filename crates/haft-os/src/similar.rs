//! Which names a mistyped one may have meant, and which can't be told from each other by eye.

use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};

/// So much alike, from 0 to 1, names must be without their endings.
const STEMS_ALIKE_MIN: f64 = 0.5;

/// The form that names which look alike share: compatibility forms and all kinds of blanks folded.
pub(crate) fn fold(name: &str) -> String {
    name.nfkc().map(|c| if c.is_whitespace() { ' ' } else { c }).collect()
}

/// A name with what can't be told apart by eye as escapes.
pub(crate) fn escaped(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        let folds = !fold(c.encode_utf8(&mut [0; 4])).chars().eq([c]);
        if c != ' ' && (folds || c.is_whitespace() || c.is_control() || is_combining_mark(c)) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}

/// At most three of the names that look like the wanted one, the likeliest first.
pub(crate) fn similar(wanted: &str, names: impl IntoIterator<Item = String>) -> Vec<String> {
    let wanted = folded(wanted);
    let mut scored: Vec<(f64, String)> = names
        .into_iter()
        .filter_map(|name| {
            let other = folded(&name);
            let contained =
                wanted.len() > 2 && (other.contains(&wanted) || wanted.contains(&other) && other.len() > 2);
            let score =
                strsim::normalized_damerau_levenshtein(&wanted, &other) + if contained { 0.3 } else { 0.0 };
            // An ending that both have makes no short names alike.
            let stems = || strsim::normalized_damerau_levenshtein(stem(&wanted), stem(&other));
            (score >= 0.6 && (contained || stems() >= STEMS_ALIKE_MIN)).then_some((score, name))
        })
        .collect();
    scored.sort_by(|one, other| other.0.total_cmp(&one.0).then_with(|| one.1.cmp(&other.1)));
    scored.into_iter().take(3).map(|(_, name)| name).collect()
}

/// A name without its ending; one that is nothing but an ending is whole.
fn stem(name: &str) -> &str {
    name.rsplit_once('.').map(|(stem, _)| stem).filter(|stem| !stem.is_empty()).unwrap_or(name)
}

/// Without case and with every kind of blank alike, since those are what a reader can't see.
fn folded(name: &str) -> String {
    name.chars().map(|c| if c.is_whitespace() { ' ' } else { c }).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typing_errors_and_unseen_blanks_find_their_name() {
        let names =
            || ["main.rs", "mian.rs", "Shot 2026\u{202f}AM.txt", "zebra", "domain.rs"].map(str::to_owned);
        assert_eq!(similar("man.rs", names()).first().unwrap(), "main.rs");
        assert_eq!(similar("Shot 2026 AM.txt", names()), ["Shot 2026\u{202f}AM.txt"]);
        assert!(similar("quite-other.toml", names()).is_empty());
        let short = || ["#h.txt", "g.txt", "a.md", ".env"].map(str::to_owned);
        assert!(similar("\u{e9}.txt", short()).is_empty() && similar("f.txt", short()).is_empty());
        assert_eq!(similar("a.mdx", short()), ["a.md"]);
        assert_eq!(similar(".evn", short()), [".env"]);
    }
}
