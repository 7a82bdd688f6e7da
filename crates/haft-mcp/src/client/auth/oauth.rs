//! The login of one server: its tokens for each request, renewed where they can be, and the way to new ones.

use super::{
    challenge::{Challenge, united},
    discovery::{Discovery, Issuer},
    grant::{self, Attempt, Given, Wanted},
    register::{self, Client},
    store::{Kept, Login, Store},
};
use crate::client::Tokens;
use haft_core::{BoxFuture, Cancel, Clock, Credentials, Failure, FailureKind, Http, Secret, WebUrl};
use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, UNIX_EPOCH},
};
use tokio::{sync::Mutex as AsyncMutex, time::Instant};

/// A token that ends within that time is renewed before it is used.
const SLACK_SECONDS: u64 = 30;
/// A token that is refused so soon after it was renewed is refused for good.
const RENEWED_TIME: Duration = Duration::from_secs(30);
/// What makes a token one that can be renewed.
const OFFLINE: &str = "offline_access";

/// A client that the user registered by hand, or that is named by the address of its metadata.
#[derive(Debug, Clone)]
pub struct OwnClient {
    /// Its name.
    pub id: String,
    /// Its secret, where it has one.
    pub secret: Option<Secret>,
}

/// What a login is made with.
pub struct OAuthSetup {
    /// What the user calls the server.
    pub name: Arc<str>,
    /// Its address.
    pub url: WebUrl,
    /// Where tokens are stored.
    pub store: Arc<dyn Credentials>,
    /// Who sends. Addresses come from the server: it should reach public hosts only, and the server's own.
    pub http: Arc<dyn Http>,
    /// Wall time.
    pub clock: Arc<dyn Clock>,
    /// Random bytes.
    pub random: fn() -> Result<[u8; 32], Failure>,
    /// The client to be, in place of one that is registered on the spot.
    pub client: Option<OwnClient>,
    /// What to ask for, in place of what the server names.
    pub scope: Option<String>,
}

/// How a person gets to a page, and what comes back from there.
pub trait LoginPage: Send + Sync {
    /// Where the answer comes back.
    fn redirect(&self) -> String;

    /// Has the person open an address, and waits for the query that comes back and is the login's own.
    ///
    /// # Errors
    /// Nobody came, or it was given up.
    fn visit<'a>(
        &'a self,
        address: &'a WebUrl,
        is_own: &'a (dyn Fn(&str) -> bool + Sync),
        cancel: &'a Cancel,
    ) -> BoxFuture<'a, Result<String, Failure>>;
}

/// What a login came to.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct LoggedIn {
    /// Who gave the token.
    pub issuer: String,
    /// What it allows, where that was said.
    pub scope: Option<String>,
    /// For how many seconds it holds, where that was said.
    pub seconds: Option<u64>,
    /// Whether it is renewed without asking.
    pub is_renewed: bool,
}

/// What is in hand.
#[derive(Default)]
struct Hand {
    /// Whether what is stored was looked at.
    is_loaded: bool,
    kept: Option<Kept>,
    /// When the token was last renewed because it was refused.
    renewed: Option<Instant>,
}

/// The login of one server.
pub struct OAuth {
    setup: OAuthSetup,
    store: Store,
    hand: AsyncMutex<Hand>,
    challenge: Mutex<Option<Challenge>>,
}

impl OAuth {
    /// The login of a server; nothing is looked at yet.
    pub fn new(setup: OAuthSetup) -> Self {
        let store = Store::new(Arc::clone(&setup.store), setup.url.as_str());
        Self { setup, store, hand: AsyncMutex::default(), challenge: Mutex::default() }
    }

    /// Whether the server has asked for a login since this was made, or ever for a wider one.
    ///
    /// # Errors
    /// What is stored can't be opened.
    pub async fn is_wanted(&self) -> Result<bool, Failure> {
        if self.challenged().is_some() {
            return Ok(true);
        }
        Ok(self.store.load().await?.is_some_and(|kept| kept.login.wanted.is_some()))
    }

