"""What users see: text, tables, figures and the HTML page."""
