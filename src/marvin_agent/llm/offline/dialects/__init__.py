"""How a scripted answer looks on each wire, byte for byte as the vendor's server would send it."""
