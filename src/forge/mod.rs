//! A small GitHub stand-in over bare git repositories; feature `demo`, absent from release images.
