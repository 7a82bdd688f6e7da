//! TypeScript made into what the engine runs: types go, enums stay, and where each piece came from is remembered.

use super::{imports, place::PlaceMap};
use crate::wire::{Fault, Place, SourceFile};
use oxc_allocator::Allocator;
use oxc_ast::ast::{ImportDeclaration, ImportDeclarationSpecifier, Statement};
use oxc_codegen::{Codegen, CodegenOptions};
use oxc_parser::{ParseOptions, Parser};
use oxc_semantic::SemanticBuilder;
use oxc_span::{GetSpan, SourceType};
use oxc_transformer::{TransformOptions, Transformer};
use std::path::{Path, PathBuf};

const BEFORE_RESULT: &str = "return (";
const AFTER_RESULT: &str = ")";
/// One line, so that lines move by one.
const BEFORE_SCRIPT: &str = "(async () => {\n";
const AFTER_SCRIPT: &str = "\n})";
const NO_IMPORTS: &str =
    "a script has no imports and no exports; what it can use is there: tools, console, sleep";

/// Text that the engine runs.
pub(super) struct Stripped {
    pub(super) code: String,
    pub(super) map: PlaceMap,
    /// Whether it imports or exports something.
    pub(super) is_module: bool,
}

/// A script of code mode as an expression: a function to be called.
///
/// # Errors
/// What is wrong with its syntax, and where.
pub(super) fn script(file: &SourceFile) -> Result<Stripped, Fault> {
    let edited = edited(file)?;
    let mut stripped = strip(&edited.text, &file.path, Form::Script)?;
    stripped.code = format!("{BEFORE_SCRIPT}{}{AFTER_SCRIPT}", stripped.code);
    stripped.map.moved_down(1);
    if let Some((line, column)) = edited.inserted_at {
        stripped.map.inserted(line, column, BEFORE_RESULT.len());
    }
    Ok(stripped)
}

/// A module.
///
/// # Errors
/// As [`script`].
pub(super) fn module(file: &SourceFile) -> Result<Stripped, Fault> {
    strip(&file.text, &file.path, Form::Module)
}

/// A script with `return` before its last expression, types and all.
///
/// # Errors
/// As [`script`].
pub(super) fn returning(file: &SourceFile) -> Result<String, Fault> {
    edited(file).map(|edited| edited.text)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Script,
    Module,
}

impl Form {
    fn options(self) -> ParseOptions {
        ParseOptions { allow_return_outside_function: self == Self::Script, ..ParseOptions::default() }
    }

    /// A script may wait at its top level wherever a module may; a module shows what it is by what it exports.
    fn source_type(self) -> SourceType {
        SourceType::ts().with_module(self == Self::Script)
    }
}

struct Edited {
    text: String,
    /// Line and column of what was put in, from 0.
    inserted_at: Option<(u32, u32)>,
}

/// Puts `return` before the last expression, and blanks the imports of types.
fn edited(file: &SourceFile) -> Result<Edited, Fault> {
    let source = file.text.as_str();
    let allocator = Allocator::default();
    let form = Form::Script;
    let parsed = Parser::new(&allocator, source, form.source_type()).with_options(form.options()).parse();
    if let Some(fault) = first_fault(&parsed.diagnostics, source, &file.path) {
        return Err(fault);
    }
    if let Some(import) = parsed.module_record.dynamic_imports.first() {
        return Err(fault(NO_IMPORTS.to_owned(), source, &file.path, at(import.span.start)));
    }
    let (mut blanks, mut last) = (Vec::new(), None);
    for statement in &parsed.program.body {
        let span = statement.span();
        match statement {
            Statement::ImportDeclaration(import) if is_of_types(import) => {
                blanks.push((at(span.start), at(span.end)));
            }
            other if other.is_module_declaration() => {
                return Err(fault(NO_IMPORTS.to_owned(), source, &file.path, at(span.start)));
            }
            _ => {}
        }
        last = match statement {
            Statement::ExpressionStatement(statement) => {
                let span = statement.expression.span();
                Some((at(span.start), at(span.end)))
            }
            _ => None,
        };
    }
    if parsed.program.body.is_empty() {
        // A text alone is read as a directive.
        let directive = parsed.program.directives.last().map(|directive| directive.expression.span);
        last = directive.map(|span| (at(span.start), at(span.end)));
    }
    Ok(written(source, &blanks, last))
}

/// Whether nothing but types is imported.
fn is_of_types(import: &ImportDeclaration<'_>) -> bool {
    let is_type = |one: &ImportDeclarationSpecifier<'_>| matches!(one, ImportDeclarationSpecifier::ImportSpecifier(one) if one.import_kind.is_type());
    let names = import.specifiers.as_ref().filter(|names| !names.is_empty());
    import.import_kind.is_type() || names.is_some_and(|names| names.iter().all(is_type))
}

