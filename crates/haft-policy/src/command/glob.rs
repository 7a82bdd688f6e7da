//! Patterns over file names, as far as they can be matched name by name.
//!
//! Leaves it to others which names there are. A pattern that needs more than one folder's names at a time (`**`), or
//! that shells read differently (braces, extended patterns, backslashes), has no parts.

/// Openings of extended patterns, which only some shells know.
static EXTENDED: [&str; 5] = ["?(", "*(", "+(", "@(", "!("];

/// More steps than that over one name, and the pattern counts as fitting.
const STEPS_MAX: usize = 100_000;

/// The components of a pattern over paths; none where it can't be matched component by component.
pub fn pattern_parts(text: &str) -> Option<Vec<&str>> {
    let is_odd = text.contains("**")
        || ["[.", "[=", "-["].iter().any(|set| text.contains(set))
        || text.contains(['{', '\\'])
        || EXTENDED.iter().any(|open| text.contains(open));
    (!is_odd).then(|| text.split('/').collect())
}

/// Whether one component of a pattern stands for the name: `*`, `?` and `[…]`, letters being told apart by case, and
/// a leading dot only by a dot. A pattern with a backslash stands for nothing.
pub fn matches_name(pattern: &str, name: &str) -> bool {
    if pattern.contains('\\') || (name.starts_with('.') && !pattern.starts_with('.')) {
        return false;
    }
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    let (mut at, mut from) = (0, 0);
    // Where the last star stands, and the first character that it doesn't cover.
    let mut star: Option<(usize, usize)> = None;
    for _ in 0..STEPS_MAX {
        let step = match (pattern.get(at), name.get(from)) {
            (None, None) => return true,
            (Some('*'), _) => {
                star = Some((at, from));
                at += 1;
                continue;
            }
            (None, Some(_)) => None,
            (Some(_), None) => return false,
            (Some(_), Some(c)) => one(pattern.get(at..).unwrap_or_default(), *c),
        };
        match (step, star) {
            (Some(len), _) => {
                at += len;
                from += 1;
            }
            (None, Some((place, covered))) => {
                star = Some((place, covered + 1));
                at = place + 1;
                from = covered + 1;
            }
            (None, None) => return false,
        }
    }
    true
}

/// How much of the pattern stands for the one character.
fn one(pattern: &[char], c: char) -> Option<usize> {
    match pattern.first()? {
        '?' => Some(1),
        '[' => match bracket(pattern, c) {
            Some((len, fits)) => fits.then_some(len),
            // Without its end it is a letter like any other.
            None => (c == '[').then_some(1),
        },
        own => (*own == c).then_some(1),
    }
}

/// How long the bracket is that the pattern begins with, and whether the character is in it.
fn bracket(pattern: &[char], c: char) -> Option<(usize, bool)> {
    let mut at = 1;
    let is_negated = matches!(pattern.get(at), Some('!' | '^'));
    at += usize::from(is_negated);
    let first = at;
    let mut is_in = false;
    loop {
        let own = *pattern.get(at)?;
        if own == ']' && at > first {
            return Some((at + 1, is_in != is_negated));
        }
        if let Some((len, fits)) = class(pattern.get(at..)?, c) {
            // What sorts alike depends on the language: it may fit either way.
            let Some(fits) = fits else {
                let end = pattern.iter().skip(at + len).position(|c| *c == ']')?;
                return Some((at + len + end + 1, true));
            };
            is_in |= fits;
            at += len;
            continue;
        }
        match (pattern.get(at + 1), pattern.get(at + 2)) {
            (Some('-'), Some(end)) if *end != ']' => {
                is_in |= (own..=*end).contains(&c);
                at += 3;
            }
            _ => {
                is_in |= own == c;
                at += 1;
            }
        }
    }
}

