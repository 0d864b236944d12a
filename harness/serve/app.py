"""Who is answered, and with what: the one place where a request meets the store.

Only GET, only by a name of loopback (a web page that gets a browser to ask here under its own name is
refused), and only what is on the `Shelf`. A report is made anew from a run's data, for the one that
lies in a run directory may be anybody's program. Reports are made one at a time, off the loop, and the
last few are kept.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from harness.plan import PlanError
from harness.plan.document import read
from harness.report.html import render
from harness.store.errors import StoreError

from . import pages
from .compare import compared
from .shelf import Shelf, details

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Any

    from starlette.requests import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from harness.store.rundir import RunDir

log = logging.getLogger(__name__)

NAMES: Final = ("localhost", "127.0.0.1", "[::1]", "::1")
REPORTS_KEPT: Final = 4
QUERY_MAX_BYTES: Final = 4096
POLICY: Final = "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'"
HEADERS: Final = {
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
    b"referrer-policy": b"no-referrer",
    b"cross-origin-resource-policy": b"same-origin",
    b"cache-control": b"no-store",
}


class Careful:
    """Answers GET only, asks no more than needed, and says on every answer what a browser may not do."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            return

        async def careful(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *HEADERS.items()]
            await send(message)

        if scope["method"] != "GET":
            refused = PlainTextResponse("GET only\n", status_code=405, headers={"allow": "GET"})
            await refused(scope, receive, careful)
        elif len(scope["query_string"]) > QUERY_MAX_BYTES:
            await PlainTextResponse("too long\n", status_code=414)(scope, receive, careful)
        else:
            await self._app(scope, receive, careful)


class Pages:
    """The routes, over one store."""

    def __init__(self, store: Path) -> None:
        self._shelf = Shelf(store)
        self._making = asyncio.Lock()
        self._reports: dict[tuple[str, int], bytes] = {}

    async def index(self, request: Request) -> Response:
        """List campaigns and runs."""
        runs, campaigns = await run_in_threadpool(lambda: (self._shelf.runs(), self._shelf.campaigns()))
        asked = dict(request.query_params)
        return _html(pages.index(runs, campaigns, asked, store=str(self._shelf.place)))

    async def campaign(self, request: Request) -> Response:
        """Show one campaign."""
        name = request.query_params.get("name", "")
        runs, campaigns = await run_in_threadpool(lambda: (self._shelf.runs(), self._shelf.campaigns()))
        found = campaigns.get(name)
        if found is None:
            return _nothing(f"There is no campaign {name!r} here.")
        return _html(pages.campaign(found, runs))

    async def report(self, request: Request) -> Response:
        """Show the report of one run."""
        name = request.query_params.get("run", "")
        runs = await run_in_threadpool(self._shelf.runs)
        run, directory = runs.get(name), self._shelf.directory(name)
        if run is None or directory is None:
            return _nothing(f"There is no run {name!r} here.")
        key = (name, run.changed_ns)
        async with self._making:
            data = self._reports.get(key)
            if data is None:
                try:
                    data = await run_in_threadpool(render, directory.path)
                except StoreError as error:
                    return _nothing(str(error))
                except Exception as error:
                    log.exception("event=no-report run=%r", name)
                    return _nothing(f"The report of {name!r} could not be made: {error!r}", code=500)
                self._reports[key] = data
                while len(self._reports) > REPORTS_KEPT:
                    del self._reports[next(iter(self._reports))]
        return HTMLResponse(data, headers={"content-security-policy": "frame-ancestors 'none'"})

    async def compare(self, request: Request) -> Response:
        """Show two runs side by side."""
        names = [request.query_params.get(which, "") for which in ("one", "other")]
        if not all(names):
            return _nothing("Choose a first and a second run to compare.", code=400)
        runs = await run_in_threadpool(self._shelf.runs)
        directories = [self._shelf.directory(name) for name in names]
        one, other = directories
        for name, directory in zip(names, directories, strict=True):
            if name not in runs or directory is None:
                return _nothing(f"There is no run {name!r} here.")
        assert one is not None
        assert other is not None
        sections = await run_in_threadpool(
            lambda: compared((_plan(one), _plan(other)), (details(one), details(other)))
        )
        return _html(pages.comparison(runs[names[0]], runs[names[1]], sections))


def _plan(run: RunDir) -> Mapping[str, Any]:
    """Return a run's plan as its file says it; empty if it cannot be read."""
    try:
        value = read(run.read_plan(), name=str(run.plan)).value
    except (StoreError, PlanError):
        return {}
    return value if isinstance(value, dict) else {}


def _html(text: str, *, code: int = 200) -> Response:
    return HTMLResponse(
        text.encode(errors="backslashreplace"),
        status_code=code,
        headers={"content-security-policy": POLICY},
    )


def _nothing(sentence: str, *, code: int = 404) -> Response:
    return _html(pages.problem(sentence), code=code)


async def _style(_request: Request) -> Response:
    return Response(pages.style(), media_type="text/css")


async def _lost(_request: Request, _error: Exception) -> Response:
    return _nothing("There is no such page.")


def app_of(store: Path, *, names: tuple[str, ...] = NAMES) -> Starlette:
    """Return the application over a store, which answers to these names only."""
    shown = Pages(store)
    return Starlette(
        routes=[
            Route("/", shown.index),
            Route("/campaign", shown.campaign),
            Route("/report", shown.report),
            Route("/compare", shown.compare),
            Route("/style.css", _style),
        ],
        middleware=[
            Middleware(Careful),
            Middleware(TrustedHostMiddleware, allowed_hosts=list(names), www_redirect=False),
        ],
        exception_handlers={404: _lost},
    )
