//! Keys and URLs that are refused, and why.

use capstan_github::{AppCredentials, GitHub, GitHubLimits};
use capstan_test_support::tally;
use secrecy::SecretString;

fn refusal(pem: &str) -> String {
    let pem = SecretString::from(pem.to_owned());
    AppCredentials::from_pem(1, &pem, "/etc/capstan/key.pem").unwrap_err().to_string()
}

#[test]
fn an_invalid_private_key_is_refused_by_name() {
    for (pem, reason) in [
        ("", "is empty"),
        ("12345", "is not a private key in PEM form"),
        ("-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----\n", "is a public key"),
        ("-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIIB\n", "is encrypted"),
        ("-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl\n", "is a key of another kind"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIB", "is cut off, damaged"),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nMIIB\n-----END RSA PRIVATE KEY-----\n",
            "looks like a private key, but",
        ),
    ] {
        let refusal = refusal(pem);
        assert!(refusal.starts_with("/etc/capstan/key.pem: "), "{refusal}");
        assert!(refusal.contains(reason), "{reason}: {refusal}");
        assert!(!refusal.contains("MIIB") && !refusal.contains("12345"), "{refusal}");
    }
}

#[test]
fn both_forms_of_a_key_are_taken() {
    let forge = capstan_forge::Forge::start(capstan_forge::Options::default()).unwrap();
    let pkcs8 = forge.app().private_key;
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("key.pem"), &pkcs8).unwrap();
    let converted = tally::command("openssl")
        .args(["rsa", "-traditional", "-in", "key.pem"])
        .current_dir(folder.path())
        .output();
    AppCredentials::from_pem(1, &SecretString::from(pkcs8), "key").unwrap();
    match converted {
        Ok(converted) if converted.status.success() => {
            let pkcs1 = String::from_utf8(converted.stdout).unwrap();
            assert!(pkcs1.starts_with("-----BEGIN RSA PRIVATE KEY-----"));
            AppCredentials::from_pem(1, &SecretString::from(pkcs1), "key").unwrap();
        }
        _ => println!("SKIPPED: PKCS#1, there is no openssl program to make such a key with"),
    }
}

#[tokio::test]
async fn a_url_that_shows_tokens_is_refused() {
    let forge =
        tokio::task::spawn_blocking(|| capstan_forge::Forge::start(capstan_forge::Options::default()));
    let forge = forge.await.unwrap().unwrap();
    let credentials =
        AppCredentials::from_pem(1, &SecretString::from(forge.app().private_key), "key").unwrap();
    let connect = |url: &str| {
        GitHub::connect(&url.parse().unwrap(), credentials.clone(), GitHubLimits::default()).map(|_| ())
    };
    connect("https://api.github.com").unwrap();
    connect("https://ghes.example/api/v3").unwrap();
    connect("http://127.0.0.1:3000").unwrap();
    let error = connect("http://ghes.example/api/v3").unwrap_err().to_string();
    assert!(error.contains("only https"), "{error}");
    let error = connect("https://user:secret@ghes.example/").unwrap_err().to_string();
    assert!(error.contains("without credentials") && !error.contains("secret@"), "{error}");
}
