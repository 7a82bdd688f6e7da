//! `find`: which of its tests and actions only look.

use super::{Word, is_among};

/// Tests and actions without a value.
const PLAIN: &str = "-print -print0 -ls -prune -quit -empty -true -false -readable -writable -executable -nouser \
    -nogroup -depth -d -xdev -mount -daystart -noleaf -ignore_readdir_race -noignore_readdir_race -not -and -a \
    -or -o -H -P -E -X -x -s -help --help -version --version -warn -nowarn";

/// Those with one.
const VALUED: &str = "-name -iname -path -ipath -wholename -iwholename -regex -iregex -lname -ilname -type -xtype \
    -size -mtime -atime -ctime -mmin -amin -cmin -maxdepth -mindepth -perm -user -group -uid -gid -links -inum \
    -fstype -printf -regextype -used -context -D";

/// Those whose value is a path.
const PATHS: &str = "-newer -anewer -cnewer -samefile";

/// Whether the option is followed by a value.
pub(crate) fn is_test_with_value(option: &str) -> bool {
    is_among(VALUED, option) || is_among(PATHS, option) || option.starts_with("-newer")
}

/// The folders that are walked: the words before the first test. None given: the folder it stands in.
pub(crate) fn roots(words: &[Word]) -> Vec<&Word> {
    let is_early = |word: &&Word| is_among("-H -L -P", word.text()) || word.text().starts_with("-O");
    let words = words.iter().skip_while(is_early);
    words.take_while(|word| !word.text().starts_with(['-', '(', '!', ')', ','])).collect()
}

/// Ok where nothing is run, removed or written.
pub(super) fn read_only(words: &[Word]) -> Result<(), String> {
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let why = || format!("find may do more than read with {}", word.text());
        let Some(text) = word.exact() else {
            // A folder; nothing that begins with a literal letter is a test.
            let is_root = !matches!(word, Word::Unknown { splits: true, .. })
                && word.prefix().starts_with(|c: char| c.is_ascii_alphanumeric() || "./_".contains(c));
            if is_root {
                continue;
            }
            return Err(why());
        };
        let is_optimisation = text.strip_prefix("-O").is_some_and(|level| level.parse::<u8>().is_ok());
        if is_test_with_value(text) {
            match rest.next() {
                Some(Word::Exact(_) | Word::Unknown { splits: false, .. }) => {}
                _ => return Err(why()),
            }
        } else if text.starts_with('-') && !is_among(PLAIN, text) && !is_optimisation {
            return Err(why());
        }
    }
    Ok(())
}

/// Whether nothing but kind and depth is asked, so that everything is found.
pub(crate) fn finds_all(words: &[Word]) -> bool {
    let narrow = |text: &str| {
        (is_test_with_value(text) && !is_among("-type -maxdepth -mindepth", text))
            || is_among("-empty -executable -nouser -nogroup -not ! -prune", text)
    };
    let mut names = words.iter().map(Word::text).peekable();
    while let Some(text) = names.next() {
        let is_any_name = matches!(text, "-name" | "-iname" | "-path") && names.peek() == Some(&"*");
        if narrow(text) && !is_any_name {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;
    use super::*;

    #[test]
    fn find_only_looks() {
        check(
            &[
                "find",
                "find . -name '*.rs'",
                "find src tests -type f -not -path './target/*'",
                "find . -maxdepth 2 -newer x -print0",
                "find . -name \"$X\"",
                "find src* -size +1M",
                "find . '(' -name a -o -name b ')' -prune -o -print",
                "find . -printf '%p\\n'",
            ],
            &[
                "find . -delete",
                "find . -name x -delete",
                "find . -exec rm x ';'",
                "find . -execdir rm x ';'",
                "find . -ok rm x ';'",
                "find . -okdir rm x ';'",
                "find . -fprint x",
                "find . -fprint0 x",
                "find . -fprintf x y",
                "find . -fls x",
                "find $X",
                "find \"$X\" -name y",
                "find * -name y",
                "find -files0-from x",
                "find . -name",
                "find . -name *.rs",
            ],
        );
    }

    #[test]
    fn folders_stand_before_the_first_test() {
        let shown = |words: &[&str]| {
            let words: Vec<Word> = words.iter().map(|word| Word::known(*word)).collect();
            roots(&words).into_iter().map(|word| word.text().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(shown(&["-L", "a", "b", "-name", "c"]), ["a", "b"]);
        assert!(shown(&["-name", "c"]).is_empty());
    }

    #[test]
    fn a_name_narrows_what_is_found() {
        let all = |words: &[&str]| {
            let words: Vec<Word> = words.iter().map(|word| Word::known(*word)).collect();
            finds_all(&words)
        };
        assert!(all(&["/", "-delete"]) && all(&["/", "-type", "f", "-delete"]) && all(&["/", "-name", "*"]));
        assert!(!all(&["/", "-name", "*.pyc", "-delete"]) && !all(&[".", "-mtime", "3"]));
    }
}
