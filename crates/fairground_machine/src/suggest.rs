//! Names near to one that does not exist.

/// The names that differ least from `wrong`, at most three: for "did you mean" hints.
pub fn near<'a>(wrong: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let limit = 2.max(wrong.chars().count() / 3);
    let mut ranked: Vec<(usize, &str)> = names
        .into_iter()
        .map(|name| (distance(wrong, name), name))
        .filter(|&(distance, name)| distance <= limit || (wrong.len() > 2 && (name.contains(wrong) || wrong.contains(name))))
        .collect();
    ranked.sort();
    ranked.into_iter().map(|(_, name)| name).take(3).collect()
}

/// A sentence that names what is near to `wrong`, or all names there are.
pub fn hint<'a>(wrong: &str, names: &[&'a str]) -> String {
    match near(wrong, names.iter().copied()).as_slice() {
        [] => format!("There are: {}.", names.join(", ")),
        near => format!("Did you mean `{}`?", near.join("` or `")),
    }
}

/// How many characters must be changed, put in or left out to turn `a` into `b`. Only the first 64
/// characters count, so that a huge wrong name costs nothing.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().take(64).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().take(64).enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, to) in b.iter().enumerate() {
            let change = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(row[j + 1] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_come_first() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(near("hikeyy", ["hikey", "box12"]), ["hikey"]);
        assert_eq!(near("zzzzzzzz", ["hikey", "box12"]), [""; 0]);
        assert_eq!(hint("hz_", &["hz", "tick"]), "Did you mean `hz`?");
        assert_eq!(hint("colour", &["hz", "tick"]), "There are: hz, tick.");
    }
}
