//! Plain search: words in names weigh more than words in descriptions.

use haft_core::Spec;
use haft_runtime::{Offer, Snapshot};

const EXACT_NAME: u32 = 16;
const IN_NAME: u32 = 8;
const IN_ALIAS: u32 = 4;
const IN_CATEGORY: u32 = 2;
const IN_TEXT: u32 = 1;

/// The tools that fit, best first.
pub(super) fn search<'a>(snapshot: &'a Snapshot, words: &[String]) -> Vec<&'a Offer> {
    let words: Vec<String> =
        words.iter().flat_map(|word| word.split_whitespace()).map(str::to_lowercase).collect();
    let mut found: Vec<(u32, &Offer)> = snapshot
        .offers()
        .map(|offer| (words.iter().map(|word| score(&offer.name, offer.spec(), word)).sum::<u32>(), offer))
        .filter(|(score, _)| *score > 0)
        .collect();
    // Stable, so that equals stay in the order of names.
    found.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    found.into_iter().map(|(_, offer)| offer).collect()
}

fn score(name: &str, spec: &Spec, word: &str) -> u32 {
    let name = name.to_lowercase();
    let in_alias = spec.aliases.iter().any(|alias| alias.to_lowercase().contains(word));
    let in_text = spec.description.to_lowercase().contains(word);
    let marks = [
        (name == word, EXACT_NAME),
        (name.contains(word), IN_NAME),
        (in_alias, IN_ALIAS),
        (spec.category.to_lowercase().contains(word), IN_CATEGORY),
        (in_text, IN_TEXT),
    ];
    marks.into_iter().filter(|(holds, _)| *holds).map(|(_, mark)| mark).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_weighs_more_than_a_description() {
        let grep = Spec::new("grep", "Searches file contents.").with_category("search");
        let read = Spec::new("read", "Reads a file; see grep.");
        assert!(score("grep", &grep, "grep") > score("read", &read, "grep"));
        assert_eq!(score("read", &read, "grep"), IN_TEXT);
        assert_eq!(score("read", &read, "web"), 0);
    }
}
