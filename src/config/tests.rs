use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use secrecy::ExposeSecret;

use super::*;
use capstan_plan::settings::PUBLIC_HOSTS;

const KEY: &str = "-----BEGIN RSA PRIVATE KEY-----\nnot a real one\n-----END RSA PRIVATE KEY-----\n";

/// A folder, and an environment in which everything needed is set.
struct Place {
    folder: tempfile::TempDir,
    variables: HashMap<String, String>,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("key.pem"), KEY).unwrap();
        fs::write(folder.path().join("secret"), "the first secret\n").unwrap();
        let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        let variables = HashMap::from([
            ("XDG_STATE_HOME".to_owned(), at("state")),
            ("CAPSTAN_GITHUB_APP_ID".to_owned(), "123".to_owned()),
            ("CAPSTAN_GITHUB_PRIVATE_KEY_FILE".to_owned(), at("key.pem")),
            ("CAPSTAN_GITHUB_WEBHOOK_SECRET_FILE".to_owned(), at("secret")),
        ]);
        Self { folder, variables }
    }

    fn set(mut self, name: &str, value: &str) -> Self {
        self.variables.insert(name.to_owned(), value.to_owned());
        self
    }

    fn unset(mut self, name: &str) -> Self {
        self.variables.remove(name);
        self
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        fs::write(self.at(name), text).unwrap();
        self.at(name)
    }

    fn load(&self, options: &ServeOptions) -> Result<Config, ConfigError> {
        load(options, &|name| self.variables.get(name).cloned())
    }

    fn problems(&self, options: &ServeOptions) -> String {
        self.load(options).unwrap_err().to_string().replace(self.folder.path().to_str().unwrap(), "FOLDER")
    }
}

#[test]
fn defaults_are_localhost_public_github_and_sqlite_in_the_state_directory() {
    let place = Place::new();
    let config = place.load(&ServeOptions::default()).unwrap();
    assert_eq!(config.listen.to_string(), "127.0.0.1:8080");
    assert_eq!(config.github.api_url.as_str(), "https://api.github.com/");
    assert_eq!(config.github.web_url().as_str(), "https://github.com/");
    assert_eq!(config.github.app_id, 123);
    assert_eq!(config.state_dir, place.at("state/capstan"));
    assert!(config.state_dir.is_dir());
    let database = place.at("state/capstan/capstan.sqlite");
    assert_eq!(config.database_url.expose_secret(), format!("sqlite://{}", database.display()));
}

#[test]
fn a_flag_wins_over_a_variable_and_that_over_the_file() {
    let place = Place::new().set("CAPSTAN_PUBLIC_URL", "https://variable.example");
    let file = place.write(
        "capstan.yaml",
        "listen: 0.0.0.0:1\npublic-url: https://file.example\ngithub-api-url: https://ghes.example/api/v3/\n",
    );
    let options =
        ServeOptions { config: Some(file), listen: Some("[::]:9".to_owned()), ..ServeOptions::default() };
    let config = place.load(&options).unwrap();
    assert_eq!(config.listen.to_string(), "[::]:9");
    assert_eq!(config.public_url.unwrap().as_str(), "https://variable.example/");
    assert_eq!(config.github.api_url.as_str(), "https://ghes.example/api/v3");
    assert_eq!(config.github.web_url().as_str(), "https://ghes.example/");
}

#[test]
fn paths_in_the_file_start_from_its_folder() {
    let place = Place::new().unset("CAPSTAN_GITHUB_PRIVATE_KEY_FILE");
    let file = place.write("capstan.yaml", "github-private-key-file: key.pem\nstate-dir: here\n");
    let config = place.load(&ServeOptions { config: Some(file), ..ServeOptions::default() }).unwrap();
    assert_eq!(config.github.private_key.expose_secret(), KEY);
    assert_eq!(config.state_dir, place.at("here"));
}

