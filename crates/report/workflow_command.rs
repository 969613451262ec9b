//! Findings as workflow commands of GitHub Actions: annotations without any upload.
//!
//! <https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands>

use capstan_model::finding::{Finding, Severity};

/// One line that annotates the finding's place.
pub fn workflow_command(finding: &Finding) -> String {
    let name = match finding.severity() {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let place = [
        finding.file().map(|file| format!("file={}", property(file.as_str()))),
        finding.line().map(|line| format!("line={line}")),
        finding.column().map(|column| format!("col={column}")),
        Some(format!("title={}", property(finding.rule.id()))),
    ];
    let properties: Vec<String> = place.into_iter().flatten().collect();
    format!("::{name} {}::{}", properties.join(","), data(&finding.message))
}

fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;
    use capstan_model::finding::{Place, rules};
    use capstan_model::tree::RepoPath;

    #[test]
    fn what_has_a_meaning_in_commands_is_escaped() {
        let finding = Finding::new(rules::INVALID_YAML, "100% wrong:\nsee, there")
            .place(Place::line_of(RepoPath::parse("a,b:c%/d.yaml").unwrap(), 4))
            .warning();
        assert_eq!(
            workflow_command(&finding),
            "::warning file=a%2Cb%3Ac%25/d.yaml,line=4,title=invalid-yaml::100%25 wrong:%0Asee, there"
        );
    }
}
