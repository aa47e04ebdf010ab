//! "Did you mean": the known name that is nearest to an unknown one.

/// Of a wrong name only this many characters are looked at, so that a huge one costs nothing.
const LONGEST: usize = 64;

/// The name among `known` that differs from `word` in few letters, or by its first part (`cpu.weight` for `weight`), if
/// there is one.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = word.chars().take(LONGEST).collect::<String>().to_lowercase();
    let distance = |name: &str| {
        let last = name.rsplit_once('.').is_some_and(|(_, last)| last == lower);
        if last { 0 } else { strsim::damerau_levenshtein(&lower, &name.to_lowercase()) }
    };
    let best = known.into_iter().map(|name| (distance(name), name)).min_by_key(|row| row.0)?;
    // A third of the letters may differ: `duraton` finds `duration`, `foo` finds nothing.
    (best.0 * 3 <= lower.chars().count().max(3)).then_some(best.1)
}

/// A hint that names the nearest known word, or else all of them.
pub fn hint<'a>(word: &str, what: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> String {
    match nearest(word, known.clone()) {
        Some(name) => format!("Did you mean `{name}`?"),
        None => {
            let names: Vec<String> = known.into_iter().map(|name| format!("`{name}`")).collect();
            format!("{what}: {}.", names.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_typing_errors_and_nothing_else() {
        assert_eq!(nearest("duraton", ["title", "duration"]), Some("duration"));
        assert_eq!(nearest("NO_SIS_UTILS", ["NO_SIS_UTIL", "SIS_PROP"]), Some("NO_SIS_UTIL"));
        assert_eq!(nearest("weight", ["cpu.shares", "cpu.weight"]), Some("cpu.weight"));
        assert_eq!(nearest("foo", ["title", "duration"]), None);
        assert_eq!(nearest(&"foo".repeat(1_000_000), ["title", "duration"]), None);
        assert_eq!(hint("foo", "Keys", ["a", "b"]), "Keys: `a`, `b`.");
    }
}
