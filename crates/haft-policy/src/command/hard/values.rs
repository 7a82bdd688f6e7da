//! What a word may stand for, by best effort: values that the line itself gives its variables, braces, quotes and
//! backslashes. For what is refused alone, so that it may guess.

use super::super::{JudgedLine, Word, place::of_word, plainly};

/// More texts than that are left out.
const TEXTS_MAX: usize = 64;

/// Every text that the word may stand for, its own first.
pub(super) fn possible(line: &JudgedLine, at: usize, word: &Word) -> Vec<String> {
    let mut texts = vec![of_word(word)];
    texts.extend(plainly(word));
    // `$'/'`; escapes in it are letters.
    texts.extend(word.text().strip_prefix("$'").and_then(|text| text.strip_suffix('\'')).map(str::to_owned));
    let given = given(line, at);
    for (name, values) in &given {
        let forms = [format!("${{{name}}}"), format!("${name}")];
        let replaced: Vec<String> = texts
            .iter()
            .flat_map(|text| forms.iter().map(move |form| (text, form)))
            .filter(|(text, form)| is_used(text, form))
            .flat_map(|(text, form)| values.iter().map(move |value| text.replace(form.as_str(), value)))
            .take(TEXTS_MAX)
            .collect();
        texts.extend(replaced);
    }
    let mut expanded: Vec<String> = Vec::new();
    for text in texts.iter().take(TEXTS_MAX) {
        braced(text, &mut expanded);
    }
    texts.append(&mut expanded);
    texts
}

/// Whether the variable stands in the text, and not one whose name only begins alike.
fn is_used(text: &str, form: &str) -> bool {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.split_once(form).is_some_and(|(_, rest)| {
        form.ends_with('}') || form.ends_with(['@', '*']) || !rest.starts_with(is_name)
    })
}

/// Variables of the line with the values that it gives them.
fn given(line: &JudgedLine, at: usize) -> Vec<(String, Vec<String>)> {
    let mut given: Vec<(String, Vec<String>)> = Vec::new();
    for simple in &line.line.commands {
        for (name, value) in &simple.assignments {
            let value = value.exact().map_or_else(|| of_word(value), str::to_owned);
            given.push((name.clone(), vec![value]));
        }
    }
    given.extend(loops(&line.text));
    given.extend(arguments(line, at));
    given.truncate(TEXTS_MAX);
    given
}

/// `for d in a b; do`
fn loops(text: &str) -> Vec<(String, Vec<String>)> {
    let spaced = text.replace([';', '\n'], " ; ");
    let mut words = spaced.split_whitespace();
    let mut found = Vec::new();
    while words.any(|word| word == "for") {
        let (Some(name), Some("in")) = (words.next(), words.next()) else {
            continue;
        };
        let values = words.by_ref().take_while(|word| !matches!(*word, ";" | "do"));
        let values = values.take(TEXTS_MAX).map(|value| value.replace(['"', '\''], ""));
        found.push((name.to_owned(), values.collect()));
        if found.len() >= TEXTS_MAX {
            break;
        }
    }
    found
}

/// The words behind a shell's text, which are `$0`, `$1` and so on in it.
fn arguments(line: &JudgedLine, at: usize) -> Vec<(String, Vec<String>)> {
    let commands = &line.line.commands;
    let outer = commands.get(at).and_then(|simple| simple.inside.or(simple.wrapper));
    let outer = outer.and_then(|outer| commands.get(outer));
    let words = outer.map(|outer| outer.words.as_slice()).unwrap_or_default();
    let is_flag = |word: &Word| word.text().starts_with('-') && !word.text().starts_with("--");
    let Some(flag) = words.iter().position(|word| is_flag(word) && word.text().contains('c')) else {
        return Vec::new();
    };
    let values: Vec<String> = words.iter().skip(flag + 2).take(TEXTS_MAX).map(of_word).collect();
    let all: Vec<String> = values.iter().skip(1).cloned().collect();
    let own = values.into_iter().take(10).enumerate().map(|(place, value)| (place.to_string(), vec![value]));
    own.chain(["@", "*"].map(|name| (name.to_owned(), all.clone()))).collect()
}

/// Adds what the braces of a text make of it.
fn braced(text: &str, found: &mut Vec<String>) {
    let mut todo = vec![text.to_owned()];
    while let Some(text) = todo.pop() {
        // The innermost first, which has no brace in it.
        let close = text.find('}').filter(|_| found.len() + todo.len() < TEXTS_MAX);
        let inner = close.and_then(|close| {
            let before = text.get(..close)?;
            let open =
                before.rfind('{').filter(|open| !before.get(..*open).is_some_and(|b| b.ends_with('$')))?;
            Some((before.get(..open)?, before.get(open + 1..)?, text.get(close + 1..)?))
        });
        match inner {
            Some((before, choices, after)) => {
                let made = choices.split(',').map(|choice| format!("{before}{choice}{after}"));
                todo.extend(made.take(TEXTS_MAX));
            }
            None if text.contains('{') => {}
            None => found.push(text),
        }
    }
}