    fn challenged(&self) -> Option<Challenge> {
        self.challenge.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Logs in: finds out who gives tokens, has a person say yes there, and stores what is given.
    ///
    /// # Errors
    /// Permission where anybody refuses, or says something that isn't so.
    pub async fn login(&self, page: &dyn LoginPage, cancel: &Cancel) -> Result<LoggedIn, Failure> {
        let challenge = self.challenged().unwrap_or_default();
        let discovery = Discovery { http: self.setup.http.as_ref(), server: &self.setup.url };
        let resource = discovery.resource(&challenge).await?;
        let issuer = discovery.issuer(&resource.issuer).await?;
        let before = self.store.load().await?.filter(|kept| kept.login.issuer == issuer.name);
        let scope = self.scope(&challenge, (&resource.scopes, &issuer.scopes), before.as_ref());
        let redirect = page.redirect();
        let client = self.client(&issuer, &redirect).await?;
        let wanted = Wanted {
            issuer: &issuer,
            client: &client,
            redirect: &redirect,
            resource: &resource.name,
            scope: scope.as_deref(),
        };
        let attempt = Attempt::new((self.setup.random)()?, (self.setup.random)()?);
        let address = attempt.address(&wanted)?;
        let query = page.visit(&address, &|query| attempt.is_own(query), cancel).await?;
        let code = attempt.code(&query, &issuer)?;
        let given = attempt.exchange(self.setup.http.as_ref(), &code, &wanted).await?;
        let login = Login {
            issuer: issuer.name.clone(),
            token_endpoint: issuer.token.to_string(),
            resource: resource.name,
            client_id: client.id.clone(),
            method: client.method,
            scope: given.scope.clone().or(scope),
            until: self.until(&given),
            wanted: None,
        };
        let logged_in = LoggedIn {
            issuer: issuer.name,
            scope: login.scope.clone(),
            seconds: given.seconds,
            is_renewed: given.refresh.is_some(),
        };
        let kept = Kept { login, access: given.access, refresh: given.refresh, secret: client.secret };
        self.store.save(kept.clone()).await?;
        *self.hand.lock().await = Hand { is_loaded: true, kept: Some(kept), renewed: None };
        *self.challenge.lock().unwrap_or_else(PoisonError::into_inner) = None;
        Ok(logged_in)
    }

    /// Forgets the login; says whether there was one.
    ///
    /// # Errors
    /// It can't be taken out of what is stored.
    pub async fn logout(&self) -> Result<bool, Failure> {
        *self.hand.lock().await = Hand { is_loaded: true, ..Hand::default() };
        self.store.forget().await
    }

    /// What to ask for: what the server wants now and what was given before; else all that it names; renewal where it is
    /// offered.
    fn scope(
        &self,
        challenge: &Challenge,
        (resource, issuer): (&[String], &[String]),
        before: Option<&Kept>,
    ) -> Option<String> {
        if let Some(scope) = &self.setup.scope {
            return united([scope.as_str()]);
        }
        let had = before.map(|kept| &kept.login);
        let asked = challenge.scope.as_deref().or_else(|| had?.wanted.as_deref());
        let wanted = match asked {
            Some(asked) => vec![had.and_then(|login| login.scope.as_deref()).unwrap_or_default(), asked],
            None => resource.iter().map(String::as_str).collect(),
        };
        let offline = issuer.iter().any(|scope| scope == OFFLINE).then_some(OFFLINE);
        // Alone it would ask for renewal of nothing.
        let offline = offline.filter(|_| wanted.iter().any(|scope| !scope.is_empty()));
        united(wanted.into_iter().chain(offline))
    }

    /// Which client haft is to an issuer.
    async fn client(&self, issuer: &Issuer, redirect: &str) -> Result<Client, Failure> {
        if let Some(client) = self.setup.client.as_ref().and_then(|own| register::own(issuer, own)) {
            return Ok(client);
        }
        if let Some(client) = self.store.client(&issuer.name, redirect).await? {
            return Ok(client);
        }
        let client = register::register(self.setup.http.as_ref(), issuer, redirect).await?;
        self.store.keep_client(&issuer.name, redirect, &client).await?;
        Ok(client)
    }

    fn now(&self) -> u64 {
        self.setup.clock.now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
    }

    fn until(&self, given: &Given) -> Option<u64> {
        given.seconds.map(|seconds| self.now().saturating_add(seconds))
    }

    async fn token(&self) -> Result<Option<String>, Failure> {
        let mut hand = self.hand.lock().await;
        // A server that wants no login needs nothing that is stored; one that does says so, and then that is told.
        if self.load(&mut hand).await.is_err() {
            return Ok(None);
        }
        if self.is_over(&hand) {
            self.catch_up(&mut hand).await?;
        }
        if self.is_over(&hand) {
            self.renew(&mut hand).await?;
        }
        Ok(hand.kept.as_ref().map(bearer))
    }

    /// Whether the token is over and can be renewed. One that can't be is tried all the same: clocks differ.
    fn is_over(&self, hand: &Hand) -> bool {
        let soon = self.now().saturating_add(SLACK_SECONDS);
        let is_over =
            |kept: &Kept| kept.refresh.is_some() && kept.login.until.is_some_and(|until| until <= soon);
        hand.kept.as_ref().is_some_and(is_over)
    }

    async fn load(&self, hand: &mut Hand) -> Result<(), Failure> {
        if !hand.is_loaded {
            *hand = Hand { is_loaded: true, kept: self.store.load().await?, renewed: None };
        }
        Ok(())
    }

    /// Takes over what is stored now, since another process may have logged in, renewed or logged out meanwhile: what it
    /// stored is the newer. Says whether that is another token.
    async fn catch_up(&self, hand: &mut Hand) -> Result<bool, Failure> {
        let stored = self.store.load().await?;
        let own = hand.kept.take().map(|kept| kept.access);
        let is_other = stored.as_ref().is_some_and(|stored| own.as_ref() != Some(&stored.access));
        if is_other {
            hand.renewed = None;
        }
        hand.kept = stored;
        Ok(is_other)
    }

    /// Renews the token; says whether there is another one now. An issuer may take each renewal once, and another process
    /// may have been first: then what it stored holds, whatever was answered here.
    async fn renew(&self, hand: &mut Hand) -> Result<bool, Failure> {
        let Some(own) = hand.kept.clone() else { return Ok(false) };
        let Some(refresh) = &own.refresh else { return Ok(false) };
        let place = WebUrl::parse(&own.login.token_endpoint)?;
        let at = (&place, own.login.resource.as_str());
        let renewed = grant::refresh(self.setup.http.as_ref(), at, &own.client(), refresh).await?;
        if self.catch_up(hand).await? {
            return Ok(true);
        }
        let (Ok(given), Some(kept)) = (renewed, &hand.kept) else { return Ok(false) };
        let login = Login {
            scope: given.scope.clone().or_else(|| kept.login.scope.clone()),
            until: self.until(&given),
            ..kept.login.clone()
        };
        let kept = Kept { login, access: given.access, refresh: given.refresh, secret: own.secret };
        self.store.save(kept.clone()).await?;
        hand.kept = Some(kept);
        Ok(true)
    }

    async fn another(&self, sent: Option<String>, challenge: Challenge) -> Result<bool, Failure> {
        *self.challenge.lock().unwrap_or_else(PoisonError::into_inner) = Some(challenge.clone());
        let mut hand = self.hand.lock().await;
        hand.is_loaded = true;
        let is_other = self.catch_up(&mut hand).await?;
        // Another call may have renewed it since this one was sent.
        if is_other || hand.kept.as_ref().map(bearer).is_some_and(|held| sent.as_ref() != Some(&held)) {
            return Ok(true);
        }
        if challenge.wants_more()
            && let Some(kept) = &mut hand.kept
        {
            return Err(self.widened(kept, challenge.scope).await);
        }
        if hand.renewed.is_some_and(|at| at.elapsed() < RENEWED_TIME) {
            return Ok(false);
        }
        hand.renewed = Some(Instant::now());
        self.renew(&mut hand).await
    }

    /// Remembers what the next login has to ask for besides, and says so.
    async fn widened(&self, kept: &mut Kept, scope: Option<String>) -> Failure {
        let shown = scope.as_deref().map(|scope| format!(" ({scope})")).unwrap_or_default();
        kept.login.wanted = scope;
        // Best effort: else a login has to be told by a flag.
        drop(self.store.save(kept.clone()).await);
        let name = &self.setup.name;
        let text = format!(
            "the server {name} wants more than its login allows{shown}. The user can widen it with: haft mcp login {name}"
        );
        Failure::new(FailureKind::Permission, text)
    }
}

impl Tokens for OAuth {
    fn authorization(&self) -> BoxFuture<'_, Result<Option<String>, Failure>> {
        Box::pin(self.token())
    }

    fn refused(&self, sent: Option<&str>, challenge: Option<&str>) -> BoxFuture<'_, Result<bool, Failure>> {
        let challenge = challenge.map(Challenge::parse).unwrap_or_default();
        Box::pin(self.another(sent.map(str::to_owned), challenge))
    }
}

/// How a token goes with a request.
fn bearer(kept: &Kept) -> String {
    format!("Bearer {}", kept.access.reveal())
}