#[test]
fn everything_missing_is_reported_at_once() {
    let place = Place::new()
        .unset("CAPSTAN_GITHUB_APP_ID")
        .unset("CAPSTAN_GITHUB_PRIVATE_KEY_FILE")
        .unset("CAPSTAN_GITHUB_WEBHOOK_SECRET_FILE");
    assert_eq!(
        place.problems(&ServeOptions::default()),
        "3 settings are wrong or missing:\n\
         - github-app-id is missing: give the number that GitHub shows as `App ID` on the App's settings page, by \
         --github-app-id or CAPSTAN_GITHUB_APP_ID; or give --public-url and no setting of an App at all, and make one at \
         /setup\n\
         - github-private-key-file is missing: give a file with the App's private key, a .pem file as GitHub gave \
         it for download, by --github-private-key-file or CAPSTAN_GITHUB_PRIVATE_KEY_FILE, or set \
         CAPSTAN_GITHUB_PRIVATE_KEY\n\
         - github-webhook-secret-file is missing: give a file with the webhook secret that is set on the App's \
         settings page, by --github-webhook-secret-file or CAPSTAN_GITHUB_WEBHOOK_SECRET_FILE, or set \
         CAPSTAN_GITHUB_WEBHOOK_SECRET"
    );
}

#[test]
fn a_key_file_that_is_not_there_is_named() {
    let place = Place::new();
    let options =
        ServeOptions { github_private_key_file: Some(place.at("absent.pem")), ..ServeOptions::default() };
    assert_eq!(
        place.problems(&options),
        "github-private-key-file (from --github-private-key-file): cannot read FOLDER/absent.pem: No such file or \
         directory (os error 2); it should hold the App's private key, a .pem file as GitHub gave it for download, \
         readable by this user"
    );
}

#[test]
fn an_invalid_key_file_is_reported_without_its_content() {
    let place = Place::new();
    place.write("key.pem", "hunter2");
    let problems = place.problems(&ServeOptions::default());
    assert!(problems.contains("FOLDER/key.pem holds no private key in PEM form"), "{problems}");
    assert!(!problems.contains("hunter2"), "{problems}");
}

#[test]
fn a_key_in_a_variable_may_have_its_line_ends_escaped() {
    let place = Place::new()
        .unset("CAPSTAN_GITHUB_PRIVATE_KEY_FILE")
        .set("CAPSTAN_GITHUB_PRIVATE_KEY", &KEY.replace('\n', "\\n"));
    assert_eq!(place.load(&ServeOptions::default()).unwrap().github.private_key.expose_secret(), KEY);
}

#[test]
fn a_key_and_a_key_file_in_the_environment_contradict_each_other() {
    let place = Place::new().set("CAPSTAN_GITHUB_PRIVATE_KEY", KEY);
    assert_eq!(
        place.problems(&ServeOptions::default()),
        "CAPSTAN_GITHUB_PRIVATE_KEY_FILE and CAPSTAN_GITHUB_PRIVATE_KEY are both set, and one of them would be \
         ignored: unset one"
    );
}

#[test]
fn two_webhook_secrets_may_be_valid_and_no_more() {
    let place = Place::new();
    place.write("secret", "the one before this\n\n the one that is new \n");
    let secrets = place.load(&ServeOptions::default()).unwrap().github.webhook_secrets;
    assert_eq!(
        secrets.iter().map(ExposeSecret::expose_secret).collect::<Vec<_>>(),
        ["the one before this", "the one that is new"]
    );

    place.write("secret", &format!("{0}1\n{0}2\n{0}3\n", "0123456789abcdef"));
    assert!(place.problems(&ServeOptions::default()).contains("FOLDER/secret holds 3 secrets"));
    place.write("secret", "\n");
    assert!(place.problems(&ServeOptions::default()).contains("FOLDER/secret is empty"));
}

#[test]
fn a_misspelt_setting_is_reported_with_its_line_and_the_right_name() {
    let place = Place::new();
    let file = place.write("capstan.yaml", "listen: 127.0.0.1:1\ngithub_webhook_secret_fil: x\n");
    let options = ServeOptions { config: Some(file), ..ServeOptions::default() };
    assert_eq!(
        place.problems(&options),
        "FOLDER/capstan.yaml:2:1: unknown setting `github_webhook_secret_fil`; did you mean \
         `github-webhook-secret-file`?"
    );
}

