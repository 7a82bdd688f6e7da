//! Which client haft is to an issuer: one that the user registered, one that it is named by, or one that the issuer
//! registers on the spot.

use super::{
    discovery::Issuer,
    oauth::OwnClient,
    transfer::{self, form},
};
use base64::{Engine, engine::general_purpose::STANDARD};
use haft_core::{Failure, FailureKind, Http, Secret, WebUrl};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// How a client proves who it is when it asks for a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Method {
    /// Not at all: it has no secret.
    None,
    /// By a header.
    ClientSecretBasic,
    /// In the form.
    ClientSecretPost,
}

/// A client.
#[derive(Debug, Clone)]
pub(super) struct Client {
    pub(super) id: String,
    pub(super) secret: Option<Secret>,
    pub(super) method: Method,
}

/// Headers, and further fields.
type Proof<'a> = (Vec<(String, String)>, Vec<(&'static str, &'a str)>);

impl Client {
    /// What goes with a request for a token: headers and further fields.
    pub(super) fn proof(&self) -> Proof<'_> {
        match (self.method, &self.secret) {
            (Method::ClientSecretBasic, Some(secret)) => {
                let word = |text: &str| form([("", text)]).trim_start_matches('=').to_owned();
                let pair = format!("{}:{}", word(&self.id), word(secret.reveal()));
                let header = ("authorization".to_owned(), format!("Basic {}", STANDARD.encode(pair)));
                (vec![header], Vec::new())
            }
            (Method::ClientSecretPost, Some(secret)) => {
                (Vec::new(), vec![("client_id", self.id.as_str()), ("client_secret", secret.reveal())])
            }
            _ => (Vec::new(), vec![("client_id", self.id.as_str())]),
        }
    }
}

/// How a client with a secret may prove itself.
fn method(issuer: &Issuer, has_secret: bool) -> Method {
    let takes = |name: &str| issuer.methods.iter().any(|method| method == name);
    let takes_secrets =
        issuer.methods.is_empty() || takes("client_secret_basic") || takes("client_secret_post");
    if !has_secret || !takes_secrets {
        Method::None
    } else if takes("client_secret_post") && !takes("client_secret_basic") {
        Method::ClientSecretPost
    } else {
        Method::ClientSecretBasic
    }
}

/// The client that the user named, as far as the issuer takes it.
pub(super) fn own(issuer: &Issuer, own: &OwnClient) -> Option<Client> {
    let is_address = own.id.starts_with("https://");
    if is_address && !issuer.takes_metadata_address {
        return None;
    }
    let method = method(issuer, own.secret.is_some());
    Some(Client { id: own.id.clone(), secret: own.secret.clone(), method })
}

/// Has an issuer register a client.
///
/// # Errors
/// It registers none, or refuses this one.
pub(super) async fn register(http: &dyn Http, issuer: &Issuer, redirect: &str) -> Result<Client, Failure> {
    let Some(at) = &issuer.register else {
        let text = format!(
            "{} registers no clients by itself: register one there with the redirect address {redirect}, then name it in the \
             server's settings (oauthClientId, oauthClientSecret, oauthPort)",
            issuer.name
        );
        return Err(Failure::new(FailureKind::Permission, text));
    };
    let secretless = issuer.methods.is_empty() || issuer.methods.iter().any(|method| method == "none");
    let asked = if secretless {
        "none"
    } else {
        match method(issuer, true) {
            Method::ClientSecretPost => "client_secret_post",
            _ => "client_secret_basic",
        }
    };
    let body = json!({
        "client_name": "haft",
        "redirect_uris": [redirect],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": asked,
        "application_type": "native",
    });
    registered(issuer, &send(http, at, &body).await?)
}

async fn send(http: &dyn Http, at: &WebUrl, body: &Value) -> Result<Value, Failure> {
    let answer = transfer::post(http, at, Vec::new(), ("application/json", body.to_string())).await?;
    if let (200..=299, Some(document)) = (answer.status, answer.json()) {
        Ok(document)
    } else {
        let text = format!("{at} refuses to register haft: {}; register a client by hand", answer.words());
        Err(Failure::new(FailureKind::Permission, text))
    }
}

fn registered(issuer: &Issuer, document: &Value) -> Result<Client, Failure> {
    let text = |key: &str| document.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    let id = text("client_id").ok_or_else(|| {
        let text = format!("{} registered a client without a name; register one by hand", issuer.name);
        Failure::new(FailureKind::Permission, text)
    })?;
    let secret = text("client_secret").map(Secret::new);
    let method = match text("token_endpoint_auth_method") {
        Some("none") => Method::None,
        Some("client_secret_post") => Method::ClientSecretPost,
        Some("client_secret_basic") => Method::ClientSecretBasic,
        _ => method(issuer, secret.is_some()),
    };
    Ok(Client { id: id.to_owned(), secret, method })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn issuer(methods: &[&str], takes_metadata_address: bool) -> Issuer {
        Issuer {
            name: "https://id.example".to_owned(),
            authorize: WebUrl::parse("https://id.example/a").unwrap(),
            token: WebUrl::parse("https://id.example/t").unwrap(),
            register: None,
            scopes: Vec::new(),
            methods: methods.iter().map(|method| (*method).to_owned()).collect(),
            takes_metadata_address,
            names_itself: false,
        }
    }

    #[test]
    fn a_secret_is_proved_as_the_issuer_takes_it() {
        let named = OwnClient { id: "id".to_owned(), secret: Some(Secret::new("a b")) };
        assert_eq!(own(&issuer(&["none"], false), &named).unwrap().method, Method::None);
        for (methods, method) in [
            (&[][..], Method::ClientSecretBasic),
            (&["client_secret_post"][..], Method::ClientSecretPost),
            (&["client_secret_post", "client_secret_basic"][..], Method::ClientSecretBasic),
        ] {
            let client = own(&issuer(methods, false), &named).unwrap();
            assert_eq!(client.method, method);
            let (headers, fields) = client.proof();
            assert_eq!(headers.is_empty(), method == Method::ClientSecretPost);
            assert_eq!(fields.len(), if headers.is_empty() { 2 } else { 0 });
        }
        let client = Client {
            id: "a:b".to_owned(),
            secret: Some(Secret::new("c d")),
            method: Method::ClientSecretBasic,
        };
        assert_eq!(client.proof().0[0].1, format!("Basic {}", STANDARD.encode("a%3Ab:c+d")));
    }

    #[test]
    fn the_address_of_metadata_is_a_name_only_where_it_is_taken() {
        let named = OwnClient { id: "https://me.example/client.json".to_owned(), secret: None };
        assert!(own(&issuer(&[], false), &named).is_none());
        assert_eq!(own(&issuer(&["none"], true), &named).unwrap().method, Method::None);
    }
}
