"""Pictures of the site, which are drawn from runs."""
