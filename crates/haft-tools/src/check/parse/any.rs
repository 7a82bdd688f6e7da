//! Scripts, Makefiles and justfiles, which start whatever they like: every parser of text has a look.

use super::{
    Parsed, Said, cargo, compiler, ctest, go, gradle, javascript, maven, node, pytest, python_lint, unittest,
};
use crate::check::{finding::Finding, runner::Kind};

/// Each parser only knows its own runner's lines, so that their counts add up.
pub(super) fn parse(said: &Said<'_>) -> Parsed {
    let mut parsed = Parsed { findings: compiler::places(said.lines()), ..Parsed::default() };
    // Go's tools don't say how bad it is, so that only their files tell their lines from others.
    let is_go = |finding: &Finding| {
        finding.file.as_deref().and_then(|file| file.rsplit_once('.')).is_some_and(|(_, kind)| kind == "go")
    };
    parsed.findings.extend(compiler::bare(said.lines()).into_iter().filter(is_go));
    if said.kind == Kind::Test {
        let parsers: [fn(&Said<'_>) -> Parsed; 9] = [
            cargo::tests,
            node::parse,
            javascript::parse,
            pytest::parse,
            unittest::parse,
            go::texts,
            ctest::parse,
            maven::tests,
            gradle::tests,
        ];
        for parser in parsers {
            parsed = parsed.and(parser(said));
        }
    }
    parsed = parsed.and(javascript::lints(said));
    if said.kind == Kind::Test { parsed } else { parsed.and(python_lint::parse(said)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{finding::Counts, parse::read};

    #[test]
    fn what_a_makefile_starts_is_counted_together() {
        let out = "cargo test\nrunning 1 test\ntest a ... ok\n\ntest result: ok. 1 passed; 0 failed; 1 ignored; 0 \
                   measured; 0 filtered out; finished in 0.00s\npytest -q\n.F\n1 failed, 1 passed in 0.03s\n";
        let parsed = read(parse, Kind::Test, [out, ""]);
        assert_eq!(parsed.counts, Some(Counts { passed: 2, failed: 1, skipped: 1 }));
        assert_eq!(parsed.evidence.len(), 2, "{:?}", parsed.evidence);
    }

    #[test]
    fn what_nobody_understands_is_no_evidence() {
        let parsed = read(parse, Kind::Test, ["all 12 checks passed\nok\nTests: fine\n", ""]);
        assert_eq!(parsed, Parsed::default());
    }
}
