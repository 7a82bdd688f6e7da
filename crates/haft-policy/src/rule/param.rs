//! Rules over a call's input and over the hosts that it contacts.

use super::RuleError;
use crate::{Subject, wild::Wild};
use serde_json::Value;

/// `param.key=value`, with dots for nested keys and `*` in the value.
#[derive(Debug, Clone)]
pub(super) struct ParamPattern {
    keys: Vec<String>,
    value: Wild,
}

impl ParamPattern {
    pub(super) fn parse(text: &str) -> Result<Self, RuleError> {
        let pair = text.strip_prefix("param.").and_then(|rest| rest.split_once('='));
        let error = || RuleError::Param(text.to_owned());
        let (key, value) = pair.ok_or_else(error)?;
        let keys: Vec<String> = key.trim().split('.').map(str::to_owned).collect();
        if keys.iter().any(String::is_empty) {
            return Err(error());
        }
        Ok(Self { keys, value: Wild::new(value.trim()) })
    }

    /// Whether the input has the value; of several values any, or all where strict.
    pub(super) fn matches(&self, subject: &Subject, strict: bool) -> bool {
        let mut found = subject.input.as_ref();
        for (depth, key) in self.keys.iter().enumerate() {
            let next = found.get(key).or_else(|| {
                let proper = if depth == 0 { proper_name(subject, key) } else { None };
                proper.and_then(|name| found.get(name))
            });
            let Some(next) = next else {
                return false;
            };
            found = next;
        }
        match found {
            Value::Array(items) if strict => !items.is_empty() && items.iter().all(|item| self.fits(item)),
            Value::Array(items) => items.iter().any(|item| self.fits(item)),
            single => self.fits(single),
        }
    }

    fn fits(&self, value: &Value) -> bool {
        match value {
            Value::String(text) => self.value.matches(text),
            Value::Number(_) | Value::Bool(_) => self.value.matches(&value.to_string()),
            Value::Null | Value::Array(_) | Value::Object(_) => false,
        }
    }
}

/// The property that goes by another name in rules written for another host.
fn proper_name<'a>(subject: &'a Subject, key: &str) -> Option<&'a str> {
    let mut aliases = subject.spec.input_aliases.iter();
    aliases.find(|(_, names)| names.iter().any(|name| name == key)).map(|(property, _)| property.as_str())
}

/// `domain:example.com` or `domain:*.example.com`, which covers every host beneath.
#[derive(Debug, Clone)]
pub(super) struct HostPattern(Wild);

impl HostPattern {
    pub(super) fn parse(text: &str) -> Result<Self, RuleError> {
        match text.trim() {
            "" => Err(RuleError::NoSpec("domain:".to_owned())),
            host => Ok(Self(Wild::new(&host.to_ascii_lowercase()))),
        }
    }

    /// Whether the host is covered, at whatever port unless the rule names one.
    pub(super) fn matches(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        let bare = match host.rsplit_once(':') {
            Some((bare, port)) if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) => bare,
            _ => host.as_str(),
        };
        self.0.matches(&host) || self.0.matches(bare.trim_end_matches('.'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts() {
        let cases = [
            ("example.com", "Example.com:443", true),
            ("example.com", "example.com.", true),
            ("example.com", "a.example.com", false),
            ("*.example.com", "a.b.example.com", true),
            ("*.example.com", "example.com", false),
            ("*.example.com", "badexample.com", false),
            ("localhost:80", "localhost:80", true),
            ("localhost:80", "localhost:81", false),
        ];
        for (pattern, host, expected) in cases {
            assert_eq!(HostPattern::parse(pattern).unwrap().matches(host), expected, "{pattern} on {host}");
        }
    }
}
