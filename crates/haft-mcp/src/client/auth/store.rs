//! What a login came to, among stored credentials: each token under its server's own name, so that none goes to another
//! server; what a client is registered as under its issuer's.

use super::register::{Client, Method};
use haft_core::{Credentials, Failure, Secret, SecretName};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use sha2::{Digest, Sha256};
use std::sync::Arc;

/// What is known of a login. Nothing in it is secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Login {
    /// Who gave the token.
    pub(super) issuer: String,
    /// Where it is renewed.
    pub(super) token_endpoint: String,
    /// What the server calls itself.
    pub(super) resource: String,
    pub(super) client_id: String,
    pub(super) method: Method,
    /// What the token allows.
    pub(super) scope: Option<String>,
    /// Until when it holds, in seconds since 1970.
    pub(super) until: Option<u64>,
    /// What the server has asked for besides.
    #[serde(default)]
    pub(super) wanted: Option<String>,
}

/// A login with its tokens.
#[derive(Debug, Clone)]
pub(super) struct Kept {
    pub(super) login: Login,
    pub(super) access: Secret,
    pub(super) refresh: Option<Secret>,
    /// The secret of the client, where it has one.
    pub(super) secret: Option<Secret>,
}

impl Kept {
    /// The client that it was given to.
    pub(super) fn client(&self) -> Client {
        Client { id: self.login.client_id.clone(), secret: self.secret.clone(), method: self.login.method }
    }
}

/// A client as an issuer registered it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Registration {
    client_id: String,
    method: Method,
    redirect: String,
}

/// The place of one server's tokens.
#[derive(Clone)]
pub(super) struct Store {
    vault: Arc<dyn Credentials>,
    url: String,
}

impl Store {
    pub(super) fn new(vault: Arc<dyn Credentials>, url: &str) -> Self {
        Self { vault, url: url.to_owned() }
    }

    /// The login, if there is one.
    ///
    /// # Errors
    /// What is stored can't be opened.
    pub(super) async fn load(&self) -> Result<Option<Kept>, Failure> {
        self.apart(|store| {
            let Some(login) = store.read::<Login>("mcp-login", &store.url)? else { return Ok(None) };
            let Some(access) = store.get("mcp-access", &store.url)? else { return Ok(None) };
            let refresh = store.get("mcp-refresh", &store.url)?;
            let secret = store.get("mcp-client-secret", &store.url)?;
            Ok(Some(Kept { login, access, refresh, secret }))
        })
        .await
    }

    /// Keeps a login in place of the former.
    ///
    /// # Errors
    /// It can't be written.
    pub(super) async fn save(&self, kept: Kept) -> Result<(), Failure> {
        self.apart(move |store| {
            store.put("mcp-access", &store.url, Some(&kept.access))?;
            store.put("mcp-refresh", &store.url, kept.refresh.as_ref())?;
            store.put("mcp-client-secret", &store.url, kept.secret.as_ref())?;
            store.write("mcp-login", &store.url, &kept.login)
        })
        .await
    }

    /// Forgets the login; says whether there was one.
    ///
    /// # Errors
    /// It can't be written.
    pub(super) async fn forget(&self) -> Result<bool, Failure> {
        self.apart(|store| {
            let mut was_there = false;
            for kind in ["mcp-login", "mcp-access", "mcp-refresh", "mcp-client-secret"] {
                was_there |= store.vault.remove(&name(kind, &store.url)?)?;
            }
            Ok(was_there)
        })
        .await
    }

    /// What haft is registered as with an issuer, for answers at that address.
    ///
    /// # Errors
    /// What is stored can't be opened.
    pub(super) async fn client(&self, issuer: &str, redirect: &str) -> Result<Option<Client>, Failure> {
        let (issuer, redirect) = (issuer.to_owned(), redirect.to_owned());
        self.apart(move |store| {
            let known =
                store.read::<Registration>("mcp", &issuer)?.filter(|known| known.redirect == redirect);
            let Some(known) = known else { return Ok(None) };
            let secret = store.get("mcp-secret", &issuer)?;
            Ok(Some(Client { id: known.client_id, secret, method: known.method }))
        })
        .await
    }

    /// Keeps what haft was registered as.
    ///
    /// # Errors
    /// It can't be written.
    pub(super) async fn keep_client(
        &self,
        issuer: &str,
        redirect: &str,
        client: &Client,
    ) -> Result<(), Failure> {
        let registration = Registration {
            client_id: client.id.clone(),
            method: client.method,
            redirect: redirect.to_owned(),
        };
        let (issuer, secret) = (issuer.to_owned(), client.secret.clone());
        self.apart(move |store| {
            store.put("mcp-secret", &issuer, secret.as_ref())?;
            store.write("mcp", &issuer, &registration)
        })
        .await
    }

    /// Opening what is stored may take a moment.
    async fn apart<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let store = self.clone();
        let done = tokio::task::spawn_blocking(move || work(&store)).await;
        done.map_err(|error| {
            Failure::internal("what is stored can't be reached").diagnose(error.to_string())
        })?
    }

    fn get(&self, kind: &str, of: &str) -> Result<Option<Secret>, Failure> {
        self.vault.get(&name(kind, of)?)
    }

    fn put(&self, kind: &str, of: &str, value: Option<&Secret>) -> Result<(), Failure> {
        let name = name(kind, of)?;
        match value {
            Some(value) => self.vault.put(&name, value),
            None => self.vault.remove(&name).map(drop),
        }
    }

    fn read<T: DeserializeOwned>(&self, kind: &str, of: &str) -> Result<Option<T>, Failure> {
        // What can't be read is as good as nothing: a login makes it anew.
        Ok(self.get(kind, of)?.and_then(|value| serde_json::from_str(value.reveal()).ok()))
    }

    fn write(&self, kind: &str, of: &str, value: &impl Serialize) -> Result<(), Failure> {
        let text = serde_json::to_string(value)
            .map_err(|error| Failure::internal("a login has no JSON form").diagnose(error.to_string()))?;
        self.put(kind, of, Some(&Secret::new(text)))
    }
}

/// The name under which something of an address is stored: the address itself, or its hash where it can't stand in a name.
fn name(kind: &str, of: &str) -> Result<SecretName, Failure> {
    let parsed = SecretName::parse(&format!("{kind}:{of}")).or_else(|_| {
        let hash = format!("{:x}", Sha256::digest(of));
        SecretName::parse(&format!("{kind}:{hash}"))
    });
    parsed.map_err(|error| Failure::internal("an address has no name").diagnose(error.to_string()))
}
