//! People who sign in to see the pages.
//!
//! *Expected flow.* [`Visitors::begin`] redirects a person to GitHub with a state and a proof key (PKCE),
//! which a sealed cookie keeps. [`Visitors::finish`] checks that they return with the same state, and gives
//! them a session. [`Visitors::recognise`] says for each request who they are and what they may do.
//!
//! *Guarantees.* A person sees what their own GitHub token may see, which is checked again every few minutes.
//! The token is only in the sealed cookie and in memory. A session ends after eight hours, when GitHub
//! revokes the token, or when they sign out of this process. While GitHub does not answer, nobody sees
//! anything.
//!
//! *Why not in the database?* A cookie that only the bot can open needs no table, no housekeeping and no
//! second place for tokens. Its limit: signing out does not reach other processes of the same bot.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::rand::{SecureRandom as _, SystemRandom};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::{SignedDuration, Timestamp};
use secrecy::{ExposeSecret as _, SecretString};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use url::Url;

use super::agents::SealingKey;
use capstan_ports::{Clock, Permission, SignIn, SignInError, VisibleRepositories};

/// How long a session lasts.
pub const SESSION: SignedDuration = SignedDuration::from_hours(8);
/// How long a sign-in at GitHub may take.
pub const BEGINNING: SignedDuration = SignedDuration::from_mins(10);
/// How long GitHub's answer about a person's rights is used.
const BELIEVED: SignedDuration = SignedDuration::from_mins(3);
/// Codes of one address that are exchanged at GitHub at the same time: strangers can begin a sign-in and
/// invent codes, and each costs a call.
const EXCHANGES_OF_ONE: usize = 4;
/// The same for all addresses.
const EXCHANGES: usize = 64;
/// Finished sign-ins that are remembered. If one is forgotten too early, GitHub is asked once more.
const SPENT: usize = 10_000;
/// People whose rights are cached.
const REMEMBERED: usize = 10_000;
/// Sessions that ended early and are remembered. With more, all sessions that expire as early as the first of
/// them end too, and their owners sign in again.
const ENDED: usize = 10_000;

const BEGUN: &str = "page-sign-in";
const HELD: &str = "page-session";

/// A person who has signed in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    /// Their login.
    pub login: String,
    /// What they may do, by GitHub's id of the repository.
    pub rights: BTreeMap<u64, Permission>,
    /// The token in the forms that they are shown.
    pub form_token: String,
    session: String,
}

impl Person {
    /// What they may see.
    pub fn sight(&self) -> VisibleRepositories {
        VisibleRepositories::Repositories(self.rights.keys().copied().collect())
    }

    /// Whether they have write permission for a repository.
    pub fn may_write(&self, repository: u64) -> bool {
        self.rights.get(&repository).is_some_and(|right| *right >= Permission::Write)
    }
}

/// A sign-in that has begun.
#[derive(Debug)]
pub struct SignInStart {
    /// The address to go to.
    pub url: Url,
    /// The sealed cookie of the sign-in.
    pub cookie: String,
}

/// A sign-in that has ended well.
#[derive(Debug)]
pub struct Finished {
    /// The sealed cookie of the session.
    pub cookie: String,
    /// The page that they wanted to see.
    pub next: String,
    /// Who they are.
    pub login: String,
}

