"""What everything else stands on: errors, checks, names, progress, random streams, compiled programs."""