/// `[:alpha:]` and its like at the beginning: how long it is, and whether the character is in it, where that is sure.
fn class(pattern: &[char], c: char) -> Option<(usize, Option<bool>)> {
    let mark = *pattern.get(1).filter(|mark| matches!(mark, ':' | '.' | '='))?;
    if pattern.first() != Some(&'[') {
        return None;
    }
    let len = pattern.windows(2).skip(2).position(|pair| pair == [mark, ']'])?;
    let name: String = pattern.iter().skip(2).take(len).collect();
    let fits = match (mark, name.as_str()) {
        (':', "alpha") => c.is_alphabetic(),
        (':', "digit") => c.is_ascii_digit(),
        (':', "alnum") => c.is_alphanumeric(),
        (':', "upper") => c.is_uppercase(),
        (':', "lower") => c.is_lowercase(),
        (':', "space") => c.is_whitespace(),
        (':', "blank") => matches!(c, ' ' | '\t'),
        (':', "punct") => c.is_ascii_punctuation(),
        (':', "xdigit") => c.is_ascii_hexdigit(),
        (':', "cntrl") => c.is_control(),
        (':', "graph") => !c.is_control() && !c.is_whitespace(),
        (':', "print") => !c.is_control(),
        (':', "word") => c.is_alphanumeric() || c == '_',
        _ => return Some((len + 4, None)),
    };
    Some((len + 4, Some(fits)))
}

/// The text of a pattern without its quotes; none where they hold what would be a wildcard outside of them.
pub(super) fn unquoted(text: &str) -> Option<String> {
    let has_bracket = text.contains('[');
    let mut plain = String::new();
    let mut quote = None;
    for c in text.chars() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) if "*?[]\\".contains(c) || (has_bracket && "!^-".contains(c)) => return None,
            None if matches!(c, '\'' | '"') => quote = Some(c),
            None | Some(_) => plain.push(c),
        }
    }
    quote.is_none().then_some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_stand_for_names() {
        let cases = [
            ("*", "a", true),
            ("*", ".env", false),
            (".e*", ".env", true),
            (".*", "..", true),
            ("?env", ".env", false),
            ("[.]env", ".env", false),
            ("*.rs", "a.rs", true),
            ("*.rs", "a.rss", false),
            ("a*b*c", "axxbyyc", true),
            ("a*b*c", "axxbyy", false),
            ("a**", "a", true),
            ("?", "é", true),
            ("[a-c]x", "bx", true),
            ("[!a-c]x", "bx", false),
            ("[^a-c]x", "dx", true),
            ("[]x]", "]", true),
            ("[a-]", "-", true),
            ("[[:alpha:]]*", "x1", true),
            ("[[:digit:]]*", "x1", false),
            ("[![:digit:]]", "x", true),
            ("[[:digit:]_-]", "_", true),
            ("[[=e=]]", "e", true),
            ("[ab", "[ab", true),
            ("[ab", "a", false),
            ("A", "a", false),
            ("a\\*", "a*", false),
            ("", "", true),
            ("", "a", false),
            ("a]", "a]", true),
        ];
        for (pattern, name, expected) in cases {
            assert_eq!(matches_name(pattern, name), expected, "{pattern} on {name}");
        }
        assert!(!matches_name(&"*a".repeat(40), &"a".repeat(30)));
    }

    #[test]
    fn only_plain_patterns_have_parts() {
        assert_eq!(pattern_parts("/a/*.rs"), Some(vec!["", "a", "*.rs"]));
        assert_eq!(pattern_parts("~/.e*"), Some(vec!["~", ".e*"]));
        for text in ["a/**/b", "{a,b}*", "@(a|b)*", "a\\*"] {
            assert_eq!(pattern_parts(text), None, "{text}");
        }
    }

    #[test]
    fn quotes_go_unless_they_hide_a_wildcard() {
        assert_eq!(unquoted("\"a b\"/*.rs").as_deref(), Some("a b/*.rs"));
        assert_eq!(unquoted("'a*'?"), None);
        assert_eq!(unquoted("\"[\"a]*"), None);
    }
}
