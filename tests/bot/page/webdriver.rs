//! A real browser, driven by the words of WebDriver over plain HTTP (<https://www.w3.org/TR/webdriver2/>).

use capstan_test_support::PATIENCE;
use std::io::{BufRead as _, BufReader, Lines, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use base64::Engine as _;
use capstan_test_support::tally;
use reqwest::{Client, Method};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A headless Chromium.
pub(super) struct Browser {
    driver: Child,
    port: u16,
    session: String,
    client: Client,
    folder: TempDir,
}

/// Names the folder in which the screenshots are kept.
const SCREENSHOTS: &str = "CAPSTAN_SCREENSHOTS";

fn program(name: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// Starts the driver on a free port: it, its port, and what else it prints. It looks for one that is free on IPv6, and ends
/// where another process has that one on IPv4.
fn started(driver: &Path, home: &Path) -> (Child, u16, Lines<BufReader<ChildStdout>>) {
    let attempt = || {
        let mut driver = tally::command(driver)
            .arg("--port=0")
            .env("HOME", home)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(driver.stdout.take().unwrap()).lines();
        let port = lines
            .by_ref()
            .map_while(Result::ok)
            .find_map(|line| line.split_once("successfully on port ")?.1.trim_end_matches('.').parse().ok());
        if port.is_none() {
            driver.wait().unwrap();
        }
        Some((driver, port?, lines))
    };
    (0..5).find_map(|_| attempt()).expect("chromedriver says its port")
}

impl Browser {
    /// Starts a browser. Where there is none, prints that and returns `None`.
    pub(super) async fn start() -> Option<Self> {
        let (Some(chromium), Some(driver)) = (program("chromium"), program("chromedriver")) else {
            println!(
                "SKIPPED: there is no chromium or no chromedriver (packages chromium, chromium-driver): the pages are seen in no browser"
            );
            return None;
        };
        let folder = tempfile::tempdir().unwrap();
        let (driver, port, lines) = started(&driver, folder.path());
        // The driver may print more. It is read to its end, so that it does not block.
        std::thread::spawn(move || lines.for_each(drop));
        let client = Client::builder().no_proxy().timeout(PATIENCE).build().unwrap();
        let mut browser = Self { driver, port, session: String::new(), client, folder };
        let profile = format!("--user-data-dir={}", browser.folder.path().join("profile").display());
        let mut arguments =
            vec!["--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", &profile];
        if is_root() {
            arguments.push("--no-sandbox");
        }
        let wanted = json!({
            "browserName": "chrome",
            "goog:chromeOptions": {"binary": chromium, "args": arguments},
            "goog:loggingPrefs": {"browser": "ALL"},
        });
        let begun = browser.call(Method::POST, "", json!({"capabilities": {"alwaysMatch": wanted}})).await;
        browser.session = begun["sessionId"].as_str().expect("a session begins").to_owned();
        Some(browser)
    }

    async fn call(&self, method: Method, path: &str, body: Value) -> Value {
        let session = if self.session.is_empty() { String::new() } else { format!("/{}", self.session) };
        let url = format!("http://127.0.0.1:{}/session{session}{path}", self.port);
        let mut request = self.client.request(method, &url);
        if !body.is_null() {
            request = request.json(&body);
        }
        let answer: Value = request.send().await.unwrap().json().await.unwrap();
        let value = answer["value"].clone();
        assert!(value.get("error").is_none(), "{path}: {value}");
        value
    }

    async fn post(&self, path: &str, body: Value) -> Value {
        self.call(Method::POST, path, body).await
    }

    pub(super) async fn go(&self, url: &str) {
        self.post("/url", json!({"url": url})).await;
    }

    pub(super) async fn url(&self) -> String {
        self.call(Method::GET, "/url", Value::Null).await.as_str().unwrap().to_owned()
    }

    async fn find(&self, css: &str) -> String {
        let found = self.post("/element", json!({"using": "css selector", "value": css})).await;
        found.as_object().unwrap().values().next().unwrap().as_str().unwrap().to_owned()
    }

    pub(super) async fn click(&self, css: &str) {
        let element = self.find(css).await;
        self.post(&format!("/element/{element}/click"), json!({})).await;
    }

    pub(super) async fn write(&self, css: &str, text: &str) {
        let element = self.find(css).await;
        self.post(&format!("/element/{element}/value"), json!({"text": text})).await;
    }

    /// Presses a key, as WebDriver numbers those without a letter.
    pub(super) async fn press(&self, key: &str) {
        let actions = [json!({"type": "keyDown", "value": key}), json!({"type": "keyUp", "value": key})];
        self.post("/actions", json!({"actions": [{"type": "key", "id": "keys", "actions": actions}]})).await;
    }

    pub(super) async fn script(&self, script: &str) -> Value {
        self.post("/execute/sync", json!({"script": script, "args": []})).await
    }

    /// Waits until an expression is true of the page.
    pub(super) async fn until(&self, expression: &str) {
        let began = Instant::now();
        while self.script(&format!("return document.readyState === 'complete' && ({expression});")).await
            != json!(true)
        {
            assert!(began.elapsed() < PATIENCE, "{expression} is not so at {}", self.url().await);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    async fn devtools(&self, command: &str, parameters: Value) {
        self.post("/goog/cdp/execute", json!({"cmd": command, "params": parameters})).await;
    }

    /// Makes the window that wide.
    pub(super) async fn resize(&self, width: u32, height: u32) {
        let parameters = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.devtools("Emulation.setDeviceMetricsOverride", parameters).await;
    }

    /// Prefers `light` or `dark`.
    pub(super) async fn prefer(&self, scheme: &str) {
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.devtools("Emulation.setEmulatedMedia", json!({"features": features})).await;
    }

    /// What the console has said since it was asked last.
    pub(super) async fn console(&self) -> Vec<String> {
        let lines = self.post("/se/log", json!({"type": "browser"})).await;
        let text = |line: &Value| format!("{}: {}", line["level"], line["message"]);
        lines.as_array().unwrap().iter().map(text).collect()
    }

    /// Takes a picture of the window. Without `CAPSTAN_SCREENSHOTS`, the folder is deleted with the browser.
    pub(super) async fn photograph(&self, name: &str) {
        let kept = std::env::var_os(SCREENSHOTS).map(PathBuf::from);
        let folder = kept.as_deref().unwrap_or(self.folder.path());
        let picture = self.call(Method::GET, "/screenshot", Value::Null).await;
        let picture = base64::engine::general_purpose::STANDARD.decode(picture.as_str().unwrap()).unwrap();
        assert!(picture.starts_with(b"\x89PNG"), "{name} is no picture");
        std::fs::write(folder.join(format!("{name}.png")), picture).unwrap();
    }
}

/// Chromium's sandbox does not start for root.
fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata(Path::new("/proc/self")).is_ok_and(|own| own.uid() == 0)
}

impl Drop for Browser {
    /// Ends the browser by its driver, which would leave it behind if it were only killed.
    fn drop(&mut self) {
        if let Ok(mut stream) = TcpStream::connect(("127.0.0.1", self.port)) {
            stream.set_read_timeout(Some(Duration::from_secs(10))).ok();
            let request = format!(
                "DELETE /session/{} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
                self.session
            );
            stream.write_all(request.as_bytes()).ok();
            stream.read_to_end(&mut Vec::new()).ok();
        }
        self.driver.kill().ok();
        self.driver.wait().ok();
    }
}
