"""Commands of hooks: what marvin's own are called is not theirs to take."""

from marvin_agent.agent.commands import BUILTIN
from marvin_agent.agent.hooktools import RESERVED
from marvin_agent.frontends.tui.owncommands import OWN


def test_every_command_of_marvin_is_reserved() -> None:
    assert OWN.keys() | BUILTIN.keys() <= RESERVED
