//! Names that tell of a secret.

/// Words at the end of a secret's name.
const SECRETS: &[&str] =
    &["authorization", "credential", "pass", "passphrase", "passwd", "password", "pwd", "secret", "token"];
/// What ends so without a word of its own: `rootpassword`, `apikey`.
const ENDINGS: &[&str] =
    &["password", "passwd", "passphrase", "apikey", "accesskey", "privatekey", "secretkey"];
/// Before `key`: no secret, or no cryptographic key at all.
const PUBLIC: &[&str] = &[
    "annotation",
    "authorized",
    "host",
    "known",
    "label",
    "metric",
    "partition",
    "public",
    "sort",
    "ssh",
    "taint",
    "topology",
];
/// Before `secret`: the name of an object that holds one.
const REFERENCES: &[&str] = &["existing", "pull"];

/// Whether a field, a variable or a flag of that name holds a secret. References (`secretName`, `tokenRef`) and what
/// only tells of one (`tokenTTL`) hold none.
pub fn names_secret(name: &str) -> bool {
    let words = words(name);
    let (last, before) = match words.as_slice() {
        // `client-key-data`, `id_rsa`
        [.., key, data] if data == "data" && is(key, "key") => return true,
        [.., id, rsa] if id == "id" && matches!(rsa.as_str(), "rsa" | "ecdsa" | "ed25519" | "dsa") => {
            return true;
        }
        [before @ .., last] => (last.as_str(), before.last().map_or("", String::as_str)),
        [] => return false,
    };
    if is(last, "key") {
        return !before.is_empty() && !PUBLIC.contains(&before);
    }
    if is(last, "secret") && REFERENCES.contains(&before) {
        return false;
    }
    SECRETS.iter().any(|secret| is(last, secret)) || ENDINGS.iter().any(|ending| last.ends_with(ending))
}

/// One of them, or many.
fn is(word: &str, secret: &str) -> bool {
    word == secret || word.strip_suffix('s') == Some(secret)
}

/// `clientSecret`, `client-secret`, `CLIENT_SECRET` -> `client`, `secret`; in lower case.
pub fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = vec![String::new()];
    let mut was_lower = false;
    for c in name.chars() {
        if !c.is_alphanumeric() {
            words.push(String::new());
            was_lower = false;
            continue;
        }
        if c.is_uppercase() && was_lower {
            words.push(String::new());
        }
        was_lower = c.is_lowercase() || c.is_numeric();
        if let Some(word) = words.last_mut() {
            word.extend(c.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_recognised_by_their_names_and_references_are_not_secrets() {
        for name in [
            "token",
            "bootstrapToken",
            "tokens",
            "API_TOKEN",
            "--token",
            "password",
            "adminPassword",
            "rootpassword",
            "passwd",
            "clientSecret",
            "client-secret",
            "webhook.secret",
            "credentials",
            "apiKey",
            "apikey",
            "api_key",
            "privateKey",
            "tls.key",
            "accessKeys",
            "client-key-data",
            "id_rsa",
            "Authorization",
            "AWS_SECRET_ACCESS_KEY",
            "passphrase",
            "secretKey",
            "DJANGO_SECRET_KEY",
            "s3-secret-key",
        ] {
            assert!(names_secret(name), "{name}");
        }
        for name in [
            "key",
            "keys",
            "secretName",
            "dataSecretName",
            "tokenRef",
            "credentialsRef",
            "secretKeyRef",
            "sshKeyName",
            "sshAuthorizedKeys",
            "publicKey",
            "topologyKey",
            "tokenTTL",
            "existingSecret",
            "imagePullSecrets",
            "keyName",
            "monkey",
            "kmsKeyId",
            "caBundle",
            "",
            "certificate-authority-data",
            "service-account-key-file",
            "replicas",
        ] {
            assert!(!names_secret(name), "{name}");
        }
    }
}
