"""The console's answers: what holds for each request, sessions, forms, and which page answers which path.

There is no script on any page, and no answer is for another page's script: no CORS, and no JSON.
"""

from __future__ import annotations

import contextlib
import functools
import hmac
import logging
import time
import traceback
import urllib.parse
from collections.abc import Awaitable, Callable, MutableMapping
from importlib import resources
from typing import Any

import jinja2
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route, Router

from quorate._display._text_tables import number_bytes, seconds
from quorate.campaigns import Refused, StoreError
from quorate.console._acts import Acts
from quorate.console._aside import Aside
from quorate.console._operators import is_token, operator_of
from quorate.console._pages import Pages, parameters_of
from quorate.console._plans import Plans
from quorate.console._sessions import Failures, Session, Sessions
from quorate.console._source import marked
from quorate.jobs import about
from quorate.serve._addresses import holder_of
from quorate.serve._bodies import Memory, length_up_to, read
from quorate_client.keys import to_text

__all__ = ["Console"]

LOG = logging.getLogger("quorate.serve")

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

#: Bytes of a form, its fields, and bytes of forms that are held at the same time.
MOST_FORM_BYTES, _MOST_FIELDS, _MOST_HELD = 16_384, 40, 1 << 20

#: Threads that read for pages, and those in which acts wait for the disk; and seconds that a page waits.
_READS, _WRITES = 8, 4
PATIENCE_S = 10.0

_HOSTS = ("localhost", "127.0.0.1", "[::1]")

#: No script, no frame, nothing of another origin; forms are sent here alone.
_POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "Content-Security-Policy": _POLICY,
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",  # with `no-referrer`, browsers send forms without their origin
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}

#: Pages by path: the template, and the method of `Pages`.
_PAGES = {
    "/": ("overview.html", "overview"),
    "/campaigns": ("campaigns.html", "campaigns"),
    "/programs": ("programs.html", "programs"),
    "/proposals": ("proposals.html", "proposals"),
    "/jobs": ("jobs.html", "jobs_page"),
    "/pools": ("pools.html", "pools"),
    "/metrics": ("metrics.html", "metrics"),
    "/audit": ("audit.html", "audit"),
    "/acts": ("acts.html", "acts"),
}
_ITEMS = {
    "/campaigns/{id}": ("campaign.html", "campaign"),
    "/programs/{id}": ("program.html", "program"),
    "/proposals/{id}": ("proposal.html", "proposal"),
    "/jobs/{id}": ("job.html", "job"),
}
_FILES = {"/style.css": "text/css", "/icon.svg": "image/svg+xml"}

Form = dict[str, str]

_PAGES_ONLY = "use the links and forms of the console's pages"


