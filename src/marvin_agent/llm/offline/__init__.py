"""Models without a network: scripted replies, recorded and replayed traffic, the embedded model."""
