//! `sed` and `awk`: programs whose first operand is a program of its own. Only what can't write, run or open
//! anything is let through; a script that isn't understood wholly isn't.

use super::not_listed;
use crate::command::{
    Word,
    grammar::{Item, items, names, operands},
};
use std::{iter::Peekable, str::Chars};

const SED: &str = "-nErsuz -l: -e: --quiet --silent --regexp-extended --null-data --separate --unbuffered \
    --expression= --line-length= --posix --sandbox --debug --help --version";

const AWK: &str = "-F: -v: --field-separator= --assign= --version";

/// What lets an awk program run, write, or read something that no word names.
static AWK_REACHES: [&str; 9] =
    ["system", "getline", "ENVIRON", "ARGV", "SYMTAB", "FUNCTAB", "PROCINFO", "@", "\\\n"];

/// Ok where every script only selects, changes and prints lines.
pub(super) fn sed(words: &[Word]) -> Result<(), String> {
    for script in scripts("sed", SED, words)? {
        let mut chars = script.chars().peekable();
        sed_script(&mut chars).ok_or_else(|| format!("the sed script {script} may do more than print"))?;
    }
    Ok(())
}

/// Ok where the program only computes and prints.
pub(super) fn awk(words: &[Word]) -> Result<(), String> {
    for program in scripts("awk", AWK, words)? {
        // Only a print statement redirects, and statements stand in braces.
        let body = program.split_once('{').map_or("", |(_, body)| body);
        let body = if body.contains("|||") { body.to_owned() } else { body.replace("||", "") };
        if AWK_REACHES.iter().any(|word| program.contains(word)) || body.contains(['>', '|']) {
            return Err(format!("the awk program {program} may do more than print"));
        }
    }
    Ok(())
}

/// The scripts among the words.
fn scripts(program: &str, grammar: &str, words: &[Word]) -> Result<Vec<String>, String> {
    let items = items(grammar, words);
    let mut scripts = Vec::new();
    for item in &items {
        match item {
            Item::Option { name, value: Some(value), .. } if name == "-e" || name == "--expression" => {
                scripts.push(value.exact().ok_or_else(|| not_listed(program, value))?.to_owned());
            }
            Item::Option { .. } | Item::Operand { is_sure: true, .. } => {}
            Item::Operand { word, .. } => return Err(not_listed(program, word)),
            Item::Strange(word) => return Err(not_listed(program, word)),
        }
    }
    if scripts.is_empty() && !names(&items).any(|name| matches!(name, "--version" | "--help")) {
        let script = operands(&items).next().and_then(Word::exact);
        scripts.push(script.ok_or_else(|| format!("the script of {program} isn't known"))?.to_owned());
    }
    Ok(scripts)
}

/// Reads a whole script; none where a part of it isn't known to be harmless.
fn sed_script(chars: &mut Peekable<Chars<'_>>) -> Option<()> {
    loop {
        while chars.next_if(|c| matches!(c, ' ' | '\t' | '\n' | ';' | '{' | '}')).is_some() {}
        if chars.peek().is_none() {
            return Some(());
        }
        address(chars)?;
        if chars.next_if_eq(&',').is_some() {
            while chars.next_if(|c| matches!(c, ' ' | '+' | '~')).is_some() {}
            address(chars)?;
        }
        while chars.next_if(|c| matches!(c, ' ' | '!')).is_some() {}
        match chars.next()? {
            '{' => continue,
            'p' | '=' | 'd' | 'D' | 'P' | 'n' | 'N' | 'h' | 'H' | 'g' | 'G' | 'x' => {}
            'q' | 'Q' | 'l' => while chars.next_if(|c| matches!(c, ' ' | '0'..='9')).is_some() {},
            's' => {
                let delimiter = chars.next().filter(|c| c.is_ascii_punctuation() && *c != '\\')?;
                delimited(chars, delimiter, true)?;
                delimited(chars, delimiter, false)?;
                while chars.next_if(|c| matches!(c, 'g' | 'p' | 'I' | 'i' | '0'..='9')).is_some() {}
            }
            'y' => {
                let delimiter = chars.next().filter(|c| c.is_ascii_punctuation() && *c != '\\')?;
                delimited(chars, delimiter, false)?;
                delimited(chars, delimiter, false)?;
            }
            _ => return None,
        }
        while chars.next_if(|c| matches!(c, ' ' | '\t')).is_some() {}
        // One command ends where the next begins: nothing may be glued to it.
        if chars.peek().is_some_and(|c| !matches!(c, '\n' | ';' | '}')) {
            return None;
        }
    }
}

