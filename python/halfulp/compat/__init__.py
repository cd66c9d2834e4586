"""Names of other libraries, on halfulp's rounding: scripts change their import lines alone."""
