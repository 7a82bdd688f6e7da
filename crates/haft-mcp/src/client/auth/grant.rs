//! One login, from the address that a person opens to the token; and what renews a token without them.

use super::{
    discovery::Issuer,
    register::Client,
    transfer::{self, form, value},
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use haft_core::{Failure, FailureKind, Http, Secret, WebUrl};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// The kind of body that forms have.
const FORM: &str = "application/x-www-form-urlencoded";

/// What was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Given {
    pub(super) access: Secret,
    pub(super) refresh: Option<Secret>,
    /// For how many seconds; none where that isn't said.
    pub(super) seconds: Option<u64>,
    pub(super) scope: Option<String>,
}

/// A login on its way: what only this client knows of it.
pub(super) struct Attempt {
    state: String,
    verifier: String,
}

/// What a login is for.
pub(super) struct Wanted<'a> {
    pub(super) issuer: &'a Issuer,
    pub(super) client: &'a Client,
    pub(super) redirect: &'a str,
    /// What the server calls itself.
    pub(super) resource: &'a str,
    pub(super) scope: Option<&'a str>,
}

impl Attempt {
    /// A login that nobody can guess.
    pub(super) fn new(random: [u8; 32], further: [u8; 32]) -> Self {
        Self { state: URL_SAFE_NO_PAD.encode(random), verifier: URL_SAFE_NO_PAD.encode(further) }
    }

    /// Whether an answer belongs to this login.
    pub(super) fn is_own(&self, query: &str) -> bool {
        value(query, "state").as_deref() == Some(self.state.as_str())
    }

    /// The address that a person opens.
    pub(super) fn address(&self, wanted: &Wanted<'_>) -> Result<WebUrl, Failure> {
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(&self.verifier));
        let mut pairs = vec![
            ("response_type", "code"),
            ("client_id", wanted.client.id.as_str()),
            ("redirect_uri", wanted.redirect),
            ("state", self.state.as_str()),
            ("code_challenge", challenge.as_str()),
            ("code_challenge_method", "S256"),
            ("resource", wanted.resource),
        ];
        pairs.extend(wanted.scope.map(|scope| ("scope", scope)));
        if wanted.scope.is_some_and(|scope| scope.split(' ').any(|one| one == "offline_access")) {
            pairs.push(("prompt", "consent"));
        }
        let authorize = wanted.issuer.authorize.as_str();
        let joint = if authorize.contains('?') { '&' } else { '?' };
        WebUrl::parse(&format!("{authorize}{joint}{}", form(pairs)))
    }

    /// The code in an answer.
    ///
    /// # Errors
    /// The answer is somebody else's, or a refusal.
    pub(super) fn code(&self, query: &str, issuer: &Issuer) -> Result<String, Failure> {
        if !self.is_own(query) {
            return Err(refused("the answer belongs to another login; try again"));
        }
        // Compared letter by letter: another spelling is somebody else.
        match value(query, "iss") {
            Some(said) if said != issuer.name => {
                return Err(refused(&format!(
                    "the answer says that it is from {said}, not from {}",
                    issuer.name
                )));
            }
            None if issuer.names_itself => {
                return Err(refused(&format!("the answer doesn't say that it is from {}", issuer.name)));
            }
            _ => {}
        }
        if let Some(error) = value(query, "error") {
            let more = value(query, "error_description").map(|more| format!(": {more}")).unwrap_or_default();
            return Err(refused(&format!("{} answered {error}{more}", issuer.name)));
        }
        value(query, "code").ok_or_else(|| refused("the answer has no code in it; try again"))
    }

    /// Turns a code into a token.
    ///
    /// # Errors
    /// The issuer refuses.
    pub(super) async fn exchange(
        &self,
        http: &dyn Http,
        code: &str,
        wanted: &Wanted<'_>,
    ) -> Result<Given, Failure> {
        let fields = vec![
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", wanted.redirect),
            ("code_verifier", self.verifier.as_str()),
            ("resource", wanted.resource),
        ];
        ask(http, &wanted.issuer.token, wanted.client, fields).await?.map_err(|said| refused(&said))
    }
}

/// Renews a token.
///
/// # Errors
/// Outside: nobody could be asked. Inside, in words: the issuer refuses, so that a person has to log in again.
pub(super) async fn refresh(
    http: &dyn Http,
    (token, resource): (&WebUrl, &str),
    client: &Client,
    refresh: &Secret,
) -> Result<Result<Given, String>, Failure> {
    let fields =
        vec![("grant_type", "refresh_token"), ("refresh_token", refresh.reveal()), ("resource", resource)];
    let given = ask(http, token, client, fields).await?;
    // Where no other is given, the same goes on to hold.
    Ok(given.map(|given| Given { refresh: given.refresh.or_else(|| Some(refresh.clone())), ..given }))
}