fn written(source: &str, blanks: &[(usize, usize)], last: Option<(usize, usize)>) -> Edited {
    let mut text = String::with_capacity(source.len() + BEFORE_RESULT.len() + AFTER_RESULT.len());
    let end = source.len();
    let (start, stop) = last.unwrap_or((end, end));
    for (offset, c) in source.char_indices() {
        if offset == start && last.is_some() {
            text.push_str(BEFORE_RESULT);
        }
        if offset == stop && last.is_some() {
            text.push_str(AFTER_RESULT);
        }
        let is_blank = blanks.iter().any(|(from, to)| (*from..*to).contains(&offset));
        text.push(if is_blank && c != '\n' { ' ' } else { c });
    }
    if last.is_some() && stop == end {
        text.push_str(AFTER_RESULT);
    }
    let inserted_at = last.map(|_| line_and_column(source, start));
    Edited { text, inserted_at }
}

fn strip(source: &str, path: &str, form: Form) -> Result<Stripped, Fault> {
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, source, form.source_type()).with_options(form.options()).parse();
    if let Some(fault) = first_fault(&parsed.diagnostics, source, path) {
        return Err(fault);
    }
    let mut program = parsed.program;
    let is_module = program.body.iter().any(Statement::is_module_declaration);
    // What stands around an import is only wanted where there is one.
    let imports_late = form == Form::Module && !parsed.module_record.dynamic_imports.is_empty();
    let semantic = SemanticBuilder::new()
        .with_excess_capacity(2.0)
        .with_enum_eval(true)
        .with_build_nodes(imports_late)
        .build(&program);
    if let Some((start, text)) = imports::late_refusal(semantic.semantic.nodes()) {
        return Err(Fault { name: None, ..fault(text, source, path, at(start)) });
    }
    let scoping = semantic.semantic.into_scoping();
    let options = TransformOptions::default();
    let transformed =
        Transformer::new(&allocator, Path::new(path), &options).build_with_scoping(scoping, &mut program);
    if let Some(fault) = first_fault(&transformed.diagnostics, source, path) {
        return Err(fault);
    }
    if form == Form::Module {
        // Behind the types, whose imports are gone.
        for statement in &program.body {
            if let Some(text) = imports::refusal(statement) {
                return Err(Fault { name: None, ..fault(text, source, path, at(statement.span().start)) });
            }
        }
    }
    let options = CodegenOptions { source_map_path: Some(PathBuf::from(path)), ..CodegenOptions::default() };
    let printed = Codegen::new().with_options(options).build(&program);
    let mut tokens = Vec::new();
    if let Some(map) = &printed.map {
        for token in map.get_tokens() {
            let (to, from) =
                ((token.get_dst_line(), token.get_dst_col()), (token.get_src_line(), token.get_src_col()));
            tokens.push((to, from));
        }
    }
    Ok(Stripped { map: PlaceMap::new(tokens), code: printed.code, is_module })
}

/// The first of what is wrong; hints alone are none.
fn first_fault(diagnostics: &[oxc_diagnostics::OxcDiagnostic], source: &str, path: &str) -> Option<Fault> {
    let first = diagnostics.iter().find(|one| one.severity == oxc_diagnostics::Severity::Error)?;
    let mut text = first.message.to_string();
    if let Some(help) = &first.help {
        text.push_str("; ");
        text.push_str(help);
    }
    let offset = first.labels.first().map_or(0, |label| at(label.offset()));
    Some(fault(text, source, path, offset))
}

fn fault(text: String, source: &str, path: &str, offset: usize) -> Fault {
    let (line, column) = line_and_column(source, offset);
    let place =
        Place { file: path.to_owned(), line: line.saturating_add(1), column: column.saturating_add(1) };
    Fault { name: Some("SyntaxError".to_owned()), text, place: Some(place), ..Fault::default() }
}

fn at(offset: u32) -> usize {
    usize::try_from(offset).unwrap_or(usize::MAX)
}

