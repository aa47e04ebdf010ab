//! Names with `*` and `?`.

/// Whether a name is what a pattern stands for: `*` for any letters, `?` for one.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n) = (0, 0);
    // Where the last star stands, and how much of the name it has taken.
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(letter) if *letter == '?' || *letter == name[n] => {
                p += 1;
                n += 1;
            }
            _ => {
                let Some((at, taken)) = star else { return false };
                star = Some((at, taken + 1));
                (p, n) = (at + 1, taken + 1);
            }
        }
    }
    pattern[p..].iter().all(|letter| *letter == '*')
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn stars_and_question_marks_stand_for_letters() {
        for (pattern, name, is_one) in [
            ("java", "java", true),
            ("java", "java2", false),
            ("java*", "java", true),
            ("*er?", "worker7", true),
            ("*er?", "worker", false),
            ("a*b*c", "aXbbYc", true),
            ("a*b*c", "aXbbY", false),
            ("*", "", true),
            ("", "", true),
            ("?", "", false),
            ("**", "kworker/0:1", true),
        ] {
            assert_eq!(matches(pattern, name), is_one, "{pattern} {name}");
        }
    }
}
