//! Which server has which resource and prompt, by what they listed last.

use super::upstream::UpstreamList;
use crate::Change;
use serde_json::{Value, json};
use std::{collections::HashMap, sync::Arc};

/// What is known.
#[derive(Debug, Default)]
pub(super) struct Known {
    resources: HashMap<String, usize>,
    templates: Vec<(String, usize)>,
    /// By the name that is shown: the server, and the name there.
    prompts: HashMap<Arc<str>, (usize, String)>,
}

impl Known {
    /// A list begins anew.
    pub(super) fn begin(&mut self, what: UpstreamList) {
        match what {
            UpstreamList::Prompts => self.prompts.clear(),
            UpstreamList::Resources => self.resources.clear(),
            UpstreamList::ResourceTemplates => self.templates.clear(),
        }
    }

    /// Notes an entry of the server `at`; a prompt gets the name that is shown. False where it has no name, or one that
    /// is taken.
    pub(super) fn take_in(
        &mut self,
        what: UpstreamList,
        at: usize,
        entry: &mut Value,
        shown: impl FnOnce(&str) -> Arc<str>,
    ) -> bool {
        let key = match what {
            UpstreamList::Prompts => "name",
            UpstreamList::Resources => "uri",
            UpstreamList::ResourceTemplates => "uriTemplate",
        };
        let Some(name) = entry.get(key).and_then(Value::as_str).map(str::to_owned) else { return false };
        match what {
            UpstreamList::Resources => self.resources.insert(name.clone(), at).is_none_or(|first| {
                self.resources.insert(name, first);
                false
            }),
            UpstreamList::ResourceTemplates => {
                let is_new = self.templates.iter().all(|(known, _)| *known != name);
                if is_new {
                    self.templates.push((name, at));
                }
                is_new
            }
            UpstreamList::Prompts => {
                let shown = shown(&name);
                if self.prompts.contains_key(&shown) {
                    return false;
                }
                if let Some(fields) = entry.as_object_mut() {
                    fields.insert(key.to_owned(), json!(shown));
                }
                self.prompts.insert(shown, (at, name));
                true
            }
        }
    }

    /// The server that lists a resource or has a template for it; an address may be a template itself.
    pub(super) fn resource(&self, uri: &str) -> Option<usize> {
        let fits = |(template, _): &&(String, usize)| template == uri || is_of(template, uri);
        self.resources.get(uri).copied().or_else(|| self.templates.iter().find(fits).map(|(_, at)| *at))
    }

    /// The one server whose resources begin as this one does.
    pub(super) fn neighbour(&self, uri: &str) -> Option<usize> {
        let start = start(uri)?;
        let own = self.resources.iter().map(|(known, at)| (known.as_str(), *at));
        let all = own.chain(self.templates.iter().map(|(known, at)| (known.as_str(), *at)));
        let mut near = all.filter(|(known, _)| self::start(known) == Some(start)).map(|(_, at)| at);
        let first = near.next()?;
        near.all(|at| at == first).then_some(first)
    }

    /// The server of a prompt, and its name there.
    pub(super) fn prompt(&self, shown: &str) -> Option<(usize, String)> {
        self.prompts.get(shown).cloned()
    }

    /// What changed is looked up anew.
    pub(super) fn forget(&mut self, change: &Change) {
        match change {
            Change::Prompts => self.prompts.clear(),
            Change::Resources => {
                self.resources.clear();
                self.templates.clear();
            }
            Change::Resource(_) => {}
        }
    }
}

/// Scheme and authority.
fn start(uri: &str) -> Option<&str> {
    let (scheme, rest) = uri.split_once("://")?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    uri.get(..scheme.len() + 3 + end)
}

/// Whether an address fits a template: what stands between its variables is there, in its order.
fn is_of(template: &str, uri: &str) -> bool {
    let mut literals = Vec::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((_, after)) = after.split_once('}') else { return false };
        literals.push(before);
        rest = after;
    }
    let Some((first, between)) = literals.split_first() else { return false };
    let Some(mut left) = uri.strip_prefix(first) else { return false };
    for literal in between {
        let Some((_, after)) = left.split_once(literal) else { return false };
        left = after;
    }
    left.len() > rest.len() && left.ends_with(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(resources: &[(&str, usize)], templates: &[(&str, usize)]) -> Known {
        let mut known = Known::default();
        for (uri, at) in resources {
            let mut entry = json!({"uri": uri});
            known.take_in(UpstreamList::Resources, *at, &mut entry, |own| own.into());
        }
        for (uri, at) in templates {
            let mut entry = json!({"uriTemplate": uri});
            known.take_in(UpstreamList::ResourceTemplates, *at, &mut entry, |own| own.into());
        }
        known
    }

    #[test]
    fn a_resource_belongs_to_whoever_lists_it_or_has_its_template() {
        let known = known(&[("a://x/1", 0), ("b://y/1", 1), ("a://x/1", 2)], &[("c://{id}/data", 2)]);
        assert_eq!(known.resource("a://x/1"), Some(0), "the first counts");
        assert_eq!(known.resource("c://7/data"), Some(2));
        assert_eq!(known.resource("c://{id}/data"), Some(2));
        for other in ["c:///data", "c://7/other", "a://x/2", "nothing"] {
            assert_eq!(known.resource(other), None, "{other}");
        }
        assert_eq!((known.neighbour("a://x/2"), known.neighbour("z://x/2")), (Some(0), None));
    }

    #[test]
    fn what_two_servers_have_alike_is_neither_ones() {
        let known = known(&[("file:///a", 0), ("file:///b", 1)], &[]);
        assert_eq!(known.neighbour("file:///c"), None);
    }

    #[test]
    fn a_prompt_has_the_name_that_is_shown() {
        let mut known = Known::default();
        let mut entry = json!({"description": "d", "name": "greet", "x-own": 1});
        let shown = |own: &str| -> Arc<str> { format!("mcp__s__{own}").into() };
        assert!(known.take_in(UpstreamList::Prompts, 3, &mut entry, shown));
        assert_eq!(entry.to_string(), r#"{"description":"d","name":"mcp__s__greet","x-own":1}"#);
        assert_eq!(known.prompt("mcp__s__greet"), Some((3, "greet".to_owned())));
        let mut again = json!({"name": "greet"});
        assert!(!known.take_in(UpstreamList::Prompts, 4, &mut again, shown));
        assert!(!known.take_in(UpstreamList::Prompts, 4, &mut json!({}), shown));
        known.forget(&Change::Prompts);
        assert_eq!(known.prompt("mcp__s__greet"), None);
    }

    #[test]
    fn a_template_fits_what_has_its_fixed_parts() {
        for (template, uri, fits) in [
            ("t://{id}/data", "t://1/data", true),
            ("t://{a}/m/{b}", "t://1/m/2", true),
            ("t://{a}/m/{b}", "t://1/n/2", false),
            ("t://{+path}", "t://a/b", true),
            ("t://{id", "t://1", false),
            ("t://plain", "t://plain", false),
        ] {
            assert_eq!(is_of(template, uri), fits, "{template} {uri}");
        }
    }
}
