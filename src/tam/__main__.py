"""`python -m tam` is the command `tam`; `python -m tam run` needs only torch, numpy and safetensors."""

import sys


def main() -> None:
    """Run a config with nothing else installed, or the whole command line."""
    if sys.argv[1:2] == ["run"]:
        from tam.cli.run import main as run
    else:
        from tam.cli.main import main as run
    run()


if __name__ == "__main__":
    main()