#[test]
fn other_mistakes_are_reported_beside_a_misspelt_setting_and_also_before_an_app_exists() {
    let place = Place::new();
    let file = place.write(
        "capstan.yaml",
        "publik-url: x\npublic-url: https://capstan.example\nworkers: 0\nprovider-hosts: \"https://a,b c\"\ndry-run: 'no'\ndatabase-url: mysql://h\n",
    );
    let told = |place: &Place| {
        let options = ServeOptions { config: Some(file.clone()), ..ServeOptions::default() };
        place.problems(&options)
    };
    let expected = [
        "- FOLDER/capstan.yaml:1:1: unknown setting `publik-url`; did you mean `public-url`?\n",
        "- dry-run (from FOLDER/capstan.yaml:5:10): `no` is neither `true` nor `false`\n",
        "- database-url (from FOLDER/capstan.yaml:6:15) begins with neither",
        "- workers (from FOLDER/capstan.yaml:3:10): `0` is not a number from 1 to 64\n",
        "- provider-hosts (from FOLDER/capstan.yaml:4:17): `https://a,b c` has an invalid host: ",
    ];
    let problems = told(&place);
    for part in expected {
        assert!(problems.contains(part), "{part}: {problems}");
    }
    assert!(problems.starts_with("5 settings"), "{problems}");
    // Both hosts are named.
    assert!(problems.contains("`https://a`") && problems.contains("; `b c`"), "{problems}");
    let alone = place
        .unset("CAPSTAN_GITHUB_APP_ID")
        .unset("CAPSTAN_GITHUB_PRIVATE_KEY_FILE")
        .unset("CAPSTAN_GITHUB_WEBHOOK_SECRET_FILE")
        .set("CAPSTAN_DRY_RUN", "false");
    let options = ServeOptions { config: Some(file.clone()), ..ServeOptions::default() };
    let needed = SetupConfig::needed(&options, &|name| alone.variables.get(name).cloned()).unwrap_err();
    assert_eq!(needed.problems.len(), 4, "{needed}");
}

#[test]
fn a_file_that_is_not_yaml_is_reported_with_its_place_and_without_its_content() {
    let place = Place::new();
    let file = place.write("capstan.yaml", "listen: x\ndatabase-url: [postgres://u:hunter2@h/d\n");
    let problems = place.problems(&ServeOptions { config: Some(file), ..ServeOptions::default() });
    assert!(problems.starts_with("FOLDER/capstan.yaml:"), "{problems}");
    assert!(!problems.contains("hunter2"), "{problems}");
}

#[test]
fn a_password_may_be_in_a_variable_but_not_in_a_flag_and_is_never_shown() {
    let url = "postgres://capstan:hunter2@db/capstan";
    let place = Place::new();
    let options = ServeOptions { database_url: Some(url.to_owned()), ..ServeOptions::default() };
    let problems = place.problems(&options);
    assert!(problems.starts_with("--database-url holds a password"), "{problems}");
    assert!(!problems.contains("hunter2"));

    let config = place.set("CAPSTAN_DATABASE_URL", url).load(&ServeOptions::default()).unwrap();
    assert_eq!(config.database_url.expose_secret(), url);
    let shown = format!("{config:?}");
    assert!(
        !shown.contains("hunter2")
            && !shown.contains("the first secret")
            && !shown.contains("not a real one")
    );
}

/// Whatever is wrong with an address, its password is not shown: the text goes into logs.
#[test]
fn no_password_of_an_address_is_echoed() {
    for wrong in [
        "ftp://robot:hunter2@git.example",
        "https://robot:hunter2@:443/api",
        "https://robot:hunter2@git.example/api/v3",
        "robot:hunter2@git.example",
        "https://robot:hunter2@git.example:99999",
        "https://rob@ot:hunter2@git.example/?a=b",
        "https://git.example/?token=hunter2",
        "https://git.example/?token=abc@hunter2",
        "https://git.example/#token=hunter2",
        "http://robot:hunter2@registry.svc:5000",
        "private://robot:hunter2@registry.svc:5000",
        "private://robot:hunter2@registry.svc",
        "robot:hunter2,x@git.example",
        "robot:a,hunter2,x@git.example",
    ] {
        for name in ["CAPSTAN_GITHUB_API_URL", "CAPSTAN_PUBLIC_URL", "CAPSTAN_PROVIDER_HOSTS"] {
            let problems = Place::new().set(name, wrong).problems(&ServeOptions::default());
            assert!(!problems.contains("hunter2"), "{problems}");
        }
    }
    let place = Place::new().set("CAPSTAN_GITHUB_API_URL", "ftp://robot:hunter2@git.example");
    let problems = place.problems(&ServeOptions::default());
    let told = "github-api-url (from CAPSTAN_GITHUB_API_URL): `…@git.example` must begin with https://";
    assert!(problems.contains(told), "{problems}");
}

