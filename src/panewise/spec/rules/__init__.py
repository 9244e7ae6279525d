"""What a specification cannot have, by the kind of its windows."""
