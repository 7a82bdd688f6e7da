//! Tables of numbers in a safetensors file: the length of a header, the header in JSON, then the bytes of all tables.

use serde::Deserialize;
use serde_json::{Map, Value};

/// Most numbers in a row.
const WIDTH_MAX: usize = 4_096;

/// How a number is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DType {
    F64,
    F32,
    F16,
    I8,
    I64,
    I32,
}

impl DType {
    fn of(name: &str) -> Option<Self> {
        Some(match name {
            "F64" => Self::F64,
            "F32" => Self::F32,
            "F16" => Self::F16,
            "I8" => Self::I8,
            "I64" => Self::I64,
            "I32" => Self::I32,
            _ => return None,
        })
    }

    fn bytes(self) -> usize {
        match self {
            Self::F64 | Self::I64 => 8,
            Self::F32 | Self::I32 => 4,
            Self::F16 => 2,
            Self::I8 => 1,
        }
    }
}

#[derive(Deserialize)]
struct Entry {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: (usize, usize),
}

/// A file, its header read.
pub(super) struct Tensors<'a> {
    header: Map<String, Value>,
    data: &'a [u8],
}

/// One tensor of a file.
struct Tensor<'a> {
    dtype: DType,
    shape: Vec<usize>,
    data: &'a [u8],
}

impl<'a> Tensors<'a> {
    pub(super) fn read(bytes: &'a [u8]) -> Result<Self, String> {
        let damaged = || "it is cut off or no safetensors file".to_owned();
        let (length, rest) = bytes.split_first_chunk::<8>().ok_or_else(damaged)?;
        let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| damaged())?;
        let (header, data) = rest.split_at_checked(length).ok_or_else(damaged)?;
        let header =
            serde_json::from_slice(header).map_err(|error| format!("its header is damaged: {error}"))?;
        Ok(Self { header, data })
    }

    /// The table under the first of these names that is there.
    pub(super) fn table(&self, names: &[&str]) -> Result<Table, String> {
        for name in names {
            if let Some(tensor) = self.tensor(name)? {
                return Table::of(name, &tensor);
            }
        }
        Err(format!("it has no table \"{}\"", names.join("\" or \"")))
    }

    /// Whole numbers, those below zero as a row that isn't there.
    pub(super) fn integers(&self, name: &str) -> Result<Option<Vec<usize>>, String> {
        let Some(tensor) = self.tensor(name)? else { return Ok(None) };
        let row = |number: i64| usize::try_from(number).unwrap_or(usize::MAX);
        let rows = match tensor.dtype {
            DType::I64 => {
                tensor.data.as_chunks::<8>().0.iter().map(|bytes| row(i64::from_le_bytes(*bytes))).collect()
            }
            DType::I32 => {
                let numbers = tensor.data.as_chunks::<4>().0.iter();
                numbers.map(|bytes| row(i32::from_le_bytes(*bytes).into())).collect()
            }
            dtype => {
                return Err(format!("\"{name}\" holds {dtype:?}, where whole numbers (I64, I32) are read"));
            }
        };
        Ok(Some(rows))
    }

    pub(super) fn numbers(&self, name: &str) -> Result<Option<Vec<f32>>, String> {
        let Some(tensor) = self.tensor(name)? else { return Ok(None) };
        let mut numbers = vec![0.0; tensor.data.len() / tensor.dtype.bytes()];
        add(tensor.dtype, tensor.data, 1.0, &mut numbers);
        Ok(Some(numbers))
    }

    fn tensor(&self, name: &str) -> Result<Option<Tensor<'a>>, String> {
        let Some(entry) = self.header.get(name) else { return Ok(None) };
        let entry = Entry::deserialize(entry).map_err(|error| format!("\"{name}\" is damaged: {error}"))?;
        let dtype = DType::of(&entry.dtype).ok_or_else(|| {
            format!("\"{name}\" holds {}, which isn't read; F32, F16, I8 and F64 are", entry.dtype)
        })?;
        let (start, end) = entry.data_offsets;
        let data = self.data.get(start..end).ok_or_else(|| format!("\"{name}\" is cut off"))?;
        let numbers = entry.shape.iter().try_fold(1_usize, |all, of| all.checked_mul(*of));
        if numbers.and_then(|numbers| numbers.checked_mul(dtype.bytes())) != Some(data.len()) {
            return Err(format!("\"{name}\" has another length than its shape says"));
        }
        Ok(Some(Tensor { dtype, shape: entry.shape, data }))
    }
}

