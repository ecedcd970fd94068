"""Attacks on everything that reads what others wrote: one harness per reader, and one for the commands.

A harness is a function of bytes. It makes a file (or the words of a command) of them, has it read, and raises
:class:`fuzz.harness.Finding` unless what comes back is either a refusal in one sentence, or something that is written
and read again as the same. ``python -m fuzz NAME`` runs one of them under atheris, guided by coverage; ``make fuzz``
runs all, ``MINUTES`` each. ``tests/test_fuzz.py`` runs all of them for a moment, on seeds and on seeds that were
damaged.
"""
