//! A pod that restarts: before each start Kubernetes opens the files on its volume to the pod's `fsGroup`.

use capstan_test_support::PATIENCE;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use capstan_test_parts::deployed::{documents, of_kind, read};
use capstan_test_parts::plane::process::{Process, lasting_port};
use capstan_test_parts::plane::tail;

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
}

/// `changeFilePermission` in `pkg/volume/volume_linux.go` of Kubernetes: the group may read and write, and enter
/// folders, which get the set-group-id bit.
fn mount_with_fs_group(path: &Path) {
    let is_folder = path.is_dir();
    fs::set_permissions(path, Permissions::from_mode(mode(path) | if is_folder { 0o2770 } else { 0o660 }))
        .unwrap();
    if is_folder {
        fs::read_dir(path).unwrap().for_each(|entry| mount_with_fs_group(&entry.unwrap().path()));
    }
}

#[test]
fn a_reconciler_starts_ten_times_on_a_volume_that_is_opened_before_each_start() {
    let volume = tempfile::tempdir().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = folder.path().join("kubeconfig");
    // This test needs no API server: the files are written before one answers.
    let config = format!(
        "{{apiVersion: v1, kind: Config, current-context: a, clusters: [{{name: a, cluster: {{server: \
         'http://127.0.0.1:{}'}}}}], contexts: [{{name: a, context: {{cluster: a, user: a}}}}], users: [{{name: a}}]}}",
        lasting_port()
    );
    fs::write(&kubeconfig, config).unwrap();
    let state = volume.path().join("state");
    let identity = state.join("reconciler/identity");
    let arguments = [
        "reconcile".to_owned(),
        format!("--kubeconfig={}", kubeconfig.display()),
        format!("--state-dir={}", state.display()),
        "--listen=127.0.0.1:0".to_owned(),
    ];
    let process = Process::new(arguments.to_vec(), Vec::new(), &folder.path().join("log"));
    let mut earlier = None;
    for start in 1..=10 {
        process.start();
        let begun = Instant::now();
        let noted = || fs::read_to_string(&identity).ok().filter(|noted| Some(noted) != earlier.as_ref());
        let noted = loop {
            process
                .is_well()
                .unwrap_or_else(|why| panic!("start {start}: {why}\n{}", tail(&process.log(), 20)));
            assert!(begun.elapsed() < PATIENCE, "start {start}:\n{}", tail(&process.log(), 20));
            if let Some(noted) = noted() {
                break noted;
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        assert_eq!([&state, &state.join("mirrors")].map(|path| mode(path)), [0o700; 2], "start {start}");
        assert_eq!(
            [&identity, &state.join("reconciler/lock")].map(|path| mode(path)),
            [0o600; 2],
            "start {start}"
        );
        earlier = Some(noted);
        process.kill();
        mount_with_fs_group(volume.path());
        assert_eq!(mode(&identity), 0o660);
    }
}

#[test]
fn what_is_deployed_has_its_state_in_a_folder_of_its_own_that_is_opened_once() {
    for (file, kind) in [("reconciler.yaml", "Deployment"), ("bot/bot.yaml", "StatefulSet")] {
        let workload = of_kind(&documents(&read(file)), kind);
        let pod = &workload["spec"]["template"]["spec"];
        assert_eq!(pod["securityContext"]["fsGroup"], 65532);
        assert_eq!(pod["securityContext"]["fsGroupChangePolicy"], "OnRootMismatch");
        let container = &pod["containers"][0];
        let mounts = container["volumeMounts"].as_array().unwrap();
        let state = mounts.iter().find(|mount| mount["name"] == "state").unwrap();
        let below = format!("{}/", state["mountPath"].as_str().unwrap());
        let arguments = container["args"].as_array().unwrap().iter().filter_map(Value::as_str);
        let mut folder = arguments.filter_map(|argument| argument.strip_prefix("--state-dir="));
        let mut variables = container["env"].as_array().unwrap().iter();
        let folder = folder.next().or_else(|| {
            variables.find(|variable| variable["name"] == "CAPSTAN_STATE_DIR")?["value"].as_str()
        });
        // A volume's own folder is root's, who alone may close it.
        assert!(folder.is_some_and(|folder| folder.starts_with(&below)), "{file}: {folder:?}");
    }
}
