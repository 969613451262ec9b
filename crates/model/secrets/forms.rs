//! Credentials that are known by their form: tokens with a beginning of their own, JSON Web Tokens, long random texts.

/// Beginnings of tokens, each with how many letters, digits, `_` and `-` follow at least. Those who give them out document
/// them, so that scanners find them.
const BEGINNINGS: &[(&str, usize)] = &[
    ("ghp_", 16), // GitHub
    ("gho_", 16),
    ("ghu_", 16),
    ("ghs_", 16),
    ("ghr_", 16),
    ("github_pat_", 16),
    ("glpat-", 16), // GitLab
    ("gldt-", 16),
    ("glrt-", 16),
    ("xoxa-", 10), // Slack
    ("xoxb-", 10),
    ("xoxe-", 10),
    ("xoxp-", 10),
    ("xoxr-", 10),
    ("xoxs-", 10),
    ("xapp-", 10),
    ("hvs.", 16), // Vault
    ("hvb.", 16),
    ("hvr.", 16),
    ("dckr_pat_", 16), // Docker Hub
    ("npm_", 30),
    ("pypi-", 50),
    ("dop_v1_", 30),  // DigitalOcean
    ("tskey-", 16),   // Tailscale
    ("glsa_", 20),    // Grafana
    ("sk_live_", 16), // Stripe
    ("rk_live_", 16),
    ("AIza", 35), // Google
    ("ya29.", 20),
    ("AGE-SECRET-KEY-1", 50),
];

/// Beginnings of an AWS access key id, behind which 16 capital letters and digits stand.
const AWS: [&str; 2] = ["AKIA", "ASIA"];

/// Whether a text holds a token of a known form.
pub fn has_token_form(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '~');
    text.split(|c: char| !is_part(c)).any(is_token)
}

fn is_token(word: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let begins = BEGINNINGS.iter().any(|(beginning, least)| {
        word.strip_prefix(beginning)
            .is_some_and(|rest| rest.chars().take_while(|c| is_letter(*c)).count() >= *least)
    });
    let is_aws = AWS.iter().any(|beginning| {
        word.strip_prefix(beginning).is_some_and(|rest| {
            rest.len() == 16 && rest.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit())
        })
    });
    begins || is_aws || is_web_token(word) || is_bootstrap_token(word)
}

/// A JSON Web Token: two JSON objects and a signature, each in base64url. `eyJ` is `{"`.
fn is_web_token(word: &str) -> bool {
    let parts: Vec<&str> = word.split('.').collect();
    matches!(parts.as_slice(), [head, claims, _] if head.starts_with("eyJ") && claims.starts_with("eyJ") && head.len() >= 12)
}

