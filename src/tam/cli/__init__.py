"""The command `tam`: it parses, calls and prints, and decides nothing."""
