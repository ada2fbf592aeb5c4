//! The mock provider over real sockets.

#[cfg(test)]
mod client;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod streams;
#[cfg(test)]
mod whole;
