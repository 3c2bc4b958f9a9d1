"""`python -m tam` is the command `tam`; its `run` and `reproduce` need only torch, numpy and safetensors."""

import sys


def main() -> None:
    """Run what needs nothing else installed, or the whole command line."""
    if sys.argv[1:2] == ["run"]:
        from tam.cli.run import main as run
    elif sys.argv[1:2] == ["reproduce"]:
        from tam.cli.reproduce import main as run
    else:
        from tam.cli.main import main as run
    run()


if __name__ == "__main__":
    main()
