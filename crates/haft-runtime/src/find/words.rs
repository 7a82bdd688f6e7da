//! Words of names, texts and queries, and which of them count as one.

use rust_stemmers::{Algorithm, Stemmer};
use std::{collections::HashMap, sync::LazyLock};

/// Words that tell nothing about a tool, in English; they count neither in texts nor in queries.
const STOP: &[&str] = &[
    "a", "about", "also", "an", "and", "any", "are", "as", "at", "be", "by", "can", "could", "do", "does",
    "for", "from", "has", "have", "how", "i", "if", "in", "into", "is", "it", "me", "my", "no", "not", "of",
    "on", "or", "our", "please", "so", "some", "than", "that", "the", "then", "this", "to", "us", "want",
    "was", "we", "were", "what", "which", "will", "with", "would", "you", "your", "need",
];

/// Words that people and authors of tools use for one another. A word of a query also finds the others of its line, at
/// a lower weight.
const SYNONYMS: &[&str] = &[
    "get fetch retrieve obtain show display view read lookup give tell",
    "find search look locate discover query seek",
    "create make add new insert generate build register",
    "delete remove erase drop discard clear",
    "update modify change edit set adjust alter",
    "calculate compute determine calc evaluate estimate",
    "list enumerate show all",
    "book reserve reservation booking",
    "buy purchase order",
    "send deliver submit post",
    "convert conversion translate transform",
    "predict forecast prediction",
    "play listen",
    "start begin launch run execute open",
    "stop end cancel terminate kill",
    "check verify validate",
    "price cost rate fee",
    "nearby near closest nearest",
    "schedule appointment calendar",
    "movie film",
    "song music track",
    "compare comparison difference",
    "analyze analyse analysis",
    "info information detail data",
    "folder directory",
    "file document",
    "copy duplicate clone",
    "move rename",
    "issue ticket bug",
    "picture image photo",
    "mail email message",
    "repo repository",
    "database db sql",
    "download save",
    "merge combine join",
];

static STEMS: LazyLock<Stemmer> = LazyLock::new(|| Stemmer::create(Algorithm::English));

static KIN: LazyLock<HashMap<String, Vec<String>>> = LazyLock::new(|| {
    let mut kin: HashMap<String, Vec<String>> = HashMap::new();
    for line in SYNONYMS {
        let stems: Vec<String> = line.split(' ').map(stem).collect();
        for word in &stems {
            let others = kin.entry(word.clone()).or_default();
            others.extend(stems.iter().filter(|other| *other != word).cloned());
            others.sort();
            others.dedup();
        }
    }
    kin
});

/// The form that a word shares with its inflections.
pub(super) fn stem(word: &str) -> String {
    STEMS.stem(word).into_owned()
}

/// Whether the word tells nothing.
pub(super) fn is_stop(word: &str) -> bool {
    STOP.contains(&word)
}

/// Stems of words that are used for that one.
pub(super) fn kin(stem: &str) -> &'static [String] {
    KIN.get(stem).map_or(&[], Vec::as_slice)
}

/// The words of a text in small letters, in their order: at blanks and signs, at humps (`getUserID`, `HTMLPage`), and
/// pairs of characters where a script doesn't separate words.
pub(super) fn split(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut before: Option<char> = None;
    let mut signs = text.chars().peekable();
    while let Some(sign) = signs.next() {
        if !sign.is_alphanumeric() {
            end(&mut word, &mut words);
            before = None;
            continue;
        }
        let next_is_small = signs.peek().is_some_and(|next| next.is_lowercase());
        let is_hump =
            sign.is_uppercase() && before.is_some_and(|before| !before.is_uppercase() || next_is_small);
        if is_hump || before.is_some_and(|before| is_unspaced(before) != is_unspaced(sign)) {
            end(&mut word, &mut words);
        }
        word.extend(sign.to_lowercase());
        before = Some(sign);
    }
    end(&mut word, &mut words);
    words
}

fn end(word: &mut String, words: &mut Vec<String>) {
    if word.is_empty() {
        return;
    }
    let word = std::mem::take(word);
    if !word.chars().next().is_some_and(is_unspaced) {
        words.push(word);
        return;
    }
    let signs: Vec<char> = word.chars().collect();
    match signs.as_slice() {
        [one] => words.push(one.to_string()),
        signs => words.extend(signs.windows(2).map(|pair| pair.iter().collect::<String>())),
    }
}

/// Whether the script of this character is written without blanks between words.
fn is_unspaced(sign: char) -> bool {
    matches!(u32::from(sign),
        0x0E00..=0x0EFF | 0x1000..=0x109F | 0x1780..=0x17FF | 0x3040..=0x30FF | 0x3400..=0x9FFF | 0xF900..=0xFAFF)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_apart_at_signs_and_humps() {
        let check = |text: &str, words: &[&str]| assert_eq!(split(text), words, "{text}");
        check("mcp__lens__find_node", &["mcp", "lens", "find", "node"]);
        check("getUserID", &["get", "user", "id"]);
        check("HTMLPage.parse-2", &["html", "page", "parse", "2"]);
        check("sha256sum", &["sha256sum"]);
        check("weather.get_by_coordinates", &["weather", "get", "by", "coordinates"]);
        check("Größe ändern", &["größe", "ändern"]);
        check("天気予報", &["天気", "気予", "予報"]);
        check("  ", &[]);
    }

    #[test]
    fn inflections_and_kin_meet() {
        assert_eq!(stem("searching"), stem("searches"));
        assert!(kin(&stem("finding")).contains(&stem("search")));
        assert!(kin("xylophone").is_empty());
    }
}
