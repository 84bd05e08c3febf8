//! The part of libisoburn's xorriso API that Muster uses. Declarations only; [`crate::xorriso`] is the interface.
//!
//! Source: `/usr/include/libisoburn/xorriso.h` of libisoburn 1.5.4 (docs/protocol/boot-lab.md#7 has what was
//! measured).
#![expect(unsafe_code, reason = "declarations of foreign functions")]

use std::ffi::{c_char, c_int};

/// `struct XorrisO`: one interpreter with one image loaded.
#[repr(C)]
pub struct XorrisO {
    _opaque: [u8; 0],
}

/// `struct Xorriso_lsT`: one item of a list of messages.
#[repr(C)]
pub struct Xorriso_lsT {
    _opaque: [u8; 0],
}

#[link(name = "isoburn")]
unsafe extern "C" {
    pub fn Xorriso__is_compatible(major: c_int, minor: c_int, micro: c_int, flag: c_int) -> c_int;
    pub fn Xorriso__preset_signal_behavior(behavior: c_int, flag: c_int) -> c_int;
    pub fn Xorriso_new(xorriso: *mut *mut XorrisO, progname: *mut c_char, flag: c_int) -> c_int;
    pub fn Xorriso_startup_libraries(xorriso: *mut XorrisO, flag: c_int) -> c_int;
    pub fn Xorriso_interpreter(
        xorriso: *mut XorrisO,
        argc: c_int,
        argv: *mut *mut c_char,
        idx: *mut c_int,
        flag: c_int,
    ) -> c_int;
    pub fn Xorriso_make_return_value(xorriso: *mut XorrisO, flag: c_int) -> c_int;
    pub fn Xorriso_destroy(xorriso: *mut *mut XorrisO, flag: c_int) -> c_int;
    pub fn Xorriso_push_outlists(xorriso: *mut XorrisO, stack_handle: *mut c_int, flag: c_int) -> c_int;
    pub fn Xorriso_pull_outlists(
        xorriso: *mut XorrisO,
        stack_handle: c_int,
        result_list: *mut *mut Xorriso_lsT,
        info_list: *mut *mut Xorriso_lsT,
        flag: c_int,
    ) -> c_int;
    pub fn Xorriso_lst_get_text(entry: *mut Xorriso_lsT, flag: c_int) -> *mut c_char;
    pub fn Xorriso_lst_get_next(entry: *mut Xorriso_lsT, flag: c_int) -> *mut Xorriso_lsT;
    pub fn Xorriso_lst_destroy_all(list: *mut *mut Xorriso_lsT, flag: c_int) -> c_int;
}
