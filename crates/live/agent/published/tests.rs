//! Files as Capstan makes them are taken; all others, and those that Git does not want, are not.

use super::*;
use crate::agent::KubeconfigPlace;
use crate::owners::Endpoint;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use capstan_model::tree::RepoPath;
use capstan_plan::settings::ClusterSettings;

const ADA: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB/SIL13EX5ly7Fe3nnGtzIgWIx8Fe8qhaisPRJFHXhs";
const ADAS: &str = "SHA256:WbUK/Ttgi/pFrslRC0YhF0fq1Z4ZylISYR1oWWJTTdM";
const BOB: &str = "age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj";
/// 2048 bits.
const CLEO: &str = "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQCiICMMDHLUuEBELNIa2DFBUOlQe1XzGyP9zo6CvnMslrcYTNtlGc+L5tmrjKQ4ygXbBoebqjq3/vpO0VwpsxV0N6tv2qgDfFR0pHo+rxIdfTmNnW6X3QKYFhkUQ/cL7xpnlJjl3J4bTajp83T1XVhQu1UZphv2S4kGKREhswV2mDkQwg5Ie70wvV/XCSUk/66PBICmsIStC68NTGhLzqyA9aNIVK3op2cwW9NuWc/ozLQa4fw8TOpuo3Lc8ND2aw9suagRPlKKUZkKKVoYNGmiARpV7uZYwYFzNbTGJ86JaGKnQpJX7VdkiL1ReOJgpazKjoLk6owG8H2yEbuiwi/v";
const CLEOS: &str = "SHA256:HKNYSN4ECNmr2O3Js3zVv9YXwEtydDxF4wASR/qvzO4";
/// A key that Git names for no owner.
const EVE: &str = "age19dxrgt65x047tydpmfm7qy73kuj8243dfptcmj5tsjavvegu8jusxey9mx";

/// The first four bytes of the fingerprints of `ADA` and `CLEO`.
const ADAS_TAG: &str = "WbUK/Q";
const CLEOS_TAG: &str = "HKNYSA";

fn git(text: &str) -> GitOwners {
    let settings = ClusterSettings::read(&RepoPath::parse("peu01/capstan.yaml").unwrap(), text).unwrap();
    GitOwners::new(&settings.owners, &settings.access)
}

fn all_three() -> GitOwners {
    git(&format!(
        "owners:\n- {{name: ada, key: {ADA}}}\n- {{name: bob, key: {BOB}}}\n- {{name: cleo, key: {CLEO}}}\n"
    ))
}

fn letters(byte: u8, count: usize) -> String {
    STANDARD_NO_PAD.encode(vec![byte; count])
}

fn wrapped(letters: &str) -> String {
    let mut text = String::new();
    let mut rest = letters;
    while rest.len() >= 64 {
        text.push_str(&rest[..64]);
        text.push('\n');
        rest = &rest[64..];
    }
    text + rest + "\n"
}

fn x25519() -> String {
    format!("-> X25519 {}\n{}\n", letters(7, 32), letters(8, 32))
}

fn ed25519(tag: &str) -> String {
    format!("-> ssh-ed25519 {tag} {}\n{}\n", letters(7, 32), letters(8, 32))
}

fn rsa(tag: &str, bytes: usize) -> String {
    format!("-> ssh-rsa {tag}\n{}", wrapped(&letters(9, bytes)))
}

const GREASE: &str = "-> !x-grease a b\nYWJj\n";

fn armored(bytes: &[u8]) -> Vec<u8> {
    let body = STANDARD.encode(bytes);
    let lines: Vec<&str> =
        body.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).unwrap()).collect();
    format!("-----BEGIN AGE ENCRYPTED FILE-----\n{}\n-----END AGE ENCRYPTED FILE-----\n", lines.join("\n"))
        .into_bytes()
}

fn headed(header: &str, payload: usize) -> Vec<u8> {
    let mut bytes = format!("age-encryption.org/v1\n{header}").into_bytes();
    bytes.extend(vec![5; payload]);
    armored(&bytes)
}

/// A file with these stanzas, and some payload.
fn sealed(stanzas: &[&str]) -> Vec<u8> {
    headed(&format!("{}--- {}\n", stanzas.concat(), letters(6, 32)), 16 + 16 + 2_000)
}

