"""The command `ldep`, and its subcommands that are not stages."""
