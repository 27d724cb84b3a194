"""PY001: an exception that ended a Python program, of any class that no other rule reads."""

import re
from collections.abc import Iterator

from attribution.contracts.vocabulary import Action, Role, Source, SubDomain
from attribution.events.symptom import SymptomType
from attribution.rules.api import Finding, Match, PrintedBy, extractor

_EXCEPTION = re.compile(
    r"^(?P<type>(?:[A-Za-z_]\w{0,80}\.){0,8}[A-Za-z_]\w{0,80}(?:\(\w{1,80}\))?)(?:: ?(?P<message>.*))?$"
)
_FRAME = re.compile(r'^ {1,4}File "(?P<file>[^"]{1,500})", line (?P<line>\d{1,7}), in (?P<function>.{1,200})$')
_NUMBERS = re.compile(r"0x[0-9a-fA-F]{1,16}|\d{1,20}")
_LIBRARY = re.compile(r"/(?:site|dist)-packages/|/lib(?:64)?/python\d|^<|/bin/[^/.]+$")
"""Files of installed packages, of Python itself, and the small scripts that start installed programs."""
_CARRIED = re.compile(r"^Caught \w{1,80} in .{1,80}\.$|\(\d{1,6} sub-exceptions?\)$")
"""What torch.utils.data, nn.DataParallel and groups of exceptions say of those that they carry, which stand below."""
_FRAMEWORK = re.compile(
    r"/(?:site|dist)-packages/(?P<name>vllm|sglang|tensorrt_llm|deepspeed|lightning|pytorch_lightning)/"
)
_DEFECTS = frozenset({"NameError", "TypeError", "UnboundLocalError"})
"""Exceptions that a library's own code raises of its own mistakes, whatever it is asked to do."""
_OPERATOR = re.compile(
    r"^\w{1,80}::\w{1,120}\(\) (?:is missing value for argument|expected at most|Expected a value of type)"
)
"""What PyTorch says of an operator that is called with other arguments than it was registered with."""
_QUIET = frozenset({"KeyboardInterrupt", "SystemExit", "GeneratorExit", "StopIteration"})

SYMPTOMS = (
    SymptomType(
        name="PYTHON_EXCEPTION",
        role=Role.CAUSE,
        meaning="an exception in the job's Python program",
        sub_domain=SubDomain.USER_CODE,
        actions=(Action.FIX_USER_CODE,),
        tags=("app_failure",),
        ends_job="usually",
    ),
    SymptomType(
        name="LIBRARY_EXCEPTION",
        role=Role.EFFECT,
        meaning="an exception inside a library, with no line of the job's own code",
        tags=("app_failure",),
        ends_job="usually",
    ),
    SymptomType(
        name="FRAMEWORK_EXCEPTION",
        role=Role.CAUSE,
        meaning="a mistake in a framework's own code",
        sub_domain=SubDomain.FRAMEWORK,
        actions=(Action.FIX_USER_CONFIG, Action.COLLECT_MORE),
        tags=("app_failure",),
        ends_job="usually",
    ),
)


@extractor(
    id="PY001",
    name="python-exception",
    since="0.1.0",
    literals=("Traceback (most recent call last)", "ray.exceptions.RayTaskError("),
    pattern=(r"Traceback \(most recent call last\)", r"^ray\.exceptions\.RayTaskError\(\w{1,80}\): ray::"),
    emits=("PYTHON_EXCEPTION", "LIBRARY_EXCEPTION", "FRAMEWORK_EXCEPTION"),
    printed_by=PrintedBy("CPython", ">=3.0", "the traceback module: header, frames, exception line"),
    sources=(Source.APPLOG, Source.SCHEDULER, Source.SYSLOG),
    traceback=True,
    generic=True,
)
def python_exception(match: Match) -> Iterator[Finding]:
    """A Python program ended with an exception that no more specific rule reads.

    Why: the first rank that raises is where the job broke; what its peers report seconds later are echoes of it.
    Misses: exceptions that the program caught and logged on purpose, tracebacks whose last line was cut off, and
    exceptions carried from a data loader's worker where the original traceback below them is missing.
    Next step: read the innermost frame of the job's own code; a restart fails the same way.
    """
    if not match.follow:
        return
    found = _EXCEPTION.match(match.follow[-1])
    if found is None or found["type"].rpartition(".")[2] in _QUIET:
        return
    frames = [frame for line in match.follow if (frame := _FRAME.match(line))]
    own = [frame for frame in frames if not _LIBRARY.search(frame["file"])]
    frame = own[-1] if own else frames[-1] if frames else None
    message = found["message"] or ""
    if _CARRIED.search(message) or "(" in found["type"]:
        return  # the original traceback follows and says more
    framework = _FRAMEWORK.search(frames[-1]["file"]) if frames and not own else None
    is_defect = framework is not None and (found["type"] in _DEFECTS or _OPERATOR.match(message) is not None)
    foreign = "FRAMEWORK_EXCEPTION" if is_defect else "LIBRARY_EXCEPTION"
    yield Finding(
        foreign if frames and not own else "PYTHON_EXCEPTION",
        fields={
            "framework": framework["name"] if framework and is_defect else None,
            "exception": found["type"],
            "message": message or None,
            "file": frame and frame["file"],
            "line": frame and frame["line"],
            "function": frame and frame["function"],
        },
        # Ranks differ in numbers and addresses; what is left tells one failure from another.
        discriminator=f"{found['type']}|{_NUMBERS.sub('#', message)[:120]}",
    )


