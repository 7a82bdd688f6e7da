//! One table of a settings file, read key by key: what is wrong becomes a problem with its line, never a
//! reason to drop the rest.

use super::{Origin, Setting, SettingsSource, instead};
use crate::catalogue::Problem;
use haft_core::{Credential, CredentialError, is_variable};
use std::{cell::RefCell, collections::BTreeMap, ops::Range};
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

/// How a credential is referred to.
pub(super) const CREDENTIAL_FIX: &str =
    "write \"secret:NAME\" after `haft secret set NAME`, or \"env:VARIABLE\"";

/// Why a text may only tighten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Limit {
    /// It may do everything.
    Free,
    /// It lies in a workspace that the user didn't trust.
    Untrusted,
    /// It can't be read whole.
    Damaged,
}

/// One text with its lines, and the problems found in it so far.
pub(super) struct Document<'a> {
    pub(super) source: &'a SettingsSource,
    pub(super) limit: Limit,
    starts: Vec<usize>,
    problems: RefCell<Vec<Problem>>,
}

impl<'a> Document<'a> {
    pub(super) fn new(source: &'a SettingsSource, limit: Limit) -> Self {
        let ends = source.text.match_indices('\n').map(|(end, _)| end + 1);
        let starts = std::iter::once(0).chain(ends).collect();
        Self { source, limit, starts, problems: RefCell::default() }
    }

    /// The line of a byte, from 1.
    pub(super) fn line(&self, at: usize) -> usize {
        self.starts.partition_point(|start| *start <= at).max(1)
    }

    pub(super) fn origin(&self, span: &Range<usize>) -> Origin {
        Origin { scope: self.source.scope, path: self.source.path.clone(), line: self.line(span.start) }
    }

    pub(super) fn problem(&self, line: usize, text: impl Into<String>, fix: impl Into<String>) {
        self.problems.borrow_mut().push(Problem {
            source: self.source.scope.name().to_owned(),
            path: Some(self.source.path.clone()),
            line: Some(line),
            text: text.into(),
            fix: fix.into(),
        });
    }

    /// How many problems were found so far.
    pub(super) fn problem_count(&self) -> usize {
        self.problems.borrow().len()
    }

    /// Those found after so many.
    pub(super) fn problems_since(&self, count: usize) -> Vec<Problem> {
        self.problems.borrow().iter().skip(count).cloned().collect()
    }

    pub(super) fn into_problems(self) -> Vec<Problem> {
        self.problems.into_inner()
    }
}

/// One table of a document.
pub(super) struct Section<'a> {
    pub(super) document: &'a Document<'a>,
    name: String,
    table: &'a DeTable<'a>,
}

impl<'a> Section<'a> {
    /// The document's root.
    pub(super) fn root(document: &'a Document<'a>, table: &'a DeTable<'a>) -> Self {
        Self { document, name: String::new(), table }
    }

