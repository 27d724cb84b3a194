"""Every setting has a flag, except secrets, which have one for the file that holds them."""

import argparse
from collections.abc import Mapping

from pydantic import BaseModel

from attribution.configuration.keys import Key, Shape, is_required, keys
from attribution.configuration.reference import shown_default
from attribution.configuration.secrets import Secrecy

_DEST = "setting "


def add_flags(parser: argparse.ArgumentParser, model: type[BaseModel]) -> None:
    """Add the flags of all settings of a model."""
    group = parser.add_argument_group("settings", "each is also a key of the configuration file and a variable")
    for key in keys(model):
        if key.secrecy is not Secrecy.WHOLE:
            group.add_argument(key.flag, dest=_DEST + key.name, metavar="VALUE", help=_help(key), action=_action(key))


def given_flags(options: argparse.Namespace) -> Mapping[str, str]:
    """The texts of the flags that were given, by key."""
    found = {name.removeprefix(_DEST): text for name, text in vars(options).items() if name.startswith(_DEST)}
    return {name: _one(given) for name, given in found.items() if given is not None}


def _action(key: Key) -> str:
    """The flag of a list may be given several times."""
    return "append" if key.shape is Shape.LIST else "store"


def _one(given: str | list[str]) -> str:
    return given if isinstance(given, str) else ", ".join(given)


def _help(key: Key) -> str:
    default = "" if is_required(key) or key.default in (None, ()) else f" (default: {shown_default(key)})"
    return (key.meaning + default).replace("%", "%%")
