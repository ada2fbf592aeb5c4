//! Functions whose results reach artefacts.
//!
//! The platform's `ln`, `exp` and `pow` differ in the last bit between systems. These come from
//! `libm`, which is compiled with us. Addition, multiplication, division and square root are exact
//! by IEEE 754 and need no replacement.

/// Natural logarithm.
pub fn ln(x: f64) -> f64 {
    libm::log(x)
}

/// e to the power x.
pub fn exp(x: f64) -> f64 {
    libm::exp(x)
}

/// Logarithm to base 10.
pub fn log10(x: f64) -> f64 {
    libm::log10(x)
}

/// x to the power y.
pub fn pow(x: f64, y: f64) -> f64 {
    libm::pow(x, y)
}

/// Sine of radians.
pub fn sin(x: f64) -> f64 {
    libm::sin(x)
}

/// Cosine of radians.
pub fn cos(x: f64) -> f64 {
    libm::cos(x)
}

/// Tangent of radians.
pub fn tan(x: f64) -> f64 {
    libm::tan(x)
}

/// Logarithm of the gamma function.
pub fn ln_gamma(x: f64) -> f64 {
    libm::lgamma(x)
}

/// The probability that a standard normal variable exceeds x.
pub fn normal_tail(x: f64) -> f64 {
    0.5 * libm::erfc(x / std::f64::consts::SQRT_2)
}

/// Sum of numbers in any order with one result: fixed point with 64 binary places.
///
/// Floating-point addition depends on its order; this does not, so that shards can be merged in
/// any order. Terms are rounded to 2^-64 one by one. Holds 2^62 terms of absolute value 1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ExactSum(i128);

impl ExactSum {
    /// Adds a number of absolute value up to 2^40; a larger one is clamped to it.
    pub fn add(&mut self, x: f64) {
        const LIMIT: f64 = (1u64 << 40) as f64;
        // `as` truncates towards zero and turns NaN to 0; callers hold finite numbers.
        self.0 += (x.clamp(-LIMIT, LIMIT) * 18_446_744_073_709_551_616.0) as i128;
    }

    pub fn merge(&mut self, other: Self) {
        self.0 += other.0;
    }

    pub fn value(self) -> f64 {
        self.0 as f64 / 18_446_744_073_709_551_616.0
    }

    /// The sum divided by a count, or `None` when there is nothing to divide by.
    pub fn mean(self, count: u64) -> Option<f64> {
        (count > 0).then(|| self.value() / count as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_does_not_depend_on_order() {
        let terms: Vec<f64> = (1..2000).map(|i| 1.0 / f64::from(i)).collect();
        let (mut up, mut down) = (ExactSum::default(), ExactSum::default());
        terms.iter().for_each(|x| up.add(*x));
        terms.iter().rev().for_each(|x| down.add(*x));
        assert_eq!(up, down);
        assert!((up.value() - 8.177868).abs() < 1e-5);
    }

    #[test]
    fn a_mean_of_equal_terms_is_the_term() {
        let mut sum = ExactSum::default();
        (0..3).for_each(|_| sum.add(1.0));
        assert_eq!(sum.mean(3), Some(1.0));
        assert_eq!(sum.mean(0), None);
    }
}
