//! Any bytes as a command line, in both dialects.
#![no_main]

use haft_policy::{Dialect, Line, read_line};
use libfuzzer_sys::fuzz_target;

const COMMANDS_MAX: usize = 10_000;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    for dialect in [Dialect::Bash, Dialect::Posix] {
        let line = read_line(&text, dialect);
        check_places(&line);
        assert_eq!(line, read_line(&text, dialect), "reading has no memory");
        if line.is_exact() {
            check_words(&line, dialect);
        }
    }
});

/// Its size is bounded, and each place that it names is there.
fn check_places(line: &Line) {
    assert!(line.commands.len() <= COMMANDS_MAX);
    for (at, simple) in line.commands.iter().enumerate() {
        for outer in [simple.wrapper, simple.inside, simple.feeds_from].into_iter().flatten() {
            assert!(outer < at, "{line:?}");
        }
    }
}

/// The words of a command, quoted, are read as just these words.
fn check_words(line: &Line, dialect: Dialect) {
    for simple in &line.commands {
        let Some(argv) = simple.argv().filter(|argv| !argv.is_empty()) else { continue };
        let quoted: Vec<String> = argv.iter().map(|word| format!("'{}'", word.replace('\'', "'\"'\"'"))).collect();
        let again = read_line(&quoted.join(" "), dialect);
        if again.is_exact() {
            assert_eq!(again.commands.first().and_then(|first| first.argv()), Some(argv));
        }
    }
}
