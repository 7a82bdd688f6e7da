//! Whole lines, from the text to the list of commands.

use crate::command::{Dialect, Line, RedirectKind, Simple, Word, read_line};

fn read(text: &str) -> Line {
    read_line(text, Dialect::Bash)
}

/// Each command's words as written, joined by blanks; the commands by ` | `.
fn shown(line: &Line) -> String {
    let words = |simple: &Simple| simple.words.iter().map(Word::text).collect::<Vec<_>>().join(" ");
    line.commands.iter().map(words).collect::<Vec<_>>().join(" | ")
}

#[test]
fn lines_are_read_exactly() {
    let cases = [
        ("ls -la", "ls -la"),
        ("  ls\t-la  ", "ls -la"),
        ("", ""),
        ("# a note", ""),
        ("ls \"a;b\" 'c d' e'f'\"g\"", "ls a;b c d efg"),
        ("ls; rm x", "ls | rm x"),
        ("a && b || c & d\ne", "a | b | c | d | e"),
        ("a | b |& c", "a | b | c"),
        ("a &&\nb |\nc", "a | b | c"),
        ("ls $(rm x)", "ls $(rm x) | rm x"),
        ("ls \"a $(rm \"x y\") b\"", "ls \"a $(rm \"x y\") b\" | rm x y"),
        ("ls `rm x`", "ls `rm x` | rm x"),
        ("diff <(a b) <(c)", "diff <(a b) <(c) | a b | c"),
        ("A=$(rm x)", " | rm x"),
        ("A=1 B='x y' ls", "ls"),
        ("ls > f 2>&1 < g x", "ls x"),
        ("> $(rm f)", " | rm f"),
        ("ls \\\n  -l", "ls -l"),
        ("! grep x f", "grep x f"),
        ("if a; then b; elif c; then d; else e; fi", "a | b | c | d | e"),
        ("for f in x $(ls); do rm \"$f\"; done", "ls | rm \"$f\""),
        ("while read -r l; do echo x; done < f", "read -r l | echo x"),
        ("until a; do b; done", "a | b"),
        ("case \"$x\" in (a|b) ls;; *) rm x;; esac", "ls | rm x"),
        ("{ a; b; } | (c; d)", "a | b | c | d"),
        ("cat <<E\na $(rm x) b\nE\nls", "cat | rm x | ls"),
        ("cat <<'E'\na $(rm x) b\nE\nls", "cat | ls"),
        ("cat <<E && ls\nx\nE", "cat | ls"),
        ("cat <<< \"$(rm x)\"", "cat | rm x"),
        (
            "git commit -m \"$(cat <<'E'\nmsg; rm x\nE\n)\"",
            "git commit -m \"$(cat <<'E'\nmsg; rm x\nE\n)\" | cat",
        ),
        ("[ -f a ] && [[ -n \"$x\" ]]", "[ -f a ] | [[ -n \"$x\" ]]"),
        ("echo a#b # c; rm x", "echo a#b"),
        ("grep -E \"foo$|bar$\" f", "grep -E foo$|bar$ f"),
        ("git stash show stash@{0}", "git stash show stash@{0}"),
        ("echo $((1 + 2)) ${x:-y} ${#x} \"${x%.rs}\"", "echo $((1 + 2)) ${x:-y} ${#x} \"${x%.rs}\""),
        ("curl 'https://x/y?a=b&c' -w '%{http_code}'", "curl https://x/y?a=b&c -w %{http_code}"),
        ("a & b", "a | b"),
        ("ls a~b HEAD~1 HEAD^ a=b @ %", "ls a~b HEAD~1 HEAD^ a=b @ %"),
    ];
    for (text, expected) in cases {
        let line = read(text);
        assert!(line.is_exact(), "{text}: {:?}", line.unclear);
        assert_eq!(shown(&line), expected, "{text}");
    }
}

