//! The guard with the real tools and the real sandbox.

mod generated;
mod headless;
mod observed;
mod plan;
mod shells;
mod tried;