/// Rows of numbers, kept as they are written.
pub(super) struct Table {
    dtype: DType,
    width: usize,
    data: Vec<u8>,
}

impl Table {
    fn of(name: &str, tensor: &Tensor<'_>) -> Result<Self, String> {
        let &[_, width] = tensor.shape.as_slice() else {
            return Err(format!("\"{name}\" is no table of rows"));
        };
        if !(1..=WIDTH_MAX).contains(&width) {
            return Err(format!("\"{name}\" has rows of {width} numbers, where 1 to {WIDTH_MAX} are read"));
        }
        Ok(Self { dtype: tensor.dtype, width, data: tensor.data.to_vec() })
    }

    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// Adds a row; one that isn't there adds nothing.
    pub(super) fn add(&self, row: usize, weight: f32, sum: &mut [f32]) {
        let size = self.width * self.dtype.bytes();
        let data = row.checked_mul(size).and_then(|start| self.data.get(start..)?.get(..size));
        if let Some(data) = data {
            add(self.dtype, data, weight, sum);
        }
    }
}

fn add(dtype: DType, data: &[u8], weight: f32, sum: &mut [f32]) {
    match dtype {
        DType::F32 => {
            add_all(data.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)), weight, sum);
        }
        DType::F16 => {
            let numbers = data.as_chunks::<2>().0.iter();
            add_all(numbers.map(|bytes| half(u16::from_le_bytes(*bytes))), weight, sum);
        }
        DType::I8 => add_all(data.iter().map(|byte| f32::from(byte.cast_signed())), weight, sum),
        DType::F64 => {
            let numbers = data.as_chunks::<8>().0.iter();
            add_all(numbers.map(|bytes| single(f64::from_le_bytes(*bytes))), weight, sum);
        }
        // Whole numbers of these sizes are rows, never vectors.
        DType::I64 | DType::I32 => {}
    }
}

fn add_all(numbers: impl Iterator<Item = f32>, weight: f32, sum: &mut [f32]) {
    for (sum, number) in sum.iter_mut().zip(numbers) {
        *sum += weight * number;
    }
}

#[expect(clippy::cast_possible_truncation, clippy::as_conversions, reason = "a vector needs no more digits")]
fn single(number: f64) -> f32 {
    number as f32
}

/// A number of half precision, by its bits.
fn half(bits: u16) -> f32 {
    /// The smallest that isn't zero: two to the power of -24.
    const LEAST: f32 = f32::from_bits(0x3380_0000);
    let sign = u32::from(bits & 0x8000) << 16;
    let exponent = u32::from((bits >> 10) & 0x1F);
    let fraction = u32::from(bits & 0x3FF);
    match exponent {
        0 => {
            let number = f32::from(bits & 0x3FF) * LEAST;
            if sign == 0 { number } else { -number }
        }
        0x1F => f32::from_bits(sign | 0x7F80_0000 | (fraction << 13)),
        _ => f32::from_bits(sign | ((exponent + 112) << 23) | (fraction << 13)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_read_by_their_bits() {
        for (bits, number) in [
            (0x3C00, 1.0),
            (0xC000, -2.0),
            (0x3555, 0.333_251_95),
            (0x0001, 5.960_464_5e-8),
            (0x7BFF, 65_504.0),
        ] {
            assert_eq!(half(bits).to_bits(), f32::to_bits(number), "{bits:x}");
        }
        assert!(half(0x7E00).is_nan() && half(0xFC00).is_infinite());
    }
}
