//! Numbers for readers.

/// `0 B`, `1.5 KiB`, `64.0 MiB`.
pub(crate) fn size(bytes: u64) -> String {
    let mut scaled = bytes;
    let mut unit = "B";
    let mut below = 0;
    for larger in ["KiB", "MiB", "GiB", "TiB"] {
        if scaled < 1_024 {
            break;
        }
        below = scaled % 1_024;
        scaled /= 1_024;
        unit = larger;
    }
    if unit == "B" { format!("{bytes} B") } else { format!("{scaled}.{} {unit}", below * 10 / 1_024) }
}

/// `1234567` as `1,234,567`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_numbers_read_well() {
        assert_eq!(
            [size(0), size(1_023), size(1_536), size(64 << 20)],
            ["0 B", "1023 B", "1.5 KiB", "64.0 MiB"]
        );
        assert_eq!([grouped(7), grouped(1_000), grouped(1_234_567)], ["7", "1,000", "1,234,567"]);
    }
}
