//! Lines of text that fit a width.

/// A label such as `worst wait  ` is a place at which the lines below begin; further to the right it is none.
const LABEL: usize = 24;

/// How a command begins.
const COMMAND: &str = "fairground ";

/// Units stay on the line of their figure.
const UNITS: [&str; 5] = ["ns", "us", "ms", "s", "%"];

/// The text in lines of at most `width` columns, broken at blanks. What a line continues is indented: by two columns more than the
/// line, or if it begins with a label and two blanks, to what stands behind them. A longer word stays whole, and so does a command:
/// nobody could copy its parts.
pub fn wrapped(text: &str, width: usize) -> String {
    text.split('\n').map(|line| wrapped_line(line, width)).collect::<Vec<_>>().join("\n")
}

fn wrapped_line(line: &str, width: usize) -> String {
    if line.chars().count() <= width {
        return line.to_string();
    }
    if line.trim_start().starts_with(COMMAND) || line.chars().skip(hang(line)).collect::<String>().starts_with(COMMAND) {
        return line.to_string();
    }
    // A word that fits by itself must fit behind the hang, too.
    let longest = line.split(' ').map(|word| word.chars().count()).filter(|&length| length <= width).max().unwrap_or(0);
    let hang = hang(line).min(width / 2).min(width.saturating_sub(longest));
    let mut lines = Vec::new();
    let mut rest: Vec<char> = line.chars().collect();
    loop {
        let indent = if lines.is_empty() { 0 } else { hang };
        let room = width.saturating_sub(indent).max(1);
        // The first line keeps what stands before its text, its label too if it can.
        let from = if lines.is_empty() { rest.iter().position(|letter| *letter != ' ').unwrap_or(0) } else { 0 };
        let kept = if lines.is_empty() { from.max(hang) } else { 0 };
        let cut = match rest.len() <= room {
            true => None,
            false => {
                let last = (0..=room).rev().find(|&at| rest[at] == ' ' && !is_before_unit(&rest, at));
                let before = last.filter(|&at| at > kept).or(last.filter(|&at| at > from));
                before.or_else(|| rest.iter().skip(from + 1).position(|letter| *letter == ' ').map(|at| at + from + 1))
            }
        };
        let Some(cut) = cut else {
            lines.push(" ".repeat(indent) + &rest.iter().collect::<String>());
            break;
        };
        let part: String = rest[..cut].iter().collect();
        lines.push(" ".repeat(indent) + part.trim_end());
        rest = rest[cut..].iter().copied().skip_while(|letter| *letter == ' ').collect();
    }
    lines.join("\n")
}

/// Whether the blank at this place stands between a figure and its unit.
fn is_before_unit(line: &[char], at: usize) -> bool {
    let is_figure = at > 0 && line[at - 1].is_ascii_digit();
    let word: String = line[at + 1..].iter().take_while(|letter| letter.is_alphabetic() || **letter == '%').collect();
    is_figure && UNITS.contains(&word.as_str())
}

/// Where lines begin that continue this one.
fn hang(line: &str) -> usize {
    let letters: Vec<char> = line.chars().collect();
    let indent = letters.iter().position(|letter| *letter != ' ').unwrap_or(0);
    let gap = (indent..letters.len().saturating_sub(2)).find(|&at| letters[at] == ' ' && letters[at + 1] == ' ');
    let text = gap.and_then(|at| letters[at..].iter().position(|letter| *letter != ' ').map(|more| at + more));
    text.filter(|&at| at <= indent + LABEL).unwrap_or(indent + 2)
}

/// The text of a cell in lines of at most `width` columns; words that are longer are cut.
pub(crate) fn folded(text: &str, width: usize) -> Vec<String> {
    if text.chars().count() <= width {
        return vec![text.to_string()];
    }
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let mut word: Vec<char> = word.chars().collect();
        loop {
            let line = lines.last_mut().expect("invariant: there is a first line");
            let taken = line.chars().count();
            let needed = word.len() + usize::from(taken > 0);
            if taken + needed <= width {
                if taken > 0 {
                    line.push(' ');
                }
                line.extend(&word);
                break;
            }
            if taken > 0 {
                lines.push(String::new());
                continue;
            }
            line.extend(word.drain(..width.max(1)));
            lines.push(String::new());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lines_go_on_below_what_they_begin_with() {
        let text =
            "worst wait  player: 12.00 ms, from 1.00 s to 1.01 s\n  cause     hog ran before it, with a longer slice\nnothing";
        assert_eq!(
            wrapped(text, 40),
            "worst wait  player: 12.00 ms, from\n            1.00 s to 1.01 s\n  cause     hog ran before it, with a\n            longer slice\nnothing"
        );
        assert_eq!(
            wrapped("press09 waited for a long time, behind others", 24),
            "press09 waited for a\n  long time, behind\n  others"
        );
        // The label goes alone where the next word fits by itself only.
        assert_eq!(wrapped("  ä,,,a,ä   aä,ä,aaa,a,äa", 24), "  ä,,,a,ä\n           aä,ä,aaa,a,äa");
        let command = "  more      fairground explain scenario.toml --task player";
        assert_eq!(wrapped(command, 30), command);
        assert_eq!(wrapped("one-word-that-is-longer than", 10), "one-word-that-is-longer\n  than");
        assert_eq!(folded("a word beyond-the-width", 6), ["a word", "beyond", "-the-w", "idth"]);
    }

    proptest! {
        #[test]
        fn no_word_is_lost_and_lines_fit(text in "( {1,3}[a-zä,]{1,9}){0,30}", width in 24usize..90) {
            let shown = wrapped(&text, width);
            let words = |text: &str| text.split_whitespace().map(str::to_string).collect::<Vec<_>>();
            prop_assert_eq!(words(&shown), words(&text));
            prop_assert!(shown.lines().all(|line| line.chars().count() <= width), "{}", shown);
            let cell = folded(&text, width);
            prop_assert!(cell.iter().all(|line| line.chars().count() <= width));
            prop_assert_eq!(words(&cell.join(" ")), words(&text));
        }
    }
}