#[test]
fn another_engine_and_a_wrong_address_and_a_wrong_url_are_reported() {
    let place = Place::new()
        .set("CAPSTAN_DATABASE_URL", "mysql://u:hunter2@h/d")
        .set("CAPSTAN_LISTEN", "8080")
        .set("CAPSTAN_GITHUB_API_URL", "github.com")
        .set("CAPSTAN_GITHUB_APP_ID", "Iv1.abc");
    let problems = place.problems(&ServeOptions::default());
    assert!(
        problems.contains("- listen (from CAPSTAN_LISTEN): `8080` is not an address with a port"),
        "{problems}"
    );
    assert!(
        problems.contains("- github-api-url (from CAPSTAN_GITHUB_API_URL): `github.com` is not a URL"),
        "{problems}"
    );
    assert!(
        problems.contains("- github-app-id (from CAPSTAN_GITHUB_APP_ID): `Iv1.abc` is not an App id"),
        "{problems}"
    );
    assert!(
        problems.contains("- database-url (from CAPSTAN_DATABASE_URL) begins with neither"),
        "{problems}"
    );
    assert!(!problems.contains("hunter2"), "{problems}");
}

#[test]
fn a_state_directory_that_cannot_be_created_is_reported() {
    let place = Place::new();
    let file = place.write("a-file", "");
    let options = ServeOptions { state_dir: Some(file.join("below")), ..ServeOptions::default() };
    let problems = place.problems(&options);
    assert!(
        problems.contains("state-dir (from --state-dir, `FOLDER/a-file/below`) cannot be used"),
        "{problems}"
    );
}

#[test]
fn a_comment_or_a_short_word_is_not_a_webhook_secret() {
    let place = Place::new();
    place.write("secret", "the first secret\n  # changed in May\n");
    let problems = place.problems(&ServeOptions::default());
    assert!(problems.contains("FOLDER/secret: line 2 begins with `#`"), "{problems}");
    place.write("secret", "\nfifteen letters\n");
    let problems = place.problems(&ServeOptions::default());
    assert!(problems.contains("FOLDER/secret: the secret in line 2 has 15 characters"), "{problems}");
    assert!(!problems.contains("fifteen"), "{problems}");
    place.write("secret", "sixteen letters!\n");
    assert!(place.load(&ServeOptions::default()).is_ok());
}

fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt as _;
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

