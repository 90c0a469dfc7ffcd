//! Keeps what this process was told at its start from others: values of its environment, and its memory. It does not
//! touch what the program itself has read before.

/// Overwrites the values of these variables where the system shows them to other processes, and closes this process to
/// debuggers of the same person. Whoever needs a value has read it before; afterwards it is empty.
pub fn hide<'a>(names: impl Iterator<Item = &'a str>) {
    #[cfg(target_os = "linux")]
    {
        names.for_each(overwrite);
        // Asked before: a copy of a closed process may not map its user, and namespaces would seem out of reach.
        ostler_sandbox::probe();
        // A kernel that refuses leaves it as it was. Programs that are started from here are open again.
        let _ =
            rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
    }
    #[cfg(not(target_os = "linux"))]
    drop(names);
}

#[cfg(target_os = "linux")]
fn overwrite(name: &str) {
    use std::ffi::CStr;
    unsafe extern "C" {
        // Every C library has it; our library of bindings knows it for some of them.
        static environ: *const *mut libc::c_char;
    }
    // SAFETY: the list and its strings were made by the kernel at our start, end with a null and are ours to write. No
    // code of ours adds to or removes from the environment. Bytes become zero, so that a reader on another thread finds
    // a shorter value at worst.
    unsafe {
        let mut entry = environ;
        while !entry.is_null() && !(*entry).is_null() {
            let text = *entry;
            let length = CStr::from_ptr(text).to_bytes().len();
            let bytes = CStr::from_ptr(text).to_bytes();
            let value = bytes
                .strip_prefix(name.as_bytes())
                .and_then(|rest| rest.strip_prefix(b"="));
            if let Some(value) = value {
                let at = length - value.len();
                std::ptr::write_bytes(text.add(at).cast::<u8>(), 0, value.len());
            }
            entry = entry.add(1);
        }
    }
}
