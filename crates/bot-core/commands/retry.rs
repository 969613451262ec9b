//! `retry`: what GitHub refused of a pull request is forgotten, so that the next run tries it.

use capstan_report::Answer;

/// What is said once what GitHub refused of a pull request is tried again.
pub fn retry_answer(refused: &[String]) -> Answer {
    Answer::info(if refused.is_empty() {
        "GitHub has refused no write for this pull request that Capstan is not already retrying.\n".to_owned()
    } else {
        format!("Capstan retries now: {}.\n", refused.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_tried_again_is_named() {
        assert_eq!(
            retry_answer(&[]).text(),
            "GitHub has refused no write for this pull request that Capstan is not already retrying.\n"
        );
        let refused = ["check abc".to_owned(), "dashboard".to_owned()];
        assert_eq!(retry_answer(&refused).text(), "Capstan retries now: check abc, dashboard.\n");
    }
}