/// Why there is no session.
#[derive(Debug, thiserror::Error)]
pub enum NotSignedIn {
    /// The cookie of the beginning is missing, expired or not ours, or the state differs.
    #[error("the sign-in did not start here, or started too long ago")]
    NotBegun,
    /// Too many codes are being exchanged, from the same address or in total.
    #[error("too many people are signing in at once")]
    Crowded,
    /// GitHub.
    #[error(transparent)]
    SignIn(#[from] SignInError),
    /// The system gives no random bytes.
    #[error("the system gives no random bytes")]
    NoRandomness,
}

#[derive(Serialize, Deserialize)]
struct Beginning {
    state: String,
    proof_key: String,
    next: String,
    until: Timestamp,
}

#[derive(Serialize, Deserialize)]
struct VisitorSession {
    id: String,
    login: String,
    token: String,
    form_token: String,
    until: Timestamp,
}

struct CachedPerson {
    person: Arc<Person>,
    asked_at: Timestamp,
}

/// Recognises people.
pub struct Visitors {
    sign_in: Arc<dyn SignIn>,
    key: SealingKey,
    clock: Arc<dyn Clock>,
    origin: String,
    exchanges: Mutex<Exchanges>,
    known: Mutex<HashMap<String, CachedPerson>>,
    ended: Mutex<EndedSessions>,
}

impl Visitors {
    /// Starts without any known person.
    ///
    /// `public` is any address under which browsers reach the pages. Forms must come from there; it is a
    /// parameter because a proxy may use another address for this server.
    pub fn new(sign_in: Arc<dyn SignIn>, key: SealingKey, clock: Arc<dyn Clock>, public: &Url) -> Self {
        let origin = public.origin().ascii_serialization();
        let (exchanges, known, ended) = (Mutex::default(), Mutex::default(), Mutex::default());
        Self { sign_in, key, clock, origin, exchanges, known, ended }
    }

    /// The origin of the pages, as browsers send it: `https://capstan.example`.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Redirects a person to GitHub; `next` is the page that they wanted to see.
    ///
    /// # Errors
    /// Without randomness there is no unguessable state.
    pub fn begin(&self, next: &str) -> Result<SignInStart, NotSignedIn> {
        let (state, proof_key) = (random_text()?, random_text()?);
        let challenge = URL_SAFE_NO_PAD.encode(digest(&SHA256, proof_key.as_bytes()));
        let url = self.sign_in.authorize_url(&state, &challenge);
        let until = self.clock.now() + BEGINNING;
        let beginning = Beginning { state, proof_key, next: next.to_owned(), until };
        Ok(SignInStart { url, cookie: self.seal(BEGUN, &beginning)? })
    }

    /// Finishes the sign-in of a person who returns from GitHub; `from` is their address. GitHub is asked
    /// only once for each sign-in: guessing codes takes a new sign-in for each.
    ///
    /// # Errors
    /// They did not begin here, too many return at once, or GitHub does not know the code.
    pub async fn finish(
        &self,
        from: IpAddr,
        cookie: &str,
        state: &str,
        code: &str,
    ) -> Result<Finished, NotSignedIn> {
        let beginning: Beginning = self.open(BEGUN, cookie).ok_or(NotSignedIn::NotBegun)?;
        let same = verify_slices_are_equal(beginning.state.as_bytes(), state.as_bytes()).is_ok();
        if !same || beginning.until < self.clock.now() {
            return Err(NotSignedIn::NotBegun);
        }
        // There is no queue here: strangers could make it any length.
        let mut place = self.place(from, state, beginning.until)?;
        let token = match self.sign_in.exchange(code, &SecretString::from(beginning.proof_key)).await {
            Err(error) if !error.is_over() => return Err(error.into()),
            known => {
                place.is_spent = true;
                known?
            }
        };
        let login = self.sign_in.login_of(&token).await?;
        let session = VisitorSession {
            id: random_text()?,
            login: login.clone(),
            token: token.expose_secret().to_owned(),
            form_token: random_text()?,
            until: self.clock.now() + SESSION,
        };
        Ok(Finished { cookie: self.seal(HELD, &session)?, next: beginning.next, login })
    }

    fn place(&self, from: IpAddr, state: &str, until: Timestamp) -> Result<ExchangeSlot<'_>, NotSignedIn> {
        let now = self.clock.now();
        let from = network_of(from);
        let mut exchanges = self.exchanges.lock().unwrap_or_else(PoisonError::into_inner);
        exchanges.spent.retain(|_, until| *until >= now);
        if exchanges.spent.contains_key(state) {
            return Err(NotSignedIn::NotBegun);
        }
        let of_one = exchanges.going_on.values().filter(|other| **other == from).count();
        let is_free = of_one < EXCHANGES_OF_ONE && exchanges.going_on.len() < EXCHANGES;
        if !is_free || exchanges.going_on.contains_key(state) {
            return Err(NotSignedIn::Crowded);
        }
        exchanges.going_on.insert(state.to_owned(), from);
        Ok(ExchangeSlot { exchanges: &self.exchanges, state: state.to_owned(), until, is_spent: false })
    }

