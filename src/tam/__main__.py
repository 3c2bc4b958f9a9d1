"""`python -m tam` is the command `tam`."""

from tam.cli import main

if __name__ == "__main__":
    main()
