//! The values that a query tells.
//!
//! A task as somebody puts it has names, texts in quotes and numbers, or asks for something; what only says which tool is
//! wanted has none. What follows for a tool is left to the index.

use super::words::is_stop;

/// Numbers that are written as words.
const NUMBERS: [&str; 10] = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];

/// Whether a query is a task in which there is no number, so that a tool that has to be told one hardly fits. A word that
/// tools themselves are called by (`is_own`) names no value but which tool is wanted, as `GitHub`.
pub(super) fn lacks_number(text: &str, words: &[String], is_own: impl Fn(&str) -> bool) -> bool {
    (text.contains('?') || has_quotes(text) || has_name(text, is_own)) && !has_number(text, words)
}

/// Whether there is a number, in digits or as a word; the digits of `abc12` are none.
fn has_number(text: &str, words: &[String]) -> bool {
    let mut before = ' ';
    for sign in text.chars() {
        let is_inside = before.is_alphanumeric() || matches!(before, '_' | '.');
        if sign.is_numeric() && !is_inside {
            return true;
        }
        before = sign;
    }
    words.iter().any(|word| NUMBERS.contains(&word.as_str()))
}

/// Whether something stands between two quotes of a kind.
fn has_quotes(text: &str) -> bool {
    ['\'', '"'].into_iter().any(|quote| {
        let between = text.split_once(quote).and_then(|(_, rest)| rest.rsplit_once(quote));
        between.is_some_and(|(between, _)| between.contains(|sign: char| sign != quote))
    })
}

/// Whether a word that doesn't begin a sentence begins with a capital letter, and isn't `I`.
fn has_name(text: &str, is_own: impl Fn(&str) -> bool) -> bool {
    let goes_on = |sign: char| sign.is_alphanumeric() || matches!(sign, '_' | ',' | '\'' | '"');
    let ends = text.split(' ').map(|word| word.chars().next_back());
    let words = text.split(' ').skip(1).map(|word| word.trim_start_matches(['\'', '"']));
    ends.zip(words).any(|(end, word)| {
        let is_capital = end.is_some_and(goes_on) && word.chars().next().is_some_and(char::is_uppercase);
        is_capital && !is_stop(&word.to_lowercase()) && !is_own(word)
    })
}

#[cfg(test)]
mod tests {
    use super::{super::words::split, *};

    fn lacks(text: &str) -> bool {
        lacks_number(text, &split(text), |word| word.starts_with("GitHub"))
    }

    #[test]
    fn a_task_without_a_number_lacks_one() {
        for task in [
            "What is the history of Buddhism",
            "how is the weather?",
            "play 'yellow submarine'",
            "open \"notes\"",
            "greet Ann, please",
            "find \"Ann\" now",
            "the state of order abc12, Bob",
        ] {
            assert!(lacks(task), "{task}");
        }
    }

    #[test]
    fn a_number_is_one_however_it_is_written() {
        for task in [
            "3 days in Paris?",
            "is it $5?",
            "a table for two in Rome",
            "as of 2026-11-30 in Oslo",
            "x=.5, y=7?",
        ] {
            assert!(!lacks(task), "{task}");
        }
    }

    #[test]
    fn what_only_says_which_tool_is_wanted_lacks_nothing() {
        for query in [
            "area of a triangle",
            "Set the volume",
            "it's done. Then",
            "find_node",
            "",
            " ",
            "''",
            "Paris",
            "get a GitHub issue",
            "what can I read",
        ] {
            assert!(!lacks(query), "{query}");
        }
        assert!(lacks("get the GitHub issues of Ann"));
    }
}
