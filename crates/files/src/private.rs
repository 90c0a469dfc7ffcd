//! Files and folders that are for this person alone, where the system knows people.

/// The permission bits of a file, where the system has them.
pub fn mode_of(path: &std::path::Path) -> Option<u32> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        Some(std::fs::metadata(path).ok()?.permissions().mode())
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        None
    }
}

/// Options that make new files for this person alone, whatever the umask, where the system knows people.
pub fn private_options() -> std::fs::OpenOptions {
    let mut options = std::fs::OpenOptions::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    options
}

/// Takes the rights of others off a file or folder of this person. Links and what belongs to others are left alone.
pub fn tighten(path: &std::path::Path) -> std::io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, PermissionsExt};
        let meta = std::fs::symlink_metadata(path)?;
        let mode = meta.permissions().mode();
        let ours = meta.uid() == rustix::process::geteuid().as_raw();
        if ours && !meta.is_symlink() && mode & 0o077 != 0 {
            let tight = std::fs::Permissions::from_mode(mode & 0o700);
            std::fs::set_permissions(path, tight)?;
        }
    }
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

/// Makes a folder and its parents; those that are new are for this person alone, where the system knows people.
pub fn private_dir(path: &std::path::Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt;
        builder.mode(0o700);
    }
    builder.create(path)
}
