"""The page of `panewise watch`: what a journal says, as it is written.

The server reads the journal and draws the pictures. The page requests news every second and shows them.
"""