/// From 0; columns in UTF-16 units, as the engine counts them.
fn line_and_column(source: &str, offset: usize) -> (u32, u32) {
    let before = source.get(..offset).unwrap_or(source);
    let line = before.matches('\n').count();
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let column = before.get(start..).unwrap_or_default().encode_utf16().count();
    (u32::try_from(line).unwrap_or(u32::MAX), u32::try_from(column).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> SourceFile {
        SourceFile { path: "script.ts".to_owned(), text: text.to_owned() }
    }

    #[test]
    fn the_last_expression_is_what_a_script_returns() {
        let blank = format!("{}\nlet x: A;\nreturn (x!)", " ".repeat("import type { A } from 'a';".len()));
        for (source, expected) in [
            ("1 + 1", "return (1 + 1)"),
            ("const a = 1;\na; // done", "const a = 1;\nreturn (a); // done"),
            ("\"text\"", "return (\"text\")"),
            ("return 3", "return 3"),
            ("const a = { b: 1 };", "const a = { b: 1 };"),
            ("f();\nif (a) { b(); }", "f();\nif (a) { b(); }"),
            ("import type { A } from 'a';\nlet x: A;\nx!", blank.as_str()),
            ("import { type A } from 'a';\nlet x: A;\nx!", blank.as_str()),
        ] {
            assert_eq!(returning(&file(source)).unwrap(), expected);
        }
    }

    #[test]
    fn a_script_may_wait_in_a_loop_at_its_top_level() {
        for source in
            ["for await (const a of b()) c(a);", "if (a) { for await (const b of c) d(b); }\nreturn 1"]
        {
            let code = script(&file(source)).unwrap().code;
            assert!(code.contains("for await"), "{code}");
        }
    }

    #[test]
    fn types_go_and_what_runs_stays() {
        let source = "interface A { n: number }\nenum E { X = 2 }\nfunction id<T>(x: T): T { return x; }\nid<A>({ n: E.X } as A)?.n satisfies number";
        let code = script(&file(source)).unwrap().code;
        assert!(code.starts_with(BEFORE_SCRIPT) && code.ends_with(AFTER_SCRIPT), "{code}");
        assert!(!code.contains("interface") && !code.contains("satisfies") && code.contains("?.n"), "{code}");
    }

    #[test]
    fn a_place_in_what_runs_leads_to_the_line_that_was_written() {
        let source = "interface A {\n  n: number;\n}\ntype B = A;\n\nconst a: B = { n: 1 };\n\nboom(a)";
        let stripped = script(&file(source)).unwrap();
        let line = stripped.code.lines().position(|line| line.contains("boom")).unwrap();
        let column = stripped.code.lines().nth(line).unwrap().find("boom").unwrap();
        let at = |index: usize| u32::try_from(index).unwrap() + 1;
        assert_eq!(stripped.map.place(at(line), at(column)), Some((8, 1)));
    }

    #[test]
    fn faults_have_their_line() {
        for (source, line, says) in [
            ("let a = 1;\nlet = ;", 2, ""),
            ("let a = 1;\nimport { x } from 'y';", 2, "no imports"),
            ("export const a = 1;", 1, "no exports"),
            ("import { type A, b } from 'a';", 1, "no imports"),
            ("import {} from 'a';", 1, "no imports"),
            ("let a = 1;\nawait import('fs');", 2, "no imports"),
        ] {
            let fault = script(&file(source)).map(|stripped| stripped.code).unwrap_err();
            assert_eq!(fault.place.unwrap().line, line, "{source}");
            assert!(fault.text.contains(says), "{}", fault.text);
        }
    }

    #[test]
    fn a_module_has_files_of_its_folder_and_wrappers_and_nothing_else() {
        for (import, says) in [
            ("import a from './a';", ""),
            ("import a from '../a.json';", ""),
            ("import { buildTool as a } from 'any-host';", ""),
            ("import a from 'host'; import type { B } from 'lodash';", "no package \"host\""),
            ("import tool from 'any-host'; const a = tool;", ""),
            ("import { B } from 'unused'; const a = 1;", ""),
            ("import a from 'lodash';", "no package \"lodash\""),
            ("import * as a from 'path';", "no package \"path\""),
            ("import { z as a } from 'zod';", "no package \"zod\""),
            ("import 'dotenv/config'; const a = 1;", "no package \"dotenv/config\""),
            ("import a from '/tmp/outside.json';", "isn't in the module's folder"),
            ("import { readFileSync as a } from 'node:fs';", "no Node"),
            ("const a = () => import('./b');", ""),
            ("const a = (name) => import(name);", ""),
            ("const a = async () => { const b: B = await import('zod'); };", "no package \"zod\""),
            ("export default { execute: async () => (await import('node:fs')).readFileSync };", "no Node"),
            ("const a = async () => { try { b(); } catch { await import('zod'); } };", "no package \"zod\""),
            ("const a = async () => { try { await import('zod'); } catch {} };", ""),
            ("if (typeof process !== 'undefined') { await import('node:fs'); }", ""),
            ("const a = globalThis.process && (await import('node:fs'));", ""),
            ("const a = () => import('zod'); try { await a(); } catch {}", ""),
            ("await Promise.allSettled([import('zod')]);", ""),
            ("const a = import('zod').then((b) => b.c, () => null);", ""),
            ("const a = import('zod')['catch'](() => null);", ""),
        ] {
            let read = module(&file(&format!("\n{import}\nexport default a;")));
            match read {
                Ok(_) => assert_eq!(says, "", "{import}"),
                Err(fault) => {
                    assert!(!says.is_empty() && fault.text.contains(says), "{import}: {}", fault.text);
                    assert_eq!(fault.place.unwrap().line, 2, "{import}");
                }
            }
        }
    }

    #[test]
    fn a_module_keeps_its_exports_and_loses_imports_of_types() {
        let source = "import { type A } from 'a';\nimport type { B } from 'b';\nexport default { name: 'x' as string } satisfies A;";
        let code = module(&file(source)).unwrap().code;
        assert!(code.contains("export default") && !code.contains("from"), "{code}");
    }
}
