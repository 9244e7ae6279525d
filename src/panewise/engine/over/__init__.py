"""The OVER operator: each row comes out again with columns made of the rows near it."""
