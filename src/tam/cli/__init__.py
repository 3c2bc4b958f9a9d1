"""The command `tam`: it parses, calls and prints; all decisions are made elsewhere."""
