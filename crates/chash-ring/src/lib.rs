#![doc = include_str!("../README.md")]
#![deny(unsafe_code)]

mod circle;
mod distinct;
mod grid;
mod line;
mod lines;
mod params;
mod points;
mod ring;
mod scan;
mod tails;

pub use params::{MAX_POINTS, Params, Sizing};
pub use ring::Ring;