    /// The person of a session's cookie; `None` where they have to sign in.
    ///
    /// # Errors
    /// GitHub does not answer.
    pub async fn recognise(&self, cookie: &str) -> Result<Option<Arc<Person>>, SignInError> {
        let now = self.clock.now();
        let Some(session) = self.held(cookie, now) else { return Ok(None) };
        if let Some(person) = self.remembered(&session.id, now) {
            return Ok(Some(person));
        }
        let rights = match self.sign_in.rights_of(&SecretString::from(session.token.clone())).await {
            Ok(rights) => rights,
            Err(error) if error.is_over() => return Ok(None),
            Err(error) => return Err(error),
        };
        let VisitorSession { id, login, form_token, .. } = session;
        let person = Arc::new(Person { login, rights, form_token, session: id });
        self.remember(&person, now);
        Ok(Some(person))
    }

    /// The person of a session's cookie, without asking GitHub. What they may see is unknown, but they can
    /// always end their session.
    pub fn holder(&self, cookie: &str) -> Option<Person> {
        let VisitorSession { id, login, form_token, .. } = self.held(cookie, self.clock.now())?;
        Some(Person { login, rights: BTreeMap::new(), form_token, session: id })
    }

    /// Ends a session.
    pub fn end(&self, person: &Person) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).remove(&person.session);
        let until = self.clock.now() + SESSION;
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).note(until, person.session.clone());
    }

    /// A session that has not ended.
    fn held(&self, cookie: &str, now: Timestamp) -> Option<VisitorSession> {
        let session: VisitorSession = self.open(HELD, cookie)?;
        (session.until >= now && !self.has_ended(&session, now)).then_some(session)
    }

    fn has_ended(&self, session: &VisitorSession, now: Timestamp) -> bool {
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        ended.forget_before(now);
        ended.has(session)
    }

    fn remembered(&self, session: &str, now: Timestamp) -> Option<Arc<Person>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.get(session).filter(|known| now.duration_since(known.asked_at) < BELIEVED)?;
        Some(Arc::clone(&known.person))
    }

    fn remember(&self, person: &Arc<Person>, now: Timestamp) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= REMEMBERED {
            known.retain(|_, one| now.duration_since(one.asked_at) < BELIEVED);
        }
        if known.len() < REMEMBERED {
            known.insert(person.session.clone(), CachedPerson { person: Arc::clone(person), asked_at: now });
        }
    }

    fn seal(&self, name: &str, what: &impl Serialize) -> Result<String, NotSignedIn> {
        let plain = serde_json::to_vec(what).map_err(|_| NotSignedIn::NoRandomness)?;
        let sealed = self.key.seal(name, &plain).map_err(|_| NotSignedIn::NoRandomness)?;
        Ok(URL_SAFE_NO_PAD.encode(sealed))
    }

    fn open<T: DeserializeOwned>(&self, name: &str, cookie: &str) -> Option<T> {
        let sealed = URL_SAFE_NO_PAD.decode(cookie).ok()?;
        serde_json::from_slice(&self.key.open_sealed(name, &sealed)?).ok()
    }
}

/// Sessions that ended early.
#[derive(Default)]
struct EndedSessions {
    /// When each would have expired, and its id.
    sessions: BTreeSet<(Timestamp, String)>,
    /// All sessions that expire by then have ended: too many to remember each.
    all_until: Option<Timestamp>,
}

impl EndedSessions {
    fn note(&mut self, until: Timestamp, session: String) {
        // Repeated sign-outs of one session take one place.
        if self.sessions.iter().any(|(_, id)| *id == session) {
            return;
        }
        self.sessions.insert((until, session));
        if self.sessions.len() > ENDED
            && let Some((until, _)) = self.sessions.pop_first()
        {
            self.all_until = self.all_until.max(Some(until));
        }
    }

