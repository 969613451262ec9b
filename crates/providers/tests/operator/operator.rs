//! The operator's rendering, as a program that is asked line by line.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// Ends with its input.
pub(crate) struct Operator {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

/// The folder that `tests/operator/build` fills; `None`, said aloud, where it did not.
#[expect(clippy::print_stdout, reason = "what is skipped is said aloud")]
pub(crate) fn built() -> Option<PathBuf> {
    let tools = std::env::var_os("CAPSTAN_TOOLS").map(PathBuf::from).unwrap_or_else(|| {
        PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cache/capstan")
    });
    let folder = tools.join("operator-v0.28.0");
    if folder.join("complete").is_file() {
        return Some(folder);
    }
    println!(
        "SKIPPED: {} is absent, so rendering is not held against the operator; run tests/operator/build",
        folder.display()
    );
    None
}

/// A real provider's metadata and components.
pub(crate) fn released(label: &str, version: &str, file: &str) -> Option<(String, String)> {
    let folder = built()?.join("components").join(label).join(version);
    let read = |file: &str| fs::read_to_string(folder.join(file)).unwrap();
    Some((read("metadata.yaml"), read(file)))
}

impl Operator {
    pub(crate) fn start() -> Option<Self> {
        let mut child = Command::new(built()?.join("render"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Some(Self { child, input, output })
    }

    fn ask(&mut self, question: &Value) -> Value {
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{question}").unwrap();
        input.flush().unwrap();
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}: {question}"))
    }

    /// What it makes of a provider among objects: `{version, contract, objects}`, or why nothing.
    pub(crate) fn render(&mut self, provider: &Value, objects: &[Value]) -> Result<Value, String> {
        let told = self.ask(&json!({"provider": provider, "objects": objects}));
        match told["error"].as_str() {
            Some(error) => Err(error.to_owned()),
            None => Ok(told),
        }
    }

    /// Objects as Go's types write them.
    pub(crate) fn typed(&mut self, objects: &[Value]) -> Result<Vec<Value>, String> {
        let told = self.ask(&json!({"typed": objects}));
        match told["error"].as_str() {
            Some(error) => Err(error.to_owned()),
            None => Ok(told["objects"].as_array().cloned().unwrap_or_default()),
        }
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ended = self.child.wait();
    }
}
