"""What a cluster, or `kubectl`, says when it does not answer what was asked, and what is made of it."""

import os
import socket
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import pytest

from attribution.blueprint.connectors import calls, commands
from attribution.blueprint.connectors.kubernetes import api, kubectl
from attribution.blueprint.connectors.kubernetes.access import KubernetesAccess, connect, explained
from attribution.blueprint.connectors.kubernetes.api import Api
from attribution.blueprint.connectors.kubernetes.cluster import Cluster as Client
from attribution.blueprint.connectors.kubernetes.failures import ClusterError, Why, of_kubectl, of_status
from attribution.blueprint.connectors.kubernetes.kubectl import Kubectl
from attribution.blueprint.connectors.kubernetes.resources import JOB, POD
from attribution.client.bounded import within
from attribution.testing import CommandAnswer, FakeCommand, Reply, Server, faulty

from tests.blueprint.kubernetes.double import BOTH_WAYS, TOKEN, Cluster, FakeKubectl, Reached, status

EMPTY_LIST = '{"apiVersion": "v1", "items": [], "kind": "List", "metadata": {"resourceVersion": ""}}\n'
NOISE = (
    'E0504 03:00:00.1 3660 memcache.go:265] "Unhandled Error" err="couldn\'t get current server API group list: Get'
    ' \\"https://10.0.0.1:6443/api?timeout=32s\\": dial tcp 10.0.0.1:6443: connect: connection refused"\n'
)


@pytest.mark.parametrize(
    ("stderr", "why", "said"),
    [
        (
            'Error from server (Forbidden): pods is forbidden: User "u" cannot list resource "pods"\n',
            Why.FORBIDDEN,
            'pods is forbidden: User "u" cannot list resource "pods"',
        ),
        ("error: You must be logged in to the server (Unauthorized)\n", Why.UNAUTHORIZED, "You must be logged in"),
        ("error: You must be logged in to the server (the server has asked for the client to provide credentials)\n",
         Why.UNAUTHORIZED, "You must be logged in"),
        ('Error from server (NotFound): pods "x" not found\n', Why.MISSING, 'pods "x" not found'),
        ('error: error from server (NotFound): pods "x" not found in namespace "a"\n', Why.MISSING, 'pods "x" not'),
        (
            'Error from server (BadRequest): container "c" in pod "p" is waiting to start: ContainerCreating\n',
            Why.REFUSED,
            'container "c" in pod "p" is waiting to start: ContainerCreating',
        ),
        (
            'Error from server: Get "https://10.0.0.1:10250/containerLogs/a/p/c": dial tcp 10.0.0.1:10250: refused\n',
            Why.UNAVAILABLE,
            'Get "https://10.0.0.1:10250/containerLogs/a/p/c"',
        ),
        ("Error from server (Expired): The provided continue parameter is too old\n", Why.EXPIRED, "The provided"),
        ("Error from server (TooManyRequests): slow down\n", Why.BUSY, "slow down"),
        ('Error from server (AlreadyExists): events "x" already exists\n', Why.EXISTS, 'events "x"'),
        (NOISE * 5 + "The connection to the server 10.0.0.1:6443 was refused - did you specify the right host?\n",
         Why.UNAVAILABLE, "The connection to the server"),
        ("Unable to connect to the server: dial tcp: lookup api.example: no such host\n", Why.UNAVAILABLE, "Unable to"),
        ("error: stat /nowhere: no such file or directory\n", Why.REFUSED, "stat /nowhere: no such file"),
        ("error: the server could not find the requested resource\n", Why.MISSING, "the server could not find"),
        ("error: unexpected EOF\n", Why.UNAVAILABLE, "unexpected EOF"),
        ("", Why.REFUSED, "kubectl ended with exit code 1"),
    ],
)  # fmt: skip
def test_what_kubectl_says(stderr: str, why: Why, said: str) -> None:
    error = of_kubectl(stderr, 1)
    assert error.why is why and error.said.startswith(said)


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (status(401, "Unauthorized", "no"), Why.UNAUTHORIZED),
        (status(403, "Forbidden", "no"), Why.FORBIDDEN),
        (status(404, "NotFound", "no"), Why.MISSING),
        (status(409, "AlreadyExists", "no"), Why.EXISTS),
        (status(400, "BadRequest", "no"), Why.REFUSED),
        (status(422, "Invalid", "no"), Why.REFUSED),
        (status(429, "TooManyRequests", "no"), Why.BUSY),
        (status(500, "InternalError", "no"), Why.UNAVAILABLE),
        (status(503, "ServiceUnavailable", "no"), Why.UNAVAILABLE),
        (Reply(502, "<html>bad gateway</html>"), Why.UNAVAILABLE),
    ],
)
def test_what_a_server_says(reply: Reply, why: Why) -> None:
    assert of_status(reply.status, reply.data).why is why


