//! Random whole-system runs under invariants, and slow reference models; a test product
