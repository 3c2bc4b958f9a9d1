"""Present results to users: text, tables, figures and the HTML page."""