    /// Its keys, each with whether it holds a table.
    pub(super) fn keys(&self) -> impl Iterator<Item = (&'a str, bool)> + use<'a> {
        self.table.iter().map(|(key, value)| (&**key.get_ref(), value.get_ref().is_table()))
    }

    /// Whether a key is there.
    pub(super) fn has(&self, key: &str) -> bool {
        self.entry(key).is_some()
    }

    /// The line of a key.
    pub(super) fn line(&self, key: &str) -> usize {
        self.entry(key).map_or(1, |(span, _)| self.document.line(span.start))
    }

    /// Whether a key holds a table.
    pub(super) fn is_table(&self, key: &str) -> bool {
        self.entry(key).is_some_and(|(_, value)| value.get_ref().is_table())
    }

    /// Whether a key holds a list.
    pub(super) fn is_list(&self, key: &str) -> bool {
        self.entry(key).is_some_and(|(_, value)| value.get_ref().is_array())
    }

    /// Where a key stands.
    pub(super) fn origin(&self, key: &str) -> Origin {
        let span = self.entry(key).map(|(span, _)| span).unwrap_or_default();
        self.document.origin(&span)
    }

    /// A key with the names of the tables around it.
    pub(super) fn full(&self, key: &str) -> String {
        if self.name.is_empty() { key.to_owned() } else { format!("{}.{key}", self.name) }
    }

    /// Reports every key that isn't known.
    pub(super) fn only(&self, known: &[&str]) {
        for (key, _) in self.keys().filter(|(key, _)| !known.contains(key)) {
            let text = format!("\"{}\" is not a setting", self.full(key));
            self.document.problem(self.line(key), text, instead(known, key));
        }
    }

    /// Whether a key that loosens counts; where it is there and doesn't, a problem says so.
    pub(super) fn counts(&self, key: &str) -> bool {
        if self.entry(key).is_none() {
            return false;
        }
        let (why, fix) = match self.document.limit {
            Limit::Free => return true,
            Limit::Untrusted => (
                "is ignored, since this workspace isn't trusted: it can only tighten",
                "read the file; if it is what you want, `haft trust` makes it count",
            ),
            Limit::Damaged => {
                ("is ignored until the file can be read whole", "mend the file where it is damaged")
            }
        };
        self.document.problem(self.line(key), format!("\"{}\" {why}", self.full(key)), fix);
        false
    }

    pub(super) fn text(&self, key: &str) -> Option<Setting<String>> {
        self.value(key, "a string", "= \"…\"", |value| value.as_str().map(str::to_owned))
    }

    pub(super) fn flag(&self, key: &str) -> Option<Setting<bool>> {
        self.value(key, "true or false", "= true", DeValue::as_bool)
    }

    /// A whole number above 0.
    pub(super) fn number(&self, key: &str) -> Option<Setting<u64>> {
        self.value(key, "a whole number above 0", "= 1000", |value| {
            let number = value.as_integer()?;
            u64::from_str_radix(number.as_str(), number.radix()).ok().filter(|number| *number > 0)
        })
    }

    /// Where a credential is: a reference under `key`, or the name of a variable under `env`. What is written there
    /// may be the credential itself, by mistake, and is never repeated.
    pub(super) fn credential(&self, key: &str, env: &str) -> Option<Credential> {
        let reference = self.text(key).map(|set| (set.origin, Credential::parse(&set.value), key));
        let variable = self.text(env).map(|set| (set.origin, Credential::variable(&set.value), env));
        if let (Some((origin, ..)), Some(_)) = (&reference, &variable) {
            let text = format!(
                "\"{}\" and \"{}\" say the same twice; the first holds",
                self.full(key),
                self.full(env)
            );
            self.document.problem(origin.line, text, format!("remove {env}"));
        }
        let (origin, parsed, written) = reference.or(variable)?;
        parsed.map_err(|error| self.no_credential(written, origin.line, &error)).ok()
    }

    /// A table of variables, each with where its value is; what is no such is reported and left out.
    pub(super) fn credentials(&self) -> BTreeMap<String, Setting<Credential>> {
        self.only_variables();
        let names = self.keys().filter(|(name, _)| is_variable(name));
        let mut all = BTreeMap::new();
        for (name, _) in names {
            let Some(written) = self.text(name) else { continue };
            match Credential::parse(&written.value) {
                Ok(value) => drop(all.insert(name.to_owned(), Setting { value, origin: written.origin })),
                Err(error) => self.no_credential(name, written.origin.line, &error),
            }
        }
        all
    }

    fn only_variables(&self) {
        for (name, _) in self.keys().filter(|(name, _)| !is_variable(name)) {
            let text = format!("\"{}\" is no name of a variable", self.full(name));
            self.document.problem(self.line(name), text, "write letters, digits and underscores");
        }
    }

    /// Reports what says of no credential where it is.
    pub(super) fn no_credential(&self, key: &str, line: usize, error: &CredentialError) {
        self.document.problem(line, format!("\"{}\" can't be used: {error}", self.full(key)), CREDENTIAL_FIX);
    }

    /// One of the words that `T` has.
    pub(super) fn word<T: serde::de::DeserializeOwned>(&self, key: &str) -> Option<Setting<T>> {
        let written = self.text(key)?;
        match serde_json::from_value(serde_json::Value::String(written.value)) {
            Ok(value) => Some(Setting { value, origin: written.origin }),
            Err(error) => {
                let text = format!("\"{}\" has an {error}", self.full(key));
                self.document.problem(written.origin.line, text, "write one of these words");
                None
            }
        }
    }

    /// A list of strings; what isn't a string is reported and left out.
    pub(super) fn texts(&self, key: &str) -> List {
        let Some((span, value)) = self.entry(key) else {
            return List::default();
        };
        let Some(array) = value.get_ref().as_array() else {
            self.wrong(key, &span, "a list of strings", "= [\"…\"]");
            return List { damaged: Some(self.document.origin(&span)), ..List::default() };
        };
        let mut list = List::default();
        for item in array {
            let origin = self.document.origin(&item.span());
            if let Some(text) = item.get_ref().as_str() {
                list.items.push(Setting { value: text.to_owned(), origin });
            } else {
                self.wrong(key, &item.span(), "a list of strings", "= [\"…\"]");
                list.damaged = Some(origin);
            }
        }
        list
    }

    /// A table in this one.
    pub(super) fn section(&self, key: &str) -> Option<Section<'a>> {
        let (span, value) = self.entry(key)?;
        if let DeValue::Table(table) = value.get_ref() {
            return Some(Section { document: self.document, name: self.full(key), table });
        }
        let text = format!("\"{}\" must be a table", self.full(key));
        self.document.problem(self.document.line(span.start), text, format!("write [{}]", self.full(key)));
        None
    }

