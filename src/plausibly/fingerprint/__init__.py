"""What a result depends on: data, arguments, programs, versions."""
