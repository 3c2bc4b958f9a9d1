"""`python -m tam.experiments`."""

from tam.experiments.command import main

main()
