"""How tests run a program on several devices."""

import os
import subprocess
import sys


def run(program, n, folder):
    """Run it in a process with `n` devices, all of which it has to use, and return what it prints.

    It prints how many devices there are, and how many it used, as its last line of errors.
    """
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={n}"
    environment = os.environ | {"XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu", "JAX_COMPILATION_CACHE_DIR": str(folder)}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    present, used = map(int, done.stderr.splitlines()[-1].split())
    assert (present, used) == (n, n)
    return done.stdout
