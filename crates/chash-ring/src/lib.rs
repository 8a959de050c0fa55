#![doc = include_str!("../README.md")]
#![deny(unsafe_code)]

mod circle;
mod distinct;
mod params;
mod ring;

pub use params::{MAX_POINTS, Params, Sizing};
pub use ring::Ring;
