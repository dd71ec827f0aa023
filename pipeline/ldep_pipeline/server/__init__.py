"""The HTTP server of a model: what it accepts, how it describes itself, what it logs. It decides no answer."""
