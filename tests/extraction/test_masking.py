"""Secrets of known shapes are hidden and counted; innocent text stays as it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attribution.extraction.masking import mask

from tests.work import ends

# made up, and put together here so that no scanner takes them for real ones
ALNUM = "a1B2c3D4e5F6g7H8i9J0"
HF, GH, SK = "hf_" + ALNUM, "ghp_" + ALNUM * 2, "sk-" + ALNUM
JWT = "eyJ" + "hbGciOiJIUzI1NiJ9" + ".eyJ" + "zdWIiOiIxIn0" + "." + ALNUM
AKIA = "AKIA" + "ABCDEFGHIJ234567"
PEM = "-----BEGIN RSA PRIVATE " + "KEY-----"

SECRETS = [
    ("HF_TOKEN=abc", "HF_TOKEN=***"),
    (f"HF_TOKEN={HF}", "HF_TOKEN=***"),
    ('export WANDB_API_KEY="abc def"', 'export WANDB_API_KEY="***"'),
    ("AWS_SECRET_ACCESS_KEY='x/y+z' A=1", "AWS_SECRET_ACCESS_KEY='***' A=1"),
    ("CLIENT_SECRET=abc;", "CLIENT_SECRET=***;"),
    ("DB_PASSWORD=hunter2", "DB_PASSWORD=***"),
    ("PASSWORD=123456", "PASSWORD=***"),
    ('PASSWORD="ab\\"cd" x=1', 'PASSWORD="***" x=1'),
    ('PASSWORD="ab', 'PASSWORD="***'),
    ("password=hunter2&x=1", "password=***&x=1"),
    ("api_key='abc'", "api_key='***'"),
    ("api-key: abc1", "api-key: ***"),
    ('{"api_key": "abc", "n": 3}', '{"api_key": "***", "n": 3}'),
    ('{\\"api_key\\": \\"abc\\", \\"n\\": 3}', '{\\"api_key\\": \\"***\\", \\"n\\": 3}'),
    ("{'HF_TOKEN': 'abc', 'HOME': '/data'}", "{'HF_TOKEN': '***', 'HOME': '/data'}"),
    ('"accessToken": "abc"', '"accessToken": "***"'),
    ("python train.py --api-key abc --n 1", "python train.py --api-key *** --n 1"),
    ("--hub-token abc", "--hub-token ***"),
    ("--password=abc", "--password=***"),
    ("Authorization: Bearer abc", "Authorization: Bearer ***"),
    ('{"authorization": "Basic dXNlcjpw"}', '{"authorization": "Basic ***"}'),
    (f"sent Bearer {ALNUM} to", "sent Bearer *** to"),
    ("https://user:p4ss@host/x", "https://user:***@host/x"),
    ("postgresql://user:p4ss@10.0.0.1:5432/db", "postgresql://user:***@10.0.0.1:5432/db"),
    (f"https://{GH}@host/x", "https://ghp_***@host/x"),
    (f"got {HF}, then", "got hf_***, then"),
    (f"got {GH}", "got ghp_***"),
    (f"got gho_{ALNUM}", "got gho_***"),
    (f"got github_pat_{ALNUM}_{ALNUM}", "got github_pat_***"),
    (f"got glpat-{ALNUM}", "got glpat-***"),
    (f"got nvapi-{ALNUM}", "got nvapi-***"),
    (f"got {SK}", "got sk-***"),
    (f"got sk-proj-{ALNUM}", "got sk-***"),
    (f"got {AKIA}", "got AKIA***"),
    (f"got {AKIA.replace('AKIA', 'ASIA')}", "got ASIA***"),
    (f"got xoxb-12345-{ALNUM}", "got xoxb-***"),
    (f"got AIza{ALNUM}{ALNUM}", "got AIza***"),
    (f"got {JWT} x", "got eyJ*** x"),
    (PEM, f"{PEM}***"),
    (f"{PEM}\nMIIE\n-----END RSA PRIVATE KEY----- x", f"{PEM}***-----END RSA PRIVATE KEY----- x"),
]


@pytest.mark.parametrize(("text", "hidden"), SECRETS)
def test_a_secret_is_hidden_and_its_name_kept(text: str, hidden: str) -> None:
    assert mask(text) == (hidden, 1)
    assert mask(f"x {text}\n")[1] == 1


INNOCENT = [
    "",
    "num_key=3",
    "tokens=1234",
    "token_count=5",
    "KeyError: 'x'",
    "KeyError: 'api_key'",
    "key=value",
    "sort_key=loss",
    "{'key': 'value', 'token': 'the'}",
    "pad_token=<pad>",
    "EOS_TOKEN=</s>",
    "MASK_TOKEN=[MASK]",
    "MAX_TOKEN=4096",
    "--max-token 4096",
    "--token",
    "tokens/sec: 12",
    "throughput (token/sec/GPU): 1234.5",
    "use_auth_token=True",
    "api_key=None",
    "HF_TOKEN=$HF_TOKEN",
    "HF_TOKEN=",
    "HF_TOKEN is not set",
    "PASSWORD=***",
    "wrong password: denied",
    "Permission denied (publickey,password).",
    "bearer token is missing",
    'secret "regcred" not found',
    "missing 1 required argument: 'token'",
    "AWS_ACCESS_KEY_ID is not set",
    "http://10.0.0.1:8080/x@y",
    "tcp://10.0.0.1:29500",
    "ssh://git@host:22/x",
    "user@node-01",
    "commit 1234567890abcdef1234567890abcdef12345678",
    "sha256:" + "ab12" * 16,
    "GPU-b6c3b2be-c55b-d076-fa0e-d464e4c7e08b",
    "task-1234567890123456789012",
    "disk-1234567890123456789012",
    "sk-learn-based-classifier-long",
    "hf_hub_download failed",
    "AKIA is a prefix",
    "eyJ",
    "-----BEGIN CERTIFICATE-----",
    "key_padding_mask: 3",
    "monkey=1",
    "passed: 5",
    "NVRM: Xid (PCI:0000:52:00): 79, GPU has fallen off the bus.",
]


@pytest.mark.parametrize("text", INNOCENT)
def test_innocent_text_stays(text: str) -> None:
    assert mask(text) == (text, 0)


def test_every_secret_of_a_text_counts() -> None:
    assert mask(f"A_KEY=x B_TOKEN=y {HF} https://u:p@h") == ("A_KEY=*** B_TOKEN=*** hf_*** https://u:***@h", 4)


PIECES = st.lists(
    st.sampled_from([text for text, _ in SECRETS] + INNOCENT)
    | st.sampled_from([*"=:\"'\\@ -\n", "***", "://"])
    | st.text(max_size=5),
    max_size=6,
).map("".join)


@given(st.text() | PIECES)
def test_masking_what_was_masked_changes_nothing(text: str) -> None:
    hidden, _ = mask(text)
    assert mask(hidden) == (hidden, 0)


HOSTILE = [
    'password="',
    "password='\\",
    "eyJ",
    "://a:",
    "API_KEY=",
    "sk-",
    "Authorization: ",
    "--a-",
    f"{PEM}***",
    "bearer ",
]


@pytest.mark.parametrize("piece", HOSTILE)
def test_no_text_makes_it_backtrack(piece: str) -> None:
    text = piece * (200_000 // len(piece))
    with ends():
        mask(text)
