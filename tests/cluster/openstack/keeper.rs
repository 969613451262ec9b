//! The services as processes, until the test ends.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use capstan_live::cloud::CloudKind;
use capstan_openstack::OpenStack;
use capstan_ports::{CloudCredential, CloudError, CloudSession, Clouds as _};
use capstan_test_support::tally;
use secrecy::SecretString;
use serde_json::{Value, json};
use std::sync::Arc;

/// A cloud that runs until this is dropped, or its process ends.
pub(super) struct Cloud {
    child: Child,
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    /// What it holds: addresses, projects, users, images, networks.
    pub(super) holds: Value,
}

impl Cloud {
    /// Starts one; `None`, said aloud, where it was never built.
    pub(super) fn start() -> Option<Self> {
        let script =
            |name: &str| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/openstack").join(name);
        let found = tally::command(script("build")).arg("--where").output().unwrap();
        let tools = String::from_utf8(found.stdout).unwrap();
        if tools.trim().is_empty() {
            println!(
                "SKIPPED: no Keystone, Glance, Nova, Neutron and Cinder are built (`make openstack` builds them where Python is): no real cloud is asked"
            );
            return None;
        }
        let mut child = tally::command(script("up"))
            .arg("--tools")
            .arg(tools.trim())
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let orders = child.stdin.take();
        let mut answers = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        answers.read_line(&mut line).unwrap();
        assert!(line.ends_with('\n'), "the cloud did not start: see above");
        let holds = serde_json::from_str(&line).unwrap();
        Some(Self { child, orders, answers, holds })
    }

    /// Gives an order of `up`.
    pub(super) fn order(&mut self, order: &str) -> Value {
        writeln!(self.orders.as_mut().unwrap(), "{order}").unwrap();
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert!(answer.get("done").is_some(), "{order}: {answer}");
        answer
    }

    pub(super) fn text(&self, pointer: &str) -> String {
        self.holds.pointer(pointer).and_then(Value::as_str).unwrap().to_owned()
    }

    /// The hosts of all of them, as `--cloud-hosts` names them.
    pub(super) fn hosts(&self) -> Vec<String> {
        let all = self.holds["endpoints"].as_object().unwrap().values();
        all.map(|url| {
            let url = url::Url::parse(url.as_str().unwrap()).unwrap();
            format!("{}:{}", url.host_str().unwrap(), url.port().unwrap())
        })
        .collect()
    }

    /// A `clouds.yaml` with a password.
    pub(super) fn clouds_yaml(&self, user: &str, password: &str) -> String {
        json!({"clouds": {"openstack": {
            "auth": {
                "auth_url": self.text("/auth_url"),
                "username": user,
                "password": password,
                "user_domain_name": "Default",
                "project_name": user,
                "project_domain_name": "Default",
            },
            "region_name": "RegionOne",
        }}})
        .to_string()
    }

    /// Logs in.
    pub(super) async fn log_in(&self, clouds_yaml: &str) -> Result<Arc<dyn CloudSession>, CloudError> {
        let clouds = OpenStack::new(self.hosts());
        let credential = CloudCredential {
            kind: CloudKind::OPENSTACK,
            secret: [("clouds.yaml".to_owned(), SecretString::from(clouds_yaml.to_owned()))].into(),
            cloud: "openstack".to_owned(),
            region: None,
        };
        clouds.log_in(&credential).await
    }
}

/// The error of a login that Keystone refuses.
pub(super) fn refused(host: &str, status: u16) -> String {
    format!(
        "Keystone at {host} refuses the login ({status}): the credential is wrong, has expired or was deleted"
    )
}

impl Drop for Cloud {
    fn drop(&mut self) {
        // The end of its input tells it to stop everything.
        drop(self.orders.take());
        let _ended = self.child.wait();
    }
}