fn open_to_all(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn the_state_folder_and_its_files_are_closed_to_others() {
    let place = Place::new();
    let state = place.load(&ServeOptions::default()).unwrap().state_dir;
    assert_eq!((mode(&state), mode(&state.join("capstan.key"))), (0o700, 0o600));
    // As an earlier version, or somebody, left it.
    fs::write(state.join("capstan.sqlite"), "").unwrap();
    for path in [state.clone(), state.join("capstan.key"), state.join("capstan.sqlite")] {
        open_to_all(&path);
    }
    place.load(&ServeOptions::default()).unwrap();
    assert_eq!((mode(&state), mode(&state.join("capstan.key"))), (0o700, 0o600));
    assert_eq!(mode(&state.join("capstan.sqlite")), 0o600);
}

#[test]
fn a_folder_of_other_things_is_not_closed_but_refused() {
    let place = Place::new();
    let shared = place.at("shared");
    fs::create_dir(&shared).unwrap();
    fs::write(shared.join("letter.txt"), "").unwrap();
    open_to_all(&shared);
    let options = ServeOptions { state_dir: Some(shared.clone()), ..ServeOptions::default() };
    let problems = place.problems(&options);
    assert!(problems.contains("it holds files that are not Capstan's (letter.txt)"), "{problems}");
    assert_eq!(mode(&shared), 0o755);
}

/// What the kubelet does to a volume before a pod with an `fsGroup` starts (`changeFilePermission` in
/// `pkg/volume/volume_linux.go` of Kubernetes): the group may read and write, and enter folders, which get the
/// set-group-id bit.
fn mount_with_fs_group(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    let metadata = fs::symlink_metadata(path).unwrap();
    let more = match (metadata.is_dir(), metadata.is_symlink()) {
        (_, true) => return,
        (true, _) => 0o2770,
        (false, _) => 0o660,
    };
    fs::set_permissions(path, fs::Permissions::from_mode(metadata.permissions().mode() & 0o7777 | more))
        .unwrap();
    if metadata.is_dir() {
        fs::read_dir(path).unwrap().for_each(|entry| mount_with_fs_group(&entry.unwrap().path()));
    }
}

#[test]
fn what_a_platform_opens_before_each_start_is_closed_again_to_the_bottom() {
    let volume = tempfile::tempdir().unwrap();
    let state = volume.path().join("state");
    let options =
        |state: &Path| ServeOptions { state_dir: Some(state.to_owned()), ..ServeOptions::default() };
    let place = Place::new();
    let key = place.load(&options(&state)).unwrap().key.expose_secret().to_owned();
    // All that the bot and the reconciler leave there, and what they leave when they are killed.
    for file in [
        "agents/acme_gitops/key",
        "agents/acme_gitops/reports/last",
        "beyond-limits.json",
        "beyond-limits.jsonx1y2z3",
        "capstan.key.x1y2z3",
        "capstan.sqlite",
        "capstan.sqlite-shm",
        "capstan.sqlite-wal",
        "mirrors/1.git/objects/pack/pack-1.pack",
        "reconciler/identity",
        "reconciler/lock",
        "sources/capstan-system_gitops.json",
    ] {
        fs::create_dir_all(state.join(file).parent().unwrap()).unwrap();
        fs::write(state.join(file), "").unwrap();
    }
    let elsewhere = volume.path().join("elsewhere");
    fs::write(&elsewhere, "").unwrap();
    std::os::unix::fs::symlink(&elsewhere, state.join("mirrors/link")).unwrap();
    for start in 2..=10 {
        mount_with_fs_group(volume.path());
        assert_eq!(mode(&state.join("reconciler/lock")) & 0o660, 0o660);
        assert_eq!(mode(&state), 0o2770, "before start {start}");
        assert_eq!(place.load(&options(&state)).unwrap().key.expose_secret(), key, "start {start}");
        for folder in
            ["", "agents/acme_gitops/reports", "mirrors/1.git/objects/pack", "reconciler", "sources"]
        {
            assert_eq!(mode(&state.join(folder)), 0o700, "{folder} at start {start}");
        }
        for file in ["agents/acme_gitops/key", "mirrors/1.git/objects/pack/pack-1.pack", "reconciler/lock"] {
            assert_eq!(mode(&state.join(file)), 0o600, "{file} at start {start}");
        }
        assert_eq!(mode(&elsewhere) & 0o060, 0o060, "what a link points to is not in the folder");
    }
}

#[test]
fn the_key_is_kept_or_the_one_that_is_given() {
    let place = Place::new();
    let load = |options: &ServeOptions| place.load(options).unwrap().key.expose_secret().to_owned();
    let made = load(&ServeOptions::default());
    assert_eq!(made.len(), 44);
    assert_eq!(load(&ServeOptions::default()), made);
    assert_eq!(
        fs::read_dir(place.at("state/capstan")).unwrap().count(),
        1,
        "what the key was written to at first is the key now"
    );
    let given = place.write("key", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n");
    let options = ServeOptions { key_file: Some(given), ..ServeOptions::default() };
    assert_eq!(load(&options), "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=");
    place.write("key", "hunter2");
    let problems = place.problems(&options);
    assert!(problems.contains("FOLDER/key holds no key: expected 32 random bytes in base64"), "{problems}");
    assert!(!problems.contains("hunter2"));
}

#[test]
fn people_sign_in_where_everything_for_that_is_given() {
    let place = Place::new();
    assert!(place.load(&ServeOptions::default()).unwrap().login.is_none());
    let client = "Iv1.0123456789abcdef";
    let place = place
        .set("CAPSTAN_GITHUB_CLIENT_ID", client)
        .set("CAPSTAN_GITHUB_CLIENT_SECRET", "the client secret".replace(' ', "-").as_str());
    assert!(
        place.problems(&ServeOptions::default()).contains("public-url is missing: with github-client-id")
    );
    let at = |url: &str| ServeOptions { public_url: Some(url.to_owned()), ..ServeOptions::default() };
    let login = place.load(&at("https://capstan.example")).unwrap().login.unwrap();
    assert_eq!(login.client_id, client);
    assert_eq!(login.client_secret.expose_secret(), "the-client-secret");
    assert_eq!(login.callback.as_str(), "https://capstan.example/login/callback");
    assert!(place.load(&at("http://localhost:8080")).unwrap().login.is_some());
    for (url, problem) in [
        (
            "http://capstan.example",
            "public-url: `http://capstan.example/` must begin with https:// where people sign in",
        ),
        (
            "http://capstan.svc",
            "public-url: `http://capstan.svc/` must begin with https:// where people sign in",
        ),
        ("https://example.com/capstan", "must hold no path where people sign in"),
    ] {
        assert!(place.problems(&at(url)).contains(problem), "{url}: {}", place.problems(&at(url)));
    }
    let place = place.unset("CAPSTAN_GITHUB_CLIENT_SECRET");
    let problems = place.problems(&at("https://capstan.example"));
    assert!(
        problems.starts_with("github-client-secret-file is missing: give a file with a client secret"),
        "{problems}"
    );
    let place =
        place.set("CAPSTAN_GITHUB_CLIENT_SECRET", "two words").set("CAPSTAN_GITHUB_CLIENT_ID", "12 34");
    let problems = place.problems(&at("https://capstan.example"));
    assert!(problems.contains("is not a client id") && !problems.contains("two words"), "{problems}");
}

#[test]
fn secrets_that_everybody_may_read_are_reported() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::new();
    let key = place.write("given", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n");
    let options = ServeOptions { key_file: Some(key.clone()), ..ServeOptions::default() };
    let told = |mode: u32| {
        fs::set_permissions(&key, fs::Permissions::from_mode(mode)).unwrap();
        let warnings = place.load(&options).unwrap().warnings;
        warnings.into_iter().filter(|warning| warning.starts_with("key-file ")).collect::<Vec<_>>()
    };
    for mode in [0o600, 0o400, 0o640, 0o440] {
        assert_eq!(told(mode), Vec::<String>::new(), "{mode:o}");
    }
    for mode in [0o644, 0o604, 0o444, 0o666] {
        let told = told(mode);
        assert_eq!(told.len(), 1, "{mode:o}");
        assert!(told[0].contains(&format!("(its mode is {mode:04o})")), "{told:?}");
        assert!(told[0].contains(key.to_str().unwrap()), "{told:?}");
        assert!(!told[0].contains("AAECAwQ"), "{told:?}");
    }
    // As Kubernetes mounts a Secret: only the container sees it.
    let mounted = place.at("..2026_11_29_00_00_00.1");
    fs::create_dir(&mounted).unwrap();
    fs::copy(&key, mounted.join("key")).unwrap();
    std::os::unix::fs::symlink(&mounted, place.at("..data")).unwrap();
    std::os::unix::fs::symlink(place.at("..data").join("key"), place.at("key")).unwrap();
    let options = ServeOptions { key_file: Some(place.at("key")), ..ServeOptions::default() };
    let warnings = place.load(&options).unwrap().warnings;
    assert!(!warnings.iter().any(|warning| warning.starts_with("key-file ")), "{warnings:?}");
}

#[test]
fn the_public_hosts_are_those_that_help_and_docs_name() {
    let listed = PUBLIC_HOSTS.join(",");
    for text in [include_str!("sources.rs"), include_str!("../../docs/service-settings.md")] {
        assert!(text.contains(&listed), "{listed}");
    }
}