def test_an_expired_list_says_where_to_go_on() -> None:
    assert of_status(410, status(410, "Expired", "old", **{"continue": "abc"}).data).resume == "abc"


def test_what_a_server_says_is_shown_on_one_short_line() -> None:
    error = ClusterError(Why.REFUSED, "\x1b[31ma\nb\u202e" + "x" * 1000)
    assert str(error).startswith("\\x1b[31ma b\\u202ex") and len(str(error)) < 420 and str(error).endswith("…")


def test_the_exit_code_counts_before_what_was_printed(tmp_path: Path) -> None:
    """Who may not list is printed an empty list."""
    words = 'Error from server (Forbidden): jobs.batch is forbidden: User "u" cannot list resource "jobs"\n'
    fake = FakeCommand(tmp_path, "kubectl", [CommandAnswer(stdout=EMPTY_LIST, stderr=words, exit_code=1)])
    with closing(Client(Kubectl(str(fake.path)), retry_secs=0.0)) as client, pytest.raises(ClusterError) as raised:
        list(client.list(POD, "team-a"))
    assert raised.value.why is Why.FORBIDDEN


def test_the_arguments_are_a_list_with_the_settings(tmp_path: Path) -> None:
    fake = FakeCommand(tmp_path, "kubectl", [CommandAnswer(stdout=EMPTY_LIST)])
    access = KubernetesAccess(kubectl=str(fake.path), kubeconfig=tmp_path / "it's; $(me)", kubectl_context="a b")
    with closing(connect(access)) as client:
        assert list(client.list(POD, "team-a", labels="a=b")) == []
    assert fake.calls == [
        [
            *("--kubeconfig", str(tmp_path / "it's; $(me)"), "--context", "a b"),
            *("get", "--raw", "/api/v1/namespaces/team-a/pods?limit=500&labelSelector=a%3Db"),
        ]
    ]


@pytest.mark.parametrize("name", ["../nodes", "a/b", "a?x=1", "A", "", "-a"])
def test_a_name_that_is_none_never_becomes_a_path(tmp_path: Path, name: str) -> None:
    fake = FakeCommand(tmp_path, "kubectl", [])
    with closing(Client(Kubectl(str(fake.path)))) as client, pytest.raises(ClusterError, match="is no name"):
        client.get(POD, "team-a", name)
    assert fake.calls == []


def test_a_program_that_is_not_there_is_told_with_its_remedy() -> None:
    with closing(Client(Kubectl("/nowhere/kubectl"))) as client, pytest.raises(ClusterError, match="set `api_url`"):
        list(client.list(POD))


@pytest.mark.slow
def test_a_program_that_hangs_is_ended(tmp_path: Path) -> None:
    before = _children()
    fake = FakeCommand(tmp_path, "kubectl", [CommandAnswer(wait_secs=600)])
    client = Client(Kubectl(str(fake.path)), timeout_secs=2.0, retry_secs=0.0)
    with pytest.raises(ClusterError) as raised:
        list(client.list(POD))
    assert raised.value.why is Why.LATE
    assert _children() <= before


@pytest.mark.slow
def test_a_program_that_never_stops_printing_is_ended(tmp_path: Path) -> None:
    before = _children()
    fake = FakeCommand(tmp_path, "kubectl", [CommandAnswer(stdout="x" * 1000, endless=True)])
    client = Client(Kubectl(str(fake.path)), retry_secs=0.0, answer_bytes=100_000)
    with pytest.raises(ClusterError) as raised:
        list(client.list(POD))
    assert raised.value.why is Why.TOO_LARGE
    assert _children() <= before


def _children() -> set[str]:
    """Processes of this one that were not reaped."""
    tasks = Path(f"/proc/{os.getpid()}/task")
    return {pid for task in tasks.iterdir() for pid in (task / "children").read_text().split()}


def test_a_busy_server_is_asked_again_as_it_says() -> None:
    waits: list[float] = []
    cluster = Cluster(token=None)
    busy = status(429, "TooManyRequests", "slow down")
    with_wait = Reply(429, busy.body, headers={"Retry-After": "7"})
    with Server(faulty(cluster, with_wait, busy, status(503, "ServiceUnavailable", "x"))) as server:
        client = _api(server.url, waits.append)
        assert client.serves(JOB)
        client.close()
    assert waits == [7.0, 0.5, 1.0]