fn judged(
    git: &GitOwners,
    form: KubeconfigForm,
    file: &[u8],
    recipients: &[&str],
) -> Result<PublishedFile, String> {
    let recipient = |shown: &&str| KubeconfigRecipient {
        name: Words::new("whoever they say"),
        fingerprint: Words::new(shown),
    };
    let said = Kubeconfig {
        form,
        sha256: sha256(file),
        recipients: recipients.iter().map(recipient).collect(),
        expires_at: None,
        place: KubeconfigPlace::Bot,
    };
    git.judge(&said, &STANDARD.encode(file))
}

fn age(git: &GitOwners, file: &[u8], recipients: &[&str]) -> Result<PublishedFile, String> {
    judged(git, KubeconfigForm::Age, file, recipients)
}

#[test]
fn a_file_for_the_owners_in_git_is_taken_with_their_names() {
    let file = sealed(&[&ed25519(ADAS_TAG), &x25519(), &rsa(CLEOS_TAG, 256), GREASE]);
    let taken = age(&all_three(), &file, &[ADAS, BOB, CLEOS]).unwrap();
    assert_eq!(taken.bytes, file);
    let names: Vec<&str> = taken.said.recipients.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["ada", "bob", "cleo"]);
    // If a folder is refused, those who have a key keep it. A file without the stanza that has no recipient is
    // accepted, too.
    assert!(age(&all_three(), &sealed(&[&x25519()]), &[BOB]).is_ok());
    // An owner that Git names twice gets two stanzas.
    let twice = git(&format!("owners:\n- {{name: bob, key: {BOB}}}\n- {{name: bo, key: {BOB}}}\n"));
    let file = sealed(&[&x25519(), &x25519()]);
    assert!(age(&twice, &file, &[BOB, BOB]).is_ok());
    assert!(age(&all_three(), &file, &[BOB, BOB]).is_err());
}

#[test]
fn a_file_that_is_for_anybody_else_is_not_taken() {
    let one_each = "does not have one stanza of age for each of its recipients and no other";
    let no_key = format!("is for `{EVE}`, which is not the key of an owner in Git");
    for (stanzas, recipients, why) in [
        (vec![x25519()], vec![EVE], no_key.as_str()),
        (vec![x25519()], vec![BOB, EVE], no_key.as_str()),
        (vec![x25519()], vec![], "is encrypted, but its report names no recipient"),
        (vec![x25519(), x25519()], vec![BOB], one_each),
        (vec![x25519()], vec![BOB, ADAS], one_each),
        (vec![], vec![BOB], one_each),
        (vec![ed25519(CLEOS_TAG)], vec![ADAS], one_each),
        (vec![ed25519("AAAAAA")], vec![ADAS], one_each),
        (vec![x25519()], vec![ADAS], one_each),
        (vec![rsa(ADAS_TAG, 256)], vec![ADAS], one_each),
        (vec![rsa(CLEOS_TAG, 255)], vec![CLEOS], one_each),
        (vec![rsa(CLEOS_TAG, 16)], vec![CLEOS], one_each),
    ] {
        let stanzas: Vec<&str> = stanzas.iter().map(String::as_str).collect();
        assert_eq!(age(&all_three(), &sealed(&stanzas), &recipients).unwrap_err(), why, "{stanzas:?}");
    }
    let nobody = "is encrypted, but Git names no owner with a key";
    for text in ["cloud: eu\n", "owners:\n- {name: eve, key: ecdsa-sha2-nistp256 AAAA}\n"] {
        assert_eq!(age(&git(text), &sealed(&[&x25519()]), &[BOB]).unwrap_err(), nobody, "{text}");
    }
}