CASES = r"""
- name: the job's own code raises
  given: |
    node-01.rank3 +0.0s applog | Traceback (most recent call last):
    node-01.rank3 +0.0s applog |   File "/data/job/train.py", line 40, in <module>
    node-01.rank3 +0.0s applog |     main()
    node-01.rank3 +0.0s applog |   File "/opt/env/lib/python3.11/site-packages/torch/utils/data/dataloader.py", line 630, in __next__
    node-01.rank3 +0.0s applog | ValueError: batch size must be positive
  expect: |
    node-01.rank3 +0.0s PYTHON_EXCEPTION exception=ValueError message="batch size must be positive" file=/data/job/train.py line=40
- name: torchrun's rank prefix on every line
  given: |
    node-01 +0.0s applog | [rank5]: Traceback (most recent call last):
    node-01 +0.0s applog | [rank2]: step 12 loss 2.31
    node-01 +0.0s applog | [rank5]:   File "/data/job/train.py", line 88, in step
    node-01 +0.0s applog | [rank5]: KeyError: 'labels'
  expect: |
    node-01.rank5 +0.0s PYTHON_EXCEPTION exception=KeyError line=88
- name: carried from a worker of the data loader
  given: |
    node-01 +0.0s applog | [rank5]: Traceback (most recent call last):
    node-01 +0.0s applog | [rank5]:   File "/data/job/train.py", line 88, in step
    node-01 +0.0s applog | [rank5]: KeyError: Caught KeyError in DataLoader worker process 2.
    node-01 +0.0s applog | [rank5]: Original Traceback (most recent call last):
    node-01 +0.0s applog | [rank5]:   File "/data/job/corpus.py", line 31, in __getitem__
    node-01 +0.0s applog | [rank5]: KeyError: 'labels'
  expect: |
    node-01.rank5 +0.0s PYTHON_EXCEPTION exception=KeyError line=31
- name: of a group of exceptions
  given: |
    node-01 +0.0s applog |   + Exception Group Traceback (most recent call last):
    node-01 +0.0s applog |   |   File "/data/job/train.py", line 12, in main
    node-01 +0.0s applog |   |     async with asyncio.TaskGroup() as tg:
    node-01 +0.0s applog |   | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)
    node-01 +0.0s applog |   +-+---------------- 1 ----------------
    node-01 +0.0s applog |     | Traceback (most recent call last):
    node-01 +0.0s applog |     |   File "/data/job/train.py", line 8, in work
    node-01 +0.0s applog |     | ValueError: bad shard order
    node-01 +0.0s applog |     +------------------------------------
  expect: |
    node-01 +0.0s PYTHON_EXCEPTION exception=ValueError line=8
- name: what a Ray task raised
  given: |
    node-01 +0.0s applog | ray.exceptions.RayTaskError(KeyError): ray::train() (pid=4711, ip=10.0.0.1)
    node-01 +0.0s applog |   File "/data/job/train.py", line 8, in train
    node-01 +0.0s applog | KeyError: 'labels'
  also: FRM026
  expect: |
    node-01 +0.0s PYTHON_EXCEPTION exception=KeyError line=8
- name: inside a library, of which the job's own frames are not seen
  given: |
    node-01 +0.0s applog | Traceback (most recent call last):
    node-01 +0.0s applog |   File "/opt/env/lib/python3.11/multiprocessing/process.py", line 314, in _bootstrap
    node-01 +0.0s applog |   File "/opt/env/lib/python3.11/site-packages/serving/worker.py", line 630, in run
    node-01 +0.0s applog | ValueError: unsupported layout
  expect: |
    node-01 +0.0s LIBRARY_EXCEPTION exception=ValueError line=630
- name: inside a framework, of a mistake of its own
  given: |
    node-01 +0.0s applog | Traceback (most recent call last):
    node-01 +0.0s applog |   File "/opt/env/lib/python3.11/site-packages/vllm/worker.py", line 630, in run
    node-01 +0.0s applog |     self.model()
    node-01 +0.0s applog | TypeError: forward() missing 1 required positional argument: 'positions'
    node-01 +1.0s applog | Traceback (most recent call last):
    node-01 +1.0s applog |   File "/opt/env/lib/python3.11/site-packages/vllm/worker.py", line 630, in run
    node-01 +1.0s applog | RuntimeError: _C::fused_norm() is missing value for argument 'scale'. Declaration: _C::fused_norm(Tensor x) -> ()
  expect: |
    node-01 +0.0s FRAMEWORK_EXCEPTION exception=TypeError framework=vllm
    node-01 +1.0s FRAMEWORK_EXCEPTION exception=RuntimeError framework=vllm
- name: a person pressed Ctrl-C
  because: a KeyboardInterrupt is somebody's wish, not a failure of the code
  given: |
    node-01 +0.0s applog | Traceback (most recent call last):
    node-01 +0.0s applog |   File "/data/job/train.py", line 40, in <module>
    node-01 +0.0s applog | KeyboardInterrupt
  expect: none
- name: the log ends within the frames
  because: the exception itself is not in the evidence
  given: |
    node-01 +0.0s applog | Traceback (most recent call last):
    node-01 +0.0s applog |   File "/data/job/train.py", line 40, in <module>
  expect: none
"""
