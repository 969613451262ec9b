//! `preflight`: live clusters are asked again what they would say to a merge.

use capstan_plan::verbs::Verb;

use crate::requests::Request;

/// The heads for which people ask for a preflight: their check is computed again, as after a re-run on GitHub.
pub fn heads_to_try(requests: &[Request]) -> Vec<String> {
    let asked = requests.iter().filter(|request| request.carries_out(Verb::Preflight));
    asked.filter_map(|request| Some(request.pull.as_ref()?.head.as_str().to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{comment, commit, open, town};

    #[test]
    fn it_is_of_the_heads_of_those_who_ask() {
        let case = town();
        let requests = [
            comment(1, "ada", Some(&open(&case, 3)), "/capstan preflight"),
            comment(2, "ada", Some(&open(&case, 9)), "/capstan plan"),
            comment(3, "ada", None, "/capstan preflight"),
        ];
        assert_eq!(heads_to_try(&requests), [commit('a').as_str()]);
    }
}
