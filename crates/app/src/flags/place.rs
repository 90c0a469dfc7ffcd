//! Flags that name another place to work at.

use clap::Args;

#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub struct PlaceFlags {
    /// Work at another machine over your own ssh: user@host or user@host:port; --root is a folder there
    #[arg(long, global = true, value_name = "DEST", conflicts_with_all = ["container", "pod", "image", "place"])]
    pub ssh: Option<String>,
    /// Work in a running container of docker or podman
    #[arg(long, global = true, value_name = "NAME", conflicts_with_all = ["pod", "image", "place"])]
    pub container: Option<String>,
    /// Work in a running pod, by kubectl
    #[arg(long, global = true, value_name = "NAME", conflicts_with_all = ["image", "place"])]
    pub pod: Option<String>,
    /// Run commands in a new container of this image, with the project in it and no network, removed at the end
    #[arg(long, global = true, value_name = "IMAGE", conflicts_with = "place")]
    pub image: Option<String>,
    /// Work at the place with this name in the configuration
    #[arg(long = "host", id = "place", global = true, value_name = "NAME")]
    pub host: Option<String>,
    /// Copy the helper to the place without asking
    #[arg(long, global = true)]
    pub install_helper: bool,
}

impl PlaceFlags {
    /// Whether they name a place.
    pub fn names_place(&self) -> bool {
        let Self {
            ssh,
            container,
            pod,
            image,
            host,
            install_helper: _,
        } = self;
        [ssh, container, pod, image, host]
            .iter()
            .any(|name| name.is_some())
    }
}

/// `ostler host`: its commands.
#[derive(Debug, clap::Subcommand)]
pub enum Host {
    /// Show what the place is like, and what works there
    Check,
    /// Remove the helper from the place
    Clean,
}
