//! The App's id and secrets, and which files with secrets are open to everybody.

use secrecy::SecretString;

use super::private::open_to_everybody;
use super::problems::Environment;
use super::sources::SettingSources;

/// Settings that name files with secrets.
const SECRET_FILES: &[&str] = &[
    "key-file",
    "github-private-key-file",
    "github-webhook-secret-file",
    "github-client-secret-file",
    "provider-credentials-file",
    "wave-webhooks-file",
    "otlp-headers-file",
];

/// Files with secrets that everybody on this machine may read. No reason to stop: who may log in here is the operator's
/// business, and images mount what they mount.
pub(super) fn open_secrets(sources: &SettingSources) -> Vec<String> {
    let open = |name: &&'static str| {
        let setting = sources.setting(name)?;
        let path = setting.path();
        let mode = open_to_everybody(&path)?;
        Some(format!(
            "{}: every user of this machine may read {} (its mode is {mode:04o}): remove that right, for example with `chmod o= {}`",
            setting.named(),
            path.display(),
            path.display()
        ))
    };
    SECRET_FILES.iter().filter_map(open).collect()
}

/// Characters that a webhook secret has at least.
pub(super) const SECRET_CHARACTERS: usize = 16;

pub(super) fn app_id(sources: &SettingSources) -> Result<u64, String> {
    let setting = sources
        .setting("github-app-id")
        .ok_or("github-app-id is missing: give the number that GitHub shows as `App ID` on the App's settings page, by --github-app-id or CAPSTAN_GITHUB_APP_ID; or give --public-url and no setting of an App at all, and make one at /setup")?;
    match setting.text.parse() {
        Ok(id) if id > 0 => Ok(id),
        _ => Err(setting.wrong(
            "is not an App id; expected the number that GitHub shows as `App ID` (not the client id)",
        )),
    }
}

pub(super) fn private_key(
    sources: &SettingSources,
    environment: Environment<'_>,
) -> Result<SecretString, String> {
    let secret = sources.secret(
        environment,
        "github-private-key-file",
        "CAPSTAN_GITHUB_PRIVATE_KEY",
        "the App's private key, a .pem file as GitHub gave it for download",
    )?;
    // Environment files often cannot hold line ends.
    let text =
        if secret.text.contains('\n') { secret.text.clone() } else { secret.text.replace("\\n", "\n") };
    let pem = text.trim_start();
    if pem.starts_with("-----BEGIN ") && pem.contains("PRIVATE KEY-----") && pem.contains("-----END ") {
        Ok(SecretString::from(text))
    } else {
        Err(format!(
            "{} holds no private key in PEM form (`-----BEGIN … PRIVATE KEY-----` to `-----END …`): give the .pem \
             file as GitHub gave it for download",
            secret.origin
        ))
    }
}

pub(super) fn webhook_secrets(
    sources: &SettingSources,
    environment: Environment<'_>,
) -> Result<Vec<SecretString>, String> {
    let secret = sources.secret(
        environment,
        "github-webhook-secret-file",
        "CAPSTAN_GITHUB_WEBHOOK_SECRET",
        "the webhook secret that is set on the App's settings page",
    )?;
    let lines = secret.text.lines().map(str::trim).zip(1..).filter(|(line, _)| !line.is_empty());
    let lines: Vec<(&str, usize)> = lines.collect();
    for &(line, number) in &lines {
        // A line that was meant as a comment would be a secret that everybody can guess.
        if line.starts_with('#') {
            return Err(format!(
                "{}: line {number} begins with `#`, but every line is a secret: remove the comment (if it is a secret, choose one that begins differently)",
                secret.origin
            ));
        }
        let length = line.chars().count();
        if length < SECRET_CHARACTERS {
            return Err(format!(
                "{}: the secret in line {number} has {length} characters; one of fewer than {SECRET_CHARACTERS} can be \
                 guessed: make one with `openssl rand -hex 32`, here and on the App's settings page",
                secret.origin
            ));
        }
    }
    match lines.len() {
        0 => Err(format!(
            "{} is empty: write the webhook secret there that is set on the App's settings page",
            secret.origin
        )),
        1 | 2 => Ok(lines.into_iter().map(|(line, _)| line.into()).collect()),
        many => Err(format!(
            "{} holds {many} secrets, one per line; at most two may be valid at once",
            secret.origin
        )),
    }
}
