// SPDX-License-Identifier: Apache-2.0
// names ROUNDS: Rust functions whose symbols have to be demangled: modules, generics, trait implementations.

// That of std::hint is there since Rust 1.66.
#[inline(always)]
fn black_box<T>(value: T) -> T {
    unsafe {
        let seen = std::ptr::read_volatile(&value);
        std::mem::forget(value);
        seen
    }
}

#[inline(always)]
fn burn() -> u64 {
    (0..20000u64).fold(0, |sum, i| black_box(sum.wrapping_add(i.wrapping_mul(i))))
}

mod shop {
    pub trait Serve {
        fn serve(&self, guests: u64) -> u64;
    }

    pub struct Till;

    impl Serve for Till {
        #[inline(never)]
        fn serve(&self, guests: u64) -> u64 {
            crate::burn().wrapping_add(guests)
        }
    }

    pub mod counter {
        #[inline(never)]
        pub fn count(start: u64) -> u64 {
            crate::burn().wrapping_add(start)
        }
    }

    #[inline(never)]
    pub fn weigh<T: Into<u64>>(thing: T) -> u64 {
        crate::burn().wrapping_add(thing.into())
    }
}

#[inline(never)]
fn open_shop() -> u64 {
    use shop::Serve;
    let till: &dyn Serve = black_box(&shop::Till);
    black_box(till.serve(1)) ^ black_box(shop::counter::count(2)) ^ black_box(shop::weigh(3u32))
}

fn main() {
    let rounds: u64 = std::env::args().nth(1).and_then(|arg| arg.parse().ok()).unwrap_or(1000);
    for _ in 0..rounds {
        black_box(open_shop());
    }
}
