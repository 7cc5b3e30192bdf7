"""What an unknown table probably is: a first config to be reviewed."""