def test_a_refusal_is_not_asked_again() -> None:
    waits: list[float] = []
    with Server(lambda request: status(403, "Forbidden", "no")) as server:
        client = _api(server.url, waits.append)
        with pytest.raises(ClusterError, match="no"):
            list(client.list(POD))
        client.close()
        assert len(server.requests) == 1
    assert waits == []


def _api(url: str, sleep: Callable[[float], None]) -> Client:
    return Client(Api(url, None, None), sleep=sleep)


def test_a_token_is_read_anew_for_each_request(tmp_path: Path) -> None:
    """Clusters renew the tokens of their pods every hour."""
    cluster, token = Cluster(), tmp_path / "token"
    token.write_text(TOKEN)
    with Server(cluster) as server, closing(connect(KubernetesAccess(api_url=server.url, token_file=token))) as client:
        assert list(client.list(POD)) == []
        token.write_text("another")
        with pytest.raises(ClusterError) as raised:
            list(client.list(POD))
        assert raised.value.why is Why.UNAUTHORIZED
        token.unlink()
        with pytest.raises(ClusterError, match=r"cannot read the token in .*No such file"):
            list(client.list(POD))


def test_certificates_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match="cannot read the certificates"):
        connect(KubernetesAccess(api_url="https://10.0.0.1", ca_file=tmp_path / "none.crt"))


@pytest.mark.parametrize(
    "url",
    [
        "10.0.0.1:6443",
        "https://user:word@10.0.0.1",
        "ftp://x",
        "http://[::1/x",
        "http://10.0.0.1:99999",
        "http://h?token=t",
    ],
)
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match=r"is no address such as https://host|holds more than a host and a path"):
        KubernetesAccess(api_url=url)


def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    fake = FakeKubectl(tmp_path / "bin", "http://127.0.0.1:1")
    for access in (KubernetesAccess(kubectl=str(fake.path)), KubernetesAccess(api_url="http://127.0.0.1:1")):
        client = connect(access.model_copy(update={"retry_secs": 0.0}))
        with closing(client), pytest.raises(ClusterError) as raised:
            list(client.list(POD))
        assert raised.value.why is Why.UNAVAILABLE


@BOTH_WAYS
@pytest.mark.parametrize("reply", [Reply(body="{}" + " " * 500, drip_secs=0.05), Reply(drip_header_secs=0.05)])
def test_a_server_that_drips_is_given_up(reached: Reached, reply: Reply) -> None:
    reached.server.handler = lambda request: reply
    client = connect(KubernetesAccess(**{**reached.settings, "timeout_secs": 0.5}))
    with closing(client), pytest.raises(ClusterError) as raised:
        list(client.list(POD))
    assert raised.value.why is Why.LATE


def test_a_refusal_is_told_with_its_status_and_what_to_do() -> None:
    logged_out = of_kubectl("error: You must be logged in to the server (Unauthorized)\n", 1)
    assert "(asked through kubectl; give credentials" in explained(logged_out, "kubectl")
    assert explained(of_status(404, b"no"), "https://h").startswith(
        "status 404: no (asked through https://h; see whether"
    )
    assert of_kubectl("", -9).said == "kubectl ended with signal 9"
    with pytest.raises(ClusterError) as raised:
        list(Kubectl("no-such-program").send("/api", {}, secs=5))
    assert explained(raised.value, "kubectl").count("(") == 1


def test_what_is_not_there_is_told_with_where_it_was_looked_for() -> None:
    """`the server could not find the requested resource` says neither what nor where."""
    lost = status(404, "NotFound", "the server could not find the requested resource")
    with Server(lambda request: lost) as server, closing(_api(server.url, lambda secs: None)) as client:
        with pytest.raises(ClusterError) as raised:
            client.may("list", POD, None)
        told = explained(raised.value, client.name)
    assert told == (
        "the server could not find the requested resource (asked for /apis/authorization.k8s.io/v1"
        f"/selfsubjectaccessreviews through {server.url}; see whether that is an API server, and whether its version "
        "serves this)"
    )


def test_an_address_is_told_once() -> None:
    url = "http://127.0.0.1:1"
    with (
        closing(connect(KubernetesAccess(api_url=url, retry_secs=0.0))) as client,
        pytest.raises(ClusterError) as raised,
    ):
        list(client.list(POD))
    told = explained(raised.value, client.name)
    assert told.startswith(f"{url} cannot be reached: ") and told.count(url) == 1
    assert told.endswith(" (see whether the API server runs and can be reached from here)")