#[test]
fn a_file_that_differs_from_capstans_age_format_is_not_taken() {
    let good = sealed(&[&x25519()]);
    let text = String::from_utf8(good.clone()).unwrap();
    let mac = format!("--- {}\n", letters(6, 32));
    let only = |stanzas: &str| headed(&format!("{stanzas}{mac}"), 2_000);
    let paid = |payload: usize| headed(&format!("{}{mac}", x25519()), payload);
    let lines: Vec<&str> = text.lines().collect();
    let long_line = format!("{}\n{}{}\n{}\n", lines[0], lines[1], lines[2], lines[3..].join("\n"));
    let script = format!(
        "-----BEGIN AGE ENCRYPTED FILE-----\n{}\n",
        "apiVersion: v1\nusers: [{user: {exec: {command: sh}}}]"
    );
    let foreign = [x25519().replace("X25519", "scrypt"), x25519().replace("X25519", "mlkem768x25519")];
    let padded = x25519().replacen('\n', "=\n", 1);
    let far = format!("-> a-grease {}\n\n", "b".repeat(200));
    let full = format!("-> a-grease\n{}", wrapped(&letters(1, 200)));
    for (what, file) in [
        ("nothing", Vec::new()),
        ("only its beginning", b"-----BEGIN AGE ENCRYPTED FILE-----\n".to_vec()),
        ("a script below the marker", script.into_bytes()),
        ("something before it", format!("apiVersion: v1\n{text}").into_bytes()),
        ("something after it", format!("{text}apiVersion: v1\n").into_bytes()),
        ("lines as of Windows", text.replace('\n', "\r\n").into_bytes()),
        ("a line that is too long", long_line.into_bytes()),
        ("no armor", b"age-encryption.org/v1\n".to_vec()),
        ("bytes that are none of age", armored(&[7; 3_000])),
        ("another version", armored(&[b"age-encryption.org/v2\n".as_slice(), &[7; 3_000]].concat())),
        ("a password", only(&foreign[0])),
        ("another kind of key", only(&foreign[1])),
        ("a share that is padded", only(&padded)),
        ("a share that is no point", only(&format!("-> X25519 {}\n{}\n", letters(0, 32), letters(8, 32)))),
        ("a share that is short", only(&format!("-> X25519 {}\n{}\n", letters(7, 31), letters(8, 32)))),
        ("a body that is long", only(&format!("-> X25519 {}\n{}", letters(7, 32), wrapped(&letters(8, 96))))),
        ("a body that does not end", only(&format!("-> X25519 {}\n", letters(7, 32)))),
        ("a word too much", only(&x25519().replacen('\n', " more\n", 1))),
        ("two stanzas for nobody", only(&format!("{}{GREASE}{GREASE}", x25519()))),
        ("a stanza for nobody with a long line", only(&format!("{}{far}", x25519()))),
        ("a stanza for nobody with a long body", only(&format!("{}{full}", x25519()))),
        ("no MAC", headed(&x25519(), 2_000)),
        ("half a MAC", headed(&format!("{}--- {}\n", x25519(), letters(6, 16)), 2_000)),
        ("no payload", paid(0)),
        ("a nonce alone", paid(16)),
        ("an empty chunk", paid(32)),
        ("an empty last chunk", paid(16 + 65_536 + 16 + 16)),
    ] {
        assert!(age(&all_three(), &file, &[BOB]).is_err(), "{what}");
    }
    assert!(age(&all_three(), &paid(16 + 65_536 + 16), &[BOB]).is_ok(), "a full chunk");
    // Nothing is cut off that would not be missed.
    for end in 0..good.len() {
        assert!(age(&all_three(), &good[..end], &[BOB]).is_err(), "{end}");
    }
    let other = Kubeconfig { sha256: sha256("other"), ..age(&all_three(), &good, &[BOB]).unwrap().said };
    let why = all_three().judge(&other, &STANDARD.encode(&good)).unwrap_err();
    assert_eq!(why, "has another SHA-256 than its report says");
}

const OIDC: &str =
    "access: {oidc: {issuerUrl: 'https://login.example.com', clientId: kubernetes, extraScopes: [groups]}}\n";

fn endpoint() -> Endpoint {
    Endpoint {
        server: "https://10.0.0.1:6443".to_owned(),
        authority: Some(STANDARD.encode("-----BEGIN CERTIFICATE-----\nTUlJ\n-----END CERTIFICATE-----\n")),
        tls_server_name: Some("api.peu01.example.com".to_owned()),
        certificate: None,
    }
}

fn login() -> OidcLogin {
    ClusterSettings::read(&RepoPath::parse("peu01/capstan.yaml").unwrap(), OIDC).unwrap().access.oidc.unwrap()
}

fn plain(git: &GitOwners, file: &str) -> Result<PublishedFile, String> {
    judged(git, KubeconfigForm::Plain, file.as_bytes(), &[])
}