#[test]
fn what_cannot_be_read_exactly_is_unclear() {
    let lines = [
        "ls 'a",
        "ls \"a",
        "ls `a",
        "ls $(a",
        "ls )",
        "(ls",
        "ls;;",
        "; ls",
        "ls && && x",
        "ls |",
        "if a; then b",
        "fi",
        "i\\f a; then b; fi",
        "i\\\nf a; then b; fi",
        "r\\\nm x",
        "ls a\\",
        "ls \u{a0}x",
        "ls\u{200b} x",
        "ls 'a\u{202e}b'",
        "ls \r",
        "ls\0",
        "f() { ls; }",
        "function f { ls; }",
        ":(){ :|:& };:",
        "A=(1 2)",
        "a[0]=1",
        "((i++))",
        "echo $((i+1))",
        "echo $((a[$(rm x)]))",
        "echo $[1+1]",
        "echo ${!x}",
        "echo ${x@P}",
        "echo ${x:=y}",
        "echo ${x[$(rm x)]}",
        "echo ${x:-\"y\"}",
        "[[ $x -eq 1 ]]",
        "for ((;;)); do ls; done",
        "select x in a; do ls; done",
        "coproc ls",
        "ls !(a)",
        "ls a(b)",
        "ls {fd}>f",
        "ls a<(b)",
        "cat <<E\nx",
        "cat <<$E\nx\n$E",
        "cat <<E\nx\\\nE\nrm x\nE",
        "cat <<E\n$(rm x\nE\n",
        "echo $(ls # a)\n)",
        "echo `ls \\`rm x\\``",
        "echo \"`ls \"x\"`\"",
        "a &\\\n& b",
        "[[ a =~ b ]]",
        "ls 2>&x",
        "alias ls=rm",
        "let x=1",
    ];
    for text in lines {
        assert!(!read(text).is_exact(), "{text:?}: {:?}", read(text));
    }
    assert!(!read(&"(".repeat(100)).is_exact());
    assert!(!read(&("a ".repeat(40_000))).is_exact());
}

#[test]
fn commands_of_unclear_lines_are_still_listed() {
    let lines = [
        "f() { rm x; }; f",
        "rm x; ls 'a",
        "((i++)); rm x",
        "r\\\nm x",
        "A=(1 2); rm x",
        "coproc rm x",
        "echo ${!x} $(rm x)",
        "if true; then rm x",
    ];
    for text in lines {
        let line = read(text);
        assert!(!line.is_exact(), "{text}");
        assert!(line.commands.iter().any(|simple| simple.program() == Some("rm")), "{text}: {line:?}");
    }
}

#[test]
fn a_word_is_exact_only_where_every_character_is() {
    let unknown = |text: &str, prefix: &str, splits| Word::Unknown {
        text: text.to_owned(),
        prefix: prefix.to_owned(),
        splits,
    };
    let glob = |text: &str, prefix: &str| Word::Glob { text: text.to_owned(), prefix: prefix.to_owned() };
    let cases = [
        ("a", Word::known("a")),
        ("'a*b'", Word::known("a*b")),
        ("\"a*b\"", Word::known("a*b")),
        ("''", Word::known("")),
        ("{}", Word::known("{}")),
        ("a$", Word::known("a$")),
        ("[", Word::known("[")),
        ("a!", Word::known("a!")),
        ("src/*.rs", glob("src/*.rs", "src/")),
        ("*.rs", glob("*.rs", "")),
        ("-*", glob("-*", "")),
        ("./?", glob("./?", "./")),
        ("'a b'[cd]", glob("'a b'[cd]", "a b")),
        ("$x", unknown("$x", "", true)),
        ("\"$x\"", unknown("\"$x\"", "", false)),
        ("a\"$x\"b", unknown("a\"$x\"b", "a", false)),
        ("\"$@\"", unknown("\"$@\"", "", true)),
        ("\"${a[@]}\"", unknown("\"${a[@]}\"", "", true)),
        ("~/x", unknown("~/x", "", false)),
        ("a:~/x", unknown("a:~/x", "a:", false)),
        ("a\\ b", unknown("a\\ b", "a b", false)),
        ("\"a\\$b\"", unknown("\"a\\$b\"", "a$b", false)),
        ("x{a,b}", unknown("x{a,b}", "x", true)),
        ("{1..3}", unknown("{1..3}", "", true)),
        ("$'a'", unknown("$'a'", "", false)),
        ("a*$x", unknown("a*$x", "a", true)),
        ("a$(b)", unknown("a$(b)", "a", true)),
    ];
    for (text, expected) in cases {
        let line = read(&format!("ls {text}"));
        assert!(line.is_exact(), "{text}: {:?}", line.unclear);
        assert_eq!(line.commands[0].words[1], expected, "{text}");
    }
}

