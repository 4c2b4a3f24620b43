// SPDX-License-Identifier: Apache-2.0
// Allocations that are known, by Rust's own interface: with --cfg arena from an allocator that is
// nobody else's, else from the standard one. It frees what it frees at once.
use std::hint::black_box;

#[cfg(arena)]
mod arena {
    use std::alloc::{GlobalAlloc, Layout};
    use std::sync::atomic::{AtomicUsize, Ordering};

    const BYTES: usize = 16 << 20;

    #[repr(align(4096))]
    struct Memory(std::cell::UnsafeCell<[u8; BYTES]>);
    unsafe impl Sync for Memory {}

    static MEMORY: Memory = Memory(std::cell::UnsafeCell::new([0; BYTES]));
    static USED: AtomicUsize = AtomicUsize::new(0);

    /// Gives every byte out once.
    pub struct Arena;

    unsafe impl GlobalAlloc for Arena {
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            let bytes = (layout.size() + 15) & !15;
            let at = USED.fetch_add(bytes, Ordering::Relaxed);
            if at + bytes > BYTES || layout.align() > 16 {
                return std::ptr::null_mut();
            }
            unsafe { (MEMORY.0.get() as *mut u8).add(at) }
        }
        unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
    }
}

#[cfg(arena)]
#[global_allocator]
static ALLOCATOR: arena::Arena = arena::Arena;

#[inline(never)]
fn keep_blocks(cnt: usize) {
    for _ in 0..cnt {
        std::mem::forget(black_box(Box::new([1u8; 1000])));
    }
}

#[inline(never)]
fn drop_blocks(cnt: usize) {
    for _ in 0..cnt {
        drop(black_box(Box::new([1u8; 100])));
    }
}

// From 400 bytes to 800: two allocations, the second one is live.
#[inline(never)]
fn grow_block() {
    let mut block: Vec<u8> = Vec::with_capacity(400);
    block.push(1);
    block.reserve_exact(799);
    std::mem::forget(black_box(block));
}

fn main() {
    keep_blocks(50);
    drop_blocks(200);
    grow_block();
}
