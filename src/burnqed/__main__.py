"""`python -m burnqed` is `burn-qed`."""

from burnqed.cli.main import main

main()
