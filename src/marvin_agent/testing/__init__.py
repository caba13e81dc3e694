"""What tests of marvin and of hooks are written with: model servers that follow a script."""
