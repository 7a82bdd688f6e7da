//! Whether words fit a row of the table, and what the programs of some rows read into theirs.

use super::{
    is_among, not_listed,
    table::{Operands, ROWS, Row},
};
use crate::command::{
    Word,
    grammar::{Item, items, names, operands},
};

/// Programs that hand `@file` on as more options.
static RESPONSE_FILES: [&str; 5] = ["strings", "nm", "objdump", "readelf", "size"];

/// What lets a jq program read what no word names.
const JQ_REACHES: &str = "import include modulemeta env ENV input_filename input_line get_search_list";

/// Letters of `tar` that take a value.
const TAR_VALUED: &str = "bfCTXgHIKLNVF";

/// The rows about a program.
pub(crate) fn rows(program: &str) -> impl Iterator<Item = &'static Row> {
    ROWS.iter().filter(move |row| row.is_about(program))
}

/// By the rows of the table: one of them has to fit.
pub(crate) fn fits_a_row(program: &str, words: &[Word]) -> Result<(), String> {
    let mut why = format!("{program} isn't known to only read");
    for row in rows(program) {
        match fits(row, program, words) {
            Ok(()) => return Ok(()),
            Err(reason) => why = reason,
        }
    }
    Err(why)
}

/// Whether the words fit the row.
pub(crate) fn fits(row: &Row, program: &str, words: &[Word]) -> Result<(), String> {
    let words = if row.actions.is_empty() {
        words
    } else {
        let (action, rest) = words.split_first().ok_or_else(|| format!("{program} lacks an action"))?;
        let is_listed = action.exact().is_some_and(|action| is_among(row.actions, action));
        if !is_listed {
            return Err(not_listed(program, action));
        }
        rest
    };
    let items = items(row.options, words);
    for item in &items {
        match item {
            Item::Option { .. } | Item::Operand { is_sure: true, .. } => {}
            Item::Operand { .. } if row.any => {}
            Item::Operand { word, .. } => return Err(not_listed(program, word)),
            Item::Strange(word) if row.any && word.exact().is_none() => {}
            Item::Strange(word) => return Err(not_listed(program, word)),
        }
    }
    if !row.needs.is_empty() && !names(&items).any(|name| is_among(row.needs, name)) {
        return Err(format!("{program} only reads with {}", row.needs));
    }
    for (place, word) in operands(&items).enumerate() {
        let is_fine = match row.operands {
            Operands::None => false,
            Operands::OnePath => place == 0 && !matches!(word, Word::Glob { .. }),
            Operands::Plus => word.prefix().starts_with('+'),
            Operands::OneOf(among) => word.exact().is_some_and(|word| is_among(among, word)),
            Operands::Paths | Operands::Trees | Operands::Words | Operands::Pattern(_) => true,
        };
        if !is_fine || is_special(program, place, word) {
            return Err(not_listed(program, word));
        }
    }
    let given = |wanted: &str| names(&items).any(|name| is_among(wanted, name));
    if row.is_about("ls") && given("-L --dereference") && given(row.deep) {
        return Err(format!("{program} follows links to anywhere"));
    }
    // Another machine's archive is fetched by a program.
    let is_remote = |item: &Item<'_>| {
        matches!(item, Item::Option { value: Some(value), is_path: true, .. }
            if program.ends_with("tar") && (value.exact().is_none() || value.text().contains(':')))
    };
    if items.iter().any(is_remote) { Err(format!("{program} may read from elsewhere")) } else { Ok(()) }
}

/// Operands that mean more than a name to the program.
fn is_special(program: &str, place: usize, word: &Word) -> bool {
    let text = word.text();
    match program {
        // Programs of these languages can load files that no word names, and show the environment.
        "jq" => (place == 0 && word.exact().is_none()) || has_name(text, JQ_REACHES),
        "yq" => {
            let reaches = ["load", "env", "eval", "input_filename"];
            word.exact().is_none() || reaches.iter().any(|part| text.contains(part))
        }
        // Letters without a dash, of which one shows the environment; numbers and lists are values.
        "ps" => {
            let is_letters = !text.contains(',') && text.contains('e');
            word.exact().is_none() || is_letters
        }
        _ => RESPONSE_FILES.contains(&program) && (text.starts_with('@') || word.exact().is_none()),
    }
}

/// Whether one of the names stands in a program's text.
fn has_name(text: &str, names: &str) -> bool {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').any(|name| is_among(names, name))
}

/// The words of `tar` with a dash before each option: of `tar tfv x`, whose first word is letters alone, those with a
/// value take the following words in turn.
pub(crate) fn tar_words(words: &[Word]) -> Vec<Word> {
    let Some((Word::Exact(letters), rest)) = words.split_first() else {
        return words.to_vec();
    };
    if letters.starts_with('-') {
        return words.to_vec();
    }
    let mut rest = rest.iter();
    let mut all = Vec::new();
    for letter in letters.chars() {
        all.push(Word::known(format!("-{letter}")));
        if TAR_VALUED.contains(letter) {
            all.extend(rest.next().cloned());
        }
    }
    all.extend(rest.cloned());
    all
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;
    use super::ROWS;

    #[test]
    fn every_row_holds_its_examples() {
        for row in ROWS {
            check(row.yes, row.no);
            assert!(!row.yes.is_empty(), "{} has no example", row.programs);
        }
    }

    #[test]
    fn jq_and_yq_load_nothing() {
        check(
            &["jq .a x", "jq '.environment' x", "yq .a x.yml"],
            &[
                "jq 'import \"a\" as b; .' x",
                "jq 'include \"a\"; .' x",
                "jq -f x y",
                "jq -fx y",
                "jq --from-file x y",
                "jq -L x . y",
                "jq -n env",
                "jq -n '$ENV.X'",
                "jq -n 'env|keys'",
                "jq '\"x\"|modulemeta' y",
                "jq input_filename x",
                "jq \".a$X\" x",
                "yq 'strenv(X)' x.yml",
            ],
        );
    }

    #[test]
    fn ps_shows_no_environment() {
        check(&["ps aux", "ps -ef", "ps -p 12"], &["ps auxe", "ps e", "ps axeww", "ps a*"]);
    }

    #[test]
    fn modes_of_packers_are_not_mixed() {
        check(
            &["xz -lv x", "gzip -cdk x", "tar tfv x", "tar tvf x", "diff <(sort a) <(sort b)"],
            &[
                "xz -l -d x",
                "xz -ld x",
                "xz -lc x",
                "unxz --list --decompress x",
                "gunzip -v x",
                "tar tfI x sh",
                "tar tf h:x",
                "tar tA x",
                "tar tfg x y",
                "tar tf x --index-file=y",
                "tar tf x --listed-incremental=y",
                "tar tf x --rsh-command=sh",
                "tar tf x --delete y",
            ],
        );
    }

    #[test]
    fn links_in_trees_are_not_followed() {
        check(
            &["grep -r x .", "find -H .", "ls -L x", "ls -R x", "rg x", "du -D x", "tree x"],
            &[
                "grep -R x .",
                "grep -nR x .",
                "grep --dereference-recursive x .",
                "find -L .",
                "find . -follow",
                "ls -LR x",
                "ls -R --dereference x",
                "rg -L x",
                "rg --follow x",
                "fd -L x",
                "fd --follow x",
                "du -L x",
                "tree -l x",
            ],
        );
    }
}