class Console:
    """The console as an ASGI application.

    Args:
        pages: what pages show.
        acts: what operators do.
        plans: makes plans of programs.
        cookie: the name of the cookie of sessions, which begins with `__Host-`.
        names: names of the host, beside those of the loopback, by which browsers may call.
        sessions, failures: the sessions, and the failed sign-ins.
    """

    def __init__(
        self,
        pages: Pages,
        acts: Acts,
        plans: Plans,
        cookie: str,
        names: tuple[str, ...] = (),
        sessions: Sessions | None = None,
        failures: Failures | None = None,
    ) -> None:
        self._pages, self._acts, self._plans, self._cookie = pages, acts, plans, cookie
        self._hosts = frozenset((*_HOSTS, *names))
        self._sessions, self._failures = sessions or Sessions(), failures or Failures()
        self._memory = Memory(_MOST_HELD)
        self._templates = _templates()
        folder = resources.files(__package__) / "templates"
        self._files = {path: (folder / path.removeprefix("/")).read_bytes() for path in _FILES}
        self._reads, self._writes = Aside(_READS, PATIENCE_S), Aside(_WRITES, None)
        self._router = Router(self._routes(), redirect_slashes=False)

    def close(self) -> None:
        """Begins nothing more, and does not wait for what runs."""
        for aside in (self._reads, self._writes):
            aside.close()

    def _routes(self) -> list[Route]:
        routes = [Route(path, functools.partial(self._page, *what)) for path, what in _PAGES.items()]
        routes += [Route(path, functools.partial(self._item, *what)) for path, what in _ITEMS.items()]
        routes += [Route(path, functools.partial(self._file, kind)) for path, kind in _FILES.items()]
        routes.append(Route("/sign-in", self._sign_in_page))
        posts: dict[str, Callable[[Request], Awaitable[Response]]] = {
            "/sign-in": self._sign_in,
            "/sign-out": self._sign_out,
            **{
                path: functools.partial(self._act, act)
                for path, act in (
                    ("/proposals/{id}/approve", self._approve),
                    ("/proposals/{id}/refuse", self._refuse),
                    ("/proposals/{id}/plan", self._plan),
                    ("/programs/{id}/revoke", self._revoke),
                    ("/campaigns/{id}/close", self._close),
                    ("/jobs/{id}/plan", self._plan_job),
                    ("/jobs/{id}/cancel", self._cancel),
                )
            },
        }
        return [*routes, *(Route(path, answer, methods=["POST"]) for path, answer in posts.items())]

    # ---- what holds for each request -----------------------------------------------------------------------------

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answers a request."""
        if scope["type"] != "http":
            return
        is_begun = False

        async def told(message: Message) -> None:
            nonlocal is_begun
            if message["type"] == "http.response.start":
                is_begun = True
                extra = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
                message = {**message, "headers": [*message.get("headers", ()), *extra]}
            await send(message)

        request = Request(scope, receive)
        try:
            self._check(request)
            await self._router({**scope, "app": self}, receive, told)  # with an app, it raises what it refuses
        except Exception as error:
            if not is_begun:
                await (await self._failed(request, error))(scope, receive, told)

    def _check(self, request: Request) -> None:
        """Checks the names by which a browser calls, and that a form is of a page of this console.

        A page of another site can have its name lead here, so the name is compared. Its forms carry its own origin, and
        so do those of other ports of this host, which browsers count to the same site.

        Raises:
            Refused: they are others.
        """
        hosts = request.headers.getlist("host")
        if len(hosts) != 1 or _without_port(hosts[0]) not in self._hosts:
            raise Refused(421, "this console is not called so", "name the host in `names` of [console] in serve.toml")
        if request.method not in ("GET", "HEAD"):
            if request.headers.getlist("origin") != [f"https://{hosts[0]}"]:
                raise Refused(403, "this form is not of a page of this console", _PAGES_ONLY)
            if request.headers.get("sec-fetch-site", "same-origin") != "same-origin":
                raise Refused(403, "this form is not of a page of this console", _PAGES_ONLY)

    async def _failed(self, request: Request, error: Exception) -> Response:
        """Returns the page of an error, without its text unless it is for this reader."""
        if isinstance(error, Refused):
            told = error
        elif isinstance(error, HTTPException):
            what = "this path takes other methods" if error.status_code == 405 else "there is no such page"
            told = Refused(error.status_code, what, _PAGES_ONLY)
        elif isinstance(error, StoreError):
            LOG.error("%s", error, extra=about("store.error"))
            told = Refused(503, "the store cannot be used now", "look at this server's log, and try again")
        else:
            fields = (type(error).__name__, _place_of(error))
            LOG.error("an error in the console, of type %s, at %s", *fields, extra=about("console.error"))
            told = Refused(500, "the console has an error", "look at this server's log, and try again")
        session = None
        if told.status not in (421, 503):  # of 503, the store may be the cause
            with contextlib.suppress(Refused):
                session = await self._reads.run(self._session, request)
        shown = {"what": told.what, "do": told.do, "title": "Refused"}
        made = self._render("error.html", session, shown, told.status)
        made.headers["Connection"] = "close"  # a body may be left
        return made

    # ---- sessions ------------------------------------------------------------------------------------------------

    def _session(self, request: Request) -> Session | None:
        """Returns the session of a request, if its operator is one still."""
        found = self._sessions.find(request.cookies.get(self._cookie, ""))
        if found is None:
            return None
        try:
            query = "SELECT 1 FROM operators WHERE name = ? AND token = ?"
            given = (found.operator.name, found.operator.token)
            is_left = self._pages.store.read(lambda c: c.execute(query, given).fetchone()) is not None
        except StoreError:
            return None
        return found if is_left else None

    async def _sign_in_page(self, request: Request) -> Response:
        return self._render("sign_in.html", None, {"trouble": ""})

    async def _sign_in(self, request: Request) -> Response:
        address = holder_of(request.client.host if request.client else "")
        wait_s = self._failures.wait_s(address)
        if wait_s:
            raise Refused(429, "too many sign-ins have failed from this address", f"try again in {wait_s} s")
        form = await self._form(request)
        token = form.get("token", "").strip()
        found = await self._reads.run(operator_of, self._pages.store, token) if is_token(token) else None
        if found is None or found.name != form.get("name", "").strip():
            self._failures.count(address)
            LOG.warning("a sign-in at the console has failed, from %s", address, extra=about("console.sign_in_failed"))
            trouble = "There is no operator of this name with this token."
            return self._render("sign_in.html", None, {"trouble": trouble}, 403)
        await self._writes.run(self._acts.note, found, "signed in")
        self._sessions.close(request.cookies.get(self._cookie, ""))
        answer = RedirectResponse("/", 303)
        self._set_cookie(answer, self._sessions.open(found))
        return answer

    async def _sign_out(self, request: Request) -> Response:
        form = await self._form(request)
        self._check_form(await self._reads.run(self._session, request), form)
        self._sessions.close(request.cookies.get(self._cookie, ""))
        answer = RedirectResponse("/sign-in", 303)
        self._set_cookie(answer, "", 0)
        return answer

    def _set_cookie(self, answer: Response, value: str, max_age: int | None = None) -> None:
        answer.set_cookie(self._cookie, value, max_age=max_age, path="/", secure=True, httponly=True, samesite="strict")

    async def _form(self, request: Request) -> Form:
        """Reads a form.

        Raises:
            Refused: it is no form, too long, too slow, or names a field twice.
        """
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/x-www-form-urlencoded":
            raise Refused(415, "this is no form of this console", _PAGES_ONLY)
        length = length_up_to(request, MOST_FORM_BYTES)
        with self._memory.held(holder_of(request.client.host if request.client else "")) as held:
            body = await read(request, length, held)
        try:
            fields = urllib.parse.parse_qsl(
                body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS
            )
        except ValueError:
            raise Refused(400, "this form cannot be read", _PAGES_ONLY) from None
        if len(dict(fields)) != len(fields):
            raise Refused(400, "this form has a field twice", _PAGES_ONLY)
        return dict(fields)

    def _check_form(self, session: Session | None, form: Form) -> Session:
        """Returns the session, if the form is of one of its pages.

        Raises:
            Refused: nobody is signed in, or the form is of another session.
        """
        if session is None:
            raise Refused(403, "you are not signed in any more", "sign in, and do it again")
        if not hmac.compare_digest(form.get("csrf", "").encode("utf-8", "replace"), session.csrf.encode()):
            raise Refused(403, "this form is of another session", _PAGES_ONLY)
        return session

    # ---- pages ---------------------------------------------------------------------------------------------------

    async def _page(self, template: str, method: str, request: Request) -> Response:
        return await self._reads.run(self._shown, template, getattr(self._pages, method), request)

    async def _item(self, template: str, method: str, request: Request) -> Response:
        show = functools.partial(getattr(self._pages, method), _id_of(request))
        return await self._reads.run(self._shown, template, show, request)

    def _shown(self, template: str, show: Callable[[], dict[str, Any]], request: Request) -> Response:
        session = self._session(request)
        if session is None:
            return RedirectResponse("/sign-in", 303)
        return self._render(template, session, show(), path=request.url.path)

    async def _file(self, kind: str, request: Request) -> Response:
        return Response(self._files[request.url.path], media_type=kind)

    def _render(
        self, template: str, session: Session | None, fields: dict[str, Any], status: int = 200, path: str = ""
    ) -> Response:
        shared = {
            "me": self._pages.settings.me,
            "operator": None if session is None else session.operator.name,
            "csrf": "" if session is None else session.csrf,
            "here": f"/{path.split('/')[1]}" if path else "",
        }
        text = self._templates.get_template(template).render(**shared, **fields)
        return Response(text, status, media_type="text/html")

    # ---- acts ----------------------------------------------------------------------------------------------------

    async def _act(self, act: Callable[[Session, bytes, Form], Response], request: Request) -> Response:
        form = await self._form(request)
        return await self._writes.run(self._acted, act, request, form)

    def _acted(self, act: Callable[[Session, bytes, Form], Response], request: Request, form: Form) -> Response:
        """Does an act of an operator, whose form states the token again.

        Browsers send a cookie to all ports of a host, so another user of the operator's machine may have it.
        """
        session = self._check_form(self._session(request), form)
        if not session.operator.has(form.get("token", "").strip()):
            LOG.warning("an act at the console had a wrong token", extra=about("console.sign_in_failed"))
            raise Refused(403, "the token in this form is not yours", "go back, and state your token above the button")
        return act(session, _id_of(request), form)

    def _approve(self, session: Session, id_: bytes, form: Form) -> Response:
        if form.get("read") != "yes":
            raise Refused(409, "you have not said that you read it", "go back, and tick the box beside Approve")
        self._acts.approve(session.operator, id_, form.get("shown", ""))
        return RedirectResponse("/proposals", 303)

    def _refuse(self, session: Session, id_: bytes, form: Form) -> Response:
        self._acts.refuse(session.operator, id_)
        return RedirectResponse("/proposals", 303)

    def _revoke(self, session: Session, id_: bytes, form: Form) -> Response:
        self._acts.revoke(session.operator, id_, self._pages.program(id_)["one"].name)
        return RedirectResponse(f"/programs/{id_.hex()}", 303)

    def _close(self, session: Session, id_: bytes, form: Form) -> Response:
        if form.get("sure") != "yes":
            raise Refused(409, "you have not said that you are sure", "go back, and tick the box beside Close")
        self._acts.close(session.operator, id_, self._pages.campaign(id_)["campaign"].name)
        return RedirectResponse(f"/campaigns/{id_.hex()}", 303)

    def _plan(self, session: Session, id_: bytes, form: Form) -> Response:
        """Executes the program for its plan, and shows the proposal with it."""
        found = self._pages.proposal(id_)["proposal"]
        if found.kind != "program":
            raise Refused(409, "a campaign has no plan", "read what it asks for")
        if form.get("run") != "yes":
            raise Refused(409, "you have not said that the program may run here", "go back, and tick the box")
        plans, trouble, program = None, "", found.program
        try:
            parameters = parameters_of(program.terms.parameters, form)
            fields = (session.operator, "executed for its plan", "program", found.name, found.subject)
            plans = self._plans.make(program, parameters, functools.partial(self._acts.note, *fields))
        except Refused as error:
            trouble = str(error)
        return self._render("proposal.html", session, self._pages.proposal(id_, plans, form, trouble))

    def _plan_job(self, session: Session, id_: bytes, form: Form) -> Response:
        """Executes the program of a job that waits for its plan, and shows the job with it."""
        job, program = self._pages.waiting_job(id_)
        fields = (session.operator, "executed for its plan", "job", program.name, id_)
        try:
            self._plans.make_for(id_, program, job.asked.parameters, functools.partial(self._acts.note, *fields))
        except Refused as error:
            return self._render("job.html", session, self._pages.job(id_, str(error)), path="/jobs")
        return RedirectResponse(f"/jobs/{id_.hex()}#plan", 303)

    def _cancel(self, session: Session, id_: bytes, form: Form) -> Response:
        self._acts.cancel(session.operator, id_, self._pages.job(id_)["name"])
        return RedirectResponse(f"/jobs/{id_.hex()}", 303)


def _place_of(error: BaseException) -> str:
    """Returns the file and the line where an error was raised."""
    last = traceback.extract_tb(error.__traceback__)[-1:]
    return "".join(f"{one.filename}:{one.lineno}" for one in last)


def _without_port(host: str) -> str:
    name, colon, port = host.lower().rpartition(":")
    return name if colon and port.isascii() and port.isdigit() else host.lower()


def _id_of(request: Request) -> bytes:
    """Returns the hash in a path.

    Raises:
        Refused: there is none.
    """
    text = str(request.path_params["id"])
    if len(text) != 64 or not set(text) <= set("0123456789abcdef"):
        raise Refused(404, "there is no such page", _PAGES_ONLY)
    return bytes.fromhex(text)


def _templates() -> jinja2.Environment:
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("quorate.console"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=marked,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters["time"] = lambda at: time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(at))
    made.filters["hex"] = bytes.hex
    made.filters["key"] = to_text
    made.filters["seconds"] = seconds
    made.filters["bytes"] = number_bytes
    made.filters["count"] = lambda number: f"{number:,}"
    for name in made.list_templates(["html"]):
        made.get_template(name)  # read now, since answers do not wait for files
    return made