    fn forget_before(&mut self, now: Timestamp) {
        self.sessions.retain(|(until, _)| *until >= now);
    }

    fn has(&self, session: &VisitorSession) -> bool {
        self.all_until.is_some_and(|until| session.until <= until)
            || self.sessions.iter().any(|(_, id)| *id == session.id)
    }
}

/// The codes that are exchanged, by the state of their sign-in.
#[derive(Default)]
struct Exchanges {
    going_on: HashMap<String, IpAddr>,
    /// Sign-ins that GitHub has answered, and when they expire.
    spent: HashMap<String, Timestamp>,
}

/// A code that is exchanged now.
struct ExchangeSlot<'a> {
    exchanges: &'a Mutex<Exchanges>,
    state: String,
    until: Timestamp,
    is_spent: bool,
}

impl Drop for ExchangeSlot<'_> {
    fn drop(&mut self) {
        let mut exchanges = self.exchanges.lock().unwrap_or_else(PoisonError::into_inner);
        exchanges.going_on.remove(&self.state);
        if self.is_spent {
            if exchanges.spent.len() >= SPENT
                && let Some(first) = exchanges.spent.iter().min_by_key(|(_, until)| **until)
            {
                let first = first.0.clone();
                exchanges.spent.remove(&first);
            }
            exchanges.spent.insert(std::mem::take(&mut self.state), self.until);
        }
    }
}

/// The part of an address that identifies one party: of IPv6 the 64 bits of the network, since the rest can
/// be chosen freely.
fn network_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6((address.to_bits() >> 64 << 64).into()),
        address => address,
    }
}

