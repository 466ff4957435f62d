//! Requests to valgrind's memcheck, as `valgrind.h` and `memcheck.h` define them: they mark secret bytes, and return
//! the number of errors. Outside of valgrind they do nothing.

/// Whether valgrind's requests are implemented for this target.
pub const KNOWN: bool = cfg!(all(target_arch = "x86_64", target_os = "linux"));

const RUNNING_ON_VALGRIND: usize = 0x1001;
const COUNT_ERRORS: usize = 0x1201;
/// 'M', 'C' in the upper bytes.
const MAKE_MEM_UNDEFINED: usize = 0x4d43_0001;
const MAKE_MEM_DEFINED: usize = 0x4d43_0002;

/// Makes a request with two arguments. Returns valgrind's answer, or 0 without valgrind.
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
fn request(code: usize, arguments: [usize; 2]) -> usize {
    let block = [code, arguments[0], arguments[1], 0, 0, 0];
    let mut answer = 0usize;
    // SAFETY: rotations of rdi that add up to 128 bits leave it unchanged, and rbx is exchanged with itself: nothing
    // happens unless valgrind translates this sequence. It then reads `block`, which rax points to, and writes rdx.
    unsafe {
        core::arch::asm!(
            "rol rdi, 3",
            "rol rdi, 13",
            "rol rdi, 61",
            "rol rdi, 51",
            "xchg rbx, rbx",
            in("rax") block.as_ptr(),
            inout("rdx") answer,
            options(nostack),
        );
    }
    answer
}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
fn request(_: usize, _: [usize; 2]) -> usize {
    0
}

/// Whether this runs under valgrind.
pub fn is_running() -> bool {
    request(RUNNING_ON_VALGRIND, [0; 2]) > 0
}

/// The number of errors that memcheck has seen so far.
pub fn errors() -> usize {
    request(COUNT_ERRORS, [0; 2])
}

/// Marks bytes as secret: memcheck reports branches on them, or on values computed from them, and their use as
/// addresses.
pub fn hide<W: bytemuck::Pod>(words: &mut [W]) {
    let bytes: &mut [u8] = bytemuck::cast_slice_mut(words);
    request(MAKE_MEM_UNDEFINED, [bytes.as_mut_ptr() as usize, bytes.len()]);
}

/// Marks bytes as public from here on.
pub fn show<W: bytemuck::Pod>(words: &mut [W]) {
    let bytes: &mut [u8] = bytemuck::cast_slice_mut(words);
    request(MAKE_MEM_DEFINED, [bytes.as_mut_ptr() as usize, bytes.len()]);
}
