//! Block devices: each reason, and the neighbour that is allowed.