@pytest.mark.slow
def test_a_program_is_named_once_with_what_says_which_cluster_it_asks(tmp_path: Path) -> None:
    fake = FakeCommand(tmp_path, "kubectl", [CommandAnswer(wait_secs=600)])
    access = KubernetesAccess(kubectl=str(fake.path), kubectl_context="b", timeout_secs=0.5, retry_secs=0.0)
    with closing(connect(access)) as client, pytest.raises(ClusterError) as raised:
        list(client.list(POD))
    told = explained(raised.value, client.name)
    assert told.startswith(f"`{fake.path} --context b` did not end within 0.5 s (see whether")


def test_no_end_of_a_program_or_call_is_taken_for_another() -> None:
    """What was cut short, above all, is no refusal."""
    assert set(kubectl.WHY) == set(commands.Why) and set(api.WHY) == set(calls.Why)
    assert kubectl.WHY[commands.Why.CUT] is Why.TOO_LARGE
    refusals = {why for why in commands.Why if kubectl.WHY[why] is Why.REFUSED}
    assert refusals == {commands.Why.FAILED}
    assert [why for why in calls.Why if api.WHY[why] is Why.REFUSED] == [calls.Why.WRONG]


@pytest.mark.parametrize("idle", [False, True])
def test_a_refusal_that_drips_is_told_in_time(idle: bool) -> None:
    """Each line of a log may take its time; a refusal may not."""
    with Server(lambda request: Reply(403, "x" * 1000, drip_secs=0.05)) as server, closing(_own(server)) as api:
        with pytest.raises(ClusterError) as raised:
            list(api.send("/api/v1/pods", {}, secs=0.3, idle=idle))
        assert server.sent_bytes < 1000, "it was not read to its end"
    assert raised.value.why is Why.FORBIDDEN


def test_a_call_has_no_more_time_than_what_it_is_part_of() -> None:
    with Server(lambda request: Reply(body="x" * 1000, drip_secs=0.05)) as server, closing(_own(server)) as api:
        with within(0.3), pytest.raises(ClusterError) as raised:
            list(api.send("/api/v1/pods", {}, secs=600))
        assert server.sent_bytes < 1000
    assert raised.value.why is Why.LATE


def test_a_log_that_drips_is_read_on_until_it_is_halted() -> None:
    read: list[bytes] = []
    with (
        Server(lambda request: Reply(body="x" * 1000, drip_secs=0.05)) as server,
        closing(_own(server)) as api,
        pytest.raises(ClusterError) as raised,
    ):
        for piece in api.send("/log", {}, secs=0.4, idle=True, halted=lambda: len(b"".join(read)) >= 12):
            read.append(piece)
    assert raised.value.why is Why.HALTED, "twelve pieces took longer than one may"


def test_a_chunk_whose_size_never_ends_is_late() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, closing(_own(listener)) as api:
        threading.Thread(target=_drip_a_size, args=(listener,), daemon=True).start()
        for idle in (False, True):
            with pytest.raises(ClusterError) as raised:
                list(api.send("/log", {}, secs=0.3, idle=idle))
            assert raised.value.why is Why.LATE


def _own(server: Server | socket.socket) -> Api:
    url = server.url if isinstance(server, Server) else f"http://127.0.0.1:{server.getsockname()[1]}"
    return Api(url, None, None)


def _drip_a_size(listener: socket.socket) -> None:
    for _ in range(2):
        connection, _address = listener.accept()
        with connection, suppress(OSError):
            connection.recv(65536)
            connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            for _ in range(600):
                connection.sendall(b"0")
                time.sleep(0.05)


@pytest.mark.parametrize(
    ("reply", "why", "said"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello", Why.UNREADABLE,
         "sent what cannot be decompressed"),
        (b"SSH-2.0-x\r\n", Why.UNAVAILABLE, "gave no whole answer in HTTP"),
    ],
)  # fmt: skip
def test_what_answers_in_no_way_that_is_known_was_reached(reply: bytes, why: Why, said: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, closing(_own(listener)) as api:
        threading.Thread(target=_answer_once, args=(listener, reply), daemon=True).start()
        with pytest.raises(ClusterError, match=said) as raised:
            list(api.send("/api", {}, secs=5))
    assert raised.value.why is why and "cannot be reached" not in str(raised.value)


def _answer_once(listener: socket.socket, reply: bytes) -> None:
    connection, _ = listener.accept()
    with connection:
        connection.recv(65536)
        connection.sendall(reply)
