"""What ships as a hook, on the public hook API alone."""
