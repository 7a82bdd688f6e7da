//! The targets of a Makefile and the recipes of a justfile; pure.
//!
//! Only what stands in the file itself counts: includes aren't followed.

use std::collections::BTreeSet;

/// The targets that a Makefile names by plain words.
pub(super) fn targets(text: &str) -> BTreeSet<String> {
    let mut targets = BTreeSet::new();
    for line in text.lines() {
        if line.starts_with(['\t', ' ', '#', '.']) {
            continue;
        }
        let Some((names, rest)) = line.split_once(':') else { continue };
        // `:=`, `::=` set a variable, as does a `=` before the colon.
        if rest.trim_start_matches(':').starts_with('=') || names.contains('=') {
            continue;
        }
        let is_plain = |name: &&str| !name.contains(['%', '$', '(']);
        targets.extend(names.split_whitespace().filter(is_plain).map(str::to_owned));
    }
    targets
}

/// The recipes that a justfile has.
pub(super) fn recipes(text: &str) -> BTreeSet<String> {
    let mut recipes = BTreeSet::new();
    for line in text.lines() {
        if line.starts_with(['\t', ' ', '#', '[']) {
            continue;
        }
        let Some((head, rest)) = line.split_once(':') else { continue };
        if rest.starts_with('=') {
            // A parameter's default may hold a colon, a variable's name never a blank.
            continue;
        }
        let name = head.trim_start_matches('@').split_whitespace().next().unwrap_or_default();
        if !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_')) {
            recipes.insert(name.to_owned());
        }
    }
    recipes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_told_from_variables_and_recipes() {
        let text = ".PHONY: test\nCC := gcc\nX ::= 1\nA=b:c\ntest lint: build\n\techo a: b\n%.o: %.c\n$(X): y\nall::\n";
        assert_eq!(targets(text).into_iter().collect::<Vec<_>>(), ["all", "lint", "test"]);
    }

    #[test]
    fn recipes_are_told_from_variables_and_attributes() {
        let text = "x := 'a'\n[private]\n@test *args: build\n    echo a: b\nbuild:\n# no: t\nset shell := [\"sh\"]\n";
        assert_eq!(recipes(text).into_iter().collect::<Vec<_>>(), ["build", "test"]);
    }
}
