"""What users see: commands, the report, figures, and the doctor who looks at files."""
