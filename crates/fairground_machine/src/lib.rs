//! What the hardware is and what things cost
