//! How messages quote what a user wrote, and names near to one that does not exist.

use strsim::damerau_levenshtein;

/// Of a wrong name only this many characters are looked at, so that a huge one costs nothing.
const LONGEST: usize = 64;

/// Text of the user as a message may quote it.
pub(crate) fn clip(text: &str) -> String {
    const MOST: usize = 60;
    let shown: String = text.chars().take(MOST).flat_map(char::escape_debug).collect();
    if text.chars().nth(MOST).is_some() { format!("{shown}…") } else { shown }
}

/// The names that differ least from `wrong`, at most three: for "did you mean" hints.
pub fn near<'a>(wrong: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let wrong: String = wrong.chars().take(LONGEST).collect();
    let limit = 1.max(wrong.chars().count() / 3);
    let within = |name: &str| wrong.len() > 2 && (name.contains(&wrong) || wrong.contains(name));
    let mut ranked: Vec<(usize, &str)> = names
        .into_iter()
        .map(|name| (damerau_levenshtein(&wrong, name), name))
        .filter(|&(distance, name)| distance <= limit || within(name))
        .collect();
    ranked.sort();
    ranked.into_iter().map(|(_, name)| name).take(3).collect()
}

/// A sentence that names what is near to `wrong`, or all names there are.
pub fn hint(wrong: &str, names: &[&str]) -> String {
    match near(wrong, names.iter().copied()).as_slice() {
        [] => format!("There are: {}.", names.join(", ")),
        near => format!("Did you mean `{}`?", near.join("` or `")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_come_first() {
        assert_eq!(near("hikeyy", ["hikey", "box12"]), ["hikey"]);
        assert_eq!(near("epyc", ["epyc-9654-2s", "epyc-9965-1s", "hikey"]).len(), 2);
        assert_eq!(near(&"z".repeat(1_000_000), ["hikey", "box12"]), [""; 0]);
        assert_eq!(hint("hz_", &["hz", "tick_jitter"]), "Did you mean `hz`?");
        assert_eq!(hint("colour", &["hz", "tick"]), "There are: hz, tick.");
    }
}
