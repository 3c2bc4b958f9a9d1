"""The `tam` command as `python -m tam`; `run` and `reproduce` need only torch, numpy and safetensors."""

import sys


def main() -> None:
    """Run `run` or `reproduce` without further dependencies, anything else through the full command line."""
    if sys.argv[1:2] == ["run"]:
        from tam.cli.run import main as run
    elif sys.argv[1:2] == ["reproduce"]:
        from tam.cli.reproduce import main as run
    else:
        from tam.cli.main import main as run
    run()


if __name__ == "__main__":
    main()