/// A bootstrap token of Kubernetes: `[a-z0-9]{6}.[a-z0-9]{16}`. What has no digit in its secret part is a host's name:
/// one token in 200 has none.
fn is_bootstrap_token(word: &str) -> bool {
    let is_of = |part: &str, length| {
        part.len() == length && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    word.split_once('.').is_some_and(|(id, secret)| {
        is_of(id, 6) && is_of(secret, 16) && secret.bytes().any(|byte| byte.is_ascii_digit())
    })
}

/// Addresses of webhooks whose path is a key.
const WEBHOOKS: &[&str] = &[
    "api.telegram.org/bot",
    "discord.com/api/webhooks/",
    "discordapp.com/api/webhooks/",
    "events.pagerduty.com/integration/",
    "hooks.slack.com/",
    "hooks.zapier.com/hooks/",
    "outlook.office.com/webhook/",
    "webhook.office.com/webhookb2/",
];

/// Parameters of URLs whose values let somebody in: signatures of Azure, Amazon and Google, and keys.
const PARAMETERS: &[&str] =
    &["code", "key", "sig", "signature", "x-amz-security-token", "x-amz-signature", "x-goog-signature"];

/// Marks of hashed passwords, as crypt(3) and htpasswd write them.
const HASHES: &[&str] = &["$1$", "$2a$", "$2b$", "$2y$", "$5$", "$6$", "$apr1$", "$argon2", "$y$"];

/// Fields of a `config.json` of Docker that hold a login.
const DOCKER: &[&str] = &["\"auth\"", "\"identitytoken\"", "\"registrytoken\""];

/// Whether a text holds a login in a known form: a URL that lets somebody in, a hashed password, a login of Docker.
pub fn has_login_form(text: &str) -> bool {
    let lower = text.to_lowercase();
    let is_signed = || {
        let parameters = lower.split(['?', '&', ';']).skip(1).filter_map(|part| part.split_once('='));
        let is_given = |value: &str| value.chars().take_while(|c| !c.is_whitespace()).count() >= 4;
        let mut signs = parameters.filter(|(name, _)| PARAMETERS.contains(&name.trim_start_matches("amp;")));
        signs.any(|(_, value)| is_given(value) && !value.starts_with("${"))
    };
    let is_of_docker = || {
        let values = DOCKER.iter().flat_map(|name| lower.split(name).skip(1));
        let mut values =
            values.filter_map(|rest| rest.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"'));
        values.any(|value| !value.starts_with(['"', '$']))
    };
    WEBHOOKS.iter().any(|webhook| lower.contains(webhook))
        || HASHES.iter().any(|hash| text.contains(hash))
        || is_signed()
        || is_of_docker()
}

/// The shortest text that is taken for random: 32 letters of base64 are a key of 192 bits.
const RANDOM: usize = 32;

/// Lengths of hexadecimal digits that are not keys: 32 are a UUID without dashes or an id of OpenStack, 40 a commit of Git.
const IDS: [usize; 2] = [32, 40];

/// Of the letters of a random base64 text one half is capital, and the case changes between one half of neighbours. In a
/// name that a person wrote, both are rarer. One in so many is taken for random.
const ONE_IN: usize = 4;

/// Whether a text looks like a random key: 48 or more hexadecimal digits, or [`RANDOM`] letters of base64.
///
/// Ordinary values do not have it: image digests and integrity sums (`sha256:…`, `sha512-…`), UUIDs, commits of Git,
/// networks, versions, paths, names in lower case, public keys of SSH.
pub fn has_random_form(text: &str) -> bool {
    let text = text.trim();
    if text.len() >= RANDOM && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return !IDS.contains(&text.len()) && text.bytes().any(|byte| byte.is_ascii_alphabetic());
    }
    let is_sum = ["sha1-", "sha256-", "sha384-", "sha512-"].iter().any(|sum| text.starts_with(sum));
    // `AAAA` begins the length of what follows in a public key of SSH.
    if is_sum || text.starts_with("AAAA") || text.trim_end_matches('=').len() < RANDOM {
        return false;
    }
    let text = text.trim_end_matches('=').as_bytes();
    let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_');
    if !text.iter().all(is_base64) || !text.iter().any(u8::is_ascii_digit) {
        return false;
    }
    let letters = text.iter().filter(|byte| byte.is_ascii_alphabetic()).count();
    let capitals = text.iter().filter(|byte| byte.is_ascii_uppercase()).count();
    let (mut neighbours, mut changes) = (0, 0);
    for (one, next) in text.iter().zip(text.iter().skip(1)) {
        if one.is_ascii_alphabetic() && next.is_ascii_alphabetic() {
            neighbours += 1;
            changes += usize::from(one.is_ascii_uppercase() != next.is_ascii_uppercase());
        }
    }
    let enough = |part: usize, all: usize| part * ONE_IN >= all;
    enough(capitals, letters) && enough(letters - capitals, letters) && enough(changes, neighbours)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Put together here, so that no scanner takes this file for a leak.
    fn joined(parts: &[&str]) -> String {
        parts.concat()
    }

    #[test]
    fn known_tokens_are_found_wherever_they_stand() {
        for token in [
            joined(&["gh", "p_", "16C7e42F292c6912E7710c838347Ae178B4a"]),
            joined(&["github", "_pat_", "11ABCDEFG0abcdefghijkl_mnopqrstuv"]),
            joined(&["gl", "pat-", "abcdefghij0123456789"]),
            joined(&["xo", "xb-", "123456789012-abcdefghij"]),
            joined(&["AK", "IA", "IOSFODNN7EXAMPLE"]),
            joined(&["hv", "s.", "CAESIJlkjhgfdsapoiuytrewq"]),
            joined(&["ey", "JhbGciOiJIUzI1NiJ9.", "ey", "JzdWIiOiJhIn0.c2lnbmF0dXJl"]),
            joined(&["abcdef", ".", "0123456789abcdef"]),
        ] {
            for text in
                [token.clone(), format!("Bearer {token}"), format!("a={token}\nb"), format!("\"{token}\"")]
            {
                assert!(has_token_form(&text), "{text}");
            }
        }
        for text in [
            "ghp_short",
            "AKIAx",
            "eyJ.x.y",
            "master.controlplanename",
            "registry.internal.example",
            "v1.31.4",
            "capa-ami-ubuntu-22.04-1.29.3",
            "",
        ] {
            assert!(!has_token_form(text), "{text}");
        }
    }

    #[test]
    fn logins_are_known_by_their_forms() {
        for text in [
            r#"{"auths":{"x":{"auth":"dXNlcjpwYXNz"}}}"#,
            r#"{ "auths": { "x": { "identitytoken" : "abc" } } }"#,
            "https://hooks.slack.com/services/T0000/B0000/XXXX",
            "https://discord.com/api/webhooks/1/abc",
            "https://acme.webhook.office.com/webhookb2/1@2/IncomingWebhook/3",
            "https://x.blob.core.windows.net/?sv=2020&sig=abcd%3D",
            "?sv=2020&amp;sig=abcd%3D",
            "https://b.s3.amazonaws.com/a?X-Amz-Expires=60&X-Amz-Signature=0123",
            "https://maps.example.com/api?key=abcd",
            "admin:$apr1$abc$def",
            "$2y$05$abcdefgh",
        ] {
            assert!(has_login_form(text), "{text}");
        }
        for text in [
            "",
            "https://hooks.example.com/a",
            "https://x.example.com/?sv=2020&name=a",
            "https://x.example.com/?sig=${SIG}",
            "key=abcd",
            r#"{"auths":{"x":{"auth":""}}}"#,
            r#"{"auth":{"type":"none"}}"#,
            "costs 1$ or 2$",
            "sha256$",
        ] {
            assert!(!has_login_form(text), "{text}");
        }
    }

    #[test]
    fn random_keys_differ_from_ids_digests_and_names() {
        for text in [
            "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
            "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822c",
            "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            "Qm9vN3R6UjF4S2dQd0w5c2pVZXlBZz09VjZtTg==",
        ] {
            assert!(has_random_form(text), "{text}");
        }
        for text in [
            // A UUID, an id of OpenStack, a commit of Git, a digest, a sum.
            "6f1c9d0e-8a44-4c7b-9f0e-2d7a1b3c4d5e",
            "6f1c9d0e8a444c7b9f0e2d7a1b3c4d5e",
            "da39a3ee5e6b4b0d3255bfef95601890afd80709",
            "registry.example.com/a@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
            "sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==",
            "10.96.0.0/12,2001:db8:42:1::/112",
            "/subscriptions/8b2a9c1d-0e3f-4a5b-9c6d-7e8f9a0b1c2d/resourceGroups/MyGroup",
            "capa-ami-ubuntu-22-04-1-29-3-20240101-x86-64-hvm",
            "KubeadmControlPlaneTemplateForTheFirstSite",
            "12345678901234567890123456789012",
            "AAAAC3NzaC1lZDI1NTE5AAAAIJ3k9QxT0aVbZfK2mWl8pR5uYc7dEeHgN1oXsL4vB6tq",
            "",
        ] {
            assert!(!has_random_form(text), "{text}");
        }
    }
}