async fn ask(
    http: &dyn Http,
    token: &WebUrl,
    client: &Client,
    mut fields: Vec<(&str, &str)>,
) -> Result<Result<Given, String>, Failure> {
    let (headers, proof) = client.proof();
    fields.extend(proof);
    let answer = transfer::post(http, token, headers, (FORM, form(fields))).await?;
    let document = answer.json().unwrap_or_default();
    let text = |key: &str| document.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    match (answer.status, text("access_token")) {
        (200..=299, Some(access))
            if text("token_type").is_none_or(|kind| kind.eq_ignore_ascii_case("bearer")) =>
        {
            Ok(Ok(Given {
                access: Secret::new(access),
                refresh: text("refresh_token").map(Secret::new),
                seconds: document.get("expires_in").and_then(|seconds| match seconds {
                    Value::String(text) => text.parse().ok(),
                    other => other.as_u64(),
                }),
                scope: text("scope").map(str::to_owned),
            }))
        }
        (200..=299, Some(_)) => Ok(Err("the token is of a kind that haft can't use".to_owned())),
        (500..=599, _) => {
            let text = format!("{token} failed: {}; try again later", answer.words());
            Err(Failure::new(FailureKind::Unavailable, text))
        }
        // Nothing that was sent is repeated.
        _ => Ok(Err(format!("{token} gives no token: {}", answer.words()))),
    }
}

fn refused(why: &str) -> Failure {
    Failure::new(FailureKind::Permission, format!("no login: {why}"))
}

#[cfg(test)]
mod tests {
    use super::super::register::Method;
    use super::*;

    fn issuer(names_itself: bool) -> Issuer {
        Issuer {
            name: "https://id.example".to_owned(),
            authorize: WebUrl::parse("https://id.example/authorize?tenant=1").unwrap(),
            token: WebUrl::parse("https://id.example/token").unwrap(),
            register: None,
            scopes: Vec::new(),
            methods: Vec::new(),
            takes_metadata_address: false,
            names_itself,
        }
    }

    #[test]
    fn the_address_has_all_that_makes_a_login_safe() {
        let attempt = Attempt::new([1; 32], [2; 32]);
        let client = Client { id: "me".to_owned(), secret: None, method: Method::None };
        let (issuer, redirect, resource) =
            (issuer(true), "http://127.0.0.1:9/callback", "https://x.example/mcp");
        let wanted =
            Wanted { issuer: &issuer, client: &client, redirect, resource, scope: Some("r offline_access") };
        let address = attempt.address(&wanted).unwrap();
        let query = address.as_str().split_once('?').unwrap().1;
        for (name, expected) in [
            ("tenant", "1"),
            ("response_type", "code"),
            ("client_id", "me"),
            ("redirect_uri", redirect),
            ("code_challenge_method", "S256"),
            ("resource", resource),
            ("scope", "r offline_access"),
            ("prompt", "consent"),
        ] {
            assert_eq!(value(query, name).as_deref(), Some(expected), "{name}");
        }
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(URL_SAFE_NO_PAD.encode([2; 32])));
        assert_eq!(value(query, "code_challenge"), Some(challenge));
        assert!(attempt.is_own(query));
    }

    #[test]
    fn only_an_answer_to_this_login_from_this_issuer_counts() {
        let attempt = Attempt::new([1; 32], [2; 32]);
        let state = attempt.state.as_str();
        let own = |rest: &str| format!("state={state}&{rest}");
        for (query, names_itself, says) in [
            ("code=c".to_owned(), false, Some("another login")),
            ("state=x&code=c".to_owned(), false, Some("another login")),
            (own("code=c"), false, None),
            (own("code=c"), true, Some("doesn't say that it is from")),
            (own("code=c&iss=https%3A%2F%2Fid.example"), true, None),
            (own("code=c&iss=https%3A%2F%2Fid.example%2F"), true, Some("not from")),
            (own("code=c&iss=https%3A%2F%2Fevil.example"), false, Some("not from")),
            (own("error=access_denied&error_description=no+way"), false, Some("access_denied: no way")),
            (own("x=y"), false, Some("no code")),
        ] {
            let read = attempt.code(&query, &issuer(names_itself));
            match says {
                None => assert_eq!(read.unwrap(), "c", "{query}"),
                Some(says) => assert!(read.unwrap_err().text.contains(says), "{query}"),
            }
        }
    }
}
