"""`panewise completion SHELL` prints what makes a shell complete commands, options and files."""

import click
from click.shell_completion import get_completion_class

from panewise.cli.command import argument, new_command
from panewise.cli.program import COMPLETE, NAME, program


@new_command(
    "completion",
    "Prints what a shell needs to complete the commands and options of panewise, and the files they take.",
    'eval "$(panewise completion bash)"     # in ~/.bashrc; Bash 4.4 or newer',
    'eval "$(panewise completion zsh)"      # in ~/.zshrc',
    "panewise completion fish | source      # in ~/.config/fish/config.fish",
)
@argument("shell", "bash, zsh or fish", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> int:
    """Prints the script of a shell; returns the exit status."""
    completion = get_completion_class(shell)
    assert completion is not None
    click.echo(completion(program, {}, NAME, COMPLETE).source())
    return 0