/// 32 random bytes in base64url, which cannot be guessed.
pub fn random_text() -> Result<String, NotSignedIn> {
    let mut bytes = [0; 32];
    SystemRandom::new().fill(&mut bytes).map_err(|_| NotSignedIn::NoRandomness)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use futures_util::FutureExt as _;

    use super::*;
    use capstan_ports::SystemClock;

    /// A code host that never answers.
    struct Silent;

    #[async_trait]
    impl SignIn for Silent {
        fn authorize_url(&self, state: &str, _challenge: &str) -> Url {
            format!("https://github.example/{state}").parse().unwrap()
        }

        async fn exchange(&self, _code: &str, _key: &SecretString) -> Result<SecretString, SignInError> {
            std::future::pending().await
        }

        async fn login_of(&self, _token: &SecretString) -> Result<String, SignInError> {
            std::future::pending().await
        }

        async fn rights_of(&self, _token: &SecretString) -> Result<BTreeMap<u64, Permission>, SignInError> {
            std::future::pending().await
        }
    }

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn visitors(sign_in: impl SignIn + 'static) -> Visitors {
        let key = SealingKey::parse(&"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=".into()).unwrap();
        let public = "https://capstan.example".parse().unwrap();
        Visitors::new(Arc::new(sign_in), key, Arc::new(SystemClock), &public)
    }

    fn begin(visitors: &Visitors) -> (String, String) {
        let begun = visitors.begin("/").unwrap();
        (begun.cookie, begun.url.path().trim_start_matches('/').to_owned())
    }

    #[tokio::test]
    async fn guessed_codes_do_not_block_other_addresses() {
        let visitors = visitors(Silent);
        let begun: Vec<(String, String)> = (0..6).map(|_| begin(&visitors)).collect();
        let come_back = |from: &str, (cookie, state): &(String, String)| {
            let (visitors, from) = (&visitors, address(from));
            let (cookie, state) = (cookie.clone(), state.clone());
            Box::pin(async move { visitors.finish(from, &cookie, &state, "made-up").await })
        };
        // A sign-in is asked about once, from any address.
        let mut first = come_back("192.0.2.1", &begun[0]);
        assert!(first.as_mut().now_or_never().is_none());
        assert!(matches!(come_back("192.0.2.9", &begun[0]).await, Err(NotSignedIn::Crowded)));
        let mut waiting: Vec<_> = begun[1..4].iter().map(|one| come_back("192.0.2.1", one)).collect();
        for one in &mut waiting {
            assert!(one.as_mut().now_or_never().is_none());
        }
        for same in ["192.0.2.1", "::ffff:192.0.2.1"] {
            assert!(matches!(come_back(same, &begun[4]).await, Err(NotSignedIn::Crowded)), "{same}");
        }
        let mut honest = come_back("192.0.2.2", &begun[4]);
        assert!(honest.as_mut().now_or_never().is_none(), "it is asked about");
        // A state of another browser costs no call.
        let stolen = (begun[5].0.clone(), begun[4].1.clone());
        assert!(matches!(come_back("192.0.2.3", &stolen).await, Err(NotSignedIn::NotBegun)));
        // A request that is dropped makes room.
        drop(waiting);
        assert!(come_back("192.0.2.1", &begun[5]).now_or_never().is_none());
    }

    /// A code host that knows no code.
    struct Refusing;

    #[async_trait]
    impl SignIn for Refusing {
        fn authorize_url(&self, state: &str, _challenge: &str) -> Url {
            format!("https://github.example/{state}").parse().unwrap()
        }

        async fn exchange(&self, _code: &str, _key: &SecretString) -> Result<SecretString, SignInError> {
            Err(SignInError::Refused("bad_verification_code".to_owned()))
        }

        async fn login_of(&self, _token: &SecretString) -> Result<String, SignInError> {
            std::future::pending().await
        }

        async fn rights_of(&self, _token: &SecretString) -> Result<BTreeMap<u64, Permission>, SignInError> {
            std::future::pending().await
        }
    }

    #[tokio::test]
    async fn a_sign_in_exchanges_one_code() {
        let visitors = visitors(Refusing);
        let (cookie, state) = begin(&visitors);
        let from = address("2001:db8::1");
        let first = visitors.finish(from, &cookie, &state, "made-up").await;
        assert!(matches!(first, Err(NotSignedIn::SignIn(_))), "{first:?}");
        let second = visitors.finish(from, &cookie, &state, "another").await;
        assert!(matches!(second, Err(NotSignedIn::NotBegun)), "{second:?}");
    }

    /// Repeated sign-ins and sign-outs neither revive an ended session nor take more memory.
    #[test]
    fn sessions_that_ended_are_remembered_up_to_a_bound_and_none_of_them_comes_back() {
        let session = |until: i64| VisitorSession {
            id: format!("until {until}"),
            login: "ada".to_owned(),
            token: String::new(),
            form_token: String::new(),
            until: Timestamp::from_second(until).unwrap(),
        };
        let mut ended = EndedSessions::default();
        // Each would have lasted another hour at most.
        let end = |ended: &mut EndedSessions, until: i64| {
            ended.note(Timestamp::from_second(until + 3_600).unwrap(), session(until).id);
        };
        end(&mut ended, 0);
        ended.note(Timestamp::from_second(9_000).unwrap(), session(0).id);
        assert_eq!(ended.sessions.len(), 1, "one session takes one place");
        (0..10_000).for_each(|until| end(&mut ended, until));
        let others =
            [3_600, 20_000].map(|until| VisitorSession { id: "another".to_owned(), ..session(until) });
        assert_eq!(others.each_ref().map(|other| ended.has(other)), [false, false]);
        end(&mut ended, 10_000);
        assert_eq!(ended.sessions.len(), 10_000);
        assert!([0, 1, 5_000, 10_000].into_iter().all(|until| ended.has(&session(until))));
        assert_eq!(
            others.each_ref().map(|other| ended.has(other)),
            [true, false],
            "as old as the first, or younger"
        );
        ended.forget_before(Timestamp::from_second(14_000).unwrap());
        assert_eq!(ended.sessions.len(), 0);
    }

    #[test]
    fn one_network_is_one_party() {
        assert_eq!(network_of(address("2001:db8:1:2:3::4")), address("2001:db8:1:2::"));
        assert_eq!(network_of(address("::ffff:192.0.2.1")), address("192.0.2.1"));
    }
}
