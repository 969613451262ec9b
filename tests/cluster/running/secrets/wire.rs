//! What the client refuses: addresses without TLS, those that lead elsewhere, floods; and what it says of it.

use capstan_live::secrets::{KvRead, ResolvedReason};
use capstan_ports::{VaultAddress, Vaults as _};
use capstan_vault::VaultServers;
use secrecy::SecretString;

use super::town::Town;
use super::vault::CANARY;

fn open(url: &str) -> Result<(), (ResolvedReason, String)> {
    let address = VaultAddress { url: url.to_owned(), ca: None, namespace: None };
    VaultServers.open(&address).map(drop).map_err(|error| (error.why, error.message))
}

#[test]
fn tokens_go_over_tls_or_stay_at_home() {
    for url in [
        "https://vault.example.com:8200",
        "http://127.0.0.1:8200",
        "http://vault.vault.svc:8200",
        "http://[::1]:8200",
    ] {
        assert_eq!(open(url), Ok(()), "{url}");
    }
    for url in [
        "http://vault.example.com:8200",
        "ftp://vault.example.com",
        "https://me:CANARY@vault.example.com",
        "vault.example.com:8200",
        "file:///etc/passwd",
        "CANARY",
    ] {
        let (why, message) = open(url).unwrap_err();
        assert_eq!(why, ResolvedReason::NotAllowed, "{url}");
        assert!(!message.contains(CANARY), "{message}");
    }
    let bad = VaultAddress {
        url: "https://vault.example.com".to_owned(),
        ca: Some("CANARY".to_owned()),
        namespace: None,
    };
    let error = VaultServers.open(&bad).err().unwrap();
    assert_eq!(error.message, "`ca.crt` in the Secret of `caSecretName` holds no certificate in PEM");
}

#[tokio::test]
async fn nothing_that_a_server_says_is_shown_or_followed() {
    let town = Town::new().await;
    let address =
        VaultAddress { url: town.vault.url.clone(), ca: None, namespace: Some("platform".to_owned()) };
    let vault = VaultServers.open(&address).unwrap();
    let read = KvRead { mount: "kv".to_owned(), path: "org-acme/fra1".to_owned(), version: Some(3) };
    let token = SecretString::from(format!("hvs.{CANARY}"));
    for (status, body, why, says) in [
        (307, String::new(), ResolvedReason::Away, "redirects, and Capstan sends no token there"),
        (403, r#"{"errors": ["CANARY"]}"#.to_owned(), ResolvedReason::Denied, "refuses (403)"),
        (503, r#"{"errors": ["Vault is sealed"]}"#.to_owned(), ResolvedReason::Sealed, "is sealed (503)"),
        (503, r#"{"error": "RustyVault is sealed."}"#.to_owned(), ResolvedReason::Sealed, "is sealed (503)"),
        (503, "CANARY".to_owned(), ResolvedReason::Away, "answers 503"),
        (404, r#"{"errors": []}"#.to_owned(), ResolvedReason::Missing, "there is no such secret or version"),
        (
            200,
            "CANARY".to_owned(),
            ResolvedReason::BadData,
            "does not answer with a secret of the key-value engine",
        ),
        (
            200,
            format!("\"{}\"", "x".repeat(3 << 20)),
            ResolvedReason::BadData,
            "answers with more than 2 MiB",
        ),
        (
            200,
            format!("[{}0]", "[0],".repeat(100_000)),
            ResolvedReason::BadData,
            "answers with more than 50000 values",
        ),
    ] {
        town.vault.state().answers = Some((status, body));
        let error = vault.read(&token, &read).await.err().unwrap();
        assert_eq!(error.why, why, "{error}");
        assert!(error.message.contains(says), "{error}");
        assert!(error.message.starts_with("reading kv/org-acme/fra1 version 3: "), "{error}");
        assert!(!error.message.contains(CANARY), "{error}");
    }
}
