//! Answers where there is little room.

use capstan_report::Answer;

/// Answers as one line of text, at most so many characters, for where no more stands. What is cut off leaves no code span
/// open.
pub fn in_one_line(answers: &[Answer], most: usize) -> String {
    let texts: Vec<String> = answers.iter().map(Answer::text).collect();
    let words: Vec<&str> = texts.iter().flat_map(|text| text.split_whitespace()).collect();
    let line = words.join(" ");
    let Some((end, _)) = line.char_indices().nth(most) else { return line };
    let kept = line.get(..end).and_then(|cut| Some(cut.rsplit_once(' ')?.0)).unwrap_or_default();
    let open = kept.matches('`').count() % 2 == 1;
    let kept = if open { kept.rsplit_once('`').map_or(kept, |(before, _)| before) } else { kept };
    format!("{} …", kept.trim_end())
}

/// The answers without those that say again what the one before says.
pub fn told_once(answers: &[Answer]) -> Vec<Answer> {
    let mut told: Vec<Answer> = answers.iter().filter(|answer| !answer.is_empty()).cloned().collect();
    told.dedup();
    told
}
