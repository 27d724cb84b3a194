"""What can go wrong between a client and the Service, as exceptions that tell it in one sentence."""

from attribution.contracts.exchange import ObservationAnswer, ProblemDetails


class ServiceError(Exception):
    """A call failed for good. `answered` are the observations of a submission that were answered before it did."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.answered: tuple[ObservationAnswer, ...] = ()


class ServiceProblem(ServiceError):
    """The Service answered that the call is wrong or cannot be served now."""

    def __init__(self, status: int, details: ProblemDetails) -> None:
        self.status = status
        self.details = details
        more = "; ".join(f"{item.place}: {item.message}" for item in details.problems if item.message != details.detail)
        super().__init__(f"the Service answered {status}: {details.detail}" + (f" ({more})" if more else ""))


class ServiceUnreachable(ServiceError):
    """No answer came, after all retries."""

    def __init__(self, url: str, reason: str, tries: int) -> None:
        self.url = url
        self.reason = reason
        self.tries = tries
        super().__init__(f"the Service at {url} gave no answer: {reason} ({tries} {'try' if tries == 1 else 'tries'})")


class ServiceMisunderstood(ServiceError):
    """Something answered that does not speak as the Service does, such as a proxy or another version."""

    def __init__(self, url: str, what: str) -> None:
        super().__init__(f"what answers at {url} is no Attribution Service that this client knows: {what}")