#[test]
fn how_to_log_in_is_taken_as_capstan_makes_it_of_what_git_says() {
    let made = endpoint().with_login("peu01", &login());
    assert_eq!(plain(&git(OIDC), &made).unwrap().bytes, made.as_bytes());
    let bare = Endpoint { authority: None, tls_server_name: None, ..endpoint() };
    assert!(plain(&git(OIDC), &bare.with_login("peu01", &login())).is_ok());
    let why = "says how to log in, but Git has no `access.oidc`";
    assert_eq!(plain(&all_three(), &made).unwrap_err(), why);
    let elsewhere = git(&OIDC.replace("login.example.com", "login.other.example.com"));
    let why = "is not the kubeconfig that Capstan makes of `access.oidc` in Git";
    assert_eq!(plain(&elsewhere, &made).unwrap_err(), why);
    let told = judged(&git(OIDC), KubeconfigForm::Plain, made.as_bytes(), &[BOB]).unwrap_err();
    assert_eq!(told, "is not encrypted, but its report names recipients");
    assert!(age(&git(OIDC), made.as_bytes(), &[BOB]).is_err());
}

#[test]
fn a_kubeconfig_says_nothing_else() {
    let made = endpoint().with_login("peu01", &login());
    let edited = |from: &str, to: &str| {
        let edited = made.replacen(from, to, 1);
        assert_ne!(edited, made, "{from}");
        edited
    };
    let user = "\"user\": {\n        \"exec\"";
    for file in [
        edited("\"command\": \"kubectl\"", "\"command\": \"sh\""),
        edited("\"get-token\"", "\"get-token\", \"--exec=sh\""),
        edited("\"oidc-login\"", "\"create\""),
        edited(
            "\"clusters\"",
            "\"users\": [{\"name\": \"a\", \"user\": {\"exec\": {\"command\": \"sh\"}}}], \"clusters\"",
        ),
        edited(user, "\"user\": {\"auth-provider\": {\"name\": \"gcp\"},\n        \"exec\""),
        edited(user, "\"user\": {\"tokenFile\": \"/etc/passwd\",\n        \"exec\""),
        edited(user, "\"user\": {\"client-key-data\": \"S0VZ\",\n        \"exec\""),
        edited("\"server\":", "\"proxy-url\": \"http://10.0.0.9\", \"server\":"),
        edited("\"server\":", "\"insecure-skip-tls-verify\": true, \"server\":"),
        edited("\"server\":", "\"certificate-authority\": \"/etc/passwd\", \"server\":"),
        edited("https://10.0.0.1:6443", "http://10.0.0.1:6443"),
        edited("https://10.0.0.1:6443", "https://user:word@10.0.0.1:6443"),
        edited("https://10.0.0.1:6443", "https://10.0.0.1/$(id)`id`"),
        edited("api.peu01.example.com", "a b"),
        edited("\"apiVersion\"", " \"apiVersion\""),
        format!("{made}---\n{made}"),
        format!("{made}\n"),
        made.trim_end().to_owned(),
        "users: []\n".to_owned(),
        "{}".to_owned(),
        "[".repeat(100_000),
    ] {
        assert!(plain(&git(OIDC), &file).is_err(), "{file:.200}");
    }
    for (name, endpoint) in [
        ("$(id)", endpoint()),
        ("", endpoint()),
        ("peu01", Endpoint { authority: Some("S0VZ".to_owned()), ..endpoint() }),
        ("peu01", Endpoint { authority: Some("/etc/passwd".to_owned()), ..endpoint() }),
        ("peu01", Endpoint { server: "https://".to_owned(), ..endpoint() }),
        ("peu01", Endpoint { server: "https:///etc".to_owned(), ..endpoint() }),
        ("peu01", Endpoint { tls_server_name: Some(String::new()), ..endpoint() }),
    ] {
        assert!(plain(&git(OIDC), &endpoint.with_login(name, &login())).is_err(), "{name} {endpoint:?}");
    }
    let key = STANDARD.encode(
        "-----BEGIN CERTIFICATE-----\nTUlJ\n-----END CERTIFICATE-----\n-----BEGIN PRIVATE KEY-----\nTUlJ\n-----END PRIVATE KEY-----\n",
    );
    let with_key = Endpoint { authority: Some(key), ..endpoint() };
    assert!(
        plain(&git(OIDC), &with_key.with_login("peu01", &login())).is_err(),
        "a key among the certificates"
    );
}

#[test]
fn a_file_comes_into_git_only_where_git_says_so() {
    assert!(!all_three().want_it_in_git());
    assert!(git("access: {publish: git}\n").want_it_in_git());
    assert!(!GitOwners::default().want_it_in_git());
}
