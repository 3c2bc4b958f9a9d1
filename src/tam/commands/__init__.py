"""The commands of `tam`, one file each; heavy imports wait until a command runs."""
