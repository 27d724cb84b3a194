"""An ASGI application answers within this process, as if it stood behind a network."""

import concurrent.futures
from contextlib import AbstractAsyncContextManager, ExitStack
from typing import Any

import httpx
from anyio.from_thread import BlockingPortal, start_blocking_portal


class InProcess(httpx.BaseTransport):
    """A transport for AttributionClient. The application runs in an event loop of its own, in a thread.

    `lifespan` is entered before the first call and left when the transport is closed. A call that is not answered
    within the client's time-out is cancelled, as a network's would be.
    """

    def __init__(self, app: Any, lifespan: AbstractAsyncContextManager[Any] | None = None) -> None:
        self._asgi = httpx.ASGITransport(app=app, raise_app_exceptions=False)
        with ExitStack() as stack:
            self._portal: BlockingPortal = stack.enter_context(start_blocking_portal())
            if lifespan is not None:
                stack.enter_context(self._portal.wrap_async_context_manager(lifespan))
            self._stack = stack.pop_all()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Answer one request; several threads may ask at once."""
        request.read()
        future = self._portal.start_task_soon(self._answer, request)
        limit = request.extensions.get("timeout", {}).get("read")
        try:
            return future.result(limit)
        except concurrent.futures.TimeoutError:
            future.cancel()
            raise httpx.ReadTimeout("no answer", request=request) from None

    async def _answer(self, request: httpx.Request) -> httpx.Response:
        response = await self._asgi.handle_async_request(
            httpx.Request(request.method, request.url, headers=request.headers, content=request.content)
        )
        raw = b"".join([chunk async for chunk in response.aiter_raw()])
        return httpx.Response(response.status_code, headers=response.headers, content=raw)

    def close(self) -> None:
        """End the application."""
        self._stack.close()