    /// The tables of a list, each with where it stands; none for what isn't a table, which is reported.
    pub(super) fn tables(&self, key: &str) -> Vec<(Origin, Option<Section<'a>>)> {
        let Some((span, value)) = self.entry(key) else {
            return Vec::new();
        };
        let one = |span: Range<usize>, value: &'a DeValue<'a>| {
            let origin = self.document.origin(&span);
            if let DeValue::Table(table) = value {
                (origin, Some(Section { document: self.document, name: self.full(key), table }))
            } else {
                self.wrong(key, &span, "a list of tables", "= [{ command = \"…\" }]");
                (origin, None)
            }
        };
        match value.get_ref() {
            DeValue::Array(array) => array.iter().map(|item| one(item.span(), item.get_ref())).collect(),
            other => vec![one(span, other)],
        }
    }

    fn value<T>(
        &self,
        key: &str,
        kind: &str,
        example: &str,
        read: impl FnOnce(&DeValue<'a>) -> Option<T>,
    ) -> Option<Setting<T>> {
        let (span, value) = self.entry(key)?;
        let read = read(value.get_ref());
        if read.is_none() {
            self.wrong(key, &span, kind, example);
        }
        read.map(|value| Setting { value, origin: self.document.origin(&span) })
    }

    fn wrong(&self, key: &str, span: &Range<usize>, kind: &str, example: &str) {
        let text = format!("\"{}\" must be {kind}", self.full(key));
        self.document.problem(self.document.line(span.start), text, format!("write {key} {example}"));
    }

    fn entry(&self, key: &str) -> Option<(Range<usize>, &'a Spanned<DeValue<'a>>)> {
        self.table.get_key_value(key).map(|(key, value)| (key.span(), value))
    }
}

/// A list of strings from settings.
#[derive(Debug, Default)]
pub(super) struct List {
    /// What could be read.
    pub(super) items: Vec<Setting<String>>,
    /// Where something couldn't.
    pub(super) damaged: Option<Origin>,
}
