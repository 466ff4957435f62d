//! Text as lines of words, without copies.

use crate::{CircuitError, Field};

/// The lines that are not blank.
pub(super) struct Lines<'a> {
    rest: &'a [u8],
    number: u64,
}

/// The words of a line.
#[derive(Clone)]
pub(super) struct Words<'a> {
    rest: &'a [u8],
    pub line: u64,
}

impl<'a> Lines<'a> {
    pub fn new(text: &'a [u8]) -> Lines<'a> {
        Lines { rest: text, number: 0 }
    }

    /// Returns the next line that is not blank.
    pub fn next(&mut self) -> Result<Option<Words<'a>>, CircuitError> {
        while !self.rest.is_empty() {
            let end = self.rest.iter().position(|&byte| byte == b'\n').unwrap_or(self.rest.len());
            let text = self.rest[..end].trim_ascii();
            self.rest = self.rest.get(end + 1..).unwrap_or(&[]);
            self.number += 1;
            let strange = |byte: &&u8| !byte.is_ascii_graphic() && !byte.is_ascii_whitespace();
            if let Some(&byte) = text.iter().find(strange) {
                return Err(CircuitError::NotText { line: self.number, byte });
            }
            if !text.is_empty() {
                return Ok(Some(Words { rest: text, line: self.number }));
            }
        }
        Ok(None)
    }

    /// Returns the next line, or an error without one.
    pub fn expect(&mut self, expected: Field) -> Result<Words<'a>, CircuitError> {
        self.next()?.ok_or(CircuitError::Truncated { line: self.number + 1, expected })
    }

    /// Returns the number of bytes that were not read yet.
    pub fn bytes_left(&self) -> u64 {
        self.rest.len() as u64
    }
}

impl<'a> Words<'a> {
    /// Returns the next word, if there is one.
    pub fn word(&mut self) -> Option<&'a [u8]> {
        let end = self.rest.iter().position(u8::is_ascii_whitespace).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest.trim_ascii_start();
        (!word.is_empty()).then_some(word)
    }

    /// Returns the next word as a number; numbers beyond 64 bits count as the largest.
    pub fn number(&mut self, field: Field) -> Result<u64, CircuitError> {
        let word = self.word().ok_or(CircuitError::ShortLine { line: self.line, expected: field })?;
        if !word.iter().all(u8::is_ascii_digit) {
            return Err(CircuitError::NotANumber { line: self.line, field });
        }
        let digit = |value: u64, byte: &u8| value.saturating_mul(10).saturating_add(u64::from(byte - b'0'));
        Ok(word.iter().fold(0, digit))
    }

    /// Returns the next word as a number of at most `limit`.
    pub fn bounded(&mut self, field: Field, limit: u64) -> Result<u64, CircuitError> {
        let got = self.number(field)?;
        match got <= limit {
            true => Ok(got),
            false => Err(CircuitError::TooLarge { line: self.line, field, got, limit }),
        }
    }

    /// Checks that no word is left.
    pub fn end(&self) -> Result<(), CircuitError> {
        match self.rest.is_empty() {
            true => Ok(()),
            false => Err(CircuitError::Trailing { line: self.line }),
        }
    }

    /// Returns the number of words that are left.
    pub fn count(&self) -> u64 {
        let mut words = self.clone();
        std::iter::from_fn(|| words.word()).count() as u64
    }

    /// Returns the last word.
    pub fn last(&self) -> &'a [u8] {
        let start = self.rest.iter().rposition(u8::is_ascii_whitespace).map_or(0, |at| at + 1);
        &self.rest[start..]
    }
}

/// Returns whether line `index` (from 0) of those that are not blank consists of numbers.
pub(super) fn numbers_on_line(text: &[u8], index: usize) -> bool {
    let mut lines = Lines::new(text);
    for _ in 0..index {
        if !matches!(lines.next(), Ok(Some(_))) {
            return false;
        }
    }
    let Ok(Some(mut words)) = lines.next() else { return false };
    std::iter::from_fn(|| words.word()).all(|word| word.iter().all(u8::is_ascii_digit))
}