/// One address, or none at all.
fn address(chars: &mut Peekable<Chars<'_>>) -> Option<()> {
    if chars.next_if_eq(&'/').is_some() {
        delimited(chars, '/', true)?;
        while chars.next_if_eq(&'I').is_some() {}
    } else if chars.next_if_eq(&'$').is_none() {
        while chars.next_if(|c| matches!(c, '0'..='9' | '~')).is_some() {}
    }
    while chars.next_if_eq(&' ').is_some() {}
    Some(())
}

/// The text up to the delimiter. Where it could end is told differently by different seds inside brackets: an
/// expression whose brackets don't balance isn't understood.
fn delimited(chars: &mut Peekable<Chars<'_>>, delimiter: char, is_expression: bool) -> Option<()> {
    let mut open = 0_i32;
    loop {
        match chars.next()? {
            c if c == delimiter => return (open == 0 || !is_expression).then_some(()),
            '\\' => {
                chars.next().filter(|c| *c != '\n')?;
            }
            '\n' => return None,
            '[' => open += 1,
            ']' => open -= 1,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;

    #[test]
    fn sed_only_prints() {
        check(
            &[
                "sed -n 1,5p x",
                "sed -n '10,20p' src/*.rs",
                "sed -n '/a/,/b/p' x",
                "sed -n '$p' x",
                "sed -n '$=' x",
                "sed s/a/b/ x",
                "sed 's/[0-9]*//g; s|x|y|2' x",
                "sed -e s/a/b/ -e /c/d x",
                "sed -E 's/(a)b/\\1/gI' x",
                "sed 5q x",
                "sed '1~2d' x",
                "sed '/^#/d;/^$/d' x",
                "sed -n '/a/{p;q}' x",
                "sed -n '2,+3p' x",
                "sed -n \"1,3p\" x",
                "sed y/a/b/ x",
                "sed 's/^[[:blank:]]*//' x",
            ],
            &[
                "sed -i s/a/b/ x",
                "sed -ni p x",
                "sed --in-place s/a/b/ x",
                "sed --in-pl s/a/b/ x",
                "sed s/a/b/ x -i",
                "sed -f x y",
                "sed 's/a/b/w x' y",
                "sed 's/a/b/e' y",
                "sed 's/a/b/ge' y",
                "sed 's/a/id/;e' y",
                "sed 'w x' y",
                "sed 'W x' y",
                "sed 1e y",
                "sed 'e id' y",
                "sed 'r x' y",
                "sed 'R x' y",
                "sed -n '1p;e' x",
                "sed -n '1pe' x",
                "sed 's/[/]/e' x",
                "sed 's/[[:a:]/x/]/w y' x",
                "sed $X y",
                "sed \"$X\" y",
                "sed \"s/$X/b/\" y",
                "sed -e p -e \"$X\" y",
                "sed 'a x' y",
                "sed -n '1,5p\nw x' y",
                "sed",
            ],
        );
    }

    #[test]
    fn awk_only_prints() {
        check(
            &[
                "awk '{print $1}' x",
                "awk -F: '{print $1, $NF}' x",
                "awk '/a|b/' x",
                "awk 'NR>5' x",
                "awk '$3 > 100 {print $1}' x",
                "awk 'NR==1 || /x/ {s+=$1} END {print s}' x",
                "awk '{if ($1 == 1 || $2 == 2) print}' x",
                "awk -v n=3 'NR==n' x",
                "awk -F, '{print $2}'",
            ],
            &[
                "awk 'BEGIN{system(\"id\")}'",
                "awk '{print > \"x\"}' y",
                "awk '{print | \"sh\"}' y",
                "awk '{print |& \"sh\"}' y",
                "awk '{\"id\" | getline x}' y",
                "awk '\"id\" | getline' y",
                "awk '{getline < \"/etc/x\"}' y",
                "awk -f x y",
                "awk -i inplace '{print}' y",
                "awk -E x y",
                "awk -o '{print}' y",
                "awk --include=x '{print}' y",
                "awk '@load \"x\"; {print}' y",
                "awk 'BEGIN{ARGV[1]=\"/etc/x\"}' y",
                "awk 'BEGIN{print ENVIRON[\"X\"]}'",
                "awk '{print ||| \"sh\"}' y",
                "awk 'BEGIN{print SYMTAB[\"ENV\" \"IRON\"]}'",
                "awk 'BEGIN{print PROCINFO[\"version\"]}'",
                "awk 'BEGIN{for (f in FUNCTAB) print f}'",
                "awk $X y",
                "awk \"$X\" y",
                "awk",
            ],
        );
    }
}
