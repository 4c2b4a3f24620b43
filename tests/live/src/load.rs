// SPDX-License-Identifier: Apache-2.0
// A load in Rust: closures, iterators, maps, formatting, threads, panics that unwind. Runs until killed.
use std::collections::{BTreeMap, HashMap};
use std::hint::black_box;
use std::panic;
use std::thread;

fn collatz(n: u64) -> u64 {
    let (mut n, mut steps) = (n, 0);
    while n != 1 {
        n = if n % 2 == 0 { n / 2 } else { 3 * n + 1 };
        steps += 1;
    }
    steps
}

#[inline(never)]
fn numbers() -> u64 {
    (1..3000u64).map(collatz).filter(|s| s % 2 == 0).sum()
}

#[inline(never)]
fn maps() -> usize {
    let mut counts: HashMap<String, usize> = HashMap::new();
    for i in 0..2000 {
        *counts.entry(format!("key-{}", i % 97)).or_insert(0) += i;
    }
    let sorted: BTreeMap<_, _> = counts.iter().collect();
    sorted.values().map(|v| **v).sum()
}

#[inline(never)]
fn recurse(depth: u32) -> u32 {
    if depth == 0 {
        panic!("bottom");
    }
    recurse(black_box(depth - 1)) + 1
}

// Few, as in load.cc: while libgcc installs the landing pad's context no stack can be unwound.
#[inline(never)]
fn panics() {
    let _ = panic::catch_unwind(|| recurse(30));
}

fn work() {
    black_box(numbers());
    black_box(maps());
    panics();
}

fn main() {
    panic::set_hook(Box::new(|_| {}));
    thread::spawn(|| loop {
        work()
    });
    loop {
        work()
    }
}
