"""Tables, figures and the page of the report, from a tidy table of results."""