#[test]
fn redirections_say_what_they_do() {
    use RedirectKind::{Copy, Read, Text, Write};
    let cases = [
        ("ls > f", Write, "f"),
        ("ls 2>> f", Write, "f"),
        ("ls >| f", Write, "f"),
        ("ls &> f", Write, "f"),
        ("ls &>>f", Write, "f"),
        ("ls >& f", Write, "f"),
        ("ls < f", Read, "f"),
        ("ls 2>&1", Copy, "1"),
        ("ls >&-", Copy, "-"),
        ("ls <<< 'a b'", Text, "a b"),
        ("ls <<E\na\nE", Text, "a\n"),
        ("ls <<-E\n\ta\n\tE", Text, "a\n"),
        ("2>f ls", Write, "f"),
    ];
    for (text, kind, target) in cases {
        let line = read(text);
        assert!(line.is_exact(), "{text}: {:?}", line.unclear);
        let redirect = &line.commands[0].redirects[0];
        assert_eq!((redirect.kind, redirect.target.exact()), (kind, Some(target)), "{text}");
    }
    assert_eq!(read("ls <> f").commands[0].program(), Some("ls"));
    let line = read("{ ls; } > f; (ls) 2>&1; if a; then b; fi < g");
    assert_eq!(line.redirects.len(), 3, "{line:?}");
}

#[test]
fn what_is_not_posix_is_unclear_for_a_posix_shell() {
    let lines = [
        "ls &> f",
        "ls |& x",
        "[[ a ]]",
        "cat <<< x",
        "diff <(a) b",
        "ls $'a'",
        "ls $\"a\"",
        "A+=1",
        "ls >&f",
        "echo ${x/a/b}",
        "echo ${x:1}",
        "function f { ls; }",
    ];
    for text in lines {
        assert!(!read_line(text, Dialect::Posix).is_exact(), "{text}");
    }
    for text in ["ls 2>&1", "a && b || c", "echo ${x:-y}", "ls $(a)", "A=1 ls", "cat <<E\nx\nE", "! a"] {
        let line = read_line(text, Dialect::Posix);
        assert!(line.is_exact(), "{text}: {:?}", line.unclear);
    }
}

#[test]
fn plain_lines_give_their_words() {
    let cases: [(&str, &[&str]); 9] = [
        ("ls -la", &["ls", "-la"]),
        ("  ls\t-la  ", &["ls", "-la"]),
        ("ls \"a;b\"", &["ls", "a;b"]),
        ("\"rm\" x", &["rm", "x"]),
        ("echo 'a \"b\" $c' ''", &["echo", "a \"b\" $c", ""]),
        ("git log --format=\"%h %s\"", &["git", "log", "--format=%h %s"]),
        ("env A=1 rm x", &["env", "A=1", "rm", "x"]),
        ("cat 'ä ö'", &["cat", "ä ö"]),
        ("ls\n", &["ls"]),
    ];
    for (text, words) in cases {
        let line = read(text);
        assert!(line.is_exact(), "{text}: {:?}", line.unclear);
        assert_eq!(line.commands[0].argv().unwrap(), words, "{text}");
    }
}

#[test]
fn pipes_and_substitutions_know_where_they_come_from() {
    let line = read("a | { b; c; } | d $(e | f)");
    let links: Vec<(&str, Option<usize>, Option<usize>)> = line
        .commands
        .iter()
        .map(|simple| (simple.program().unwrap(), simple.feeds_from, simple.inside))
        .collect();
    let expected = [
        ("a", None, None),
        ("b", Some(0), None),
        ("c", Some(0), None),
        ("d", Some(2), None),
        ("e", Some(2), Some(3)),
        ("f", Some(4), Some(3)),
    ];
    assert_eq!(links, expected);
}
