"""From stored observations to frames, charts, tables and pages."""
