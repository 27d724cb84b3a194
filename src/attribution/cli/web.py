"""`attribution web`: the read-only pages over the results of a store."""

import argparse
import os
import sys
from contextlib import closing
from pathlib import Path

from attribution.cli.listening import bound, serve, state_folder, url_of
from attribution.configuration.flags import add_flags, given_flags
from attribution.configuration.layers import load
from attribution.configuration.tokens import load_tokens
from attribution.dashboard.access import Access
from attribution.dashboard.app import create_app
from attribution.dashboard.collector import settle
from attribution.dashboard.settings import WebSettings
from attribution.store.database import open_store

PREFIX = "ATTRIBUTION_WEB_"
"""Begins the environment variable of every setting of the pages."""

_GUARD = "set --tokens-file FILE, or --proxy-user-header NAME for a proxy that asks who reads"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of the command."""
    parser.add_argument("--config", type=Path, metavar="FILE", help="settings as YAML; variables and flags go over it")
    add_flags(parser, WebSettings)


def run(options: argparse.Namespace) -> int:
    """Serve until told to stop."""
    settings, origins = load(WebSettings, options.config, os.environ, given_flags(options), PREFIX)
    guarded = settings.tokens_file or settings.proxy.user_header
    listener = bound(settings.host, settings.port, origins, None if guarded else _GUARD)
    url = settings.store or _default_store()
    if settings.make_store:
        open_store(url).close()
    with listener, closing(open_store(url, read_only=True)) as store:
        tokens = load_tokens(settings.tokens_file) if settings.tokens_file else None
        access = Access(tokens.tenant_of if tokens else None, settings.proxy, settings.host)
        told = f"attribution web: {url_of(listener)}/ shows {store.place}"
        app = create_app(store, access)
        settle()
        serve(app, listener, settings.stop_secs, lambda: print(told, file=sys.stderr, flush=True))
    return 0


def _default_store() -> str:
    """The store in the state folder."""
    return str(state_folder() / "attribution.db")
