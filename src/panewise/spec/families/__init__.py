"""The facts, checks, words and JSON of each family: its :class:`panewise.spec.family_parts.SpecParts`."""
